//! The admission policies: accepted by an API server, and their rules applied to a table of annotations.
//!
//! The rules are evaluated by putting them into a definition, whose rules every API server evaluates.

use flotilla_apiserver::{ApiServer, Config};
use flotilla_gslb::policies::POLICIES;
use kube::{Client, api::PostParams};
use serde_json::{Value, json};

use crate::fleet::{api, eventually, put};

fn documents() -> Vec<Value> {
    let documents = POLICIES.split("\n---\n");
    documents
        .map(|text| serde_saphyr::from_str(text).unwrap())
        .collect()
}

/// A definition whose objects are valid when the policy's expression holds for them.
fn definition(kind: &str, expression: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let rule = expression.replace("object.metadata", "self");
    let annotations = json!({"type": "object", "maxProperties": 4,
        "additionalProperties": {"type": "string", "maxLength": 300}});
    let spec = json!({"type": "object", "properties": {"annotations": annotations},
        "x-kubernetes-validations": [{"rule": rule}]});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.test.flotilla.dev")},
        "spec": {"group": "test.flotilla.dev", "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]},
    })
}

async fn accepts(client: &Client, kind: &str, annotations: Option<Value>) -> bool {
    let plural = format!("{}s", kind.to_lowercase());
    let api = api(client, "test.flotilla.dev/v1", kind, &plural, "default");
    let mut object = json!({"apiVersion": "test.flotilla.dev/v1", "kind": kind,
        "metadata": {"generateName": "x-", "namespace": "default"}, "spec": {}});
    if let Some(annotations) = annotations {
        object["spec"]["annotations"] = annotations;
    }
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policies_are_taken_and_refuse_what_they_should() {
    let config = Config {
        listen: None,
        ..Config::default()
    };
    let server = ApiServer::start(config).await.unwrap();
    let client = server.client("test");
    let documents = documents();
    assert_eq!(documents.len(), 4);
    for document in &documents {
        let plural = match document["kind"].as_str().unwrap() {
            "ValidatingAdmissionPolicy" => "validatingadmissionpolicies",
            _ => "validatingadmissionpolicybindings",
        };
        put(&client, plural, document.clone()).await;
    }
    let (ips, hosts) = ("k8gb.io/exposed-ip-addresses", "k8gb.io/exposed-hostnames");
    let long = format!("{}.example.com", "a".repeat(64));
    let table = [
        ("Address", ips, "10.0.0.1", true),
        ("Address", ips, "10.0.0.1, 10.0.0.2", true),
        ("Address", ips, "2001:db8::1", true),
        ("Address", ips, "10.0.0.1,", false),
        ("Address", ips, "10.0.0", false),
        ("Address", ips, "", false),
        ("Address", ips, "lb.example.com", false),
        ("Address", hosts, "anything at all", true),
        ("Name", hosts, "lb.example.com", true),
        ("Name", hosts, "a.example.com , b.example.com", true),
        ("Name", hosts, "-a.example.com", false),
        ("Name", hosts, "a..example.com", false),
        ("Name", hosts, "a_b.example.com", false),
        ("Name", hosts, long.as_str(), false),
        ("Name", hosts, "", false),
        ("Name", ips, "anything at all", true),
    ];
    for (kind, index) in [("Address", 0), ("Name", 2)] {
        let expression = documents[index]["spec"]["validations"][0]["expression"]
            .as_str()
            .unwrap();
        put(
            &client,
            "customresourcedefinitions",
            definition(kind, expression),
        )
        .await;
        eventually("the definition is served", async || {
            accepts(&client, kind, None).await
        })
        .await;
    }
    for (kind, annotation, value, expected) in table {
        let annotations = json!({ annotation: value });
        let accepted = accepts(&client, kind, Some(annotations)).await;
        assert_eq!(accepted, expected, "{annotation} {value:?}");
    }
    server.stop().await;
}
