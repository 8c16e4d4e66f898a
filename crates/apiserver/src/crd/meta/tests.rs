use serde_json::{Value, json};

use super::{check, coerce};
use crate::crd::structural::{Node, Pool, parse};
use std::sync::Arc;

fn schema() -> Arc<Node> {
    let schema = json!({"type": "object", "properties": {"t": {
        "type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true
    }}});
    parse(&schema, &mut Pool::new()).expect("parses")
}

fn errors(embedded: Value) -> Vec<String> {
    check(&json!({"t": embedded}), &schema(), false)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn embedded_objects_have_a_kind_and_sound_metadata() {
    let sound = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}});
    assert_eq!(errors(sound), [""; 0]);
    assert_eq!(
        errors(json!({})),
        ["t.apiVersion: Required value", "t.kind: Required value"]
    );
    let found =
        errors(json!({"apiVersion": "a/b/c", "kind": "No Kind", "metadata": {"name": ".."}}));
    assert_eq!(
        found[0],
        r#"t.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#
    );
    assert!(found[1].starts_with(r#"t.kind: Invalid value: "No Kind": may have mixed case, but"#));
    assert_eq!(
        found[2],
        r#"t.metadata.name: Invalid value: "..": may not be '..'"#
    );
}

#[test]
fn foreign_fields_of_embedded_metadata_are_dropped() {
    let mut object = json!({"t": {"metadata": {"name": "x", "bogus": 1, "labels": {"a": "b"}}}});
    coerce(&mut object, &schema(), false).expect("sound");
    assert_eq!(
        object,
        json!({"t": {"metadata": {"name": "x", "labels": {"a": "b"}}}})
    );
}

#[test]
fn malformed_embedded_metadata_is_refused() {
    let mut object = json!({"t": {"metadata": {"labels": {"a": 1}}}});
    let why = coerce(&mut object, &schema(), false)
        .expect_err("labels are strings")
        .to_string();
    assert!(why.starts_with("t.metadata: Invalid value: {"), "{why}");
    assert!(
        why.ends_with("json: cannot unmarshal number into Go value of type string"),
        "{why}"
    );
}
