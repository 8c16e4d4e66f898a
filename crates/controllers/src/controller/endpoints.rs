//! Keeps EndpointSlices and Endpoints of Services true.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use flotilla_machinery::texts::Texts;
use flotilla_operator::{Backoff, Outcome, Queue, QueueMetrics, Tasks};
use k8s_openapi::api::{
    core::v1::{Endpoints, Node, Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, PartialObjectMeta, PostParams},
    runtime::watcher::{self, Event},
};

use super::{Error, Shared, create, follow, remove};
use crate::{
    Candidate, Change, Key, Mirror, Mirrored,
    slices::{
        self, CONTROLLER, Groups, MANAGED_BY, MIRRORING_CONTROLLER, Owner, Plan, SERVICE_NAME,
    },
    subsets,
};

const WORKERS: usize = 4;
const ZONE: &str = "topology.kubernetes.io/zone";

/// A reconcile that comes before the first lists are complete waits this long.
const NOT_YET: Duration = Duration::from_millis(50);

/// All that decides about endpoints.
#[derive(Default)]
struct World {
    services: Mirror<Service>,
    pods: Mirror<Candidate>,
    slices: Mirror<EndpointSlice>,
    endpoints: Mirror<Endpoints>,
    nodes: Mirror<PartialObjectMeta<Node>>,
    texts: Texts,
    /// Names of pods by namespace, label and value: a Service finds its pods without looking at others.
    pods_by_label: HashMap<Label, BTreeSet<Arc<str>>>,
}

/// Namespace, key and value.
type Label = (Arc<str>, Arc<str>, Arc<str>);

pub(super) fn spawn(tasks: &mut Tasks, client: Client, metrics: QueueMetrics) {
    let world = Shared::new(World::default());
    let queue = Queue::new(Backoff::default());
    macro_rules! watch {
        ($field:ident, $touched:expr) => {
            watch!($field, $touched, |event, _| event)
        };
        ($field:ident, $touched:expr, $kept:expr) => {{
            let kept: fn(Event<_>, &mut Texts) -> Event<_> = $kept;
            let (world, queue, api) = (world.clone(), queue.clone(), Api::all(client.clone()));
            tasks.spawn(concat!("endpoints: ", stringify!($field)), async move {
                let on = move |event| {
                    let mut world = world.lock();
                    let world = &mut *world;
                    for change in world.$field.apply(kept(event, &mut world.texts)) {
                        let touched: fn(&mut World, &Change<_>) -> BTreeSet<Key> = $touched;
                        touched(world, &change)
                            .into_iter()
                            .for_each(|key| queue.add(key));
                    }
                };
                follow(api, watcher::Config::default(), on).await;
            });
        }};
    }
    watch!(services, |_, change| BTreeSet::from([change.key.clone()]));
    watch!(pods, World::pod_changed, candidates);
    watch!(slices, |_, change| owner_of(change).into_iter().collect());
    watch!(endpoints, |_, change| BTreeSet::from([change.key.clone()]));
    watch!(nodes, |_, _| BTreeSet::new());
    let worker = queue.clone();
    tasks.spawn("endpoints", async move {
        let reconcile = move |key| reconcile(client.clone(), world.clone(), key);
        flotilla_operator::run("endpoints", worker, WORKERS, metrics, reconcile).await;
    });
}

/// Events of pods as the world keeps them: a pod that waits or is over is as good as none.
fn candidates(event: Event<Pod>, texts: &mut Texts) -> Event<Candidate> {
    let mut candidate = |pod: Pod| Candidate::new(&pod, texts);
    let apply = |pod: Candidate, apply: fn(Candidate) -> Event<Candidate>| match pod.counts() {
        true => apply(pod),
        false => Event::Delete(pod),
    };
    match event {
        Event::Apply(pod) => apply(candidate(pod), Event::Apply),
        Event::Delete(pod) => Event::Delete(candidate(pod)),
        Event::Init => Event::Init,
        Event::InitApply(pod) => apply(candidate(pod), Event::InitApply),
        Event::InitDone => Event::InitDone,
    }
}

/// The Service of a slice that one of our controllers wrote.
fn owner_of(change: &Change<EndpointSlice>) -> Option<Key> {
    let slice = change.latest()?;
    let writer = slice.labels().get(MANAGED_BY)?;
    let ours = writer == CONTROLLER || writer == MIRRORING_CONTROLLER;
    let service = slice.labels().get(SERVICE_NAME).filter(|_| ours)?;
    Some(Key::new(change.key.namespace.clone(), service.as_str()))
}

/// Decisions for one Service.
struct Decision {
    slices: Plan,
    endpoints: Option<Endpoints>,
    /// Whether the Endpoints of a Service that is gone are to be removed.
    remove_endpoints: bool,
}

async fn reconcile(client: Client, world: Shared<World>, key: Key) -> Result<Outcome, Error> {
    let decision = {
        let world = world.lock();
        if !world.is_complete() {
            return Ok(Outcome::Again(NOT_YET));
        }
        world.decide(&key)
    };
    let endpoints: Api<Endpoints> = Api::namespaced(client.clone(), &key.namespace);
    if let Some(wanted) = decision.endpoints {
        let written = match &wanted.metadata.resource_version {
            Some(_) => Some(
                endpoints
                    .replace(&key.name, &PostParams::default(), &wanted)
                    .await?,
            ),
            None => create(&endpoints, &wanted).await?,
        };
        world.lock().endpoints.apply_written(written);
    }
    if decision.remove_endpoints {
        remove(&endpoints, &key.name, &DeleteParams::default()).await?;
    }
    let slices: Api<EndpointSlice> = Api::namespaced(client, &key.namespace);
    for slice in decision.slices.create {
        let written = create(&slices, &slice).await?;
        world.lock().slices.apply_written(written);
    }
    for slice in decision.slices.update {
        let written = slices
            .replace(&slice.name_any(), &PostParams::default(), &slice)
            .await?;
        world.lock().slices.apply_written(Some(written));
    }
    for name in decision.slices.delete {
        remove(&slices, &name, &DeleteParams::default()).await?;
    }
    Ok(Outcome::Wait)
}

impl World {
    fn is_complete(&self) -> bool {
        self.services.is_complete()
            && self.pods.is_complete()
            && self.slices.is_complete()
            && self.endpoints.is_complete()
            && self.nodes.is_complete()
    }

    /// Keeps the index of labels and names the Services that select the pod, before or after.
    fn pod_changed(&mut self, change: &Change<Candidate>) -> BTreeSet<Key> {
        let namespace = &change.key.namespace;
        let place =
            |key: &Arc<str>, value: &Arc<str>| (namespace.clone(), key.clone(), value.clone());
        for (key, value) in change.old.iter().flat_map(|pod| pod.labels()) {
            if let Some(pods) = self.pods_by_label.get_mut(&place(key, value)) {
                pods.remove(&change.key.name);
                if pods.is_empty() {
                    self.pods_by_label.remove(&place(key, value));
                }
            }
        }
        for (key, value) in change.new.iter().flat_map(|pod| pod.labels()) {
            let pods = self.pods_by_label.entry(place(key, value)).or_default();
            pods.insert(change.key.name.clone());
        }
        let versions: Vec<_> = change.old.iter().chain(&change.new).collect();
        let selecting = self
            .services
            .in_namespace(namespace)
            .filter(|service| versions.iter().any(|pod| slices::selects(service, pod)));
        selecting.map(|service| Key::of(&**service)).collect()
    }

    /// The pods that a Service selects; only those with its rarest label are looked at.
    fn selected(&self, service: &Service, namespace: &str) -> Vec<Arc<Candidate>> {
        let selector = service
            .spec
            .as_ref()
            .and_then(|spec| spec.selector.as_ref());
        let candidates = selector.into_iter().flatten().map(|(key, value)| {
            let place = (namespace.into(), key.as_str().into(), value.as_str().into());
            self.pods_by_label.get(&place)
        });
        let Some(Some(rarest)) = candidates.min_by_key(|pods| pods.map_or(0, BTreeSet::len)) else {
            return Vec::new();
        };
        let pods = rarest
            .iter()
            .filter_map(|name| self.pods.get(&Key::new(namespace, name.clone())));
        pods.filter(|pod| slices::selects(service, pod))
            .cloned()
            .collect()
    }

    fn decide(&self, key: &Key) -> Decision {
        let existing = self.endpoints.get(key).map(|found| &**found);
        let ours = existing.is_some_and(|found| {
            found
                .labels()
                .contains_key("endpoints.kubernetes.io/managed-by")
        });
        let service = self.services.get(key);
        let mut decision = Decision {
            slices: Plan::default(),
            endpoints: None,
            remove_endpoints: service.is_none() && ours,
        };
        // Slices of a Service that is gone are collected with their owner.
        let Some(service) = service else {
            return decision;
        };
        if slices::is_managed(service) {
            let pods = self.selected(service, &key.namespace);
            let zone = |node: &str| {
                self.nodes
                    .get(&Key::new("", node))?
                    .labels()
                    .get(ZONE)
                    .cloned()
            };
            let groups = slices::endpoints(service, pods.iter().map(|pod| &**pod), zone);
            decision.endpoints = subsets::plan(service, pods.iter().map(|pod| &**pod), existing);
            decision.slices = self.plan(key, &groups, &owner(service, None));
        }
        let mirrored = existing.filter(|found| !ours && slices::is_mirrored(found, Some(service)));
        let groups = mirrored.map(slices::mirrored).unwrap_or_default();
        let plan = self.plan(key, &groups, &owner(service, existing));
        decision.slices.create.extend(plan.create);
        decision.slices.update.extend(plan.update);
        decision.slices.delete.extend(plan.delete);
        decision
    }

    fn plan(&self, key: &Key, groups: &Groups, owner: &Owner) -> Plan {
        let existing = self.slices.in_namespace(&key.namespace).filter(|slice| {
            let label = |name: &str| slice.labels().get(name).map(String::as_str);
            label(SERVICE_NAME) == Some(&key.name) && label(MANAGED_BY) == Some(owner.managed_by)
        });
        let existing: Vec<_> = existing.map(|slice| EndpointSlice::clone(slice)).collect();
        slices::pack(groups, &existing, owner)
    }
}

/// Who owns the slices: the Service, or the Endpoints that are mirrored.
fn owner(service: &Service, mirrored: Option<&Endpoints>) -> Owner {
    let metadata = mirrored.map_or(&service.metadata, |endpoints| &endpoints.metadata);
    let kind = if mirrored.is_some() {
        "Endpoints"
    } else {
        "Service"
    };
    let address = service
        .spec
        .as_ref()
        .and_then(|spec| spec.cluster_ip.as_deref());
    let labels: BTreeMap<_, _> = metadata.labels.clone().unwrap_or_default();
    Owner {
        namespace: service.namespace().unwrap_or_default(),
        service: service.name_any(),
        reference: slices::controller_reference(
            kind,
            metadata.name.clone().unwrap_or_default(),
            metadata.uid.clone().unwrap_or_default(),
        ),
        labels,
        headless: address == Some("None"),
        managed_by: if mirrored.is_some() {
            MIRRORING_CONTROLLER
        } else {
            CONTROLLER
        },
    }
}

impl<K: Mirrored> Mirror<K> {
    /// Knows at once what a write of ours led to, so that the next look does not write it again.
    fn apply_written(&mut self, written: Option<K>) {
        if let Some(object) = written {
            self.apply(Event::Apply(object));
        }
    }
}
