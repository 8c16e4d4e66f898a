//! Following nodes into a value.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{Filter, Missing, Node, RESULTS_MAX, Slice, To};
use crate::quote::go_type;

type Values<'v> = Vec<Cow<'v, Value>>;

/// What `nodes` lead to from each of `values`.
pub(super) fn list<'v>(
    nodes: &[Node],
    mut values: Values<'v>,
    missing: Missing,
) -> Result<Values<'v>, String> {
    for node in nodes {
        values = step(node, values, missing)?;
        if values.len() > RESULTS_MAX {
            return Err(format!("more than {RESULTS_MAX} results"));
        }
    }
    Ok(values)
}

fn step<'v>(node: &Node, values: Values<'v>, missing: Missing) -> Result<Values<'v>, String> {
    match node {
        Node::Field(name) => field(name, values, missing),
        Node::Slice(slice) => flat(values, |value| take_slice(*slice, value)),
        Node::Filter(filter) => flat(values, |value| take_matching(filter, value, missing)),
        Node::Union(lists) => {
            let each = lists
                .iter()
                .map(|nodes| list(nodes, values.clone(), missing));
            Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Node::Wildcard => flat(values, |value| Ok(children(value))),
        Node::Recursive => recursive(values),
        // Text stands for itself, numbers and booleans for as many as there are values.
        Node::Literal(text @ Value::String(_)) => Ok(vec![Cow::Owned(text.clone())]),
        Node::Literal(literal) => Ok(values.iter().map(|_| Cow::Owned(literal.clone())).collect()),
        Node::Identifier(name) => Err(format!("unrecognized identifier {name}")),
    }
}

fn flat<'v>(
    values: Values<'v>,
    mut each: impl FnMut(Cow<'v, Value>) -> Result<Values<'v>, String>,
) -> Result<Values<'v>, String> {
    let mut out = Vec::new();
    for value in values {
        out.extend(each(value)?);
    }
    Ok(out)
}

fn field<'v>(name: &str, values: Values<'v>, missing: Missing) -> Result<Values<'v>, String> {
    if values.is_empty() {
        return Ok(values);
    }
    let found = values.into_iter().filter_map(|value| match value {
        Cow::Borrowed(value) => value.get(name).map(Cow::Borrowed),
        Cow::Owned(value) => value.get(name).cloned().map(Cow::Owned),
    });
    let found: Values<'v> = found.collect();
    if found.is_empty() && missing == Missing::Fail {
        return Err(format!("{name} is not found"));
    }
    Ok(found)
}

fn children(value: Cow<'_, Value>) -> Values<'_> {
    match value {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Object(map)) => map.values().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Array(items)) => items.into_iter().map(Cow::Owned).collect(),
        Cow::Owned(Value::Object(map)) => map.into_iter().map(|(_, v)| Cow::Owned(v)).collect(),
        _ => Vec::new(),
    }
}

/// Every list, object and text that is not empty, each before what is inside it.
fn recursive(values: Values<'_>) -> Result<Values<'_>, String> {
    let mut out = Vec::new();
    let mut todo: Vec<Cow<'_, Value>> = values.into_iter().rev().collect();
    while let Some(value) = todo.pop() {
        let inside = children(value.clone());
        if inside.is_empty() && value.as_str().is_none_or(str::is_empty) {
            continue;
        }
        out.push(value);
        todo.extend(inside.into_iter().rev());
        if out.len() + todo.len() > RESULTS_MAX {
            return Err(format!("more than {RESULTS_MAX} results"));
        }
    }
    Ok(out)
}

fn take_slice(slice: Slice, value: Cow<'_, Value>) -> Result<Values<'_>, String> {
    if value.is_null() {
        return Ok(Vec::new());
    }
    if !value.is_array() {
        return Err(format!("{} is not array or slice", go_type(&value)));
    }
    let items = children(value);
    let len = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let from_end = |at: i64| if at < 0 { at.saturating_add(len) } else { at };
    let from = from_end(slice.from.unwrap_or(0));
    let to = match slice.to {
        To::End => len,
        To::At(at) => from_end(at),
        // The end follows from the number as it was written, so that the last item works too.
        To::OneItem => match slice.from.unwrap_or(0).saturating_add(1) {
            0 => len,
            at => from_end(at),
        },
    };
    if from == to {
        return Ok(Vec::new());
    }
    let out_of_bounds =
        |index: i64| format!("array index out of bounds: index {index}, length {len}");
    if from >= len || from < 0 {
        return Err(out_of_bounds(from));
    }
    if to > len || to < 0 {
        return Err(out_of_bounds(to - 1));
    }
    if from > to {
        return Err(format!(
            "starting index {from} is greater than ending index {to}"
        ));
    }
    let step = slice.step.unwrap_or(1);
    let step = usize::try_from(step)
        .ok()
        .filter(|&step| step > 0)
        .ok_or("step must be > 0")?;
    let position = |at: i64| usize::try_from(at).unwrap_or(usize::MAX);
    let taken = items
        .into_iter()
        .take(position(to))
        .skip(position(from))
        .step_by(step);
    Ok(taken.collect())
}

fn take_matching<'v>(
    filter: &Filter,
    value: Cow<'v, Value>,
    missing: Missing,
) -> Result<Values<'v>, String> {
    if !value.is_array() {
        let shown = crate::quote::plain(&value);
        return Err(format!(
            "{shown} is not array or slice and cannot be filtered"
        ));
    }
    let mut out = Vec::new();
    for item in children(value) {
        if matches(filter, &item, missing)? {
            out.push(item);
        }
    }
    Ok(out)
}

fn matches(filter: &Filter, item: &Value, missing: Missing) -> Result<bool, String> {
    let side = |nodes: &[Node]| list(nodes, vec![Cow::Borrowed(item)], missing);
    if filter.operator == "exists" {
        return Ok(side(&filter.left).is_ok_and(|found| !found.is_empty()));
    }
    let one = |found: Values<'_>| match found.len() {
        0 => Ok(None),
        1 => Ok(found.into_iter().next().map(Cow::into_owned)),
        _ => Err("can only compare one element at a time".to_owned()),
    };
    let Some(left) = one(side(&filter.left)?)? else {
        return Ok(false);
    };
    let Some(right) = one(side(&filter.right)?)? else {
        return Ok(false);
    };
    let equal = || compare(&left, &right, true).map(|order| order == Ordering::Equal);
    let order = || compare(&left, &right, false);
    match filter.operator.as_str() {
        "==" => equal(),
        "!=" => equal().map(|equal| !equal),
        "<" => order().map(Ordering::is_lt),
        "<=" => order().map(Ordering::is_le),
        ">" => order().map(Ordering::is_gt),
        ">=" => order().map(Ordering::is_ge),
        other => Err(format!("unrecognized filter operator {other}")),
    }
}

/// Compares scalars of one kind; booleans are only equal or not.
fn compare(a: &Value, b: &Value, equality: bool) -> Result<Ordering, String> {
    let wrong_type = || "invalid type for comparison".to_owned();
    let incompatible = || "incompatible types for comparison".to_owned();
    match (a, b) {
        (Value::Null | Value::Array(_) | Value::Object(_), _)
        | (_, Value::Null | Value::Array(_) | Value::Object(_)) => Err(wrong_type()),
        (Value::Bool(a), Value::Bool(b)) if equality => Ok(a.cmp(b)),
        (Value::Bool(_), Value::Bool(_)) => Err(wrong_type()),
        (Value::String(a), Value::String(b)) => Ok(a.cmp(b)),
        (Value::Number(x), Value::Number(y)) if x.is_f64() == y.is_f64() => {
            Ok(crate::fieldpath::compare_values(a, b))
        }
        _ => Err(incompatible()),
    }
}
