//! Whether a value fits its type, in upstream's words.

use std::collections::BTreeSet;

use serde_json::Value;

use super::typed::{Atom, ListShape, Shape, Ty};
use crate::fieldpath::PathElement;
use crate::quote::{plain, quote};
use crate::schema::Scalar;

/// Whether sets and keyed lists may hold an item twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// As in live objects, which may have been written without apply.
    Allowed,
    /// As in apply configurations.
    Refused,
}

/// Checks `value`; the error lists everything that is wrong with its path.
pub(super) fn validate(
    shape: Shape<'_>,
    value: &Value,
    duplicates: Duplicates,
) -> Result<(), String> {
    let mut walk = Walk {
        shape,
        duplicates,
        errors: Vec::new(),
    };
    walk.value(shape.root(), value);
    let mut texts = walk
        .errors
        .into_iter()
        .map(|(path, text)| match path.as_str() {
            "" => text,
            _ => format!("{path}: {text}"),
        });
    match texts.len() {
        0 => Ok(()),
        1 => Err(texts.next().unwrap_or_default()),
        _ => {
            let lines: Vec<String> = texts.map(|text| format!("\n  {text}")).collect();
            Err(format!("errors:{}", lines.concat()))
        }
    }
}

struct Walk<'a> {
    shape: Shape<'a>,
    duplicates: Duplicates,
    /// Path and text; paths grow from the end while the walk returns.
    errors: Vec<(String, String)>,
}

impl Walk<'_> {
    fn value(&mut self, ty: Ty, value: &Value) {
        match self.shape.atom(ty, Some(value)) {
            Atom::Scalar(scalar) => {
                if let Some(text) = scalar_error(scalar, value) {
                    self.errors.push((String::new(), text));
                }
            }
            Atom::Map(map) => match value {
                Value::Null => {}
                Value::Object(object) => {
                    for (key, value) in object {
                        let Some(ty) = map.child(key) else {
                            let text = "field not declared in schema".to_owned();
                            self.errors.push((format!(".{key}"), text));
                            return;
                        };
                        let first = self.errors.len();
                        self.value(ty, value);
                        self.prefix(first, || format!(".{key}"));
                    }
                }
                other => self
                    .errors
                    .push((String::new(), format!("expected map, got {}", shown(other)))),
            },
            Atom::List(list) => match value {
                Value::Null => {}
                Value::Array(items) if list.is_atomic() => {
                    for (i, item) in items.iter().enumerate() {
                        let first = self.errors.len();
                        self.value(list.item, item);
                        self.prefix(first, || format!("[{i}]"));
                    }
                }
                Value::Array(items) => self.items(list, items),
                other => self.errors.push((
                    String::new(),
                    format!("expected list, got {}", shown(other)),
                )),
            },
        }
    }

    /// Checks the items of a set or keyed list.
    fn items(&mut self, list: ListShape<'_>, items: &[Value]) {
        let mut seen = BTreeSet::new();
        for (i, item) in items.iter().enumerate() {
            let first = self.errors.len();
            if self.duplicates == Duplicates::Allowed && list.is_named(item) {
                // Live objects are nearly always valid, so names are made only for errors.
                self.value(list.item, item);
                let name = || {
                    list.element(item)
                        .map_or_else(|text| text, |e| e.to_string())
                };
                self.prefix(first, name);
                continue;
            }
            let element = list.element(item);
            if let Ok(element) = &element {
                self.value(list.item, item);
                self.prefix(first, || element.to_string());
            }
            match element {
                Ok(element) => self.note_duplicate(&mut seen, element, first),
                Err(text) => {
                    self.errors
                        .push((String::new(), format!("element {i}: {text}")));
                    return;
                }
            }
        }
    }

    /// Reports an item that came before, in front of the errors inside it (from `first` on).
    fn note_duplicate(
        &mut self,
        seen: &mut BTreeSet<PathElement>,
        element: PathElement,
        first: usize,
    ) {
        if seen.contains(&element) {
            let text = format!("duplicate entries for key {element}");
            self.errors.insert(first, (String::new(), text));
        }
        seen.insert(element);
    }

    /// Puts `prefix` in front of the paths of the errors from `first` on.
    fn prefix(&mut self, first: usize, prefix: impl Fn() -> String) {
        for (path, _) in &mut self.errors[first..] {
            path.insert_str(0, &prefix());
        }
    }
}

fn scalar_error(scalar: Option<Scalar>, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null) => None,
        (None, Value::Object(_) | Value::Array(_)) => {
            Some(format!("expected any scalar, got {}", shown(value)))
        }
        (None, _) => None,
        (Some(Scalar::Boolean), Value::Bool(_)) => None,
        (Some(Scalar::Boolean), _) => Some(format!("expected boolean, got {}", shown(value))),
        (Some(Scalar::Int32 | Scalar::Int64 | Scalar::Number), Value::Number(_)) => None,
        (Some(Scalar::Int32 | Scalar::Int64 | Scalar::Number), _) => {
            let kind = crate::quote::go_type(value);
            Some(format!("expected numeric (int or float), got {kind}"))
        }
        (Some(_), Value::String(_)) => None,
        (Some(_), _) => {
            let literal = literal(value);
            Some(format!(
                "expected string, got &value.valueUnstructured{{Value:{literal}}}"
            ))
        }
    }
}

/// A value as upstream's wrapper of it prints.
fn shown(value: &Value) -> String {
    format!("&{{{}}}", plain(value))
}

/// A value as a Go literal.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", quote(key), literal(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}
