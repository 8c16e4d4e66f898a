//! What a resolver remembers, for as long as the owners of the data allow, within a fixed number of entries.
//!
//! Two generations bound it without bookkeeping per entry: new entries go to the young one; when that is half the limit the old one
//! is thrown away and the young takes its place. What is used moves back to the young generation, so lively entries survive.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::SocketAddr;

use crate::message::Question;
use crate::name::Name;
use crate::record::{Record, Type};

/// Longest time a positive answer is believed, in seconds: a day, against lying TTLs.
const TTL_SECONDS_MAX: u32 = 86_400;
/// Longest time a negative answer is believed, in seconds (RFC 2308 §5 suggests up to three hours).
const NEGATIVE_TTL_SECONDS_MAX: u32 = 3_600;

/// What is known about one name and type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// Its records.
    Records(Vec<Record>),
    /// The name has no such records. With the SOA that says so, if it came.
    NoData(Option<Record>),
    /// The name does not exist.
    NxDomain(Option<Record>),
}

/// Who serves a zone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delegation {
    /// Names of its servers.
    pub names: Vec<Name>,
    /// Addresses known so far. Port 0 means the port of delegated servers.
    pub servers: Vec<SocketAddr>,
}

/// The cache. `now_ms` is any clock that only goes forward, in milliseconds.
#[derive(Debug)]
pub struct Cache {
    known: Generations<Question, Known>,
    delegations: Generations<Name, Delegation>,
}

impl Cache {
    /// An empty cache for at most `entries_max` answers and as many delegations.
    pub fn new(entries_max: usize) -> Cache {
        Cache {
            known: Generations::new(entries_max),
            delegations: Generations::new(entries_max),
        }
    }

    /// What is known, TTLs counted down.
    pub fn known(&mut self, name: &Name, rtype: Type, now_ms: u64) -> Option<Known> {
        let question = Question {
            name: name.clone(),
            rtype,
        };
        let (known, left_ms) = self.known.get(&question, now_ms)?;
        let left_seconds = left_ms.div_ceil(1000) as u32;
        let mut known = known.clone();
        let aged = match &mut known {
            Known::Records(records) => records.as_mut_slice(),
            Known::NoData(soa) | Known::NxDomain(soa) => soa.as_mut_slice(),
        };
        aged.iter_mut()
            .for_each(|record| record.ttl_seconds = left_seconds.min(record.ttl_seconds));
        Some(known)
    }

    /// Remembers an answer for its shortest TTL; negative ones for their SOA's (RFC 2308 §5), not at all without one.
    pub fn learn(&mut self, question: Question, known: Known, now_ms: u64) {
        let ttl_seconds = match &known {
            Known::Records(records) => shortest(records).min(TTL_SECONDS_MAX),
            Known::NoData(soa) | Known::NxDomain(soa) => soa
                .as_ref()
                .map_or(0, |soa| soa.ttl_seconds)
                .min(NEGATIVE_TTL_SECONDS_MAX),
        };
        self.known.put(question, known, ttl_seconds, now_ms);
    }

    /// The deepest zone at or above `name` whose servers are known.
    pub fn delegation(&mut self, name: &Name, now_ms: u64) -> Option<(Name, Delegation)> {
        let mut zone = Some(name.clone());
        while let Some(here) = zone {
            if let Some((delegation, _)) = self.delegations.get(&here, now_ms) {
                return Some((here, delegation.clone()));
            }
            zone = here.parent();
        }
        None
    }

    /// Remembers who serves `zone`.
    pub fn delegate(&mut self, zone: Name, delegation: Delegation, ttl_seconds: u32, now_ms: u64) {
        self.delegations
            .put(zone, delegation, ttl_seconds.min(TTL_SECONDS_MAX), now_ms);
    }

    /// Forgets who serves `zone`, because they do not answer.
    pub fn forget(&mut self, zone: &Name) {
        self.delegations.remove(zone);
    }

    /// Number of entries held, expired ones included.
    pub fn len(&self) -> usize {
        self.known.len() + self.delegations.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The smallest TTL among records, in seconds; 0 for none.
fn shortest(records: &[Record]) -> u32 {
    records
        .iter()
        .map(|record| record.ttl_seconds)
        .min()
        .unwrap_or(0)
}

#[derive(Debug)]
struct Generations<K, V> {
    young: HashMap<K, (V, u64)>,
    old: HashMap<K, (V, u64)>,
    half: usize,
}

impl<K: Hash + Eq + Clone, V> Generations<K, V> {
    fn new(entries_max: usize) -> Generations<K, V> {
        Generations {
            young: HashMap::new(),
            old: HashMap::new(),
            half: entries_max.div_ceil(2),
        }
    }

    /// The value and the milliseconds it is still good for.
    fn get(&mut self, key: &K, now_ms: u64) -> Option<(&V, u64)> {
        if let Some((key, (value, until_ms))) = self.old.remove_entry(key) {
            self.insert(key, value, until_ms);
        }
        let (value, until_ms) = self.young.get(key)?;
        let left_ms = until_ms
            .checked_sub(now_ms)
            .filter(|left_ms| *left_ms > 0)?;
        Some((value, left_ms))
    }

    fn put(&mut self, key: K, value: V, ttl_seconds: u32, now_ms: u64) {
        if ttl_seconds > 0 {
            self.old.remove(&key);
            self.insert(key, value, now_ms + u64::from(ttl_seconds) * 1000);
        }
    }

    fn insert(&mut self, key: K, value: V, until_ms: u64) {
        if self.young.len() >= self.half && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, (value, until_ms));
    }

    fn remove(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }

    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests;
