//! Giving zones away to whoever holds one of their keys: whole (AXFR, RFC 5936) or what changed (IXFR, RFC 1995).
//!
//! A transfer holds one snapshot of the zone and makes its messages one by one as they are sent, so a large zone costs no more
//! memory than a small one and changes meanwhile do not show. The difference is told in one step, from the serial asked for to the
//! one of now: a name that changed often is told once. It becomes the whole zone when the serial is forgotten or most names changed.
//!
//! Whoever has a key for a part of the names gets a zone that has no others. Its serial is that of the whole zone, so a difference may be
//! empty.
//!
//! Over UDP nothing but the current SOA is given, from which the other side learns whether to come over TCP (RFC 1995 §2). A signed
//! question for the SOA is answered here as well, because who signs a question believes only a signed answer.

use std::collections::{HashSet, VecDeque};
use std::mem;

use crate::answer::Transport;
use crate::catalog::Catalog;
use crate::message::query::Query;
use crate::message::writer::reply_flags;
use crate::message::{FLAG_QR, HEADER_OCTETS, Message, OPCODE_MASK};
use crate::name::{self, Name, Pick};
use crate::record::{Data, Rcode, Type};
use crate::tsig::{self, Chain, Key};
use crate::zone::{ApexRecords, Changes, NodeRef, Relocatable, SetRef, Zone, is_later};

/// Size at which a message is sent: large enough to be efficient, small enough to be soon on its way.
const MESSAGE_OCTETS: usize = 16_384;
/// Pointer to the apex, which is the name in the question.
const APEX_POINTER: u16 = 0xc000 | HEADER_OCTETS as u16;

/// Somebody who may have zones.
#[derive(Debug, Clone)]
pub struct Grantee {
    /// The key by which it is known.
    pub key: Key,
    /// The names it is given, as if the zone had no others besides its apex; all when none.
    pub pick: Option<Pick>,
}

impl From<Key> for Grantee {
    /// Somebody who may have all of every zone.
    fn from(key: Key) -> Grantee {
        Grantee { key, pick: None }
    }
}

/// The messages of a transfer in order.
#[derive(Debug)]
pub(crate) struct Transfer {
    zone: Zone,
    head: Head,
    chain: Chain,
    now_seconds: u64,
    pick: Option<Pick>,
    rest: Rest,
    waiting: Waiting,
}

/// Records not sent yet, back to back.
#[derive(Debug, Default)]
struct Waiting {
    octets: Vec<u8>,
    lengths: VecDeque<usize>,
    /// Where the first one starts.
    at: usize,
}

impl Waiting {
    /// Adds a record that `write` appends.
    fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.octets.len();
        write(&mut self.octets);
        self.lengths.push_back(self.octets.len() - start);
    }

    fn extend(&mut self, records: Vec<Vec<u8>>) {
        for record in records {
            self.push(|octets| octets.extend(record));
        }
    }

    fn first(&self) -> Option<&[u8]> {
        let length = self.lengths.front()?;
        Some(&self.octets[self.at..self.at + length])
    }

    fn pop(&mut self) {
        self.at += self.lengths.pop_front().unwrap_or_default();
        if self.lengths.is_empty() {
            self.octets.clear();
            self.at = 0;
        }
    }
}

/// Where the next records come from.
#[derive(Debug)]
enum Rest {
    /// The page of the whole zone to be read next.
    Pages(usize),
    /// What is deleted, from the change with this number on.
    Deletions(Changes, usize),
    /// What is added, from the change with this number on.
    Additions(Changes, usize),
    /// Nowhere.
    Nothing,
}

/// What every message starts with.
#[derive(Debug)]
struct Head {
    id: u16,
    flags: u16,
    question: Vec<u8>,
}

/// What a request for a zone gets.
#[derive(Debug)]
pub(crate) enum Granted {
    /// The zone.
    Transfer(Box<Transfer>),
    /// One message: the current SOA, or no.
    One(Vec<u8>),
}

/// Whether a message may be a question that [`grant`] answers. Cheap, and right for nearly all others.
pub(crate) fn concerns(message: &[u8]) -> bool {
    let Some(header) = message.first_chunk::<HEADER_OCTETS>() else {
        return false;
    };
    let field = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    if field(2) & (FLAG_QR | OPCODE_MASK) != 0 || field(10) == 0 {
        return false;
    }
    let rest = &message[HEADER_OCTETS..];
    let rtype = name::wire_len(rest).and_then(|octets| rest.get(octets..octets + 2));
    rtype.is_some_and(|rtype| {
        let rtype = Type(u16::from_be_bytes([rtype[0], rtype[1]]));
        rtype == Type::SOA || rtype.is_transfer()
    })
}

/// Decides on a request for a zone; `None` when it is something else or not signed, so that the usual rules answer it.
pub(crate) fn grant(
    catalog: &Catalog,
    grantees: &[Grantee],
    request: &[u8],
    transport: Transport,
    now_seconds: u64,
) -> Option<Granted> {
    let query = Query::parse(request).ok()?;
    let over_udp = matches!(transport, Transport::Udp);
    if !(query.rtype == Type::SOA || query.rtype.is_transfer())
        || (over_udp && query.rtype == Type::AXFR)
    {
        return None;
    }
    let zone = catalog.zone(&Name::from_wire(query.name()).ok()?)?;
    let flags = reply_flags(query.flags, true);
    let head = Head {
        id: query.id,
        flags,
        question: query.question.to_vec(),
    };
    let keys = grantees.iter().map(|grantee| &grantee.key);
    let chain = match tsig::verify_request(keys, request, now_seconds) {
        Ok(chain) => chain,
        Err(tsig::Error::Unsigned) => return None,
        // Other keys may be good for other things; the usual rules answer plain questions.
        Err(tsig::Error::BadKey) if query.rtype == Type::SOA => return None,
        Err(error) => {
            let flags = reply_flags(query.flags, false) | Rcode::NOTAUTH.0;
            let mut message = Head { flags, ..head }.start();
            tsig::append_error(&mut message, request, error, now_seconds);
            return Some(Granted::One(message));
        }
    };
    let is_theirs = |grantee: &&Grantee| grantee.key.is_named_as(chain.key());
    let grantee = grantees.iter().find(is_theirs);
    let mut transfer = Transfer {
        zone: zone.clone(),
        head,
        pick: grantee.and_then(|grantee| grantee.pick),
        chain,
        now_seconds,
        rest: Rest::Nothing,
        waiting: Waiting::default(),
    };
    transfer.waiting.extend(split(&zone.apex_records().soa));
    if over_udp || query.rtype == Type::SOA {
        return transfer.next().map(Granted::One);
    }
    match known_serial(request).filter(|_| query.rtype == Type::IXFR) {
        // The serial of the client is the one of now, or one we have not had: nothing to tell (RFC 1995 §2).
        Some(serial) if !is_later(zone.serial(), serial) => {}
        Some(serial) => transfer.tell_since(serial),
        None => transfer.tell_all(),
    }
    Some(Granted::Transfer(Box::new(transfer)))
}

/// The serial of the version the client has, from the SOA in the authority section of an IXFR request (RFC 1995 §3).
fn known_serial(request: &[u8]) -> Option<u32> {
    let message = Message::parse(request).ok()?;
    message
        .authorities
        .iter()
        .find_map(|record| match &record.data {
            Data::Soa(soa) => Some(soa.serial),
            _ => None,
        })
}

impl Iterator for Transfer {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut message = self.head.start();
        let mut n_records = 0u16;
        loop {
            while self.waiting.first().is_none() && self.read_on() {}
            let Some(record) = self.waiting.first() else {
                break;
            };
            if n_records > 0 && message.len() + record.len() > MESSAGE_OCTETS {
                break;
            }
            message.extend(record);
            n_records += 1;
            self.waiting.pop();
        }
        if n_records == 0 {
            return None;
        }
        message[6..8].copy_from_slice(&n_records.to_be_bytes());
        self.chain.sign(&mut message, self.now_seconds);
        Some(message)
    }
}

impl Transfer {
    /// The SOA is followed by everything and the SOA again.
    fn tell_all(&mut self) {
        self.waiting.extend(split(&self.zone.apex_records().ns));
        self.rest = Rest::Pages(0);
    }

    /// The SOA is followed by the old SOA, what is deleted, the SOA, what is added and the SOA once more (RFC 1995 §4).
    fn tell_since(&mut self, serial: u32) {
        let changes = self.zone.changes_since(serial, self.pick);
        let Some(changes) = changes.filter(|changes| changes.nodes.len() < self.zone.n_names())
        else {
            return self.tell_all();
        };
        self.waiting.extend(split(&changes.apex.soa));
        let gone = difference(&changes.apex, self.zone.apex_records());
        self.waiting.extend(gone);
        self.rest = Rest::Deletions(changes, 0);
    }

    /// Takes up some more records; tells whether there can be any.
    fn read_on(&mut self) -> bool {
        let soa = || split(&self.zone.apex_records().soa);
        let waiting = &mut self.waiting;
        self.rest = match mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Nothing => return false,
            Rest::Pages(page) => match self.zone.page(page) {
                Some((nodes, next)) => {
                    let pick = self.pick;
                    let picked = nodes.filter(|node| pick.is_none_or(|pick| pick(node.name())));
                    picked.for_each(|node| put_without(waiting, node, None));
                    Rest::Pages(next)
                }
                None => {
                    waiting.extend(soa());
                    Rest::Nothing
                }
            },
            Rest::Deletions(changes, at) => match changes.nodes.get(at) {
                Some((name, before)) => {
                    if let Some(before) = before.as_deref().map(NodeRef::at) {
                        put_without(waiting, before, self.zone.node(name));
                    }
                    Rest::Deletions(changes, at + 1)
                }
                None => {
                    waiting.extend(soa());
                    let come = difference(self.zone.apex_records(), &changes.apex);
                    waiting.extend(come);
                    Rest::Additions(changes, 0)
                }
            },
            Rest::Additions(changes, at) => match changes.nodes.get(at) {
                Some((name, before)) => {
                    if let Some(node) = self.zone.node(name) {
                        put_without(waiting, node, before.as_deref().map(NodeRef::at));
                    }
                    Rest::Additions(changes, at + 1)
                }
                None => {
                    waiting.extend(soa());
                    Rest::Nothing
                }
            },
        };
        true
    }
}

/// Puts the records of one node that another one does not have. The stored owner is a pointer to the question; here it is the name
/// itself, shortened by the apex.
fn put_without(waiting: &mut Waiting, node: NodeRef<'_>, other: Option<NodeRef<'_>>) {
    fn records(node: NodeRef<'_>) -> impl Iterator<Item = &[u8]> {
        let records = node.sets().flat_map(SetRef::records);
        records.map(|record| &record[2..])
    }
    let known = other.into_iter().flat_map(records).collect::<HashSet<_>>();
    for record in records(node).filter(|record| !known.contains(record)) {
        waiting.push(|octets| {
            octets.extend(node.name());
            octets.extend(APEX_POINTER.to_be_bytes());
            octets.extend(record);
        });
    }
}

/// The NS records of one apex that another one does not have.
fn difference(apex: &ApexRecords, other: &ApexRecords) -> Vec<Vec<u8>> {
    let known = split(&other.ns);
    let records = split(&apex.ns).into_iter();
    records.filter(|record| !known.contains(record)).collect()
}

impl Head {
    fn start(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEADER_OCTETS + self.question.len());
        message.extend(self.id.to_be_bytes());
        message.extend((self.flags | FLAG_QR).to_be_bytes());
        message.extend([0, 1, 0, 0, 0, 0, 0, 0]);
        message.extend(&self.question);
        message
    }
}

/// The single records of an apex set, pointers set.
pub(crate) fn split(records: &Relocatable) -> Vec<Vec<u8>> {
    let mut wire = records.wire.clone();
    for at in &records.pointers {
        let at = usize::from(*at);
        wire[at..at + 2].copy_from_slice(&APEX_POINTER.to_be_bytes());
    }
    let mut rest = wire.as_slice();
    let mut split = Vec::new();
    while !rest.is_empty() {
        // The owner is a pointer, or the root's single octet.
        let fixed = if rest[0] == 0 { 1 } else { 2 };
        let rdata_octets = u16::from_be_bytes([rest[fixed + 8], rest[fixed + 9]]);
        let (record, tail) = rest.split_at(fixed + 10 + usize::from(rdata_octets));
        split.push(record.to_vec());
        rest = tail;
    }
    split
}

#[cfg(test)]
mod tests;
