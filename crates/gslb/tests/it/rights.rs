//! The manifests' rights: a controller that has no others does all its work, and there is none that it does not use.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    sync::{Arc, Mutex},
};

use flotilla_apiserver::{ApiServer, Config as ApiConfig, access::Identity};
use flotilla_dns::catalog::Zones;
use flotilla_gslb::{Config, Environment, Gslb, manifests::manifests};
use flotilla_operator::leader::Settings;
use http::{Method, Request, StatusCode};
use kube::{Client, api::DeleteParams, client::Body};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt, service_fn};

use crate::fleet::{HOST, api, eventually, install, put, slice};

const NAMESPACE: &str = "gslb";
/// Rights that only API servers with an admission plugin ask for, which ours has not.
const UNSEEN: [&str; 3] = [
    "update k8gb.absa.oss gslbs/finalizers",
    "update k8gb.io gslbs/finalizers",
    "update networking.k8s.io ingresses/finalizers",
];

/// `verb group resource`, by what was asked for.
type Rights = BTreeSet<String>;

fn documents() -> Vec<Value> {
    let text = manifests(NAMESPACE, "flotilla:test");
    let documents = text.split("\n---\n");
    documents
        .map(|text| serde_saphyr::from_str(text).unwrap())
        .collect()
}

fn granted(documents: &[Value]) -> Rights {
    let words = |rule: &Value, field: &str| -> Vec<String> {
        serde_json::from_value(rule[field].clone()).unwrap()
    };
    let mut rights = Rights::new();
    for rule in documents
        .iter()
        .filter_map(|document| document["rules"].as_array())
        .flatten()
    {
        for group in words(rule, "apiGroups") {
            for resource in words(rule, "resources") {
                let verbs = words(rule, "verbs").into_iter();
                rights.extend(verbs.map(|verb| format!("{verb} {group} {resource}")));
            }
        }
    }
    rights
}

/// The right that a request needs; none when it is about no resource.
fn needed(method: &Method, path: &str, query: &str) -> Option<String> {
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, rest) = match words[..] {
        ["api", _, ref rest @ ..] => ("", rest),
        ["apis", group, _, ref rest @ ..] => (group, rest),
        _ => return None,
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    let (resource, name, sub) = match rest {
        [resource] => (resource, false, ""),
        [resource, _] => (resource, true, ""),
        [resource, _, sub] => (resource, true, *sub),
        _ => return None,
    };
    let verb = match (method.as_str(), name) {
        ("GET", true) => "get",
        ("GET", false) if query.contains("watch=true") => "watch",
        ("GET", false) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", _) => "delete",
        (other, _) => panic!("{other} {path}"),
    };
    let slash = if sub.is_empty() { "" } else { "/" };
    Some(format!("{verb} {group} {resource}{slash}{sub}"))
}

/// A client with the service account's rights, which notes what it asked for and what it was refused.
fn watched(server: &flotilla_apiserver::Handle) -> (Client, Arc<Mutex<[Rights; 2]>>) {
    let seen = Arc::new(Mutex::new([Rights::new(), Rights::new()]));
    let identity = Identity {
        name: format!("system:serviceaccount:{NAMESPACE}:flotilla-gslb"),
        groups: vec![
            "system:serviceaccounts".into(),
            format!("system:serviceaccounts:{NAMESPACE}"),
            "system:authenticated".into(),
        ],
        ..Identity::default()
    };
    let (service, noted) = (server.client_service(identity), Arc::clone(&seen));
    let client = service_fn(move |request: Request<Body>| {
        let (service, noted) = (service.clone(), Arc::clone(&noted));
        async move {
            let uri = request.uri();
            let query = uri.query().unwrap_or_default();
            let needed = needed(request.method(), uri.path(), query);
            let reply = service.oneshot(request).await?;
            if let Some(right) = needed {
                let mut noted = noted.lock().unwrap();
                if reply.status() == StatusCode::FORBIDDEN {
                    noted[1].insert(right.clone());
                }
                noted[0].insert(right);
            }
            Ok::<_, Infallible>(reply)
        }
    });
    (Client::new(client, "default"), seen)
}

/// Everything that makes the controller write: a Gslb with its Ingress embedded, an annotated Ingress, both changed, a
/// legacy Gslb that moves, and a zone that comes and goes.
async fn work(admin: &Client) {
    let rules = |host: &str| {
        json!([{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix",
            "backend": {"service": {"name": "app", "port": {"name": "http"}}}}]}}])
    };
    let get = async |version: &str, plural: &str, namespace: &str, name: &str| {
        let found = api(admin, version, "X", plural, namespace)
            .get_opt(name)
            .await;
        found
            .unwrap()
            .map(|object| serde_json::to_value(object).unwrap())
    };
    put(
        admin,
        "services",
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": "app"},
            "spec": {"ports": [{"name": "http", "port": 80}]}}),
    )
    .await;
    put(admin, "endpointslices", slice(true)).await;
    for ttl in [5, 6] {
        let host = format!("ttl-{ttl}.cloud.example.com");
        put(
            admin,
            "gslbs",
            json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb",
                "metadata": {"namespace": "default", "name": "embedded",
                    "annotations": {"k8gb.io/exposed-ip-addresses": "10.0.0.1"}},
                "spec": {"strategy": {"type": "roundRobin", "dnsTtlSeconds": ttl}, "ingress": {"rules": rules(&host)}}}),
        )
        .await;
        put(
            admin,
            "ingresses",
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
                "metadata": {"namespace": "default", "name": "annotated", "annotations": {
                    "k8gb.io/strategy": "roundRobin", "k8gb.io/dns-ttl-seconds": ttl.to_string()}},
                "spec": {"rules": rules("annotated.cloud.example.com")}}),
        )
        .await;
        eventually("the embedded Ingress is made, and changed", async || {
            let ingress = get("networking.k8s.io/v1", "ingresses", "default", "embedded").await;
            ingress.is_some_and(|ingress| ingress["spec"]["rules"][0]["host"] == json!(host))
        })
        .await;
        eventually("the Gslb of the Ingress is made, and changed", async || {
            let gslb = get("k8gb.io/v1beta1", "gslbs", "default", "annotated").await;
            gslb.is_some_and(|gslb| gslb["spec"]["strategy"]["dnsTtlSeconds"] == json!(ttl))
        })
        .await;
        eventually("the records are written, and changed", async || {
            let version = "externaldns.k8s.io/v1alpha1";
            let endpoint = get(version, "dnsendpoints", "default", "embedded").await;
            endpoint.is_some_and(|it| it["spec"]["endpoints"][0]["recordTTL"] == json!(ttl))
        })
        .await;
    }
    let legacy = "k8gb.absa.oss/v1beta1";
    for labels in [json!({}), json!({"k8gb.io/migration-requested": "true"})] {
        put(
            admin,
            "gslbs",
            json!({"apiVersion": legacy, "kind": "Gslb",
                "metadata": {"namespace": "default", "name": "old", "labels": labels,
                    "annotations": {"k8gb.io/exposed-ip-addresses": "10.0.0.1"}},
                "spec": {"strategy": {"type": "roundRobin"}, "ingress": {"rules": rules(HOST)}}}),
        )
        .await;
        eventually("the legacy Gslb is carried out", async || {
            let gslb = get(legacy, "gslbs", "default", "old").await;
            gslb.is_some_and(|gslb| gslb["status"].is_object())
        })
        .await;
    }
    eventually("it moves", async || {
        let gslb = get(legacy, "gslbs", "default", "old")
            .await
            .unwrap_or_default();
        gslb["metadata"]["labels"]["k8gb.io/migrated-to-k8gb-io"] == "true"
    })
    .await;
    let version = "k8gb.io/v1beta1";
    put(
        admin,
        "zonedelegations",
        json!({"apiVersion": version, "kind": "ZoneDelegation", "metadata": {"name": "other-example-com"},
            "spec": {"loadBalancedZone": "other.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 5,
                "doFinalize": true}}),
    )
    .await;
    let delegated = async || {
        let version = "externaldns.k8s.io/v1alpha1";
        let name = "k8gb-ns-extdns-other-example-com";
        get(version, "dnsendpoints", NAMESPACE, name)
            .await
            .is_some()
    };
    eventually("the zone is delegated", async || {
        let zone = get(version, "zonedelegations", "", "other-example-com").await;
        let zone = zone.unwrap_or_default();
        delegated().await && zone["status"].is_object() && zone["metadata"]["finalizers"].is_array()
    })
    .await;
    let zones = api(admin, version, "ZoneDelegation", "zonedelegations", "");
    let params = DeleteParams::default();
    zones.delete("other-example-com", &params).await.unwrap();
    eventually("the zone is given up", async || !delegated().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_manifests_grant_what_is_used_and_nothing_else() {
    let server = ApiServer::start(ApiConfig {
        listen: None,
        ..ApiConfig::default()
    })
    .await
    .unwrap();
    let admin = server.client("admin");
    install(&admin).await;
    let documents = documents();
    for document in &documents {
        let plural = format!("{}s", document["kind"].as_str().unwrap().to_lowercase());
        put(&admin, &plural, document.clone()).await;
    }
    let (client, seen) = watched(&server);
    let env = |name: &str| match name {
        "CLUSTER_GEO_TAG" => Some("eu".to_owned()),
        "DNS_ZONES" => Some("example.com:cloud.example.com:5".to_owned()),
        "EDGE_DNS_SERVERS" => Some("127.88.0.9:1".to_owned()),
        "POD_NAMESPACE" => Some(NAMESPACE.to_owned()),
        "EXTDNS_ENABLED" => Some("true".to_owned()),
        _ => None,
    };
    let mut config = Config::parse(&env).unwrap().config;
    config.own_dns = vec![[127, 88, 1, 1].into()];
    let metrics = Gslb::metrics(&mut Registry::default(), &config);
    let environment = Environment {
        client,
        dns: Zones::new(),
        signing: None,
        metrics,
        push: None,
        election: Some(Settings::new(NAMESPACE, "flotilla-gslb", "a")),
        stop: CancellationToken::new(),
    };
    let gslb = Gslb::start(environment, config);
    work(&admin).await;
    // The lease is renewed, and given up at the end.
    eventually("events were written", async || {
        let used = seen.lock().unwrap()[0].clone();
        used.contains("create events.k8s.io events")
            && used.contains("create coordination.k8s.io leases")
    })
    .await;
    gslb.stop().await;
    server.stop().await;

    let [mut used, refused] = seen.lock().unwrap().clone();
    assert_eq!(refused, Rights::new(), "refused");
    // Kinds whose definitions are absent are looked for and would be watched.
    let listed = used.iter().filter_map(|right| right.strip_prefix("list "));
    let watched: Vec<String> = listed.map(|rest| format!("watch {rest}")).collect();
    used.extend(watched);
    used.extend(UNSEEN.map(str::to_owned));
    let granted = granted(&documents);
    let missing: Vec<_> = used.difference(&granted).collect();
    let unused: Vec<_> = granted.difference(&used).collect();
    assert!(
        missing.is_empty() && unused.is_empty(),
        "missing {missing:?}, unused {unused:?}"
    );
}
