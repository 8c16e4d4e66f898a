//! Which EndpointSlices a Service should have.
//!
//! Every ready, unready or terminating pod that the selector matches becomes an endpoint, grouped by address family and by
//! the ports it really has (named ports may differ between pods). [`pack`] then fits the groups into slices of at most
//! [`ENDPOINTS_MAX`] endpoints with as few writes as it can. Hand-written Endpoints of Services without selector become
//! slices the same way ([`mirrored`]).
//!
//! Source: Kubernetes v1.35, staging/src/k8s.io/endpointslice and pkg/controller/endpointslicemirroring.

mod pack;

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        core::v1::{Endpoints, ObjectReference, Service, ServicePort},
        discovery::v1::{Endpoint, EndpointConditions, EndpointPort},
    },
    apimachinery::pkg::{apis::meta::v1::OwnerReference, util::intstr::IntOrString},
};
use kube::ResourceExt;

pub use self::pack::{Owner, Plan, pack};
use crate::Candidate;

/// Most endpoints in one slice.
pub const ENDPOINTS_MAX: usize = 100;

/// Most endpoints of one subset that are mirrored.
const MIRRORED_MAX: usize = 1000;

/// Label that names the Service of a slice.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Label that names who writes a slice.
pub const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// Who writes slices of Services with a selector.
pub const CONTROLLER: &str = "endpointslice-controller.k8s.io";
/// Who writes slices that mirror Endpoints.
pub const MIRRORING_CONTROLLER: &str = "endpointslicemirroring-controller.k8s.io";
/// Label of slices and Endpoints of headless Services.
pub const HEADLESS: &str = "service.kubernetes.io/headless";
/// Label that keeps Endpoints from being mirrored.
pub const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";

/// What all endpoints of a slice have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// `IPv4` or `IPv6`.
    pub family: Family,
    /// The ports, sorted.
    pub ports: Vec<Port>,
}

/// Address family of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Four bytes.
    IPv4,
    /// Sixteen bytes.
    IPv6,
}

/// One port of a slice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// Name as in the Service, empty for the only one.
    pub name: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// The number on the pod.
    pub port: i32,
    /// What is spoken there, if known.
    pub app_protocol: Option<String>,
}

/// Endpoints by what they have in common.
pub type Groups = BTreeMap<Group, Vec<Endpoint>>;

/// Whether the controller writes slices for this Service: it selects pods and is not only a name for something else.
pub fn is_managed(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    let selects = spec
        .and_then(|spec| spec.selector.as_ref())
        .is_some_and(|selector| !selector.is_empty());
    selects && spec.and_then(|spec| spec.type_.as_deref()) != Some("ExternalName")
}

/// Whether the selector of the Service matches the labels of a pod.
pub fn selects(service: &Service, pod: &Candidate) -> bool {
    let selector = service
        .spec
        .as_ref()
        .and_then(|spec| spec.selector.as_ref());
    selector.is_some_and(|selector| {
        !selector.is_empty()
            && selector
                .iter()
                .all(|(key, value)| pod.label(key) == Some(value))
    })
}

/// The endpoints of `service` among `pods`, which must be those its selector matches. `zone` tells the zone of a node.
pub fn endpoints<'a>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Candidate>,
    zone: impl Fn(&str) -> Option<String>,
) -> Groups {
    let mut groups = Groups::new();
    let families = families(service);
    for family in &families {
        // A Service without endpoints has one empty slice for each family, so that clients see that it was looked at.
        groups
            .entry(Group {
                family: *family,
                ports: Vec::new(),
            })
            .or_default();
    }
    for pod in pods.into_iter().filter(|pod| !pod.is_finished) {
        let ports = ports(service, pod);
        for family in &families {
            let of_family = |address: &&str| Family::of(address) == Some(*family);
            let Some(address) = pod.addresses().find(of_family) else {
                continue;
            };
            let group = Group {
                family: *family,
                ports: ports.clone(),
            };
            let endpoint = endpoint(service, pod, address, &zone);
            groups.entry(group).or_default().push(endpoint);
        }
    }
    tidy(&mut groups);
    groups
}

/// The endpoints that hand-written Endpoints describe.
pub fn mirrored(endpoints: &Endpoints) -> Groups {
    let mut groups = Groups::new();
    for subset in endpoints.subsets.iter().flatten() {
        let ports = subset.ports.iter().flatten().map(|port| Port {
            name: port.name.clone().unwrap_or_default(),
            protocol: port.protocol.clone().unwrap_or_else(|| "TCP".into()),
            port: port.port,
            app_protocol: port.app_protocol.clone(),
        });
        let mut ports: Vec<_> = ports.collect();
        ports.sort();
        let ready = subset
            .addresses
            .iter()
            .flatten()
            .map(|address| (address, true));
        let unready = subset
            .not_ready_addresses
            .iter()
            .flatten()
            .map(|address| (address, false));
        for (address, ready) in ready.chain(unready).take(MIRRORED_MAX) {
            let Some(family) = Family::of(&address.ip) else {
                continue;
            };
            groups
                .entry(Group {
                    family,
                    ports: ports.clone(),
                })
                .or_default()
                .push(Endpoint {
                    addresses: vec![address.ip.clone()],
                    conditions: Some(EndpointConditions {
                        ready: Some(ready),
                        ..EndpointConditions::default()
                    }),
                    hostname: address.hostname.clone(),
                    node_name: address.node_name.clone(),
                    target_ref: address.target_ref.clone(),
                    ..Endpoint::default()
                });
        }
    }
    tidy(&mut groups);
    groups
}

/// Whether Endpoints are to be mirrored: not those that the controller wrote, that ask not to be, or that elect leaders.
pub fn is_mirrored(endpoints: &Endpoints, service: Option<&Service>) -> bool {
    let labels = endpoints.labels();
    let leader = endpoints
        .annotations()
        .contains_key("control-plane.alpha.kubernetes.io/leader");
    let skipped = labels.get(SKIP_MIRROR).is_some_and(|skip| skip == "true");
    let unselected = service.is_some_and(|service| {
        let selector = service
            .spec
            .as_ref()
            .and_then(|spec| spec.selector.as_ref());
        selector.is_none_or(BTreeMap::is_empty)
    });
    !leader && !skipped && unselected
}

/// The ports of a Service on one pod. A named port that the pod does not have is left out.
pub fn ports(service: &Service, pod: &Candidate) -> Vec<Port> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref());
    let ports = ports.into_iter().flatten().filter_map(|port| {
        Some(Port {
            name: port.name.clone().unwrap_or_default(),
            protocol: protocol(port).into(),
            port: target(port, pod)?,
            app_protocol: port.app_protocol.clone(),
        })
    });
    let mut ports: Vec<_> = ports.collect();
    ports.sort();
    ports
}

impl Family {
    /// The family of an address; none if it is no address.
    pub fn of(address: &str) -> Option<Self> {
        match address.parse().ok()? {
            std::net::IpAddr::V4(_) => Some(Self::IPv4),
            std::net::IpAddr::V6(_) => Some(Self::IPv6),
        }
    }

    /// As `addressType` spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IPv4 => "IPv4",
            Self::IPv6 => "IPv6",
        }
    }
}

impl Port {
    fn to_api(&self) -> EndpointPort {
        EndpointPort {
            app_protocol: self.app_protocol.clone(),
            name: Some(self.name.clone()),
            port: Some(self.port),
            protocol: Some(self.protocol.clone()),
        }
    }

    fn from_api(port: &EndpointPort) -> Self {
        Self {
            name: port.name.clone().unwrap_or_default(),
            protocol: port.protocol.clone().unwrap_or_else(|| "TCP".into()),
            port: port.port.unwrap_or_default(),
            app_protocol: port.app_protocol.clone(),
        }
    }
}

fn families(service: &Service) -> Vec<Family> {
    let named = service
        .spec
        .as_ref()
        .and_then(|spec| spec.ip_families.as_ref());
    let named = named
        .into_iter()
        .flatten()
        .filter_map(|family| match family.as_str() {
            "IPv4" => Some(Family::IPv4),
            "IPv6" => Some(Family::IPv6),
            _ => None,
        });
    let families: Vec<_> = named.collect();
    if families.is_empty() {
        vec![Family::IPv4]
    } else {
        families
    }
}

fn endpoint(
    service: &Service,
    pod: &Candidate,
    address: &str,
    zone: &impl Fn(&str) -> Option<String>,
) -> Endpoint {
    let (serving, terminating) = (pod.is_ready, pod.is_terminating);
    let always = service
        .spec
        .as_ref()
        .and_then(|spec| spec.publish_not_ready_addresses)
        == Some(true);
    Endpoint {
        addresses: vec![address.into()],
        conditions: Some(EndpointConditions {
            ready: Some(always || (serving && !terminating)),
            serving: Some(serving),
            terminating: Some(terminating),
        }),
        hostname: hostname(service, pod),
        zone: pod.node.as_deref().and_then(zone),
        node_name: pod.node.as_deref().map(str::to_owned),
        target_ref: Some(reference(pod)),
        ..Endpoint::default()
    }
}

/// The name of a pod below that of the Service, if it asks for one there.
pub fn hostname(service: &Service, pod: &Candidate) -> Option<String> {
    let (hostname, subdomain) = pod.dns_name.as_ref()?;
    (Some(&**subdomain) == service.metadata.name.as_deref()).then(|| hostname.to_string())
}

/// How Endpoints and slices name a pod.
pub fn reference(pod: &Candidate) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".into()),
        namespace: Some(pod.key.namespace.to_string()),
        name: Some(pod.key.name.to_string()),
        uid: Some(pod.uid.to_string()),
        ..ObjectReference::default()
    }
}

/// The owner reference of something a Service or Endpoints object controls.
pub fn controller_reference(kind: &str, name: String, uid: String) -> OwnerReference {
    OwnerReference {
        api_version: "v1".into(),
        block_owner_deletion: Some(true),
        controller: Some(true),
        kind: kind.into(),
        name,
        uid,
    }
}

fn protocol(port: &ServicePort) -> &str {
    port.protocol.as_deref().unwrap_or("TCP")
}

/// The number of a Service's port on a pod: given, or looked up by name among the ports of its containers.
fn target(port: &ServicePort, pod: &Candidate) -> Option<i32> {
    let name = match &port.target_port {
        None => return Some(port.port),
        Some(IntOrString::Int(0)) => return Some(port.port),
        Some(IntOrString::Int(number)) => return Some(*number),
        Some(IntOrString::String(name)) => name,
    };
    pod.port(name, protocol(port))
}

/// Sorts endpoints and leaves out an empty group beside a filled one of the same family.
fn tidy(groups: &mut Groups) {
    let filled: Vec<_> = groups
        .iter()
        .filter(|(_, endpoints)| !endpoints.is_empty())
        .map(|(group, _)| group.family)
        .collect();
    groups.retain(|group, endpoints| !endpoints.is_empty() || !filled.contains(&group.family));
    for endpoints in groups.values_mut() {
        endpoints.sort_by(|a, b| {
            a.addresses
                .cmp(&b.addresses)
                .then_with(|| uid(a).cmp(&uid(b)))
        });
        endpoints.dedup_by(|a, b| a.addresses == b.addresses && a.target_ref == b.target_ref);
    }
}

fn uid(endpoint: &Endpoint) -> Option<&str> {
    endpoint.target_ref.as_ref()?.uid.as_deref()
}

#[cfg(test)]
mod tests;
