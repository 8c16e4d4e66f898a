use serde_json::{Value, json};

use super::{Call, found, plan, took};
use crate::delegate::Records;

fn records(addresses: &[&str]) -> Records {
    Records {
        zone: "cloud.example.com".into(),
        parent: "example.com".into(),
        own_name: "gslb-ns-eu-cloud.example.com".into(),
        addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
        ttl_seconds: 30,
    }
}

/// `eu 10.0.0.1` pairs as a grid lists them.
fn grid(servers: &[(&str, &str)]) -> Value {
    let servers: Vec<Value> = servers
        .iter()
        .map(|(tag, ip)| json!({"name": format!("gslb-ns-{tag}-cloud.example.com"), "address": ip}))
        .collect();
    json!([{"_ref": "zone_delegated/x:cloud.example.com/default", "fqdn": "cloud.example.com", "delegate_to": servers}])
}

fn sent(zone: &Value, addresses: &[&str]) -> String {
    let zone = found(zone).unwrap();
    let (verb, body) = match plan(zone.as_ref(), &records(addresses), "default") {
        None => return "nothing".into(),
        Some(Call::Delete(_)) => return "delete".into(),
        Some(Call::Create(body)) => ("create", body),
        Some(Call::Update(_, body)) => ("update", body),
    };
    let servers = body["delegate_to"].as_array().unwrap();
    let servers: Vec<String> = servers
        .iter()
        .map(|s| {
            format!(
                "{}={}",
                &s["name"].as_str().unwrap()[8..10],
                s["address"].as_str().unwrap()
            )
        })
        .collect();
    format!("{verb} {}", servers.join(" "))
}

/// Source: k8gb v0.21 `infoblox_test.go`, what is written for each state of the grid.
#[test]
fn a_cluster_writes_its_own_name_servers_and_keeps_the_others() {
    let table: [(Value, &[&str], &str); 8] = [
        (
            json!([]),
            &["10.0.0.1", "10.0.0.2"],
            "create eu=10.0.0.1 eu=10.0.0.2",
        ),
        (json!([]), &[], "nothing"),
        (
            grid(&[("us", "10.1.0.1")]),
            &["10.0.0.1"],
            "update eu=10.0.0.1 us=10.1.0.1",
        ),
        (
            grid(&[("us", "10.1.0.1"), ("eu", "10.0.0.1")]),
            &["10.0.0.1"],
            "nothing",
        ),
        (
            grid(&[("eu", "10.0.0.1"), ("us", "10.1.0.1")]),
            &["10.2.0.1", "2001:db8::1"],
            "update us=10.1.0.1 eu=10.2.0.1 eu=2001:db8::1",
        ),
        (
            grid(&[("eu", "10.0.0.1"), ("us", "10.1.0.1")]),
            &[],
            "update us=10.1.0.1",
        ),
        (grid(&[("eu", "10.0.0.1")]), &[], "delete"),
        (grid(&[("us", "10.1.0.1")]), &[], "nothing"),
    ];
    for (zone, addresses, expected) in table {
        assert_eq!(sent(&zone, addresses), expected, "{zone} {addresses:?}");
    }
}

#[test]
fn d15_a_failed_read_is_not_an_absent_zone() {
    for answer in [
        json!({"Error": "AdmConProtoError"}),
        json!(null),
        json!([{"fqdn": "x"}]),
    ] {
        assert!(found(&answer).is_err(), "{answer}");
    }
    assert_eq!(found(&json!([])), Ok(None));
}

#[test]
fn a_write_that_somebody_undid_is_noticed() {
    let zone = |servers: &[(&str, &str)]| found(&grid(servers)).unwrap();
    let before = zone(&[("us", "10.1.0.1")]);
    let ours = records(&["10.0.0.1"]);
    let check = |after: &[(&str, &str)]| took(before.as_ref(), zone(after).as_ref(), &ours);
    assert!(check(&[("eu", "10.0.0.1"), ("us", "10.1.0.1")]));
    assert!(check(&[
        ("eu", "10.0.0.1"),
        ("us", "10.1.0.1"),
        ("za", "10.2.0.1")
    ]));
    assert!(
        !check(&[("us", "10.1.0.1"), ("za", "10.2.0.1")]),
        "ours is gone"
    );
    assert!(
        !check(&[("eu", "10.0.0.1")]),
        "we undid what another one wrote"
    );
    assert!(!check(&[
        ("eu", "10.0.0.1"),
        ("eu", "10.0.0.9"),
        ("us", "10.1.0.1")
    ]));
}
