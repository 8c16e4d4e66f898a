//! Under which addresses clients reach this cluster.
//!
//! Four sources, the first that says anything wins: the annotation `k8gb.io/exposed-hostnames`, the annotation
//! `k8gb.io/exposed-ip-addresses`, `CLUSTER_EXPOSED_IPS`, and the status of the referenced object. Host names are
//! looked up by the shell and handed in; one that fails leaves the others standing (in k8gb it fails the whole Gslb),
//! and one that lies in a zone we balance is refused, because it would ask us about ourselves.
//!
//! Source: k8gb v0.21 `controllers/ipresolver`; research §3.4.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use crate::{
    names,
    problem::{Kind, Problem},
};

/// Annotation with host names that stand for our addresses.
pub const EXPOSED_HOSTNAMES: &str = "k8gb.io/exposed-hostnames";
/// Annotation with our addresses.
pub const EXPOSED_IP_ADDRESSES: &str = "k8gb.io/exposed-ip-addresses";
/// Elements read from an annotation; what follows is a problem.
const ELEMENTS_MAX: usize = 64;

/// One entry of a load balancer status.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// An address.
    Ip(IpAddr),
    /// A host name that stands for addresses.
    Hostname(String),
}

/// What a look-up of a host name gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// These addresses, perhaps none.
    Addresses(Vec<IpAddr>),
    /// Nothing, for this reason.
    Failed(String),
}

/// Where the addresses came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The annotation with host names.
    Hostnames,
    /// The annotation with addresses.
    Addresses,
    /// The setting for the whole cluster.
    Cluster,
    /// The status of the referenced object.
    Resource,
}

/// Everything the decision needs.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Annotations of the Gslb.
    pub annotations: &'a BTreeMap<String, String>,
    /// `CLUSTER_EXPOSED_IPS`.
    pub cluster: &'a [IpAddr],
    /// Status of the referenced object.
    pub resource: &'a [Address],
    /// Where the status stands, for messages: `status.loadBalancer of Ingress test/app`.
    pub resource_field: &'a str,
    /// Look-ups made so far; a name that is not here is being looked up.
    pub lookups: &'a BTreeMap<String, Lookup>,
    /// Zones we balance, canonical.
    pub zones: &'a [&'a str],
}

/// The addresses of this cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// Sorted, each once.
    pub addresses: Vec<IpAddr>,
    /// Where they came from.
    pub source: Source,
    /// Names whose look-up the addresses depend on.
    pub hostnames: BTreeSet<String>,
    /// Every name that stands for addresses, refused ones included: a zone at it or above it decides about it.
    pub named: BTreeSet<String>,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// Decides under which addresses clients reach this cluster.
pub fn exposed(inputs: Inputs<'_>) -> Exposed {
    let Inputs {
        annotations,
        cluster,
        resource,
        ..
    } = inputs;
    let listed = |key| {
        annotations
            .get(key)
            .map(|text| elements(text))
            .unwrap_or_default()
    };
    let hostnames = listed(EXPOSED_HOSTNAMES);
    let addresses = listed(EXPOSED_IP_ADDRESSES);
    let field = |key: &str| format!("metadata.annotations[{key}]");
    if !hostnames.is_empty() {
        let entries = hostnames
            .into_iter()
            .map(|h| Address::Hostname(h.to_owned()))
            .collect();
        gather(
            inputs,
            Source::Hostnames,
            &field(EXPOSED_HOSTNAMES),
            entries,
            Vec::new(),
        )
    } else if !addresses.is_empty() {
        let (entries, problems) = parse_addresses(&addresses, &field(EXPOSED_IP_ADDRESSES));
        gather(
            inputs,
            Source::Addresses,
            &field(EXPOSED_IP_ADDRESSES),
            entries,
            problems,
        )
    } else if !cluster.is_empty() {
        let entries = cluster.iter().copied().map(Address::Ip).collect();
        gather(
            inputs,
            Source::Cluster,
            "CLUSTER_EXPOSED_IPS",
            entries,
            Vec::new(),
        )
    } else {
        gather(
            inputs,
            Source::Resource,
            inputs.resource_field,
            resource.to_vec(),
            Vec::new(),
        )
    }
}

fn elements(text: &str) -> Vec<&str> {
    text.split(',')
        .map(str::trim)
        .filter(|e| !e.is_empty())
        .take(ELEMENTS_MAX)
        .collect()
}

fn parse_addresses(texts: &[&str], field: &str) -> (Vec<Address>, Vec<Problem>) {
    let mut entries = Vec::new();
    let mut problems = Vec::new();
    for text in texts {
        match text.parse() {
            Ok(ip) => entries.push(Address::Ip(ip)),
            Err(_) => {
                let message = format!("{text:?} is not an IP address; the other entries are used");
                problems.push(Problem::new(Kind::InvalidSpec, field, message));
            }
        }
    }
    (entries, problems)
}

fn gather(
    inputs: Inputs<'_>,
    source: Source,
    field: &str,
    entries: Vec<Address>,
    mut problems: Vec<Problem>,
) -> Exposed {
    let mut addresses = BTreeSet::new();
    let mut hostnames = BTreeSet::new();
    let mut named = BTreeSet::new();
    let mut waiting = false;
    for entry in entries {
        let host = match entry {
            Address::Ip(ip) => {
                addresses.insert(ip);
                continue;
            }
            Address::Hostname(host) => host,
        };
        let host = match names::canonical(&host) {
            Ok(host) => host,
            Err(error) => {
                problems.push(Problem::new(Kind::Unresolved, field, error.to_string()));
                continue;
            }
        };
        named.insert(host.clone());
        if let Some(zone) = inputs.zones.iter().find(|zone| is_within(&host, zone)) {
            let message =
                format!("{host} lies in the balanced zone {zone} and would point to itself");
            problems.push(Problem::new(Kind::Unresolved, field, message));
            continue;
        }
        match inputs.lookups.get(&host) {
            None => waiting = true,
            Some(Lookup::Addresses(found)) if found.is_empty() => {
                let message = format!("{host} has no address");
                problems.push(Problem::new(Kind::Unresolved, field, message));
            }
            Some(Lookup::Addresses(found)) => addresses.extend(found),
            Some(Lookup::Failed(why)) => {
                let message = format!("{host} does not resolve: {why}");
                problems.push(Problem::new(Kind::Unresolved, field, message));
            }
        }
        hostnames.insert(host);
    }
    addresses.retain(|ip| !ip.is_unspecified());
    if addresses.is_empty() && !waiting {
        let message = "no address to publish yet; this cluster is left out until one appears";
        problems.push(Problem::new(Kind::NoAddress, field, message));
    }
    Exposed {
        addresses: addresses.into_iter().collect(),
        source,
        hostnames,
        named,
        problems,
    }
}

fn is_within(host: &str, zone: &str) -> bool {
    host == zone
        || host
            .strip_suffix(zone)
            .is_some_and(|own| own.ends_with('.'))
}

#[cfg(test)]
mod tests;
