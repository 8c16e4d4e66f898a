//! The commit thread: the only writer of the state and of the file.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    error::Error,
    sync::Arc,
    time::Duration,
};

use flotilla_machinery::texts::Texts;
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};

use super::{
    CommitError, Committed, Expect, Fsync, Op, Published, StoreConfig, Write,
    disk::{Changes, Disk},
    key::{ObjectKey, ResourceKey},
    object::{Object, seconds},
    record,
    state::{Event, State},
};

/// Most writes in one transaction. With more, the first of them waits noticeably for the last.
const BATCH_WRITES: usize = 512;

/// A batch closes once its bodies reach this size.
const BATCH_BYTES: usize = 4 << 20;

/// With [`Fsync::Off`], changed objects that may wait for a tick before they are flushed anyway.
const PENDING_OBJECTS: usize = 4096;

/// With [`Fsync::Off`], revisions that the file promises ahead. A crash skips the unused rest, so none is given out twice.
const RESERVED_REVISIONS: u64 = 10_000;

/// How long watches share the encodings of an event. Those that are further behind make their own.
const ENCODINGS_AGE: Duration = Duration::from_secs(2);

/// Newest events whose encodings are shared at most.
const ENCODINGS: usize = 4096;

/// What handles of the store ask the commit thread for.
pub(crate) enum Message {
    Write {
        write: Write,
        reply: Reply,
    },
    Tick {
        now: Timestamp,
        reply: oneshot::Sender<Result<(), CommitError>>,
    },
    Close {
        reply: oneshot::Sender<()>,
    },
}

type Reply = oneshot::Sender<Result<Committed, CommitError>>;

pub(crate) struct Committer {
    disk: Disk,
    cfg: StoreConfig,
    ttl: HashMap<ResourceKey, Duration>,
    published: Arc<Published>,
    now: Timestamp,
    /// Objects that expire, soonest first.
    expiring: BTreeSet<(u32, ResourceKey, ObjectKey)>,
    /// Changes that are not in the file yet. Empty between batches with [`Fsync::Batch`].
    pending: Changes,
    /// The revision that the file has.
    durable_rev: u64,
    /// Namespaces of the objects.
    namespaces: Texts,
    /// Events whose encodings are still remembered, oldest first.
    encoded: VecDeque<Arc<Event>>,
}

/// A batch on its way: the state it leads to and the events that do.
struct Batch {
    state: State,
    events: Vec<(ResourceKey, Arc<Event>)>,
}

impl Committer {
    pub(crate) fn new(
        disk: Disk,
        cfg: StoreConfig,
        published: Arc<Published>,
        now: Timestamp,
    ) -> Self {
        let state = published.state.load();
        let mut expiring = BTreeSet::new();
        for (resource, collection) in state.collections() {
            let objects = collection.objects.into_iter().map(|(_, object)| object);
            for object in objects.filter(|object| object.expires_seconds > 0) {
                expiring.insert(expiry(resource, object));
            }
        }
        let durable_rev = state.rev;
        drop(state);
        Self {
            disk,
            ttl: cfg.ttl.iter().cloned().collect(),
            cfg,
            published,
            now,
            expiring,
            pending: Changes::new(),
            durable_rev,
            namespaces: Texts::default(),
            encoded: VecDeque::new(),
        }
    }

    /// Serves messages until the store is closed or its last handle is gone.
    pub(crate) fn run(mut self, mut messages: mpsc::Receiver<Message>) {
        let mut closers = Vec::new();
        let mut next = None;
        while let Some(message) = next.take().or_else(|| messages.blocking_recv()) {
            match message {
                Message::Write { write, reply } => {
                    let writes;
                    (writes, next) = gather((write, reply), &mut messages);
                    self.commit(writes);
                }
                Message::Tick { now, reply } => {
                    // Whoever asked may have gone.
                    let _ = reply.send(self.tick(now));
                }
                Message::Close { reply } => {
                    messages.close();
                    closers.push(reply);
                }
            }
        }
        let rev = self.published.state.load().rev;
        if self.failure().is_none() && (rev != self.durable_rev || !self.pending.is_empty()) {
            // A failure is recorded; there is nobody left to tell.
            let _ = self.flush(rev);
        }
        self.published.subscribers.close();
        drop(self);
        for closer in closers {
            let _ = closer.send(());
        }
    }

    fn commit(&mut self, writes: Vec<(Write, Reply)>) {
        let mut batch = self.begin();
        let staged: Vec<_> = writes
            .into_iter()
            .map(|(write, reply)| (self.stage(&mut batch, write), reply))
            .collect();
        let finished = self.finish(batch);
        for (outcome, reply) in staged {
            // Also a refusal may tell of other writes of this batch, so none is sent if the batch failed.
            let _ = reply.send(finished.clone().and(outcome));
        }
        if let Ok(events) = finished {
            let events = events.iter().map(|(resource, event)| (resource, &**event));
            self.published.subscribers.wake(events);
        }
    }

    fn tick(&mut self, now: Timestamp) -> Result<(), CommitError> {
        self.now = self.now.max(now);
        self.published.subscribers.sweep();
        self.forget_encodings();
        self.expire()?;
        let mut state = State::clone(&self.published.state.load());
        let resources: Vec<_> = state.collections().map(|(key, _)| key.clone()).collect();
        for resource in &resources {
            state.trim(resource, self.now, &self.cfg.history);
        }
        self.published.state.store(Arc::new(state));
        if !self.pending.is_empty() {
            self.flush(self.durable_rev)?;
        }
        Ok(())
    }

    /// Removes objects whose time is over.
    fn expire(&mut self) -> Result<(), CommitError> {
        let now = seconds(self.now);
        loop {
            let due = self.expiring.iter().take_while(|(at, ..)| *at <= now);
            let due: Vec<_> = due.take(BATCH_WRITES).cloned().collect();
            if due.is_empty() {
                return Ok(());
            }
            let mut batch = self.begin();
            for (_, resource, key) in due {
                let Some(object) = batch.state.get(&resource, &key) else {
                    continue;
                };
                let write = Write {
                    expect: Expect::Rev(object.rev),
                    resource,
                    key,
                    op: Op::Delete,
                };
                self.stage(&mut batch, write)?;
            }
            let events = self.finish(batch)?;
            let events = events.iter().map(|(resource, event)| (resource, &**event));
            self.published.subscribers.wake(events);
        }
    }

    fn begin(&self) -> Batch {
        Batch {
            state: State::clone(&self.published.state.load()),
            events: Vec::new(),
        }
    }

    /// Checks one write against the batch so far and adds it.
    fn stage(&mut self, batch: &mut Batch, write: Write) -> Result<Committed, CommitError> {
        let previous = batch.state.get(&write.resource, &write.key).cloned();
        check(&write, previous.as_ref())?;
        let rev = batch.state.rev + 1;
        let deleted = matches!(write.op, Op::Delete);
        let object = match (write.op, &previous) {
            (Op::Delete, None) => return Err(CommitError::Missing(write.key)),
            (Op::Delete, Some(previous)) => previous.at_revision(rev),
            (Op::Put(draft), _) => {
                if draft.len() > self.cfg.object_bytes_max {
                    return Err(CommitError::TooLarge {
                        bytes: draft.len(),
                        max: self.cfg.object_bytes_max,
                    });
                }
                let create_rev = previous.as_ref().map_or(rev, |object| object.create_rev);
                let key = ObjectKey {
                    namespace: self.namespaces.share(&write.key.namespace),
                    name: write.key.name,
                };
                let mut object = draft.object(key, rev, create_rev);
                if let Some(ttl) = self.ttl.get(&write.resource) {
                    let ttl = u32::try_from(ttl.as_secs()).unwrap_or(u32::MAX);
                    object.expires_seconds = seconds(self.now).saturating_add(ttl).max(1);
                }
                object
            }
        };
        if let Some(previous) = previous
            .as_ref()
            .filter(|object| object.expires_seconds > 0)
        {
            self.expiring.remove(&expiry(&write.resource, previous));
        }
        if object.expires_seconds > 0 {
            self.expiring.insert(expiry(&write.resource, &object));
        }
        let object = Arc::new(object);
        let event = Event::new(object.clone(), previous, deleted, self.now);
        let event = Arc::new(event);
        batch.state.rev = rev;
        batch
            .state
            .collection_mut(&write.resource)
            .push(event.clone());
        batch.events.push((write.resource, event));
        Ok(Committed { rev, object })
    }

    /// Makes a batch durable, then visible.
    fn finish(&mut self, mut batch: Batch) -> Result<Vec<(ResourceKey, Arc<Event>)>, CommitError> {
        if let Some(reason) = self.failure() {
            return Err(CommitError::ReadOnly(reason));
        }
        if batch.events.is_empty() {
            return Ok(batch.events);
        }
        self.persist(&batch)?;
        let resources: BTreeSet<_> = batch.events.iter().map(|(resource, _)| resource).collect();
        for resource in resources {
            batch.state.trim(resource, self.now, &self.cfg.history);
        }
        batch.state.trim_total(self.cfg.history.total_bytes_max);
        self.published.state.store(Arc::new(batch.state));
        let events = batch.events.iter().map(|(_, event)| event.clone());
        self.encoded.extend(events);
        self.forget_encodings();
        Ok(batch.events)
    }

    fn forget_encodings(&mut self) {
        let limit = ENCODINGS_AGE.as_secs_f64();
        let old = |event: &Event| self.now.duration_since(event.at).as_secs_f64() > limit;
        while let Some(event) = self.encoded.front()
            && (self.encoded.len() > ENCODINGS || old(event))
        {
            event.forget_encodings();
            self.encoded.pop_front();
        }
    }

    fn persist(&mut self, batch: &Batch) -> Result<(), CommitError> {
        if !self.disk.keeps() {
            return Ok(());
        }
        for (resource, event) in &batch.events {
            let object = &event.object;
            let live = (event.kind != super::EventKind::Deleted).then(|| object.clone());
            self.pending
                .insert(record::encode_key(resource, &object.key), live);
        }
        let rev = batch.state.rev;
        match self.cfg.fsync {
            Fsync::Batch => self.flush(rev),
            Fsync::Off if rev > self.durable_rev || self.pending.len() >= PENDING_OBJECTS => {
                self.flush(rev + RESERVED_REVISIONS)
            }
            Fsync::Off => Ok(()),
        }
    }

    /// Writes what is pending and `rev`. A failure makes the store read-only.
    fn flush(&mut self, rev: u64) -> Result<(), CommitError> {
        match self.disk.write(&self.pending, rev) {
            Ok(()) => {
                self.pending.clear();
                self.durable_rev = rev;
                Ok(())
            }
            Err(error) => {
                let reason: Arc<str> = describe(&error, &self.disk).into();
                self.published.failure.store(Arc::new(Some(reason.clone())));
                Err(CommitError::ReadOnly(reason))
            }
        }
    }

    fn failure(&self) -> Option<Arc<str>> {
        self.published.failure.load().as_ref().clone()
    }
}

/// Takes further waiting writes until the batch is full or something else comes, which is handed back.
fn gather(
    first: (Write, Reply),
    messages: &mut mpsc::Receiver<Message>,
) -> (Vec<(Write, Reply)>, Option<Message>) {
    let mut bytes = size(&first.0);
    let mut writes = vec![first];
    while writes.len() < BATCH_WRITES && bytes < BATCH_BYTES {
        match messages.try_recv() {
            Ok(Message::Write { write, reply }) => {
                bytes += size(&write);
                writes.push((write, reply));
            }
            Ok(other) => return (writes, Some(other)),
            Err(_) => break,
        }
    }
    (writes, None)
}

fn size(write: &Write) -> usize {
    match &write.op {
        Op::Put(draft) => draft.len(),
        Op::Delete => 0,
    }
}

fn check(write: &Write, found: Option<&Arc<Object>>) -> Result<(), CommitError> {
    match (write.expect, found) {
        (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(found)) => Err(CommitError::Exists(found.clone())),
        (Expect::Rev(_), None) => Err(CommitError::Missing(write.key.clone())),
        (Expect::Rev(rev), Some(found)) if found.rev != rev => {
            Err(CommitError::Conflict(found.clone()))
        }
        (Expect::Rev(_), Some(_)) => Ok(()),
    }
}

fn expiry(resource: &ResourceKey, object: &Object) -> (u32, ResourceKey, ObjectKey) {
    let at = object.expires_seconds;
    (at, resource.clone(), object.key.clone())
}

/// The error with its causes in one line: it goes to clients, who cannot ask for more.
fn describe(error: &redb::Error, disk: &Disk) -> String {
    let mut text = match disk {
        Disk::File { path, .. } => format!("cannot write {}: {error}", path.display()),
        Disk::Memory => error.to_string(),
    };
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
