use serde_json::{Value, json};

use super::check;
use crate::crd::structural::{Pool, parse};

fn errors(schema: Value, object: Value) -> Vec<String> {
    let schema = parse(&schema, &mut Pool::new()).expect("parses");
    check(&object, &schema)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn sets_hold_everything_once() {
    let schema = json!({"type": "object", "properties": {"s": {
        "type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}
    }}});
    assert!(errors(schema.clone(), json!({"s": ["a", "b"]})).is_empty());
    assert_eq!(
        errors(schema, json!({"s": ["a", "b", "a", "a", "b"]})),
        [
            r#"s[2]: Duplicate value: "a""#,
            r#"s[4]: Duplicate value: "b""#
        ]
    );
}

#[test]
fn maps_hold_every_key_once() {
    let schema = json!({"type": "object", "properties": {"m": {
        "type": "object", "additionalProperties": {
            "type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a", "b"],
            "items": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
        }
    }}});
    let object = json!({"m": {"k": [{"a": 1}, {"a": 1, "b": "x"}, {"a": 1}, {"a": 1, "b": "x"}]}});
    assert_eq!(
        errors(schema.clone(), object),
        [
            r#"m[k][2]: Duplicate value: {"a":1}"#,
            r#"m[k][3]: Duplicate value: {"a":1,"b":"x"}"#
        ]
    );
    assert_eq!(
        errors(schema, json!({"m": {"k": ["x"]}})),
        [r#"m[k][0]: Invalid value: "x": must be an object for an array of list-type map"#]
    );
}
