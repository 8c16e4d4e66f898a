//! Custom resources from definition to deletion.

use std::time::Duration;

use flotilla_apiserver::{ApiServer, Config, Handle};
use serde_json::{Value, json};

use crate::support::{Reply, in_process, send};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const TABS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {
            "group": "stable.example.com", "scope": "Namespaced",
            "names": {"plural": "crontabs", "kind": "CronTab", "shortNames": ["ct"], "categories": ["all"]},
            "versions": [
                {"name": "v1", "served": true, "storage": true,
                 "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["cronSpec"], "properties": {
                        "cronSpec": {"type": "string", "pattern": "^(\\S+ ){4}\\S+$"},
                        "image": {"type": "string", "default": "busybox"},
                        "replicas": {"type": "integer", "minimum": 1, "maximum": 10}},
                        "x-kubernetes-validations": [
                            {"rule": "!has(self.replicas) || self.replicas < 9", "message": "too many"}]},
                    "status": {"type": "object", "properties": {
                        "replicas": {"type": "integer"}, "labelSelector": {"type": "string"}}}}}},
                 "additionalPrinterColumns": [
                    {"name": "Spec", "type": "string", "jsonPath": ".spec.cronSpec"},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
                 "selectableFields": [{"jsonPath": ".spec.image"}],
                 "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.labelSelector"}}},
                {"name": "v1beta1", "served": true, "storage": false, "deprecated": true,
                 "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
            ]
        }
    })
}

async fn post(server: &Handle, path: &str, body: &Value) -> Reply {
    send(server, "POST", path, &[], body.to_string()).await
}

async fn patch(server: &Handle, path: &str, body: &Value) -> Reply {
    let media = [("content-type", "application/merge-patch+json")];
    send(server, "PATCH", path, &media, body.to_string()).await
}

async fn get(server: &Handle, path: &str) -> Reply {
    send(server, "GET", path, &[], "").await
}

fn tab(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": name}, "spec": spec})
}

async fn gone(server: &Handle, path: &str) {
    for _ in 0..100 {
        if get(server, path).await.code == 404 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{path} is still there: {}", get(server, path).await.json());
}

#[tokio::test]
async fn a_definition_is_established_in_the_write_that_creates_it() {
    let server = in_process().await;
    assert_eq!(get(&server, TABS).await.code, 404);
    let reply = post(&server, CRDS, &definition()).await;
    assert_eq!(reply.code, 201, "{}", reply.message());
    let crd = reply.json();
    let condition = |at: usize, name: &str| crd["status"]["conditions"][at][name].clone();
    assert_eq!(
        (condition(0, "type"), condition(0, "reason")),
        (json!("NamesAccepted"), json!("NoConflicts"))
    );
    assert_eq!(
        (condition(1, "type"), condition(1, "status")),
        (json!("Established"), json!("True"))
    );
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(crd["status"]["acceptedNames"]["listKind"], "CronTabList");
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(get(&server, TABS).await.json()["kind"], "CronTabList");
    let groups = get(&server, "/apis/stable.example.com/v1").await.json();
    assert_eq!(groups["resources"][0]["shortNames"], json!(["ct"]));
    assert_eq!(post(&server, CRDS, &definition()).await.code, 409);
}

#[tokio::test]
async fn objects_are_pruned_defaulted_and_validated() {
    let server = in_process().await;
    post(&server, CRDS, &definition()).await;
    let reply = post(
        &server,
        TABS,
        &tab("a", json!({"cronSpec": "* * * * *", "bogus": 1})),
    )
    .await;
    assert_eq!(reply.code, 201, "{}", reply.message());
    let object = reply.json();
    assert_eq!(
        object["spec"],
        json!({"cronSpec": "* * * * *", "image": "busybox"})
    );
    assert_eq!(object["metadata"]["generation"], 1);
    let strict = format!("{TABS}?fieldValidation=Strict");
    let reply = post(
        &server,
        &strict,
        &tab("b", json!({"cronSpec": "* * * * *", "bogus": 1})),
    )
    .await;
    assert_eq!(
        reply.message(),
        r#"CronTab in version "v1" cannot be handled as a CronTab: strict decoding error: unknown field "spec.bogus""#
    );
    for (spec, text) in [
        (
            json!({}),
            r#"CronTab.stable.example.com "b" is invalid: [spec.cronSpec: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]"#,
        ),
        (
            json!({"cronSpec": "x"}),
            r#"CronTab.stable.example.com "b" is invalid: spec.cronSpec: Invalid value: "x": spec.cronSpec in body should match '^(\S+ ){4}\S+$'"#,
        ),
        (
            json!({"cronSpec": "* * * * *", "replicas": 9}),
            r#"CronTab.stable.example.com "b" is invalid: spec: Invalid value: too many"#,
        ),
    ] {
        let reply = post(&server, TABS, &tab("b", spec)).await;
        assert_eq!((reply.code, reply.message().as_str()), (422, text));
    }
}

#[tokio::test]
async fn status_and_scale_have_their_own_endpoints() {
    let server = in_process().await;
    post(&server, CRDS, &definition()).await;
    post(
        &server,
        TABS,
        &tab("a", json!({"cronSpec": "* * * * *", "replicas": 2})),
    )
    .await;
    let path = format!("{TABS}/a");
    let reply = patch(
        &server,
        &path,
        &json!({"spec": {"replicas": 3}, "status": {"replicas": 9}}),
    )
    .await;
    assert_eq!(
        (
            reply.json()["metadata"]["generation"].clone(),
            reply.json().get("status").cloned()
        ),
        (json!(2), None)
    );
    let reply = patch(
        &server,
        &format!("{path}/status"),
        &json!({"status": {"replicas": 3, "labelSelector": "a=b"}, "spec": {"replicas": 7}}),
    )
    .await;
    assert_eq!(reply.code, 200, "{}", reply.message());
    assert_eq!(
        (
            reply.json()["spec"]["replicas"].clone(),
            reply.json()["status"]["replicas"].clone()
        ),
        (json!(3), json!(3))
    );
    let reply = patch(
        &server,
        &format!("{path}/status"),
        &json!({"status": {"replicas": "x"}}),
    )
    .await;
    assert!(
        reply.message().contains("status.replicas"),
        "{}",
        reply.message()
    );
    let scale = get(&server, &format!("{path}/scale")).await.json();
    assert_eq!(scale["status"], json!({"replicas": 3, "selector": "a=b"}));
    let reply = patch(
        &server,
        &format!("{path}/scale"),
        &json!({"spec": {"replicas": 5}}),
    )
    .await;
    assert_eq!(reply.json()["spec"]["replicas"], 5, "{}", reply.message());
    assert_eq!(get(&server, &path).await.json()["spec"]["replicas"], 5);
}

#[tokio::test]
async fn other_versions_tables_and_field_selectors_work() {
    let server = in_process().await;
    post(&server, CRDS, &definition()).await;
    post(&server, TABS, &tab("a", json!({"cronSpec": "* * * * *"}))).await;
    post(
        &server,
        TABS,
        &tab("b", json!({"cronSpec": "1 * * * *", "image": "x"})),
    )
    .await;
    let beta = TABS.replace("/v1/", "/v1beta1/");
    let reply = get(&server, &format!("{beta}/a")).await;
    assert_eq!(reply.json()["apiVersion"], "stable.example.com/v1beta1");
    let warning = reply
        .headers
        .get("warning")
        .expect("deprecated")
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        warning,
        r#"299 - "stable.example.com/v1beta1 CronTab is deprecated; use stable.example.com/v1 CronTab""#
    );
    let list = get(&server, &format!("{TABS}?fieldSelector=spec.image%3Dx"))
        .await
        .json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = send(&server, "GET", TABS, &accept, "").await.json();
    assert_eq!(table["columnDefinitions"][1]["name"], "Spec");
    assert_eq!(table["rows"][1]["cells"][1], "1 * * * *");
}

#[tokio::test]
async fn server_side_apply_knows_the_schema() {
    let server = in_process().await;
    post(&server, CRDS, &definition()).await;
    let media = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{TABS}/a?fieldManager=me");
    let body = tab("a", json!({"cronSpec": "* * * * *", "replicas": 2}));
    let reply = send(&server, "PATCH", &path, &media, body.to_string()).await;
    assert_eq!(reply.code, 201, "{}", reply.message());
    let body = tab("a", json!({"cronSpec": "* * * * *"}));
    let reply = send(&server, "PATCH", &path, &media, body.to_string()).await;
    assert_eq!(
        reply.json()["spec"],
        json!({"cronSpec": "* * * * *", "image": "busybox"})
    );
}

#[tokio::test]
async fn a_deleted_definition_takes_its_objects_along() {
    let server = in_process().await;
    post(&server, CRDS, &definition()).await;
    post(&server, TABS, &tab("a", json!({"cronSpec": "* * * * *"}))).await;
    let mut held = tab("b", json!({"cronSpec": "* * * * *"}));
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    post(&server, TABS, &held).await;
    let crd = format!("{CRDS}/crontabs.stable.example.com");
    let reply = send(&server, "DELETE", &crd, &[], "").await;
    assert_eq!(reply.code, 200);
    assert_eq!(
        reply.json()["metadata"]["finalizers"],
        json!(["customresourcecleanup.apiextensions.k8s.io"])
    );
    gone(&server, &format!("{TABS}/a")).await;
    let reply = post(&server, TABS, &tab("c", json!({"cronSpec": "* * * * *"}))).await;
    assert_eq!(
        (reply.code, reply.message().as_str()),
        (
            405,
            "create not allowed while custom resource definition is terminating"
        )
    );
    let waiting = get(&server, &crd).await.json();
    let condition = waiting["status"]["conditions"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(
        (condition["type"].clone(), condition["status"].clone()),
        (json!("Terminating"), json!("True"))
    );
    patch(
        &server,
        &format!("{TABS}/b"),
        &json!({"metadata": {"finalizers": []}}),
    )
    .await;
    gone(&server, &crd).await;
    assert_eq!(get(&server, TABS).await.code, 404);
    assert_eq!(
        post(&server, CRDS, &definition()).await.code,
        201,
        "and can come back"
    );
}

#[tokio::test]
async fn names_are_unique_within_a_group_and_free_ones_find_who_waits() {
    let server = in_process().await;
    post(&server, CRDS, &definition()).await;
    let mut second = definition();
    second["metadata"]["name"] = json!("others.stable.example.com");
    second["spec"]["names"] = json!({"plural": "others", "kind": "CronTab", "singular": "other"});
    let reply = post(&server, CRDS, &second).await.json();
    let conditions = reply["status"]["conditions"].as_array().unwrap();
    assert_eq!(conditions[0]["reason"], "ListKindConflict");
    assert_eq!(
        conditions[0]["message"],
        r#""CronTabList" is already in use"#
    );
    assert_eq!(conditions[1]["reason"], "NotAccepted");
    let others = "/apis/stable.example.com/v1/namespaces/default/others";
    assert_eq!(get(&server, others).await.code, 404);
    send(
        &server,
        "DELETE",
        &format!("{CRDS}/crontabs.stable.example.com"),
        &[],
        "",
    )
    .await;
    for _ in 0..100 {
        if get(&server, others).await.code == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!(
        "never served: {}",
        get(&server, &format!("{CRDS}/others.stable.example.com"))
            .await
            .json()
    );
}

#[tokio::test]
async fn what_is_established_does_not_change_its_identity() {
    let server = in_process().await;
    post(&server, CRDS, &definition()).await;
    let path = format!("{CRDS}/crontabs.stable.example.com");
    for (change, text) in [
        (
            json!({"spec": {"scope": "Cluster"}}),
            r#"spec.scope: Invalid value: "Cluster": field is immutable"#,
        ),
        (
            json!({"spec": {"names": {"kind": "Other"}}}),
            r#"spec.names.kind: Invalid value: "Other": field is immutable"#,
        ),
        (
            json!({"spec": {"versions": [{"name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}),
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions",
        ),
    ] {
        let reply = patch(&server, &path, &change).await;
        assert_eq!(reply.code, 422);
        assert!(reply.message().contains(text), "{}", reply.message());
    }
}

#[tokio::test]
async fn a_restart_finds_definitions_and_objects() {
    let dir = tempfile::tempdir().unwrap();
    let config = || Config {
        listen: None,
        data_dir: Some(dir.path().to_owned()),
        ..Config::default()
    };
    let server = ApiServer::start(config()).await.unwrap();
    post(&server, CRDS, &definition()).await;
    post(&server, TABS, &tab("a", json!({"cronSpec": "* * * * *"}))).await;
    server.stop().await;
    let server = ApiServer::start(config()).await.unwrap();
    let object = get(&server, &format!("{TABS}/a")).await.json();
    assert_eq!(object["spec"]["image"], "busybox");
    let reply = post(&server, TABS, &tab("b", json!({"cronSpec": "x"}))).await;
    assert_eq!(reply.code, 422);
}

#[tokio::test]
async fn openapi_publishes_the_schema() {
    let server = in_process().await;
    post(&server, CRDS, &definition()).await;
    let document = get(&server, "/openapi/v3/apis/stable.example.com/v1")
        .await
        .json();
    let schema = &document["components"]["schemas"]["com.example.stable.v1.CronTab"];
    assert_eq!(
        schema["properties"]["spec"]["properties"]["replicas"]["maximum"],
        10
    );
    assert_eq!(
        schema["x-kubernetes-group-version-kind"][0]["kind"],
        "CronTab"
    );
}

#[tokio::test]
async fn defaults_that_come_later_show_up_in_older_objects() {
    let server = in_process().await;
    post(&server, CRDS, &definition()).await;
    post(&server, TABS, &tab("a", json!({"cronSpec": "* * * * *"}))).await;
    let path = format!("{CRDS}/crontabs.stable.example.com");
    let mut crd = get(&server, &path).await.json();
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let properties = crd.pointer_mut(schema).unwrap();
    properties["zone"] = json!({"type": "string", "default": "UTC"});
    let reply = send(&server, "PUT", &path, &[], crd.to_string()).await;
    assert_eq!(reply.code, 200, "{}", reply.message());
    let one = get(&server, &format!("{TABS}/a")).await.json();
    assert_eq!(one["spec"]["zone"], "UTC");
    let list = get(&server, TABS).await.json();
    assert_eq!(list["items"][0]["spec"]["zone"], "UTC");
    let watch = format!("{TABS}?watch=true&timeoutSeconds=1");
    let first = get(&server, &watch).await;
    let first = first.bytes.split(|b| *b == b'\n').next().unwrap();
    let first: Value = serde_json::from_slice(first).unwrap();
    assert_eq!(first["object"]["spec"]["zone"], "UTC");
    // Nothing was written: the object is as old as before.
    let rev = |object: &Value| object["metadata"]["resourceVersion"].clone();
    assert_eq!(rev(&one), rev(&first["object"]));
}

#[tokio::test]
async fn a_changed_storage_version_shows_old_objects_in_it() {
    let server = in_process().await;
    post(&server, CRDS, &definition()).await;
    post(&server, TABS, &tab("a", json!({"cronSpec": "* * * * *"}))).await;
    let path = format!("{CRDS}/crontabs.stable.example.com");
    let mut crd = get(&server, &path).await.json();
    crd["spec"]["versions"][0]["storage"] = json!(false);
    crd["spec"]["versions"][1]["storage"] = json!(true);
    let reply = send(&server, "PUT", &path, &[], crd.to_string()).await;
    assert_eq!(reply.code, 200, "{}", reply.message());
    let beta = TABS.replace("/v1/", "/v1beta1/");
    for (path, version) in [(TABS, "v1"), (beta.as_str(), "v1beta1")] {
        let expected = format!("stable.example.com/{version}");
        let list = get(&server, path).await.json();
        assert_eq!(list["items"][0]["apiVersion"], expected.as_str());
    }
}
