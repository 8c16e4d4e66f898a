//! What the cluster's objects say, reduced to what decisions need.
//!
//! One writer feeds watch events in; each object is projected once, on arrival, to a few fields. A second index maps
//! every object to the Gslbs whose decision read it, so that an event costs work for the Gslbs it concerns and none
//! for the others. Reads of something absent are recorded as well: creating it later concerns the reader.

mod project;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use flotilla_api::{DnsEndpointSpec, gslb::NamespacedName};
use serde_json::Value;

use crate::{
    expose::Address, health::Backend, key::Key, kinds::Kind, packed::Packed, problem::Problem,
    refs::Referent, zones::Zone,
};

pub use self::project::GslbView;
pub(crate) use self::project::{FINALIZER, key};

/// A Gslb of either group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GslbId {
    /// Whether it belongs to the legacy group.
    pub legacy: bool,
    /// Namespace and name.
    pub key: Key,
}

/// Something a decision read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dep {
    /// One object.
    Object(Kind, Key),
    /// Every object of a kind in a namespace; an empty namespace means all.
    All(Kind, String),
    /// The zone of this name, which is there or might come.
    Zone(String),
    /// The addresses of a host name.
    Lookup(String),
}

/// A Service, as far as it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceView {
    /// Labels, for references and the search for our DNS Service.
    pub labels: BTreeMap<String, String>,
    /// `spec.type`.
    pub kind: String,
    /// `spec.clusterIPs`.
    pub cluster_ips: Vec<Address>,
    /// `status.loadBalancer`.
    pub load_balancer: Vec<Address>,
}

/// A Gateway's addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewayView {
    /// Its addresses.
    pub addresses: Vec<Address>,
    /// Those that cannot be understood.
    pub problems: Vec<Problem>,
    /// Why it serves nobody at present, if it says so.
    pub down: Option<String>,
}

/// What an Ingress says beyond its [`Referent`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IngressView {
    /// Annotations that create a Gslb, and those handed on to it.
    pub annotations: BTreeMap<String, String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Whole spec, to compare with the one embedded in a Gslb.
    pub spec: Packed<Value>,
    /// Unique identifier.
    pub uid: String,
    /// UIDs of its owners.
    pub owners: BTreeSet<String>,
    /// Whether a Gslb is among the owners.
    pub owned_by_gslb: bool,
}

/// A DNSEndpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndpointView {
    /// Its records.
    pub spec: Packed<DnsEndpointSpec>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// UIDs of its owners.
    pub owners: BTreeSet<String>,
    /// Whether a Gslb is among the owners.
    pub owned_by_gslb: bool,
}

/// A change to one kind of objects.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object is there, new or different.
    Put(Value),
    /// The object is gone.
    Gone(Key),
    /// These are all objects of the kind.
    Listed(Vec<Value>),
    /// The cluster does not know the kind.
    Absent,
}

/// What changed in the world by one [`Change`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Gslbs to resolve and to decide again.
    pub gslbs: BTreeSet<GslbId>,
    /// Gslbs to decide again, because a Service they read became ready or ceased to be.
    pub health: BTreeSet<GslbId>,
    /// Objects that came, went or changed.
    pub objects: BTreeSet<(Kind, Key)>,
}

/// The projected objects of a cluster.
#[derive(Debug, Default)]
pub struct World {
    synced: BTreeSet<Kind>,
    listed: BTreeSet<Kind>,
    present: BTreeMap<Kind, BTreeSet<Key>>,
    /// Gslbs of both groups.
    pub gslbs: BTreeMap<GslbId, Arc<GslbView>>,
    /// Zones by the name of their object.
    pub zones: BTreeMap<String, Zone>,
    /// Objects a Gslb may refer to.
    pub referents: BTreeMap<(Kind, Key), Referent>,
    /// Ingresses.
    pub ingresses: BTreeMap<Key, IngressView>,
    /// Services.
    pub services: BTreeMap<Key, ServiceView>,
    /// Gateway API Gateways.
    pub gateways: BTreeMap<Key, GatewayView>,
    /// Selectors of Istio Gateways.
    pub istio_gateways: BTreeMap<Key, BTreeMap<String, String>>,
    /// DNSEndpoints.
    pub endpoints: BTreeMap<Key, EndpointView>,
    /// Objects that could not be read, with the reason.
    pub unreadable: BTreeMap<(Kind, Key), String>,
    /// Service and readiness of each EndpointSlice.
    slices: BTreeMap<Key, (Key, bool)>,
    /// How many ready slices each Service has.
    n_ready: BTreeMap<Key, usize>,
    readers: BTreeMap<Dep, BTreeSet<GslbId>>,
    reads: BTreeMap<GslbId, BTreeSet<Dep>>,
}

impl World {
    /// Whether every kind has been listed or found absent, so that absence means absence.
    pub fn is_synced(&self) -> bool {
        Kind::ALL.iter().all(|kind| self.synced.contains(kind))
    }

    /// Whether the cluster knows the kind and its objects have been listed.
    pub fn is_listed(&self, kind: Kind) -> bool {
        self.listed.contains(&kind)
    }

    /// Takes in a change.
    pub fn apply(&mut self, kind: Kind, change: Change) -> Touched {
        let mut touched = Touched::default();
        match change {
            Change::Put(object) => self.put(kind, &object, &mut touched),
            Change::Gone(key) => self.remove(kind, &key, &mut touched),
            Change::Listed(objects) => {
                self.synced.insert(kind);
                self.listed.insert(kind);
                let mut gone = self.present.get(&kind).cloned().unwrap_or_default();
                for object in &objects {
                    gone.remove(&project::key(object));
                    self.put(kind, object, &mut touched);
                }
                for key in gone {
                    self.remove(kind, &key, &mut touched);
                }
            }
            Change::Absent => {
                self.synced.insert(kind);
                self.listed.remove(&kind);
                for key in self.present.remove(&kind).unwrap_or_default() {
                    self.remove(kind, &key, &mut touched);
                }
            }
        }
        touched
    }

    /// Notes what the decision about a Gslb read.
    pub fn set_reads(&mut self, id: &GslbId, deps: BTreeSet<Dep>) {
        let old = self.reads.get(id).cloned().unwrap_or_default();
        for dep in old.difference(&deps) {
            if let Some(readers) = self.readers.get_mut(dep) {
                readers.remove(id);
                if readers.is_empty() {
                    self.readers.remove(dep);
                }
            }
        }
        for dep in deps.difference(&old) {
            self.readers
                .entry(dep.clone())
                .or_default()
                .insert(id.clone());
        }
        if deps.is_empty() {
            self.reads.remove(id);
        } else {
            self.reads.insert(id.clone(), deps);
        }
    }

    /// One Gslb.
    pub fn gslb(&self, id: &GslbId) -> Option<&GslbView> {
        self.gslbs.get(id).map(Arc::as_ref)
    }

    /// The Gslbs whose decision read this.
    pub fn readers(&self, dep: &Dep) -> impl Iterator<Item = &GslbId> {
        self.readers.get(dep).into_iter().flatten()
    }

    /// State of one Service behind a host.
    pub fn backend(&self, service: &NamespacedName) -> Backend {
        let key = Key::new(&service.namespace, &service.name);
        match (self.services.contains_key(&key), self.n_ready.get(&key)) {
            (false, _) => Backend::Missing,
            (true, Some(_)) => Backend::Ready,
            (true, None) => Backend::NotReady,
        }
    }

    fn put(&mut self, kind: Kind, object: &Value, touched: &mut Touched) {
        let key = project::key(object);
        self.present.entry(kind).or_default().insert(key.clone());
        if self.store(kind, &key, object, touched) {
            self.touch(kind, &key, touched);
        }
    }

    fn remove(&mut self, kind: Kind, key: &Key, touched: &mut Touched) {
        if let Some(present) = self.present.get_mut(&kind) {
            present.remove(key);
        }
        self.unreadable.remove(&(kind, key.clone()));
        match kind {
            Kind::Gslb | Kind::LegacyGslb => {
                self.gslbs.remove(&gslb_id(kind, key));
            }
            Kind::ZoneDelegation => {
                let gone = self.zones.remove(&key.name);
                self.touch_zone(gone.as_ref(), touched);
            }
            Kind::DnsEndpoint => {
                self.endpoints.remove(key);
            }
            Kind::Service => {
                self.services.remove(key);
                self.referents.remove(&(kind, key.clone()));
            }
            Kind::EndpointSlice => self.set_slice(key, None, touched),
            Kind::Gateway => {
                self.gateways.remove(key);
            }
            Kind::IstioGateway => {
                self.istio_gateways.remove(key);
            }
            Kind::Ingress => {
                self.ingresses.remove(key);
                self.referents.remove(&(kind, key.clone()));
            }
            _ => {
                self.referents.remove(&(kind, key.clone()));
            }
        }
        self.touch(kind, key, touched);
    }

    fn touch(&self, kind: Kind, key: &Key, touched: &mut Touched) {
        touched.objects.insert((kind, key.clone()));
        match kind {
            Kind::Gslb | Kind::LegacyGslb => {
                touched.gslbs.insert(gslb_id(kind, key));
            }
            // Zones concern whoever has hosts below them; `touch_zone` touches those.
            Kind::ZoneDelegation => {}
            // Slices concern whoever reads their Service; `set_slice` touches those.
            Kind::EndpointSlice => {}
            _ => {
                for dep in [
                    Dep::Object(kind, key.clone()),
                    Dep::All(kind, key.namespace.clone()),
                    Dep::All(kind, String::new()),
                ] {
                    touched.gslbs.extend(self.readers(&dep).cloned());
                }
            }
        }
    }

    fn touch_zone(&self, zone: Option<&Zone>, touched: &mut Touched) {
        if let Some(zone) = zone {
            let zone = Dep::Zone(zone.zone.clone());
            touched.gslbs.extend(self.readers(&zone).cloned());
        }
    }

    fn touch_health(&self, service: Key, touched: &mut Touched) {
        let service = Dep::Object(Kind::Service, service);
        touched.health.extend(self.readers(&service).cloned());
    }

    /// Counts the slice for its Service; touches the readers when the Service's readiness flips.
    fn set_slice(&mut self, slice: &Key, state: Option<(Key, bool)>, touched: &mut Touched) {
        let old = match &state {
            Some(state) => self.slices.insert(slice.clone(), state.clone()),
            None => self.slices.remove(slice),
        };
        if old == state {
            return;
        }
        let ready = |state: Option<(Key, bool)>| state.filter(|(_, ready)| *ready).map(|(s, _)| s);
        let (before, after) = (ready(old), ready(state));
        if before == after {
            return;
        }
        if let Some(service) = after {
            let n = self.n_ready.entry(service.clone()).or_default();
            *n += 1;
            if *n == 1 {
                self.touch_health(service, touched);
            }
        }
        if let Some(service) = before
            && let Some(n) = self.n_ready.get_mut(&service)
        {
            *n -= 1;
            if *n == 0 {
                self.n_ready.remove(&service);
                self.touch_health(service, touched);
            }
        }
    }
}

fn gslb_id(kind: Kind, key: &Key) -> GslbId {
    GslbId {
        legacy: kind == Kind::LegacyGslb,
        key: key.clone(),
    }
}

#[cfg(test)]
mod tests;
