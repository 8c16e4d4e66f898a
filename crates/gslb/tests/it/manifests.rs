//! Every manifest under examples/gslb does what its comments say.
//!
//! The comments are the expectations: `# expect: health HOST WORD`, `answer HOST ours|nothing|ADDRESSES`,
//! `ttl NAME SECONDS`, `label HOST KEY ours`, `condition TYPE STATUS REASON`, `reason WORD FIELD` for the condition Ready and
//! the Warning event, and `refused FIELD` for manifests the API server does not take.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use crate::fleet::{Cluster, Fleet, api, eventually};

/// The address this cluster's load balancers get.
const OURS: &str = "10.0.0.1";

struct Manifest {
    name: String,
    expectations: Vec<Vec<String>>,
    documents: Vec<Value>,
}

fn manifests() -> Vec<Manifest> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/gslb");
    let mut manifests: Vec<Manifest> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let expectations = text
                .lines()
                .filter_map(|line| line.strip_prefix("# expect: "))
                .map(|line| line.split_whitespace().map(str::to_owned).collect())
                .collect();
            let documents = text
                .split("\n---\n")
                .skip(1)
                .map(|document| serde_saphyr::from_str(document).unwrap())
                .collect();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            Manifest {
                name,
                expectations,
                documents,
            }
        })
        .collect();
    manifests.sort_by(|a, b| a.name.cmp(&b.name));
    manifests
}

fn plural(kind: &str) -> &'static str {
    match kind {
        "Namespace" => "namespaces",
        "Service" => "services",
        "EndpointSlice" => "endpointslices",
        "Ingress" => "ingresses",
        "Gslb" => "gslbs",
        other => panic!("no plural of {other}"),
    }
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value
        .pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Creates the objects; returns what the API server said to the one it refused.
async fn create(eu: &Cluster, manifest: &Manifest) -> Option<String> {
    for document in &manifest.documents {
        let kind = text(document, "/kind");
        let namespace = text(document, "/metadata/namespace");
        let api = api(
            &eu.client,
            text(document, "/apiVersion"),
            kind,
            plural(kind),
            namespace,
        );
        let object = serde_json::from_value(document.clone()).unwrap();
        if let Err(error) = api.create(&PostParams::default(), &object).await {
            return Some(error.to_string());
        }
    }
    None
}

/// Gives every load balancer its address, as the cluster's address pool does.
async fn give_addresses(eu: &Cluster) {
    for (api_version, kind) in [("networking.k8s.io/v1", "Ingress"), ("v1", "Service")] {
        let all = api(&eu.client, api_version, kind, plural(kind), "");
        for object in all.list(&ListParams::default()).await.unwrap().items {
            let object = serde_json::to_value(object).unwrap();
            let wants = kind == "Ingress" || text(&object, "/spec/type") == "LoadBalancer";
            if wants && text(&object, "/status/loadBalancer/ingress/0/ip") != OURS {
                let status = json!({"loadBalancer": {"ingress": [{"ip": OURS}]}});
                let object = json!({"apiVersion": api_version, "kind": kind, "status": status,
                    "metadata": {"name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"]}});
                eu.put(plural(kind), object).await;
            }
        }
    }
}

/// The Gslb of a manifest as it is now, or an empty object.
async fn gslb(eu: &Cluster, manifest: &Manifest) -> Value {
    let of_group = |group: &str| {
        manifest
            .documents
            .iter()
            .find(|d| text(d, "/apiVersion").starts_with(group))
            .cloned()
    };
    let namespace = text(&manifest.documents[0], "/metadata/name").to_owned();
    let (version, name) = match of_group("k8gb") {
        Some(d) => (
            text(&d, "/apiVersion").to_owned(),
            text(&d, "/metadata/name").to_owned(),
        ),
        None => ("k8gb.io/v1beta1".to_owned(), "app".to_owned()),
    };
    eu.get(&version, "gslbs", &namespace, &name)
        .await
        .unwrap_or(Value::Null)
}

/// Whether one expectation holds now.
async fn holds(eu: &Cluster, manifest: &Manifest, expectation: &[String]) -> bool {
    let ours = |text: &str| {
        if text == "ours" {
            OURS.to_owned()
        } else {
            text.to_owned()
        }
    };
    let words: Vec<&str> = expectation.iter().map(String::as_str).collect();
    match words[..] {
        ["health", host, health] => {
            let gslb = gslb(eu, manifest).await;
            gslb["status"]["serviceHealth"][host] == json!(health)
        }
        ["answer", host, "nothing"] => eu.dig(host).await.is_empty(),
        ["answer", host, ..] => {
            let expected: Vec<String> = words[2..].iter().map(|word| ours(word)).collect();
            eu.dig(host).await == expected.join(" ")
        }
        ["ttl", name, seconds] => {
            endpoint(eu, manifest, name).await["recordTTL"]
                == json!(seconds.parse::<i64>().unwrap())
        }
        ["label", host, label, value] => {
            endpoint(eu, manifest, host).await["labels"][label] == json!(ours(value))
        }
        ["condition", kind, status, reason] => {
            let gslb = gslb(eu, manifest).await;
            let conditions = gslb["status"]["conditions"].as_array().cloned();
            conditions.unwrap_or_default().iter().any(|c| {
                c["type"] == json!(kind)
                    && c["status"] == json!(status)
                    && c["reason"] == json!(reason)
            })
        }
        ["reason", reason, field] => {
            let gslb = gslb(eu, manifest).await;
            let condition = &gslb["status"]["conditions"][0];
            let said = text(condition, "/message").contains(field);
            condition["reason"] == json!(reason) && said && warned(eu, manifest, field).await
        }
        _ => panic!("{}: nobody understands {words:?}", manifest.name),
    }
}

/// The first entry of the manifest's DNSEndpoint for a name.
async fn endpoint(eu: &Cluster, manifest: &Manifest, name: &str) -> Value {
    let namespace = text(&manifest.documents[0], "/metadata/name");
    let all = api(
        &eu.client,
        "externaldns.k8s.io/v1alpha1",
        "DNSEndpoint",
        "dnsendpoints",
        namespace,
    );
    let objects = all.list(&ListParams::default()).await.unwrap().items;
    let entries = objects.iter().flat_map(|o| {
        o.data["spec"]["endpoints"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    });
    entries
        .into_iter()
        .find(|entry| entry["dnsName"] == json!(name))
        .unwrap_or(Value::Null)
}

async fn warned(eu: &Cluster, manifest: &Manifest, field: &str) -> bool {
    let namespace = text(&manifest.documents[0], "/metadata/name");
    let events = api(&eu.client, "events.k8s.io/v1", "Event", "events", namespace);
    let events = events.list(&ListParams::default()).await.unwrap().items;
    events
        .iter()
        .any(|event| event.data["type"] == "Warning" && text(&event.data, "/note").contains(field))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_example_does_what_its_comments_say() {
    let fleet = Fleet::start(83, &["eu"], Duration::from_secs(1)).await;
    let eu = &fleet.clusters[0];
    let manifests = manifests();
    assert!(manifests.len() >= 18);
    let mut refused = BTreeMap::new();
    for manifest in &manifests {
        assert!(
            !manifest.expectations.is_empty(),
            "{} says nothing",
            manifest.name
        );
        if let Some(error) = create(eu, manifest).await {
            refused.insert(manifest.name.as_str(), error);
        }
    }
    for manifest in &manifests {
        for expectation in &manifest.expectations {
            if let ["refused", field] =
                &expectation.iter().map(String::as_str).collect::<Vec<_>>()[..]
            {
                let error = refused.get(manifest.name.as_str()).expect("it is refused");
                assert!(error.contains(field), "{}: {error}", manifest.name);
                continue;
            }
            assert_eq!(
                refused.get(manifest.name.as_str()),
                None,
                "{}",
                manifest.name
            );
            eventually(
                &format!("{}: {}", manifest.name, expectation.join(" ")),
                async || {
                    give_addresses(eu).await;
                    holds(eu, manifest, expectation).await
                },
            )
            .await;
        }
    }
    fleet.stop().await;
}
