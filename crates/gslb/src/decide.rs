//! What one cluster answers for the hosts of one Gslb, and why.
//!
//! [`resolve`] finds the hosts, backends and addresses of a Gslb in the world; [`decide`] adds health, the peers' view and
//! the strategy. Both are total: whatever is wrong becomes a [`Problem`] in the outcome, and what does not depend on it
//! is decided all the same.
//!
//! When the referenced object is gone, the hosts last written into the status stay balanced, but this cluster has no
//! backend for them any more: its peers serve, and it does not vouch for itself. (k8gb leaves the last records in place
//! for ever, keiretsu-labs/kubernetes-manifests#2346.)

mod host;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use flotilla_api::gslb::{NamespacedName, Server, ServiceHealthPolicy};
use flotilla_dns::{name::Name, record::Data, zone::Entry};
use jiff::Timestamp;

use crate::{
    config::Config,
    endpoints::HostRecords,
    expose::{self, Address, Lookup},
    health::{self, Health},
    key::Key,
    kinds::Kind,
    names,
    problem::{self, Problem},
    refs::{self, Referent, Via},
    select::{Reason, Strategy},
    sight::{Sight, Votes},
    spec::{self, Rules},
    view::{Family, View},
    world::{Dep, GslbId, GslbView, World},
    zones,
};

use self::host::{Alike, peers_of, sooner};
pub use self::host::{Asking, own_looks};

/// Hosts of one Gslb beyond this number are a problem and not served.
pub const HOSTS_MAX: usize = 1000;

/// Everything outside the world that a decision reads.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Settings.
    pub config: &'a Config,
    /// What the peers said.
    pub view: &'a View,
    /// Looked-up host names.
    pub lookups: &'a BTreeMap<String, Lookup>,
    /// Now.
    pub now: Timestamp,
}

/// Where a host lies and what it is called in the DNS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The zone it lies in.
    pub zone: Arc<str>,
    /// Its name.
    pub name: Name,
    /// Names of its local targets.
    pub local: Vec<Name>,
}

/// What a Gslb is about, before any peer is considered and whoever is healthy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The rules, if the spec is valid.
    pub rules: Option<Rules>,
    /// Hosts in one of our zones, in the order of the referenced object.
    pub servers: Vec<Server>,
    /// Where each host lies.
    pub places: BTreeMap<Arc<str>, Place>,
    /// Our addresses.
    pub addresses: Vec<IpAddr>,
    /// Host names the addresses depend on.
    pub hostnames: BTreeSet<String>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What was read, and the Services whose health matters.
    pub reads: BTreeSet<Dep>,
}

/// What is answered for one host, and why. Hosts of which the same is known share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDecision {
    /// The zone the host lies in.
    pub zone: Arc<str>,
    /// Health here.
    pub health: Health,
    /// What is published.
    pub records: HostRecords,
    /// Whether a peer not asked yet could change the targets; then the ones published before stay.
    pub waiting: bool,
    /// How it came about, by family.
    pub why: BTreeMap<Family, Vec<Reason>>,
    /// Percent of its share that this cluster takes.
    pub share: u32,
    /// Whether the other clusters are to be asked whom they see.
    pub asking: Asking,
    /// Who else lost each cluster that this one would take over from; empty unless witnesses are asked for.
    pub votes: BTreeMap<String, Votes>,
    /// What this cluster tells the others about whom it sees.
    pub sight: Option<Sight>,
}

/// What is answered for the hosts of one Gslb.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// What the Gslb is about.
    pub resolved: Arc<Resolved>,
    /// Everything that is wrong.
    pub problems: Vec<Problem>,
    /// Hosts and what they are answered with; empty while the spec is invalid.
    pub hosts: BTreeMap<Arc<str>, Arc<HostDecision>>,
    /// When to decide again although nothing has happened.
    pub again_at: Option<Timestamp>,
}

impl HostDecision {
    /// Whether an earlier answer sends clients to this cluster although it cannot serve the host any more. Such an
    /// answer is not kept, not even while a peer has yet to be asked.
    pub fn is_stale(&self, earlier: &Entry, addresses: &[IpAddr]) -> bool {
        let own = |data: &Data| match data {
            Data::A(ip) => addresses.contains(&IpAddr::V4(*ip)),
            Data::Aaaa(ip) => addresses.contains(&IpAddr::V6(*ip)),
            _ => false,
        };
        self.records.local.is_empty() && earlier.sets.iter().flat_map(|set| &set.data).any(own)
    }
}

impl Decision {
    /// Whether any host waits for a peer.
    pub fn is_waiting(&self) -> bool {
        self.hosts.values().any(|host| host.waiting)
    }
}

/// Finds the hosts, backends and addresses of a Gslb.
pub fn resolve(world: &World, id: &GslbId, gslb: &GslbView, ctx: Context<'_>) -> Resolved {
    let mut out = Resolved::default();
    match spec::rules(&gslb.spec, &gslb.annotations, ctx.config.defaults) {
        Ok(rules) => out.rules = Some(rules),
        Err(problems) => out.problems.extend(problems),
    }
    let reference = referent(world, id, gslb, &mut out);
    let mut servers = Vec::new();
    if let Some((kind, key, referent)) = reference {
        out.problems.extend(referent.problems.iter().cloned());
        match referent.servers(gslb.annotations.get(refs::HOSTNAME)) {
            Ok(found) => servers = found,
            Err(problem) => out.problems.push(problem),
        }
        let field = format!("status of {} {key}", kind.home().kind);
        addresses(world, gslb, ctx, &referent.via, &field, &mut out);
    } else if let Some(status) = &gslb.status {
        // The object is gone: its hosts stay balanced, without us.
        servers = status
            .servers
            .iter()
            .cloned()
            .map(|s| Server {
                services: vec![],
                ..s
            })
            .collect();
    }
    place(world, servers, &mut out);
    out.problems.sort();
    out.problems.dedup();
    out
}

/// The referenced object; a problem when it is not exactly one.
fn referent<'w>(
    world: &'w World,
    id: &GslbId,
    gslb: &GslbView,
    out: &mut Resolved,
) -> Option<(Kind, Key, &'w Referent)> {
    let reference = &gslb.spec.resource_ref;
    if reference.is_zero() {
        // Embedded mode: the Ingress of our own name.
        let found = lookup(world, Kind::Ingress, id.key.clone(), out);
        if found.is_none() && gslb.spec.ingress.is_empty() {
            out.problems.push(Problem::new(
                problem::Kind::InvalidSpec,
                "spec.resourceRef",
                "name the object to balance here, or embed an Ingress in spec.ingress",
            ));
        } else if found.is_none() {
            missing(
                out,
                "spec.ingress",
                format!("the Ingress {} is being created", id.key),
            );
        }
        return found;
    }
    let Some(kind) = Kind::referenced(&reference.api_version, &reference.kind) else {
        out.problems.push(Problem::new(
            problem::Kind::InvalidSpec,
            "spec.resourceRef.kind",
            format!(
                "{} {} cannot be balanced",
                reference.api_version, reference.kind
            ),
        ));
        return None;
    };
    let own = &id.key.namespace;
    if !reference.name.is_empty() {
        let namespace = if reference.namespace.is_empty() {
            own
        } else {
            &reference.namespace
        };
        let key = Key::new(namespace, &reference.name);
        let found = lookup(world, kind, key.clone(), out);
        if found.is_none() {
            let message = format!("{} {key} does not exist", kind.home().kind);
            missing(out, "spec.resourceRef.name", message);
        }
        return found;
    }
    out.reads.insert(Dep::All(kind, own.clone()));
    let matching: Vec<&Key> = world
        .referents
        .range((kind, Key::new(own, ""))..)
        .take_while(|((k, key), _)| *k == kind && key.namespace == *own)
        .filter(|(_, referent)| refs::matches(reference, &referent.labels))
        .map(|((_, key), _)| key)
        .collect();
    if let [key] = matching[..] {
        return lookup(world, kind, key.clone(), out);
    }
    let kind = kind.home().kind;
    let message = format!(
        "exactly 1 {kind} resource expected but {} were found",
        matching.len()
    );
    missing(out, "spec.resourceRef.matchLabels", message);
    None
}

fn lookup<'w>(
    world: &'w World,
    kind: Kind,
    key: Key,
    out: &mut Resolved,
) -> Option<(Kind, Key, &'w Referent)> {
    out.reads.insert(Dep::Object(kind, key.clone()));
    world
        .referents
        .get(&(kind, key.clone()))
        .map(|referent| (kind, key, referent))
}

fn missing(out: &mut Resolved, field: &str, message: String) {
    out.problems.push(Problem::new(
        problem::Kind::ReferenceNotFound,
        field,
        message,
    ));
}

/// Our addresses, by the annotations, the cluster's setting or the object's status.
fn addresses(
    world: &World,
    gslb: &GslbView,
    ctx: Context<'_>,
    via: &Via,
    field: &str,
    out: &mut Resolved,
) {
    let resource: Vec<Address> = match via {
        Via::Status(addresses) => addresses.clone(),
        Via::Nowhere => Vec::new(),
        Via::Gateway(key) => {
            out.reads.insert(Dep::Object(Kind::Gateway, key.clone()));
            match world.gateways.get(key) {
                Some(gateway) => {
                    out.problems.extend(gateway.problems.iter().cloned());
                    match &gateway.down {
                        None => gateway.addresses.clone(),
                        Some(why) => {
                            let kind = problem::Kind::GatewayDown;
                            let field = format!("Gateway {key}");
                            out.problems.push(Problem::new(kind, field, why.clone()));
                            Vec::new()
                        }
                    }
                }
                None => {
                    missing(
                        out,
                        "spec.parentRefs",
                        format!("Gateway {key} does not exist"),
                    );
                    Vec::new()
                }
            }
        }
        Via::IstioGateway(key) => istio_addresses(world, key, out),
    };
    let zones: Vec<&str> = world
        .zones
        .values()
        .map(|zone| zone.zone.as_str())
        .collect();
    let exposed = expose::exposed(expose::Inputs {
        annotations: &gslb.annotations,
        cluster: &ctx.config.cluster_exposed_ips,
        resource: &resource,
        resource_field: field,
        lookups: ctx.lookups,
        zones: &zones,
    });
    out.reads
        .extend(exposed.hostnames.iter().cloned().map(Dep::Lookup));
    for name in &exposed.named {
        // A name in one of our zones is refused, and is good again when the zone goes.
        let zones = std::iter::once(name.as_str()).chain(names::ancestors(name));
        out.reads
            .extend(zones.map(|zone| Dep::Zone(zone.to_owned())));
    }
    out.addresses = exposed.addresses;
    out.hostnames = exposed.hostnames;
    out.problems.extend(exposed.problems);
}

fn istio_addresses(world: &World, key: &Key, out: &mut Resolved) -> Vec<Address> {
    out.reads
        .insert(Dep::Object(Kind::IstioGateway, key.clone()));
    let Some(selector) = world.istio_gateways.get(key) else {
        missing(
            out,
            "spec.gateways",
            format!("Gateway {key} does not exist"),
        );
        return Vec::new();
    };
    out.reads.insert(Dep::All(Kind::Service, String::new()));
    let selected: Vec<_> = world
        .services
        .values()
        .filter(|service| {
            !selector.is_empty()
                && selector
                    .iter()
                    .all(|(k, v)| service.labels.get(k) == Some(v))
        })
        .collect();
    if let [service] = selected[..] {
        return service.load_balancer.clone();
    }
    let message = format!(
        "exactly 1 Service resource expected but {} were found",
        selected.len()
    );
    missing(out, "spec.selector of the Gateway", message);
    Vec::new()
}

/// Keeps the hosts that lie in one of our zones. A host elsewhere is a problem only when none is left (k8gb#2183).
fn place(world: &World, servers: Vec<Server>, out: &mut Resolved) {
    let n_hosts = servers.len();
    if n_hosts > HOSTS_MAX {
        let message = format!("{n_hosts} hosts; the first {HOSTS_MAX} are served");
        out.problems.push(Problem::new(
            problem::Kind::InvalidReference,
            "hosts",
            message,
        ));
    }
    let mut outside = Vec::new();
    let mut known_zone: Option<Arc<str>> = None;
    for mut server in servers.into_iter().take(HOSTS_MAX) {
        let host = match names::canonical(&server.host) {
            Ok(host) => host,
            Err(error) => {
                let field = format!("host {:?}", server.host);
                let problem =
                    Problem::new(problem::Kind::InvalidReference, field, error.to_string());
                out.problems.push(problem);
                continue;
            }
        };
        // The host moves when a zone above it comes, goes or changes.
        let above = names::ancestors(&host).map(|name| Dep::Zone(name.to_owned()));
        out.reads.extend(above);
        match zones::find(&host, world.zones.values().filter(|zone| !zone.deleting)) {
            None => outside.push(host),
            Some(_) if names::local_targets(&host).published().is_none() => {
                let message = "the name is too long for its local targets; 253 characters with 'localtargets.'";
                out.problems.push(Problem::new(
                    problem::Kind::InvalidReference,
                    format!("host {host:?}"),
                    message,
                ));
            }
            Some(zone) => {
                let Ok(name) = Name::parse(&host) else {
                    continue;
                };
                if known_zone.as_deref() != Some(zone.zone.as_str()) {
                    known_zone = Some(zone.zone.as_str().into());
                }
                let local = names::local_targets(&host);
                let place = Place {
                    zone: known_zone.clone().unwrap_or_default(),
                    name,
                    local: local
                        .asked()
                        .filter_map(|it| Name::parse(it).ok())
                        .collect(),
                };
                out.places.insert(host.as_str().into(), place);
                let keys = server
                    .services
                    .iter()
                    .map(|s| Key::new(&s.namespace, &s.name));
                out.reads
                    .extend(keys.map(|key| Dep::Object(Kind::Service, key)));
                server.host = host;
                out.servers.push(server);
            }
        }
    }
    if out.servers.is_empty() && !outside.is_empty() {
        let message = format!("no ZoneDelegation covers {}", outside.join(", "));
        out.problems
            .push(Problem::new(problem::Kind::NoZone, "hosts", message));
    }
}

/// Decides what the hosts are answered with.
///
/// `taken` names hosts that an older Gslb publishes already.
pub fn decide(
    world: &World,
    resolved: &Arc<Resolved>,
    taken: &BTreeMap<String, GslbId>,
    ctx: Context<'_>,
) -> Decision {
    let mut problems = resolved.problems.clone();
    let Some(rules) = &resolved.rules else {
        return Decision {
            resolved: resolved.clone(),
            problems,
            ..Decision::default()
        };
    };
    let mut hosts = BTreeMap::new();
    let mut again_at: Option<Timestamp> = None;
    let mut alike = Alike::new(world, rules, &resolved.addresses, ctx);
    let mut healths = Healths::new(world, rules.policy);
    for server in &resolved.servers {
        if let Some(owner) = taken.get(&server.host) {
            problems.push(Problem::new(
                problem::Kind::HostTaken,
                format!("host {:?}", server.host),
                format!("Gslb {} is older and publishes it", owner.key),
            ));
            continue;
        }
        let Some((host, place)) = resolved.places.get_key_value(server.host.as_str()) else {
            continue;
        };
        let health = healths.of(&server.services);
        let view = ctx.view.host(host);
        let (decision, until) = alike.decide(&place.zone, health, view);
        sooner(&mut again_at, until);
        hosts.insert(host.clone(), decision);
    }
    problems.extend(strangers(world, rules, &hosts, ctx));
    problems.extend(rules.notes.iter().cloned());
    Decision {
        resolved: resolved.clone(),
        problems,
        hosts,
        again_at,
    }
}

/// The health of hosts, looked up once for neighbours with the same Services.
struct Healths<'w> {
    world: &'w World,
    policy: ServiceHealthPolicy,
    last: Option<(&'w [NamespacedName], Health)>,
}

impl<'w> Healths<'w> {
    fn new(world: &'w World, policy: ServiceHealthPolicy) -> Healths<'w> {
        Healths {
            world,
            policy,
            last: None,
        }
    }

    fn of(&mut self, services: &'w [NamespacedName]) -> Health {
        match self.last {
            Some((known, health)) if known == services => health,
            _ => {
                let backends = services.iter().map(|service| self.world.backend(service));
                let health = health::of_host(self.policy, backends);
                self.last = Some((services, health));
                health
            }
        }
    }
}

/// Clusters that the strategy names and the zones of the hosts do not know, such as a misspelt primary.
fn strangers(
    world: &World,
    rules: &Rules,
    hosts: &BTreeMap<Arc<str>, Arc<HostDecision>>,
    ctx: Context<'_>,
) -> Vec<Problem> {
    let Strategy::Failover { order } = &rules.strategy else {
        return Vec::new();
    };
    if hosts.is_empty() {
        return Vec::new();
    }
    let zones: BTreeSet<&str> = hosts.values().map(|host| &*host.zone).collect();
    let mut known: BTreeSet<&str> = zones
        .into_iter()
        .flat_map(|zone| peers_of(world, zone, ctx))
        .collect();
    known.insert(&ctx.config.geo_tag);
    known.extend(ctx.config.external_tags.iter().map(String::as_str));
    let all: Vec<&str> = known.iter().copied().collect();
    order
        .iter()
        .enumerate()
        .filter(|(_, tag)| !known.contains(tag.as_str()))
        .map(|(position, tag)| {
            // Only the first of the order stands in the spec.
            let field = match position {
                0 => "spec.strategy.primaryGeoTag".to_owned(),
                _ => format!("metadata.annotations[{}]", spec::FAILOVER_ORDER),
            };
            let message = format!(
                "{tag:?} is no cluster of the fleet; there are {}",
                all.join(", ")
            );
            Problem::new(problem::Kind::UnknownCluster, field, message)
        })
        .collect()
}

#[cfg(test)]
mod tests;
