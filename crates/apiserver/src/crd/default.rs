//! Filling in what a custom resource leaves out.
//!
//! Runs after pruning on everything a client sends and on everything that is read, so a default
//! added to a schema later shows up in old objects without rewriting them.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apiserver/schema/defaulting`.

use serde_json::Value;

use super::structural::{Additional, Node};

/// Applies the schema's defaults: for absent fields, and for `null` where that is not a value.
pub fn apply(value: &mut Value, schema: &Node) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else {
                    continue;
                };
                let absent = match fields.get(name.as_ref()) {
                    None => true,
                    Some(Value::Null) => !property.nullable,
                    Some(_) => false,
                };
                if absent {
                    fields.insert(name.to_string(), (**default).clone());
                }
            }
            for (name, value) in fields {
                if let Some(property) = schema.property(name) {
                    apply(value, property);
                } else if let Additional::Schema(values) = &schema.additional {
                    replace_null(value, values);
                    apply(value, values);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = &schema.items else { return };
            for value in list {
                replace_null(value, items);
                apply(value, items);
            }
        }
        _ => {}
    }
}

/// Removes `null`s that are not values and that no default will replace; runs before [`apply`].
pub fn drop_nulls(value: &mut Value, schema: &Node) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let Some(field) = schema.field(name) else {
                    return true;
                };
                !value.is_null() || field.nullable || field.default.is_some()
            });
            for (name, value) in fields {
                if let Some(field) = schema.field(name) {
                    drop_nulls(value, field);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = &schema.items else { return };
            list.iter_mut().for_each(|value| drop_nulls(value, items));
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, schema: &Node) {
    if value.is_null() && !schema.nullable {
        *value = schema.default.as_deref().cloned().unwrap_or(Value::Null);
    }
}

#[cfg(test)]
mod tests;
