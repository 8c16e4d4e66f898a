//! The DNSEndpoint objects a cluster writes, exactly as k8gb's.
//!
//! One per Gslb with the records of its hosts, and one per zone that asks external-dns to delegate it. Everything is
//! sorted, so that equal inputs give equal objects and nothing is written twice (k8gb writes in the order of Go maps,
//! which changes from loop to loop).
//!
//! Source: k8gb v0.21 `controllers/applicationDNSEndpoint.go`, `controllers/providers/dns/external.go`; research §2.4.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use flotilla_api::{DnsEndpointSpec, Endpoint, zone_delegation::DnsServer};
use serde_json::{Value, json};

use crate::{key::Key, names, ramp::FULL, spec::Rules, view::Family, zones::Zone};

/// Label and annotation that say what a DNSEndpoint is for.
pub const DNS_TYPE: &str = "k8gb.io/dnstype";
/// The same under the group k8gb used before 0.19; both are written and either is accepted.
pub const LEGACY_DNS_TYPE: &str = "k8gb.absa.oss/dnstype";

/// What is published for one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRecords {
    /// Addresses this cluster vouches for; empty unless the host is healthy here.
    pub local: Vec<IpAddr>,
    /// Addresses the host is answered with, by the cluster they belong to.
    pub targets: BTreeMap<String, Vec<IpAddr>>,
    /// Relative shares of the clusters while one hands over; otherwise empty.
    pub shares: BTreeMap<String, u32>,
}

/// The spec of the DNSEndpoint of a Gslb.
pub fn application(hosts: &BTreeMap<String, HostRecords>, rules: &Rules) -> DnsEndpointSpec {
    let mut endpoints = Vec::new();
    for (host, records) in hosts {
        for family in Family::BOTH {
            let names = names::local_targets(host);
            let local = of_family(&records.local, family);
            if let (Some(name), false) = (names.published(), local.is_empty()) {
                endpoints.push(endpoint(
                    name,
                    family,
                    rules.ttl_seconds,
                    &local,
                    BTreeMap::new(),
                ));
            }
        }
        for family in Family::BOTH {
            let targets = targets_of(records, family);
            if !targets.is_empty() {
                let labels = labels(records, family, rules);
                endpoints.push(endpoint(host, family, rules.ttl_seconds, &targets, labels));
            }
        }
    }
    DnsEndpointSpec { endpoints }
}

/// The addresses of one family a host is answered with, in order of tags, each once.
pub fn targets_of(records: &HostRecords, family: Family) -> Vec<IpAddr> {
    let mut seen = BTreeSet::new();
    records
        .targets
        .values()
        .flat_map(|ips| of_family(ips, family))
        .filter(|ip| seen.insert(*ip))
        .collect()
}

fn of_family(ips: &[IpAddr], family: Family) -> Vec<IpAddr> {
    ips.iter()
        .copied()
        .filter(|ip| Family::of(ip) == family)
        .collect()
}

fn endpoint(
    name: &str,
    family: Family,
    ttl_seconds: u32,
    targets: &[IpAddr],
    labels: BTreeMap<String, String>,
) -> Endpoint {
    Endpoint {
        dns_name: name.to_owned(),
        record_type: family.record_type().to_owned(),
        record_ttl: Some(i64::from(ttl_seconds)),
        targets: targets.iter().map(IpAddr::to_string).collect(),
        labels,
        ..Endpoint::default()
    }
}

/// Weights of the clusters a host is answered with: those of the spec, times the share that each takes at present. Empty
/// when nobody is preferred.
pub fn weights_of(records: &HostRecords, rules: &Rules) -> BTreeMap<String, u32> {
    if records.shares.is_empty() {
        return rules.weights.clone();
    }
    let weight = |tag: &String| {
        let whole = match rules.weights.get(tag) {
            Some(weight) => *weight,
            None if rules.weights.is_empty() => FULL,
            None => 0,
        };
        let share = records.shares.get(tag).copied().unwrap_or(FULL);
        // Who has any share keeps the smallest weight there is.
        whole.saturating_mul(share).div_ceil(FULL)
    };
    let tags = records.targets.keys();
    tags.map(|tag| (tag.clone(), weight(tag))).collect()
}

/// `strategy`, and `weight-<tag>-<i>-<weight>` for each address of each weighted cluster that answers.
fn labels(records: &HostRecords, family: Family, rules: &Rules) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([("strategy".to_owned(), rules.strategy.as_str().to_owned())]);
    for (tag, weight) in weights_of(records, rules) {
        let ips = records
            .targets
            .get(&tag)
            .map(Vec::as_slice)
            .unwrap_or_default();
        for (index, ip) in of_family(ips, family).into_iter().enumerate() {
            labels.insert(format!("weight-{tag}-{index}-{weight}"), ip.to_string());
        }
    }
    labels
}

/// One `weight-<tag>-<i>-<weight>` label, read from the right because tags may have dashes.
pub fn parse_weight_label(label: &str) -> Option<(&str, u32)> {
    let (rest, weight) = label.strip_prefix("weight-")?.rsplit_once('-')?;
    let (tag, index) = rest.rsplit_once('-')?;
    index.parse::<u32>().ok()?;
    Some((tag, weight.parse().ok()?))
}

/// The whole DNSEndpoint of a Gslb.
///
/// `owner` is the object's owner reference. Labels and annotations are the complete set: k8gb replaces them wholesale.
pub fn application_object(key: &Key, owner: Value, spec: &DnsEndpointSpec) -> Value {
    let marks = json!({ DNS_TYPE: "local", LEGACY_DNS_TYPE: "local" });
    json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "labels": marks,
            "annotations": marks,
            "ownerReferences": [owner],
        },
        "spec": spec,
    })
}

/// What the delegation of a zone needs beyond the zone itself.
#[derive(Clone, Copy, Debug)]
pub struct Delegation<'a> {
    /// Name of our own name server in the zone.
    pub own_name: &'a str,
    /// Our DNS addresses.
    pub own_addresses: &'a [IpAddr],
    /// `NS_RECORD_TTL`.
    pub ttl_seconds: u32,
    /// Namespace the controller lives in.
    pub namespace: &'a str,
}

/// The DNSEndpoint that asks external-dns to delegate a zone: NS for every server found, glue for our own.
pub fn delegation_object(zone: &Zone, servers: &[DnsServer], ours: Delegation<'_>) -> Value {
    let names: BTreeSet<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    let mut endpoints = vec![Endpoint {
        dns_name: zone.zone.clone(),
        record_type: "NS".to_owned(),
        record_ttl: Some(i64::from(ours.ttl_seconds)),
        targets: names.into_iter().map(str::to_owned).collect(),
        ..Endpoint::default()
    }];
    for family in Family::BOTH {
        let addresses = of_family(ours.own_addresses, family);
        if !addresses.is_empty() {
            endpoints.push(endpoint(
                ours.own_name,
                family,
                ours.ttl_seconds,
                &addresses,
                BTreeMap::new(),
            ));
        }
    }
    json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": {
            "name": names::delegation_object(&zone.zone),
            "namespace": ours.namespace,
            "labels": { DNS_TYPE: "extdns", LEGACY_DNS_TYPE: "extdns" },
        },
        "spec": DnsEndpointSpec { endpoints },
    })
}

/// Takes our own name server and glue out of a delegation, for a zone we are leaving but are not the last to leave.
pub fn without_own(spec: &DnsEndpointSpec, own_name: &str) -> DnsEndpointSpec {
    let mut endpoints = spec.endpoints.clone();
    endpoints.retain(|endpoint| endpoint.dns_name != own_name);
    for endpoint in endpoints
        .iter_mut()
        .filter(|endpoint| endpoint.record_type == "NS")
    {
        endpoint.targets.retain(|target| target != own_name);
    }
    DnsEndpointSpec { endpoints }
}

/// Whether the labels of a DNSEndpoint ask for it to be served, under either key.
pub fn is_local(labels: &BTreeMap<String, String>) -> bool {
    [DNS_TYPE, LEGACY_DNS_TYPE]
        .iter()
        .any(|key| labels.get(*key).is_some_and(|v| v == "local"))
}

#[cfg(test)]
mod tests;
