//! The running controllers: watches that feed worlds and queues, and writes that carry out decisions.

mod addresses;
mod collector;
mod endpoints;
mod namespaces;
mod protection;
mod resources;
mod roles;

use std::{
    fmt::Debug,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use flotilla_operator::{QueueMetrics, Tasks};
use futures::StreamExt;
use ipnet::IpNet;
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use prometheus_client::registry::Registry;
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use self::resources::Resources;

/// What the controllers need to know about their cluster.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The certificate that clients of the API server trust, in PEM, for every namespace. Empty publishes none.
    pub root_ca: String,
    /// Addresses for Services of type LoadBalancer and for Ingresses. Empty assigns none.
    pub pool: Vec<IpNet>,
    /// How many of them each gets.
    pub addresses_each: usize,
}

/// Counters of the work queues.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    endpoints: QueueMetrics,
    collector: QueueMetrics,
    namespaces: QueueMetrics,
    addresses: QueueMetrics,
    roles: QueueMetrics,
    protection: QueueMetrics,
}

/// Why a reconcile failed; it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused or could not be reached.
    #[error("the API server did not do what was asked")]
    Api(#[from] kube::Error),
    /// An owner of a kind that is not served (yet).
    #[error("no resource serves {kind} of {api_version}")]
    UnknownKind {
        /// Its `apiVersion`.
        api_version: String,
        /// Its kind.
        kind: String,
    },
}

/// Runs all controllers until `stop` is cancelled, then waits for what is under way.
pub async fn run(client: Client, config: Config, metrics: Metrics, stop: CancellationToken) {
    let mut tasks = Tasks::new(&stop);
    let resources = Resources::new(client.clone());
    tasks.spawn("resources", resources.clone().follow());
    endpoints::spawn(&mut tasks, client.clone(), metrics.endpoints);
    roles::spawn(&mut tasks, client.clone(), metrics.roles);
    protection::spawn(&mut tasks, client.clone(), metrics.protection);
    collector::spawn(
        &mut tasks,
        client.clone(),
        resources.clone(),
        metrics.collector,
    );
    namespaces::spawn(
        &mut tasks,
        client.clone(),
        resources,
        config.root_ca,
        metrics.namespaces,
    );
    if !config.pool.is_empty() {
        addresses::spawn(
            &mut tasks,
            client,
            config.pool,
            config.addresses_each,
            metrics.addresses,
        );
    }
    stop.cancelled().await;
    tasks.stop().await;
}

impl Metrics {
    /// Registers the counters under `flotilla_controllers_<controller>_…`.
    pub fn register(registry: &mut Registry) -> Self {
        let mut queue =
            |name: &str| QueueMetrics::register(registry, &format!("flotilla_controllers_{name}"));
        Self {
            endpoints: queue("endpoints"),
            collector: queue("garbage_collector"),
            namespaces: queue("namespaces"),
            addresses: queue("addresses"),
            roles: queue("roles"),
            protection: queue("protection"),
        }
    }
}

/// State that watches write and workers read. Critical sections are short and never wait.
#[derive(Debug, Default)]
struct Shared<T>(Arc<Mutex<T>>);

impl<T> Shared<T> {
    fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        // A panic is caught around the reconcile it happened in; every section leaves the state whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Watches all objects of a kind for ever, and starts over after errors.
async fn follow<K>(api: Api<K>, config: watcher::Config, mut on: impl FnMut(Event<K>) + Send)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut events = std::pin::pin!(watcher(api, config).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => on(event),
            Err(error) => tracing::debug!(%error, "A watch starts over"),
        }
    }
}

/// Removes an object; that it is gone already is as good.
async fn remove<K>(api: &Api<K>, name: &str, how: &DeleteParams) -> Result<(), Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    match api.delete(name, how).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Creates an object; none when its namespace goes, where nothing is created any more, or when somebody was faster.
async fn create<K>(api: &Api<K>, object: &K) -> Result<Option<K>, Error>
where
    K: Clone + DeserializeOwned + Debug + Serialize,
{
    match api.create(&PostParams::default(), object).await {
        Ok(created) => Ok(Some(created)),
        Err(kube::Error::Api(status))
            if status.code == 403 && status.message.contains("being terminated") =>
        {
            Ok(None)
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Merges `patch` into the status of an object.
async fn patch_status<K>(api: &Api<K>, name: &str, patch: serde_json::Value) -> Result<(), Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    match api
        .patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}
