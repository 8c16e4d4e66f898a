//! What our DNS server answers, as the difference to what it answered before.
//!
//! A [`Book`] holds the records each source wants under each name, and turns a source's new wishes into the few
//! [`Change`]s that matter. Sources rank: what this controller decided itself wins over a DNSEndpoint somebody else
//! wrote, and of two DNSEndpoints the one that comes first by namespace and name wins (the peer's DNS server picks one
//! at random).

mod records;
mod why;

use std::collections::{BTreeMap, BTreeSet};

use flotilla_dns::{
    catalog::Change,
    name::Name,
    zone::{Entry, Settings},
};

use crate::{key::Key, world::GslbId};

pub use self::why::why_of;

pub use self::records::{entries_of_endpoint, entry_of_host, entry_of_local, entry_of_sight};

/// Who wants records published; earlier wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A decision of this controller.
    Decision(GslbId),
    /// A DNSEndpoint written by somebody else, or by us before a restart.
    Endpoint(Key),
}

/// Everything that is to be published.
#[derive(Debug, Default)]
pub struct Book {
    zones: BTreeMap<String, Settings>,
    names: BTreeMap<String, BTreeMap<Source, Entry>>,
    by_source: BTreeMap<Source, BTreeSet<String>>,
}

impl Book {
    /// Replaces the zones. Records of zones that come or move are published again.
    pub fn set_zones(&mut self, zones: BTreeMap<String, Settings>) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut moved: Vec<&str> = Vec::new();
        for (apex, settings) in &self.zones {
            if !zones.contains_key(apex) {
                changes.push(Change::RemoveZone(settings.apex.clone()));
                moved.push(apex);
            }
        }
        for (apex, settings) in &zones {
            if self.zones.get(apex) != Some(settings) {
                changes.push(Change::Zone(settings.clone()));
                if !self.zones.contains_key(apex) {
                    moved.push(apex);
                }
            }
        }
        let moved: Vec<String> = moved.into_iter().map(str::to_owned).collect();
        self.zones = zones;
        let below = |name: &str, apex: &str| {
            name.strip_suffix(apex)
                .is_some_and(|own| own.ends_with('.'))
        };
        let concerned = self
            .names
            .keys()
            .filter(|name| moved.iter().any(|apex| below(name, apex)));
        changes.extend(concerned.filter_map(|name| self.change(name)));
        changes
    }

    /// What a source wants at a name.
    pub fn entry(&self, source: &Source, name: &str) -> Option<&Entry> {
        self.names.get(name)?.get(source)
    }

    /// Serial of a published zone.
    pub fn serial(&self, zone: &str) -> Option<u32> {
        self.zones.get(zone).map(|settings| settings.soa.serial)
    }

    /// Replaces what a source wants.
    pub fn set(&mut self, source: &Source, wanted: BTreeMap<String, Entry>) -> Vec<Change> {
        let before = self.by_source.remove(source).unwrap_or_default();
        let mut touched = BTreeSet::new();
        for name in before.iter().filter(|name| !wanted.contains_key(*name)) {
            if let Some(entries) = self.names.get_mut(name)
                && entries.remove(source).is_some()
            {
                touched.insert(name.clone());
            }
        }
        if !wanted.is_empty() {
            self.by_source
                .insert(source.clone(), wanted.keys().cloned().collect());
        }
        for (name, entry) in wanted {
            let entries = self.names.entry(name.clone()).or_default();
            if entries.get(source) != Some(&entry) {
                entries.insert(source.clone(), entry);
                touched.insert(name);
            }
        }
        let changes = touched
            .iter()
            .filter_map(|name| self.change(name))
            .collect();
        for name in &touched {
            if self.names.get(name).is_some_and(BTreeMap::is_empty) {
                self.names.remove(name);
            }
        }
        changes
    }

    /// Replaces what a source wants, keeping its present wish for the names in `keep`.
    pub fn set_keeping(
        &mut self,
        source: &Source,
        mut wanted: BTreeMap<String, Entry>,
        keep: impl IntoIterator<Item = String>,
    ) -> Vec<Change> {
        for name in keep {
            if let Some(entry) = self
                .names
                .get(&name)
                .and_then(|entries| entries.get(source))
            {
                wanted.insert(name, entry.clone());
            }
        }
        self.set(source, wanted)
    }

    /// The change that makes a name what the book says, if one of our zones contains it.
    fn change(&self, name: &str) -> Option<Change> {
        let (_, settings) = self
            .zones
            .iter()
            .filter(|(apex, _)| {
                name.strip_suffix(apex.as_str())
                    .is_some_and(|own| own.ends_with('.'))
            })
            .max_by_key(|(apex, _)| apex.len())?;
        let zone = settings.apex.clone();
        let name_on_the_wire = Name::parse(name).ok()?;
        let entry = self
            .names
            .get(name)
            // Who only says why there is nothing does not stand in the way of those who have something.
            .and_then(|entries| {
                let mut all = entries.values();
                let first = all.next()?;
                let has_records = |entry: &&Entry| !entry.sets.is_empty();
                Some(first)
                    .filter(has_records)
                    .or_else(|| all.find(has_records))
                    .or(Some(first))
            });
        Some(match entry {
            Some(entry) => Change::Set {
                zone,
                name: name_on_the_wire,
                entry: entry.clone(),
            },
            None => Change::Remove {
                zone,
                name: name_on_the_wire,
            },
        })
    }
}

#[cfg(test)]
mod tests;
