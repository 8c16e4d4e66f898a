//! Lets deleted volumes and claims go when nobody uses them any more.

use std::{fmt::Debug, time::Duration};

use flotilla_operator::{Backoff, Outcome, Queue, QueueMetrics, Tasks};
use k8s_openapi::{
    api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams},
    runtime::watcher::{self, Event},
};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Error, follow};
use crate::{Key, protection};

/// How often the users of a deleted object are looked for while it waits for them.
const AGAIN: Duration = Duration::from_secs(2);

pub(super) fn spawn(tasks: &mut Tasks, client: Client, metrics: QueueMetrics) {
    let claims: Queue<Key> = Queue::new(Backoff::default());
    let (touched, all) = (
        claims.clone(),
        Api::<PersistentVolumeClaim>::all(client.clone()),
    );
    tasks.spawn("claims: watch", watch(all, touched));
    let volumes: Queue<Key> = Queue::new(Backoff::default());
    let (touched, all) = (
        volumes.clone(),
        Api::<PersistentVolume>::all(client.clone()),
    );
    tasks.spawn("volumes: watch", watch(all, touched));
    let (for_claims, counted) = (client.clone(), metrics.clone());
    tasks.spawn("claims", async move {
        let reconcile = move |key| claim(for_claims.clone(), key);
        flotilla_operator::run("claims", claims, 1, counted, reconcile).await;
    });
    tasks.spawn("volumes", async move {
        let reconcile = move |key| volume(client.clone(), key);
        flotilla_operator::run("volumes", volumes, 1, metrics, reconcile).await;
    });
}

async fn watch<K>(all: Api<K>, touched: Queue<Key>)
where
    K: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let on = move |event| {
        if let Event::Apply(object) | Event::InitApply(object) = event {
            touched.add(Key::of(&object));
        }
    };
    follow(all, watcher::Config::default(), on).await;
}

async fn claim(client: Client, key: Key) -> Result<Outcome, Error> {
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &key.namespace);
    let Some(claim) = claims.get_opt(&key.name).await? else {
        return Ok(Outcome::Wait);
    };
    let is_waiting = protection::is_waiting(&claim.metadata, protection::CLAIM);
    let is_used = is_waiting && {
        let pods: Api<Pod> = Api::namespaced(client, &key.namespace);
        let pods = pods.list(&ListParams::default()).await?;
        pods.iter().any(|pod| protection::uses(pod, &key.name))
    };
    settle(&claims, &claim.metadata, protection::CLAIM, is_used).await
}

async fn volume(client: Client, key: Key) -> Result<Outcome, Error> {
    let volumes: Api<PersistentVolume> = Api::all(client);
    let Some(volume) = volumes.get_opt(&key.name).await? else {
        return Ok(Outcome::Wait);
    };
    let is_used = protection::is_bound(&volume);
    settle(&volumes, &volume.metadata, protection::VOLUME, is_used).await
}

/// Writes the finalizers that an object should have, and comes back to one that waits for its users.
async fn settle<K>(
    api: &Api<K>,
    metadata: &ObjectMeta,
    finalizer: &str,
    is_used: bool,
) -> Result<Outcome, Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    let Some(wanted) = protection::finalizers(metadata, finalizer, is_used) else {
        let waits = is_used && protection::is_waiting(metadata, finalizer);
        return Ok(if waits {
            Outcome::Again(AGAIN)
        } else {
            Outcome::Wait
        });
    };
    let patch = Patch::Merge(json!({
        "metadata": {"resourceVersion": metadata.resource_version, "finalizers": wanted},
    }));
    let name = metadata.name.as_deref().unwrap_or_default();
    match api.patch(name, &PatchParams::default(), &patch).await {
        Ok(_) => Ok(Outcome::Wait),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Outcome::Wait),
        Err(error) => Err(error.into()),
    }
}
