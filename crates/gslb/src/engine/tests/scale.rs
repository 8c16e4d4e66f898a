//! Work follows what changes and not what there is: one cluster with a hundred Gslbs, of which one is touched.

use serde_json::{Value, json};

use super::{
    fleet::{Cluster, PARENT, config},
    scenarios::now,
};
use crate::{expose::Lookup, key::Key, kinds::Kind, view::Family};

const N_GSLBS: usize = 100;

fn name(number: usize) -> String {
    format!("app-{number:02}")
}

fn host(number: usize) -> String {
    format!("{}.cloud.example.com", name(number))
}

fn slice(number: usize, ready: bool) -> Value {
    let name = name(number);
    json!({
        "metadata": {"namespace": "test", "name": name, "labels": {"kubernetes.io/service-name": name}},
        "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": ready}}],
    })
}

fn large() -> Cluster {
    let mut eu = Cluster::new(config("eu", &["eu"], 30));
    eu.start(now());
    let found = Lookup::Addresses(vec![]);
    eu.lookup("gslb-ns-eu-cloud.example.com", found, now());
    for number in 0..N_GSLBS {
        let name = name(number);
        let metadata = json!({"namespace": "test", "name": name, "generation": 1});
        let reference =
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": name});
        let service = json!({"metadata": metadata, "spec": {"type": "ClusterIP"}});
        let ingress = json!({
            "metadata": metadata,
            "spec": {"rules": [{"host": host(number), "http": {"paths": [
                {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": name}}}]}}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}},
        });
        let strategy = json!({"type": "roundRobin"});
        let gslb =
            json!({"metadata": metadata, "spec": {"resourceRef": reference, "strategy": strategy}});
        eu.put(Kind::Service, service, now());
        eu.put(Kind::EndpointSlice, slice(number, true), now());
        eu.put(Kind::Ingress, ingress, now());
        eu.put(Kind::Gslb, gslb, now());
    }
    let all = (0..N_GSLBS).filter(|number| !eu.addresses(&host(*number), Family::V4).is_empty());
    assert_eq!(all.count(), N_GSLBS);
    eu
}

fn zone(name: &str) -> Value {
    json!({"metadata": {"name": name},
        "spec": {"loadBalancedZone": name, "parentZone": PARENT, "dnsZoneNegTTL": 5}})
}

/// What it costs: decisions, publications, changes in them, writes.
fn cost(eu: &mut Cluster, happen: impl FnOnce(&mut Cluster)) -> [usize; 4] {
    let counts = |eu: &Cluster| {
        let n_decided = usize::try_from(eu.engine.n_decisions()).unwrap();
        [n_decided, eu.n_published.0, eu.n_published.1, eu.n_writes]
    };
    let before = counts(eu);
    happen(eu);
    let after = counts(eu);
    [0, 1, 2, 3].map(|index| after[index] - before[index])
}

#[test]
fn the_cost_of_a_change_does_not_grow_with_the_number_of_gslbs() {
    let mut eu = large();

    let [n_decided, n_publications, n_changes, n_writes] = cost(&mut eu, |eu| {
        eu.put(Kind::EndpointSlice, slice(7, false), now());
    });
    assert!(eu.addresses(&host(7), Family::V4).is_empty());
    assert!(
        n_decided <= 4,
        "itself, and what we wrote coming back: {n_decided}"
    );
    assert_eq!(n_publications, 1);
    assert!(
        n_changes <= 3,
        "the host and its local targets: {n_changes}"
    );
    assert!(n_writes <= 2, "its DNSEndpoint and its status: {n_writes}");

    let again = cost(&mut eu, |eu| {
        eu.put(Kind::EndpointSlice, slice(7, false), now());
    });
    assert_eq!(again, [0, 0, 0, 0]);
}

#[test]
fn a_zone_concerns_the_hosts_it_covers() {
    let mut eu = large();

    let [n_decided, _, n_changes, _] = cost(&mut eu, |eu| {
        eu.put(Kind::ZoneDelegation, zone("other.example.com"), now());
    });
    assert!(eu.zone("other.example.com").is_some());
    assert_eq!(n_decided, 0, "no host lies in it");
    assert!(n_changes <= 2, "nothing but the zone: {n_changes}");

    let deeper = format!("{}.cloud.example.com", name(8));
    let mut ingress = eu.objects[&(Kind::Ingress, Key::new("test", name(8)))].clone();
    ingress["spec"]["rules"][0]["host"] = json!(format!("www.{deeper}"));
    eu.put(Kind::Ingress, ingress, now());
    let [n_decided, ..] = cost(&mut eu, |eu| {
        eu.put(Kind::ZoneDelegation, zone(&deeper), now());
    });
    assert!(
        (1..=6).contains(&n_decided),
        "the one whose host moves into it: {n_decided}"
    );
    assert_eq!(eu.hosts[&format!("www.{deeper}")], deeper);
}

#[test]
fn a_zone_concerns_who_is_reached_by_a_name_in_it() {
    let mut eu = large();
    let key = Key::new("test", name(9));
    let mut gslb = eu.objects[&(Kind::Gslb, key.clone())].clone();
    gslb["metadata"]["annotations"] = json!({"k8gb.io/exposed-hostnames": "lb.other.example.com"});
    eu.put(Kind::Gslb, gslb, now());
    let found = Lookup::Addresses(vec!["10.0.0.9".parse().unwrap()]);
    eu.lookup("lb.other.example.com", found.clone(), now());
    assert_eq!(eu.addresses(&host(9), Family::V4).len(), 1);

    let [n_decided, ..] = cost(&mut eu, |eu| {
        eu.put(Kind::ZoneDelegation, zone("other.example.com"), now());
    });
    assert!((1..=6).contains(&n_decided), "{n_decided}");
    assert!(
        eu.addresses(&host(9), Family::V4).is_empty(),
        "it would point to itself"
    );

    eu.delete(
        Kind::ZoneDelegation,
        &Key::new("", "other.example.com"),
        now(),
    );
    eu.lookup("lb.other.example.com", found, now());
    assert_eq!(eu.addresses(&host(9), Family::V4).len(), 1);
}
