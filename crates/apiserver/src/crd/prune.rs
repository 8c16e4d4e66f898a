//! Removing what the schema does not know.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apiserver/schema/pruning`.

use std::fmt::Write as _;

use serde_json::Value;

use super::structural::{Additional, Node};

/// Fields of an embedded resource that its schema need not list.
const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes unknown fields from a whole custom resource and returns their paths, sorted.
///
/// `apiVersion`, `kind` and `metadata` of the object itself stay as they are.
pub fn prune_object(object: &mut Value, schema: &Node) -> Vec<String> {
    let mut walk = Walk {
        path: String::new(),
        unknown: Vec::new(),
    };
    walk.value(object, Some(schema), true);
    walk.unknown.sort_unstable();
    walk.unknown
}

/// Removes unknown fields from a value somewhere inside; a value that is an embedded resource by
/// its schema keeps its `metadata`.
pub fn prune_value(value: &mut Value, schema: &Node) -> Vec<String> {
    let mut walk = Walk {
        path: String::new(),
        unknown: Vec::new(),
    };
    walk.value(value, Some(schema), schema.embedded);
    walk.unknown.sort_unstable();
    walk.unknown
}

struct Walk {
    path: String,
    unknown: Vec<String>,
}

impl Walk {
    /// `is_resource` says whether the value has metadata of its own.
    fn value(&mut self, value: &mut Value, schema: Option<&Node>, is_resource: bool) {
        let preserve = schema.is_some_and(|s| s.preserve_unknown);
        let mark = self.path.len();
        match value {
            Value::Object(fields) => {
                let path = &mut self.path;
                let unknown = &mut self.unknown;
                fields.retain(|name, _| {
                    let known = is_resource && META_FIELDS.contains(&name.as_str())
                        || preserve
                        || schema.is_some_and(|s| {
                            s.property(name).is_some() || s.additional != Additional::Absent
                        });
                    if !known {
                        push_key(path, name);
                        unknown.push(path.clone());
                        path.truncate(mark);
                    }
                    known
                });
                let Some(schema) = schema else { return };
                for (name, value) in fields {
                    if is_resource && META_FIELDS.contains(&name.as_str()) {
                        continue;
                    }
                    let inner = schema.field(name).map(AsRef::as_ref);
                    if inner.is_none() && schema.additional == Additional::Absent {
                        continue;
                    }
                    push_key(&mut self.path, name);
                    self.value(value, inner, inner.is_some_and(|s| s.embedded));
                    self.path.truncate(mark);
                }
            }
            Value::Array(list) => {
                let items = schema.and_then(|s| s.items.as_deref());
                if preserve && items.is_none() {
                    return;
                }
                for (at, value) in list.iter_mut().enumerate() {
                    // Writing to a String cannot fail.
                    let _ = write!(self.path, "[{at}]");
                    if preserve {
                        self.preserved_item(value, items);
                    } else {
                        self.value(value, items, items.is_some_and(|s| s.embedded));
                    }
                    self.path.truncate(mark);
                }
            }
            _ => {}
        }
    }

    /// Items of a preserved list keep what their own schema does not know.
    fn preserved_item(&mut self, value: &mut Value, schema: Option<&Node>) {
        let Some(schema) = schema else { return };
        let mark = self.path.len();
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if schema.embedded && META_FIELDS.contains(&name.as_str()) {
                        continue;
                    }
                    let Some(inner) = schema.field(name) else {
                        continue;
                    };
                    push_key(&mut self.path, name);
                    self.value(value, Some(inner), inner.embedded);
                    self.path.truncate(mark);
                }
            }
            Value::Array(list) => {
                for value in list {
                    self.preserved_item(value, schema.items.as_deref());
                }
            }
            _ => {}
        }
    }
}

fn push_key(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

#[cfg(test)]
mod tests;
