use flotilla_api::gslb::ResourceRef;
use serde_json::{Value, json};

use super::{Referent, Via, gateway_addresses, matches, referent};
use crate::{expose::Address, key::Key, kinds::Kind};

fn servers(referent: &Referent) -> String {
    let line = |s: &flotilla_api::gslb::Server| {
        let services: Vec<_> = s
            .services
            .iter()
            .map(|s| format!("{}/{}", s.namespace, s.name))
            .collect();
        format!("{}={}", s.host, services.join("+"))
    };
    referent
        .servers
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join(" ")
}

fn path(service: &str) -> Value {
    json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": service}}})
}

#[test]
fn an_ingress_gives_one_server_per_host() {
    let ingress = json!({
        "metadata": {"namespace": "test", "name": "app", "labels": {"app": "x"}},
        "spec": {"rules": [
            {"host": "a.cloud.example.com", "http": {"paths": [path("one"), path("two")]}},
            {"host": "b.cloud.example.com", "http": {"paths": [
                {"backend": {"resource": {"kind": "Bucket", "name": "b"}}}]}},
            {"host": "c.cloud.example.com"},
            {"http": {"paths": [path("three")]}},
            {"host": "a.cloud.example.com", "http": {"paths": [path("one")]}},
        ]},
        "status": {"loadBalancer": {"ingress": [
            {"ip": "10.0.0.2"}, {"ip": "10.0.0.1"}, {"hostname": "lb.example.net"}, {}]}},
    });
    let got = referent(Kind::Ingress, &ingress);
    assert_eq!(
        servers(&got),
        "a.cloud.example.com=test/one+test/two b.cloud.example.com= c.cloud.example.com="
    );
    assert_eq!(
        got.via,
        Via::Status(vec![
            Address::Ip([10, 0, 0, 1].into()),
            Address::Ip([10, 0, 0, 2].into()),
            Address::Hostname("lb.example.net".into())
        ])
    );
    assert_eq!(
        got.problems.len(),
        2,
        "a resource backend and a rule without host"
    );
}

#[test]
fn a_service_must_be_a_load_balancer_and_takes_its_host_from_the_gslb() {
    let service = |kind: &str| {
        json!({"metadata": {"namespace": "test", "name": "app"}, "spec": {"type": kind},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}})
    };
    let got = referent(Kind::Service, &service("LoadBalancer"));
    let host = "app.cloud.example.com".to_owned();
    assert_eq!(got.servers(Some(&host)).unwrap()[0].host, host);
    assert!(
        got.servers(None)
            .unwrap_err()
            .field
            .contains("k8gb.io/hostname")
    );
    let got = referent(Kind::Service, &service("ClusterIP"));
    assert_eq!(got.via, Via::Nowhere);
    assert_eq!(got.problems[0].field, "spec.type");
}

#[test]
fn routes_hang_on_exactly_one_gateway() {
    let route = |parents: Value| {
        json!({
            "metadata": {"namespace": "test", "name": "app"},
            "spec": {"hostnames": ["a.cloud.example.com", "b.cloud.example.com"], "parentRefs": parents,
                "rules": [{"backendRefs": [{"name": "one"}, {"name": "two", "namespace": "other"}]},
                    {"backendRefs": [{"name": "pool", "kind": "InferencePool"}]}]},
        })
    };
    let one = json!([{"name": "gw", "namespace": "infra"}]);
    let got = referent(Kind::HttpRoute, &route(one));
    assert_eq!(got.via, Via::Gateway(Key::new("infra", "gw")));
    assert_eq!(
        servers(&got),
        "a.cloud.example.com=test/one+other/two b.cloud.example.com=test/one+other/two"
    );
    assert!(got.problems[0].message.contains("InferencePool"));

    let listeners =
        json!([{"name": "gw", "sectionName": "http"}, {"name": "gw", "sectionName": "https"}]);
    assert_eq!(
        referent(Kind::HttpRoute, &route(listeners)).via,
        Via::Gateway(Key::new("test", "gw"))
    );
    let two = json!([{"name": "gw"}, {"name": "other"}]);
    assert_eq!(referent(Kind::HttpRoute, &route(two)).via, Via::Nowhere);
    let mesh = json!([{"name": "svc", "kind": "Service"}, {"name": "gw", "kind": "Gateway"}]);
    assert_eq!(
        referent(Kind::GrpcRoute, &route(mesh)).via,
        Via::Gateway(Key::new("test", "gw"))
    );
}

#[test]
fn tcp_and_udp_routes_take_their_host_from_the_gslb() {
    let route = json!({"metadata": {"namespace": "test"}, "spec": {"parentRefs": [{"name": "gw"}],
        "rules": [{"backendRefs": [{"name": "db"}]}]}});
    for kind in [Kind::TcpRoute, Kind::UdpRoute] {
        let got = referent(kind, &route);
        let host = "db.cloud.example.com".to_owned();
        assert_eq!(got.servers(Some(&host)).unwrap()[0].services[0].name, "db");
    }
    let got = referent(Kind::TlsRoute, &route);
    assert_eq!(got.problems[0].field, "spec.hostnames");
}

#[test]
fn a_gateway_status_gives_addresses_and_host_names() {
    let (addresses, problems) = gateway_addresses(&json!({"status": {"addresses": [
        {"value": "10.0.0.1"}, {"type": "IPAddress", "value": "2001:db8::1"},
        {"type": "Hostname", "value": "gw.example.net"}, {"type": "NamedAddress", "value": "x"}]}}));
    assert_eq!(addresses.len(), 3);
    assert_eq!(problems.len(), 1);
}

#[test]
fn a_virtual_service_reaches_its_gateway_with_or_without_namespace() {
    let vs = |gateways: Value| {
        json!({"metadata": {"namespace": "test"}, "spec": {"hosts": ["a.cloud.example.com"],
            "gateways": gateways,
            "http": [{"route": [{"destination": {"host": "one"}},
                {"destination": {"host": "two.other.svc.cluster.local"}}]}]}})
    };
    let got = referent(Kind::VirtualService, &vs(json!(["mesh", "infra/gw"])));
    assert_eq!(got.via, Via::IstioGateway(Key::new("infra", "gw")));
    assert_eq!(servers(&got), "a.cloud.example.com=test/one+other/two");
    let got = referent(Kind::VirtualService, &vs(json!(["gw"])));
    assert_eq!(got.via, Via::IstioGateway(Key::new("test", "gw")));
    assert_eq!(
        referent(Kind::VirtualService, &vs(json!(["mesh"]))).via,
        Via::Nowhere
    );
}

#[test]
fn references_by_label_need_every_condition() {
    let reference: ResourceRef = serde_json::from_value(json!({
        "matchLabels": {"app": "x"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["web"]},
            {"key": "old", "operator": "DoesNotExist"}],
    }))
    .unwrap();
    let labels = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    };
    assert!(matches(
        &reference,
        &labels(&[("app", "x"), ("tier", "web")])
    ));
    assert!(!matches(
        &reference,
        &labels(&[("app", "x"), ("tier", "db")])
    ));
    assert!(!matches(
        &reference,
        &labels(&[("app", "x"), ("tier", "web"), ("old", "")])
    ));
    assert!(!matches(&ResourceRef::default(), &labels(&[("app", "x")])));
}
