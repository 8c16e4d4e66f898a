//! The chainsaw scenarios about Gslbs of the group k8gb.absa.oss; see `chainsaw.rs`.

use std::time::Duration;

use flotilla_testkit::eventually;
use flotilla_testkit::tools::dig_short;
use serde_json::{Value, json};

use crate::chainsaw::{CLUSTERS, NAMESPACE, Two, embedded, failover, gslb, ingress, podinfo};

const LIMIT: Duration = Duration::from_secs(75);
const LEGACY: &str = "k8gb.absa.oss/v1beta1";
const REQUESTED: &str = "k8gb.io/migration-requested";
const MIGRATED: &str = "k8gb.io/migrated-to-k8gb-io";

/// A fleet that knows the old group.
fn up() -> Two {
    let two = Two::up();
    let documents = flotilla_api::crd::documents();
    let legacy: Vec<Value> = documents
        .into_iter()
        .filter(|crd| crd["spec"]["group"] == "k8gb.absa.oss")
        .collect();
    for cluster in CLUSTERS {
        two.apply(cluster, &legacy);
    }
    two
}

fn old(two: &Two, name: &str) -> Value {
    two.get("eu", &format!("gslbs.k8gb.absa.oss -n {NAMESPACE} {name}"))
}

fn new(two: &Two, name: &str) -> Value {
    two.get("eu", &format!("gslbs.k8gb.io -n {NAMESPACE} {name}"))
}

fn endpoint(two: &Two, name: &str) -> Value {
    two.get("eu", &format!("dnsendpoint -n {NAMESPACE} {name}"))
}

fn owners(object: &Value) -> Vec<String> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let owners = owners.into_iter().flatten();
    owners
        .filter_map(|owner| Some(owner["uid"].as_str()?.to_owned()))
        .collect()
}

fn answered(two: &Two, host: &str) {
    eventually("the host is answered with two addresses", LIMIT, &2, || {
        dig_short(two.server(1), host, "A").len()
    });
}

fn migrate(two: &Two, name: &str) {
    let label = format!("{REQUESTED}=true");
    let line = format!("label gslbs.k8gb.absa.oss -n {NAMESPACE} {name} {label}");
    two.kubectl("eu").run(&line).out();
    eventually("it has moved", LIMIT, &json!("true"), || {
        old(two, name)["metadata"]["labels"][MIGRATED].clone()
    });
}

#[test]
#[ignore = "needs kubectl and dig"]
fn legacy_migration_embedded() {
    let two = up();
    let host = "legacy.cloud.example.com";
    let mut objects = podinfo();
    objects.push(gslb(LEGACY, "legacy", embedded(&failover(), host)));
    two.apply("eu", &objects);
    answered(&two, host);
    migrate(&two, "legacy");
    let reference = &new(&two, "legacy")["spec"]["resourceRef"];
    assert_eq!(
        (&reference["kind"], &reference["name"]),
        (&json!("Ingress"), &json!("legacy"))
    );
    let uid = old(&two, "legacy")["metadata"]["uid"].clone();
    let ingress = two.get("eu", &format!("ingress -n {NAMESPACE} legacy"));
    assert!(!owners(&ingress).contains(&uid.as_str().unwrap_or_default().to_owned()));
    let line = format!("delete gslbs.k8gb.absa.oss -n {NAMESPACE} legacy --timeout=60s");
    two.kubectl("eu").run(&line).out();
    assert_ne!(
        two.get("eu", &format!("ingress -n {NAMESPACE} legacy")),
        Value::Null
    );
    answered(&two, host);
}

#[test]
#[ignore = "needs kubectl and dig"]
fn legacy_migration_dnsendpoint_handoff() {
    let two = up();
    let host = "handoff.cloud.example.com";
    let mut objects = podinfo();
    objects.push(ingress("handoff", host));
    let reference =
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "handoff"});
    let spec = json!({"strategy": failover(), "resourceRef": reference});
    objects.push(gslb(LEGACY, "handoff", spec));
    two.apply("eu", &objects);
    answered(&two, host);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // Clients are answered first, and the objects written a moment later.
    let owner = [text(&old(&two, "handoff")["metadata"]["uid"])];
    eventually("the old object owns it", LIMIT, &owner.to_vec(), || {
        owners(&endpoint(&two, "handoff"))
    });
    let before = endpoint(&two, "handoff");
    migrate(&two, "handoff");
    let heir = [text(&new(&two, "handoff")["metadata"]["uid"])];
    eventually(
        "the canonical object owns it alone",
        LIMIT,
        &heir.to_vec(),
        || owners(&endpoint(&two, "handoff")),
    );
    let line = format!("delete gslbs.k8gb.absa.oss -n {NAMESPACE} handoff --timeout=60s");
    two.kubectl("eu").run(&line).out();
    let after = endpoint(&two, "handoff");
    assert_eq!(
        before["metadata"]["uid"], after["metadata"]["uid"],
        "it is the same object"
    );
    answered(&two, host);
}

#[test]
#[ignore = "needs kubectl and dig"]
fn legacy_migration_requested_pauses_runtime() {
    let two = up();
    let host = "paused.cloud.example.com";
    let mut objects = podinfo();
    objects.push(gslb(LEGACY, "paused", embedded(&failover(), host)));
    two.apply("eu", &objects);
    answered(&two, host);
    migrate(&two, "paused");
    // From here on the old object is not carried out: a change of it changes nothing.
    let patch = r#"{"spec":{"strategy":{"dnsTtlSeconds":77}}}"#;
    let line = [
        "patch",
        "gslbs.k8gb.absa.oss",
        "-n",
        NAMESPACE,
        "paused",
        "--type=merge",
        "-p",
        patch,
    ];
    two.kubectl("eu").args(&line, "").out();
    // The new one is: its change arrives after the old one's would have.
    let patch = r#"{"spec":{"strategy":{"dnsTtlSeconds":11}}}"#;
    let line = [
        "patch",
        "gslbs.k8gb.io",
        "-n",
        NAMESPACE,
        "paused",
        "--type=merge",
        "-p",
        patch,
    ];
    two.kubectl("eu").args(&line, "").out();
    eventually(
        "the new object's TTL is published",
        LIMIT,
        &json!(11),
        || endpoint(&two, "paused")["spec"]["endpoints"][0]["recordTTL"].clone(),
    );
    answered(&two, host);
}

#[test]
#[ignore = "needs kubectl and dig"]
fn legacy_service_annotation() {
    let two = up();
    let host = "service.cloud.example.com";
    let mut objects = podinfo();
    objects[0]["spec"]["type"] = json!("LoadBalancer");
    let reference = json!({"apiVersion": "v1", "kind": "Service", "name": "frontend-podinfo"});
    let spec = json!({"strategy": failover(), "resourceRef": reference});
    let mut object = gslb(LEGACY, "service", spec);
    object["metadata"]["annotations"] = json!({"k8gb.io/hostname": host});
    objects.push(object);
    two.apply("eu", &objects);
    answered(&two, host);
    let local = format!("localtargets-{host}");
    eventually("both addresses are written", LIMIT, &2, || {
        two.targets("eu", NAMESPACE, "service", &local).len()
    });
    let healthy = json!({ host: "Healthy" });
    eventually("the status says it", LIMIT, &healthy, || {
        old(&two, "service")["status"]["serviceHealth"].clone()
    });
}
