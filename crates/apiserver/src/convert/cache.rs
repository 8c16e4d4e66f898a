//! Converted objects that are kept for the next reader.
//!
//! Two generations: what is used moves to the young one, and when that is full the old one goes.
//! Answers of another revision of the definition, or for another revision of the object, are other
//! keys; they are never looked up again and leave with their generation.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{registry::Resource, store::Object};

/// Bytes of bodies in one generation; the cache holds at most twice that.
const GENERATION_BYTES_MAX: usize = 16 << 20;

/// What a converted object was made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Resource and version.
    path: [Box<str>; 3],
    /// Revision of the definition.
    definition: u64,
    namespace: Arc<str>,
    name: Arc<str>,
    rev: u64,
}

impl Key {
    pub(crate) fn new(resource: &Resource, object: &Object) -> Self {
        let path = [&resource.group, &resource.version, &resource.plural];
        Self {
            path: path.map(Clone::clone),
            definition: resource.webhook.as_ref().map_or(0, |webhook| webhook.rev),
            namespace: object.key.namespace.clone(),
            name: object.key.name.clone(),
            rev: object.rev,
        }
    }
}

/// Converted objects by what they were made of.
pub(crate) struct Cache {
    generations: Mutex<Generations>,
    bytes_max: usize,
}

#[derive(Default)]
struct Generations {
    young: HashMap<Key, Arc<Object>>,
    old: HashMap<Key, Arc<Object>>,
    young_bytes: usize,
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(GENERATION_BYTES_MAX)
    }
}

impl Cache {
    fn new(bytes_max: usize) -> Self {
        Self {
            generations: Mutex::default(),
            bytes_max,
        }
    }

    /// The object, if it was converted before.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        let mut generations = self.lock();
        if let Some(object) = generations.young.get(key) {
            return Some(object.clone());
        }
        let object = generations.old.remove(key)?;
        generations.put(key.clone(), object.clone(), self.bytes_max);
        Some(object)
    }

    /// Keeps a converted object.
    pub(crate) fn put(&self, key: Key, object: Arc<Object>) {
        self.lock().put(key, object, self.bytes_max);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Generations> {
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn put(&mut self, key: Key, object: Arc<Object>, bytes_max: usize) {
        if self.young_bytes >= bytes_max {
            self.old = mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += object.weight();
        self.young.insert(key, object);
    }
}

#[cfg(test)]
mod tests;
