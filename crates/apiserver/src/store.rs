//! Where all objects live: in memory for every reader, in one file for the day the process stops.
//!
//! One thread commits. It takes waiting writes in batches, checks each against the newest state, gives it the next
//! revision, makes the batch durable with a single transaction, publishes the new [`State`] behind one atomic pointer, and
//! only then answers and wakes watchers. What a client was told is therefore on disk, and what a reader sees was committed.
//! Readers take [`Store::state`] and never lock or wait.
//!
//! There is one revision for all resources, like etcd's. It never goes backwards, not even over crashes.
//!
//! The history that watches and old reads use is kept in memory only: after a restart a client with an older revision is
//! told to list again. When the file cannot be written the store turns read-only and says why, until it is opened anew.
//!
//! The store reads no clock. [`Store::tick`] tells it the time; without ticks nothing expires, and with [`Fsync::Off`]
//! little is flushed.

mod commit;
mod disk;
mod key;
mod object;
mod pairs;
mod record;
mod state;
mod subscribe;

use std::{path::PathBuf, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};

use self::{
    commit::{Committer, Message},
    disk::Disk,
    subscribe::Subscribers,
};
pub use self::{
    key::{ObjectKey, ResourceKey},
    object::{Draft, DraftError, Meta, Object, TypeOrder},
    pairs::Pairs,
    state::{Collection, Event, EventKind, Events, Expired, History, Objects, State, list},
    subscribe::Subscription,
};

/// The store. Clones are handles of the same store.
#[derive(Clone)]
pub struct Store {
    published: Arc<Published>,
    queue: mpsc::Sender<Message>,
}

/// What the commit thread shows to everybody else.
struct Published {
    state: ArcSwap<State>,
    failure: ArcSwap<Option<Arc<str>>>,
    subscribers: Subscribers,
    /// See [`Store::events_max`].
    events_max: usize,
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// The database file, created when absent. None keeps everything in memory and nothing over a restart.
    pub path: Option<PathBuf>,
    /// When writes reach the disk.
    pub fsync: Fsync,
    /// How much history to keep.
    pub history: History,
    /// Resources whose objects remove themselves this long after their last write. Default: events after 1 h.
    pub ttl: Vec<(ResourceKey, Duration)>,
    /// Largest object, in bytes of JSON. Default 3 MiB, twice what etcd takes in a request.
    pub object_bytes_max: usize,
    /// Writes that may wait for the commit thread before callers of [`Store::commit`] wait in turn. Default 1,024.
    pub queue: usize,
}

impl StoreConfig {
    /// A configuration with the defaults, in memory or in the file at `path`.
    pub fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            fsync: Fsync::Batch,
            history: History::default(),
            ttl: vec![(ResourceKey::new("", "events"), Duration::from_secs(3600))],
            object_bytes_max: 3 << 20,
            queue: 1024,
        }
    }
}

/// When writes reach the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// Before they are acknowledged; concurrent writes share one flush. Loses nothing.
    #[default]
    Batch,
    /// At the next [`Store::tick`]. A crash may lose acknowledged writes since then, but no revision is used twice.
    Off,
}

/// A write of one object, conditional on what is stored.
#[derive(Debug)]
pub struct Write {
    /// The collection.
    pub resource: ResourceKey,
    /// The object.
    pub key: ObjectKey,
    /// What must be stored for the write to happen.
    pub expect: Expect,
    /// What to do.
    pub op: Op,
}

/// The state of an object that a write requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// There is no such object: a creation.
    Absent,
    /// Its last write had this revision.
    Rev(u64),
}

/// What a write does.
#[derive(Debug)]
pub enum Op {
    /// Create or replace the object.
    Put(Draft),
    /// Remove the object. Watches see its stored state with the revision of the removal.
    Delete,
}

/// A write that is durable and visible.
#[derive(Clone, Debug)]
pub struct Committed {
    /// Its revision.
    pub rev: u64,
    /// The object as stored; for a deletion its last state, carrying the revision of the deletion.
    pub object: Arc<Object>,
}

/// Why a write did not happen.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// It was to be created, but this object is there.
    #[error("object {} already exists", .0.key)]
    Exists(Arc<Object>),
    /// It was to be replaced or removed, but is not there.
    #[error("object {0} does not exist")]
    Missing(ObjectKey),
    /// It was written since; this is its newest version.
    #[error("object {} was changed at revision {}", .0.key, .0.rev)]
    Conflict(Arc<Object>),
    /// Larger than [`StoreConfig::object_bytes_max`].
    #[error("object of {bytes} bytes is larger than the limit of {max}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// An earlier write to the file failed; the text says how. Reads go on, writes need a restart.
    #[error("the store is read-only: {0}")]
    ReadOnly(Arc<str>),
    /// The store was closed while the write was waiting; it did not happen.
    #[error("the store is closed")]
    Closed,
}

/// Why a store cannot be opened. Every text names the file and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it open.
    #[error("{0} is in use by another process; stop that one or choose another data directory")]
    Locked(PathBuf),
    /// The file or its folder cannot be created, read or written.
    #[error(
        "cannot open {path} for reading and writing; check that the folder exists and its permissions"
    )]
    Io {
        /// The database file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The content makes no sense.
    #[error(
        "{path} is damaged ({reason}); restore it from a backup, or move it away to start empty"
    )]
    Corrupt {
        /// The database file.
        path: PathBuf,
        /// The first thing found wrong.
        reason: String,
    },
    /// Written by another version of this program.
    #[error(
        "{path} has data format {found}, this version reads {supported}; use the version that wrote it"
    )]
    Format {
        /// The database file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// Ours.
        supported: u64,
    },
    /// The system refused the commit thread.
    #[error("cannot start the commit thread")]
    Thread(#[source] std::io::Error),
}

impl Store {
    /// Opens the store and loads every object. `now` stamps writes until the first [`tick`](Self::tick).
    ///
    /// Loading takes about 5 ms for each 1,000 objects of 3 KB. Blocks meanwhile.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn open(cfg: StoreConfig, now: Timestamp) -> Result<Self, StoreError> {
        let (disk, state) = match &cfg.path {
            Some(path) => Disk::open(path)?,
            None => (Disk::Memory, State::new(1)),
        };
        Self::start(disk, state, cfg, now)
    }

    fn start(
        disk: Disk,
        state: State,
        cfg: StoreConfig,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let (queue, messages) = mpsc::channel(cfg.queue.max(1));
        let published = Arc::new(Published {
            state: ArcSwap::from_pointee(state),
            failure: ArcSwap::from_pointee(None),
            subscribers: Subscribers::default(),
            events_max: cfg.history.events_max,
        });
        let committer = Committer::new(disk, cfg, published.clone(), now);
        std::thread::Builder::new()
            .name("store".into())
            .spawn(move || committer.run(messages))
            .map_err(StoreError::Thread)?;
        Ok(Self { published, queue })
    }

    /// The newest published state. One atomic load; consistent across all resources.
    pub fn state(&self) -> Arc<State> {
        self.published.state.load_full()
    }

    /// How many events of a resource are kept at most.
    pub(crate) fn events_max(&self) -> usize {
        self.published.events_max
    }

    /// Writes one object and waits until that is durable and visible.
    ///
    /// Once the future was polled the write may happen even if the future is dropped.
    ///
    /// # Errors
    /// See [`CommitError`]; on an error nothing was written.
    pub async fn commit(&self, write: Write) -> Result<Committed, CommitError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Write { write, reply }).await?;
        answer.await.unwrap_or(Err(CommitError::Closed))
    }

    /// Wake-ups for changes of `resource`. Subscribe before taking the state from which to go on.
    pub fn subscribe(&self, resource: &ResourceKey) -> Subscription {
        self.published.subscribers.subscribe(resource, None)
    }

    /// Wake-ups for changes of `resource` in one namespace only.
    pub fn subscribe_namespace(&self, resource: &ResourceKey, namespace: &str) -> Subscription {
        let subscribers = &self.published.subscribers;
        subscribers.subscribe(resource, Some(namespace))
    }

    /// Ends all subscriptions, those to come too; reads and writes go on.
    pub fn end_subscriptions(&self) {
        self.published.subscribers.close();
    }

    /// Tells the store the time: removes what expired, trims history, flushes. Call it every second.
    ///
    /// # Errors
    /// When the store is read-only or closed.
    pub async fn tick(&self, now: Timestamp) -> Result<(), CommitError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Tick { now, reply }).await?;
        answer.await.unwrap_or(Err(CommitError::Closed))
    }

    /// Why the store is read-only, if it is; for readiness checks.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.published.failure.load().as_ref().clone()
    }

    /// Finishes waiting writes, flushes, and gives the file free for others. Later writes fail; reads go on.
    pub async fn close(&self) {
        let (reply, done) = oneshot::channel();
        if self.send(Message::Close { reply }).await.is_ok() {
            // An error means that the thread ended before it answered, which is as good.
            let _ = done.await;
        }
    }

    async fn send(&self, message: Message) -> Result<(), CommitError> {
        let sent = self.queue.send(message).await;
        sent.map_err(|_| CommitError::Closed)
    }
}

#[cfg(test)]
mod tests;
