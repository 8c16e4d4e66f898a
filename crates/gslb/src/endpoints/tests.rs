use std::collections::BTreeMap;

use expect_test::expect;
use flotilla_api::zone_delegation::DnsServer;
use serde_json::json;

use super::{
    Delegation, HostRecords, application, application_object, delegation_object,
    parse_weight_label, without_own,
};
use crate::{key::Key, spec, zones::Zone};

fn rules(strategy: &str) -> spec::Rules {
    let spec = serde_json::from_str(&format!(r#"{{"strategy":{strategy}}}"#)).unwrap();
    spec::rules(&spec, &BTreeMap::new(), Default::default()).unwrap()
}

fn targets(pairs: &[(&str, &[&str])]) -> BTreeMap<String, Vec<std::net::IpAddr>> {
    pairs
        .iter()
        .map(|(tag, ips)| {
            (
                (*tag).to_owned(),
                ips.iter().map(|ip| ip.parse().unwrap()).collect(),
            )
        })
        .collect()
}

fn host(local: &[&str], pairs: &[(&str, &[&str])]) -> HostRecords {
    HostRecords {
        local: local.iter().map(|ip| ip.parse().unwrap()).collect(),
        targets: targets(pairs),
        ..HostRecords::default()
    }
}

#[test]
fn a_handover_shows_in_the_weights() {
    let check = |strategy: &str, shares: &[(&str, u32)]| {
        let mut records = host(&[], &[("eu", &["10.0.0.1"]), ("us", &["10.1.0.1"])]);
        records.shares = shares.iter().map(|(t, s)| ((*t).to_owned(), *s)).collect();
        let hosts = BTreeMap::from([("a.cloud.example.com".to_owned(), records)]);
        let spec = application(&hosts, &rules(strategy));
        let labels = spec.endpoints[0].labels.keys().cloned();
        labels.collect::<Vec<_>>().join(" ")
    };
    type Row<'a> = (&'a str, &'a [(&'a str, u32)], &'a str);
    let table: [Row<'_>; 5] = [
        (r#"{"type":"roundRobin"}"#, &[], "strategy"),
        (
            r#"{"type":"roundRobin"}"#,
            &[("eu", 30), ("us", 100)],
            "strategy weight-eu-0-30 weight-us-0-100",
        ),
        (
            r#"{"type":"roundRobin","weight":{"eu":5,"us":2}}"#,
            &[("eu", 30), ("us", 100)],
            "strategy weight-eu-0-2 weight-us-0-2",
        ),
        (
            r#"{"type":"roundRobin","weight":{"eu":5}}"#,
            &[("eu", 10), ("us", 100)],
            "strategy weight-eu-0-1 weight-us-0-0",
        ),
        (
            r#"{"type":"failover","primaryGeoTag":"eu"}"#,
            &[("eu", 30), ("us", 70)],
            "strategy weight-eu-0-30 weight-us-0-70",
        ),
    ];
    for (strategy, shares, expected) in table {
        assert_eq!(check(strategy, shares), expected, "{strategy} {shares:?}");
    }
}

#[test]
fn an_application_endpoint_has_k8gbs_shape() {
    let hosts = BTreeMap::from([
        (
            "b.cloud.example.com".to_owned(),
            host(
                &["10.0.0.1", "10.0.0.2"],
                &[
                    ("eu", &["10.0.0.1", "10.0.0.2"]),
                    ("us-east-1", &["10.1.0.1"]),
                ],
            ),
        ),
        ("a.cloud.example.com".to_owned(), host(&[], &[])),
    ]);
    let rules =
        rules(r#"{"type":"roundRobin","weight":{"eu":5,"us-east-1":0,"za":3},"dnsTtlSeconds":60}"#);
    let owner = json!({"kind": "Gslb", "name": "app"});
    let object = application_object(
        &Key::new("test", "app"),
        owner,
        &application(&hosts, &rules),
    );
    expect![[r#"
        {
          "apiVersion": "externaldns.k8s.io/v1alpha1",
          "kind": "DNSEndpoint",
          "metadata": {
            "annotations": {
              "k8gb.absa.oss/dnstype": "local",
              "k8gb.io/dnstype": "local"
            },
            "labels": {
              "k8gb.absa.oss/dnstype": "local",
              "k8gb.io/dnstype": "local"
            },
            "name": "app",
            "namespace": "test",
            "ownerReferences": [
              {
                "kind": "Gslb",
                "name": "app"
              }
            ]
          },
          "spec": {
            "endpoints": [
              {
                "dnsName": "localtargets-b.cloud.example.com",
                "recordTTL": 60,
                "recordType": "A",
                "targets": [
                  "10.0.0.1",
                  "10.0.0.2"
                ]
              },
              {
                "dnsName": "b.cloud.example.com",
                "labels": {
                  "strategy": "roundRobin",
                  "weight-eu-0-5": "10.0.0.1",
                  "weight-eu-1-5": "10.0.0.2",
                  "weight-us-east-1-0-0": "10.1.0.1"
                },
                "recordTTL": 60,
                "recordType": "A",
                "targets": [
                  "10.0.0.1",
                  "10.0.0.2",
                  "10.1.0.1"
                ]
              }
            ]
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&object).unwrap());
}

#[test]
fn both_families_stand_side_by_side() {
    let hosts = BTreeMap::from([(
        "a.cloud.example.com".to_owned(),
        host(
            &["10.0.0.1", "2001:db8::1"],
            &[("eu", &["10.0.0.1", "2001:db8::1"])],
        ),
    )]);
    let spec = application(
        &hosts,
        &rules(r#"{"type":"failover","primaryGeoTag":"eu"}"#),
    );
    let lines: Vec<String> = spec
        .endpoints
        .iter()
        .map(|e| format!("{} {} {}", e.dns_name, e.record_type, e.targets.join(",")))
        .collect();
    assert_eq!(
        lines,
        [
            "localtargets-a.cloud.example.com A 10.0.0.1",
            "localtargets-a.cloud.example.com AAAA 2001:db8::1",
            "a.cloud.example.com A 10.0.0.1",
            "a.cloud.example.com AAAA 2001:db8::1",
        ]
    );
}

#[test]
fn a_delegation_lists_every_server_and_only_our_own_glue() {
    let zone = Zone {
        zone: "cloud.example.com".into(),
        parent: "example.com".into(),
        ..Zone::default()
    };
    let server = |name: &str, address: &str| DnsServer {
        name: name.into(),
        address: address.into(),
    };
    let own = "gslb-ns-eu-cloud.example.com";
    let servers = [
        server("gslb-ns-us-cloud.example.com", "10.1.0.1"),
        server(own, "10.0.0.1"),
        server(own, "10.0.0.2"),
    ];
    let object = delegation_object(
        &zone,
        &servers,
        Delegation {
            own_name: own,
            own_addresses: &["10.0.0.1".parse().unwrap()],
            ttl_seconds: 30,
            namespace: "k8gb",
        },
    );
    assert_eq!(
        object["metadata"]["name"],
        "k8gb-ns-extdns-cloud-example-com"
    );
    assert_eq!(object["metadata"]["labels"]["k8gb.io/dnstype"], "extdns");
    assert_eq!(object["metadata"].get("ownerReferences"), None);
    assert_eq!(
        object["spec"]["endpoints"],
        json!([
            {"dnsName": "cloud.example.com", "recordTTL": 30, "recordType": "NS",
                "targets": [own, "gslb-ns-us-cloud.example.com"]},
            {"dnsName": own, "recordTTL": 30, "recordType": "A", "targets": ["10.0.0.1"]},
        ])
    );
    let spec = serde_json::from_value(object["spec"].clone()).unwrap();
    let left = without_own(&spec, own);
    assert_eq!(left.endpoints.len(), 1);
    assert_eq!(left.endpoints[0].targets, ["gslb-ns-us-cloud.example.com"]);
}

#[test]
fn weight_labels_are_read_from_the_right() {
    assert_eq!(parse_weight_label("weight-eu-0-10"), Some(("eu", 10)));
    assert_eq!(
        parse_weight_label("weight-us-east-1-2-5"),
        Some(("us-east-1", 5))
    );
    for bad in [
        "strategy",
        "weight-eu-10",
        "weight-eu-x-10",
        "weight-eu-0-x",
    ] {
        assert_eq!(parse_weight_label(bad), None, "{bad}");
    }
}
