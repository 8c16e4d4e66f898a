//! Which key a controller should look at next.
//!
//! The semantics are those of client-go's work queue: a key waits at most once, is never handed to
//! two workers at the same time, and when it is added while a worker holds it, it comes back after
//! the worker is done. Delays and failure backoff sit on top. Adding costs O(log n).

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a failing key waits: `first · 2ⁿ`, at most `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Wait after the first failure.
    pub first: Duration,
    /// Longest wait.
    pub max: Duration,
}

/// A de-duplicating work queue of keys, shared between watches and workers.
pub struct Queue<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    state: Mutex<State<K>>,
    changed: Notify,
    backoff: Backoff,
}

struct State<K> {
    ready: VecDeque<K>,
    /// In `ready`, or added again while being worked on.
    dirty: HashSet<K>,
    working: HashSet<K>,
    delayed: Delays<K>,
    failures: HashMap<K, u32>,
    closed: bool,
}

/// Keys with a time; each key once, at its earliest time.
struct Delays<K> {
    order: BTreeMap<(Instant, u64), K>,
    places: HashMap<K, (Instant, u64)>,
    sequence: u64,
}

// === impl Backoff ===

impl Backoff {
    /// The wait after `failures` failures in a row (1 = the first).
    pub fn after(self, failures: u32) -> Duration {
        let factor = 1u32
            .checked_shl(failures.saturating_sub(1))
            .unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.max)
    }
}

impl Default for Backoff {
    /// 50 ms to 30 s: a peer that is back is noticed within half a minute, unlike the 1,000 s
    /// ceiling of controller-runtime.
    fn default() -> Self {
        Self {
            first: Duration::from_millis(50),
            max: Duration::from_secs(30),
        }
    }
}

// === impl Queue ===

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K> fmt::Debug for Queue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        let state = State {
            ready: VecDeque::new(),
            dirty: HashSet::new(),
            working: HashSet::new(),
            delayed: Delays::new(),
            failures: HashMap::new(),
            closed: false,
        };
        let shared = Shared {
            state: Mutex::new(state),
            changed: Notify::new(),
            backoff,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Asks for a look at `key` as soon as a worker is free.
    pub fn add(&self, key: K) {
        self.lock().add(key);
        self.shared.changed.notify_one();
    }

    /// Asks for a look at `key` after `delay`; an earlier request for the same key wins.
    pub fn add_after(&self, key: K, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        self.lock().delayed.insert(key, Instant::now() + delay);
        self.shared.changed.notify_one();
    }

    /// The next key, or `None` once the queue is closed. Hand it back with [`done`](Self::done).
    pub async fn next(&self) -> Option<K> {
        loop {
            let changed = self.shared.changed.notified();
            let wake_at = {
                let mut state = self.lock();
                if state.closed {
                    // Pass the news on: `notify_one` wakes a single worker.
                    self.shared.changed.notify_one();
                    return None;
                }
                state.release_due(Instant::now());
                if let Some(key) = state.take() {
                    if !state.ready.is_empty() {
                        self.shared.changed.notify_one();
                    }
                    return Some(key);
                }
                state.delayed.next_due()
            };
            match wake_at {
                Some(at) => {
                    let _ = tokio::time::timeout_at(at, changed).await;
                }
                None => changed.await,
            }
        }
    }

    /// Ends the work on `key`; if it was added meanwhile, it becomes ready again.
    pub fn done(&self, key: &K) {
        let mut state = self.lock();
        state.working.remove(key);
        if state.dirty.contains(key) {
            state.ready.push_back(key.clone());
            self.shared.changed.notify_one();
        }
    }

    /// Forgets that `key` failed.
    pub fn forget(&self, key: &K) {
        self.lock().failures.remove(key);
    }

    /// Counts a failure of `key` and schedules it again after its backoff, which is returned.
    pub fn retry(&self, key: K) -> Duration {
        let failures = {
            let mut state = self.lock();
            let failures = state.failures.entry(key.clone()).or_insert(0);
            *failures = failures.saturating_add(1);
            *failures
        };
        let delay = self.shared.backoff.after(failures);
        self.add_after(key, delay);
        delay
    }

    /// The wait after a first failure.
    pub fn first_backoff(&self) -> Duration {
        self.shared.backoff.first
    }

    /// How many keys are ready and wait for a worker.
    pub fn depth(&self) -> usize {
        self.lock().ready.len()
    }

    /// Makes every [`next`](Self::next) return `None` from now on.
    pub fn close(&self) {
        self.lock().closed = true;
        self.shared.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        // Every critical section leaves the state whole, so a poisoned lock is still good.
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl<K: Clone + Eq + Hash> State<K> {
    fn add(&mut self, key: K) {
        self.delayed.remove(&key);
        if self.dirty.insert(key.clone()) && !self.working.contains(&key) {
            self.ready.push_back(key);
        }
    }

    fn release_due(&mut self, now: Instant) {
        while let Some(key) = self.delayed.pop_due(now) {
            self.add(key);
        }
    }

    fn take(&mut self) -> Option<K> {
        let key = self.ready.pop_front()?;
        self.dirty.remove(&key);
        self.working.insert(key.clone());
        Some(key)
    }
}

// === impl Delays ===

impl<K: Clone + Eq + Hash> Delays<K> {
    fn new() -> Self {
        Self {
            order: BTreeMap::new(),
            places: HashMap::new(),
            sequence: 0,
        }
    }

    fn insert(&mut self, key: K, at: Instant) {
        if let Some(place) = self.places.get(&key) {
            if place.0 <= at {
                return;
            }
            self.order.remove(place);
        }
        self.sequence += 1;
        let place = (at, self.sequence);
        self.order.insert(place, key.clone());
        self.places.insert(key, place);
    }

    fn remove(&mut self, key: &K) {
        if let Some(place) = self.places.remove(key) {
            self.order.remove(&place);
        }
    }

    fn pop_due(&mut self, now: Instant) -> Option<K> {
        let (&(at, _), _) = self.order.first_key_value()?;
        if at > now {
            return None;
        }
        let (_, key) = self.order.pop_first()?;
        self.places.remove(&key);
        Some(key)
    }

    fn next_due(&self) -> Option<Instant> {
        self.order.first_key_value().map(|(&(at, _), _)| at)
    }
}

#[cfg(test)]
mod tests;
