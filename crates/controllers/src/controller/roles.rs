//! Writes down the rules of ClusterRoles that collect those of others.

use std::time::Duration;

use flotilla_operator::{Backoff, Outcome, Queue, QueueMetrics, Tasks};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    runtime::watcher,
};
use serde_json::json;

use super::{Error, Shared, follow};
use crate::{Key, Mirror, roles};

/// A reconcile that comes before the first list is complete waits this long.
const NOT_YET: Duration = Duration::from_millis(50);

pub(super) fn spawn(tasks: &mut Tasks, client: Client, metrics: QueueMetrics) {
    let world = Shared::new(Mirror::<ClusterRole>::new());
    let queue: Queue<Key> = Queue::new(Backoff::default());
    let (known, touched, all) = (world.clone(), queue.clone(), Api::all(client.clone()));
    tasks.spawn("roles: watch", async move {
        let on = move |event| {
            let mut known = known.lock();
            for change in known.apply(event) {
                touched.add(change.key.clone());
                // Few roles collect, so they are found by looking at all.
                let versions: Vec<_> = change
                    .old
                    .iter()
                    .chain(&change.new)
                    .map(|role| roles::labels(role))
                    .collect();
                let collecting = known.iter().filter(|(_, role)| {
                    versions.iter().any(|labels| roles::collects(role, labels))
                });
                collecting.for_each(|(key, _)| touched.add(key.clone()));
            }
        };
        follow(all, watcher::Config::default(), on).await;
    });
    tasks.spawn("roles", async move {
        let reconcile = move |key| reconcile(client.clone(), world.clone(), key);
        flotilla_operator::run("roles", queue, 1, metrics, reconcile).await;
    });
}

async fn reconcile(
    client: Client,
    world: Shared<Mirror<ClusterRole>>,
    key: Key,
) -> Result<Outcome, Error> {
    let rules = {
        let world = world.lock();
        if !world.is_complete() {
            return Ok(Outcome::Again(NOT_YET));
        }
        let all = world.iter().map(|(_, role)| &**role);
        world.get(&key).and_then(|role| roles::rules(role, all))
    };
    if let Some(rules) = rules {
        let patch = Patch::Merge(json!({"rules": rules}));
        let all: Api<ClusterRole> = Api::all(client);
        match all.patch(&key.name, &PatchParams::default(), &patch).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Outcome::Wait)
}
