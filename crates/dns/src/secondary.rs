//! Keeping a copy of part of somebody else's zone: what a transfer says, and what changes by it.
//!
//! [`Incoming`] reads the messages of one transfer, whole or incremental (RFC 5936, RFC 1995), record by record. Nothing of it counts before
//! the last message is there and every signature is right: a transfer that breaks off, stalls or lies leaves the [`Replica`] as it was.
//! Only addresses of names somebody cares for are kept, and how much may come is bounded, so that a hostile server costs time and no
//! memory. [`session`] decides when to ask.

pub mod session;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use crate::message::{self, Answer, Answers, CLASS_IN, FLAG_QR, HEADER_OCTETS, Question};
use crate::name::{Name, Pick};
use crate::record::{Data, Rcode, Type};
use crate::tsig::{self, Chain, Key};
use crate::zone::is_later;

/// Octets of one transfer: the records of about a million names.
pub const OCTETS_MAX: usize = 256 << 20;
/// Addresses kept of one zone, and changes to them in one transfer.
pub const ADDRESSES_MAX: usize = 1_000_000;

/// Why a transfer is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A message cannot be read.
    #[error("malformed message")]
    Malformed(#[from] message::Error),
    /// A message does not carry the right signature.
    #[error("wrong signature")]
    Tsig(#[from] tsig::Error),
    /// The server says no.
    #[error("the server refuses: {0}")]
    Refused(Rcode),
    /// The reply belongs to another question.
    #[error("the reply belongs to another question")]
    Foreign,
    /// The records are in no order that a transfer has.
    #[error("records out of order")]
    Disorder,
    /// More than we take.
    #[error("the zone is too large")]
    TooLarge,
    /// The difference does not fit what we hold.
    #[error("the difference does not fit the copy")]
    Misfit,
}

/// An address of a name and its TTL in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Its TTL in seconds.
    pub ttl_seconds: u32,
}

/// What a transfer said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// Nothing is different.
    Same,
    /// Everything.
    Whole {
        /// The version.
        serial: u32,
        /// All addresses that are kept.
        addresses: Vec<(Name, Address)>,
    },
    /// What is different, in the order it became so.
    Changes {
        /// The version after the last change.
        serial: u32,
        /// Addresses that go (`false`) and come (`true`).
        changes: Vec<(bool, Name, Address)>,
    },
}

/// Whether a transfer is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Another message is expected.
    More,
    /// That was all.
    Done(Update),
}

/// Where in a transfer we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first record.
    Start,
    /// Behind the first SOA.
    Opened,
    /// Within the whole zone.
    Whole,
    /// Among records that go.
    Deleting,
    /// Among records that come, towards a serial.
    Adding(u32),
    /// Behind the last SOA.
    Done,
}

/// Reads the replies to one request for a transfer.
#[derive(Debug)]
pub struct Incoming {
    id: u16,
    zone: Name,
    /// The version we have and asked the difference to.
    known: Option<u32>,
    chain: Chain,
    keep: Pick,
    place: Place,
    /// The version the server has.
    serial: u32,
    n_octets: usize,
    changes: Vec<(bool, Name, Address)>,
}

impl Incoming {
    /// The request for what is different from `known`, or for everything, and the reader of what comes back.
    pub fn ask(
        id: u16,
        zone: &Name,
        known: Option<u32>,
        key: &Key,
        keep: Pick,
        now_seconds: u64,
    ) -> (Vec<u8>, Incoming) {
        let rtype = if known.is_some() {
            Type::IXFR
        } else {
            Type::AXFR
        };
        let question = Question {
            name: zone.clone(),
            rtype,
        };
        let mut request = message::encode_query(id, 0, &question, None);
        if let Some(serial) = known {
            put_soa(&mut request, serial);
        }
        let chain = key.sign_request(&mut request, now_seconds);
        let incoming = Incoming {
            id,
            zone: zone.clone(),
            known,
            chain,
            keep,
            place: Place::Start,
            serial: 0,
            n_octets: 0,
            changes: Vec::new(),
        };
        (request, incoming)
    }

    /// Takes the next message.
    ///
    /// # Errors
    /// When it cannot be believed; the transfer is then over.
    pub fn take(&mut self, bytes: &[u8], now_seconds: u64) -> Result<Progress, Error> {
        self.n_octets += bytes.len();
        if self.n_octets > OCTETS_MAX {
            return Err(Error::TooLarge);
        }
        let mut answers = Answers::parse(bytes)?;
        if answers.id != self.id || answers.flags & FLAG_QR == 0 {
            return Err(Error::Foreign);
        }
        // A server that does not know the key cannot sign its refusal.
        let rcode = Rcode(answers.flags & 0xf);
        if rcode != Rcode::NOERROR {
            return Err(Error::Refused(rcode));
        }
        self.chain
            .verify(bytes, now_seconds)
            .map_err(|error| match error {
                tsig::Error::Malformed(error) => Error::Malformed(error),
                error => Error::Tsig(error),
            })?;
        let question = answers.question.take();
        if question.is_some_and(|question| question.name != self.zone) {
            return Err(Error::Foreign);
        }
        let mut n_answers = 0;
        let is_first = self.place == Place::Start;
        while let Some(record) = answers.next()? {
            self.take_record(&record)?;
            n_answers += 1;
        }
        let is_current = self
            .known
            .is_some_and(|known| !is_later(self.serial, known));
        match self.place {
            Place::Opened if is_first && n_answers == 1 && is_current => {
                Ok(Progress::Done(Update::Same))
            }
            Place::Start => Err(Error::Disorder),
            Place::Done => Ok(Progress::Done(self.finish())),
            _ => Ok(Progress::More),
        }
    }

    fn take_record(&mut self, record: &Answer<'_, '_>) -> Result<(), Error> {
        let soa = match record.rtype {
            Type::SOA if record.name == self.zone.wire() => match record.data()? {
                Data::Soa(soa) => Some(soa.serial),
                _ => return Err(Error::Disorder),
            },
            Type::SOA => return Err(Error::Disorder),
            _ => None,
        };
        self.place = match (self.place, soa) {
            (Place::Start, Some(serial)) => {
                self.serial = serial;
                Place::Opened
            }
            (Place::Opened, Some(serial))
                if self.known == Some(serial) && serial != self.serial =>
            {
                Place::Deleting
            }
            (Place::Opened | Place::Whole, Some(serial)) if serial == self.serial => {
                self.known = None;
                Place::Done
            }
            (Place::Opened | Place::Whole, None) => {
                self.known = None;
                self.note(true, record)?;
                Place::Whole
            }
            (Place::Deleting, None) => {
                self.note(false, record)?;
                Place::Deleting
            }
            (Place::Deleting, Some(serial)) => Place::Adding(serial),
            (Place::Adding(to), None) => {
                self.note(true, record)?;
                Place::Adding(to)
            }
            (Place::Adding(to), Some(serial)) if serial == to && to == self.serial => Place::Done,
            (Place::Adding(to), Some(serial)) if serial == to => Place::Deleting,
            (Place::Start | Place::Done | Place::Opened | Place::Whole | Place::Adding(_), _) => {
                return Err(Error::Disorder);
            }
        };
        Ok(())
    }

    fn note(&mut self, comes: bool, record: &Answer<'_, '_>) -> Result<(), Error> {
        if !(record.rtype == Type::A || record.rtype == Type::AAAA) || !(self.keep)(record.name) {
            return Ok(());
        }
        let ip = match record.data()? {
            Data::A(ip) => IpAddr::V4(ip),
            Data::Aaaa(ip) => IpAddr::V6(ip),
            _ => return Ok(()),
        };
        // The records of a name follow each other.
        let name = match self.changes.last() {
            Some((_, name, _)) if name.wire() == record.name => name.clone(),
            _ => Name::from_wire(record.name).map_err(|_| message::Error::BadName)?,
        };
        if !name.is_within(&self.zone) {
            return Ok(());
        }
        if self.changes.len() >= ADDRESSES_MAX {
            return Err(Error::TooLarge);
        }
        let address = Address {
            ip,
            ttl_seconds: record.ttl_seconds,
        };
        self.changes.push((comes, name, address));
        Ok(())
    }

    fn finish(&mut self) -> Update {
        let (serial, changes) = (self.serial, std::mem::take(&mut self.changes));
        if self.known.is_some() {
            return Update::Changes { serial, changes };
        }
        let addresses = changes
            .into_iter()
            .map(|(_, name, address)| (name, address));
        Update::Whole {
            serial,
            addresses: addresses.collect(),
        }
    }
}

/// The SOA in the authority section, of which only the serial counts (RFC 1995 §3).
fn put_soa(request: &mut Vec<u8>, serial: u32) {
    const POINTER: u16 = 0xc000 | HEADER_OCTETS as u16;
    request[8..10].copy_from_slice(&1u16.to_be_bytes());
    request.extend(POINTER.to_be_bytes());
    request.extend(Type::SOA.0.to_be_bytes());
    request.extend(CLASS_IN.to_be_bytes());
    request.extend([0; 4]);
    request.extend(22u16.to_be_bytes());
    request.extend([0, 0]);
    request.extend(serial.to_be_bytes());
    request.extend([0; 16]);
}

/// A copy of the addresses of some names.
#[derive(Debug, Clone, Default)]
pub struct Replica {
    serial: Option<u32>,
    names: HashMap<Name, Vec<Address>>,
    n_addresses: usize,
}

impl Replica {
    /// The version; `None` when nothing is held.
    pub fn serial(&self) -> Option<u32> {
        self.serial
    }

    /// The addresses of a name, sorted.
    pub fn addresses(&self, name: &Name) -> &[Address] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// Number of addresses held.
    pub fn len(&self) -> usize {
        self.n_addresses
    }

    /// Whether no address is held.
    pub fn is_empty(&self) -> bool {
        self.n_addresses == 0
    }

    /// Makes the copy what the transfer said; returns the names whose addresses changed.
    ///
    /// # Errors
    /// When the changes do not fit. The copy is then empty, because it cannot be right.
    pub fn apply(&mut self, update: Update) -> Result<HashSet<Name>, Error> {
        match update {
            Update::Same => Ok(HashSet::new()),
            Update::Whole { serial, addresses } => Ok(self.replace(serial, addresses)),
            Update::Changes { serial, changes } => {
                let mut changed = HashSet::new();
                let mut last = None;
                for (comes, name, address) in changes {
                    if !self.change(comes, &name, address) {
                        *self = Replica::default();
                        return Err(Error::Misfit);
                    }
                    if last.as_ref() != Some(&name) {
                        changed.insert(name.clone());
                        last = Some(name);
                    }
                }
                self.serial = Some(serial);
                Ok(changed)
            }
        }
    }

    fn replace(&mut self, serial: u32, addresses: Vec<(Name, Address)>) -> HashSet<Name> {
        let before = std::mem::take(&mut self.names);
        self.serial = Some(serial);
        for (name, address) in addresses {
            self.names.entry(name).or_default().push(address);
        }
        self.n_addresses = 0;
        for held in self.names.values_mut() {
            held.sort_unstable();
            held.dedup();
            self.n_addresses += held.len();
        }
        let is_other = |name: &&Name| before.get(*name) != self.names.get(*name);
        let names = before.keys().chain(self.names.keys());
        names.filter(is_other).cloned().collect()
    }

    /// Adds or removes one address; tells whether it was not there or there.
    fn change(&mut self, comes: bool, name: &Name, address: Address) -> bool {
        let held = self.names.entry(name.clone()).or_default();
        let fits = match (comes, held.binary_search(&address)) {
            (true, Err(at)) if self.n_addresses < ADDRESSES_MAX => {
                held.insert(at, address);
                self.n_addresses += 1;
                true
            }
            (false, Ok(at)) => {
                held.remove(at);
                self.n_addresses -= 1;
                true
            }
            _ => false,
        };
        if held.is_empty() {
            self.names.remove(name);
        }
        fits
    }
}

#[cfg(test)]
mod tests;
