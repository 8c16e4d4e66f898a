//! Wake-ups for watchers: one bucket for each resource and for each of its namespaces that somebody watches.
//!
//! A wake-up carries only the newest revision. Watchers read events from the state, so a slow one costs nothing here: many
//! commits melt into one wake-up.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::{key::ResourceKey, state::Event};

type Bucket = (ResourceKey, Option<Arc<str>>);

/// All buckets that somebody watches.
#[derive(Default)]
pub(crate) struct Subscribers(Mutex<HashMap<Bucket, watch::Sender<u64>>>);

/// Wake-ups for one watcher. Holds no events and no memory that grows.
#[derive(Debug)]
pub struct Subscription(watch::Receiver<u64>);

impl Subscription {
    /// Waits for the next change and returns the revision of the newest one; `None` when the store was closed.
    ///
    /// Changes since the last call (or since subscribing) count as one and return at once. Safe to drop while waiting.
    pub async fn changed(&mut self) -> Option<u64> {
        self.0.changed().await.ok()?;
        Some(*self.0.borrow_and_update())
    }
}

impl Subscribers {
    pub(crate) fn subscribe(
        &self,
        resource: &ResourceKey,
        namespace: Option<&str>,
    ) -> Subscription {
        let bucket = (resource.clone(), namespace.map(Arc::from));
        let mut buckets = self.lock();
        let sender = buckets
            .entry(bucket)
            .or_insert_with(|| watch::Sender::new(0));
        Subscription(sender.subscribe())
    }

    /// Wakes whoever watches the objects of these events.
    pub(crate) fn wake<'a>(&self, events: impl Iterator<Item = (&'a ResourceKey, &'a Event)>) {
        let buckets = self.lock();
        if buckets.is_empty() {
            return;
        }
        for (resource, event) in events {
            let namespace = event.object.key.namespace.clone();
            for bucket in [
                (resource.clone(), None),
                (resource.clone(), Some(namespace)),
            ] {
                if let Some(sender) = buckets.get(&bucket) {
                    sender.send_replace(event.rev);
                }
            }
        }
    }

    /// Drops buckets that nobody watches any more.
    pub(crate) fn sweep(&self) {
        self.lock().retain(|_, sender| sender.receiver_count() > 0);
    }

    /// Ends all subscriptions.
    pub(crate) fn close(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Bucket, watch::Sender<u64>>> {
        // A panic while holding the lock leaves a map that is still a map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
