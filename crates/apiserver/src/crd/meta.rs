//! Metadata of objects embedded in custom resources (`x-kubernetes-embedded-resource`).
//!
//! Their `apiVersion` and `kind` are required, and their `metadata` has the shape of any object's:
//! other fields are dropped, malformed ones are errors. The metadata of the custom resource itself
//! is the request pipeline's business.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apiserver/schema/objectmeta`.

use flotilla_machinery::builtin;
use flotilla_machinery::names;
use flotilla_machinery::schema::{Scalar, Schema, Type, TypeId};
use flotilla_machinery::status::FieldError;
use serde_json::{Map, Value};

use super::path::Path;
use super::structural::Node;

/// Definition name of the metadata every object has.
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Drops what is not metadata from embedded `metadata`, and refuses what has the wrong type.
///
/// `is_resource` says whether the value itself is an object with metadata; false for a custom
/// resource.
///
/// # Errors
/// The first malformed field.
pub fn coerce(value: &mut Value, schema: &Node, is_resource: bool) -> Result<(), FieldError> {
    coerce_at(value, schema, is_resource, &Path::ROOT)
}

/// Mistakes in the `apiVersion`, `kind` and `metadata` of embedded objects.
///
/// `is_resource` as in [`coerce`].
pub fn check(value: &Value, schema: &Node, is_resource: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_at(value, schema, is_resource, &Path::ROOT, &mut errors);
    errors
}

fn coerce_at(
    value: &mut Value,
    schema: &Node,
    is_resource: bool,
    path: &Path<'_>,
) -> Result<(), FieldError> {
    match value {
        Value::Object(fields) => {
            if is_resource {
                for name in ["apiVersion", "kind"] {
                    if let Some(found) = fields.get(name).filter(|v| !v.is_string()) {
                        let path = path.child(name);
                        return Err(FieldError::invalid(path, found.clone(), "must be a string"));
                    }
                }
                if let Some(metadata) = fields.get_mut("metadata") {
                    coerce_metadata(metadata, &path.child("metadata"))?;
                }
            }
            for (name, value) in fields {
                if is_resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                    continue;
                }
                if let Some(property) = schema.property(name) {
                    coerce_at(value, property, property.embedded, &path.child(name))?;
                } else if let Some(values) = schema.field(name) {
                    coerce_at(value, values, values.embedded, &path.key(name))?;
                }
            }
            Ok(())
        }
        Value::Array(list) => {
            let Some(items) = &schema.items else {
                return Ok(());
            };
            list.iter_mut()
                .enumerate()
                .try_for_each(|(at, v)| coerce_at(v, items, items.embedded, &path.index(at)))
        }
        _ => Ok(()),
    }
}

fn coerce_metadata(metadata: &mut Value, path: &Path<'_>) -> Result<(), FieldError> {
    let shapes = builtin::schema();
    let Some(root) = shapes.find(OBJECT_META) else {
        return Ok(());
    };
    if metadata.is_null() {
        return Ok(());
    }
    let mut found = None;
    fit(metadata, shapes, root, &mut found);
    match found {
        Some(why) => Err(FieldError::invalid(path, metadata.clone(), why)),
        None => Ok(()),
    }
}

/// Drops unknown fields and nulls; notes the first value of a wrong type.
fn fit(value: &mut Value, shapes: &Schema, id: TypeId, wrong: &mut Option<String>) {
    match (shapes.get(id), &mut *value) {
        (Type::Struct(shape), Value::Object(fields)) => {
            fields.retain(|name, value| !value.is_null() && shape.field(name).is_some());
            for (name, value) in fields {
                if let Some(field) = shape.field(name) {
                    fit(value, shapes, field.ty, wrong);
                }
            }
        }
        (Type::Map { value: inner, .. }, Value::Object(fields)) => {
            fields
                .values_mut()
                .for_each(|v| fit(v, shapes, *inner, wrong));
        }
        (Type::List { item, .. }, Value::Array(list)) => {
            list.iter_mut().for_each(|v| fit(v, shapes, *item, wrong));
        }
        (Type::Any, _) | (_, Value::Null) => {}
        (Type::Scalar(Scalar::Int32 | Scalar::Int64), Value::Number(n)) if n.is_i64() => {}
        (Type::Scalar(Scalar::Boolean), Value::Bool(_)) => {}
        (Type::Scalar(Scalar::Time), Value::String(text)) => {
            if text.parse::<jiff::Timestamp>().is_err() {
                wrong.get_or_insert_with(|| format!("parsing time {text:?}: not RFC 3339"));
            }
        }
        (Type::Scalar(Scalar::String), Value::String(_)) => {}
        (wanted, found) => {
            let wanted = match wanted {
                Type::Scalar(Scalar::Int32 | Scalar::Int64) => "int64",
                Type::Scalar(Scalar::Boolean) => "bool",
                Type::Scalar(_) => "string",
                Type::List { .. } => "[]string",
                Type::Map { .. } => "map[string]string",
                _ => "v1.ObjectMeta",
            };
            let found = match found {
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                _ => "object",
            };
            wrong.get_or_insert_with(|| {
                format!("json: cannot unmarshal {found} into Go value of type {wanted}")
            });
        }
    }
}

fn check_at(
    value: &Value,
    schema: &Node,
    is_resource: bool,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(fields) => {
            if is_resource {
                check_resource(fields, path, errors);
            }
            for (name, value) in fields {
                if let Some(property) = schema.property(name) {
                    check_at(
                        value,
                        property,
                        property.embedded,
                        &path.child(name),
                        errors,
                    );
                } else if let Some(values) = schema.field(name) {
                    check_at(value, values, values.embedded, &path.key(name), errors);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = &schema.items else { return };
            for (at, value) in list.iter().enumerate() {
                check_at(value, items, items.embedded, &path.index(at), errors);
            }
        }
        _ => {}
    }
}

fn check_resource(fields: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let at = path.child(name);
        match fields.get(name) {
            None => errors.push(FieldError::required(at, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(at, "", "must not be empty"));
            }
            Some(Value::String(text)) if name == "apiVersion" => {
                if text.matches('/').count() > 1 {
                    let why = format!("unexpected GroupVersion string: {text}");
                    errors.push(FieldError::invalid(at, text.as_str(), why));
                }
            }
            Some(Value::String(text)) => {
                let complaints = names::dns1035_label(&text.to_lowercase());
                if !complaints.is_empty() {
                    let why = format!(
                        "may have mixed case, but should otherwise match: {}",
                        complaints.join(",")
                    );
                    errors.push(FieldError::invalid(at, text.as_str(), why));
                }
            }
            Some(other) => {
                errors.push(FieldError::invalid(at, other.clone(), "must be a string"));
            }
        }
    }
    if let Some(Value::Object(metadata)) = fields.get("metadata") {
        check_metadata(metadata, &path.child("metadata"), errors);
    }
}

fn check_metadata(metadata: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let text = |name: &str| {
        metadata
            .get(name)
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty())
    };
    let mut complain = |name: &str, complaints: Vec<String>| {
        let value = text(name).unwrap_or_default();
        let at = path.child(name).to_string();
        errors.extend(
            complaints
                .into_iter()
                .map(|m| FieldError::invalid(at.clone(), value, m)),
        );
    };
    if let Some(prefix) = text("generateName") {
        complain("generateName", names::path_segment_prefix(prefix));
    }
    if let Some(name) = text("name") {
        complain("name", names::path_segment(name));
    }
    if let Some(namespace) = text("namespace") {
        complain("namespace", names::dns1123_label(namespace));
    }
    let map = |name: &str| metadata.get(name).and_then(Value::as_object);
    if let Some(labels) = map("labels") {
        errors.extend(names::validate_labels(
            labels,
            &path.child("labels").to_string(),
        ));
    }
    if let Some(annotations) = map("annotations") {
        let at = path.child("annotations").to_string();
        errors.extend(names::validate_annotations(annotations, &at));
    }
    if let Some(Value::Array(list)) = metadata.get("finalizers") {
        let list: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
        errors.extend(names::validate_finalizers(
            &list,
            &path.child("finalizers").to_string(),
        ));
    }
}

#[cfg(test)]
mod tests;
