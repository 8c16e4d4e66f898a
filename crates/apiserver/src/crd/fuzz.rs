//! Bodies for fuzzers: each takes any bytes and must return, without panicking, in time.
//!
//! The tests call them with a small corpus, so they cannot rot.

use serde_json::Value;

use super::cel::engine::Expression;
use super::definition::check;
use super::structural::{Pool, parse};
use super::{cel, default, lists, meta, prune, regexp, shape, validate};

/// Units one rule may use; little, so that a fuzzer gets on.
const COST_MAX: u64 = 10_000;

/// A schema and a value (`[schema, value]`): parsed, pruned, defaulted, validated.
pub fn schema_and_value(bytes: &[u8]) {
    let Ok(Value::Array(both)) = serde_json::from_slice(bytes) else {
        return;
    };
    let [schema, value] = both.as_slice() else {
        return;
    };
    let Ok(node) = parse(schema, &mut Pool::new()) else {
        return;
    };
    let mut settled = value.clone();
    prune::prune_object(&mut settled, &node);
    default::drop_nulls(&mut settled, &node);
    default::apply(&mut settled, &node);
    // A malformed value is an answer like any other.
    let _ = meta::coerce(&mut settled, &node, false);
    validate::create(&settled, &node, "");
    validate::update(&settled, Some(value), &node, "");
    meta::check(&settled, &node, false);
    lists::check(&settled, &node);
    shape::of(&node);
    if let Some(rules) = cel::compile(&node) {
        rules.check(&settled, Some(value), None);
    }
}

/// A whole definition.
pub fn definition(bytes: &[u8]) {
    let Ok(definition) = serde_json::from_slice(bytes) else {
        return;
    };
    check::create(&definition);
    check::update(&definition, &definition);
}

/// A CEL expression, evaluated on a small value.
pub fn expression(bytes: &[u8]) {
    let Ok(source) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(expression) = Expression::compile(source, &["self"]) else {
        return;
    };
    let this = cel::value::bind(&serde_json::json!({"a": [1, 2, 3], "b": "text"}), None);
    // A failure is an answer like any other.
    let _ = expression.evaluate(&[("self", &this)], COST_MAX, None);
}

/// A Go pattern, and a text behind a newline.
pub fn pattern(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (pattern, text) = text.split_once('\n').unwrap_or((text, "aaaa"));
    if let Ok(regex) = regexp::compile(pattern) {
        regex.is_match(text);
    }
}

#[cfg(test)]
mod tests;
