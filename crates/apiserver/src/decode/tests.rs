use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::registry::{Registry, built_in};

fn deployments() -> Arc<Resource> {
    let registry = Registry::new(built_in());
    registry.get("apps", "v1", "deployments").unwrap().clone()
}

#[track_caller]
fn refused(body: &[u8], media: Media, text: &str) {
    let error = object(body, media, &deployments()).unwrap_err();
    assert_eq!(error.code(), 400, "{error}");
    assert!(error.message.contains(text), "{error}");
}

#[test]
fn unknown_and_duplicate_fields_are_reported_and_dropped() {
    let body = br#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a"},
        "spec":{"replicas":1,"replicas":2,"foo":1,"template":{"spec":{"containers":[
            {"name":"c","bar":true}]}}}}"#;
    let decoded = object(body, Media::Json, &deployments()).unwrap();
    assert_eq!(
        decoded.complaints,
        [
            "duplicate field \"spec.replicas\"",
            "unknown field \"spec.foo\"",
            "unknown field \"spec.template.spec.containers[0].bar\"",
        ]
    );
    assert_eq!(decoded.object["spec"]["replicas"], 2);
    assert!(decoded.object["spec"].get("foo").is_none());
    let strict = judge(decoded.complaints, FieldValidation::Strict, &deployments()).unwrap_err();
    let want = "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: duplicate field \
                \"spec.replicas\", ";
    assert!(strict.message.starts_with(want), "{}", strict.message);
}

#[test]
fn yaml_is_read_like_json() {
    let body = b"kind: Deployment\nspec:\n  replicas: 3\n  replicas: 4\n";
    let decoded = object(body, Media::Yaml, &deployments()).unwrap();
    assert_eq!(decoded.complaints, ["duplicate field \"spec.replicas\""]);
    assert_eq!(decoded.object["spec"], json!({"replicas": 4}));
    assert_eq!(decoded.object["apiVersion"], "apps/v1");
}

#[test]
fn bodies_that_make_no_sense_are_refused() {
    refused(b"", Media::Json, "unexpected end of JSON input (<empty>)");
    refused(b"{", Media::Json, "json parse error: ");
    refused(b"[]", Media::Json, "must be one object");
    refused(
        b"{\"kind\":\"\xff\"}",
        Media::Json,
        "not valid UTF-8 (at byte 9)",
    );
    refused(
        br#"{"kind":"Pod"}"#,
        Media::Json,
        "Pod in version \"v1\" cannot be handled as a Deployment: no kind \"Pod\" is registered for version \"apps/v1\" in \
         scheme \"pkg/runtime/scheme.go:111\"",
    );
    refused(
        br#"{"apiVersion":"v1"}"#,
        Media::Json,
        "no kind \"Deployment\" is registered for version \"v1\"",
    );
    let deep = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    refused(deep.as_bytes(), Media::Json, "is unrecognized");
    refused(deep.as_bytes(), Media::Yaml, "is unrecognized");
    let bomb = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n\
                c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c]\n\
                e: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e]\n\
                g: &g [*f, *f, *f, *f, *f, *f, *f, *f]\nh: &h [*g, *g, *g, *g, *g, *g, *g]\n";
    refused(bomb.as_bytes(), Media::Yaml, "is unrecognized");
}

#[test]
fn values_of_the_wrong_type_are_named_as_go_names_them() {
    let body = br#"{"spec":{"replicas":"three"}}"#;
    refused(
        body,
        Media::Json,
        "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal \
         string into Go struct field DeploymentSpec.spec.replicas of type int32",
    );
    refused(
        br#"{"spec":{"replicas":1.5}}"#,
        Media::Json,
        "cannot unmarshal number 1.5 into",
    );
    refused(
        br#"{"spec":{"replicas":3000000000}}"#,
        Media::Json,
        "of type int32",
    );
    refused(
        br#"{"metadata":{"creationTimestamp":"soon"}}"#,
        Media::Json,
        "parsing time \"soon\"",
    );
}

#[test]
fn null_means_absent_and_times_take_one_form() {
    let body = br#"{"metadata":{"creationTimestamp":"2026-01-02T04:04:05+01:00","labels":null}}"#;
    let decoded = object(body, Media::Json, &deployments()).unwrap();
    assert_eq!(
        decoded.object["metadata"],
        json!({"creationTimestamp": "2026-01-02T03:04:05Z"})
    );
}
