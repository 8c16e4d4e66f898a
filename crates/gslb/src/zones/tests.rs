use flotilla_api::zone_delegation::DnsServer;

use super::{Step, Zone, finalize, find};

fn zone(zone: &str) -> Zone {
    Zone {
        zone: zone.into(),
        parent: "example.com".into(),
        ..Zone::default()
    }
}

fn server(name: &str, address: &str) -> DnsServer {
    DnsServer {
        name: name.into(),
        address: address.into(),
    }
}

#[test]
fn a_host_belongs_to_the_longest_zone_label_by_label() {
    let zones = [
        zone("cloud.example.com"),
        zone("deep.cloud.example.com"),
        zone("cloud2.example.com"),
    ];
    let table = [
        ("app.cloud.example.com", Some("cloud.example.com")),
        ("a.b.cloud.example.com", Some("cloud.example.com")),
        ("app.deep.cloud.example.com", Some("deep.cloud.example.com")),
        ("app.cloud2.example.com", Some("cloud2.example.com")),
        ("deep.cloud.example.com", Some("cloud.example.com")),
        ("app.mycloud.example.com", None),
        ("cloud.example.com.evil.org", None),
        ("cloud.example.com", None),
        ("example.com", None),
    ];
    for (host, expected) in table {
        assert_eq!(
            find(host, &zones).map(|z| z.zone.as_str()),
            expected,
            "{host}"
        );
    }
}

#[test]
fn peers_are_every_address_of_every_other_tag() {
    let mut zone = zone("cloud.example.com");
    zone.servers = vec![
        server("gslb-ns-eu-cloud.example.com", "10.0.0.1"),
        server("gslb-ns-us-cloud.example.com", "10.1.0.1"),
        server("gslb-ns-us-cloud.example.com", "10.1.0.2"),
        server("ns1.example.com", "10.9.9.9"),
    ];
    let peers: Vec<_> = zone.peers("gslb-ns-", "eu").collect();
    assert_eq!(peers, [("us", "10.1.0.1"), ("us", "10.1.0.2")]);
}

/// The five phases of k8gb's chainsaw suite `zone-delegation`, as seen by the cluster `eu`.
#[test]
fn the_last_cluster_removes_the_delegation() {
    let own = "gslb-ns-eu-cloud2.example.com";
    let eu = server(own, "10.0.0.1");
    let us = server("gslb-ns-us-cloud2.example.com", "10.1.0.1");
    assert_eq!(
        finalize(false, &[eu.clone(), us.clone()], own),
        Step::Release
    );
    assert_eq!(
        finalize(true, &[eu.clone(), us.clone()], own),
        Step::Withdraw
    );
    assert_eq!(
        finalize(true, std::slice::from_ref(&us), own),
        Step::Withdraw
    );
    assert_eq!(finalize(true, &[], own), Step::Withdraw);
    assert_eq!(finalize(true, &[eu.clone(), eu], own), Step::Remove);
}

#[test]
fn who_pushes_and_our_finalizer_decide_nothing() {
    let zone = Zone {
        zone: "cloud.example.com".into(),
        ..Zone::default()
    };
    let pushed = Zone {
        has_finalizer: true,
        pushed: vec!["us".into()],
        ..zone.clone()
    };
    assert!(pushed.is_decided_as(&zone));
    let leaving = Zone {
        deleting: true,
        ..zone.clone()
    };
    assert!(!leaving.is_decided_as(&zone));
}
