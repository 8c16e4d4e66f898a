use flotilla_machinery::status::FieldError;
use serde_json::{Value, json};

use super::{create, go_float, update};
use crate::crd::structural::{Pool, parse};

fn texts(errors: Vec<FieldError>) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// Errors of `value` as `spec` of an object.
fn spec(schema: Value, value: Value) -> Vec<String> {
    let root = json!({"type": "object", "properties": {"spec": schema}});
    let root = parse(&root, &mut Pool::new()).expect("parses");
    texts(create(&json!({"spec": value}), &root, ""))
}

#[test]
fn mistakes_are_reported_in_upstreams_words() {
    let cases = [
        (
            json!({"type": "integer"}),
            json!("x"),
            r#"spec: Invalid value: "string": spec in body must be of type integer: "string""#,
        ),
        (
            json!({"type": "string"}),
            json!(null),
            r#"spec: Invalid value: "null": spec in body must be of type string: "null""#,
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            r#"spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean""#,
        ),
        (
            json!({"type": "object", "required": ["a"]}),
            json!({}),
            "spec.a: Required value",
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("c"),
            r#"spec: Unsupported value: "c": supported values: "a", "b""#,
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("abc"),
            "spec: Too long: may not be more than 2 bytes",
        ),
        (
            json!({"type": "string", "minLength": 2}),
            json!("é"),
            r#"spec: Invalid value: "é": spec in body should be at least 2 chars long"#,
        ),
        (
            json!({"type": "string", "pattern": "^a+$"}),
            json!("b"),
            r#"spec: Invalid value: "b": spec in body should match '^a+$'"#,
        ),
        (
            json!({"type": "string", "format": "ipv4"}),
            json!("x"),
            r#"spec: Invalid value: "x": spec in body must be of type ipv4: "x""#,
        ),
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            "spec: Invalid value: 0: spec in body should be greater than or equal to 1",
        ),
        (
            json!({"type": "integer", "maximum": 9, "exclusiveMaximum": true}),
            json!(9),
            "spec: Invalid value: 9: spec in body should be less than 9",
        ),
        (
            json!({"type": "number", "multipleOf": 0.5}),
            json!(1.25),
            "spec: Invalid value: 1.25: spec in body should be a multiple of 0.5",
        ),
        (
            json!({"type": "array", "minItems": 1, "items": {}}),
            json!([]),
            "spec: Invalid value: 0: spec in body should have at least 1 items",
        ),
        (
            json!({"type": "array", "maxItems": 1, "items": {}}),
            json!([1, 2]),
            "spec: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "object", "maxProperties": 1}),
            json!({"a": 1, "b": 2}),
            "spec: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "object", "minProperties": 1}),
            json!({}),
            "spec: Invalid value: 0: spec in body should have at least 1 properties",
        ),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({"a": 1}),
            r#"spec: Invalid value: "a": spec.a in body is a forbidden property"#,
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"a": 1}),
            r#"spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer""#,
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!(["a", 1]),
            r#"spec[1]: Invalid value: "integer": spec[1] in body must be of type string: "integer""#,
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_i64),
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec"#,
        ),
        (
            json!({"type": "string", "not": {"enum": ["a"]}}),
            json!("a"),
            r#"<nil>: Invalid value: "": "spec" must not validate the schema (not)"#,
        ),
    ];
    for (schema, value, text) in cases {
        assert_eq!(spec(schema, value), [text]);
    }
}

#[test]
fn values_that_fit_are_accepted() {
    for (schema, value) in [
        (json!({"type": "integer"}), json!(1.0)),
        (json!({"type": "number"}), json!(1)),
        (json!({"type": "string", "nullable": true}), json!(null)),
        (json!({"x-kubernetes-int-or-string": true}), json!("25%")),
        (
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            json!([{"a": null}]),
        ),
        (json!({"type": "number", "multipleOf": 0.01}), json!(0.07)),
        (
            json!({"type": "string", "format": "no-such-format"}),
            json!("x"),
        ),
        (
            json!({"type": "object", "additionalProperties": true}),
            json!({"a": [1]}),
        ),
    ] {
        assert_eq!(spec(schema, value), [""; 0]);
    }
}

#[test]
fn junctors_report_the_alternative_that_fits_best() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(
        spec(schema.clone(), json!({})),
        [
            r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid"#,
            "spec.a: Required value"
        ]
    );
    assert_eq!(
        spec(schema.clone(), json!({"a": "", "b": ""})),
        [
            r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives"#
        ]
    );
    assert_eq!(spec(schema, json!({"a": ""})), [""; 0]);
    assert_eq!(
        spec(
            json!({"type": "string", "anyOf": [{"maxLength": 1}, {"pattern": "^x"}]}),
            json!("yy")
        ),
        [
            r#"<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)"#,
            "spec: Too long: may not be more than 1 byte"
        ]
    );
    assert_eq!(
        spec(
            json!({"type": "string", "allOf": [{"maxLength": 1}, {"minLength": 1}]}),
            json!("yy")
        ),
        [
            "spec: Too long: may not be more than 1 byte",
            r#"<nil>: Invalid value: "": "spec" must validate all the schemas (allOf)"#
        ]
    );
}

#[test]
fn errors_of_the_status_endpoint_stand_below_status() {
    let schema =
        json!({"type": "object", "required": ["x"], "properties": {"n": {"type": "integer"}}});
    let schema = parse(&schema, &mut Pool::new()).expect("parses");
    assert_eq!(
        texts(create(&json!({"n": "a"}), &schema, "status")),
        [
            r#"status.n: Invalid value: "string": n in body must be of type integer: "string""#,
            "status.x: Required value"
        ]
    );
}

#[test]
fn unchanged_parts_are_forgiven_on_update() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 1},
        "b": {"type": "string", "maxLength": 1},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
        "atomic": {"type": "array", "items": {"type": "integer"}}
    }}}});
    let schema = parse(&schema, &mut Pool::new()).expect("parses");
    let old = json!({"spec": {"a": "long", "map": [{"k": "x", "v": "bad"}], "atomic": ["bad"]}});
    let check = |spec: Value| texts(update(&json!({"spec": spec}), Some(&old), &schema, ""));
    let mut new = old["spec"].clone();
    new["b"] = json!("y");
    assert_eq!(
        check(new.clone()),
        [""; 0],
        "a new valid field beside old mistakes"
    );
    new["b"] = json!("long");
    assert_eq!(
        check(new.clone()),
        ["spec.b: Too long: may not be more than 1 byte"]
    );
    new["b"] = json!("y");
    new["map"] = json!([{"k": "new", "v": 1}, {"k": "x", "v": "bad"}]);
    assert_eq!(
        check(new.clone()),
        [""; 0],
        "items of map lists are told apart by their keys"
    );
    new["atomic"] = json!(["bad", 1]);
    assert_eq!(
        check(new),
        [
            r#"spec.atomic[0]: Invalid value: "string": spec.atomic[0] in body must be of type integer: "string""#
        ],
        "items of atomic lists are not told apart"
    );
}

#[test]
fn floats_print_as_in_go() {
    for (value, text) in [
        (1.0, "1"),
        (0.5, "0.5"),
        (1e21, "1e+21"),
        (1.5e-7, "1.5e-07"),
        (-2.25, "-2.25"),
    ] {
        assert_eq!(go_float(value), text);
    }
}

#[test]
fn one_object_reports_a_bounded_number_of_errors() {
    let schema = json!({"type": "array", "items": {"type": "string"}});
    let list: Vec<Value> = (0..10_000).map(Value::from).collect();
    assert_eq!(spec(schema, json!(list)).len(), super::ERRORS_MAX);
}
