//! All zones a server answers for, and how changes reach it.
//!
//! A [`Catalog`] is one consistent picture of every zone. [`Zones`] holds the current one behind an atomic pointer: readers take it
//! without waiting, writers hand in [`Change`]s through the [`Publish`] trait and the next picture appears at once and whole.
//! Controllers know only the trait; they never see sockets, and the server never sees a controller.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use arc_swap::ArcSwap;

use crate::name::{self, Name};
use crate::zone::{self, Entry, NameHasher, Settings, Zone};

/// One thing to do to the zones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds a zone, or gives an existing one new settings and keeps its records. A zone remembered from before a restart starts
    /// anew: whoever publishes knows all of it.
    Zone(Settings),
    /// Removes every zone but these, some of which may be yet to come.
    RetainZones(BTreeSet<Name>),
    /// Removes a zone with all its records.
    RemoveZone(Name),
    /// Replaces everything at a name. An entry without sets makes the name exist without data.
    Set {
        /// Apex of the zone the records belong to.
        zone: Name,
        /// The name, at or below the apex.
        name: Name,
        /// Its records; many names may share them.
        entry: Arc<Entry>,
    },
    /// Removes everything at a name.
    Remove {
        /// Apex of the zone.
        zone: Name,
        /// The name.
        name: Name,
    },
}

/// Why one change was not made; the others were.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Records for a zone nobody has added.
    #[error("zone {zone} is not served here; add it before its records")]
    UnknownZone {
        /// Apex named in the change.
        zone: Name,
    },
    /// The zone refused it.
    #[error("zone refuses the change")]
    Zone(#[from] zone::Error),
}

/// Where controllers hand in changes.
pub trait Publish: Send + Sync {
    /// Makes `changes` in the given order, visible together; returns what was refused.
    fn publish(&self, changes: Vec<Change>) -> Vec<Error>;

    /// What is answered now; before the first publication what is remembered from before a restart, if anything is.
    fn served(&self) -> Arc<Catalog>;
}

/// An immutable picture of all zones.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    zones: HashMap<Arc<[u8]>, Zone, BuildHasherDefault<NameHasher>>,
    /// Label counts that occur among the apexes, deepest first, so that the longest match is found first.
    depths: Vec<usize>,
    /// The latest serial of a zone that was removed: should it come back, whoever remembers it must see that it is another one.
    removed_serial: Option<u32>,
}

impl Catalog {
    /// The zone with exactly this apex.
    pub fn zone(&self, apex: &Name) -> Option<&Zone> {
        self.zones.get(apex.wire())
    }

    /// All zones, sorted by apex.
    pub fn zones(&self) -> Vec<&Zone> {
        let mut zones = self.zones.values().collect::<Vec<_>>();
        zones.sort_by_key(|zone| zone.apex());
        zones
    }

    /// The picture after `changes`, and what was refused. Every zone that changed has the next serial.
    pub fn with(&self, changes: Vec<Change>) -> (Catalog, Vec<Error>) {
        self.with_serials(changes, None)
    }

    /// As [`Catalog::with`], with new serials of at least `serial_floor`: a zone that starts again with the time as floor goes on
    /// above the serials it had.
    pub fn with_serials(
        &self,
        changes: Vec<Change>,
        serial_floor: Option<u32>,
    ) -> (Catalog, Vec<Error>) {
        let mut next = self.clone();
        let mut errors = Vec::new();
        let mut touched = BTreeSet::new();
        let mut changes = changes.into_iter().peekable();
        while let Some(change) = changes.next() {
            touched.extend(apex(&change).cloned());
            let result = match change {
                Change::Zone(settings) => next.put_zone(settings),
                Change::RetainZones(apexes) => {
                    let gone = next
                        .zones
                        .values()
                        .filter(|zone| !apexes.contains(zone.apex()));
                    let serials = gone.map(|zone| Some(zone.serial()));
                    next.removed_serial = serials.fold(next.removed_serial, latest);
                    next.zones.retain(|_, zone| apexes.contains(zone.apex()));
                    Ok(())
                }
                Change::RemoveZone(apex) => {
                    let removed = next.zones.remove(apex.wire());
                    let serial = removed.as_ref().map(Zone::serial);
                    next.removed_serial = latest(next.removed_serial, serial);
                    removed.map(drop).ok_or(Error::UnknownZone { zone: apex })
                }
                Change::Set { .. } | Change::Remove { .. } => {
                    let (apex, first) = into_record_change(change);
                    // Neighbouring changes of one zone are made in one go.
                    let mut batch = vec![first];
                    while let Some(more) = changes.next_if(|next| record_zone(next) == Some(&apex))
                    {
                        batch.push(into_record_change(more).1);
                    }
                    next.change_records(apex, batch, &mut errors)
                }
            };
            errors.extend(result.err());
        }
        for apex in touched {
            if let Some(zone) = next.zones.get_mut(apex.wire()) {
                let removed = next.removed_serial.filter(|_| !zone.is_published());
                let above = removed.map(|serial| serial.wrapping_add(1));
                *zone = zone.clone().sealed(latest(serial_floor, above));
            }
        }
        next.note_depths();
        (next, errors)
    }

    /// The picture with whole zones put in place of others of their names, such as those of [`crate::snapshot::decode`].
    pub fn with_zones(&self, zones: impl IntoIterator<Item = Zone>) -> Catalog {
        let mut next = self.clone();
        for zone in zones {
            next.zones.insert(Arc::from(zone.apex().wire()), zone);
        }
        next.note_depths();
        next
    }

    /// The picture without the remembered zones that `expired` picks by the Unix time they were good at.
    pub(crate) fn without_remembered(&self, expired: impl Fn(u64) -> bool) -> Catalog {
        let mut next = self.clone();
        next.zones
            .retain(|_, zone| !zone.remembered_from().is_some_and(&expired));
        next.note_depths();
        next
    }

    fn note_depths(&mut self) {
        let depths = self.zones.values().map(|zone| zone.apex().n_labels());
        self.depths = depths.collect::<BTreeSet<_>>().into_iter().rev().collect();
    }

    /// The zone with the longest apex that `name` (lower-case, wire form) is within, and the octets of `name` in front of it.
    pub(crate) fn find(&self, name: &[u8]) -> Option<(&Zone, usize)> {
        self.find_from(name, 0)
    }

    /// As [`Catalog::find`], leaving out zones whose apex is `name` itself: the side of a zone cut that owns DS records.
    pub(crate) fn find_above(&self, name: &[u8]) -> Option<(&Zone, usize)> {
        self.find_from(name, 1)
    }

    fn find_from(&self, name: &[u8], n_labels_min: usize) -> Option<(&Zone, usize)> {
        let n_labels = name::count_labels(name);
        self.depths.iter().find_map(|&depth| {
            let n_relative = n_labels.checked_sub(depth).filter(|n| *n >= n_labels_min)?;
            let at = name::skip_labels(name, n_relative);
            Some((self.zones.get(&name[at..])?, at))
        })
    }

    fn put_zone(&mut self, settings: Settings) -> Result<(), Error> {
        let key = Arc::from(settings.apex.wire());
        let zone = match self.zones.get(&key) {
            Some(zone) if zone.remembered_from().is_none() => zone.reconfigured(settings)?,
            replaced => {
                let serial = replaced.map(Zone::serial);
                self.removed_serial = latest(self.removed_serial, serial);
                Zone::new(settings)?
            }
        };
        self.zones.insert(key, zone);
        Ok(())
    }

    fn change_records(
        &mut self,
        apex: Name,
        batch: Vec<(Name, Option<Arc<Entry>>)>,
        errors: &mut Vec<Error>,
    ) -> Result<(), Error> {
        let Some(zone) = self.zones.get_mut(apex.wire()) else {
            return Err(Error::UnknownZone { zone: apex });
        };
        let (changed, refused) = zone.with(batch);
        *zone = changed;
        errors.extend(refused.into_iter().map(Error::Zone));
        Ok(())
    }
}

/// The later of two serials (RFC 1982).
fn latest(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if zone::is_later(b, a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The zone a change is about.
fn apex(change: &Change) -> Option<&Name> {
    match change {
        Change::Zone(settings) => Some(&settings.apex),
        Change::RetainZones(_) => None,
        Change::RemoveZone(zone) | Change::Set { zone, .. } | Change::Remove { zone, .. } => {
            Some(zone)
        }
    }
}

fn record_zone(change: &Change) -> Option<&Name> {
    match change {
        Change::Set { zone, .. } | Change::Remove { zone, .. } => Some(zone),
        Change::Zone(_) | Change::RemoveZone(_) | Change::RetainZones(_) => None,
    }
}

fn into_record_change(change: Change) -> (Name, (Name, Option<Arc<Entry>>)) {
    match change {
        Change::Set { zone, name, entry } => (zone, (name, Some(entry))),
        Change::Remove { zone, name } => (zone, (name, None)),
        Change::Zone(_) | Change::RemoveZone(_) | Change::RetainZones(_) => {
            unreachable!("changes of whole zones are handled by the caller")
        }
    }
}

/// The published zones: many readers, writers one after another.
#[derive(Default)]
pub struct Zones {
    current: ArcSwap<Catalog>,
    writer: Mutex<()>,
    /// Gives Unix seconds.
    clock: Option<fn() -> u64>,
    listeners: RwLock<Vec<Listener>>,
}

/// Called after every publication; must not wait.
type Listener = Box<dyn Fn() + Send + Sync>;

impl fmt::Debug for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zones").finish_non_exhaustive()
    }
}

impl Zones {
    /// No zones yet: every question is refused. Serials count changes.
    pub fn new() -> Arc<Zones> {
        Arc::default()
    }

    /// No zones yet. The serial of a change is the time in Unix seconds that `clock` gives, or the next number when that is taken: so
    /// serials go up over restarts too, as those who keep a copy expect.
    pub fn timed(clock: fn() -> u64) -> Arc<Zones> {
        Arc::new(Zones {
            clock: Some(clock),
            ..Zones::default()
        })
    }

    /// The current picture.
    pub fn snapshot(&self) -> Arc<Catalog> {
        self.current.load_full()
    }

    /// Replaces the picture by what `next` makes of it.
    pub(crate) fn rewrite(&self, next: impl FnOnce(&Catalog) -> Catalog) {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let next = next(&self.current.load());
        self.current.store(Arc::new(next));
    }

    /// Calls `listener` after every publication from now on. It must not wait.
    pub fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) {
        let mut listeners = self
            .listeners
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.push(Box::new(listener));
    }

    /// The pointer itself, for readers that keep a cached copy per thread.
    pub(crate) fn current(&self) -> &ArcSwap<Catalog> {
        &self.current
    }
}

impl Publish for Zones {
    fn served(&self) -> Arc<Catalog> {
        self.snapshot()
    }

    fn publish(&self, changes: Vec<Change>) -> Vec<Error> {
        // Whoever panicked while holding it had not published, so the current picture is whole.
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.current.load();
        // The time modulo 2³², which is what RFC 1982 compares by.
        let floor = self.clock.map(|clock| clock() as u32);
        let (next, errors) = current.with_serials(changes, floor);
        self.current.store(Arc::new(next));
        drop(writer);
        for listener in &*self
            .listeners
            .read()
            .unwrap_or_else(PoisonError::into_inner)
        {
            listener();
        }
        errors
    }
}

#[cfg(test)]
mod tests;
