//! Flow schemas and priority levels.

use std::time::Duration;

use flotilla_apiserver::{ApiServer, Config, Handle};
use serde_json::{Value, json};

use crate::support::send;

const SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
const JSON: (&str, &str) = ("content-type", "application/json");

async fn start(folder: &std::path::Path) -> Handle {
    ApiServer::start(Config {
        listen: None,
        data_dir: Some(folder.to_owned()),
        ..Config::default()
    })
    .await
    .unwrap()
}

/// Waits until the status of a schema says this.
async fn eventually(server: &Handle, name: &str, reason: &str) -> Value {
    let mut schema = Value::Null;
    for _ in 0..200 {
        let path = format!("{SCHEMAS}/{name}");
        schema = send(server, "GET", &path, &[], "").await.json();
        if schema["status"]["conditions"][0]["reason"] == reason {
            return schema;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{schema}");
}

#[tokio::test]
async fn a_flow_schema_says_whether_its_level_exists() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).await;
    eventually(&server, "catch-all", "Found").await;
    let schema =
        json!({"metadata": {"name": "s"}, "spec": {"priorityLevelConfiguration": {"name": "l"}}});
    let made = send(&server, "POST", SCHEMAS, &[JSON], schema.to_string()).await;
    assert_eq!(made.code, 201, "{}", made.json());
    let missing = eventually(&server, "s", "NotFound").await;
    assert_eq!(missing["status"]["conditions"][0]["status"], "True");

    let spec = json!({"type": "Exempt", "exempt": {}});
    let level = json!({"metadata": {"name": "l"}, "spec": spec}).to_string();
    let made = send(&server, "POST", LEVELS, &[JSON], level).await;
    assert_eq!(made.code, 201, "{}", made.json());
    let found = eventually(&server, "s", "Found").await;
    assert_eq!(found["status"]["conditions"][0]["status"], "False");
    let owners = found["metadata"]["managedFields"].as_array().unwrap();
    let consumer = "api-priority-and-fairness-config-consumer-v1";
    assert!(owners.iter().any(|owner| owner["manager"] == consumer));

    send(&server, "DELETE", &format!("{LEVELS}/l"), &[], "").await;
    eventually(&server, "s", "NotFound").await;
}

#[tokio::test]
async fn a_start_brings_back_what_was_deleted_and_leaves_what_was_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path()).await;
    let probes = format!("{SCHEMAS}/probes");
    send(&server, "DELETE", &probes, &[], "").await;
    let gone = send(&server, "GET", &probes, &[], "").await;
    assert_eq!(gone.code, 404);
    let merge = [("content-type", "application/merge-patch+json")];
    let ours = json!({
        "metadata": {"annotations": {"apf.kubernetes.io/autoupdate-spec": "false"}},
        "spec": {"matchingPrecedence": 7},
    });
    for name in ["service-accounts", "catch-all"] {
        let path = format!("{SCHEMAS}/{name}");
        let reply = send(&server, "PATCH", &path, &merge, ours.to_string()).await;
        assert_eq!(reply.code, 200, "{}", reply.json());
    }
    server.stop().await;

    let server = start(dir.path()).await;
    for (name, precedence) in [
        ("probes", 2),
        ("service-accounts", 7),
        ("catch-all", 10_000),
    ] {
        let schema = send(&server, "GET", &format!("{SCHEMAS}/{name}"), &[], "").await;
        let spec = &schema.json()["spec"];
        assert_eq!(spec["matchingPrecedence"], precedence, "{name}");
    }
    server.stop().await;
}
