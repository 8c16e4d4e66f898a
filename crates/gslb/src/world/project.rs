//! From an object's JSON to what the world keeps of it.

use std::{collections::BTreeMap, sync::Arc};

use flotilla_api::{
    DnsEndpointSpec, GslbSpec, GslbStatus, ZoneDelegationSpec, ZoneDelegationStatus,
};
use serde::Deserialize;
use serde_json::Value;

use super::{EndpointView, GatewayView, IngressView, ServiceView, Touched, World, gslb_id};
use crate::{
    expose::Address,
    health::{self, EndpointView as Endpoint},
    key::Key,
    kinds::Kind,
    migrate, names,
    packed::Packed,
    refs::{self, load_balancer, string_map},
    status,
    zones::Zone,
};

/// Label that ties an EndpointSlice to its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Finalizer of ZoneDelegations.
pub(crate) const FINALIZER: &str = "k8gb.io/finalizer";

/// A Gslb, as far as it matters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GslbView {
    /// What is asked for.
    pub spec: GslbSpec,
    /// What was written last.
    pub status: Option<GslbStatus>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Unique identifier.
    pub uid: String,
    /// Generation of the spec.
    pub generation: i64,
    /// Creation time as text; orders like time.
    pub created: String,
    /// Whether deletion has been asked for.
    pub deleting: bool,
    /// Whether the finalizer of the migration is on it.
    pub protected: bool,
}

impl GslbView {
    /// Whether both are the same, leaving the status aside.
    pub(crate) fn is_same_but_status(&self, other: &GslbView) -> bool {
        let GslbView {
            spec,
            status: _,
            annotations,
            labels,
            uid,
            generation,
            created,
            deleting,
            protected,
        } = self;
        *spec == other.spec
            && *annotations == other.annotations
            && *labels == other.labels
            && *uid == other.uid
            && *generation == other.generation
            && *created == other.created
            && *deleting == other.deleting
            && *protected == other.protected
    }
}

impl World {
    /// Projects an object; tells whether the projection differs from the one before.
    pub(super) fn store(
        &mut self,
        kind: Kind,
        key: &Key,
        object: &Value,
        touched: &mut Touched,
    ) -> bool {
        let at = (kind, key.clone());
        match kind {
            Kind::Gslb | Kind::LegacyGslb => match gslb(object) {
                Ok(view) => {
                    let readable = self.unreadable.remove(&at).is_none();
                    let view = Arc::new(view);
                    let old = self.gslbs.insert(gslb_id(kind, key), view.clone());
                    old != Some(view) || !readable
                }
                Err(error) => {
                    self.gslbs.remove(&gslb_id(kind, key));
                    self.unreadable.insert(at, error.clone()) != Some(error)
                }
            },
            Kind::ZoneDelegation => match zone(object) {
                Ok(zone) => {
                    self.unreadable.remove(&at);
                    let old = self.zones.insert(key.name.clone(), zone.clone());
                    let is_other = old.as_ref() != Some(&zone);
                    if old.as_ref().is_none_or(|old| !zone.is_decided_as(old)) {
                        self.touch_zone(old.as_ref(), touched);
                        self.touch_zone(Some(&zone), touched);
                    }
                    is_other
                }
                Err(error) => {
                    let gone = self.zones.remove(&key.name);
                    self.touch_zone(gone.as_ref(), touched);
                    self.unreadable.insert(at, error.clone()) != Some(error)
                }
            },
            Kind::DnsEndpoint => {
                let view = endpoint(object);
                self.endpoints.insert(key.clone(), view.clone()) != Some(view)
            }
            Kind::Service => {
                let view = service(object);
                let referent = refs::referent(kind, object);
                let same = self.referents.insert(at, referent.clone()) == Some(referent);
                self.services.insert(key.clone(), view.clone()) != Some(view) || !same
            }
            Kind::EndpointSlice => {
                let service = text(&object["metadata"]["labels"][SERVICE_NAME]);
                let state = (Key::new(&key.namespace, service), slice_is_ready(object));
                self.set_slice(key, Some(state), touched);
                false
            }
            Kind::Gateway => {
                let (addresses, problems) = refs::gateway_addresses(object);
                let view = GatewayView {
                    addresses,
                    problems,
                    down: refs::gateway_down(object),
                };
                self.gateways.insert(key.clone(), view.clone()) != Some(view)
            }
            Kind::IstioGateway => {
                let selector = refs::gateway_selector(object);
                self.istio_gateways.insert(key.clone(), selector.clone()) != Some(selector)
            }
            Kind::Ingress => {
                let view = ingress(object);
                let referent = refs::referent(kind, object);
                let same = self.referents.insert(at, referent.clone()) == Some(referent);
                self.ingresses.insert(key.clone(), view.clone()) != Some(view) || !same
            }
            _ => {
                let referent = refs::referent(kind, object);
                self.referents.insert(at, referent.clone()) != Some(referent)
            }
        }
    }
}

/// Namespace and name of an object.
pub(crate) fn key(object: &Value) -> Key {
    let metadata = &object["metadata"];
    Key::new(text(&metadata["namespace"]), text(&metadata["name"]))
}

fn gslb(object: &Value) -> Result<GslbView, String> {
    let metadata = &object["metadata"];
    let spec = GslbSpec::deserialize(&object["spec"]).map_err(|error| error.to_string())?;
    // A status somebody else wrote in another shape is replaced, not obeyed.
    let status = GslbStatus::deserialize(&object["status"]).ok();
    Ok(GslbView {
        spec,
        status: status.filter(|_| object["status"].is_object()),
        annotations: string_map(&metadata["annotations"]),
        labels: string_map(&metadata["labels"]),
        uid: text(&metadata["uid"]).to_owned(),
        generation: metadata["generation"].as_i64().unwrap_or_default(),
        created: text(&metadata["creationTimestamp"]).to_owned(),
        deleting: metadata["deletionTimestamp"].is_string(),
        protected: finalizers(metadata).any(|f| f == migrate::PROTECTION),
    })
}

fn finalizers(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["finalizers"].as_array().into_iter().flatten()
}

fn zone(object: &Value) -> Result<Zone, String> {
    let metadata = &object["metadata"];
    let spec =
        ZoneDelegationSpec::deserialize(&object["spec"]).map_err(|error| error.to_string())?;
    let status = ZoneDelegationStatus::deserialize(&object["status"]).unwrap_or_default();
    let canonical = |name: &str| names::canonical(name).map_err(|error| error.to_string());
    Ok(Zone {
        object: text(&metadata["name"]).to_owned(),
        zone: canonical(&spec.load_balanced_zone)?,
        parent: canonical(&spec.parent_zone)?,
        neg_ttl_seconds: u32::try_from(spec.neg_ttl_seconds)
            .map_err(|_| format!("dnsZoneNegTTL {} is no TTL", spec.neg_ttl_seconds))?,
        deleting: metadata["deletionTimestamp"].is_string(),
        do_finalize: spec.do_finalize,
        has_finalizer: finalizers(metadata).any(|f| f == FINALIZER),
        pushed: status::pushed_tags(&status.conditions),
        servers: status.dns_servers,
    })
}

fn endpoint(object: &Value) -> EndpointView {
    let metadata = &object["metadata"];
    let owners: Vec<&Value> = metadata["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    EndpointView {
        // Records of a shape we cannot read are records we do not serve.
        spec: Packed::of(&DnsEndpointSpec::deserialize(&object["spec"]).unwrap_or_default()),
        labels: string_map(&metadata["labels"]),
        annotations: string_map(&metadata["annotations"]),
        owned_by_gslb: owners.iter().any(|owner| owner["kind"] == "Gslb"),
        owners: owners
            .into_iter()
            .map(|owner| text(&owner["uid"]).to_owned())
            .collect(),
    }
}

fn service(object: &Value) -> ServiceView {
    let ips = object["spec"]["clusterIPs"]
        .as_array()
        .into_iter()
        .flatten();
    ServiceView {
        labels: string_map(&object["metadata"]["labels"]),
        kind: text(&object["spec"]["type"]).to_owned(),
        cluster_ips: ips
            .filter_map(|ip| text(ip).parse().ok().map(Address::Ip))
            .collect(),
        load_balancer: load_balancer(&object["status"]),
    }
}

fn ingress(object: &Value) -> IngressView {
    let metadata = &object["metadata"];
    let owners = || metadata["ownerReferences"].as_array().into_iter().flatten();
    let mut annotations = string_map(&metadata["annotations"]);
    annotations.retain(|key, _| key.starts_with("k8gb.io/"));
    IngressView {
        annotations,
        labels: string_map(&metadata["labels"]),
        spec: Packed::of(&object["spec"]),
        uid: text(&metadata["uid"]).to_owned(),
        owned_by_gslb: owners().any(|owner| owner["kind"] == "Gslb"),
        owners: owners()
            .map(|owner| text(&owner["uid"]).to_owned())
            .collect(),
    }
}

fn slice_is_ready(object: &Value) -> bool {
    let endpoints: Vec<Endpoint> = object["endpoints"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|endpoint| Endpoint {
            n_addresses: endpoint["addresses"].as_array().map_or(0, Vec::len),
            ready: endpoint["conditions"]["ready"].as_bool(),
        })
        .collect();
    health::slice_is_ready(&endpoints)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
