//! A Gslb of the legacy group moves to the current one.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fleet::{Cluster, Fleet, HOST, api, eventually, slice};

const LEGACY: &str = "k8gb.absa.oss/v1beta1";

async fn get(cluster: &Cluster, api_version: &str, plural: &str) -> Value {
    let found = cluster.get(api_version, plural, "default", "app").await;
    found.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_legacy_gslb_moves_with_everything_it_owns() {
    let fleet = Fleet::start(86, &["eu"], Duration::from_secs(1)).await;
    let eu = &fleet.clusters[0];
    eu.put(
        "services",
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": "app"},
            "spec": {"ports": [{"name": "http", "port": 80}]}}),
    )
    .await;
    eu.put("endpointslices", slice(true)).await;
    let legacy = |labels: Value| {
        json!({"apiVersion": LEGACY, "kind": "Gslb",
            "metadata": {"namespace": "default", "name": "app", "labels": labels,
                "annotations": {"k8gb.io/exposed-ip-addresses": "10.0.0.1"}},
            "spec": {"strategy": {"type": "roundRobin", "dnsTtlSeconds": 5}, "ingress": {"rules": [
                {"host": HOST, "http": {"paths": [{"path": "/", "pathType": "Prefix",
                    "backend": {"service": {"name": "app", "port": {"name": "http"}}}}]}}]}}})
    };
    eu.put("gslbs", legacy(json!({}))).await;
    eventually("the legacy object is carried out", async || {
        eu.dig(HOST).await == "10.0.0.1"
    })
    .await;

    let asked = json!({"k8gb.io/migration-requested": "true"});
    eu.put("gslbs", legacy(asked)).await;
    eventually("it has moved", async || {
        assert_eq!(eu.dig(HOST).await, "10.0.0.1", "answered all the time");
        let labels = &get(eu, LEGACY, "gslbs").await["metadata"]["labels"];
        labels["k8gb.io/migrated-to-k8gb-io"] == "true"
    })
    .await;
    let copy = get(eu, "k8gb.io/v1beta1", "gslbs").await;
    assert_eq!(copy["spec"]["resourceRef"]["name"], "app");
    let ingress = get(eu, "networking.k8s.io/v1", "ingresses").await;
    assert_eq!(ingress["metadata"]["ownerReferences"], Value::Null);
    let endpoint = get(eu, "externaldns.k8s.io/v1alpha1", "dnsendpoints").await;
    let owners = endpoint["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1);
    assert_eq!(owners[0]["uid"], copy["metadata"]["uid"]);

    let gslbs = api(&eu.client, LEGACY, "Gslb", "gslbs", "default");
    gslbs.delete("app", &Default::default()).await.unwrap();
    eventually("the legacy object may go", async || {
        get(eu, LEGACY, "gslbs").await == Value::Null
    })
    .await;
    assert_eq!(eu.dig(HOST).await, "10.0.0.1");
    let events = api(&eu.client, "events.k8s.io/v1", "Event", "events", "default");
    eventually("the events say so", async || {
        let list = events.list(&Default::default()).await.unwrap();
        let has = |reason: &str, kind: &str| {
            list.items.iter().any(|event| {
                event.data["reason"] == reason
                    && event.data["type"] == kind
                    && event.data["reportingController"] == "legacy-gslb-migrator"
            })
        };
        has("LegacyDeprecated", "Warning")
            && has("LegacyMigrated", "Normal")
            && has("LegacyIgnored", "Warning")
    })
    .await;
    fleet.stop().await;
}
