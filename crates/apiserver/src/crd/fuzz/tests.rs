use proptest::prelude::*;
use serde_json::{Value, json};

use super::{definition, expression, pattern, schema_and_value};
use crate::crd::structural::{Enum, Pool, parse};
use crate::crd::{default, prune, validate};

const EXPRESSIONS: &[&str] = &[
    "",
    "self",
    "self.a.map(x, x + 1)",
    "self.a.all(i, v, v > i)",
    "cel.bind(x, self, x)",
    "{'a': 1}.a",
    "A{b: 1}",
    "[1, ?self.?a]",
    "self.b.matches('(')",
    "r'\\'",
    "'''it's'''",
    "\u{feff}",
    "1 / 0",
    "-9223372036854775808",
    "self.a[99999999999999999999]",
    "type(type(1))",
    "b'\\xff'",
    "has(self)",
    "self.a.sortBy(x, -x)",
    "@in",
    "self.all(1, 2)",
    "cel.bind(1, 2, 3)",
    "x.y.z()",
    "sets.contains()",
    "optional.of()",
    "''.format([self])",
    "'%.99999999f'.format([1.5])",
];

#[test]
fn odd_expressions_do_no_harm() {
    EXPRESSIONS
        .iter()
        .for_each(|source| expression(source.as_bytes()));
}

#[test]
fn odd_definitions_do_no_harm() {
    for text in [
        "null",
        "[]",
        "{}",
        r#"{"spec": []}"#,
        r#"{"spec": {"versions": {}, "names": 1, "group": 1, "conversion": []}}"#,
        r#"{"spec": {"versions": [null, {"schema": {"openAPIV3Schema": []}}, {"name": 1, "schema": {"openAPIV3Schema": {"properties": []}}}]}}"#,
        r#"{"spec": {"versions": [{"schema": {"openAPIV3Schema": {"type": 1, "items": 1, "enum": {}, "maximum": "x"}}}]}}"#,
    ] {
        definition(text.as_bytes());
    }
}

#[test]
fn deep_and_wide_schemas_do_no_harm() {
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"type": "object", "properties": {"a": deep, "b": {"type": "array", "items": {"type": "string"}}}});
    }
    definition(
        json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": deep}}]}})
            .to_string()
            .as_bytes(),
    );
    let wide: serde_json::Map<String, Value> = (0..20_000)
        .map(|n| {
            (
                format!("f{n}"),
                json!({"type": "string", "pattern": "^a+$"}),
            )
        })
        .collect();
    schema_and_value(
        json!([{"type": "object", "properties": wide}, {"f1": "aaa"}])
            .to_string()
            .as_bytes(),
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..300).prop_map(Value::from),
        (-2.0f64..2.0).prop_map(Value::from),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "maxLength": 2})),
        Just(json!({"type": "string", "default": "d", "nullable": true})),
        Just(json!({"type": "integer", "minimum": 0, "default": 7})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|s| json!({"type": "array", "items": s})),
            inner
                .clone()
                .prop_map(|s| json!({"type": "object", "additionalProperties": s})),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|m| json!({"type": "object", "properties": m})),
        ]
    })
}

proptest! {
    #[test]
    fn anything_is_survived(schema in any_json(), value in any_json()) {
        schema_and_value(json!([schema, value]).to_string().as_bytes());
    }

    #[test]
    fn any_text_is_survived_as_expression_and_pattern(text in ".{0,40}", code in "[a-z.()\\[\\]{}|*+?!&' 0-9<=>\\\\-]{0,40}") {
        for text in [text, code] {
            expression(text.as_bytes());
            pattern(text.as_bytes());
        }
    }

    #[test]
    fn pruning_and_defaulting_settle(schema in any_schema(), value in any_json()) {
        let node = parse(&schema, &mut Pool::new()).expect("parses");
        let mut once = value;
        prune::prune_object(&mut once, &node);
        default::drop_nulls(&mut once, &node);
        default::apply(&mut once, &node);
        let mut twice = once.clone();
        prop_assert_eq!(prune::prune_object(&mut twice, &node), Vec::<String>::new());
        default::drop_nulls(&mut twice, &node);
        default::apply(&mut twice, &node);
        prop_assert_eq!(&once, &twice);
        // What did not change is never an error, and what is valid stays so.
        prop_assert!(validate::update(&once, Some(&once), &node, "").is_empty());
        prop_assume!(!once.is_null());
        let new = validate::create(&once, &node, "");
        let updated = validate::update(&once, Some(&Value::Null), &node, "");
        prop_assert_eq!(new, updated);
    }

    #[test]
    fn long_and_short_enums_agree(values in prop::collection::vec(any_json(), 1..8), value in any_json()) {
        let short = Enum::new(values.clone());
        let padding = (0..20).map(|n| json!(format!("padding{n}")));
        let long = Enum::new(values.into_iter().chain(padding).collect());
        prop_assert_eq!(short.contains(&value), long.contains(&value));
    }
}
