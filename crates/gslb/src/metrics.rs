//! Metrics under k8gb's names, so that its dashboards keep working.
//!
//! Unlike k8gb, the series of a Gslb disappear with it.
//!
//! Source: k8gb v0.21 `controllers/providers/metrics`; research §2.7.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicI64},
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use crate::{decide::Decision, health::Health, note::Note, select::Strategy, world::GslbId};

/// Namespace and name of a Gslb.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Object {
    namespace: String,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Tagged {
    namespace: String,
    name: String,
    geotag: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InStatus {
    namespace: String,
    name: String,
    status: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelSet)]
struct OfName {
    namespace: String,
    name: String,
    dns_name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Runtime {
    namespace: String,
    k8gb_version: String,
    go_version: String,
    arch: String,
    os: String,
    git_sha: String,
}

/// A zone of another cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPeer {
    zone: String,
    geotag: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPull {
    zone: String,
    geotag: String,
    result: &'static str,
}

/// What comes of a pull.
const PULL_RESULTS: [&str; 4] = ["same", "whole", "changes", "failed"];

/// One sort of request to Infoblox.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    request: &'static str,
    success: &'static str,
}

/// Buckets in seconds, as k8gb has them.
fn infoblox_buckets() -> Histogram {
    Histogram::new([0.2, 0.8, 3.2, 12.8, 51.2])
}

type Gauges<L> = Family<L, Gauge<i64, AtomicI64>>;

/// All metrics of one cluster's GSLB.
#[derive(Clone, Debug)]
pub struct Metrics {
    errors: Family<Object, Counter>,
    reconciliations: Family<Object, Counter>,
    healthy: Gauges<Object>,
    healthy_local: Gauges<Tagged>,
    status: Gauges<InStatus>,
    failover: Gauges<InStatus>,
    round_robin: Gauges<InStatus>,
    geoip: Gauges<InStatus>,
    endpoints: Gauges<OfName>,
    share: Gauges<Object>,
    kept: Gauges<Object>,
    runtime: Gauges<Runtime>,
    pushed: Gauges<OfPeer>,
    pulls: Family<OfPull, Counter>,
    infoblox_duration: Family<Asked, Histogram, fn() -> Histogram>,
    infoblox_updates: Counter,
    infoblox_update_errors: Counter,
    infoblox_heartbeats: Counter,
    infoblox_heartbeat_errors: Counter,
    /// DNS names with a series, by Gslb, so that they can be removed.
    names: Arc<Mutex<BTreeMap<GslbId, BTreeSet<OfName>>>>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            errors: Family::default(),
            reconciliations: Family::default(),
            healthy: Family::default(),
            healthy_local: Family::default(),
            status: Family::default(),
            failover: Family::default(),
            round_robin: Family::default(),
            geoip: Family::default(),
            endpoints: Family::default(),
            share: Family::default(),
            kept: Family::default(),
            runtime: Family::default(),
            pushed: Family::default(),
            pulls: Family::default(),
            infoblox_duration: Family::new_with_constructor(infoblox_buckets),
            infoblox_updates: Counter::default(),
            infoblox_update_errors: Counter::default(),
            infoblox_heartbeats: Counter::default(),
            infoblox_heartbeat_errors: Counter::default(),
            names: Arc::default(),
        }
    }
}

impl Metrics {
    /// Creates and registers the metrics. `namespace` is the one the controller says it lives in.
    pub fn register(registry: &mut Registry, namespace: &str) -> Metrics {
        let metrics = Metrics::default();
        let m = &metrics;
        registry.register(
            "k8gb_gslb_errors",
            "Decisions with problems",
            m.errors.clone(),
        );
        registry.register(
            "k8gb_gslb_reconciliation_loops",
            "Decisions",
            m.reconciliations.clone(),
        );
        registry.register(
            "k8gb_gslb_healthy_records",
            "Addresses answered with",
            m.healthy.clone(),
        );
        registry.register(
            "k8gb_gslb_healthy_local_records",
            "Addresses of this cluster answered with",
            m.healthy_local.clone(),
        );
        registry.register(
            "k8gb_gslb_service_status_num",
            "Hosts by health",
            m.status.clone(),
        );
        for (name, family) in [
            ("k8gb_gslb_status_count_for_failover", &m.failover),
            ("k8gb_gslb_status_count_for_roundrobin", &m.round_robin),
            ("k8gb_gslb_status_count_for_geoip", &m.geoip),
        ] {
            registry.register(
                name,
                "Addresses answered with, by local health",
                family.clone(),
            );
        }
        registry.register(
            "k8gb_endpoint_status_num",
            "Addresses by DNS name",
            m.endpoints.clone(),
        );
        registry.register(
            "k8gb_infoblox_request_duration",
            "Seconds a request to Infoblox took",
            m.infoblox_duration.clone(),
        );
        for (name, help, counter) in [
            (
                "zone_updates",
                "Changes of delegated zones",
                &m.infoblox_updates,
            ),
            (
                "zone_update_errors",
                "Changes that failed",
                &m.infoblox_update_errors,
            ),
            (
                "heartbeats",
                "Always 0, as with k8gb",
                &m.infoblox_heartbeats,
            ),
            (
                "heartbeat_errors",
                "Always 0, as with k8gb",
                &m.infoblox_heartbeat_errors,
            ),
        ] {
            registry.register(format!("k8gb_infoblox_{name}"), help, counter.clone());
        }
        registry.register("k8gb_runtime_info", "What is running", m.runtime.clone());
        registry.register(
            "flotilla_gslb_share_percent",
            "Percent of its share that this cluster takes; below 100 while it is drained",
            m.share.clone(),
        );
        registry.register(
            "flotilla_gslb_kept_clusters",
            "Silent clusters that are kept because too few others lost them too",
            m.kept.clone(),
        );
        registry.register(
            "flotilla_gslb_peer_pushes",
            "Whether the changes of a peer's zone are pushed to us",
            m.pushed.clone(),
        );
        registry.register(
            "flotilla_gslb_pulls",
            "Pulls of a peer's zone, by what came of them",
            m.pulls.clone(),
        );
        let runtime = Runtime {
            namespace: namespace.to_owned(),
            k8gb_version: env!("CARGO_PKG_VERSION").to_owned(),
            go_version: "none".to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            os: std::env::consts::OS.to_owned(),
            git_sha: String::new(),
        };
        m.runtime.get_or_create(&runtime).set(1);
        metrics
    }

    /// Notes what came of a pull: `same`, `whole`, `changes` or `failed`.
    pub(crate) fn pulled(&self, zone: &str, geo_tag: &str, result: &'static str) {
        let (zone, geotag) = (zone.to_owned(), geo_tag.to_owned());
        let labels = OfPull {
            zone,
            geotag,
            result,
        };
        self.pulls.get_or_create(&labels).inc();
    }

    /// Notes whether the changes of a peer's zone are pushed to us.
    pub(crate) fn pushes(&self, zone: &str, geo_tag: &str, live: bool) {
        let (zone, geotag) = (zone.to_owned(), geo_tag.to_owned());
        let labels = OfPeer { zone, geotag };
        self.pushed.get_or_create(&labels).set(live.into());
    }

    /// Removes the series of a peer that is gone.
    pub(crate) fn forget_peer(&self, zone: &str, geo_tag: &str) {
        let (zone, geotag) = (zone.to_owned(), geo_tag.to_owned());
        for result in PULL_RESULTS {
            let (zone, geotag) = (zone.clone(), geotag.clone());
            self.pulls.remove(&OfPull {
                zone,
                geotag,
                result,
            });
        }
        self.pushed.remove(&OfPeer { zone, geotag });
    }

    /// Notes a request to Infoblox.
    pub fn infoblox_request(&self, request: &'static str, success: bool, seconds: f64) {
        let success = if success { "true" } else { "false" };
        let labels = Asked { request, success };
        self.infoblox_duration
            .get_or_create(&labels)
            .observe(seconds);
    }

    /// Notes a change of a delegated zone.
    pub fn infoblox_zone(&self, success: bool) {
        match success {
            true => self.infoblox_updates.inc(),
            false => self.infoblox_update_errors.inc(),
        };
    }

    /// Notes a decision, or removes every series of a Gslb that is gone.
    pub fn decided(&self, id: &GslbId, decision: Option<&Decision>, geo_tag: &str) {
        let (namespace, name) = (id.key.namespace.clone(), id.key.name.clone());
        let object = Object {
            namespace: namespace.clone(),
            name: name.clone(),
        };
        let tagged = Tagged {
            namespace: namespace.clone(),
            name: name.clone(),
            geotag: geo_tag.to_owned(),
        };
        let Some(decision) = decision else {
            return self.remove(id, &object, &tagged);
        };
        self.reconciliations.get_or_create(&object).inc();
        let n_errors = u64::from(!decision.problems.is_empty());
        self.errors.get_or_create(&object).inc_by(n_errors);

        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let targets = |host: &Arc<crate::decide::HostDecision>| {
            host.records.targets.values().map(Vec::len).sum::<usize>()
        };
        let own = |host: &Arc<crate::decide::HostDecision>| {
            host.records.targets.get(geo_tag).map_or(0, Vec::len)
        };
        let n_targets: usize = decision.hosts.values().map(targets).sum();
        self.healthy.get_or_create(&object).set(count(n_targets));
        let n_own: usize = decision.hosts.values().map(own).sum();
        self.healthy_local.get_or_create(&tagged).set(count(n_own));
        let note = Note::of(decision);
        self.share.get_or_create(&object).set(note.share.into());
        let n_kept = count(note.kept.len());
        self.kept.get_or_create(&object).set(n_kept);
        let strategy = decision
            .resolved
            .rules
            .as_ref()
            .map(|rules| &rules.strategy);
        for health in [Health::Healthy, Health::Unhealthy, Health::NotFound] {
            let hosts = || decision.hosts.values().filter(|host| host.health == health);
            let labels = |suffix: &str| InStatus {
                namespace: namespace.clone(),
                name: name.clone(),
                status: format!("{health}{suffix}"),
            };
            self.status
                .get_or_create(&labels(""))
                .set(count(hosts().count()));
            let n_targets = count(hosts().map(targets).sum());
            let suffix = match strategy {
                Some(Strategy::Failover { order })
                    if order.first().is_some_and(|t| t == geo_tag) =>
                {
                    "_primary"
                }
                Some(Strategy::Failover { .. }) => "_secondary",
                _ => "",
            };
            if let Some(family) = strategy.map(|strategy| self.by_strategy(strategy)) {
                family.get_or_create(&labels(suffix)).set(n_targets);
            }
        }
        self.endpoints_of(id, decision, &namespace, &name);
    }

    fn by_strategy(&self, strategy: &Strategy) -> &Gauges<InStatus> {
        match strategy {
            Strategy::Failover { .. } => &self.failover,
            Strategy::RoundRobin => &self.round_robin,
            Strategy::GeoIp => &self.geoip,
        }
    }

    fn endpoints_of(&self, id: &GslbId, decision: &Decision, namespace: &str, name: &str) {
        let mut now = BTreeSet::new();
        for (host, decided) in &decision.hosts {
            let local = crate::names::local_targets(host);
            let n_targets: usize = decided.records.targets.values().map(Vec::len).sum();
            let counts = [
                (Some(&**host), n_targets),
                (local.published(), decided.records.local.len()),
            ];
            for (dns_name, n) in counts {
                let Some(dns_name) = dns_name else { continue };
                let labels = OfName {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                    dns_name: dns_name.to_owned(),
                };
                self.endpoints
                    .get_or_create(&labels)
                    .set(i64::try_from(n).unwrap_or(i64::MAX));
                now.insert(labels);
            }
        }
        // The set of names is whole at any time.
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let before = names.insert(id.clone(), now.clone()).unwrap_or_default();
        for gone in before.difference(&now) {
            self.endpoints.remove(gone);
        }
    }

    fn remove(&self, id: &GslbId, object: &Object, tagged: &Tagged) {
        self.errors.remove(object);
        self.reconciliations.remove(object);
        self.healthy.remove(object);
        self.healthy_local.remove(tagged);
        self.share.remove(object);
        self.kept.remove(object);
        for health in [Health::Healthy, Health::Unhealthy, Health::NotFound] {
            for suffix in ["", "_primary", "_secondary"] {
                let labels = InStatus {
                    namespace: object.namespace.clone(),
                    name: object.name.clone(),
                    status: format!("{health}{suffix}"),
                };
                for family in [&self.status, &self.failover, &self.round_robin, &self.geoip] {
                    family.remove(&labels);
                }
            }
        }
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        for gone in names.remove(id).unwrap_or_default() {
            self.endpoints.remove(&gone);
        }
    }
}

#[cfg(test)]
mod tests;
