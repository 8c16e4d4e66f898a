use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Recorded answers of upstream; see the file's first line.
const VECTORS: &str = include_str!("../../testdata/selectors.json");

#[test]
fn texts_parse_and_fail_as_upstream() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for row in vectors["labels"].as_array().unwrap() {
        let text = row[0].as_str().unwrap();
        match Selector::parse(text) {
            Ok(selector) => assert_eq!(json!(selector.to_string()), row[1], "{text:?}"),
            Err(error) => assert_eq!(json!(error.to_string()), row[2], "{text:?}"),
        }
    }
}

#[track_caller]
fn check(selector: &str, labels: &Value, expect: bool) {
    let parsed = Selector::parse(selector).unwrap();
    assert_eq!(
        parsed.matches_labels(labels.as_object()),
        expect,
        "{selector} on {labels}"
    );
}

// Source: apimachinery labels/selector_test.go, v0.35.4.
#[test]
fn selectors_match_as_upstream() {
    check("", &json!({"x": "y"}), true);
    check("x=y,z=w", &json!({"x": "y", "z": "w"}), true);
    check("x!=y,z!=w", &json!({"x": "z", "z": "a"}), true);
    check("notin=in", &json!({"notin": "in"}), true);
    check("x", &json!({"x": "z"}), true);
    check("!x", &json!({"y": "z"}), true);
    check("x>1", &json!({"x": "2"}), true);
    check("x<1", &json!({"x": "0"}), true);
    check("x=z", &json!({}), false);
    check("x=y", &json!({"x": "z"}), false);
    check("x=y,z=w", &json!({"x": "w", "z": "w"}), false);
    check("x!=y,z!=w", &json!({"x": "z", "z": "w"}), false);
    check("x", &json!({"y": "z"}), false);
    check("!x", &json!({"x": "z"}), false);
    check("x>1", &json!({"x": "0"}), false);
    check("x<1", &json!({"x": "2"}), false);
    check("z>1", &json!({"z": "v2"}), false);
    check("x notin (a),y", &json!({"y": ""}), true);
    check(
        "x in (foo),y notin (alpha)",
        &json!({"x": "foo", "y": "baz"}),
        true,
    );
    check("x in ()", &json!({"y": "baz"}), false);
    check("x!=a", &Value::Null, true);
}

#[test]
fn selector_objects_convert() {
    let object = json!({
        "matchLabels": {"b": "1", "a": "2"},
        "matchExpressions": [
            {"key": "t", "operator": "In", "values": ["y", "x", "y"]},
            {"key": "c", "operator": "DoesNotExist"},
        ],
    });
    let selector = Selector::from_value(&object).unwrap();
    assert_eq!(selector.to_string(), "a=2,b=1,!c,t in (x,y)");
    assert!(Selector::from_value(&Value::Null).unwrap().is_nothing());
    assert!(Selector::from_value(&json!({})).unwrap().is_everything());
    assert!(!Selector::nothing().matches(|_| Some("x")));
    let bad = json!({"matchExpressions": [{"key": "a", "operator": "Nope"}]});
    assert_eq!(
        Selector::from_value(&bad).unwrap_err().to_string(),
        "\"Nope\" is not a valid label selector operator"
    );
    let bad = json!({"matchExpressions": [{"key": "a", "operator": "In"}]});
    assert_eq!(
        Selector::from_value(&bad).unwrap_err().to_string(),
        "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
    );
}

#[test]
fn selector_objects_are_validated_with_paths() {
    let bad = json!({
        "matchLabels": {"a": "b c"},
        "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "a", "operator": "Exists", "values": ["x"]},
            {"key": "", "operator": "Nope", "values": ["-"]},
        ],
    });
    let texts: Vec<String> = validate_label_selector(&bad, "spec.selector")
        .iter()
        .map(|e| e.to_string().chars().take(90).collect())
        .collect();
    assert_eq!(
        texts,
        [
            "spec.selector.matchLabels: Invalid value: \"b c\": a valid label must be an empty string or ",
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator",
            "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` ",
            "spec.selector.matchExpressions[2].operator: Invalid value: \"Nope\": not a valid selector op",
            "spec.selector.matchExpressions[2].key: Invalid value: \"\": name part must be non-empty",
            "spec.selector.matchExpressions[2].key: Invalid value: \"\": name part must consist of alphan",
            "spec.selector.matchExpressions[2].values[0]: Invalid value: \"-\": a valid label must be an ",
        ]
    );
}

#[test]
fn a_pinned_label_is_found() {
    let selector = Selector::parse("a=1,b in (2),c in (3,4),d!=5").unwrap();
    assert_eq!(selector.exact("a"), Some("1"));
    assert_eq!(selector.exact("b"), Some("2"));
    assert_eq!(selector.exact("c"), None);
    assert_eq!(selector.exact("d"), None);
    let labels = json!({"app": "web"});
    assert_eq!(
        Selector::from_labels(labels.as_object().unwrap()).to_string(),
        "app=web"
    );
}

proptest! {
    #[test]
    fn printing_and_parsing_are_inverse(
        keys in prop::collection::vec("[a-z]{1,3}", 0..5),
        kind in prop::collection::vec(0usize..9, 5),
        values in prop::collection::vec("[0-9]{0,3}", 1..4),
    ) {
        let operators = [
            Operator::In, Operator::NotIn, Operator::Equals, Operator::DoubleEquals,
            Operator::NotEquals, Operator::Exists, Operator::DoesNotExist, Operator::GreaterThan,
            Operator::LessThan,
        ];
        let requirements = keys.iter().zip(kind).filter_map(|(key, kind)| {
            let values = match operators[kind] {
                Operator::In | Operator::NotIn => values.clone(),
                Operator::Exists | Operator::DoesNotExist => Vec::new(),
                _ => vec![values[0].clone()],
            };
            Requirement::new(key, operators[kind], values).ok()
        });
        let selector = Selector::new(requirements.collect());
        prop_assert_eq!(&Selector::parse(&selector.to_string()).unwrap(), &selector);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[ a=!<>(),/n.\\x00é-]{0,24}") {
        let _ = Selector::parse(&text);
    }
}
