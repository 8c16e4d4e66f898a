use serde_json::{Value, json};

use super::prune_object;
use crate::crd::structural::{Pool, parse};

/// Schema of the fields below the root, object, what stays, unknown paths. Cases of
/// apiextensions-apiserver `pruning/algorithm_test.go`, shortened.
fn check(schema: Value, mut object: Value, stays: Value, unknown: &[&str]) {
    let schema = parse(&schema, &mut Pool::new()).expect("parses");
    let found = prune_object(&mut object, &schema);
    assert_eq!(object, stays);
    assert_eq!(found, unknown);
}

#[test]
fn unknown_fields_go_and_metadata_of_the_object_stays() {
    check(
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"}
        }}}}),
        json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"x": 1}, "other": 1,
               "spec": {"a": "1", "b": {"c": 1}}}),
        json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"x": 1}, "spec": {"a": "1"}}),
        &["other", "spec.b"],
    );
}

#[test]
fn preserved_parts_keep_what_is_unknown_but_not_below_known_fields() {
    check(
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "known": {"type": "object", "properties": {"a": {"type": "string"}}},
            "list": {"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": {
                "type": "object", "properties": {"in": {"type": "object"}}
            }}
        }}),
        json!({"known": {"a": "1", "b": 2}, "free": {"x": [1]}, "list": [{"in": {"z": 1}, "y": 1}]}),
        json!({"known": {"a": "1"}, "free": {"x": [1]}, "list": [{"in": {}, "y": 1}]}),
        &["known.b", "list[0].in.z"],
    );
}

#[test]
fn maps_keep_their_keys() {
    check(
        json!({"type": "object", "properties": {
            "typed": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                "a": {"type": "string"}
            }}},
            "any": {"type": "object", "additionalProperties": true}
        }}),
        json!({"typed": {"k": {"a": "1", "b": 1}}, "any": {"k": {"b": 1}, "n": 1}}),
        json!({"typed": {"k": {"a": "1"}}, "any": {"k": {}, "n": 1}}),
        &["any.k.b", "typed.k.b"],
    );
}

#[test]
fn embedded_resources_keep_their_metadata() {
    check(
        json!({"type": "object", "properties": {"t": {
            "type": "object", "x-kubernetes-embedded-resource": true,
            "properties": {"spec": {"type": "object"}}
        }}}),
        json!({"t": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "x"}, "spec": {"u": 1}, "s": 1}}),
        json!({"t": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "x"}, "spec": {}}}),
        &["t.s", "t.spec.u"],
    );
}

#[test]
fn what_is_nested_below_additional_properties_without_schema_goes() {
    check(
        json!({"type": "object", "properties": {"any": {"type": "object",
            "additionalProperties": true}}}),
        json!({"any": {"a": 1, "b": {"c": 1}, "d": [{"e": 1}]}}),
        json!({"any": {"a": 1, "b": {}, "d": [{}]}}),
        &["any.b.c", "any.d[0].e"],
    );
}
