//! Two replicas on one cluster: both answer, one writes, and the other takes over.

use std::{sync::Arc, time::Duration};

use flotilla_apiserver::{ApiServer, Config as ApiConfig};
use flotilla_dns::{
    catalog::Zones,
    server::{self, Metrics, Server},
};
use flotilla_gslb::{Config, Environment, Gslb, Handle};
use flotilla_operator::leader::Settings;
use kube::{Api, Client};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fleet::{HOST, api, dig, eventually, install, put, slice};

struct Replica {
    gslb: Handle,
    dns: Server,
}

async fn replica(client: &Client, identity: &str, ip: [u8; 4]) -> Replica {
    let zones: Arc<Zones> = Zones::new();
    let listen = vec![std::net::SocketAddr::from((ip, 0))];
    let cfg = server::Config::new(identity, listen);
    let dns = Server::start(&cfg, &zones, &Metrics::default()).unwrap();
    let env = |name: &str| match name {
        "CLUSTER_GEO_TAG" => Some("eu".to_owned()),
        "DNS_ZONES" => Some("example.com:cloud.example.com:5".to_owned()),
        "EDGE_DNS_SERVERS" => Some("127.85.0.9:1".to_owned()),
        "POD_NAMESPACE" => Some("default".to_owned()),
        _ => None,
    };
    let mut config = Config::parse(&env).unwrap().config;
    config.own_dns = vec![ip.into()];
    let metrics = Gslb::metrics(&mut Registry::default(), &config);
    let election = Settings {
        lease: Duration::from_secs(2),
        deadline: Duration::from_secs(1),
        retry: Duration::from_millis(100),
        ..Settings::new("default", "flotilla-gslb", identity)
    };
    let environment = Environment {
        client: client.clone(),
        dns: zones,
        signing: None,
        metrics,
        push: None,
        election: Some(election),
        stop: CancellationToken::new(),
    };
    let gslb = Gslb::start(environment, config);
    Replica { gslb, dns }
}

async fn holder(client: &Client) -> String {
    let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
        Api::namespaced(client.clone(), "default");
    let lease = leases.get_opt("flotilla-gslb").await.unwrap();
    lease
        .and_then(|lease| lease.spec?.holder_identity)
        .unwrap_or_default()
}

async fn status(client: &Client) -> Value {
    let gslbs = api(client, "k8gb.io/v1beta1", "Gslb", "gslbs", "default");
    let gslb = gslbs.get_opt("app").await.unwrap();
    gslb.map_or(Value::Null, |gslb| gslb.data["status"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replicas_all_answer_and_one_writes() {
    let config = ApiConfig {
        listen: None,
        ..ApiConfig::default()
    };
    let server = ApiServer::start(config).await.unwrap();
    let client = server.client("flotilla-gslb");
    install(&client).await;
    let a = replica(&client, "a", [127, 85, 1, 1]).await;
    eventually("a leads", async || holder(&client).await == "a").await;
    let b = replica(&client, "b", [127, 85, 2, 1]).await;
    let objects = [
        (
            "services",
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": "app"},
            "spec": {"ports": [{"name": "http", "port": 80}]}}),
        ),
        ("endpointslices", slice(true)),
        (
            "ingresses",
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"namespace": "default", "name": "app"},
            "spec": {"rules": [{"host": HOST, "http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "app", "port": {"name": "http"}}}}]}}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}),
        ),
        (
            "gslbs",
            json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "metadata": {"namespace": "default", "name": "app"},
            "spec": {"strategy": {"type": "roundRobin"}, "resourceRef":
                {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "app"}}}),
        ),
    ];
    for (plural, object) in objects {
        put(&client, plural, object).await;
    }
    eventually("both replicas answer", async || {
        let (one, two) = (a.dns.addresses()[0], b.dns.addresses()[0]);
        dig(one, HOST).await == "10.0.0.1" && dig(two, HOST).await == "10.0.0.1"
    })
    .await;
    eventually("the leader wrote the status", async || {
        status(&client).await["serviceHealth"] == json!({ HOST: "Healthy" })
    })
    .await;
    // The leader is gone without a word, as after a kill: its lease has to end first.
    let Replica { gslb, dns } = a;
    gslb.abort();
    put(&client, "endpointslices", slice(false)).await;
    eventually("the other one answers for the change at once", async || {
        dig(b.dns.addresses()[0], HOST).await.is_empty()
    })
    .await;
    eventually("b leads", async || holder(&client).await == "b").await;
    eventually("b writes what a left undone", async || {
        status(&client).await["serviceHealth"] == json!({ HOST: "Unhealthy" })
    })
    .await;
    // One that stops properly gives the lease up.
    b.gslb.stop().await;
    assert_eq!(holder(&client).await, "");
    dns.stop().await;
    b.dns.stop().await;
    server.stop().await;
}
