//! Zones: what a name answers with, compiled when data changes.
//!
//! A [`Zone`] is an immutable value. [`Zone::with`] gives the next one, sharing everything that did not change, so one change
//! costs the page it lies in and not the size of the zone. Records are held as the bytes that go on the wire (`node`), in a
//! persistent hash map of small pages (`pages`).
//!
//! Rules that hold for every zone:
//! - SOA and NS of the apex come from the [`Settings`]; so do the addresses of name servers that lie inside the zone.
//! - A name exists when it has an [`Entry`], even an empty one, or when a name below it exists (an empty non-terminal, RFC 8020). An
//!   entry that has nothing but a [`Why`] does not make it exist.
//! - NS records below the apex cut a delegation: the name and everything below it is answered with a referral.
//! - A CNAME stands alone at its name (RFC 1034 §3.6.2).
//!
//! What a zone of k8gb's DNS plugin looks like is [`Settings::k8gb`].

mod apex;
mod entry;
mod history;
mod node;
mod pages;

use std::net::IpAddr;
use std::sync::Arc;

use crate::name::{self, Name, Pick};
use crate::record::{Data, Soa, Type};

pub(crate) use apex::{ApexRecords, Relocatable};
pub use entry::{
    Entry, EntryError, GROUPS_PER_SET_MAX, Group, Order, RECORDS_PER_SET_MAX, RecordSet,
    TTL_SECONDS_MAX, WHY_OCTETS_MAX, Why,
};

pub(crate) use history::{Changes, is_later};
use history::{History, Staged, next_serial};
pub(crate) use node::{NodeRef, OrderRef, SetRef};
pub(crate) use pages::{NameHasher, hash};
use pages::{Pages, Pending};

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
    /// Unix time in seconds at which a remembered zone was good; `None` when it has been published since the start.
    remembered_from: Option<u64>,
    history: Arc<History>,
    /// What changed since the zone was published last.
    staged: Staged,
    /// Whether anybody can have seen it; until then there is nothing to remember.
    is_published: bool,
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
            remembered_from: None,
            history: Arc::default(),
            staged: Staged::default(),
            is_published: false,
        };
        let mut pending = Pending::new(&zone.pages);
        pending
            .set(&[], &Entry::default())
            .expect("an empty entry encodes");
        zone.put_nameservers(&mut pending)?;
        Ok(zone.finish(pending))
    }

    /// The same records under other settings, of which only the apex must be equal. A serial that is not later than the zone's is
    /// taken as no wish: serials only go up.
    ///
    /// # Errors
    /// As [`Zone::new`], and [`Error::OutOfZone`] when the apex differs.
    pub fn reconfigured(&self, mut settings: Settings) -> Result<Zone, Error> {
        if settings.apex != self.settings.apex {
            return Err(Error::OutOfZone {
                name: settings.apex,
                apex: self.apex().clone(),
            });
        }
        let mut zone = self.clone();
        if self.is_published {
            let serial = self.serial();
            if is_later(settings.soa.serial, serial) {
                zone.staged.serial_wish = Some(settings.soa.serial);
            }
            settings.soa.serial = serial;
            if settings != *self.settings {
                zone.staged.note_apex(&self.apex_records);
            }
        }
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
        changes: impl IntoIterator<Item = (Name, Option<impl Into<Arc<Entry>>>)>,
    ) -> (Zone, Vec<Error>) {
        let mut pending = Pending::new(&self.pages);
        let mut errors = Vec::new();
        for (name, entry) in changes {
            if let Err(error) = self.stage(&mut pending, name, entry.map(Into::into)) {
                errors.push(error);
            }
        }
        (self.clone().finish(pending), errors)
    }

    /// This zone as something remembered from before a restart, good at `unix_seconds`.
    pub(crate) fn remembered(mut self, unix_seconds: u64) -> Zone {
        self.remembered_from = Some(unix_seconds);
        self
    }

    /// When the zone was good (Unix time in seconds), if it is remembered from before a restart and nobody has published it since.
    pub fn remembered_from(&self) -> Option<u64> {
        self.remembered_from
    }

    /// Name of the zone.
    pub fn apex(&self) -> &Name {
        &self.settings.apex
    }

    /// The number of this version (RFC 1982): it goes up with every published change.
    pub fn serial(&self) -> u32 {
        self.settings.soa.serial
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

    /// Nodes in portions, for those who read all of them: start with 0 and go on with the number given.
    pub(crate) fn page(&self, at: usize) -> Option<(impl Iterator<Item = NodeRef<'_>>, usize)> {
        self.pages.page(at)
    }

    pub(crate) fn apex_records(&self) -> &ApexRecords {
        &self.apex_records
    }

    // === for transfer ===

    /// The version that is published: what changed gets a serial, no earlier than `floor`, and is remembered.
    pub(crate) fn sealed(mut self, floor: Option<u32>) -> Zone {
        let staged = std::mem::take(&mut self.staged);
        let serial = self.serial();
        let wishes = [staged.serial_wish, floor].map(|wish| wish.unwrap_or(serial));
        if !self.is_published {
            self.is_published = true;
            // A new zone keeps the serial it was given, or takes a later one.
            return self.numbered(next_serial(serial.wrapping_sub(1), wishes));
        }
        if staged.is_empty() {
            return self;
        }
        let n_names = self.n_names();
        let history = self
            .history
            .with(serial, &self.apex_records, n_names, staged);
        self.history = Arc::new(history);
        self.numbered(next_serial(serial, wishes))
    }

    /// Whether anybody can have seen the zone.
    pub(crate) fn is_published(&self) -> bool {
        self.is_published
    }

    /// What changed since an earlier version at the names that are picked; `None` when that is forgotten.
    pub(crate) fn changes_since(&self, serial: u32, pick: Option<Pick>) -> Option<Changes> {
        self.history.since(serial, pick)
    }

    fn numbered(mut self, serial: u32) -> Zone {
        if serial == self.serial() {
            return self;
        }
        Arc::make_mut(&mut self.settings).soa.serial = serial;
        let compiled = ApexRecords::compile(&self.settings);
        self.apex_records = Arc::new(compiled.expect("they compiled with another serial"));
        self
    }

    // === for answer, about the whole zone ===

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

    fn stage(
        &self,
        pending: &mut Pending,
        name: Name,
        entry: Option<Arc<Entry>>,
    ) -> Result<(), Error> {
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
        if self.is_published {
            pending.note_changes(&mut self.staged);
        }
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
        why: None,
    }
}

#[cfg(test)]
mod tests;
