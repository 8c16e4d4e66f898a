//! What every request shares: the store, the registry, who may do what, limits and the clock.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::{MutexGuard, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    auth::{Access, Tokens, service_account::Issuer, token_file::TokenFile},
    components, convert, crd,
    metrics::Metrics,
    openapi::OpenApi,
    registry::{Registry, Resource, built_in},
    store::{ResourceKey, State, Store},
};

/// Limits of the server. The defaults are upstream's unless the text says otherwise.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Reading requests at a time; more get 429. Default 400.
    pub reads_max: usize,
    /// Changing requests at a time; more get 429. Default 200.
    pub writes_max: usize,
    /// Requests at a time whose body comes slowly; more get 429. They wait outside the other limits, so that clients which
    /// send byte by byte take no place from others. Default 64.
    pub slow_bodies_max: usize,
    /// When a body is slow. Default 1 s.
    pub body_is_slow_after: Duration,
    /// How long a client may take for the TLS handshake or the head of a request. Default 10 s.
    pub head_deadline: Duration,
    /// Watches and other long-running requests at a time; more get 429. Default 10,000 (upstream
    /// has no limit).
    pub watches_max: usize,
    /// Connections at a time. Default 16,384; at most as many as the process may open files.
    pub connections_max: usize,
    /// How long a request may take; long-running ones have no deadline. Default 60 s.
    pub deadline: Duration,
    /// Shortest life of a watch that names no timeout; the longest is twice that. Default 30 min.
    pub watch_seconds_min: u64,
    /// Largest stored object in bytes of JSON. Default 1.5 MiB, as etcd.
    pub object_bytes_max: usize,
    /// How long a conversion webhook may take for one batch. Default 30 s.
    pub webhook_deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            reads_max: 400,
            writes_max: 200,
            slow_bodies_max: 64,
            body_is_slow_after: Duration::from_secs(1),
            head_deadline: Duration::from_secs(10),
            watches_max: 10_000,
            connections_max: 16_384,
            deadline: Duration::from_secs(60),
            watch_seconds_min: 1800,
            object_bytes_max: 3 << 19,
            webhook_deadline: Duration::from_secs(30),
        }
    }
}

/// Everything requests share. One per server.
pub struct Engine {
    /// Objects.
    pub store: Store,
    /// Who tokens belong to.
    pub tokens: Tokens,
    /// Who may do what.
    pub access: Access,
    /// Signs service account tokens.
    pub issuer: Arc<Issuer>,
    /// Limits.
    pub limits: Limits,
    /// OpenAPI documents that are in use.
    pub open_api: OpenApi,
    /// Counters.
    pub metrics: Metrics,
    /// Ends watches and makes the server unready.
    pub stop: CancellationToken,
    /// Whether controllers run beside the server.
    pub(crate) controllers_run: AtomicBool,
    /// What outlives its request: WebSockets.
    pub(crate) tasks: TaskTracker,
    pub(crate) gates: Gates,
    pub(crate) converted: convert::Cache,
    turn: tokio::sync::Mutex<()>,
    rows: ArcSwap<Registry>,
    compiled: Mutex<HashMap<Box<str>, Compiled>>,
}

/// Places for requests in flight.
pub(crate) struct Gates {
    pub(crate) reads: Arc<Semaphore>,
    pub(crate) writes: Arc<Semaphore>,
    pub(crate) slow_bodies: Arc<Semaphore>,
    pub(crate) watches: Arc<Semaphore>,
}

/// The rows of one CustomResourceDefinition at one revision.
struct Compiled {
    rev: u64,
    rows: Vec<Arc<Resource>>,
}

impl Engine {
    /// An engine that serves the built-in kinds and the custom ones defined in `store`.
    pub fn new(store: Store, token_file: TokenFile, issuer: Arc<Issuer>, limits: Limits) -> Self {
        Self {
            tokens: Tokens::new(store.clone(), token_file, issuer.clone()),
            access: Access::new(store.clone()),
            issuer,
            store,
            gates: Gates {
                reads: Arc::new(Semaphore::new(limits.reads_max)),
                writes: Arc::new(Semaphore::new(limits.writes_max)),
                slow_bodies: Arc::new(Semaphore::new(limits.slow_bodies_max)),
                watches: Arc::new(Semaphore::new(limits.watches_max)),
            },
            limits,
            converted: convert::Cache::default(),
            turn: tokio::sync::Mutex::default(),
            open_api: OpenApi::default(),
            metrics: Metrics::default(),
            stop: CancellationToken::new(),
            controllers_run: AtomicBool::new(false),
            tasks: TaskTracker::new(),
            rows: ArcSwap::from_pointee(Registry::new(built_in())),
            compiled: Mutex::default(),
        }
    }

    /// What is known of the parts of the control plane.
    pub(crate) fn components(&self) -> components::Seen {
        components::Seen {
            store_failure: self.store.failure(),
            controllers_run: self.controllers_run.load(Ordering::Relaxed),
        }
    }

    /// The registry as of `state`. It is brought up to date here, before the request that needs it,
    /// so nobody sees an established definition whose resource is not served yet.
    ///
    /// Costs a comparison unless definitions changed; then only the changed ones are compiled.
    pub fn registry(&self, state: &State) -> Arc<Registry> {
        let rev = definitions_rev(state);
        let rows = self.rows.load_full();
        if rows.custom_rev() >= rev {
            return rows;
        }
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = self.rows.load_full();
        if rows.custom_rev() >= rev {
            return rows;
        }
        refresh(&mut compiled, state);
        let custom = compiled.values().flat_map(|c| c.rows.iter().cloned());
        let mut custom: Vec<_> = custom.collect();
        custom.sort_by(|a, b| (&a.group, &a.plural).cmp(&(&b.group, &b.plural)));
        let fresh = Arc::new(rows.with_custom(custom, rev));
        self.rows.store(fresh.clone());
        fresh
    }

    /// Waits for the turn to write an object of this kind, if its kind takes turns. Take the state
    /// after it, and keep it until the commit.
    pub(crate) async fn turn(&self, resource: &Resource) -> Option<MutexGuard<'_, ()>> {
        if resource.strategy.takes_turns() {
            Some(self.turn.lock().await)
        } else {
            None
        }
    }

    /// Time of the wall clock.
    #[expect(
        clippy::disallowed_methods,
        reason = "the server's one look at the clock"
    )]
    pub fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Fresh random bits.
    pub fn entropy(&self) -> u64 {
        rand::random()
    }
}

fn definitions() -> ResourceKey {
    ResourceKey::new("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Revision of the last change of any definition; 0 when there never was one.
fn definitions_rev(state: &State) -> u64 {
    let Some(collection) = state.collection(&definitions()) else {
        return 0;
    };
    let last = collection.events.into_iter().next_back();
    last.map_or(collection.compacted, |(rev, _)| *rev)
}

fn refresh(compiled: &mut HashMap<Box<str>, Compiled>, state: &State) {
    let Some(collection) = state.collection(&definitions()) else {
        compiled.clear();
        return;
    };
    compiled.retain(|name, _| {
        collection
            .objects
            .get(&crate::store::ObjectKey::new("", name))
            .is_some()
    });
    for object in collection.list(None, None) {
        let name: Box<str> = object.key.name.as_ref().into();
        if compiled.get(&name).is_some_and(|c| c.rev == object.rev) {
            continue;
        }
        let before = compiled.get(&name).map_or(&[][..], |c| &c.rows);
        let rows = crd::resource::rows(object, before);
        compiled.insert(
            name,
            Compiled {
                rev: object.rev,
                rows,
            },
        );
    }
}
