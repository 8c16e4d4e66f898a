//! One cluster of the process: its API server, its DNS server and the controllers that work on it.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use flotilla_apiserver::auth::token_file::TokenFile;
use flotilla_apiserver::engine::Limits;
use flotilla_apiserver::{ApiServer, Config, Error, Handle, kubeconfig};
use flotilla_controllers::Metrics as ControllerMetrics;
use flotilla_dns::server::{self, Metrics as DnsMetrics};
use flotilla_gslb::config::Update;
use flotilla_gslb::controller::{Environment, Gslb, Handle as GslbHandle};
use flotilla_telemetry::metrics::{Registry, SharedRegistry};
use ipnet::{IpNet, Ipv4Net};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::environment;
use crate::geo::Follow;
use crate::nameserver::{Copies, Keeping, NameServer};
use crate::open_files;
use crate::plan::{ClusterPlan, Plan};

/// Addresses each LoadBalancer Service and Ingress gets: two, so that losing one is visible in
/// answers and not the end of them.
const ADDRESSES_EACH: usize = 2;
/// Seconds a negative answer of the balanced zone may be cached; k8gb's chart has the same.
const NEGATIVE_TTL_SECONDS: u32 = 30;
/// Group of Gslbs before k8gb v0.19.
pub(crate) const LEGACY_GROUP: &str = "k8gb.absa.oss";
/// Longest wait before a cluster looks again who else serves the zone.
const ZONE_INTERVAL_MAX: Duration = Duration::from_secs(30);
/// Wait when polling is off: the zone's servers are then looked up at this pace.
const ZONE_INTERVAL_MIN: Duration = Duration::from_secs(1);

/// A cluster whose API server is ready.
pub(crate) struct Cluster {
    plan: ClusterPlan,
    dns: NameServer,
    api: Handle,
    address: SocketAddr,
    work: Option<Work>,
}

/// What works on a cluster.
struct Work {
    gslb: GslbHandle,
    controllers: JoinHandle<()>,
    stop: CancellationToken,
}

impl Cluster {
    /// Starts the API server of a cluster, which also accepts `tokens`; when this returns it is
    /// ready. `dns` answers already.
    pub(crate) async fn start(
        plan: &ClusterPlan,
        dns: NameServer,
        tokens: &TokenFile,
    ) -> Result<Self> {
        let mut limits = Limits::default();
        // The other half is for files, DNS and what this process asks of others.
        limits.connections_max = limits.connections_max.min(open_files::max() / 2);
        let config = Config {
            limits,
            data_dir: plan.data_dir.clone(),
            listen: Some(plan.api),
            tokens: tokens.clone(),
            service_cidrs: plan.service_cidrs.clone(),
            ..Config::default()
        };
        let api = ApiServer::start(config)
            .await
            .map_err(|error| explain(plan, error))?;
        let address = api.address().context("the API server listens")?;
        Ok(Self {
            plan: plan.clone(),
            dns,
            api,
            address,
            work: None,
        })
    }

    /// Starts controllers and load balancing. `update` says how the cluster adds itself to the
    /// parent zone.
    pub(crate) async fn work(
        &mut self,
        fleet: &Plan,
        update: Option<Update>,
        registry: &SharedRegistry,
    ) -> Result<()> {
        let stop = CancellationToken::new();
        let config = gslb_config(&self.plan, fleet, update, &environment::variable)?;
        if let Some(settings) = &config.geo {
            let following = Follow::new(settings, self.dns.geo()).run();
            tokio::spawn(stop.clone().run_until_cancelled_owned(following));
        }
        let (controller_metrics, gslb_metrics) = registry.with(|registry| {
            let registry = of_cluster(registry, &self.plan, fleet);
            (
                ControllerMetrics::register(registry),
                Gslb::metrics(registry, &config),
            )
        });
        self.install_definitions().await?;
        let controllers = flotilla_controllers::Config {
            root_ca: self.api.pki().ca.certificate.clone(),
            pool: load_balancer_addresses(self.plan.pool),
            addresses_each: ADDRESSES_EACH,
        };
        let controllers = tokio::spawn(flotilla_controllers::run(
            self.api.client("kube-controller-manager"),
            controllers,
            controller_metrics,
            stop.clone(),
        ));
        self.api.set_controllers_run(true);
        let environment = Environment {
            client: self.api.client("k8gb"),
            dns: self.dns.publisher(),
            signing: self.dns.signing(),
            metrics: gslb_metrics,
            push: self.dns.take_push(),
            // The only one that works on this cluster is this process.
            election: None,
            stop: stop.clone(),
        };
        let gslb = Gslb::start(environment, config);
        self.work = Some(Work {
            gslb,
            controllers,
            stop,
        });
        Ok(())
    }

    /// Where the API server listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The cluster's part of the kubeconfig.
    pub(crate) fn context(&self) -> Option<kubeconfig::Context> {
        self.api.kubeconfig(&self.plan.name)
    }

    /// Stops everything that works on the cluster, then the API server.
    pub(crate) async fn stop(self) {
        if let Some(work) = self.work {
            work.stop.cancel();
            self.api.set_controllers_run(false);
            work.gslb.stop().await;
            // A panic there was reported when it happened.
            let _ = work.controllers.await;
        }
        self.dns.stop().await;
        self.api.stop().await;
    }

    /// Installs the definitions of the resources we serve; again and again gives the same.
    async fn install_definitions(&self) -> Result<()> {
        let api: Api<CustomResourceDefinition> = Api::all(self.api.client("flotilla"));
        let params = PatchParams::apply("flotilla").force();
        // The legacy group is for those who move over and install it themselves; with both groups
        // present, `kubectl get gslb` would mean the old one.
        let current = |definition: &CustomResourceDefinition| definition.spec.group != LEGACY_GROUP;
        for definition in flotilla_api::crds().into_iter().filter(current) {
            let name = definition.metadata.name.clone().unwrap_or_default();
            let applied = api.patch(&name, &params, &Patch::Apply(&definition)).await;
            applied.with_context(|| format!("cannot install the definition {name}"))?;
        }
        Ok(())
    }
}

/// Starts the DNS server of a cluster: first of all, because it can answer from what it remembers.
pub(crate) fn name_server(
    plan: &ClusterPlan,
    fleet: &Plan,
    copies: Copies,
    registry: &SharedRegistry,
) -> Result<NameServer> {
    let metrics =
        registry.with(|registry| DnsMetrics::registered(of_cluster(registry, plan, fleet)));
    let name = &plan.name;
    let config = server::Config::new(name, vec![plan.dns]);
    let keeping = Keeping {
        folder: plan.data_dir.as_deref(),
        key: None,
        sign: fleet.dnssec,
    };
    NameServer::start(config, copies, keeping, &metrics)
        .with_context(|| format!("cannot serve DNS for cluster {name:?}; {DNS_HINT}"))
}

/// Where the metrics of a cluster go. Peers' dashboards know no cluster label, so a single cluster
/// has none.
fn of_cluster<'a>(
    registry: &'a mut Registry,
    plan: &ClusterPlan,
    fleet: &Plan,
) -> &'a mut Registry {
    if fleet.edge.is_none() {
        return registry;
    }
    registry.sub_registry_with_label(("cluster".into(), plan.name.clone().into()))
}

/// A cluster's block without its first eight addresses, which are for servers such as DNS at .1.
fn load_balancer_addresses(block: Ipv4Net) -> Vec<IpNet> {
    let [a, b, c, _] = block.network().octets();
    let part = |first, prefix| IpNet::V4(Ipv4Net::new_assert([a, b, c, first].into(), prefix));
    vec![
        part(8, 29),
        part(16, 28),
        part(32, 27),
        part(64, 26),
        part(128, 25),
    ]
}

/// The way out when a DNS address is taken.
pub(crate) const DNS_HINT: &str = "--dns-port chooses another port";

/// The GSLB's settings, by way of the variables that k8gb's users know. The geo database is the one setting that `surroundings`, the
/// process's environment, may give: it is a file of this machine and the same for every cluster.
fn gslb_config(
    cluster: &ClusterPlan,
    fleet: &Plan,
    update: Option<Update>,
    surroundings: &dyn Fn(&str) -> Option<String>,
) -> Result<flotilla_gslb::config::Config> {
    let others: Vec<&str> = fleet
        .clusters
        .iter()
        .map(|other| other.name.as_str())
        .filter(|name| *name != cluster.name)
        .collect();
    let edge = fleet.edge.as_ref().map_or(cluster.dns, |edge| edge.server);
    let zones = format!(
        "{}:{}:{NEGATIVE_TTL_SECONDS}",
        fleet.parent_zone, fleet.zone
    );
    let source = |name: &str| match name {
        "CLUSTER_GEO_TAG" => Some(cluster.name.clone()),
        "EXT_GSLB_CLUSTERS_GEO_TAGS" => Some(others.join(",")),
        "DNS_ZONES" => Some(zones.clone()),
        "EDGE_DNS_SERVERS" => Some(edge.to_string()),
        "FLOTILLA_GEO_DATABASE" | "FLOTILLA_GEO_FIELDS" => surroundings(name),
        _ => None,
    };
    let parsed = flotilla_gslb::config::Config::parse(&source).map_err(|mistakes| {
        let lines: Vec<String> = mistakes
            .iter()
            .map(|mistake| format!("{}: {}", mistake.name, mistake.hint))
            .collect();
        anyhow::anyhow!(
            "cluster {:?} cannot balance load: {}",
            cluster.name,
            lines.join("; ")
        )
    })?;
    let mut config = parsed.config;
    config.poll_interval = fleet.poll_interval;
    config.zone_interval = fleet
        .poll_interval
        .clamp(ZONE_INTERVAL_MIN, ZONE_INTERVAL_MAX);
    config.own_dns = vec![cluster.dns.ip()];
    config.update = update;
    Ok(config)
}

/// The error with the cluster it concerns and the flag that is the way out.
fn explain(plan: &ClusterPlan, error: Error) -> anyhow::Error {
    let name = &plan.name;
    let text = match (&error, &plan.data_dir) {
        (Error::Serve(_), _) => {
            format!("cannot start cluster {name:?}; --port chooses another port")
        }
        (Error::Store(_) | Error::Pki(_), Some(folder)) => format!(
            "cannot keep cluster {name:?} in {}; --data-dir chooses another folder",
            folder.display()
        ),
        _ => format!("cannot start cluster {name:?}"),
    };
    anyhow::Error::new(error).context(text)
}

#[cfg(test)]
mod tests;
