use std::{collections::BTreeMap, net::IpAddr};

use flotilla_api::zone_delegation::DnsServer;
use serde_json::{Value, json};

use super::{generated, own_dns, plan, settings};
use crate::{
    config::{Config, Provider, ServiceType, Update, ZoneSetting},
    expose::Lookup,
    kinds::Kind,
    world::{Change, World},
    zones::Zone,
};

const OWN: &str = "gslb-ns-eu-cloud.example.com";
const US: &str = "gslb-ns-us-cloud.example.com";

fn config(provider: Provider) -> Config {
    let env = |name: &str| match name {
        "CLUSTER_GEO_TAG" => Some("eu".to_owned()),
        "EXT_GSLB_CLUSTERS_GEO_TAGS" => Some("us".to_owned()),
        "EDGE_DNS_SERVERS" => Some("10.0.0.53".to_owned()),
        _ => None,
    };
    Config {
        provider,
        ..Config::parse(&env).unwrap().config
    }
}

fn zone(deleting: bool, servers: &[(&str, &str)]) -> Zone {
    Zone {
        object: "cloud-example-com".into(),
        zone: "cloud.example.com".into(),
        parent: "example.com".into(),
        neg_ttl_seconds: 30,
        deleting,
        do_finalize: true,
        has_finalizer: true,
        servers: servers
            .iter()
            .map(|(name, address)| server(name, address))
            .collect(),
        pushed: Vec::new(),
    }
}

fn server(name: &str, address: &str) -> DnsServer {
    DnsServer {
        name: name.into(),
        address: address.into(),
    }
}

fn own() -> Vec<IpAddr> {
    vec!["10.0.0.1".parse().unwrap()]
}

fn found(name: &str, ips: &[&str]) -> BTreeMap<String, Lookup> {
    let ips = ips.iter().map(|ip| ip.parse().unwrap()).collect();
    [(name.to_owned(), Lookup::Addresses(ips))].into()
}

#[test]
fn servers_are_our_own_and_the_ones_the_parent_zone_knows() {
    let cfg = config(Provider::ExternalDns);
    let lookups = found(US, &["10.1.0.2", "10.1.0.1"]);
    let plan = plan(&zone(false, &[]), &cfg, &own(), &lookups, None);
    assert_eq!(
        plan.servers,
        [
            server(OWN, "10.0.0.1"),
            server(US, "10.1.0.1"),
            server(US, "10.1.0.2")
        ]
    );
    let object = plan.delegation.unwrap();
    assert_eq!(object["spec"]["endpoints"][0]["targets"], json!([OWN, US]));
    assert_eq!(
        object["spec"]["endpoints"][1]["targets"],
        json!(["10.0.0.1"])
    );
}

#[test]
fn an_absent_peer_is_left_out_and_a_failed_look_up_is_not_an_absence() {
    let cfg = config(Provider::ExternalDns);
    let known = zone(false, &[(OWN, "10.0.0.1"), (US, "10.1.0.1")]);
    let gone = plan(&known, &cfg, &own(), &found(US, &[]), None);
    assert_eq!(gone.servers, [server(OWN, "10.0.0.1")]);
    let failed = [(US.to_owned(), Lookup::Failed("no answer".into()))].into();
    let kept = plan(&known, &cfg, &own(), &failed, None);
    assert_eq!(kept.servers.len(), 2);
}

#[test]
fn a_cluster_without_an_address_says_so_and_announces_nothing_wrong() {
    let cfg = config(Provider::ExternalDns);
    let plan = plan(&zone(false, &[]), &cfg, &[], &BTreeMap::new(), None);
    assert!(plan.servers.is_empty() && plan.delegation.is_none());
    assert!(plan.problems[0].message.contains("no address yet"));
}

/// The phases of k8gb's chainsaw suite `zone-delegation` for external-dns, as eu sees them.
#[test]
fn leaving_withdraws_first_and_removes_last() {
    let cfg = config(Provider::ExternalDns);
    let both = zone(true, &[(OWN, "10.0.0.1"), (US, "10.1.0.1")]);
    let written = serde_json::from_value(json!({"endpoints": [
        {"dnsName": "cloud.example.com", "recordType": "NS", "recordTTL": 30, "targets": [OWN, US]},
        {"dnsName": OWN, "recordType": "A", "recordTTL": 30, "targets": ["10.0.0.1"]}]}))
    .unwrap();
    let first = plan(
        &both,
        &cfg,
        &own(),
        &found(US, &["10.1.0.1"]),
        Some(&written),
    );
    let endpoints = first.delegation.unwrap()["spec"]["endpoints"].clone();
    assert_eq!(endpoints.as_array().unwrap().len(), 1);
    assert_eq!(endpoints[0]["targets"], json!([US]));
    assert!(
        first.finalizer && first.served,
        "we answer for as long as we may be asked"
    );

    let alone = zone(true, &[(OWN, "10.0.0.1")]);
    let last = plan(&alone, &cfg, &own(), &found(US, &[]), Some(&written));
    assert_eq!(
        (last.delegation, last.finalizer, last.served),
        (Some(Value::Null), false, false)
    );

    let careless = Zone {
        do_finalize: false,
        ..both
    };
    let release = plan(&careless, &cfg, &own(), &BTreeMap::new(), Some(&written));
    assert_eq!(
        (release.delegation, release.finalizer),
        (None, false),
        "the parent stays untouched"
    );
}

#[test]
fn with_dynamic_updates_we_may_go_once_the_parent_forgot_us() {
    let update = Update {
        server: "10.0.0.53:53".parse().unwrap(),
        key_name: "k".into(),
        secret: vec![1],
    };
    let cfg = Config {
        update: Some(update),
        ..config(Provider::None)
    };
    let leaving = zone(true, &[(OWN, "10.0.0.1"), (US, "10.1.0.1")]);
    let still = plan(&leaving, &cfg, &own(), &found(OWN, &["10.0.0.1"]), None);
    assert_eq!((still.update, still.finalizer), (Some(false), true));
    let gone = plan(&leaving, &cfg, &own(), &found(OWN, &[]), None);
    assert_eq!((gone.update, gone.finalizer), (None, false));
    let stays = plan(&zone(false, &[]), &cfg, &own(), &BTreeMap::new(), None);
    assert_eq!(stays.update, Some(true));
    assert!(stays.lookups.contains(OWN));
}

/// D3: the child's NS set must be the one the parent delegates to.
#[test]
fn the_zone_names_the_delegated_servers() {
    let servers = [
        server(OWN, "10.0.0.1"),
        server(US, "10.1.0.1"),
        server(US, "2001:db8::1"),
    ];
    let settings = settings(&zone(false, &[]), &servers, 7).unwrap();
    let names: Vec<String> = settings
        .nameservers
        .iter()
        .map(|n| n.name.to_string())
        .collect();
    assert_eq!(names, [OWN, US]);
    assert_eq!(settings.nameservers[1].addresses.len(), 2);
    assert_eq!(settings.soa.minimum_seconds, 30);
}

#[test]
fn a_generated_zone_leaves_an_equal_one_alone() {
    let setting = ZoneSetting {
        parent: "example.com".into(),
        zone: "cloud.example.com".into(),
        neg_ttl_seconds: 30,
    };
    assert_eq!(
        generated(&setting, None).unwrap()["metadata"]["name"],
        "cloud-example-com"
    );
    assert_eq!(generated(&setting, Some(&zone(false, &[]))), None);
    let other = ZoneSetting {
        neg_ttl_seconds: 60,
        ..setting
    };
    assert_eq!(
        generated(&other, Some(&zone(false, &[]))).unwrap()["spec"]["dnsZoneNegTTL"],
        60
    );
}

/// Source: research §3.6, address discovery.
#[test]
fn our_dns_address_is_found_in_k8gbs_order() {
    let mut world = World::default();
    let service = |name: &str, component: &str| {
        json!({"metadata": {"namespace": "k8gb", "name": name, "labels":
                {"app.kubernetes.io/name": "coredns", "app.kubernetes.io/component": component}},
            "spec": {"type": "LoadBalancer"},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.7"}]}}})
    };
    world.apply(Kind::Service, Change::Put(service("dns", "")));
    world.apply(
        Kind::Service,
        Change::Put(service("dns-metrics", "metrics")),
    );
    world.apply(
        Kind::Ingress,
        Change::Put(json!({"metadata": {"namespace": "x", "name": "i", "labels": {"k8gb.io/ip-source": "true"}},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.8"}, {"hostname": "lb.example.net"}]}}})),
    );
    let texts = |cfg: &Config| {
        let (ips, _) = own_dns(&world, cfg, &BTreeMap::new());
        ips.iter()
            .map(IpAddr::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut cfg = config(Provider::None);
    assert_eq!(
        texts(&cfg),
        "10.0.0.8",
        "the labelled Ingress, addresses only"
    );
    cfg.service_type = ServiceType::LoadBalancer;
    assert_eq!(texts(&cfg), "10.0.0.7");
    cfg.cluster_exposed_ips = vec!["192.0.2.1".parse().unwrap()];
    assert_eq!(texts(&cfg), "192.0.2.1");
    cfg.own_dns = own();
    assert_eq!(texts(&cfg), "10.0.0.1");
}
