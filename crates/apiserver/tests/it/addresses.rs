//! Cluster addresses of services, and the objects that show them.

use std::time::Duration;

use flotilla_apiserver::{ApiServer, Config, Handle};
use serde_json::{Value, json};

use crate::support::{Reply, send};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";

async fn dual_stack() -> Handle {
    let cidrs = ["10.1.0.0/16", "fd00:1::/112"];
    ApiServer::start(Config {
        listen: None,
        service_cidrs: cidrs.map(|cidr| cidr.parse().unwrap()).to_vec(),
        ..Config::default()
    })
    .await
    .unwrap()
}

async fn get(server: &Handle, path: &str) -> Reply {
    send(server, "GET", path, &[], "").await
}

/// Waits until an IPAddress object is there, or is not.
async fn eventually(server: &Handle, name: &str, there: bool) -> Value {
    for _ in 0..200 {
        let reply = get(server, &format!("{ADDRESSES}/{name}")).await;
        if (reply.code == 200) == there {
            return reply.json();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{name}: {}", get(server, ADDRESSES).await.json());
}

#[tokio::test]
async fn the_range_is_an_object_and_the_first_service_has_its_first_address() {
    let server = dual_stack().await;
    let range = get(
        &server,
        "/apis/networking.k8s.io/v1/servicecidrs/kubernetes",
    )
    .await;
    assert_eq!(
        range.json()["spec"]["cidrs"],
        json!(["10.1.0.0/16", "fd00:1::/112"])
    );
    let first = get(&server, &format!("{SERVICES}/kubernetes")).await.json();
    assert_eq!(first["spec"]["clusterIPs"], json!(["10.1.0.1"]));
    let object = eventually(&server, "10.1.0.1", true).await;
    let parent = json!({"resource": "services", "namespace": "default", "name": "kubernetes"});
    assert_eq!(object["spec"]["parentRef"], parent);
    let labels = json!({"ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"});
    assert_eq!(object["metadata"]["labels"], labels);
}

#[tokio::test]
async fn a_service_of_two_families_has_two_addresses_until_it_has_one_or_goes() {
    let server = dual_stack().await;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"ipFamilyPolicy": "RequireDualStack", "selector": {"a": "b"},
            "clusterIP": "10.1.0.9", "clusterIPs": ["10.1.0.9", "fd00:1::9"], "ports": [{"port": 80}]}});
    let reply = send(&server, "POST", SERVICES, &[], service.to_string()).await;
    assert_eq!(reply.code, 201, "{}", reply.message());
    let spec = reply.json()["spec"].clone();
    assert_eq!(spec["clusterIPs"], json!(["10.1.0.9", "fd00:1::9"]));
    assert_eq!(spec["ipFamilies"], json!(["IPv4", "IPv6"]));
    eventually(&server, "10.1.0.9", true).await;
    let second = eventually(&server, "fd00:1::9", true).await;
    assert_eq!(
        second["metadata"]["labels"]["ipaddress.kubernetes.io/ip-family"],
        "IPv6"
    );
    let mut again = service.clone();
    again["metadata"]["name"] = json!("t");
    let reply = send(&server, "POST", SERVICES, &[], again.to_string()).await;
    assert!(
        reply
            .message()
            .contains("failed to allocate IP 10.1.0.9: provided IP is already allocated"),
        "{}",
        reply.message()
    );
    let media = [("content-type", "application/merge-patch+json")];
    let single = json!({"spec": {"ipFamilyPolicy": "SingleStack"}}).to_string();
    let path = format!("{SERVICES}/s");
    let reply = send(&server, "PATCH", &path, &media, single).await;
    assert_eq!(
        reply.json()["spec"]["clusterIPs"],
        json!(["10.1.0.9"]),
        "{}",
        reply.message()
    );
    eventually(&server, "fd00:1::9", false).await;
    let both = json!({"spec": {"ipFamilyPolicy": "PreferDualStack"}}).to_string();
    let reply = send(&server, "PATCH", &path, &media, both).await;
    let second = reply.json()["spec"]["clusterIPs"][1]
        .as_str()
        .unwrap()
        .to_owned();
    eventually(&server, &second, true).await;
    send(&server, "DELETE", &path, &[], "").await;
    eventually(&server, "10.1.0.9", false).await;
    eventually(&server, &second, false).await;
}
