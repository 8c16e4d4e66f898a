//! A fleet of clusters and its edge server; agreement and fail-over over real sockets.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use flotilla_apiserver::{ApiServer, Config as ApiConfig};
use flotilla_dns::{
    catalog::{Change, Publish, Zones},
    client,
    message::Question,
    name::Name,
    record::Type,
    server::{self, Grantee, Metrics, Notices, Notifier, NotifierConfig, Server},
    tsig::{Algorithm, Key},
    update::{Grant, Updates, unix_now},
    zone::Settings,
};
use flotilla_gslb::{
    Config, Environment, Gslb, Push,
    config::{PushKey, Update},
    names,
};
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) const HOST: &str = "app.cloud.example.com";

/// One running cluster.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) dns: SocketAddr,
    pub(crate) config: Config,
    pub(crate) zones: Arc<Zones>,
    server: Option<Server>,
    gslb: Option<flotilla_gslb::Handle>,
    api: flotilla_apiserver::Handle,
}

/// A running fleet.
pub(crate) struct Fleet {
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) edge: SocketAddr,
    edge_server: Server,
    stop: CancellationToken,
}

impl Fleet {
    /// Starts clusters with these tags on the addresses `127.<net>.<n>.1`.
    pub(crate) async fn start(net: u8, tags: &[&str], poll: Duration) -> Fleet {
        Fleet::start_with(net, tags, poll, &[]).await
    }

    /// As [`Fleet::start`]; the clusters in `pushing` share a key and push their changes.
    pub(crate) async fn start_with(
        net: u8,
        tags: &[&str],
        poll: Duration,
        pushing: &[&str],
    ) -> Fleet {
        let stop = CancellationToken::new();
        let push_key = PushKey {
            name: "fleet".into(),
            secret: b"0123456789abcdef".to_vec(),
        };
        let zones = Zones::new();
        let parent = Name::parse("example.com").unwrap();
        let settings = Settings::k8gb(parent.clone(), 1, 5, vec![]).unwrap();
        assert!(zones.publish(vec![Change::Zone(settings)]).is_empty());
        let name = Name::parse("fleet").unwrap();
        let key = Key::new(name, Algorithm::HmacSha256, b"secret");
        let mut cfg = server::Config::new("edge", vec![SocketAddr::from(([127, net, 0, 1], 0))]);
        let prefix = "gslb-ns-".to_owned();
        let grants = vec![Grant { key, prefix }];
        cfg.updates = Some(Arc::new(Updates::new(zones.clone(), parent, grants)));
        let edge_server = Server::start(&cfg, &zones, &Metrics::default()).unwrap();
        let edge = edge_server.addresses()[0];
        let mut clusters = Vec::new();
        for (index, tag) in tags.iter().enumerate() {
            let ip = IpAddr::from([127, net, u8::try_from(index + 1).unwrap(), 1]);
            let push_key = Some(&push_key).filter(|_| pushing.contains(tag));
            clusters.push(Cluster::start(tag, tags, ip, edge, poll, push_key, &stop).await);
        }
        Fleet {
            clusters,
            edge,
            edge_server,
            stop,
        }
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        for cluster in self.clusters {
            if let Some(gslb) = cluster.gslb {
                gslb.stop().await;
            }
            if let Some(server) = cluster.server {
                server.stop().await;
            }
            cluster.api.stop().await;
        }
        self.edge_server.stop().await;
    }
}

impl Cluster {
    async fn start(
        tag: &str,
        tags: &[&str],
        ip: IpAddr,
        edge: SocketAddr,
        poll: Duration,
        push_key: Option<&PushKey>,
        stop: &CancellationToken,
    ) -> Cluster {
        let api = ApiServer::start(ApiConfig {
            listen: None,
            ..ApiConfig::default()
        })
        .await
        .unwrap();
        let client = api.client("flotilla-gslb");
        install(&client).await;
        let zones = Zones::timed(unix_now);
        let dns = SocketAddr::new(ip, edge.port());
        let mut cfg = server::Config::new(tag, vec![dns]);
        let push_key = push_key.and_then(PushKey::key);
        let push = push_key.map(|key| {
            cfg.transfer_keys = vec![Grantee {
                key: key.clone(),
                pick: Some(names::is_local_targets),
            }];
            let (sender, notices) = mpsc::channel(64);
            let signer = key.clone();
            cfg.notices = Some(Notices {
                key: signer,
                sender,
            });
            let notifier = NotifierConfig {
                key: Some(key.clone()),
                secondaries: Vec::new(),
                secondaries_key: None,
                source: Some(ip),
            };
            let (notifier, sending) = Notifier::start(&zones, notifier, stop.clone());
            tokio::spawn(sending);
            Push {
                key,
                notifier,
                notices,
            }
        });
        let server = Server::start(&cfg, &zones, &Metrics::default()).unwrap();
        let env = |name: &str| match name {
            "CLUSTER_GEO_TAG" => Some(tag.to_owned()),
            "EXT_GSLB_CLUSTERS_GEO_TAGS" => Some(tags.join(",")),
            "DNS_ZONES" => Some("example.com:cloud.example.com:5".to_owned()),
            "EDGE_DNS_SERVERS" => Some(edge.to_string()),
            "POD_NAMESPACE" => Some("default".to_owned()),
            "EXTDNS_ENABLED" => Some("true".to_owned()),
            _ => None,
        };
        let mut config = Config::parse(&env).unwrap().config;
        config.poll_interval = poll;
        config.own_dns = vec![ip];
        config.update = Some(Update {
            server: edge,
            key_name: "fleet".into(),
            secret: b"secret".to_vec(),
        });
        let metrics = Gslb::metrics(&mut Registry::default(), &config);
        let environment = Environment {
            client: client.clone(),
            dns: zones.clone(),
            signing: None,
            metrics,
            push,
            election: None,
            stop: CancellationToken::new(),
        };
        let gslb = Gslb::start(environment, config.clone());
        Cluster {
            client,
            dns,
            config,
            zones,
            server: Some(server),
            gslb: Some(gslb),
            api,
        }
    }

    /// Starts the controller again, with other settings.
    pub(crate) async fn restart(&mut self, config: Config) {
        let metrics = Gslb::metrics(&mut Registry::default(), &config);
        let environment = Environment {
            client: self.client.clone(),
            dns: self.zones.clone(),
            signing: None,
            metrics,
            push: None,
            election: None,
            stop: CancellationToken::new(),
        };
        if let Some(old) = self.gslb.take() {
            old.stop().await;
        }
        self.gslb = Some(Gslb::start(environment, config.clone()));
        self.config = config;
    }

    /// Stops the DNS server.
    pub(crate) async fn stop_dns(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    /// Starts the DNS server again, without keys.
    pub(crate) fn start_dns_without_key(&mut self) {
        let cfg = server::Config::new("again", vec![self.dns]);
        self.server = Some(Server::start(&cfg, &self.zones, &Metrics::default()).unwrap());
    }

    /// Creates or changes an object; a status in it is written as well.
    pub(crate) async fn put(&self, plural: &str, object: Value) {
        put(&self.client, plural, object).await;
    }

    pub(crate) async fn get(
        &self,
        api_version: &str,
        plural: &str,
        namespace: &str,
        name: &str,
    ) -> Option<Value> {
        let api = api(&self.client, api_version, "X", plural, namespace);
        api.get_opt(name)
            .await
            .unwrap()
            .map(|object| serde_json::to_value(object).unwrap())
    }

    pub(crate) async fn dig(&self, name: &str) -> String {
        dig(self.dns, name).await
    }
}

pub(crate) fn api(
    client: &Client,
    api_version: &str,
    kind: &str,
    plural: &str,
    namespace: &str,
) -> Api<DynamicObject> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let gvk = GroupVersionKind::gvk(group, version, kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
    if namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, &resource)
    }
}

pub(crate) async fn put(client: &Client, plural: &str, object: Value) {
    let text = |path: &str| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
    let api = api(
        client,
        &text("/apiVersion"),
        &text("/kind"),
        plural,
        &namespace,
    );
    let typed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    if api.get_opt(&name).await.unwrap().is_none() {
        api.create(&PostParams::default(), &typed).await.unwrap();
    } else {
        api.patch(&name, &PatchParams::default(), &Patch::Merge(&object))
            .await
            .unwrap();
    }
    if object["status"].is_object() {
        let status = json!({ "status": object["status"] });
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status))
            .await
            .unwrap();
    }
}

/// Installs our definitions and waits until they are served.
pub(crate) async fn install(client: &Client) {
    for crd in flotilla_api::crd::documents() {
        put(client, "customresourcedefinitions", crd).await;
    }
    for (group, plural) in [
        ("k8gb.io/v1beta1", "gslbs"),
        ("externaldns.k8s.io/v1alpha1", "dnsendpoints"),
    ] {
        eventually("the definitions are served", async || {
            api(client, group, "X", plural, "default")
                .list(&Default::default())
                .await
                .is_ok()
        })
        .await;
    }
}

pub(crate) async fn dig(server: SocketAddr, name: &str) -> String {
    let question = Question {
        name: Name::parse(name).unwrap(),
        rtype: Type::A,
    };
    let report = client::ask(&question, &[server], &client::Config::default()).await;
    let mut ips = report.outcome.addresses();
    ips.sort();
    ips.iter()
        .map(IpAddr::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Waits for a state, at most 20 s.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let start = now();
    while !holds().await {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "it never came true that {what}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    start.elapsed()
}

#[expect(clippy::disallowed_methods, reason = "the test measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn slice(ready: bool) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"namespace": "default", "name": "app-1", "labels": {"kubernetes.io/service-name": "app"}},
        "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": ready}}],
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
    })
}

/// Service, slice, Ingress with an address, and a Gslb.
pub(crate) async fn application(cluster: &Cluster, address: &str, strategy: Value) {
    cluster
        .put(
            "services",
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": "app"},
                "spec": {"ports": [{"name": "http", "port": 80}]}}),
        )
        .await;
    cluster.put("endpointslices", slice(true)).await;
    cluster
        .put(
            "ingresses",
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
                "metadata": {"namespace": "default", "name": "app"},
                "spec": {"rules": [{"host": HOST, "http": {"paths": [{"path": "/", "pathType": "Prefix",
                    "backend": {"service": {"name": "app", "port": {"name": "http"}}}}]}}]},
                "status": {"loadBalancer": {"ingress": [{"ip": address}]}}}),
        )
        .await;
    cluster
        .put(
            "gslbs",
            json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb",
                "metadata": {"namespace": "default", "name": "app"},
                "spec": {"strategy": strategy, "resourceRef":
                    {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "app"}}}),
        )
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_fleet_fails_over_by_dns_alone() {
    let poll = Duration::from_secs(1);
    let fleet = Fleet::start(81, &["eu", "us", "za"], poll).await;
    let addresses = ["10.0.0.1", "10.1.0.1", "10.2.0.1"];
    for (cluster, address) in fleet.clusters.iter().zip(addresses) {
        let strategy = json!({"type": "failover", "primaryGeoTag": "eu", "dnsTtlSeconds": 5});
        application(cluster, address, strategy).await;
    }
    let agree = async |expected: &str| {
        for cluster in &fleet.clusters {
            if cluster.dig(HOST).await != expected {
                return false;
            }
        }
        true
    };
    eventually("everybody answers with the primary", async || {
        agree("10.0.0.1").await
    })
    .await;

    let flipped = now();
    fleet.clusters[0].put("endpointslices", slice(false)).await;
    eventually("the primary itself stops", async || {
        fleet.clusters[0].dig(HOST).await != "10.0.0.1"
    })
    .await;
    let local = flipped.elapsed();
    eventually("everybody fails over", async || {
        agree("10.1.0.1 10.2.0.1").await
    })
    .await;
    let everybody = flipped.elapsed();
    println!("local {local:?}, everybody {everybody:?}");
    assert!(everybody < poll + Duration::from_secs(1), "{everybody:?}");

    fleet.clusters[0].put("endpointslices", slice(true)).await;
    eventually("everybody returns", async || agree("10.0.0.1").await).await;
    let eu = &fleet.clusters[0];
    let status = || async {
        let gslb = eu
            .get("k8gb.io/v1beta1", "gslbs", "default", "app")
            .await
            .unwrap();
        gslb["status"].clone()
    };
    eventually("the status follows", async || {
        status().await["healthyRecords"] == json!({ HOST: ["10.0.0.1"] })
    })
    .await;
    let endpoint = eu
        .get(
            "externaldns.k8s.io/v1alpha1",
            "dnsendpoints",
            "default",
            "app",
        )
        .await
        .unwrap();
    assert_eq!(endpoint["metadata"]["labels"]["k8gb.io/dnstype"], "local");
    let name = "k8gb-ns-extdns-cloud-example-com";
    eventually("the delegation names all three", async || {
        let endpoint = eu
            .get(
                "externaldns.k8s.io/v1alpha1",
                "dnsendpoints",
                "default",
                name,
            )
            .await;
        endpoint.is_some_and(|e| {
            e["spec"]["endpoints"][0]["targets"]
                .as_array()
                .map(Vec::len)
                == Some(3)
        })
    })
    .await;
    let question = Question {
        name: Name::parse("cloud.example.com").unwrap(),
        rtype: Type::NS,
    };
    let report = client::ask(&question, &[fleet.edge], &client::Config::default()).await;
    let text = format!("{:?}", report.outcome);
    assert!(
        text.contains("gslb-ns-za-cloud.example.com"),
        "the edge server delegates: {text}"
    );

    let quiet = eu
        .get("k8gb.io/v1beta1", "gslbs", "default", "app")
        .await
        .unwrap();
    tokio::time::sleep(2 * poll).await;
    let later = eu
        .get("k8gb.io/v1beta1", "gslbs", "default", "app")
        .await
        .unwrap();
    assert_eq!(
        quiet["metadata"]["resourceVersion"], later["metadata"]["resourceVersion"],
        "no spurious writes"
    );
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_zone_is_served_soon_after_its_object() {
    let fleet = Fleet::start(82, &["eu"], Duration::from_secs(5)).await;
    let eu = &fleet.clusters[0];
    eventually("the first zone is there", async || {
        eu.zones.snapshot().zones().len() == 1
    })
    .await;
    let start = now();
    eu.put(
        "zonedelegations",
        json!({"apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation", "metadata": {"name": "second"},
            "spec": {"loadBalancedZone": "second.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 5}}),
    )
    .await;
    let question = Question {
        name: Name::parse("second.example.com").unwrap(),
        rtype: Type::SOA,
    };
    eventually("the new zone answers", async || {
        let report = client::ask(&question, &[eu.dns], &client::Config::default()).await;
        matches!(report.outcome, client::Outcome::Answer(_))
    })
    .await;
    println!("zone answered after {:?}", start.elapsed());
    fleet.stop().await;
}
