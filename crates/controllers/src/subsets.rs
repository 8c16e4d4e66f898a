//! The Endpoints object of a Service: the older form of the same facts as its slices.
//!
//! Source: Kubernetes v1.35, pkg/controller/endpoint and pkg/api/v1/endpoints.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::ResourceExt;

use crate::{
    Candidate,
    slices::{self, Family, HEADLESS, Port},
};

/// Most addresses in one Endpoints object; further ones are left out and the object says so.
pub const ADDRESSES_MAX: usize = 1000;

/// Annotation of an object that left addresses out.
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";

/// Label that tells who writes the object.
const MANAGED_BY: (&str, &str) = ("endpoints.kubernetes.io/managed-by", "endpoint-controller");

/// The Endpoints that `service` should have, given the pods its selector matches and what exists; none when that is right.
pub fn plan<'a>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Candidate>,
    existing: Option<&Endpoints>,
) -> Option<Endpoints> {
    let (subsets, left_out) = subsets(service, pods);
    let mut metadata =
        existing.map_or_else(ObjectMeta::default, |existing| existing.metadata.clone());
    metadata.name = service.metadata.name.clone();
    metadata.namespace = service.metadata.namespace.clone();
    metadata.labels = Some(labels(service));
    let mut annotations = metadata.annotations.take().unwrap_or_default();
    annotations.remove(OVER_CAPACITY);
    if left_out {
        annotations.insert(OVER_CAPACITY.into(), "truncated".into());
    }
    metadata.annotations = (!annotations.is_empty()).then_some(annotations);
    let wanted = Endpoints {
        metadata,
        subsets: (!subsets.is_empty()).then_some(subsets),
    };
    let same = existing.is_some_and(|existing| {
        existing
            .subsets
            .iter()
            .flatten()
            .eq(wanted.subsets.iter().flatten())
            && existing.labels() == wanted.labels()
            && existing.annotations() == wanted.annotations()
    });
    (!same).then_some(wanted)
}

fn labels(service: &Service) -> BTreeMap<String, String> {
    let mut labels = service.labels().clone();
    labels.remove(HEADLESS);
    let address = service
        .spec
        .as_ref()
        .and_then(|spec| spec.cluster_ip.as_deref());
    if address == Some("None") {
        labels.insert(HEADLESS.into(), String::new());
    }
    labels.insert(MANAGED_BY.0.into(), MANAGED_BY.1.into());
    labels
}

/// Ready and unready addresses.
type Addresses = (
    BTreeMap<Sorted, EndpointAddress>,
    BTreeMap<Sorted, EndpointAddress>,
);

/// By address, then by pod.
type Sorted = (String, String);

fn subsets<'a>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Candidate>,
) -> (Vec<EndpointSubset>, bool) {
    let mut by_ports: BTreeMap<BTreeSet<Port>, Addresses> = BTreeMap::new();
    let always = service
        .spec
        .as_ref()
        .and_then(|spec| spec.publish_not_ready_addresses)
        == Some(true);
    let family = family(service);
    let mut left = ADDRESSES_MAX;
    let mut left_out = false;
    for pod in pods.into_iter().filter(|pod| belongs(pod, always)) {
        let of_family = |address: &&str| Family::of(address) == family;
        let Some(address) = pod.addresses().find(of_family) else {
            continue;
        };
        if left == 0 {
            left_out = true;
            break;
        }
        left -= 1;
        let ports = slices::ports(service, pod).into_iter().collect();
        let (ready, unready) = by_ports.entry(ports).or_default();
        let side = if always || pod.is_ready {
            ready
        } else {
            unready
        };
        let place = (address.to_string(), pod.uid.to_string());
        side.insert(place, entry(service, pod, address));
    }
    let subsets = by_ports
        .into_iter()
        .filter(|(ports, _)| !ports.is_empty() || is_headless(service));
    let subsets = subsets.map(|(ports, (ready, unready))| {
        let list = |side: BTreeMap<Sorted, EndpointAddress>| {
            (!side.is_empty()).then(|| side.into_values().collect())
        };
        let ports: Vec<_> = ports.into_iter().map(port).collect();
        EndpointSubset {
            addresses: list(ready),
            not_ready_addresses: list(unready),
            ports: (!ports.is_empty()).then_some(ports),
        }
    });
    (subsets.collect(), left_out)
}

fn is_headless(service: &Service) -> bool {
    let address = service
        .spec
        .as_ref()
        .and_then(|spec| spec.cluster_ip.as_deref());
    address == Some("None")
}

/// The family of the Service's first address.
fn family(service: &Service) -> Option<Family> {
    let families = service
        .spec
        .as_ref()
        .and_then(|spec| spec.ip_families.as_ref());
    match families
        .and_then(|families| families.first())
        .map(String::as_str)
    {
        Some("IPv6") => Some(Family::IPv6),
        _ => Some(Family::IPv4),
    }
}

/// Whether a pod appears at all: one that ends does not, nor one that is done and will not be restarted.
fn belongs(pod: &Candidate, always: bool) -> bool {
    !pod.is_done && (always || !pod.is_terminating)
}

fn entry(service: &Service, pod: &Candidate, address: &str) -> EndpointAddress {
    EndpointAddress {
        hostname: slices::hostname(service, pod),
        ip: address.into(),
        node_name: pod.node.as_deref().map(str::to_owned),
        target_ref: Some(slices::reference(pod)),
    }
}

fn port(port: Port) -> EndpointPort {
    EndpointPort {
        app_protocol: port.app_protocol,
        name: (!port.name.is_empty()).then_some(port.name),
        port: port.port,
        protocol: Some(port.protocol),
    }
}

#[cfg(test)]
mod tests;
