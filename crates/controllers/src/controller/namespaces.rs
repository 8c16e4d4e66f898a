//! Gives namespaces what they need and empties those that go.

use std::{sync::Arc, time::Duration};

use flotilla_operator::{Backoff, Outcome, Queue, QueueMetrics, Tasks};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, ServiceAccount},
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, PartialObjectMeta, PostParams},
    discovery::verbs,
    runtime::watcher,
};
use serde_json::json;

use super::{
    Error, Shared, create, follow, patch_status, remove,
    resources::{Resources, Served, api},
};
use crate::{
    Key, Mirror,
    namespaces::{self, DEFAULT_ACCOUNT, FINALIZER, ROOT_CA, Remains},
};

const WORKERS: usize = 4;

/// A reconcile that comes before the first lists are complete waits this long.
const NOT_YET: Duration = Duration::from_millis(50);

/// How often a namespace that still holds something is looked at. What it holds ends by itself, mostly pods with grace.
const REMAINS: Duration = Duration::from_secs(1);

/// Objects of one resource that are counted; beyond that the exact number helps nobody.
const COUNTED_MAX: u32 = 500;

#[derive(Default)]
struct World {
    namespaces: Mirror<Namespace>,
    certificates: Mirror<ConfigMap>,
    accounts: Mirror<ServiceAccount>,
}

#[derive(Clone)]
struct Context {
    client: Client,
    resources: Resources,
    root_ca: String,
    world: Shared<World>,
}

pub(super) fn spawn(
    tasks: &mut Tasks,
    client: Client,
    resources: Resources,
    root_ca: String,
    metrics: QueueMetrics,
) {
    let context = Context {
        client,
        resources,
        root_ca,
        world: Shared::new(World::default()),
    };
    let queue: Queue<Arc<str>> = Queue::new(Backoff::default());
    let named = |name: &str| watcher::Config::default().fields(&format!("metadata.name={name}"));
    macro_rules! watch {
        ($field:ident, $config:expr, $namespace:expr) => {{
            let (world, queue, api) = (
                context.world.clone(),
                queue.clone(),
                Api::all(context.client.clone()),
            );
            let config = $config;
            tasks.spawn(concat!("namespaces: ", stringify!($field)), async move {
                let on = move |event| {
                    let namespace: fn(&Key) -> Arc<str> = $namespace;
                    let changes = world.lock().$field.apply(event);
                    changes
                        .iter()
                        .for_each(|change| queue.add(namespace(&change.key)));
                };
                follow(api, config, on).await;
            });
        }};
    }
    watch!(namespaces, watcher::Config::default(), |key| key
        .name
        .clone());
    watch!(certificates, named(ROOT_CA), |key| key.namespace.clone());
    watch!(accounts, named(DEFAULT_ACCOUNT), |key| key
        .namespace
        .clone());
    tasks.spawn("namespaces", async move {
        let reconcile = move |name| reconcile(context.clone(), name);
        flotilla_operator::run("namespaces", queue, WORKERS, metrics, reconcile).await;
    });
}

async fn reconcile(context: Context, name: Arc<str>) -> Result<Outcome, Error> {
    let (namespace, certificate, account) = {
        let world = context.world.lock();
        let complete = world.namespaces.is_complete()
            && world.certificates.is_complete()
            && world.accounts.is_complete();
        if !complete {
            return Ok(Outcome::Again(NOT_YET));
        }
        let Some(namespace) = world.namespaces.get(&Key::new("", name.clone())) else {
            return Ok(Outcome::Wait);
        };
        let certificate = world.certificates.get(&Key::new(name.clone(), ROOT_CA));
        let account = world.accounts.get(&Key::new(name.clone(), DEFAULT_ACCOUNT));
        (namespace.clone(), certificate.cloned(), account.is_some())
    };
    if namespaces::is_terminating(&namespace) {
        return empty(&context, &namespace).await;
    }
    if !account {
        let accounts = Api::namespaced(context.client.clone(), &name);
        create(&accounts, &namespaces::default_account(&name)).await?;
    }
    if context.root_ca.is_empty() {
        return Ok(Outcome::Wait);
    }
    if let Some(wanted) = namespaces::root_ca(&name, &context.root_ca, certificate.as_deref()) {
        let certificates = Api::namespaced(context.client.clone(), &name);
        if certificate.is_some() {
            certificates
                .replace(ROOT_CA, &PostParams::default(), &wanted)
                .await?;
        } else {
            create(&certificates, &wanted).await?;
        }
    }
    Ok(Outcome::Wait)
}

/// Deletes what a namespace holds. When nothing is left the namespace is let go, else it says what it waits for.
async fn empty(context: &Context, namespace: &Namespace) -> Result<Outcome, Error> {
    let name = namespace.name_any();
    let finalizers = namespace
        .spec
        .as_ref()
        .and_then(|spec| spec.finalizers.clone())
        .unwrap_or_default();
    if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        return Ok(Outcome::Wait);
    }
    let mut remains = Remains::default();
    let resources = match context.resources.fresh().await {
        Ok(resources) => resources,
        Err(error) => {
            remains.discovery_failure = Some(error.to_string());
            context.resources.now().to_vec()
        }
    };
    let held = resources
        .iter()
        .filter(|served| served.namespaced && served.allows(verbs::LIST));
    for served in held.filter(|served| served.allows(verbs::DELETE)) {
        if let Err(error) = clear(&context.client, served, &name, &mut remains).await {
            let what = format!("{}.{}", served.api.plural, served.api.group);
            remains.content_failures.push(format!("{what}: {error}"));
        }
    }
    let all: Api<Namespace> = Api::all(context.client.clone());
    if namespaces::is_empty(&remains) {
        return finalize(&all, namespace, finalizers).await;
    }
    let before = namespace
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    let before = before.unwrap_or_default();
    let conditions = namespaces::conditions(&remains, before, now());
    if conditions != before {
        patch_status(&all, &name, json!({"status": {"conditions": conditions}})).await?;
    }
    Ok(Outcome::Again(REMAINS))
}

/// Deletes the objects of one resource and counts what is left.
async fn clear(
    client: &Client,
    served: &Served,
    namespace: &str,
    remains: &mut Remains,
) -> Result<(), Error> {
    let metadata: Api<PartialObjectMeta<DynamicObject>> = api(client, served, namespace);
    let few = ListParams::default().limit(COUNTED_MAX);
    let found = metadata.list_metadata(&few).await?;
    if found.items.is_empty() {
        return Ok(());
    }
    let objects: Api<DynamicObject> = api(client, served, namespace);
    let background = DeleteParams::background();
    if served.allows(verbs::DELETE_COLLECTION) {
        objects
            .delete_collection(&background, &ListParams::default())
            .await?;
    } else {
        for object in found.items {
            remove(&objects, &object.name_any(), &background).await?;
        }
    }
    let left = metadata.list_metadata(&few).await?;
    if left.items.is_empty() {
        return Ok(());
    }
    let what = format!("{}.{}", served.api.plural, served.api.group);
    remains.objects.insert(what, left.items.len());
    for finalizer in left.items.iter().flat_map(|object| object.finalizers()) {
        *remains.finalizers.entry(finalizer.clone()).or_default() += 1;
    }
    Ok(())
}

async fn finalize(
    all: &Api<Namespace>,
    namespace: &Namespace,
    finalizers: Vec<String>,
) -> Result<Outcome, Error> {
    let mut last = namespace.clone();
    let left = finalizers
        .into_iter()
        .filter(|finalizer| finalizer != FINALIZER)
        .collect();
    last.spec.get_or_insert_default().finalizers = Some(left);
    let done = all
        .replace_subresource(
            "finalize",
            &namespace.name_any(),
            &PostParams::default(),
            &last,
        )
        .await;
    match done {
        Ok::<Namespace, _>(_) => Ok(Outcome::Wait),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Outcome::Wait),
        Err(error) => Err(error.into()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "conditions carry the time they changed"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
