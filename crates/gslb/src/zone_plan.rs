//! What to do about a ZoneDelegation, and where our own DNS server is reached.
//!
//! Source: k8gb v0.21 `controllers/zonedelegation_controller.go`; research §3.6 and §3.7.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use flotilla_api::zone_delegation::DnsServer;
use flotilla_dns::{
    name::Name,
    zone::{NameServer, Settings},
};
use serde_json::{Value, json};

use crate::{
    config::{Config, Provider, ServiceType, ZoneSetting},
    endpoints::{self, Delegation},
    expose::{Address, Lookup},
    kinds::Kind,
    names,
    problem::{self, Problem},
    refs::Via,
    world::{IngressView, World},
    zones::{self, Step, Zone},
};

/// Label of Ingresses whose addresses are our DNS server's.
const IP_SOURCE: &str = "k8gb.io/ip-source";

/// What to do about a zone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Our own name server in the zone; empty when its name cannot be built.
    pub own_name: String,
    /// Name servers for the status, sorted.
    pub servers: Vec<DnsServer>,
    /// Names whose addresses the plan reads.
    pub lookups: BTreeSet<String>,
    /// Whether our finalizer belongs on the object.
    pub finalizer: bool,
    /// The DNSEndpoint for external-dns, if that is our provider and the zone stays; `Null` asks for its removal.
    pub delegation: Option<Value>,
    /// Whether our NS record and glue are to stand in the parent zone by dynamic update or over an API; absent when somebody else does that.
    pub update: Option<bool>,
    /// Whether the zone is served.
    pub served: bool,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// Decides what to do about a zone.
pub fn plan(
    zone: &Zone,
    cfg: &Config,
    own_addresses: &[IpAddr],
    lookups: &BTreeMap<String, Lookup>,
    delegation: Option<&flotilla_api::DnsEndpointSpec>,
) -> Plan {
    let mut plan = Plan::default();
    let own_name = match names::name_server(&cfg.prefix, &cfg.geo_tag, &zone.zone, &zone.parent) {
        Ok(name) => name,
        Err(error) => {
            let field = "spec.loadBalancedZone";
            plan.problems.push(Problem::new(
                problem::Kind::InvalidSpec,
                field,
                error.to_string(),
            ));
            plan.finalizer = zone.has_finalizer && !zone.deleting;
            return plan;
        }
    };
    servers(zone, cfg, &own_name, own_addresses, lookups, &mut plan);
    let step = step(zone, cfg, &own_name, lookups);
    plan.finalizer = !zone.deleting || step == Step::Withdraw;
    plan.served = plan.finalizer;
    // Leaving servers stay out of the delegation while the others still answer.
    let stays = !zone.deleting;
    if cfg.provider == Provider::ExternalDns {
        plan.delegation = match (stays, step) {
            (true, _) if plan.servers.is_empty() => None,
            (true, _) => Some(endpoints::delegation_object(
                zone,
                &plan.servers,
                Delegation {
                    own_name: &own_name,
                    own_addresses,
                    ttl_seconds: cfg.ns_ttl_seconds,
                    namespace: &cfg.namespace,
                },
            )),
            (false, Step::Release) => None,
            (false, Step::Withdraw) => delegation.map(|spec| {
                let mut object = endpoints::delegation_object(
                    zone,
                    &[],
                    Delegation {
                        own_name: &own_name,
                        own_addresses: &[],
                        ttl_seconds: cfg.ns_ttl_seconds,
                        namespace: &cfg.namespace,
                    },
                );
                object["spec"] = json!(endpoints::without_own(spec, &own_name));
                object
            }),
            (false, Step::Remove) => Some(Value::Null),
        };
    }
    if cfg.keeps_delegation() && !(zone.deleting && step == Step::Release) {
        plan.update = Some(stays);
    }
    plan.own_name = own_name;
    plan
}

/// The next step of a deletion. With dynamic updates every cluster removes only what is its own, so it may go as soon
/// as the parent zone does not know its name server any more.
fn step(zone: &Zone, cfg: &Config, own_name: &str, lookups: &BTreeMap<String, Lookup>) -> Step {
    if !cfg.keeps_delegation() || !zone.do_finalize {
        return zones::finalize(zone.do_finalize, &zone.servers, own_name);
    }
    match lookups.get(own_name) {
        Some(Lookup::Addresses(found)) if found.is_empty() => Step::Release,
        _ => Step::Withdraw,
    }
}

/// Our own server, and those of the other clusters as the parent zone knows them.
fn servers(
    zone: &Zone,
    cfg: &Config,
    own_name: &str,
    own_addresses: &[IpAddr],
    lookups: &BTreeMap<String, Lookup>,
    plan: &mut Plan,
) {
    let mut servers = BTreeSet::new();
    let entry = |name: &str, ip: &IpAddr| DnsServer {
        name: name.to_owned(),
        address: ip.to_string(),
    };
    servers.extend(own_addresses.iter().map(|ip| entry(own_name, ip)));
    if own_addresses.is_empty() {
        let message = "our DNS server has no address yet; other clusters cannot ask us";
        plan.problems.push(Problem::new(
            problem::Kind::NoAddress,
            "status.dnsServers",
            message,
        ));
    }
    if cfg.keeps_delegation() {
        plan.lookups.insert(own_name.to_owned());
    }
    for tag in &cfg.external_tags {
        let Ok(name) = names::name_server(&cfg.prefix, tag, &zone.zone, &zone.parent) else {
            continue;
        };
        match lookups.get(&name) {
            Some(Lookup::Addresses(found)) => {
                servers.extend(found.iter().map(|ip| entry(&name, ip)))
            }
            // A failed look-up says nothing about the server; what was found before stays.
            Some(Lookup::Failed(_)) | None => {
                servers.extend(
                    zone.servers
                        .iter()
                        .filter(|known| known.name == name)
                        .cloned(),
                );
            }
        }
        plan.lookups.insert(name);
    }
    plan.servers = servers.into_iter().collect();
}

/// Settings of the zone for our DNS server. The name servers are the ones the parent zone delegates to, so that
/// resolvers which trust the child's NS set do not lose their way.
pub fn settings(zone: &Zone, servers: &[DnsServer], serial: u32) -> Option<Settings> {
    let apex = Name::parse(&zone.zone).ok()?;
    let mut by_name: BTreeMap<&str, Vec<IpAddr>> = BTreeMap::new();
    for server in servers {
        by_name
            .entry(&server.name)
            .or_default()
            .extend(server.address.parse::<IpAddr>());
    }
    let nameservers = by_name
        .into_iter()
        .filter_map(|(name, addresses)| {
            Some(NameServer {
                name: Name::parse(name).ok()?,
                addresses,
            })
        })
        .collect();
    Settings::k8gb(apex, serial, zone.neg_ttl_seconds, nameservers).ok()
}

/// Addresses under which other clusters reach our DNS server, and the host names among them.
///
/// What the process knows itself comes first, then `CLUSTER_EXPOSED_IPS`, then the Service in front of the server,
/// then the first Ingress with the label `k8gb.io/ip-source=true`.
pub fn own_dns(
    world: &World,
    cfg: &Config,
    lookups: &BTreeMap<String, Lookup>,
) -> (Vec<IpAddr>, BTreeSet<String>) {
    if !cfg.own_dns.is_empty() {
        return (cfg.own_dns.clone(), BTreeSet::new());
    }
    if !cfg.cluster_exposed_ips.is_empty() {
        return (cfg.cluster_exposed_ips.clone(), BTreeSet::new());
    }
    let addresses = match cfg.service_type {
        ServiceType::LoadBalancer => dns_service(world, cfg),
        _ => ip_source(world),
    };
    let mut ips = BTreeSet::new();
    let mut hostnames = BTreeSet::new();
    for address in addresses {
        match address {
            Address::Ip(ip) => {
                ips.insert(ip);
            }
            Address::Hostname(host) => {
                if let Some(Lookup::Addresses(found)) = lookups.get(&host) {
                    ips.extend(found);
                }
                hostnames.insert(host);
            }
        }
    }
    (ips.into_iter().collect(), hostnames)
}

/// Exactly one Service labelled as the DNS server's; a host name in its status is preferred over an address.
fn dns_service(world: &World, cfg: &Config) -> Vec<Address> {
    let label = |labels: &BTreeMap<String, String>, key: &str| labels.get(key).cloned();
    let mut found = world.services.iter().filter(|(key, service)| {
        key.namespace == cfg.namespace
            && label(&service.labels, "app.kubernetes.io/name").as_deref() == Some("coredns")
            && label(&service.labels, "app.kubernetes.io/component").as_deref() != Some("metrics")
    });
    let (Some((_, service)), None) = (found.next(), found.next()) else {
        return Vec::new();
    };
    if service.kind.is_empty() || service.kind == "ClusterIP" {
        return service.cluster_ips.clone();
    }
    let hostnames: Vec<Address> = service
        .load_balancer
        .iter()
        .filter(|address| matches!(address, Address::Hostname(_)))
        .cloned()
        .collect();
    if hostnames.is_empty() {
        service.load_balancer.clone()
    } else {
        hostnames
    }
}

/// Whether an Ingress says where our DNS server is reached.
pub fn is_dns_source(ingress: &IngressView) -> bool {
    ingress
        .labels
        .get(IP_SOURCE)
        .is_some_and(|value| value == "true")
}

fn ip_source(world: &World) -> Vec<Address> {
    let labelled = world
        .ingresses
        .iter()
        .find(|(_, ingress)| is_dns_source(ingress));
    let referent = labelled.and_then(|(key, _)| world.referents.get(&(Kind::Ingress, key.clone())));
    match referent.map(|referent| &referent.via) {
        Some(Via::Status(addresses)) => addresses
            .iter()
            .filter(|a| matches!(a, Address::Ip(_)))
            .cloned()
            .collect(),
        _ => Vec::new(),
    }
}

/// The ZoneDelegation a `DNS_ZONES` entry asks for, unless one of that name says so already.
///
/// Only the three fields of the setting are ours; `doFinalize` belongs to the user.
pub fn generated(setting: &ZoneSetting, existing: Option<&Zone>) -> Option<Value> {
    let same = existing.is_some_and(|zone| {
        zone.zone == setting.zone
            && zone.parent == setting.parent
            && zone.neg_ttl_seconds == setting.neg_ttl_seconds
    });
    (!same).then(|| {
        json!({
            "apiVersion": "k8gb.io/v1beta1",
            "kind": "ZoneDelegation",
            "metadata": { "name": names::zone_object(&setting.zone) },
            "spec": {
                "loadBalancedZone": setting.zone,
                "parentZone": setting.parent,
                "dnsZoneNegTTL": setting.neg_ttl_seconds,
            },
        })
    })
}

#[cfg(test)]
mod tests;
