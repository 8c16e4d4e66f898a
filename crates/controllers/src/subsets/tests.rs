//! From pods to the Endpoints object.

use flotilla_machinery::texts::Texts;
use serde_json::{Value, json};

use super::*;

fn service(spec: Value) -> Service {
    serde_json::from_value(
        json!({"metadata": {"name": "web", "namespace": "ns", "labels": {"a": "b"}}, "spec": spec}),
    )
    .unwrap()
}

fn pod(name: &str, address: &str, ready: bool, more: Value) -> Candidate {
    let mut object = json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"containers": []},
        "status": {"podIP": address, "phase": "Running",
                   "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]},
    });
    for (key, value) in more.as_object().unwrap() {
        *object.pointer_mut(key).unwrap() = value.clone();
    }
    Candidate::new(
        &serde_json::from_value(object).unwrap(),
        &mut Texts::default(),
    )
}

fn shown(endpoints: &Endpoints) -> Vec<String> {
    let subsets = endpoints.subsets.iter().flatten();
    let list = |addresses: &Option<Vec<EndpointAddress>>| {
        let addresses = addresses
            .iter()
            .flatten()
            .map(|address| address.ip.as_str());
        addresses.collect::<Vec<_>>().join(",")
    };
    let shown = subsets.map(|subset| {
        let ports = subset
            .ports
            .iter()
            .flatten()
            .map(|port| port.port.to_string());
        format!(
            "{} | {} | {}",
            list(&subset.addresses),
            list(&subset.not_ready_addresses),
            ports.collect::<Vec<_>>().join(",")
        )
    });
    shown.collect()
}

#[test]
fn addresses_are_ready_or_not_and_pods_that_end_are_left_out() {
    let pods = [
        pod("a", "10.0.0.2", true, json!({})),
        pod("b", "10.0.0.1", true, json!({})),
        pod("c", "10.0.0.3", false, json!({})),
        pod(
            "d",
            "10.0.0.4",
            true,
            json!({"/metadata": {"name": "d", "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
        ),
        pod(
            "e",
            "10.0.0.5",
            false,
            json!({"/status/phase": "Failed", "/spec": {"containers": [], "restartPolicy": "Never"}}),
        ),
        pod(
            "f",
            "10.0.0.6",
            false,
            json!({"/status/phase": "Failed", "/spec": {"containers": [], "restartPolicy": "OnFailure"}}),
        ),
        pod("g", "", true, json!({})),
    ];
    let plain = service(json!({"ports": [{"port": 80}]}));
    let wanted = plan(&plain, &pods, None).unwrap();
    assert_eq!(
        shown(&wanted),
        ["10.0.0.1,10.0.0.2 | 10.0.0.3,10.0.0.6 | 80"]
    );
    let labels: Vec<_> = wanted
        .labels()
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(
        labels,
        [
            "a=b",
            "endpoints.kubernetes.io/managed-by=endpoint-controller"
        ]
    );
    assert_eq!(plan(&plain, &pods, Some(&wanted)), None, "done is done");
    let all = service(
        json!({"ports": [{"port": 80}], "publishNotReadyAddresses": true, "clusterIP": "None"}),
    );
    let wanted = plan(&all, &pods, Some(&wanted)).unwrap();
    assert_eq!(
        shown(&wanted),
        ["10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.6 |  | 80"]
    );
    assert!(wanted.labels().contains_key(HEADLESS));
}

#[test]
fn a_service_without_pods_has_endpoints_without_subsets() {
    let wanted = plan(&service(json!({"ports": [{"port": 80}]})), &[], None).unwrap();
    assert_eq!(wanted.subsets, None);
}

#[test]
fn too_many_addresses_are_cut_and_the_object_says_so() {
    let pods: Vec<_> = (0..=ADDRESSES_MAX)
        .map(|n| {
            pod(
                &format!("p{n}"),
                &format!("10.0.{}.{}", n / 250, n % 250),
                true,
                json!({}),
            )
        })
        .collect();
    let plain = service(json!({"ports": [{"port": 80}]}));
    let wanted = plan(&plain, &pods, None).unwrap();
    assert_eq!(wanted.annotations()[OVER_CAPACITY], "truncated");
    let subset = &wanted.subsets.as_ref().unwrap()[0];
    assert_eq!(subset.addresses.as_ref().unwrap().len(), ADDRESSES_MAX);
    let fewer = plan(&plain, &pods[..5], Some(&wanted)).unwrap();
    assert!(fewer.annotations().is_empty());
}
