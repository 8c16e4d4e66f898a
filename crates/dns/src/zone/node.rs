//! One name and its records as a compact byte string.
//!
//! ```text
//! node   = octets u32 | name_octets u8 | name | flags u8 | n_children u32 | n_sets u8 | set… | [code u16 | text]
//! set    = type u16 | n_records u16 | order u8 | stride u8 | wire_octets u32 | [weights] | record…
//! weights= take u16 | n_groups u8 | (weight u32 | n_records u16)…          only when order is WEIGHTED
//! record = 0xC00C | type | class | ttl | rdlength | rdata                   ready to be copied into a message
//! ```
//! Numbers outside records are little-endian. `name` is relative to the apex and lower-case. `stride` is the length of every
//! record when they are all equal (addresses are), 0 otherwise. Owners point to offset 12, the name in the question; when a
//! record is given for another owner the pointer is overwritten after copying.

use std::net::IpAddr;
use std::num::NonZeroU16;

use super::{Entry, EntryError, Group, Order, RecordSet, Why};
use crate::message::Cursor;
use crate::record::{Data, Type};

/// Pointer to the name in the question.
pub(crate) const OWNER_IS_QUESTION: u16 = 0xc00c;

const FLAG_ENTRY: u8 = 1;
const FLAG_CUT: u8 = 2;
/// Replies say why; the code and the text end the node.
const FLAG_WHY: u8 = 4;
/// There are no records, and the name does not exist unless one below it does.
const FLAG_DENIED: u8 = 8;

const ORDER_FIXED: u8 = 0;
const ORDER_SHUFFLE: u8 = 1;
const ORDER_WEIGHTED: u8 = 2;
const ORDER_NEAREST: u8 = 3;

/// Octets of one group: weight and count.
const GROUP_OCTETS: usize = 6;

/// A view of one stored name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeRef<'a>(&'a [u8]);

/// A view of one record set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetRef<'a> {
    pub(crate) rtype: Type,
    pub(crate) n_records: u16,
    pub(crate) stride: u8,
    pub(crate) order: OrderRef<'a>,
    /// The records, back to back.
    pub(crate) wire: &'a [u8],
}

/// How the records of a set are given.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OrderRef<'a> {
    Fixed,
    Shuffle,
    Nearest,
    /// `take` is 0 for all.
    Weighted {
        take: u16,
        groups: GroupsRef<'a>,
    },
}

/// A view of the groups of a weighted set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupsRef<'a>(&'a [u8]);

impl<'a> GroupsRef<'a> {
    pub(crate) fn iter(self) -> impl ExactSizeIterator<Item = Group> + 'a {
        self.0.chunks_exact(GROUP_OCTETS).map(|group| Group {
            weight: u32::from_le_bytes([group[0], group[1], group[2], group[3]]),
            n_records: u16::from_le_bytes([group[4], group[5]]),
        })
    }
}

/// Builds the byte string of a node. `entry` is `None` for an empty non-terminal.
pub(super) fn encode(
    name: &[u8],
    n_children: u32,
    entry: Option<&Entry>,
) -> Result<Vec<u8>, EntryError> {
    let mut out = vec![0; 4];
    out.push(name.len() as u8);
    out.extend(name);
    let sets = entry.map_or(&[][..], |entry| &entry.sets);
    let cut = !name.is_empty() && sets.iter().any(|set| set.rtype() == Some(Type::NS));
    let flag = |on: bool, flag: u8| if on { flag } else { 0 };
    let why = entry.and_then(|entry| entry.why.as_ref());
    let denied = why.is_some() && sets.is_empty() && !name.is_empty();
    out.push(
        flag(entry.is_some(), FLAG_ENTRY)
            | flag(cut, FLAG_CUT)
            | flag(why.is_some(), FLAG_WHY)
            | flag(denied, FLAG_DENIED),
    );
    out.extend(n_children.to_le_bytes());
    out.push(sets.len() as u8);
    for set in sets {
        encode_set(set, &mut out)?;
    }
    if let Some(why) = why {
        out.extend(why.code().to_le_bytes());
        out.extend(why.text().bytes());
    }
    let octets = (out.len() as u32).to_le_bytes();
    out[..4].copy_from_slice(&octets);
    Ok(out)
}

fn encode_set(set: &RecordSet, out: &mut Vec<u8>) -> Result<(), EntryError> {
    let rtype = set.rtype().ok_or(EntryError::EmptySet)?;
    let mut wire = Vec::new();
    let mut lengths = Vec::new();
    for data in &set.data {
        let start = wire.len();
        wire.extend(OWNER_IS_QUESTION.to_be_bytes());
        wire.extend(rtype.0.to_be_bytes());
        wire.extend([0, 1]);
        wire.extend(set.ttl_seconds.to_be_bytes());
        wire.extend([0, 0]);
        data.encode(&mut wire)?;
        let rdata_octets = ((wire.len() - start - 12) as u16).to_be_bytes();
        wire[start + 10..start + 12].copy_from_slice(&rdata_octets);
        lengths.push(wire.len() - start);
    }
    let even = lengths.iter().all(|length| *length == lengths[0]);
    let stride = u8::try_from(lengths[0]).ok().filter(|_| even).unwrap_or(0);
    let order = match set.order {
        Order::Fixed => ORDER_FIXED,
        Order::Shuffle => ORDER_SHUFFLE,
        Order::Nearest => ORDER_NEAREST,
        Order::Weighted { .. } => ORDER_WEIGHTED,
    };
    out.extend(rtype.0.to_le_bytes());
    out.extend((set.data.len() as u16).to_le_bytes());
    out.extend([order, stride]);
    out.extend((wire.len() as u32).to_le_bytes());
    if let Order::Weighted { groups, take } = &set.order {
        out.extend(take.map_or(0, NonZeroU16::get).to_le_bytes());
        out.push(groups.len() as u8);
        for group in groups {
            out.extend(group.weight.to_le_bytes());
            out.extend(group.n_records.to_le_bytes());
        }
    }
    out.extend(wire);
    Ok(())
}

impl<'a> NodeRef<'a> {
    /// The node that starts `bytes`.
    pub(crate) fn at(bytes: &'a [u8]) -> NodeRef<'a> {
        NodeRef(&bytes[..le_u32(bytes, 0) as usize])
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Name relative to the apex.
    pub(crate) fn name(self) -> &'a [u8] {
        &self.0[5..5 + usize::from(self.0[4])]
    }

    fn after_name(self) -> &'a [u8] {
        &self.0[5 + usize::from(self.0[4])..]
    }

    /// Whether someone set an entry here; otherwise it is an empty non-terminal.
    pub(crate) fn has_entry(self) -> bool {
        self.after_name()[0] & FLAG_ENTRY != 0
    }

    /// Whether there is an entry only to say why the name does not exist.
    pub(crate) fn is_denied(self) -> bool {
        self.after_name()[0] & FLAG_DENIED != 0 && self.n_children() == 0
    }

    /// The extended error of replies about this name: info code and text.
    pub(crate) fn why(self) -> Option<(u16, &'a [u8])> {
        if self.after_name()[0] & FLAG_WHY == 0 {
            return None;
        }
        let mut sets = self.sets();
        while sets.next().is_some() {}
        Some((le_u16(sets.rest, 0), &sets.rest[2..]))
    }

    /// Whether a delegation starts here.
    pub(crate) fn is_cut(self) -> bool {
        self.after_name()[0] & FLAG_CUT != 0
    }

    pub(super) fn is_wildcard(self) -> bool {
        self.has_entry() && self.name().starts_with(b"\x01*")
    }

    pub(super) fn n_children(self) -> u32 {
        le_u32(self.after_name(), 1)
    }

    /// The record sets in stored order.
    pub(crate) fn sets(self) -> Sets<'a> {
        let rest = self.after_name();
        Sets {
            n_left: rest[5],
            rest: &rest[6..],
        }
    }

    /// The record set of one type.
    pub(crate) fn set(self, rtype: Type) -> Option<SetRef<'a>> {
        self.sets().find(|set| set.rtype == rtype)
    }

    /// The entry as a value.
    pub(super) fn to_entry(self) -> Option<Entry> {
        self.has_entry().then(|| Entry {
            sets: self.sets().map(SetRef::to_set).collect(),
            why: self
                .why()
                .map(|(code, text)| Why::new(code, &String::from_utf8_lossy(text))),
        })
    }
}

/// Iterator over the sets of a node.
#[derive(Debug, Clone)]
pub(crate) struct Sets<'a> {
    n_left: u8,
    rest: &'a [u8],
}

impl<'a> Iterator for Sets<'a> {
    type Item = SetRef<'a>;

    fn next(&mut self) -> Option<SetRef<'a>> {
        self.n_left = self.n_left.checked_sub(1)?;
        let head = self.rest;
        let wire_octets = le_u32(head, 6) as usize;
        let mut body = &head[10..];
        let order = match head[4] {
            ORDER_SHUFFLE => OrderRef::Shuffle,
            ORDER_NEAREST => OrderRef::Nearest,
            ORDER_WEIGHTED => {
                let take = le_u16(body, 0);
                let (groups, rest) = body[3..].split_at(GROUP_OCTETS * usize::from(body[2]));
                body = rest;
                OrderRef::Weighted {
                    take,
                    groups: GroupsRef(groups),
                }
            }
            _ => OrderRef::Fixed,
        };
        let (wire, rest) = body.split_at(wire_octets);
        self.rest = rest;
        Some(SetRef {
            rtype: Type(le_u16(head, 0)),
            n_records: le_u16(head, 2),
            stride: head[5],
            order,
            wire,
        })
    }
}

impl<'a> SetRef<'a> {
    /// The records one by one, fixed part included.
    pub(crate) fn records(self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.wire;
        std::iter::from_fn(move || {
            let rdata_octets = u16::from_be_bytes([*rest.get(10)?, *rest.get(11)?]);
            let (record, tail) = rest.split_at(12 + usize::from(rdata_octets));
            rest = tail;
            Some(record)
        })
    }

    /// TTL of the records; all have the same.
    pub(crate) fn ttl_seconds(self) -> u32 {
        let ttl = &self.wire[6..10];
        u32::from_be_bytes([ttl[0], ttl[1], ttl[2], ttl[3]])
    }

    /// RDATA of the records one by one; names in it are uncompressed.
    pub(crate) fn rdata(self) -> impl Iterator<Item = &'a [u8]> {
        self.records().map(|record| &record[12..])
    }

    /// The addresses, when this is a set of addresses.
    pub(crate) fn addresses(self) -> impl Iterator<Item = IpAddr> + Clone + 'a {
        let stride = usize::from(self.stride).max(1);
        self.wire
            .chunks_exact(stride)
            .filter_map(move |record| match self.rtype {
                Type::A => record.last_chunk::<4>().map(|octets| IpAddr::from(*octets)),
                Type::AAAA => record
                    .last_chunk::<16>()
                    .map(|octets| IpAddr::from(*octets)),
                _ => None,
            })
    }

    fn to_set(self) -> RecordSet {
        let decode = |rdata: &[u8]| {
            Data::decode(self.rtype, &mut Cursor::new(rdata), rdata.len())
                .expect("stored record data was encoded by us")
        };
        RecordSet {
            ttl_seconds: self.ttl_seconds(),
            data: self.rdata().map(decode).collect(),
            order: match self.order {
                OrderRef::Fixed => Order::Fixed,
                OrderRef::Shuffle => Order::Shuffle,
                OrderRef::Nearest => Order::Nearest,
                OrderRef::Weighted { take, groups } => Order::Weighted {
                    groups: groups.iter().collect(),
                    take: NonZeroU16::new(take),
                },
            },
        }
    }
}

fn le_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn le_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
