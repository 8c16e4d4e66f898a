//! Zones: what a name answers with, compiled when data changes.
//!
//! A [`Zone`] is an immutable value. [`Zone::with`] gives the next one, sharing everything that did not change, so one change
//! costs the page it lies in and not the size of the zone. Records are held as the bytes that go on the wire (`node`), in a
//! persistent hash map of small pages (`pages`).
//!
//! Rules that hold for every zone:
//! - SOA and NS of the apex come from the [`Settings`]; so do the addresses of name servers that lie inside the zone.
//! - A name exists when it has an [`Entry`], even an empty one, or when a name below it exists (an empty non-terminal, RFC 8020).
//! - NS records below the apex cut a delegation: the name and everything below it is answered with a referral.
//! - A CNAME stands alone at its name (RFC 1034 §3.6.2).
//!
//! What a zone of k8gb's DNS plugin looks like is [`Settings::k8gb`].

mod node;
mod pages;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::sync::Arc;

use crate::name::{self, Name};
use crate::record::{self, Data, Soa, Type};

pub(crate) use node::{NodeRef, OrderRef, SetRef};
pub(crate) use pages::hash;
use pages::{Pages, Pending};

/// Most records one set may hold. Past this a name stops being an answer and becomes a list.
pub const RECORDS_PER_SET_MAX: usize = 512;
/// Most weight groups one set may hold: one per cluster of a fleet.
pub const GROUPS_PER_SET_MAX: usize = 64;
/// Longest TTL in seconds (RFC 2181 §8).
pub const TTL_SECONDS_MAX: u32 = i32::MAX as u32;

/// A name server of a zone and where it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameServer {
    /// Its name, as the parent zone delegates to it.
    pub name: Name,
    /// Its addresses. Inside the zone they are served as records of `name`; outside they are only added to NS answers.
    pub addresses: Vec<IpAddr>,
}

/// What a zone is, apart from its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Name of the zone.
    pub apex: Name,
    /// Start of authority. Its `minimum_seconds` is the negative TTL.
    pub soa: Soa,
    /// TTL of the SOA and NS records in seconds.
    pub ttl_seconds: u32,
    /// The name servers, at least one; their names should be the ones the parent delegates to, or resolvers that trust the
    /// child's NS set lose their way.
    pub nameservers: Vec<NameServer>,
}

impl Settings {
    /// The layout of k8gb's DNS plugin: `ns1.dns.<zone>`, `hostmaster.dns.<zone>`, refresh 7200, retry 1800, expire 86400,
    /// TTLs equal to the negative TTL. Pass [`hourly_serial`] as serial to get the plugin's.
    ///
    /// `nameservers` replaces the NS set; empty keeps the plugin's single `ns1.dns.<zone>` (without address).
    ///
    /// # Errors
    /// When the names below the apex become too long.
    pub fn k8gb(
        apex: Name,
        serial: u32,
        negative_ttl_seconds: u32,
        nameservers: Vec<NameServer>,
    ) -> Result<Settings, name::Error> {
        let dns = apex.child("dns")?;
        let ns1 = dns.child("ns1")?;
        let soa = Soa {
            mname: nameservers
                .first()
                .map_or_else(|| ns1.clone(), |server| server.name.clone()),
            rname: dns.child("hostmaster")?,
            serial,
            refresh_seconds: 7200,
            retry_seconds: 1800,
            expire_seconds: 86400,
            minimum_seconds: negative_ttl_seconds,
        };
        let nameservers = if nameservers.is_empty() {
            vec![NameServer {
                name: ns1,
                addresses: Vec::new(),
            }]
        } else {
            nameservers
        };
        Ok(Settings {
            apex,
            soa,
            ttl_seconds: negative_ttl_seconds,
            nameservers,
        })
    }
}

/// The plugin's serial: Unix time in seconds, truncated to the hour.
pub fn hourly_serial(unix_seconds: u64) -> u32 {
    (unix_seconds - unix_seconds % 3600) as u32
}

/// In which order the records of a set are given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// As they stand in the set: fail-over lists, delegations.
    Fixed,
    /// A fresh uniform permutation per query: round robin.
    Shuffle,
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
    fn rtype(&self) -> Option<Type> {
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
        let mut seen = std::collections::HashSet::with_capacity(n_records);
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

/// Everything one name answers with. Without sets the name exists and has no data (NODATA instead of NXDOMAIN).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// At most one set per type.
    pub sets: Vec<RecordSet>,
}

impl Entry {
    /// An entry of one set.
    pub fn of(set: RecordSet) -> Entry {
        Entry { sets: vec![set] }
    }

    fn check(&self) -> Result<(), EntryError> {
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
    #[error("records of {octets} octets; the limit is 65536")]
    TooLarge {
        /// Their size in octets.
        octets: usize,
    },
    /// Data that does not encode.
    #[error("record data cannot be encoded")]
    Data(#[from] record::Error),
}

/// Why a zone or a change to it is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A name that is not at or below the apex.
    #[error("{name} is not in zone {apex}")]
    OutOfZone {
        /// The name.
        name: Name,
        /// The zone.
        apex: Name,
    },
    /// A zone without name servers.
    #[error("zone {apex} has no name server")]
    NoNameServer {
        /// The zone.
        apex: Name,
    },
    /// A change to a name whose addresses come from the settings.
    #[error("{name} is a name server of zone {apex}; its records come from the zone's settings")]
    NameServerName {
        /// The name.
        name: Name,
        /// The zone.
        apex: Name,
    },
    /// Records that cannot be served.
    #[error("records of {name} are refused")]
    Entry {
        /// The name.
        name: Name,
        /// What is wrong with them.
        #[source]
        source: EntryError,
    },
}

/// One zone, compiled. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Zone {
    settings: Arc<Settings>,
    apex_records: Arc<ApexRecords>,
    pages: Pages,
    n_wildcards: usize,
    n_cuts: usize,
}

/// SOA and NS in wire form. Every owner and every name inside the zone ends in a pointer to the apex, whose place in the message
/// depends on the question: `pointers` says where those are.
#[derive(Debug)]
pub(crate) struct ApexRecords {
    /// The SOA as an answer.
    pub(crate) soa: Relocatable,
    /// The SOA of a negative answer: TTL is the smaller of its TTL and its minimum (RFC 2308 §3).
    pub(crate) negative: Relocatable,
    /// The NS set.
    pub(crate) ns: Relocatable,
    /// Addresses of the name servers: ready records, owner included.
    pub(crate) glue: Vec<Relocatable>,
}

/// Records whose pointers to the apex are set when they are copied into a message.
#[derive(Debug, Default)]
pub(crate) struct Relocatable {
    pub(crate) wire: Vec<u8>,
    pub(crate) pointers: Vec<u16>,
    pub(crate) n_records: u16,
}

impl Zone {
    /// A zone with nothing but its settings.
    ///
    /// # Errors
    /// When there is no name server, or their addresses are more than a record set may hold.
    pub fn new(settings: Settings) -> Result<Zone, Error> {
        let apex_records = Arc::new(ApexRecords::compile(&settings)?);
        let settings = Arc::new(settings);
        let pages = Pages::default();
        let zone = Zone {
            settings,
            apex_records,
            pages,
            n_wildcards: 0,
            n_cuts: 0,
        };
        let mut pending = Pending::new(&zone.pages);
        pending
            .set(&[], &Entry::default())
            .expect("an empty entry encodes");
        zone.put_nameservers(&mut pending)?;
        Ok(zone.finish(pending))
    }

    /// The same records under other settings, of which only the apex must be equal.
    ///
    /// # Errors
    /// As [`Zone::new`], and [`Error::OutOfZone`] when the apex differs.
    pub fn reconfigured(&self, settings: Settings) -> Result<Zone, Error> {
        if settings.apex != self.settings.apex {
            return Err(Error::OutOfZone {
                name: settings.apex,
                apex: self.apex().clone(),
            });
        }
        let mut zone = self.clone();
        let mut pending = Pending::new(&self.pages);
        for server in &self.settings.nameservers {
            if let Some(relative) = self.relative(&server.name) {
                pending.remove(relative);
            }
        }
        zone.apex_records = Arc::new(ApexRecords::compile(&settings)?);
        zone.settings = Arc::new(settings);
        zone.put_nameservers(&mut pending)?;
        Ok(zone.finish(pending))
    }

    /// The zone after `changes`: an entry replaces everything at its name, `None` removes the name.
    ///
    /// A change that is refused leaves its name as it was and does not hinder the others. Cost: the pages that hold changed names.
    pub fn with(
        &self,
        changes: impl IntoIterator<Item = (Name, Option<Entry>)>,
    ) -> (Zone, Vec<Error>) {
        let mut pending = Pending::new(&self.pages);
        let mut errors = Vec::new();
        for (name, entry) in changes {
            if let Err(error) = self.stage(&mut pending, name, entry) {
                errors.push(error);
            }
        }
        (self.clone().finish(pending), errors)
    }

    /// Name of the zone.
    pub fn apex(&self) -> &Name {
        &self.settings.apex
    }

    /// What the zone was made from.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Number of names, the apex and empty non-terminals included.
    pub fn n_names(&self) -> usize {
        self.pages.n_nodes()
    }

    /// Octets of memory held by names and records.
    pub fn memory_octets(&self) -> usize {
        self.pages.memory_octets()
    }

    /// The entry at `name`, if someone set one (empty non-terminals have none).
    pub fn entry(&self, name: &Name) -> Option<Entry> {
        self.node(self.relative(name)?)?.to_entry()
    }

    /// All names with entries, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = (Name, Entry)> + '_ {
        self.pages.iter().filter_map(|node| {
            let entry = node.to_entry()?;
            let wire = [node.name(), self.apex().wire()].concat();
            Some((
                Name::from_wire(&wire).expect("stored names are well-formed"),
                entry,
            ))
        })
    }

    // === for answer ===

    pub(crate) fn node(&self, relative: &[u8]) -> Option<NodeRef<'_>> {
        self.pages.lookup(relative)
    }

    pub(crate) fn apex_records(&self) -> &ApexRecords {
        &self.apex_records
    }

    pub(crate) fn has_wildcards(&self) -> bool {
        self.n_wildcards > 0
    }

    pub(crate) fn has_cuts(&self) -> bool {
        self.n_cuts > 0
    }

    // === private ===

    fn relative<'a>(&self, name: &'a Name) -> Option<&'a [u8]> {
        name::strip_suffix(name.wire(), self.apex().wire())
    }

    fn stage(&self, pending: &mut Pending, name: Name, entry: Option<Entry>) -> Result<(), Error> {
        let apex = self.apex();
        let Some(relative) = self.relative(&name) else {
            return Err(Error::OutOfZone {
                name,
                apex: apex.clone(),
            });
        };
        if self
            .settings
            .nameservers
            .iter()
            .any(|server| server.name == name)
            && !relative.is_empty()
        {
            return Err(Error::NameServerName {
                name,
                apex: apex.clone(),
            });
        }
        let Some(entry) = entry else {
            pending.remove(relative);
            return Ok(());
        };
        let check = || {
            entry.check()?;
            let owned = [Type::SOA, Type::NS, Type::CNAME];
            match entry
                .sets
                .iter()
                .filter_map(RecordSet::rtype)
                .find(|t| owned.contains(t))
            {
                Some(rtype) if relative.is_empty() => Err(EntryError::OwnedBySettings { rtype }),
                Some(Type::SOA) => Err(EntryError::OwnedBySettings { rtype: Type::SOA }),
                _ => Ok(()),
            }
        };
        check()
            .and_then(|()| pending.set(relative, &entry))
            .map_err(|source| Error::Entry {
                name: name.clone(),
                source,
            })
    }

    fn put_nameservers(&self, pending: &mut Pending) -> Result<(), Error> {
        for server in &self.settings.nameservers {
            let Some(relative) = self.relative(&server.name).filter(|r| !r.is_empty()) else {
                continue;
            };
            let entry = address_entry(&server.addresses, self.settings.ttl_seconds);
            entry
                .check()
                .and_then(|()| pending.set(relative, &entry))
                .map_err(|source| Error::Entry {
                    name: server.name.clone(),
                    source,
                })?;
        }
        Ok(())
    }

    fn finish(mut self, pending: Pending) -> Zone {
        self.n_wildcards = self
            .n_wildcards
            .wrapping_add_signed(pending.wildcards_delta());
        self.n_cuts = self.n_cuts.wrapping_add_signed(pending.cuts_delta());
        self.pages = pending.finish();
        self
    }
}

/// A and AAAA sets in fixed order.
fn address_entry(addresses: &[IpAddr], ttl_seconds: u32) -> Entry {
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for address in addresses {
        match address {
            IpAddr::V4(address) => v4.push(Data::A(*address)),
            IpAddr::V6(address) => v6.push(Data::Aaaa(*address)),
        }
    }
    let sets = [v4, v6].into_iter().filter(|data| !data.is_empty());
    Entry {
        sets: sets
            .map(|data| RecordSet::fixed(ttl_seconds, data))
            .collect(),
    }
}

// === impl ApexRecords, Relocatable ===

impl ApexRecords {
    fn compile(settings: &Settings) -> Result<ApexRecords, Error> {
        let Settings {
            apex,
            soa,
            ttl_seconds,
            nameservers,
        } = settings;
        if nameservers.is_empty() {
            return Err(Error::NoNameServer { apex: apex.clone() });
        }
        let soa_record = |ttl_seconds: u32| {
            let mut out = Relocatable::default();
            let rdata = [&soa.mname, &soa.rname];
            let numbers = [
                soa.serial,
                soa.refresh_seconds,
                soa.retry_seconds,
                soa.expire_seconds,
                soa.minimum_seconds,
            ]
            .map(u32::to_be_bytes)
            .concat();
            out.push(apex, apex, (Type::SOA, ttl_seconds), &rdata, &numbers);
            out
        };
        let mut ns = Relocatable::default();
        let mut glue = Vec::new();
        for server in nameservers {
            ns.push(apex, apex, (Type::NS, *ttl_seconds), &[&server.name], &[]);
            for address in &server.addresses {
                let mut out = Relocatable::default();
                let (rtype, rdata) = match address {
                    IpAddr::V4(address) => (Type::A, address.octets().to_vec()),
                    IpAddr::V6(address) => (Type::AAAA, address.octets().to_vec()),
                };
                out.push(apex, &server.name, (rtype, *ttl_seconds), &[], &rdata);
                glue.push(out);
            }
        }
        let negative = soa_record(soa.minimum_seconds.min(*ttl_seconds));
        Ok(ApexRecords {
            soa: soa_record(*ttl_seconds),
            negative,
            ns,
            glue,
        })
    }
}

impl Relocatable {
    /// Appends a record whose data is `names` followed by `tail`; all names are shortened by the apex where they can be.
    fn push(
        &mut self,
        apex: &Name,
        owner: &Name,
        (rtype, ttl_seconds): (Type, u32),
        names: &[&Name],
        tail: &[u8],
    ) {
        self.push_name(apex, owner);
        self.wire.extend(rtype.0.to_be_bytes());
        self.wire.extend([0, 1]);
        self.wire.extend(ttl_seconds.to_be_bytes());
        let length_at = self.wire.len();
        self.wire.extend([0, 0]);
        for name in names {
            self.push_name(apex, name);
        }
        self.wire.extend(tail);
        let octets = (self.wire.len() - length_at - 2) as u16;
        self.wire[length_at..length_at + 2].copy_from_slice(&octets.to_be_bytes());
        self.n_records += 1;
    }

    fn push_name(&mut self, apex: &Name, name: &Name) {
        match name::strip_suffix(name.wire(), apex.wire()) {
            // The root is shorter than a pointer to it.
            Some(relative) if !apex.is_root() => {
                self.wire.extend(relative);
                self.pointers.push(self.wire.len() as u16);
                self.wire.extend([0, 0]);
            }
            _ => self.wire.extend(name.wire()),
        }
    }
}

#[cfg(test)]
mod tests;
