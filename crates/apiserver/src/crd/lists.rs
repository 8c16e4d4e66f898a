//! Whether lists of type `set` and `map` hold everything at most once.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apiserver/schema/listtype`.

use std::collections::HashMap;

use flotilla_machinery::status::FieldError;
use serde_json::{Map, Value};

use super::path::Path;
use super::structural::{ListType, Node};

/// Duplicates anywhere in an object.
pub fn check(object: &Value, schema: &Node) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(object, schema, &Path::ROOT, &mut errors);
    errors
}

fn walk(value: &Value, schema: &Node, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(property) = schema.property(name) {
                    walk(value, property, &path.child(name), errors);
                } else if let Some(values) = schema.field(name) {
                    walk(value, values, &path.key(name), errors);
                }
            }
        }
        Value::Array(list) => {
            match schema.list {
                ListType::Atomic => {}
                ListType::Set => {
                    for at in repeated(list.iter().map(Value::to_string)) {
                        errors.push(FieldError::duplicate(path.index(at), list[at].clone()));
                    }
                }
                ListType::Map => check_map(list, schema, path, errors),
            }
            let Some(items) = &schema.items else { return };
            for (at, value) in list.iter().enumerate() {
                walk(value, items, &path.index(at), errors);
            }
        }
        _ => {}
    }
}

fn check_map(list: &[Value], schema: &Node, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if let Some(at) = list.iter().position(|v| !v.is_object() && !v.is_null()) {
        let why = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(path.index(at), list[at].clone(), why));
        return;
    }
    let keys: Vec<Value> = list
        .iter()
        .map(|item| {
            let entry = |key: &std::sync::Arc<str>| {
                item.get(key.as_ref()).map(|v| (key.to_string(), v.clone()))
            };
            Value::Object(schema.keys.iter().filter_map(entry).collect::<Map<_, _>>())
        })
        .collect();
    for at in repeated(keys.iter().map(Value::to_string)) {
        errors.push(FieldError::duplicate(path.index(at), keys[at].clone()));
    }
}

/// Where a text stands for the second time; further repetitions are not reported again.
fn repeated(texts: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut positions = Vec::new();
    for (at, text) in texts.enumerate() {
        let times = seen.entry(text).or_default();
        *times += 1;
        if *times == 2 {
            positions.push(at);
        }
    }
    positions
}

#[cfg(test)]
mod tests;
