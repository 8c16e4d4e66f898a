use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Context, HOSTS_MAX, Resolved, resolve};
use crate::{
    config::Config,
    expose::Lookup,
    key::Key,
    kinds::Kind,
    view::View,
    world::{Change, Dep, GslbId, GslbView, World},
};

fn config() -> Config {
    let env = |name: &str| match name {
        "CLUSTER_GEO_TAG" => Some("eu".to_owned()),
        "EDGE_DNS_SERVERS" => Some("10.0.0.53".to_owned()),
        _ => None,
    };
    Config::parse(&env).unwrap().config
}

fn world(objects: &[(Kind, Value)]) -> World {
    let mut world = World::default();
    let zone = json!({"metadata": {"name": "z"}, "spec": {"loadBalancedZone": "cloud.example.com",
        "parentZone": "example.com", "dnsZoneNegTTL": 30}});
    world.apply(Kind::ZoneDelegation, Change::Put(zone));
    for (kind, object) in objects {
        world.apply(*kind, Change::Put(object.clone()));
    }
    world
}

fn resolved(world: &World, reference: Value) -> Resolved {
    let spec = json!({"strategy": {"type": "roundRobin"}, "resourceRef": reference});
    let gslb = GslbView {
        spec: serde_json::from_value(spec).unwrap(),
        ..GslbView::default()
    };
    let id = GslbId {
        legacy: false,
        key: Key::new("test", "app"),
    };
    let lookups = BTreeMap::from([(
        "gw.example.net".to_owned(),
        Lookup::Addresses(vec!["10.0.0.9".parse().unwrap()]),
    )]);
    let ctx = Context {
        config: &config(),
        view: &View::default(),
        lookups: &lookups,
        now: Timestamp::UNIX_EPOCH,
    };
    resolve(world, &id, &gslb, ctx)
}

fn meta(name: &str) -> Value {
    json!({"namespace": "test", "name": name, "labels": {"app": "x"}})
}

#[test]
fn a_route_finds_its_addresses_through_its_gateway() {
    let route = json!({"metadata": meta("route"), "spec": {"hostnames": ["a.cloud.example.com"],
        "parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": "svc"}]}]}});
    let gateway = json!({"metadata": meta("gw"), "status": {"addresses": [
        {"value": "10.0.0.1"}, {"type": "Hostname", "value": "gw.example.net"}]}});
    let reference =
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "name": "route"});
    let without = resolved(
        &world(&[(Kind::HttpRoute, route.clone())]),
        reference.clone(),
    );
    assert!(
        without
            .problems
            .iter()
            .any(|p| p.message.contains("Gateway test/gw does not exist"))
    );
    assert!(
        without
            .reads
            .contains(&Dep::Object(Kind::Gateway, Key::new("test", "gw")))
    );
    let with = resolved(
        &world(&[(Kind::HttpRoute, route), (Kind::Gateway, gateway)]),
        reference,
    );
    assert_eq!(with.addresses.len(), 2);
    assert_eq!(with.problems, []);
}

#[test]
fn a_virtual_service_finds_its_addresses_through_gateway_and_service() {
    let vs = json!({"metadata": meta("vs"), "spec": {"hosts": ["a.cloud.example.com"], "gateways": ["infra/gw"],
        "http": [{"route": [{"destination": {"host": "svc"}}]}]}});
    let gateway = json!({"metadata": {"namespace": "infra", "name": "gw"}, "spec": {"selector": {"istio": "in"}}});
    let service = |name: &str| {
        json!({"metadata": {"namespace": "infra", "name": name, "labels": {"istio": "in"}},
            "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}})
    };
    let reference = json!({"apiVersion": "networking.istio.io/v1beta1", "kind": "VirtualService", "name": "vs"});
    let mut objects = vec![
        (Kind::VirtualService, vs),
        (Kind::IstioGateway, gateway),
        (Kind::Service, service("one")),
    ];
    let got = resolved(&world(&objects), reference.clone());
    assert_eq!(
        got.addresses,
        ["10.0.0.1".parse::<std::net::IpAddr>().unwrap()]
    );
    objects.push((Kind::Service, service("two")));
    let got = resolved(&world(&objects), reference);
    assert!(
        got.problems
            .iter()
            .any(|p| p.message.contains("2 were found"))
    );
}

#[test]
fn a_label_reference_needs_exactly_one_object() {
    let ingress = |name: &str| {
        json!({"metadata": meta(name), "spec": {"rules": [{"host": format!("{name}.cloud.example.com")}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}})
    };
    let reference = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "matchLabels": {"app": "x"}});
    let one = resolved(&world(&[(Kind::Ingress, ingress("a"))]), reference.clone());
    assert_eq!(one.servers[0].host, "a.cloud.example.com");
    let two = world(&[(Kind::Ingress, ingress("a")), (Kind::Ingress, ingress("b"))]);
    let two = resolved(&two, reference);
    assert_eq!(
        two.problems[0].message,
        "exactly 1 Ingress resource expected but 2 were found"
    );
    assert!(two.reads.contains(&Dep::All(Kind::Ingress, "test".into())));
}

/// k8gb#2183: hosts of other zones beside ours are nobody's mistake.
#[test]
fn k8gb_2183_foreign_hosts_do_not_stop_our_own() {
    let ingress = json!({"metadata": meta("i"), "spec": {"rules": [{"host": "www.elsewhere.org"},
        {"host": "A.Cloud.Example.com"}, {"host": "*.cloud.example.com"}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}});
    let reference = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "i"});
    let got = resolved(&world(&[(Kind::Ingress, ingress)]), reference);
    assert_eq!(got.servers.len(), 1);
    assert_eq!(got.servers[0].host, "a.cloud.example.com");
    assert_eq!(
        got.problems.len(),
        1,
        "only the wildcard: {:?}",
        got.problems
    );
}

#[test]
fn hosts_have_a_limit() {
    let rules: Vec<Value> = (0..HOSTS_MAX + 5)
        .map(|n| json!({"host": format!("h{n}.cloud.example.com")}))
        .collect();
    let ingress = json!({"metadata": meta("i"), "spec": {"rules": rules},
        "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}});
    let reference = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "i"});
    let got = resolved(&world(&[(Kind::Ingress, ingress)]), reference);
    assert_eq!(got.servers.len(), HOSTS_MAX);
    assert!(
        got.problems[0]
            .message
            .contains("the first 1000 are served")
    );
}

#[test]
fn a_kind_that_cannot_be_balanced_is_named() {
    let got = resolved(
        &world(&[]),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}),
    );
    assert_eq!(got.problems[0].field, "spec.resourceRef.kind");
    let got = resolved(&world(&[]), json!({}));
    assert_eq!(got.problems[0].field, "spec.resourceRef");
}

#[test]
fn k8gb_1754_a_gateway_that_is_not_programmed_takes_this_cluster_out() {
    let route = json!({"metadata": meta("route"), "spec": {"hostnames": ["a.cloud.example.com"],
        "parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": "svc"}]}]}});
    let reference =
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "name": "route"});
    let with = |conditions: Value| {
        let status = json!({"addresses": [{"value": "10.0.0.1"}], "conditions": conditions});
        let gateway = json!({"metadata": meta("gw"), "status": status});
        let objects = [(Kind::HttpRoute, route.clone()), (Kind::Gateway, gateway)];
        let got = resolved(&world(&objects), reference.clone());
        let reasons: Vec<&str> = got.problems.iter().map(|p| p.kind.as_str()).collect();
        (got.addresses.len(), reasons.join(" "))
    };
    let condition = |kind: &str, status: &str| json!([{"type": kind, "status": status, "reason": "Pending", "message": "no data plane"}]);
    let table = [
        (json!([]), 1, ""),
        (condition("Programmed", "True"), 1, ""),
        (condition("Programmed", "Unknown"), 1, ""),
        (condition("Ready", "False"), 1, ""),
        (condition("Programmed", "False"), 0, "GatewayDown NoAddress"),
        (condition("Accepted", "False"), 0, "GatewayDown NoAddress"),
    ];
    for (conditions, n_addresses, reasons) in table {
        let expected = (n_addresses, reasons.to_owned());
        assert_eq!(with(conditions.clone()), expected, "{conditions}");
    }
}
