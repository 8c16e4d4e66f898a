//! What one name answers with, as a value, and what is wrong with it.

use std::collections::{BTreeSet, HashSet};
use std::num::NonZeroU16;

use crate::record::{self, Data, Type};

/// Most records one set may hold. Past this a name stops being an answer and becomes a list.
pub const RECORDS_PER_SET_MAX: usize = 512;
/// Most weight groups one set may hold: one per cluster of a fleet.
pub const GROUPS_PER_SET_MAX: usize = 64;
/// Longest text of a [`Why`], in octets: a sentence or two, small beside the answers themselves.
pub const WHY_OCTETS_MAX: usize = 200;
/// Longest TTL in seconds (RFC 2181 §8).
pub const TTL_SECONDS_MAX: u32 = i32::MAX as u32;

/// In which order the records of a set are given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// As they stand in the set: fail-over lists, delegations.
    Fixed,
    /// A fresh uniform permutation per query: round robin.
    Shuffle,
    /// Only the addresses that are near the client, in the order of the set; all of them when none is or nobody knows. Other types
    /// are given as [`Order::Fixed`]. See [`crate::geo`].
    Nearest,
    /// Groups drawn without replacement with probability proportional to their weight.
    Weighted {
        /// The groups; the records of the set belong to them in turn.
        groups: Vec<Group>,
        /// Give only so many records, chosen so that each group's expected share equals its weight even behind a resolver
        /// that shuffles. `None` gives all records, groups of weight zero last.
        take: Option<NonZeroU16>,
    },
}

/// Some neighbouring records of a set that share a weight, as one cluster's addresses do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Share relative to the other groups; zero means "only when nothing else is left".
    pub weight: u32,
    /// How many records of the set belong to the group.
    pub n_records: u16,
}

/// Records of one type at one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSet {
    /// TTL in seconds.
    pub ttl_seconds: u32,
    /// The data, all of one type, at least one. Duplicates are refused.
    pub data: Vec<Data>,
    /// How they are given.
    pub order: Order,
}

impl RecordSet {
    /// A set in fixed order.
    pub fn fixed(ttl_seconds: u32, data: Vec<Data>) -> RecordSet {
        RecordSet {
            ttl_seconds,
            data,
            order: Order::Fixed,
        }
    }

    /// A set in a new random order per query.
    pub fn shuffled(ttl_seconds: u32, data: Vec<Data>) -> RecordSet {
        RecordSet {
            ttl_seconds,
            data,
            order: Order::Shuffle,
        }
    }

    /// A set of which only what is near the client is given.
    pub fn nearest(ttl_seconds: u32, data: Vec<Data>) -> RecordSet {
        RecordSet {
            ttl_seconds,
            data,
            order: Order::Nearest,
        }
    }

    /// A set of weighted groups. Groups without records are left out.
    pub fn weighted(
        ttl_seconds: u32,
        groups: Vec<(u32, Vec<Data>)>,
        take: Option<NonZeroU16>,
    ) -> RecordSet {
        let mut data = Vec::new();
        let mut shares = Vec::new();
        for (weight, records) in groups {
            if let Some(n_records) = u16::try_from(records.len()).ok().filter(|n| *n > 0) {
                shares.push(Group { weight, n_records });
            }
            data.extend(records);
        }
        RecordSet {
            ttl_seconds,
            data,
            order: Order::Weighted {
                groups: shares,
                take,
            },
        }
    }

    /// The type of the records.
    pub(super) fn rtype(&self) -> Option<Type> {
        self.data.first().map(Data::rtype)
    }

    fn check(&self) -> Result<Type, EntryError> {
        let rtype = self.rtype().ok_or(EntryError::EmptySet)?;
        if let Some(other) = self
            .data
            .iter()
            .map(Data::rtype)
            .find(|other| *other != rtype)
        {
            return Err(EntryError::MixedTypes { rtype, other });
        }
        let n_records = self.data.len();
        if n_records > RECORDS_PER_SET_MAX {
            return Err(EntryError::TooManyRecords { rtype, n_records });
        }
        if self.ttl_seconds > TTL_SECONDS_MAX {
            return Err(EntryError::TtlTooLong {
                rtype,
                ttl_seconds: self.ttl_seconds,
            });
        }
        let mut seen = HashSet::with_capacity(n_records);
        if let Some(data) = self.data.iter().find(|data| !seen.insert(*data)) {
            return Err(EntryError::Duplicate {
                rtype,
                data: data.to_string(),
            });
        }
        if let Order::Weighted { groups, .. } = &self.order {
            let n_grouped = groups
                .iter()
                .map(|group| usize::from(group.n_records))
                .sum::<usize>();
            if n_grouped != n_records || groups.len() > GROUPS_PER_SET_MAX {
                return Err(EntryError::BadGroups {
                    rtype,
                    n_groups: groups.len(),
                    n_grouped,
                });
            }
        }
        Ok(rtype)
    }
}

/// Everything one name answers with.
///
/// Without sets the name exists and has no data (NODATA instead of NXDOMAIN); with a [`Why`] and without sets it does not exist, as
/// if there were no entry, and the reply says why.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// At most one set per type.
    pub sets: Vec<RecordSet>,
    /// What replies about the name say beside their records.
    pub why: Option<Why>,
}

/// An extended error (RFC 8914) that goes with the replies about a name, where the client speaks EDNS and there is room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    code: u16,
    text: String,
}

impl Why {
    /// "Other error": the text says it all.
    pub const OTHER: u16 = 0;
    /// "Stale answer": nothing newer could be learned.
    pub const STALE_ANSWER: u16 = 3;

    /// An info code of RFC 8914 §4 and a text for people. Longer texts are cut after [`WHY_OCTETS_MAX`] octets.
    pub fn new(code: u16, text: &str) -> Why {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = ends.take_while(|end| *end <= WHY_OCTETS_MAX).last();
        let text = text[..end.unwrap_or(0)].to_owned();
        Why { code, text }
    }

    /// The info code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Entry {
    /// An entry of one set.
    pub fn of(set: RecordSet) -> Entry {
        Entry {
            sets: vec![set],
            why: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), EntryError> {
        let mut types = BTreeSet::new();
        for set in &self.sets {
            let rtype = set.check()?;
            if rtype.is_meta() {
                return Err(EntryError::MetaType { rtype });
            }
            if !types.insert(rtype) {
                return Err(EntryError::TwoSets { rtype });
            }
            if rtype == Type::CNAME && set.data.len() > 1 {
                return Err(EntryError::CnameNotAlone);
            }
        }
        if types.contains(&Type::CNAME) && types.len() > 1 {
            return Err(EntryError::CnameNotAlone);
        }
        Ok(())
    }
}

/// What is wrong with the records meant for a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// A set without records.
    #[error("a record set has no records")]
    EmptySet,
    /// Two types in one set.
    #[error("a record set mixes {rtype} and {other}")]
    MixedTypes {
        /// Type of the first record.
        rtype: Type,
        /// The odd one.
        other: Type,
    },
    /// Two sets of one type.
    #[error("two record sets of type {rtype}")]
    TwoSets {
        /// The type.
        rtype: Type,
    },
    /// The same record twice.
    #[error("{rtype} record {data} is given twice")]
    Duplicate {
        /// The type.
        rtype: Type,
        /// The record in presentation form.
        data: String,
    },
    /// More than [`RECORDS_PER_SET_MAX`].
    #[error("{n_records} {rtype} records; the limit is {RECORDS_PER_SET_MAX}")]
    TooManyRecords {
        /// The type.
        rtype: Type,
        /// How many there are.
        n_records: usize,
    },
    /// Beyond [`TTL_SECONDS_MAX`].
    #[error("{rtype} TTL of {ttl_seconds} s; the limit is {TTL_SECONDS_MAX} s")]
    TtlTooLong {
        /// The type.
        rtype: Type,
        /// The TTL in seconds.
        ttl_seconds: u32,
    },
    /// Weight groups that do not add up to the set, or more than [`GROUPS_PER_SET_MAX`].
    #[error("{n_groups} weight groups with {n_grouped} {rtype} records do not cover the set")]
    BadGroups {
        /// The type.
        rtype: Type,
        /// How many groups there are.
        n_groups: usize,
        /// How many records they claim.
        n_grouped: usize,
    },
    /// A type that can only be asked for.
    #[error("{rtype} cannot be stored")]
    MetaType {
        /// The type.
        rtype: Type,
    },
    /// A CNAME next to other records.
    #[error("a CNAME must be the only record of its name")]
    CnameNotAlone,
    /// Apex records that the settings own.
    #[error("{rtype} at the apex comes from the zone's settings")]
    OwnedBySettings {
        /// The type.
        rtype: Type,
    },
    /// All records of the name together are larger than a message may be.
    #[error("records of {octets} octets; the limit is 60000")]
    TooLarge {
        /// Their size in octets.
        octets: usize,
    },
    /// Data that does not encode.
    #[error("record data cannot be encoded")]
    Data(#[from] record::Error),
}
