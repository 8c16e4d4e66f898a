use std::sync::Arc;

use serde_json::{Value, json};

use super::{Additional, Enum, Error, ListType, Pool, parse};

fn error(schema: Value) -> Error {
    parse(&schema, &mut Pool::new()).expect_err("should not parse")
}

#[test]
fn keywords_of_a_node_are_kept() {
    let node = parse(
        &json!({
            "type": "object",
            "properties": {
                "ports": {
                    "type": "array", "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {"type": "object", "required": ["port"], "properties": {
                        "port": {"type": "integer", "format": "int32", "minimum": 1},
                        "protocol": {"type": "string", "default": "TCP", "enum": ["TCP", "UDP"]}
                    }}
                },
                "any": {"x-kubernetes-preserve-unknown-fields": true, "nullable": true},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "size": {"x-kubernetes-int-or-string": true}
            },
            "x-kubernetes-validations": [{"rule": "true", "reason": "FieldValueForbidden"}]
        }),
        &mut Pool::new(),
    )
    .expect("parses");
    let ports = node.property("ports").expect("ports");
    assert_eq!(ports.list, ListType::Map);
    assert_eq!(ports.keys.len(), 2);
    let item = ports.items.as_ref().expect("items");
    assert_eq!(item.checks.as_ref().expect("checks").required.len(), 1);
    assert_eq!(
        item.property("protocol")
            .and_then(|p| p.default.as_deref().cloned()),
        Some(json!("TCP"))
    );
    assert!(
        node.property("any")
            .is_some_and(|n| n.preserve_unknown && n.nullable)
    );
    assert!(matches!(
        node.property("labels").expect("map").additional,
        Additional::Schema(_)
    ));
    assert!(
        node.property("size")
            .is_some_and(|n| n.int_or_string && n.ty.is_none())
    );
    assert!(node.has_rules());
}

#[test]
fn equal_subtrees_are_stored_once() {
    let leaf = |text: &str| {
        json!({"type": "object", "description": text, "properties": {
            "x": {"type": "string", "pattern": "^a$"}
        }})
    };
    let mut pool = Pool::new();
    let both = json!({"type": "object", "properties": {"a": leaf("one"), "b": leaf("two")}});
    let first = parse(&both, &mut pool).expect("parses");
    assert!(Arc::ptr_eq(
        first.property("a").expect("a"),
        first.property("b").expect("b")
    ));
    let second = parse(&both, &mut pool).expect("parses");
    assert!(Arc::ptr_eq(&first, &second), "also across versions");
}

#[test]
fn what_cannot_be_represented_is_refused_in_upstreams_words() {
    for (schema, text) in [
        (
            json!({"$ref": "#/x"}),
            "OpenAPIV3Schema '$ref' is not supported",
        ),
        (json!({"id": "x"}), "OpenAPIV3Schema 'id' is not supported"),
        (
            json!({"patternProperties": {"a": {}}}),
            "OpenAPIV3Schema 'patternProperties' is not supported",
        ),
        (
            json!({"definitions": {"a": {}}}),
            "OpenAPIV3Schema 'definitions' is not supported",
        ),
        (
            json!({"dependencies": {"a": []}}),
            "OpenAPIV3Schema 'dependencies' is not supported",
        ),
        (
            json!({"additionalItems": true}),
            "OpenAPIV3Schema 'additionalItems' is not supported",
        ),
        (
            json!({"items": [{}]}),
            "OpenAPIV3Schema 'items' must be a schema, but is an array",
        ),
        (
            json!({"x-kubernetes-preserve-unknown-fields": false}),
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        ),
    ] {
        assert_eq!(error(schema.clone()).to_string(), text);
        // Also anywhere inside.
        assert_eq!(
            error(json!({"properties": {"a": schema}})).to_string(),
            text
        );
    }
}

#[test]
fn long_enums_are_searched_by_hash() {
    let values: Vec<Value> = (0..200_000)
        .map(|n| json!(format!("v{n}")))
        .chain([json!(7)])
        .collect();
    let values = Enum::new(values);
    for _ in 0..10_000 {
        assert!(values.contains(&json!("v199999")));
        assert!(!values.contains(&json!("w")));
    }
    assert!(
        values.contains(&json!(7.0)),
        "numbers are compared by value"
    );
}
