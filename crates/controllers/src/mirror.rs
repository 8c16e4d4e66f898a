//! A local copy of one kind of objects, fed by a watch, that says what changed.
//!
//! A watch that starts over lists everything again. [`Mirror::apply`] turns that into the changes it really means,
//! including objects that vanished meanwhile, so that controllers only ever see an old and a new version.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Debug},
    sync::Arc,
};

use kube::{ResourceExt, runtime::watcher::Event};

/// Namespace (empty for cluster-scoped objects) and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace, or empty.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// What happened to one object: created without `old`, removed without `new`.
#[derive(Clone, Debug)]
pub struct Change<K> {
    /// Which object.
    pub key: Key,
    /// As it was known.
    pub old: Option<Arc<K>>,
    /// As it is now.
    pub new: Option<Arc<K>>,
}

/// What can be held in a [`Mirror`]: objects, and what is kept of them.
pub trait Mirrored {
    /// Which object it is.
    fn key(&self) -> Key;

    /// Its `resourceVersion`, when that is a number as servers make it; later ones are larger.
    fn version(&self) -> Option<u64>;
}

/// All objects of one kind as the watch showed them last.
#[derive(Clone, Debug)]
pub struct Mirror<K> {
    objects: BTreeMap<Key, Arc<K>>,
    /// Known objects that a list in progress did not show yet.
    unseen: Option<BTreeSet<Key>>,
    complete: bool,
}

impl Key {
    /// The key of an object.
    pub fn of(object: &impl ResourceExt) -> Self {
        Self {
            namespace: object
                .meta()
                .namespace
                .as_deref()
                .unwrap_or_default()
                .into(),
            name: object.name_any().into(),
        }
    }

    /// The key of `name` in `namespace`.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl<K: ResourceExt> Mirrored for K {
    fn key(&self) -> Key {
        Key::of(self)
    }

    fn version(&self) -> Option<u64> {
        version_number(self.resource_version())
    }
}

/// A `resourceVersion` as a number.
pub(crate) fn version_number(version: Option<String>) -> Option<u64> {
    version?.parse().ok()
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.namespace {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}

impl<K> Change<K> {
    /// The newer version there is.
    pub fn latest(&self) -> Option<&Arc<K>> {
        self.new.as_ref().or(self.old.as_ref())
    }
}

impl<K: Mirrored> Mirror<K> {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            unseen: None,
            complete: false,
        }
    }

    /// Takes an event of the watch and returns the changes it means. A version that is known already, or older than the known
    /// one, is none; so the answer to a write may be applied at once and its event later means nothing.
    pub fn apply(&mut self, event: Event<K>) -> Vec<Change<K>> {
        match event {
            Event::Apply(object) => self.put(object).into_iter().collect(),
            Event::Delete(object) => self
                .remove(object.key(), Some(object))
                .into_iter()
                .collect(),
            Event::Init => {
                self.unseen = Some(self.objects.keys().cloned().collect());
                Vec::new()
            }
            Event::InitApply(object) => {
                if let Some(unseen) = &mut self.unseen {
                    unseen.remove(&object.key());
                }
                self.put(object).into_iter().collect()
            }
            Event::InitDone => {
                self.complete = true;
                let gone = self.unseen.take().unwrap_or_default();
                gone.into_iter()
                    .filter_map(|key| self.remove(key, None))
                    .collect()
            }
        }
    }

    fn put(&mut self, object: K) -> Option<Change<K>> {
        let key = object.key();
        if let Some(old) = self.objects.get(&key) {
            // A version that our own write brought already, or one before it.
            let versions = old.version().zip(object.version());
            if versions.is_some_and(|(old, new)| new <= old) {
                return None;
            }
        }
        let new = Arc::new(object);
        let old = self.objects.insert(key.clone(), new.clone());
        Some(Change {
            key,
            old,
            new: Some(new),
        })
    }

    fn remove(&mut self, key: Key, last: Option<K>) -> Option<Change<K>> {
        let known = self.objects.remove(&key)?;
        let old = last.map_or(known, Arc::new);
        Some(Change {
            key,
            old: Some(old),
            new: None,
        })
    }
}

impl<K> Mirror<K> {
    /// The object at `key`.
    pub fn get(&self, key: &Key) -> Option<&Arc<K>> {
        self.objects.get(key)
    }

    /// All objects in order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Arc<K>)> {
        self.objects.iter()
    }

    /// The objects of one namespace, sorted by name.
    pub fn in_namespace<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<K>> {
        let first = Key::new(namespace, "");
        let objects = self.objects.range(first..);
        objects
            .take_while(move |(key, _)| *key.namespace == *namespace)
            .map(|(_, object)| object)
    }

    /// Whether a first list came to its end.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

impl<K: Mirrored> Default for Mirror<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
