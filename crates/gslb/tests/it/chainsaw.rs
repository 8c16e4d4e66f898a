//! k8gb's chainsaw scenario `cluster-exposed-ips`, which changes a setting of the controller and starts it again. The
//! other twelve run on whole processes, in `crates/cli/tests/it/chainsaw*.rs`.
//!
//! Source: k8gb v0.21 `chainsaw/tests/cluster-exposed-ips`.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::fleet::{Cluster, Fleet, HOST, api, application, eventually};

/// Targets of a name in a DNSEndpoint.
async fn targets(cluster: &Cluster, object: &str, name: &str) -> Vec<String> {
    let endpoint = cluster
        .get(
            "externaldns.k8s.io/v1alpha1",
            "dnsendpoints",
            "default",
            object,
        )
        .await
        .unwrap_or_default();
    let entries = endpoint["spec"]["endpoints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let entry = entries
        .iter()
        .find(|entry| entry["dnsName"] == name && entry["recordType"] == "A");
    let targets = entry.and_then(|entry| entry["targets"].as_array());
    let texts = targets.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

async fn expect(cluster: &Cluster, glue: &[&str], own: &[&str]) {
    let local = format!("localtargets-{HOST}");
    for (object, name, expected) in [
        (
            "k8gb-ns-extdns-cloud-example-com",
            "gslb-ns-eu-cloud.example.com",
            glue,
        ),
        ("app", local.as_str(), own),
        ("app", HOST, own),
    ] {
        eventually(&format!("{name} is {expected:?}"), async || {
            targets(cluster, object, name).await == expected
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cluster_exposed_ips() {
    let mut fleet = Fleet::start(89, &["eu", "us"], Duration::from_secs(1)).await;
    let eu = &mut fleet.clusters[0];
    let failover = json!({"type": "failover", "primaryGeoTag": "eu"});
    application(eu, "10.0.0.1", failover).await;
    expect(eu, &["127.89.1.1"], &["10.0.0.1"]).await;

    let before = eu.config.clone();
    let mut config = before.clone();
    // A process that is told its addresses has no address of its own to prefer.
    config.own_dns = Vec::new();
    config.cluster_exposed_ips = vec![[203, 0, 113, 10].into(), [203, 0, 113, 11].into()];
    eu.restart(config).await;
    let nat = ["203.0.113.10", "203.0.113.11"];
    expect(eu, &nat, &nat).await;

    let gslbs = api(&eu.client, "k8gb.io/v1beta1", "Gslb", "gslbs", "default");
    let annotate = async |value: Value| {
        let annotations = json!({ "k8gb.io/exposed-ip-addresses": value });
        let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
        gslbs
            .patch("app", &PatchParams::default(), &patch)
            .await
            .unwrap();
    };
    annotate(json!("198.51.100.7")).await;
    expect(eu, &nat, &["198.51.100.7"]).await;
    annotate(Value::Null).await;
    expect(eu, &nat, &nat).await;

    eu.restart(before).await;
    expect(eu, &["127.89.1.1"], &["10.0.0.1"]).await;
    fleet.stop().await;
}
