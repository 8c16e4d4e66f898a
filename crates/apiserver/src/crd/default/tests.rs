use serde_json::{Value, json};

use super::{apply, drop_nulls};
use crate::crd::structural::{Pool, parse};

fn check(schema: Value, mut object: Value, expected: Value) {
    let schema = parse(&schema, &mut Pool::new()).expect("parses");
    drop_nulls(&mut object, &schema);
    apply(&mut object, &schema);
    assert_eq!(object, expected);
}

#[test]
fn absent_fields_get_their_default_at_every_depth() {
    check(
        json!({"type": "object", "properties": {
            "a": {"type": "string", "default": "A"},
            "b": {"type": "object", "default": {}, "properties": {"c": {"type": "integer", "default": 1}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"d": {"default": true, "type": "boolean"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"e": {"default": "E", "type": "string"}}}},
            "none": {"type": "object", "properties": {"f": {"default": 1, "type": "integer"}}}
        }}),
        json!({"list": [{}, {"d": false}], "map": {"k": {}}}),
        json!({"a": "A", "b": {"c": 1}, "list": [{"d": true}, {"d": false}], "map": {"k": {"e": "E"}}}),
    );
}

#[test]
fn null_is_replaced_where_it_is_not_a_value() {
    check(
        json!({"type": "object", "properties": {
            "a": {"type": "string", "default": "A"},
            "n": {"type": "string", "default": "N", "nullable": true},
            "gone": {"type": "string"},
            "kept": {"type": "string", "nullable": true},
            "list": {"type": "array", "items": {"type": "string", "default": "L"}},
            "map": {"type": "object", "additionalProperties": {"type": "string", "default": "M"}}
        }}),
        json!({"a": null, "n": null, "gone": null, "kept": null, "list": [null], "map": {"k": null}}),
        json!({"a": "A", "n": null, "kept": null, "list": ["L"], "map": {"k": "M"}}),
    );
}
