//! k8gb's terratest cases under their names, on engines over the simulated network.
//!
//! Source: k8gb v0.21 `terratest/test/*.go`; what each asserts about records and objects, without the pods.

use serde_json::{Value, json};

use super::{
    fleet::{Cluster, Fleet, HOST, application, config, gslb, set_ready},
    scenarios::{app, failover, now},
};
use crate::kinds::Kind;

const TAGS: [&str; 3] = ["eu", "us", "za"];
const ADDRESSES: [&str; 3] = ["10.0.0.1", "10.1.0.1", "10.2.0.1"];

/// A fleet of the first `n` clusters with one Gslb in each.
fn fleet(n: usize, strategy: &Value) -> Fleet {
    let mut fleet = Fleet::new(&TAGS[..n], 5);
    for (tag, address) in TAGS.into_iter().zip(ADDRESSES).take(n) {
        let now = fleet.now;
        application(fleet.cluster(tag), address, true, now);
        fleet
            .cluster(tag)
            .put(Kind::Gslb, gslb(strategy.clone()), now);
    }
    fleet.run(15_000, &mut |_| {});
    fleet
}

/// Makes clusters ready or not, by letters H and U, and lets everybody notice.
fn state(fleet: &mut Fleet, letters: &str) -> Vec<String> {
    let now = fleet.now;
    for (tag, letter) in TAGS.into_iter().zip(letters.chars()) {
        set_ready(fleet.cluster(tag), letter == 'H', now);
    }
    fleet.run(8_000, &mut |_| {});
    fleet.dig(HOST)
}

/// An Ingress with the annotations that make a Gslb.
fn annotated(eu: &mut Cluster, annotations: Value) -> Value {
    application(eu, "10.0.0.1", true, now());
    let mut ingress = eu.objects[&(Kind::Ingress, app())].clone();
    ingress["metadata"]["annotations"] = annotations;
    eu.put(Kind::Ingress, ingress.clone(), now());
    ingress
}

fn alone() -> Cluster {
    let mut eu = Cluster::new(config("eu", &["eu"], 30));
    eu.start(now());
    eu
}

#[test]
fn full_round_robin() {
    let mut fleet = fleet(3, &json!({"type": "roundRobin"}));
    let table = [
        ("HHH", "10.0.0.1 10.1.0.1 10.2.0.1"),
        ("UHH", "10.1.0.1 10.2.0.1"),
        ("UUH", "10.2.0.1"),
        ("UUU", ""),
        ("HUH", "10.0.0.1 10.2.0.1"),
        ("HHH", "10.0.0.1 10.1.0.1 10.2.0.1"),
    ];
    for (letters, expected) in table {
        assert_eq!(state(&mut fleet, letters), [expected; 3], "{letters}");
    }
}

#[test]
fn full_failover() {
    let mut fleet = fleet(2, &failover());
    let table = [
        ("HH", "10.0.0.1"),
        ("UH", "10.1.0.1"),
        ("UU", ""),
        ("HU", "10.0.0.1"),
        ("HH", "10.0.0.1"),
    ];
    for (letters, expected) in table {
        assert_eq!(state(&mut fleet, letters), [expected; 2], "{letters}");
    }
}

/// Two hosts, each with the other cluster as its primary.
#[test]
fn k8gb_split_failover_example() {
    for (primary, expected) in [("eu", "10.0.0.1"), ("us", "10.1.0.1")] {
        let strategy = json!({"type": "failover", "primaryGeoTag": primary});
        let mut fleet = fleet(2, &strategy);
        assert_eq!(fleet.dig(HOST), [expected; 2]);
        let letters = if primary == "eu" { "UH" } else { "HU" };
        let other = if primary == "eu" {
            "10.1.0.1"
        } else {
            "10.0.0.1"
        };
        assert_eq!(state(&mut fleet, letters), [other; 2]);
        assert_eq!(state(&mut fleet, "HH"), [expected; 2]);
    }
}

#[test]
fn weights_exists_in_local_dnsendpoint() {
    let weights = json!({"eu": 5, "us": 10});
    let fleet = fleet(2, &json!({"type": "roundRobin", "weight": weights}));
    for tag in ["eu", "us"] {
        let endpoint = &fleet.clusters[tag].objects[&(Kind::DnsEndpoint, app())];
        let endpoints = endpoint["spec"]["endpoints"].as_array().unwrap();
        let labels = endpoints.iter().find(|e| e["dnsName"] == HOST).unwrap();
        assert_eq!(
            labels["labels"],
            json!({"strategy": "roundRobin", "weight-eu-0-5": "10.0.0.1", "weight-us-0-10": "10.1.0.1"}),
            "{tag}"
        );
    }
}

/// Annotations of others go in neither direction.
#[test]
fn annotations() {
    let mut eu = alone();
    annotated(
        &mut eu,
        json!({"k8gb.io/strategy": "roundRobin", "example.com/mine": "x"}),
    );
    let mut made = eu.objects[&(Kind::Gslb, app())].clone();
    assert!(made["metadata"]["annotations"]["example.com/mine"].is_null());
    made["metadata"]["annotations"] = json!({"example.com/other": "y"});
    eu.put(Kind::Gslb, made, now());
    let ingress = &eu.objects[&(Kind::Ingress, app())];
    assert!(ingress["metadata"]["annotations"]["example.com/other"].is_null());
    assert_eq!(ingress["metadata"]["annotations"]["example.com/mine"], "x");
}

#[test]
fn k8gb_ingress_annotation_rr_and_failover() {
    let table = [
        (
            json!({"k8gb.io/strategy": "roundRobin"}),
            Some(json!({"type": "roundRobin", "dnsTtlSeconds": 30})),
        ),
        (
            json!({"k8gb.io/strategy": "failover", "k8gb.io/primary-geotag": "eu"}),
            Some(json!({"type": "failover", "primaryGeoTag": "eu", "dnsTtlSeconds": 30})),
        ),
        // broken-ingress-annotation: nothing happens.
        (json!({"k8gb.io/strategy": "failover"}), None),
    ];
    for (annotations, expected) in table {
        let mut eu = alone();
        annotated(&mut eu, annotations.clone());
        let made = eu.objects.get(&(Kind::Gslb, app()));
        let strategy = made.map(|gslb| gslb["spec"]["strategy"].clone());
        assert_eq!(strategy, expected, "{annotations}");
    }
}

/// The garbage collector takes the Gslb with its Ingress; both come again.
#[test]
fn k8gb_repeatedly_recreated_from_ingress() {
    let mut eu = alone();
    let ingress = annotated(&mut eu, json!({"k8gb.io/strategy": "roundRobin"}));
    for _ in 0..3 {
        assert!(eu.objects.contains_key(&(Kind::Gslb, app())));
        assert_eq!(eu.dig(HOST), "10.0.0.1");
        eu.delete(Kind::Ingress, &app(), now());
        eu.delete(Kind::Gslb, &app(), now());
        assert_eq!(eu.dig(HOST), "");
        eu.put(Kind::Ingress, ingress.clone(), now());
    }
}

/// k8gb#1875: what a user changes in the Ingress stays, and the Gslb's spec with it.
#[test]
fn k8gb_spec_keeps_stable_after_ingress_updates() {
    let mut eu = alone();
    let mut ingress = annotated(&mut eu, json!({"k8gb.io/strategy": "roundRobin"}));
    let before = eu.objects[&(Kind::Gslb, app())]["spec"].clone();
    let host = "other.cloud.example.com";
    ingress["spec"]["rules"][0]["host"] = json!(host);
    eu.put(Kind::Ingress, ingress, now());
    assert_eq!(eu.objects[&(Kind::Gslb, app())]["spec"], before);
    let kept = &eu.objects[&(Kind::Ingress, app())]["spec"]["rules"][0]["host"];
    assert_eq!(*kept, json!(host));
    assert_eq!(
        (eu.dig(host), eu.dig(HOST)),
        ("10.0.0.1".into(), String::new())
    );
}

#[test]
fn k8gb_basic_app_example() {
    let mut eu = alone();
    let rules = json!([{"host": HOST, "http": {"paths": [{"path": "/", "pathType": "Prefix",
        "backend": {"service": {"name": "app", "port": {"name": "http"}}}}]}}]);
    let object = json!({"metadata": {"namespace": "test", "name": "app", "generation": 1},
        "spec": {"strategy": {"type": "roundRobin"}, "ingress": {"rules": rules}}});
    eu.put(Kind::Gslb, object, now());
    let health = |eu: &Cluster| eu.status(&app())["serviceHealth"][HOST].clone();
    assert_eq!(health(&eu), "NotFound");
    application(&mut eu, "10.0.0.1", false, now());
    assert_eq!(health(&eu), "Unhealthy");
    set_ready(&mut eu, true, now());
    assert_eq!(health(&eu), "Healthy");
    assert_eq!(eu.dig(HOST), "10.0.0.1");
}
