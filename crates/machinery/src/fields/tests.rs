use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Recorded answers of upstream; see the file's first line.
const VECTORS: &str = include_str!("../../testdata/selectors.json");

#[test]
fn texts_parse_and_fail_as_upstream() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for row in vectors["fields"].as_array().unwrap() {
        let text = row[0].as_str().unwrap();
        match Selector::parse(text) {
            Ok(selector) => assert_eq!(json!(selector.to_string()), row[1], "{text:?}"),
            Err(error) => assert_eq!(json!(error.to_string()), row[2], "{text:?}"),
        }
    }
}

#[test]
fn selectors_match_and_absent_fields_are_empty() {
    let fields = [("foo", "bar"), ("complex", r"=value\,\")];
    let lookup = |name: &str| fields.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    let table = [
        ("", true),
        ("foo=bar", true),
        (r"foo==bar,complex=\=value\\\,\\", true),
        ("foo!=baz", true),
        ("gone=", true),
        ("gone!=x", true),
        ("foo=baz", false),
        ("foo=bar,gone=x", false),
        ("gone!=", false),
    ];
    for (text, expect) in table {
        assert_eq!(
            Selector::parse(text).unwrap().matches(lookup),
            expect,
            "{text}"
        );
    }
}

#[test]
fn terms_can_be_renamed_dropped_and_refused() {
    let selector = Selector::parse("a=1,b!=2").unwrap();
    let mapped = selector.clone().map(|term| {
        Ok::<_, ()>((term.field != "b").then(|| Term {
            field: "x".into(),
            ..term
        }))
    });
    assert_eq!(mapped.unwrap().to_string(), "x=1");
    assert_eq!(
        selector.map(|term| Err::<Option<Term>, _>(term.field)),
        Err("a".to_owned())
    );
}

#[test]
fn a_pinned_field_is_found() {
    let selector = Selector::parse("metadata.name=a,status.phase!=b").unwrap();
    assert_eq!(selector.exact("metadata.name"), Some("a"));
    assert_eq!(selector.exact("status.phase"), None);
}

proptest! {
    #[test]
    fn printing_and_parsing_are_inverse(
        terms in prop::collection::vec(("[a-z.]{1,6}", "[a-z\\\\,=!é]{0,6}", any::<bool>()), 0..5)
    ) {
        let mut terms: Vec<Term> = terms
            .into_iter()
            .map(|(field, value, negated)| Term { field, value, negated })
            .collect();
        terms.retain(|t| !t.value.starts_with('='));
        let printed = Selector::new(terms.clone()).to_string();
        let mut parsed = Selector::parse(&printed).unwrap().terms().to_vec();
        let key = |t: &Term| (t.field.clone(), t.value.clone(), t.negated);
        parsed.sort_by_key(key);
        terms.sort_by_key(key);
        prop_assert_eq!(parsed, terms);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[ a=!,\\\\.é]{0,24}") {
        let _ = Selector::parse(&text);
    }
}
