//! The published state: every collection at one revision, with the history that watches and old reads need.
//!
//! Everything here is pure. Cloning a [`State`] or a [`Collection`] is O(1), because the maps inside are persistent; the
//! commit thread changes a clone and publishes it whole, so a reader that holds one sees a consistent cut of all resources.

use std::{
    ops::Bound,
    sync::{Arc, OnceLock},
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use immutable_chunkmap::map::Map;
use jiff::Timestamp;

use super::{
    key::{ObjectKey, ResourceKey},
    object::Object,
};

/// Objects in list order; cloning is O(1).
///
/// 64 entries to a chunk: a write copies one chunk and the path to it, about 3 KB, and a list still walks arrays.
pub type Objects = Map<ObjectKey, Arc<Object>, 64>;

/// Events by revision, oldest first; cloning is O(1).
pub type Events = Map<u64, Arc<Event>, 64>;

/// How many of the newest events are found without looking for where they begin.
const NEWEST: usize = 32;

/// All collections at one revision.
#[derive(Clone, Debug)]
pub struct State {
    /// Revision of the newest write; the `resourceVersion` of every list taken from this state. Never 0.
    pub rev: u64,
    /// History of collections that are not in `collections` ends here.
    pub(crate) floor: u64,
    pub(crate) collections: Map<ResourceKey, Arc<Collection>, 64>,
}

/// The objects of one resource and its recent history.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Live objects in list order.
    pub objects: Objects,
    /// What happened to them, oldest first, with rising revisions.
    pub events: Events,
    /// Events up to and including this revision are gone.
    pub compacted: u64,
    /// Memory held only by `events`, in bytes.
    pub(crate) events_bytes: usize,
    /// How many events there have been since the start.
    pub(crate) n_events: u64,
}

/// One change of one object.
#[derive(Debug)]
pub struct Event {
    /// Revision of the change.
    pub rev: u64,
    /// What happened, seen without selectors.
    pub kind: EventKind,
    /// The object after the change; for a deletion its last state, carrying the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the change; none when it was added.
    pub previous: Option<Arc<Object>>,
    /// When it was committed, to the second of the last tick.
    pub(crate) at: Timestamp,
    /// None once the watches that follow closely have passed.
    memo: ArcSwapOption<[OnceLock<Bytes>; Event::FORMS]>,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was created.
    Added,
    /// It was replaced.
    Modified,
    /// It was removed.
    Deleted,
}

/// The revision asked for is not in the history any more; the client has to list again (410 Expired).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {asked} is older than the kept history, which begins after {compacted}")]
pub struct Expired {
    /// What was asked for.
    pub asked: u64,
    /// Where history begins: this revision itself can still be read and watched from.
    pub compacted: u64,
}

/// Limits of the history kept for each resource.
///
/// An event goes when it is older than `age` and more than `events_min` are kept, or as soon as one of the two upper
/// limits is passed.
#[derive(Clone, Debug)]
pub struct History {
    /// How long events are kept at least. Default 5 minutes, like etcd's compaction in kube-apiserver.
    pub age: std::time::Duration,
    /// How many events of a resource are kept whatever their age. Default 1,024.
    pub events_min: usize,
    /// How many events of a resource are kept at most. Default 102,400, as in upstream's watch cache.
    pub events_max: usize,
    /// How many bytes the events of one resource may hold. Default 64 MiB.
    pub bytes_max: usize,
    /// How many bytes the events of all resources may hold; the largest history yields first. Default 256 MiB.
    pub total_bytes_max: usize,
}

impl Default for History {
    fn default() -> Self {
        Self {
            age: std::time::Duration::from_secs(300),
            events_min: 1024,
            events_max: 102_400,
            bytes_max: 64 << 20,
            total_bytes_max: 256 << 20,
        }
    }
}

// === impl State ===

impl State {
    /// A state without objects whose history begins at `rev`.
    pub(crate) fn new(rev: u64) -> Self {
        Self {
            rev,
            floor: rev,
            collections: Map::new(),
        }
    }

    /// The collection of `resource`; none if nothing was ever stored there or its last trace is gone.
    pub fn collection(&self, resource: &ResourceKey) -> Option<&Arc<Collection>> {
        self.collections.get(resource)
    }

    /// All collections in order of their keys.
    pub fn collections(&self) -> impl Iterator<Item = (&ResourceKey, &Arc<Collection>)> {
        self.collections.into_iter()
    }

    /// The live object at `key`.
    pub fn get(&self, resource: &ResourceKey, key: &ObjectKey) -> Option<&Arc<Object>> {
        self.collections.get(resource)?.objects.get(key)
    }

    /// The revision up to which events of `resource` are gone. A watch may start there, not before.
    pub fn compacted(&self, resource: &ResourceKey) -> u64 {
        self.collections
            .get(resource)
            .map_or(self.floor, |collection| collection.compacted)
    }

    /// Events of `resource` after revision `after`, oldest first.
    ///
    /// # Errors
    /// [`Expired`] when some of them are gone.
    pub fn events_after(
        &self,
        resource: &ResourceKey,
        after: u64,
    ) -> Result<Vec<Arc<Event>>, Expired> {
        let compacted = self.compacted(resource);
        if after < compacted {
            return Err(Expired {
                asked: after,
                compacted,
            });
        }
        let collection = self.collections.get(resource);
        let events = collection.into_iter().flat_map(|c| c.events_after(after));
        Ok(events.cloned().collect())
    }

    /// The objects of `resource` as they were at revision `rev`, by undoing what happened since. O(events since).
    ///
    /// # Errors
    /// [`Expired`] when history does not reach back. A `rev` of the future gives the newest state; callers check that.
    pub fn objects_at(&self, resource: &ResourceKey, rev: u64) -> Result<Objects, Expired> {
        let undo = self.events_after(resource, rev)?;
        let mut objects = match self.collections.get(resource) {
            Some(collection) => collection.objects.clone(),
            None => return Ok(Objects::new()),
        };
        for event in undo.iter().rev() {
            match &event.previous {
                Some(previous) => objects.insert_cow(previous.key.clone(), previous.clone()),
                None => objects.remove_cow(&event.object.key),
            };
        }
        Ok(objects)
    }

    pub(crate) fn collection_mut(&mut self, resource: &ResourceKey) -> &mut Collection {
        let floor = self.floor;
        let new = || Arc::new(Collection::new(floor));
        Arc::make_mut(self.collections.get_or_insert_cow(resource.clone(), new))
    }

    /// Drops what [`History`] no longer keeps of `resource`, and from the largest histories if all together are too big.
    pub(crate) fn trim(&mut self, resource: &ResourceKey, now: Timestamp, history: &History) {
        let Some(collection) = self.collections.get(resource) else {
            return;
        };
        if collection.excess(now, history) {
            self.collection_mut(resource).trim(now, history);
        }
        self.forget_if_bare(resource);
    }

    /// Keeps the histories of all resources together below their limit, halving the largest until they are.
    pub(crate) fn trim_total(&mut self, total_bytes_max: usize) {
        let total = |state: &Self| -> usize {
            state
                .collections()
                .map(|(_, collection)| collection.events_bytes)
                .sum()
        };
        while total(self) > total_bytes_max {
            let largest = self.collections().max_by_key(|(_, c)| c.events_bytes);
            let Some((resource, collection)) = largest else {
                return;
            };
            let (resource, target) = (resource.clone(), collection.events_bytes / 2);
            let collection = self.collection_mut(&resource);
            while collection.events_bytes > target && collection.pop_event() {}
        }
    }

    fn forget_if_bare(&mut self, resource: &ResourceKey) {
        let Some(collection) = self.collections.get(resource) else {
            return;
        };
        if collection.objects.len() == 0 && collection.events.len() == 0 {
            self.floor = self.floor.max(collection.compacted);
            self.collections.remove_cow(resource);
        }
    }
}

// === impl Collection ===

impl Collection {
    pub(crate) fn new(compacted: u64) -> Self {
        Self {
            objects: Objects::new(),
            events: Events::new(),
            compacted,
            events_bytes: 0,
            n_events: 0,
        }
    }

    /// Live objects in list order: of one namespace or of all, from `start` on (inclusive) or from the beginning.
    pub fn list<'a>(
        &'a self,
        namespace: Option<&'a str>,
        start: Option<&ObjectKey>,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        list(&self.objects, namespace, start)
    }

    /// Revision of the newest event, or where history begins if there is none.
    pub(crate) fn newest(&self) -> u64 {
        let newest = self.events.into_iter().next_back();
        newest.map_or(self.compacted, |(rev, _)| *rev)
    }

    /// Events after revision `after`, oldest first.
    ///
    /// A range of the map may look at every chunk to find its beginning. Watches want the few newest events, which are found
    /// from the end at the cost of those alone; who is further behind pays for the range.
    pub(crate) fn events_after(&self, after: u64) -> impl Iterator<Item = &Arc<Event>> {
        let mut newest = [None; NEWEST];
        let mut back = self.events.into_iter().rev().map(|(_, event)| event);
        let mut is_behind = true;
        for place in &mut newest {
            *place = back.next().filter(|event| event.rev > after);
            if place.is_none() {
                is_behind = false;
                break;
            }
        }
        let newer = (Bound::Excluded(after), Bound::Unbounded);
        let all = is_behind.then(|| self.events.range(newer).map(|(_, event)| event));
        let few = (!is_behind).then(|| newest.into_iter().rev().flatten());
        few.into_iter().flatten().chain(all.into_iter().flatten())
    }

    pub(crate) fn push(&mut self, event: Arc<Event>) {
        let key = event.object.key.clone();
        match event.kind {
            EventKind::Deleted => self.objects.remove_cow(&key),
            EventKind::Added | EventKind::Modified => {
                self.objects.insert_cow(key, event.object.clone())
            }
        };
        self.events_bytes += event.weight();
        self.n_events += 1;
        self.events.insert_cow(event.rev, event);
    }

    fn excess(&self, now: Timestamp, history: &History) -> bool {
        let Some((_, oldest)) = self.events.into_iter().next() else {
            return false;
        };
        let old = || now.duration_since(oldest.at).as_secs_f64() > history.age.as_secs_f64();
        self.events.len() > history.events_max
            || self.events_bytes > history.bytes_max
            || (self.events.len() > history.events_min && old())
    }

    fn trim(&mut self, now: Timestamp, history: &History) {
        while self.excess(now, history) {
            self.pop_event();
        }
    }

    fn pop_event(&mut self) -> bool {
        let Some(event) = self
            .events
            .into_iter()
            .next()
            .map(|(_, event)| event.clone())
        else {
            return false;
        };
        self.events.remove_cow(&event.rev);
        self.compacted = event.rev;
        self.events_bytes -= event.weight();
        true
    }
}

/// Objects in list order, of one namespace or of all, from `start` on (inclusive) or from the beginning.
pub fn list<'a>(
    objects: &'a Objects,
    namespace: Option<&'a str>,
    start: Option<&ObjectKey>,
) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
    let first = namespace.map(|namespace| ObjectKey::new(namespace, ""));
    let from = match (start.cloned(), first) {
        (Some(start), Some(first)) => Bound::Included(start.max(first)),
        (Some(key), None) | (None, Some(key)) => Bound::Included(key),
        (None, None) => Bound::Unbounded,
    };
    objects
        .range((from, Bound::Unbounded))
        .map(|(_, object)| object)
        .take_while(move |object| {
            namespace.is_none_or(|namespace| *object.key.namespace == *namespace)
        })
}

// === impl Event ===

impl Event {
    /// How many encodings an event remembers.
    pub const FORMS: usize = 4;

    pub(crate) fn new(
        object: Arc<Object>,
        previous: Option<Arc<Object>>,
        deleted: bool,
        at: Timestamp,
    ) -> Self {
        let kind = match (&previous, deleted) {
            (_, true) => EventKind::Deleted,
            (None, false) => EventKind::Added,
            (Some(_), false) => EventKind::Modified,
        };
        Self {
            rev: object.rev,
            kind,
            object,
            previous,
            at,
            memo: ArcSwapOption::new(Some(Arc::default())),
        }
    }

    /// The encoding number `form` (below [`FORMS`](Self::FORMS)) of this event, made once and then shared by all watchers
    /// until it is [forgotten](Self::forget_encodings); after that each makes its own.
    ///
    /// Forms must not depend on who watches: an event that a selector turned into another kind is encoded without memo.
    pub fn encoded(&self, form: usize, encode: impl FnOnce() -> Bytes) -> Bytes {
        match &*self.memo.load() {
            Some(forms) => forms[form].get_or_init(encode).clone(),
            None => encode(),
        }
    }

    /// Gives back the memory of the encodings. The history outlives them by minutes, and what still reads there is late.
    pub(crate) fn forget_encodings(&self) {
        self.memo.store(None);
    }

    /// Bytes that live only as long as this event does: the version it replaced.
    fn weight(&self) -> usize {
        let deleted = match self.kind {
            EventKind::Deleted => self.object.weight(),
            EventKind::Added | EventKind::Modified => 0,
        };
        self.previous.as_ref().map_or(64, |object| object.weight()) + deleted
    }
}
