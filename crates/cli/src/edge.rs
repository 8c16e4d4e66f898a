//! The surroundings of a fleet: the parent zone's DNS server and a resolver that walks to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use flotilla_dns::catalog::{Change, Publish, Zones};
use flotilla_dns::name::Name;
use flotilla_dns::record::Soa;
use flotilla_dns::resolver::walk::Hint;
use flotilla_dns::resolver::{self, ResolverServer};
use flotilla_dns::server::{Config, Metrics, Server};
use flotilla_dns::tsig::{Algorithm, Key};
use flotilla_dns::update::{Grant, Updates, unix_now};
use flotilla_dns::zone::{NameServer, Settings};
use flotilla_gslb::config::{PushKey, Update};
use flotilla_gslb::names;
use flotilla_telemetry::metrics::SharedRegistry;

use crate::cluster::DNS_HINT;
use crate::plan::{EdgePlan, Plan};

/// TTL of the parent zone's own records and of its negative answers, in seconds. Short, because a
/// fleet on one machine is there to be changed and looked at.
const TTL_SECONDS: u32 = 5;

/// The running surroundings.
pub(crate) struct Edge {
    server: Server,
    resolver: ResolverServer,
    /// How each cluster adds itself to the parent zone.
    updates: BTreeMap<String, Update>,
    /// What the clusters of the fleet push their changes with.
    push_key: PushKey,
}

impl Edge {
    /// Starts both servers. Every cluster gets a key of its own, made for this run, which is good
    /// for its own name servers only.
    pub(crate) fn start(edge: &EdgePlan, plan: &Plan, registry: &SharedRegistry) -> Result<Self> {
        let metrics = registry.with(|registry| {
            let label = ("cluster".into(), "edge".into());
            Metrics::registered(registry.sub_registry_with_label(label))
        });
        let parent = Name::parse(&plan.parent_zone)?;
        let zones = Zones::timed(unix_now);
        let refused = zones.publish(vec![Change::Zone(settings(edge, parent.clone())?)]);
        if let Some(error) = refused.into_iter().next() {
            return Err(error).context("the parent zone is not usable");
        }
        let mut grants = Vec::new();
        let mut updates = BTreeMap::new();
        for cluster in &plan.clusters {
            let key_name = format!("{}.flotilla", cluster.name);
            let secret = rand::random::<[u8; 32]>().to_vec();
            grants.push(Grant {
                key: Key::new(Name::parse(&key_name)?, Algorithm::HmacSha256, &secret),
                prefix: names::name_server_start(names::DEFAULT_PREFIX, &cluster.name),
            });
            let update = Update {
                server: edge.server,
                key_name,
                secret,
            };
            updates.insert(cluster.name.clone(), update);
        }
        let config = Config {
            updates: Some(Arc::new(Updates::new(
                Arc::clone(&zones),
                parent.clone(),
                grants,
            ))),
            ..Config::new("edge", vec![edge.server])
        };
        let server = Server::start(&config, &zones, &metrics)
            .with_context(|| format!("cannot serve the parent zone; {DNS_HINT}"))?;
        let hints = vec![Hint {
            zone: parent,
            servers: vec![edge.server],
        }];
        let config = resolver::Config::new(hints, edge.server.port());
        let resolver = ResolverServer::start(edge.resolver, config, &metrics)
            .with_context(|| format!("cannot start the resolver; {DNS_HINT}"))?;
        Ok(Self {
            server,
            resolver,
            updates,
            push_key: PushKey {
                name: "fleet.flotilla".to_owned(),
                secret: rand::random::<[u8; 32]>().to_vec(),
            },
        })
    }

    /// How the cluster of this name adds itself to the parent zone.
    pub(crate) fn update(&self, cluster: &str) -> Option<Update> {
        self.updates.get(cluster).cloned()
    }

    /// The key that all clusters share, made for this run.
    pub(crate) fn push_key(&self) -> Option<Key> {
        self.push_key.key()
    }

    /// Stops both servers.
    pub(crate) async fn stop(self) {
        self.resolver.stop().await;
        self.server.stop().await;
    }
}

fn settings(edge: &EdgePlan, apex: Name) -> Result<Settings> {
    let nameserver = apex.child("ns1")?;
    let soa = Soa {
        mname: nameserver.clone(),
        rname: apex.child("hostmaster")?,
        serial: 1,
        refresh_seconds: 7200,
        retry_seconds: 1800,
        expire_seconds: 86_400,
        minimum_seconds: TTL_SECONDS,
    };
    let nameservers = vec![NameServer {
        name: nameserver,
        addresses: vec![edge.server.ip()],
    }];
    Ok(Settings {
        apex,
        soa,
        ttl_seconds: TTL_SECONDS,
        nameservers,
    })
}
