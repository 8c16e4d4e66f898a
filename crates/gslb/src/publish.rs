//! What our DNS server answers, as the difference to what it answered before.
//!
//! A [`Book`] holds the records each source wants under each name, and turns a source's new wishes into the few
//! [`Change`]s that matter. Sources rank: what this controller decided itself wins over a DNSEndpoint somebody else
//! wrote, that one over what was answered before a restart, and of two DNSEndpoints the one that comes first by namespace and name wins (the peer's DNS server picks one
//! at random).

mod records;
mod why;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

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
    /// What our DNS server answered before a restart.
    Recalled,
}

/// What sources want at one name, earlier sources first.
type Wishes = Vec<(Arc<Source>, Arc<Entry>)>;

/// Everything that is to be published.
#[derive(Debug, Default)]
pub struct Book {
    zones: BTreeMap<String, Settings>,
    names: HashMap<Name, Wishes>,
    by_source: BTreeMap<Arc<Source>, HashSet<Name>>,
}

impl Book {
    /// Replaces the zones. Records of zones that come or move are published again.
    pub fn set_zones(&mut self, zones: BTreeMap<String, Settings>) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut moved: Vec<Name> = Vec::new();
        for (apex, settings) in &self.zones {
            if !zones.contains_key(apex) {
                changes.push(Change::RemoveZone(settings.apex.clone()));
                moved.push(settings.apex.clone());
            }
        }
        for (apex, settings) in &zones {
            if self.zones.get(apex) != Some(settings) {
                changes.push(Change::Zone(settings.clone()));
                if !self.zones.contains_key(apex) {
                    moved.push(settings.apex.clone());
                }
            }
        }
        self.zones = zones;
        let is_moved = |name: &&Name| moved.iter().any(|apex| is_below(name, apex));
        let mut concerned: Vec<&Name> = self.names.keys().filter(is_moved).collect();
        concerned.sort();
        changes.extend(concerned.into_iter().filter_map(|name| self.change(name)));
        changes
    }

    /// What a source wants at a name.
    pub fn entry(&self, source: &Source, name: &Name) -> Option<&Arc<Entry>> {
        let mut wishes = self.names.get(name)?.iter();
        let found = wishes.find(|(known, _)| **known == *source);
        found.map(|(_, entry)| entry)
    }

    /// Serial of a published zone.
    pub fn serial(&self, zone: &str) -> Option<u32> {
        self.zones.get(zone).map(|settings| settings.soa.serial)
    }

    /// Replaces what a source wants. Of two wishes for one name the later one counts.
    pub fn set(&mut self, source: &Source, wanted: Vec<(Name, Arc<Entry>)>) -> Vec<Change> {
        let (source, mut gone) = match self.by_source.remove_entry(source) {
            Some((source, before)) => (source, before),
            None => (Arc::new(source.clone()), HashSet::new()),
        };
        let mut touched = Vec::new();
        let mut now = HashSet::with_capacity(wanted.len());
        for (name, entry) in wanted.into_iter().rev() {
            if !now.insert(name.clone()) {
                continue;
            }
            gone.remove(&name);
            if self.wish(&source, &name, entry) {
                touched.push(name);
            }
        }
        let mut gone: Vec<Name> = gone.into_iter().collect();
        gone.sort_unstable_by(|a, b| a.wire().cmp(b.wire()));
        for name in &gone {
            if let Some(wishes) = self.names.get_mut(name) {
                wishes.retain(|(known, _)| *known != source);
                if wishes.is_empty() {
                    self.names.remove(name);
                }
            }
        }
        if !now.is_empty() {
            self.by_source.insert(source, now);
        }
        let touched = touched.iter().chain(&gone);
        touched.filter_map(|name| self.change(name)).collect()
    }

    /// Notes a wish; tells whether it is another one than before.
    fn wish(&mut self, source: &Arc<Source>, name: &Name, entry: Arc<Entry>) -> bool {
        let wishes = self.names.entry(name.clone()).or_default();
        match wishes.binary_search_by(|(known, _)| known.cmp(source)) {
            Ok(place) if wishes[place].1 == entry => return false,
            Ok(place) => wishes[place].1 = entry,
            Err(place) => wishes.insert(place, (source.clone(), entry)),
        }
        true
    }

    /// The change that makes a name what the book says, if one of our zones contains it.
    fn change(&self, name: &Name) -> Option<Change> {
        let containing = self.zones.values().map(|settings| &settings.apex);
        let zone = containing
            .filter(|apex| is_below(name, apex))
            .max_by_key(|apex| apex.wire().len())?
            .clone();
        let name = name.clone();
        let wishes = self.names.get(&name).map_or(&[][..], Vec::as_slice);
        // Who only says why there is nothing does not stand in the way of those who have something.
        let something = wishes.iter().find(|(_, entry)| !entry.sets.is_empty());
        Some(match something.or(wishes.first()) {
            Some((_, entry)) => Change::Set {
                zone,
                name,
                entry: entry.clone(),
            },
            None => Change::Remove { zone, name },
        })
    }
}

fn is_below(name: &Name, apex: &Name) -> bool {
    name != apex && name.is_within(apex)
}

#[cfg(test)]
mod tests;
