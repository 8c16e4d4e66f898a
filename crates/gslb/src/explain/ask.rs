//! Gathering the facts of an explanation from a cluster and its peers.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};

use flotilla_api::{Gslb, GslbStatus, ZoneDelegation};
use flotilla_dns::{client, message::Question, name::Name, record::Type};
use futures::{
    StreamExt,
    future::{join, join3},
    stream::FuturesUnordered,
};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;

use super::{Explanation, Facts, explain};
use crate::{
    controller::{now, peer_answer, sighting},
    health::Health,
    kinds::Kind,
    names,
    options::Defaults,
    sight::Sighting,
    spec,
    view::{Answer, Family, Observation},
    zones::{self, Zone},
};

/// Why a host cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host is no name.
    #[error("the host cannot be looked for")]
    Host(#[from] names::Error),
    /// The API server does not answer.
    #[error("the cluster's objects cannot be read")]
    Api(#[from] kube::Error),
    /// No Gslb has the host.
    #[error(
        "no Gslb of this cluster balances {host}; `kubectl get gslb -A -o wide` lists the hosts"
    )]
    NoGslb {
        /// The host.
        host: String,
    },
    /// The Gslb's spec is broken.
    #[error("Gslb {gslb} is broken: {problems}")]
    Broken {
        /// Namespace and name.
        gslb: String,
        /// What is wrong.
        problems: String,
    },
    /// No zone contains the host.
    #[error("no ZoneDelegation of this cluster covers {host}")]
    NoZone {
        /// The host.
        host: String,
    },
}

/// How to ask the name servers.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Ports on which they may listen, in the order they are tried.
    pub ports: Vec<u16>,
    /// Patience and the address to ask from.
    pub client: client::Config,
}

/// Explains what a cluster answers for a host: reads its objects and asks every name server of the zone.
///
/// # Errors
/// When the cluster does not balance the host, or cannot be read.
pub async fn explain_host(client: &Client, host: &str, ask: &Ask) -> Result<Explanation, Error> {
    Ok(explain(&facts(client, host, ask).await?))
}

/// The facts behind [`explain_host`], for [`super::what_if`].
///
/// # Errors
/// As [`explain_host`].
pub async fn facts(client: &Client, host: &str, ask: &Ask) -> Result<Facts, Error> {
    let host = names::canonical(host)?;
    let Found { gslb, status, .. } = find(client, &host).await?;
    let metadata = &gslb.metadata;
    let name = format!(
        "{}/{}",
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap_or_default()
    );
    let annotations = metadata.annotations.clone().unwrap_or_default();
    // What the controller's settings add is not known here; what comes of it is in the views of the clusters.
    let defaults = Defaults::default();
    let rules = spec::rules(&gslb.spec, &annotations, defaults).map_err(|problems| {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Error::Broken {
            gslb: name.clone(),
            problems: texts.join("; "),
        }
    })?;
    let zones = zones(client).await?;
    let zone = zones::find(&host, &zones).ok_or_else(|| Error::NoZone { host: host.clone() })?;
    let (own_servers, peer_servers) = servers(zone, &status.geo_tag, &ask.ports);

    let mut all_servers = peer_servers.clone();
    all_servers.insert(status.geo_tag.clone(), own_servers.clone());
    let looking: FuturesUnordered<_> = all_servers
        .into_iter()
        .map(|(tag, servers)| {
            let host = &host;
            async move { (tag, sighting(host, &servers, &ask.client).await) }
        })
        .collect();
    let asking: FuturesUnordered<_> = peer_servers
        .into_iter()
        .map(|(tag, servers)| {
            let host = &host;
            async move {
                (
                    tag,
                    both(names::local_targets(host).asked(), &servers, ask).await,
                )
            }
        })
        .collect();
    let (served, peers, mut sights): (_, _, BTreeMap<String, Sighting>) = join3(
        both(std::iter::once(host.as_str()), &own_servers, ask),
        asking.collect(),
        looking.collect(),
    )
    .await;
    if !matches!(sights.get(&status.geo_tag), Some(Sighting::Said(_))) {
        // Without a view of its own this cluster does not look at those of others.
        sights.clear();
    }
    let now = now();
    let drained = rules
        .options
        .drain
        .share(rules.options.drain_period, now)
        .percent
        == 0;
    let health = match status.service_health.get(&host).map(String::as_str) {
        Some("Healthy") => Health::Healthy,
        Some("Unhealthy") => Health::Unhealthy,
        _ => Health::NotFound,
    };
    let ready = status
        .conditions
        .iter()
        .find(|c| c.kind == "Ready" && c.status == "False");
    let exposed = status.load_balancer.exposed_ips.iter();
    Ok(Facts {
        gslb: name,
        zone: zone.zone.clone(),
        pushed: zone.pushed.clone(),
        geo_tag: status.geo_tag.clone(),
        health,
        addresses: if drained {
            Vec::new()
        } else {
            exposed.filter_map(|ip| ip.parse().ok()).collect()
        },
        rules,
        peers,
        served,
        sights,
        problem: ready.map(|c| c.message.clone()).unwrap_or_default(),
        now,
        host,
    })
}

/// A Gslb that has a host.
pub(crate) struct Found {
    /// The group it belongs to.
    pub(crate) kind: Kind,
    /// The object.
    pub(crate) gslb: Gslb,
    /// Its status.
    pub(crate) status: GslbStatus,
}

/// The Gslb that publishes the host, or at least names it, of either group.
pub(crate) async fn find(client: &Client, host: &str) -> Result<Found, Error> {
    let mut named = None;
    for kind in [Kind::Gslb, Kind::LegacyGslb] {
        for object in list(client, kind).await? {
            let Ok(gslb) = serde_json::from_value::<Gslb>(object) else {
                continue;
            };
            let Some(status) = gslb.status.clone() else {
                continue;
            };
            if status.service_health.contains_key(host) {
                return Ok(Found { kind, gslb, status });
            }
            if status
                .servers
                .iter()
                .any(|server| server.host.eq_ignore_ascii_case(host))
            {
                named.get_or_insert(Found { kind, gslb, status });
            }
        }
    }
    named.ok_or_else(|| Error::NoGslb { host: host.into() })
}

async fn zones(client: &Client) -> Result<Vec<Zone>, Error> {
    let mut zones = Vec::new();
    for object in list(client, Kind::ZoneDelegation).await? {
        let Ok(delegation) = serde_json::from_value::<ZoneDelegation>(object) else {
            continue;
        };
        let status = delegation.status.unwrap_or_default();
        zones.push(Zone {
            object: delegation.metadata.name.unwrap_or_default(),
            zone: names::canonical(&delegation.spec.load_balanced_zone)?,
            parent: names::canonical(&delegation.spec.parent_zone)?,
            pushed: crate::status::pushed_tags(&status.conditions),
            servers: status.dns_servers,
            ..Zone::default()
        });
    }
    Ok(zones)
}

/// How to ask for objects of a kind.
pub(crate) fn resource(kind: Kind) -> ApiResource {
    let home = kind.home();
    let gvk = GroupVersionKind::gvk(home.group, home.versions[0], home.kind);
    ApiResource::from_gvk_with_plural(&gvk, home.plural)
}

/// All objects of a kind; none when the cluster does not know it.
async fn list(client: &Client, kind: Kind) -> Result<Vec<Value>, Error> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(kind));
    match api.list(&ListParams::default()).await {
        Ok(list) => Ok(list
            .items
            .iter()
            .filter_map(|object| serde_json::to_value(object).ok())
            .collect()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Our own name servers and those of each peer. The prefix of the names is whatever stands before our own tag.
fn servers(
    zone: &Zone,
    geo_tag: &str,
    ports: &[u16],
) -> (Vec<SocketAddr>, BTreeMap<String, Vec<SocketAddr>>) {
    let prefix = zone
        .servers
        .iter()
        .filter_map(|server| {
            let tag = names::tag_of(&server.name, "", &zone.zone, &zone.parent)?;
            tag.strip_suffix(geo_tag)
        })
        .min_by_key(|prefix| prefix.len())
        .unwrap_or(names::DEFAULT_PREFIX);
    let mut own = Vec::new();
    let mut peers: BTreeMap<String, Vec<SocketAddr>> = BTreeMap::new();
    for port in ports {
        for server in &zone.servers {
            let Ok(ip) = server.address.parse::<IpAddr>() else {
                continue;
            };
            let Some(tag) = names::tag_of(&server.name, prefix, &zone.zone, &zone.parent) else {
                continue;
            };
            if tag == geo_tag {
                own.push(SocketAddr::new(ip, *port));
            } else {
                peers
                    .entry(tag.to_owned())
                    .or_default()
                    .push(SocketAddr::new(ip, *port));
            }
        }
    }
    (own, peers)
}

/// Asks for both families, under each name until one has addresses.
async fn both<'a>(
    names: impl Iterator<Item = &'a str>,
    servers: &[SocketAddr],
    ask: &Ask,
) -> BTreeMap<Family, Observation> {
    let names: Vec<Name> = names.filter_map(|name| Name::parse(name).ok()).collect();
    let (v4, v6) = join(
        family(&names, Family::V4, servers, ask),
        family(&names, Family::V6, servers, ask),
    )
    .await;
    BTreeMap::from([(Family::V4, v4), (Family::V6, v6)])
}

async fn family(names: &[Name], family: Family, servers: &[SocketAddr], ask: &Ask) -> Observation {
    let rtype = if family == Family::V4 {
        Type::A
    } else {
        Type::AAAA
    };
    let mut last = Observation {
        answer: Answer::Silence,
        at: now(),
        server: None,
    };
    for name in names {
        let question = Question {
            name: name.clone(),
            rtype,
        };
        let report = client::ask(&question, servers, &ask.client).await;
        let conclusive = report
            .attempts
            .iter()
            .find(|attempt| attempt.outcome.is_conclusive());
        let server = conclusive.map(|attempt| attempt.server);
        last = Observation {
            answer: peer_answer(&report.outcome, family),
            at: now(),
            server,
        };
        if !matches!(&last.answer, Answer::Targets { addresses, .. } if addresses.is_empty()) {
            break;
        }
    }
    last
}
