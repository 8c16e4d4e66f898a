//! Wake-ups for watchers: one bucket for each resource and for each of its namespaces that somebody watches.
//!
//! A wake-up carries only the newest revision. Watchers read events from the state, so a slow one costs nothing here: many
//! commits melt into one wake-up.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::watch;

use super::{key::ResourceKey, state::Event};

type Bucket = (ResourceKey, Option<Arc<str>>);

/// All buckets that somebody watches.
#[derive(Default)]
pub(crate) struct Subscribers(Mutex<Buckets>);

#[derive(Default)]
struct Buckets {
    senders: HashMap<Bucket, Arc<watch::Sender<u64>>>,
    closed: bool,
}

/// Wake-ups for one watcher. Holds no events and no memory that grows.
#[derive(Debug)]
pub struct Subscription {
    changes: watch::Receiver<u64>,
    bucket: Weak<watch::Sender<u64>>,
}

impl Subscription {
    /// Waits for the next change and returns the revision of the newest one; `None` when subscriptions were ended.
    ///
    /// Changes since the last call (or since subscribing) count as one and return at once. Safe to drop while waiting.
    pub async fn changed(&mut self) -> Option<u64> {
        self.changes.changed().await.ok()?;
        Some(*self.changes.borrow_and_update())
    }

    /// How many subscriptions are woken together with this one, itself included.
    pub fn n_sharing(&self) -> usize {
        let bucket = self.bucket.upgrade();
        bucket.map_or(0, |sender| sender.receiver_count())
    }
}

impl Subscribers {
    pub(crate) fn subscribe(
        &self,
        resource: &ResourceKey,
        namespace: Option<&str>,
    ) -> Subscription {
        let new = || Arc::new(watch::Sender::new(0));
        let mut buckets = self.lock();
        let sender = if buckets.closed {
            // Its only sender goes with this call, so that the subscription is over from the start.
            new()
        } else {
            let bucket = (resource.clone(), namespace.map(Arc::from));
            buckets.senders.entry(bucket).or_insert_with(new).clone()
        };
        Subscription {
            changes: sender.subscribe(),
            bucket: Arc::downgrade(&sender),
        }
    }

    /// Wakes whoever watches the objects of these events.
    pub(crate) fn wake<'a>(&self, events: impl Iterator<Item = (&'a ResourceKey, &'a Event)>) {
        let buckets = self.lock();
        if buckets.senders.is_empty() {
            return;
        }
        for (resource, event) in events {
            let namespace = event.object.key.namespace.clone();
            for bucket in [
                (resource.clone(), None),
                (resource.clone(), Some(namespace)),
            ] {
                if let Some(sender) = buckets.senders.get(&bucket) {
                    sender.send_replace(event.rev);
                }
            }
        }
    }

    /// Drops buckets that nobody watches any more.
    pub(crate) fn sweep(&self) {
        let mut buckets = self.lock();
        buckets
            .senders
            .retain(|_, sender| sender.receiver_count() > 0);
    }

    /// Ends all subscriptions, those to come too.
    pub(crate) fn close(&self) {
        let mut buckets = self.lock();
        buckets.closed = true;
        buckets.senders.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Buckets> {
        // A panic while holding the lock leaves a map that is still a map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
