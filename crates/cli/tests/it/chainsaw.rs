//! k8gb's chainsaw scenarios on a fleet of two clusters, under k8gb's names, so that both can be run side by side.
//!
//! What each asserts is what the original asserts; how it gets there differs in two points. Pods do not run here, so
//! readiness flips by writing the EndpointSlice that stands for them. And the fleet delegates by dynamic update, so
//! the parent zone itself is asked where the original looks at the object for external-dns.
//!
//! Source: k8gb v0.21 `chainsaw/tests/*`; `cluster-exposed-ips` changes a setting of the controller and is in
//! `crates/gslb/tests/it/chainsaw.rs`.

use std::net::SocketAddr;
use std::time::Duration;

use flotilla_testkit::tools::{Kubectl, dig, dig_short};
use flotilla_testkit::{Flotilla, eventually, wait_until};
use serde_json::{Value, json};

use crate::binary;

/// Longer than anything here may take.
const LIMIT: Duration = Duration::from_secs(75);
/// Both clusters.
pub(crate) const CLUSTERS: [&str; 2] = ["eu", "us"];
/// The namespace of most scenarios.
pub(crate) const NAMESPACE: &str = "test-gslb";

/// Two clusters, their parent zone, and kubectl.
pub(crate) struct Two {
    flotilla: Flotilla,
}

impl Two {
    pub(crate) fn up() -> Two {
        let arguments = [
            "--fleet",
            "eu,us",
            "--data-dir",
            ":memory:",
            "--poll-interval",
            "1s",
        ];
        let two = Two {
            flotilla: Flotilla::up(binary(), &arguments),
        };
        for cluster in CLUSTERS {
            two.apply(cluster, &[namespace(NAMESPACE)]);
        }
        two
    }

    pub(crate) fn kubectl(&self, cluster: &str) -> Kubectl {
        Kubectl::context(&self.flotilla, cluster)
    }

    /// Applies objects.
    pub(crate) fn apply(&self, cluster: &str, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.kubectl(cluster)
            .with_input("apply -f -", &list.to_string())
            .out();
    }

    /// Writes the status of an object, as its controller does.
    pub(crate) fn set_status(&self, cluster: &str, what: &str, status: &Value) {
        let patch = json!({ "status": status }).to_string();
        let mut line: Vec<&str> = vec![
            "patch",
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ];
        line.extend(what.split_whitespace());
        self.kubectl(cluster).args(&line, "").out();
    }

    /// An object, or null.
    pub(crate) fn get(&self, cluster: &str, what: &str) -> Value {
        let line = format!("get {what} -o json --ignore-not-found");
        serde_json::from_str(self.kubectl(cluster).run(&line).out()).unwrap_or(Value::Null)
    }

    /// DNS server of the n-th cluster, counted from 1; 0 is that of the parent zone.
    pub(crate) fn server(&self, number: usize) -> SocketAddr {
        let text = format!("127.1.{number}.1:{}", self.flotilla.dns_port);
        text.parse().expect("an address")
    }

    /// Sorted addresses of a host as both clusters answer; equal when they agree.
    fn answers(&self, host: &str) -> [Vec<String>; 2] {
        [1, 2].map(|number| dig_short(self.server(number), host, "A"))
    }

    /// Sorted targets of an entry of a DNSEndpoint.
    pub(crate) fn targets(
        &self,
        cluster: &str,
        namespace: &str,
        object: &str,
        name: &str,
    ) -> Vec<String> {
        let endpoint = self.get(cluster, &format!("dnsendpoint -n {namespace} {object}"));
        let entries = endpoint["spec"]["endpoints"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let entry = entries.iter().find(|entry| entry["dnsName"] == name);
        let targets = entry.and_then(|entry| entry["targets"].as_array());
        let texts = targets.into_iter().flatten().filter_map(Value::as_str);
        let mut targets: Vec<String> = texts.map(str::to_owned).collect();
        targets.sort();
        targets
    }

    /// The two addresses that a cluster vouches for, once it does.
    fn local_targets(&self, cluster: &str, object: &str, host: &str) -> Vec<String> {
        let name = format!("localtargets-{host}");
        let what = format!("{cluster} has exactly two targets for {host}");
        let look = || {
            let targets = self.targets(cluster, NAMESPACE, object, &name);
            (targets.len() == 2).then_some(targets)
        };
        wait_until(&what, LIMIT, look).0
    }

    fn agree(&self, what: &str, host: &str, expected: &[String]) {
        let expected = [expected.to_vec(), expected.to_vec()];
        eventually(what, LIMIT, &expected, || self.answers(host));
    }

    /// The failover playground: eu answers, us takes over, eu comes back.
    fn failover_playground(&self, object: &str, host: &str) {
        let eu = self.local_targets("eu", object, host);
        let us = self.local_targets("us", object, host);
        self.agree("eu is primary", host, &eu);
        self.apply("eu", &[slice(false)]);
        self.agree("us takes over", host, &us);
        self.apply("eu", &[slice(true)]);
        self.agree("eu is back", host, &eu);
    }
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn meta(name: &str) -> Value {
    json!({"name": name, "namespace": NAMESPACE})
}

/// The endpoints of frontend-podinfo, ready or not.
fn slice(ready: bool) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "frontend-podinfo-1", "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": "frontend-podinfo"}},
        "endpoints": [{"addresses": ["192.0.2.10"], "conditions": {"ready": ready}}],
        "ports": [{"name": "http", "port": 9898, "protocol": "TCP"}],
    })
}

/// A Service and ready endpoints.
pub(crate) fn podinfo() -> Vec<Value> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": meta("frontend-podinfo"),
        "spec": {"ports": [{"name": "http", "port": 9898}]},
    });
    vec![service, slice(true)]
}

/// One rule of an Ingress.
fn rule(host: &str, service: &str) -> Value {
    json!({"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix",
        "backend": {"service": {"name": service, "port": {"name": "http"}}}}]}})
}

pub(crate) fn ingress(name: &str, host: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": name}},
        "spec": {"ingressClassName": "nginx", "rules": [rule(host, "frontend-podinfo")]},
    })
}

pub(crate) fn gslb(api_version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": "Gslb", "metadata": meta(name), "spec": spec})
}

/// The spec of a Gslb that embeds an Ingress.
pub(crate) fn embedded(strategy: &Value, host: &str) -> Value {
    let rules = json!([rule(host, "frontend-podinfo")]);
    json!({"strategy": strategy, "ingress": {"ingressClassName": "nginx", "rules": rules}})
}

fn referring(strategy: &Value, reference: Value) -> Value {
    json!({ "strategy": strategy, "resourceRef": reference })
}

pub(crate) fn failover() -> Value {
    json!({"type": "failover", "primaryGeoTag": "eu", "dnsTtlSeconds": 5})
}

/// A definition that keeps whatever it is given.
fn definition(group: &str, kind: &str, plural: &str, versions: &[&str]) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": anything, "status": anything}});
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(index, name)| {
            json!({"name": name, "served": true, "storage": index == 0, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}})
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, test"}},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()}, "versions": versions},
    })
}

#[test]
#[ignore = "needs kubectl and dig"]
fn embedded_ingress_creation() {
    let two = Two::up();
    let host = |name: &str| format!("{name}.cloud.example.com");
    let mut objects = podinfo();
    objects.push(json!({
        "apiVersion": "v1", "kind": "Service", "metadata": meta("unhealthy-app"),
        "spec": {"ports": [{"name": "http", "port": 8080}]},
    }));
    let rules = json!([
        rule(&host("notfound"), "non-existing-app"),
        rule(&host("unhealthy"), "unhealthy-app"),
        rule(&host("roundrobin"), "frontend-podinfo"),
    ]);
    let strategy = json!({"type": "roundRobin"});
    let spec =
        json!({"strategy": strategy, "ingress": {"ingressClassName": "nginx", "rules": rules}});
    objects.push(gslb("k8gb.io/v1beta1", "test-gslb", spec));
    two.apply("eu", &objects);
    let expected = json!({
        host("notfound"): "NotFound",
        host("unhealthy"): "Unhealthy",
        host("roundrobin"): "Healthy",
    });
    eventually("each host has its health", LIMIT, &expected, || {
        two.get("eu", &format!("gslb -n {NAMESPACE} test-gslb"))["status"]["serviceHealth"].clone()
    });
    eventually("the Ingress has two addresses", LIMIT, &2, || {
        let ingress = two.get("eu", &format!("ingress -n {NAMESPACE} test-gslb"));
        ingress["status"]["loadBalancer"]["ingress"]
            .as_array()
            .map_or(0, Vec::len)
    });
    two.local_targets("eu", "test-gslb", &host("roundrobin"));
    let endpoint = two.get("eu", &format!("dnsendpoint -n {NAMESPACE} test-gslb"));
    assert_eq!(endpoint["metadata"]["labels"]["k8gb.io/dnstype"], "local");
    // broken-gslb-no-http and broken-gslb-missing-strategy are refused by the API server.
    let no_http = json!({"strategy": strategy, "ingress": {"rules": [{"host": host("broken")}]}});
    let no_strategy = json!({"ingress": {"rules": [rule(&host("broken"), "frontend-podinfo")]}});
    for (spec, field) in [(no_http, "http"), (no_strategy, "strategy")] {
        let object = gslb("k8gb.io/v1beta1", "broken", spec).to_string();
        let refused = two.kubectl("eu").with_input("create -f -", &object);
        assert!(refused.err().contains(field), "{refused:?}");
    }
}

#[test]
#[ignore = "needs kubectl and dig"]
fn failover_playground_embedded() {
    let two = Two::up();
    let host = "embedded.cloud.example.com";
    for cluster in CLUSTERS {
        let mut objects = podinfo();
        let spec = embedded(&failover(), host);
        objects.push(gslb("k8gb.io/v1beta1", "failover-embedded", spec));
        two.apply(cluster, &objects);
    }
    two.failover_playground("failover-embedded", host);
}

#[test]
#[ignore = "needs kubectl and dig"]
fn failover_playground_referenced() {
    let two = Two::up();
    let host = "referenced.cloud.example.com";
    for cluster in CLUSTERS {
        let mut objects = podinfo();
        let reference = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "matchLabels": {"app": "failover-referenced"}});
        objects.push(ingress("failover-referenced", host));
        let spec = referring(&failover(), reference);
        objects.push(gslb("k8gb.io/v1beta1", "failover-referenced", spec));
        two.apply(cluster, &objects);
    }
    two.failover_playground("failover-referenced", host);
}

#[test]
#[ignore = "needs kubectl and dig"]
fn failover_playground_resourceref() {
    let two = Two::up();
    let host = "resourceref.cloud.example.com";
    for cluster in CLUSTERS {
        let mut objects = podinfo();
        let reference = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "name": "failover-ref", "namespace": NAMESPACE});
        objects.push(ingress("failover-ref", host));
        let spec = referring(&failover(), reference);
        objects.push(gslb("k8gb.io/v1beta1", "failover-resourceref", spec));
        two.apply(cluster, &objects);
    }
    two.failover_playground("failover-resourceref", host);
}

#[test]
#[ignore = "needs kubectl and dig"]
fn failover_playground_istio() {
    let two = Two::up();
    let host = "istio.cloud.example.com";
    let group = "networking.istio.io";
    for cluster in CLUSTERS {
        let definitions = [
            definition(group, "Gateway", "gateways", &["v1", "v1beta1"]),
            definition(
                group,
                "VirtualService",
                "virtualservices",
                &["v1", "v1beta1"],
            ),
        ];
        two.apply(cluster, &definitions);
        let mut objects = podinfo();
        objects.push(namespace("istio-system"));
        objects.push(json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "istio-ingressgateway", "namespace": "istio-system",
                "labels": {"istio": "ingressgateway"}},
            "spec": {"type": "LoadBalancer", "ports": [{"name": "http", "port": 80}]},
        }));
        objects.push(
            json!({"apiVersion": "networking.istio.io/v1", "kind": "Gateway",
            "metadata": meta("gateway"), "spec": {"selector": {"istio": "ingressgateway"}}}),
        );
        objects.push(
            json!({"apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
            "metadata": meta("failover-istio"), "spec": {"hosts": [host],
                "gateways": [format!("{NAMESPACE}/gateway")],
                "http": [{"route": [{"destination": {"host": "frontend-podinfo"}}]}]}}),
        );
        let reference = json!({"apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
            "name": "failover-istio"});
        let spec = referring(&failover(), reference);
        objects.push(gslb("k8gb.io/v1beta1", "failover-istio", spec));
        two.apply(cluster, &objects);
    }
    two.failover_playground("failover-istio", host);
}

#[test]
#[ignore = "needs kubectl and dig"]
fn gatewayapi_tlsroute_versions() {
    let two = Two::up();
    let group = "gateway.networking.k8s.io";
    let versions = ["v1", "v1alpha3", "v1alpha2"];
    let definitions = [
        definition(group, "Gateway", "gateways", &["v1"]),
        definition(group, "TLSRoute", "tlsroutes", &versions),
    ];
    two.apply("eu", &definitions);
    let mut objects = podinfo();
    objects.push(
        json!({"apiVersion": format!("{group}/v1"), "kind": "Gateway",
        "metadata": meta("gateway"), "spec": {"gatewayClassName": "x"}}),
    );
    for version in versions {
        let name = format!("tlsroute-{version}");
        let api_version = format!("{group}/{version}");
        objects.push(json!({"apiVersion": api_version, "kind": "TLSRoute", "metadata": meta(&name),
            "spec": {"hostnames": [format!("{name}.cloud.example.com")], "parentRefs": [{"name": "gateway"}],
                "rules": [{"backendRefs": [{"name": "frontend-podinfo", "port": 9898}]}]}}));
        let reference = json!({"apiVersion": api_version, "kind": "TLSRoute", "name": name});
        objects.push(gslb(
            "k8gb.io/v1beta1",
            &name,
            referring(&failover(), reference),
        ));
    }
    two.apply("eu", &objects);
    let addresses = json!({"addresses": [
        {"type": "IPAddress", "value": "203.0.113.10"}, {"type": "IPAddress", "value": "203.0.113.11"}]});
    let gateway = format!("gateways.{group} gateway -n {NAMESPACE}");
    two.set_status("eu", &gateway, &addresses);
    for version in versions {
        let name = format!("tlsroute-{version}");
        let targets = two.local_targets("eu", &name, &format!("{name}.cloud.example.com"));
        assert_eq!(targets, ["203.0.113.10", "203.0.113.11"]);
    }
}

#[test]
#[ignore = "needs kubectl and dig"]
fn ingress_playground_resourceref() {
    let two = Two::up();
    let host = "ingress.cloud.example.com";
    for cluster in CLUSTERS {
        let mut objects = podinfo();
        let reference =
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "playground"});
        objects.push(ingress("playground", host));
        let spec = referring(&json!({"type": "roundRobin"}), reference);
        objects.push(gslb("k8gb.io/v1beta1", "playground", spec));
        two.apply(cluster, &objects);
    }
    let eu = two.local_targets("eu", "playground", host);
    let us = two.local_targets("us", "playground", host);
    let mut both = [eu, us.clone()].concat();
    both.sort();
    two.agree("both clusters answer with all four", host, &both);
    two.apply("eu", &[slice(false)]);
    two.agree("us is left", host, &us);
    two.apply("eu", &[slice(true)]);
    two.agree("all four again", host, &both);
}

/// Source: the five phases of `zone-delegation`. k8gb's object stays in the cluster that leaves until the last one has
/// gone, because external-dns' record has one owner; here each cluster takes its own part out and may go at once.
#[test]
#[ignore = "needs kubectl and dig"]
fn zone_delegation() {
    let two = Two::up();
    let servers = |zone: &str| {
        let answer = dig(
            two.server(0),
            &[zone, "NS", "+norecurse", "+noall", "+answer", "+authority"],
        );
        let lines = answer.out().lines().filter(|line| line.contains("\tNS\t"));
        let mut names: Vec<String> = lines
            .filter_map(|line| line.rsplit('\t').next())
            .filter_map(|name| name.strip_prefix("gslb-ns-")?.split('-').next())
            .map(str::to_owned)
            .collect();
        names.sort();
        names
    };
    let expect = |what: &str, zone: &str, tags: &[&str]| {
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        eventually(what, LIMIT, &tags, || servers(zone));
    };
    expect(
        "the default zone is delegated to both",
        "cloud.example.com",
        &["eu", "us"],
    );
    let zone = json!({"apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation",
        "metadata": {"name": "cloud2-example-com"},
        "spec": {"loadBalancedZone": "cloud2.example.com", "parentZone": "example.com",
            "dnsZoneNegTTL": 5, "doFinalize": true}});
    two.apply("eu", std::slice::from_ref(&zone));
    expect("the second zone is eu's", "cloud2.example.com", &["eu"]);
    let soa = dig_short(two.server(1), "cloud2.example.com", "SOA");
    assert_eq!(soa.len(), 1, "eu answers for it");
    two.apply("us", &[zone]);
    expect(
        "the second zone is delegated to both",
        "cloud2.example.com",
        &["eu", "us"],
    );
    let delete = |cluster: &str| {
        let line = "delete zonedelegation cloud2-example-com --timeout=60s";
        two.kubectl(cluster).run(line).out();
    };
    delete("us");
    expect("eu is left", "cloud2.example.com", &["eu"]);
    delete("eu");
    expect("nobody is left", "cloud2.example.com", &[]);
    for cluster in CLUSTERS {
        assert_eq!(
            two.get(cluster, "zonedelegation cloud2-example-com"),
            Value::Null
        );
    }
    expect(
        "the default zone is as it was",
        "cloud.example.com",
        &["eu", "us"],
    );
}
