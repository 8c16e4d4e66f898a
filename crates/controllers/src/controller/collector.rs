//! Garbage collection: feeds the graph from a watch on every resource and carries out what it says.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use flotilla_machinery::texts::Texts;
use flotilla_operator::{Backoff, Outcome, Queue, QueueMetrics, Tasks};
use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client, ResourceExt,
    api::{
        DeleteParams, DynamicObject, PartialObjectMeta, Patch, PatchParams, Preconditions,
        PropagationPolicy,
    },
    runtime::{
        events::{Event as PublishedEvent, EventType, Recorder, Reporter},
        watcher::{self, Event},
    },
};
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    Error, Shared, follow, remove,
    resources::{Resources, Served, api},
};
use crate::{
    Key,
    graph::{Action, Answer, Graph, OwnerRef, Place, Propagation, Seen, Uid},
};

const WORKERS: usize = 8;

/// A reconcile that comes before the first lists are complete waits this long.
const NOT_YET: Duration = Duration::from_millis(50);

/// A resource whose first list takes longer than this no longer holds up the others.
const LIST_PATIENCE: Duration = Duration::from_secs(30);

/// Most owners of one object that are looked up in one go.
const VERIFY_MAX: usize = 16;

type Metadata = PartialObjectMeta<DynamicObject>;

#[derive(Default)]
struct World {
    graph: Graph,
    texts: Texts,
    /// By `apiVersion` and plural.
    watched: BTreeMap<(String, String), Known>,
}

/// The objects of one resource by their place, to notice what vanished while a watch started over.
#[derive(Default)]
struct Known {
    uids: HashMap<Key, Uid>,
    unseen: Option<BTreeSet<Key>>,
    complete: bool,
}

pub(super) fn spawn(
    tasks: &mut Tasks,
    client: Client,
    resources: Resources,
    metrics: QueueMetrics,
) {
    let world = Shared::new(World::default());
    let queue = Queue::new(Backoff::default());
    tasks.spawn(
        "collector: watches",
        watch_all(
            client.clone(),
            resources.clone(),
            world.clone(),
            queue.clone(),
        ),
    );
    tasks.spawn("collector", async move {
        let reconcile = move |uid| reconcile(client.clone(), resources.clone(), world.clone(), uid);
        flotilla_operator::run("collector", queue, WORKERS, metrics, reconcile).await;
    });
}

/// Watches every collected resource, and begins and ends watches as resources come and go.
async fn watch_all(client: Client, resources: Resources, world: Shared<World>, queue: Queue<Uid>) {
    let mut known = resources.subscribe();
    let mut running = JoinSet::new();
    let mut watches = HashMap::new();
    loop {
        let served: Vec<_> = known
            .borrow_and_update()
            .iter()
            .filter(|served| served.is_collected())
            .cloned()
            .collect();
        let wanted: BTreeSet<_> = served.iter().map(place_of).collect();
        watches.retain(|place, handle: &mut tokio::task::AbortHandle| {
            let stays = wanted.contains(place);
            if !stays {
                handle.abort();
                world.lock().drop_resource(place);
            }
            stays
        });
        for served in served {
            watches.entry(place_of(&served)).or_insert_with(|| {
                world
                    .lock()
                    .watched
                    .insert(place_of(&served), Known::default());
                running.spawn(watch(
                    client.clone(),
                    served,
                    resources.clone(),
                    world.clone(),
                    queue.clone(),
                ))
            });
        }
        while running.try_join_next().is_some() {}
        if known.changed().await.is_err() {
            return;
        }
    }
}

async fn watch(
    client: Client,
    served: Served,
    resources: Resources,
    world: Shared<World>,
    queue: Queue<Uid>,
) {
    let place = place_of(&served);
    let is_definitions = served.api.kind == "CustomResourceDefinition";
    let late = {
        let (world, place) = (world.clone(), place.clone());
        async move {
            tokio::time::sleep(LIST_PATIENCE).await;
            if let Some(known) = world
                .lock()
                .watched
                .get_mut(&place)
                .filter(|known| !known.complete)
            {
                tracing::warn!(
                    resource = place.1,
                    "A resource cannot be listed, garbage collection goes on without it"
                );
                known.complete = true;
            }
            std::future::pending::<()>().await;
        }
    };
    let objects = api::<Metadata>(&client, &served, "");
    let on = move |event| {
        if is_definitions && !matches!(event, Event::Init | Event::InitApply(_)) {
            resources.refresh();
        }
        let look = world.lock().take(&place, &served, event);
        look.into_iter().for_each(|uid| queue.add(uid));
    };
    let following = follow(objects, watcher::Config::default(), on);
    tokio::select! {
        () = following => {}
        () = late => {}
    }
}

fn place_of(served: &Served) -> (String, String) {
    (served.api.api_version.clone(), served.api.plural.clone())
}

async fn reconcile(
    client: Client,
    resources: Resources,
    world: Shared<World>,
    uid: Uid,
) -> Result<Outcome, Error> {
    for _ in 0..VERIFY_MAX {
        let (place, action) = {
            let world = world.lock();
            if !world.is_complete() {
                return Ok(Outcome::Again(NOT_YET));
            }
            let Some(place) = world.graph.place(&uid) else {
                return Ok(Outcome::Wait);
            };
            (place.clone(), world.graph.decide(&uid))
        };
        let Action::Verify { owner, namespace } = action else {
            act(&client, &resources, &world, &uid, &place, action).await?;
            return Ok(Outcome::Wait);
        };
        let answer = verify(&client, &resources, &owner, &namespace).await?;
        if answer == Answer::Unresolvable {
            complain(&client, &uid, &place, &owner).await;
        }
        world.lock().graph.owner_is(&owner, &namespace, answer);
    }
    Ok(Outcome::Again(NOT_YET))
}

/// Tells people that an owner reference can never be followed. An event that cannot be written is not worth a retry.
async fn complain(client: &Client, uid: &Uid, place: &Place, owner: &OwnerRef) {
    let reporter = Reporter {
        controller: "garbage-collector-controller".into(),
        instance: None,
    };
    let object = ObjectReference {
        api_version: Some(place.api_version.to_string()),
        kind: Some(place.kind.to_string()),
        name: Some(place.name.to_string()),
        uid: Some(uid.to_string()),
        ..ObjectReference::default()
    };
    let event = PublishedEvent {
        type_: EventType::Warning,
        reason: "OwnerRefInvalidNamespace".into(),
        note: Some(format!(
            "ownerRef [{}/{}, name: {}, uid: {}] names a namespaced kind, which a cluster-scoped object cannot be owned by",
            owner.api_version, owner.kind, owner.name, owner.uid
        )),
        action: "GarbageCollect".into(),
        secondary: None,
    };
    if let Err(error) = Recorder::new(client.clone(), reporter)
        .publish(&event, &object)
        .await
    {
        tracing::debug!(%error, object = &*place.name, "An event could not be written");
    }
}

/// Asks the server whether an owner exists.
async fn verify(
    client: &Client,
    resources: &Resources,
    owner: &OwnerRef,
    namespace: &str,
) -> Result<Answer, Error> {
    let served = served(resources, &owner.api_version, &owner.kind)?;
    if served.namespaced && namespace.is_empty() {
        return Ok(Answer::Unresolvable);
    }
    let found = api::<Metadata>(client, &served, namespace)
        .get_metadata_opt(&owner.name)
        .await?;
    let present = found.is_some_and(|found| found.uid().as_deref() == Some(&owner.uid));
    Ok(if present {
        Answer::Present
    } else {
        Answer::Absent
    })
}

async fn act(
    client: &Client,
    resources: &Resources,
    world: &Shared<World>,
    uid: &Uid,
    place: &Place,
    action: Action,
) -> Result<(), Error> {
    match action {
        Action::Keep | Action::Verify { .. } => Ok(()),
        Action::Delete(how) => {
            let served = served(resources, &place.api_version, &place.kind)?;
            let objects = api::<DynamicObject>(client, &served, &place.namespace);
            tracing::debug!(
                object = &*place.name,
                namespace = &*place.namespace,
                kind = &*place.kind,
                "Collected"
            );
            remove(&objects, &place.name, &delete_params(how, uid)).await
        }
        Action::Release(owners) => release(client, resources, place, uid, &owners).await,
        Action::Finish(finalizer) => {
            edit(client, resources, place, uid, |metadata| {
                let finalizers = metadata.finalizers.clone().unwrap_or_default();
                let left: Vec<_> = finalizers
                    .iter()
                    .filter(|found| *found != finalizer)
                    .collect();
                (left.len() < finalizers.len()).then(|| json!({"finalizers": left}))
            })
            .await
        }
        Action::OrphanDependents(dependents) => {
            for dependent in dependents {
                let place = world.lock().graph.place(&dependent).cloned();
                if let Some(place) = place {
                    release(
                        client,
                        resources,
                        &place,
                        &dependent,
                        std::slice::from_ref(uid),
                    )
                    .await?;
                }
            }
            Ok(())
        }
    }
}

/// Removes references to `owners` from an object.
async fn release(
    client: &Client,
    resources: &Resources,
    place: &Place,
    uid: &str,
    owners: &[Uid],
) -> Result<(), Error> {
    edit(client, resources, place, uid, |metadata| {
        let references = metadata.owner_references.clone().unwrap_or_default();
        let left: Vec<_> = references
            .iter()
            .filter(|reference| !owners.iter().any(|owner| **owner == *reference.uid))
            .collect();
        (left.len() < references.len()).then(|| json!({"ownerReferences": left}))
    })
    .await
}

/// Changes the metadata of an object as it is now; a change meanwhile is a conflict, which is tried again.
async fn edit(
    client: &Client,
    resources: &Resources,
    place: &Place,
    uid: &str,
    change: impl Fn(&ObjectMeta) -> Option<serde_json::Value>,
) -> Result<(), Error> {
    let served = served(resources, &place.api_version, &place.kind)?;
    let objects: Api<Metadata> = api(client, &served, &place.namespace);
    let found = objects.get_metadata_opt(&place.name).await?;
    let Some(found) = found.filter(|found| found.uid().as_deref() == Some(uid)) else {
        return Ok(());
    };
    let Some(mut metadata) = change(&found.metadata) else {
        return Ok(());
    };
    metadata["uid"] = uid.into();
    metadata["resourceVersion"] = json!(found.metadata.resource_version);
    let patch = json!({"metadata": metadata});
    let patched = objects
        .patch_metadata(&place.name, &PatchParams::default(), &Patch::Merge(patch))
        .await;
    match patched {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn delete_params(how: Propagation, uid: &str) -> DeleteParams {
    let propagation_policy = match how {
        Propagation::Background => PropagationPolicy::Background,
        Propagation::Foreground => PropagationPolicy::Foreground,
        Propagation::Orphan => PropagationPolicy::Orphan,
    };
    DeleteParams {
        propagation_policy: Some(propagation_policy),
        preconditions: Some(Preconditions {
            uid: Some(uid.into()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    }
}

fn served(resources: &Resources, api_version: &str, kind: &str) -> Result<Served, Error> {
    resources
        .of_kind(api_version, kind)
        .ok_or_else(|| Error::UnknownKind {
            api_version: api_version.into(),
            kind: kind.into(),
        })
}

impl World {
    fn is_complete(&self) -> bool {
        !self.watched.is_empty() && self.watched.values().all(|known| known.complete)
    }

    /// Takes an event of the watch of one resource and returns the objects to look at.
    fn take(
        &mut self,
        place: &(String, String),
        served: &Served,
        event: Event<Metadata>,
    ) -> BTreeSet<Uid> {
        let Some(known) = self.watched.get_mut(place) else {
            return BTreeSet::new();
        };
        let mut gone = Vec::new();
        let mut seen = None;
        match event {
            Event::Init => known.unseen = Some(known.uids.keys().cloned().collect()),
            Event::InitDone => {
                known.complete = true;
                let keys = known.unseen.take().unwrap_or_default();
                gone.extend(keys.iter().filter_map(|key| known.uids.remove(key)));
            }
            Event::Delete(object) => gone.extend(known.uids.remove(&Key::of(&object))),
            Event::Apply(object) | Event::InitApply(object) => {
                let metadata = &object.metadata;
                let namespace = metadata.namespace.as_deref().unwrap_or_default();
                let key = Key::new(self.texts.share(namespace), object.name_any());
                let uid = Uid::from(object.uid().unwrap_or_default());
                if let Some(unseen) = &mut known.unseen {
                    unseen.remove(&key);
                }
                let before = known.uids.insert(key.clone(), uid.clone());
                gone.extend(before.filter(|before| *before != uid));
                seen = Some((uid, see(served, key, metadata, &mut self.texts)));
            }
        }
        let mut look = BTreeSet::new();
        for uid in gone {
            look.extend(self.graph.observe(&uid, None));
        }
        if let Some((uid, seen)) = seen {
            look.extend(self.graph.observe(&uid, Some(seen)));
        }
        look
    }

    fn drop_resource(&mut self, place: &(String, String)) {
        let known = self.watched.remove(place).unwrap_or_default();
        known
            .uids
            .values()
            .for_each(|uid| self.graph.lose_sight(uid));
    }
}

fn see(served: &Served, key: Key, metadata: &ObjectMeta, texts: &mut Texts) -> Seen {
    let owners = metadata
        .owner_references
        .iter()
        .flatten()
        .map(|owner| OwnerRef {
            uid: texts.share(&owner.uid),
            api_version: texts.share(&owner.api_version),
            kind: texts.share(&owner.kind),
            name: texts.share(&owner.name),
            blocks: owner.block_owner_deletion == Some(true),
        })
        .collect();
    Seen {
        place: Place {
            api_version: texts.share(&served.api.api_version),
            kind: texts.share(&served.api.kind),
            namespace: key.namespace,
            name: key.name,
        },
        owners,
        deleting: metadata.deletion_timestamp.is_some(),
        finalizers: metadata.finalizers.clone().unwrap_or_default(),
    }
}
