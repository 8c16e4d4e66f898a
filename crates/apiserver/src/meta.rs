//! The rules of `metadata` that hold for every kind.
//!
//! Source: Kubernetes v1.35, apimachinery `pkg/api/validation/objectmeta.go` and apiserver
//! `pkg/registry/rest/{create,update,meta}.go`.

use flotilla_machinery::{
    names,
    status::{FieldError, Status},
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{
    decode::shape,
    registry::{Resource, Strategy},
};

/// Annotation under which client-side apply keeps the last manifest.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A text member of `metadata`, or empty.
pub fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|m| m.get(name))
        .and_then(Value::as_str)
        .unwrap_or("")
}

/// The finalizers, in order.
pub fn finalizers(object: &Value) -> Vec<&str> {
    let list = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether the object is on its way out.
pub fn is_deleting(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// `metadata` as a map, made when absent.
///
/// # Panics
/// When `object` is not an object; decoding makes sure that it is.
pub fn fields_mut(object: &mut Value) -> &mut Map<String, Value> {
    let fields = object.as_object_mut().expect("decoding yields objects");
    crate::registry::generic::metadata_mut(fields)
}

/// Clears what only the server sets and stamps a new object.
pub fn stamp_new(object: &mut Value, uid: &str, now: Timestamp) {
    let metadata = fields_mut(object);
    for name in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "resourceVersion",
    ] {
        metadata.remove(name);
    }
    metadata.insert("uid".to_owned(), uid.into());
    metadata.insert("creationTimestamp".to_owned(), shape::seconds(now).into());
    tidy(metadata);
}

/// Puts back what an update must not change.
pub fn restore_server_owned(new: &mut Value, old: &Value) {
    let metadata = fields_mut(new);
    let before = old.get("metadata");
    const OWNED: [&str; 4] = [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ];
    for name in OWNED {
        match before.and_then(|m| m.get(name)) {
            Some(value) => metadata.insert(name.to_owned(), value.clone()),
            None => metadata.remove(name),
        };
    }
    metadata.remove("selfLink");
    tidy(metadata);
}

/// Makes the namespace of a body agree with the path's.
///
/// # Errors
/// 400 when the body names another one.
pub fn set_namespace(
    object: &mut Value,
    resource: &Resource,
    namespace: &str,
) -> Result<(), Status> {
    let found = text(object, "namespace");
    if !resource.namespaced {
        if !found.is_empty() {
            fields_mut(object).remove("namespace");
        }
        return Ok(());
    }
    if found.is_empty() {
        fields_mut(object).insert("namespace".to_owned(), namespace.into());
        return Ok(());
    }
    if found == namespace {
        return Ok(());
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

/// Makes the name of a body agree with the path's; absent means the path's.
///
/// # Errors
/// 400 when the body names another one.
pub fn set_name(object: &mut Value, name: &str) -> Result<(), Status> {
    let found = text(object, "name");
    if found.is_empty() {
        fields_mut(object).insert("name".to_owned(), name.into());
        return Ok(());
    }
    if found == name {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({found}) does not match the name on the URL ({name})"
    )))
}

/// Mistakes in the metadata of any object.
pub fn validate(object: &Value, strategy: &dyn Strategy) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let generate = text(object, "generateName");
    if !generate.is_empty() {
        let complaints = strategy.check_name(generate, true).into_iter();
        errors
            .extend(complaints.map(|c| FieldError::invalid("metadata.generateName", generate, c)));
    }
    let name = text(object, "name");
    if name.is_empty() {
        let why = "name or generateName is required";
        errors.push(FieldError::required("metadata.name", why));
    } else {
        let complaints = strategy.check_name(name, false).into_iter();
        errors.extend(complaints.map(|c| FieldError::invalid("metadata.name", name, c)));
    }
    let map = |name: &str| object.get("metadata")?.get(name)?.as_object();
    if let Some(labels) = map("labels") {
        errors.extend(names::validate_labels(labels, "metadata.labels"));
    }
    if let Some(annotations) = map("annotations") {
        errors.extend(names::validate_annotations(
            annotations,
            "metadata.annotations",
        ));
    }
    errors.extend(validate_owners(object));
    let finalizers = finalizers(object);
    errors.extend(names::validate_finalizers(
        &finalizers,
        "metadata.finalizers",
    ));
    if strategy.qualifies_finalizers() {
        errors.extend(unqualified(&finalizers));
    }
    errors
}

/// Finalizers that are neither Kubernetes' own nor say whose they are.
fn unqualified(finalizers: &[&str]) -> Vec<FieldError> {
    let own = ["kubernetes", "orphan", "foregroundDeletion"];
    let named = finalizers.iter().enumerate();
    named
        .filter(|(_, name)| !name.contains('/') && !own.contains(name))
        .map(|(index, name)| {
            let path = format!("metadata.finalizers[{index}]");
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            FieldError::invalid(path, *name, detail)
        })
        .collect()
}

/// Mistakes in how the metadata of an object changed.
pub fn validate_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if is_deleting(old) {
        let before = finalizers(old);
        let added: Vec<&str> = finalizers(new)
            .into_iter()
            .filter(|f| !before.contains(f))
            .collect();
        if !added.is_empty() {
            let added: Vec<String> = added.iter().map(|f| format!("{f:?}")).collect();
            errors.push(FieldError::forbidden(
                "metadata.finalizers",
                format!(
                    "no new finalizers can be added if the object is being deleted, found new \
                     finalizers []string{{{}}}",
                    added.join(", ")
                ),
            ));
        }
    }
    for name in ["name", "namespace"] {
        if text(new, name) != text(old, name) {
            let path = format!("metadata.{name}");
            errors.push(FieldError::invalid(
                path,
                text(new, name),
                "field is immutable",
            ));
        }
    }
    // Upstream looks twice, and clients see both.
    errors.extend(errors.clone());
    errors
}

/// Removes owner references with the uid of an earlier one; returns a warning if there were any.
pub fn dedupe_owners(object: &mut Value) -> Option<String> {
    let list = object
        .pointer_mut("/metadata/ownerReferences")?
        .as_array_mut()?;
    let mut seen: Vec<String> = Vec::new();
    let mut repeated = Vec::new();
    list.retain(|owner| {
        let uid = owner
            .get("uid")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned();
        if seen.contains(&uid) {
            repeated.push(uid);
            return false;
        }
        seen.push(uid);
        true
    });
    if repeated.is_empty() {
        return None;
    }
    Some(format!(
        "metadata.ownerReferences contains duplicate entries; API server dedups owner references \
         in 1.20+, and may reject such requests as early as 1.24; please fix your requests; \
         duplicate UID(s) observed: {}",
        repeated.join(", ")
    ))
}

fn validate_owners(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = "metadata.ownerReferences";
    let list = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let mut controller: Option<String> = None;
    for owner in list.into_iter().flatten() {
        let member = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or("");
        for (name, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if member(name).is_empty() {
                // Upstream leaves the index out.
                errors.push(FieldError::invalid(format!("{path}.{name}"), "", why));
            }
        }
        if owner.get("controller").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        let shown = format!("{}/{}", member("kind"), member("name"));
        match &controller {
            None => controller = Some(shown),
            Some(first) => errors.push(FieldError::invalid(
                path,
                json!(list),
                format!(
                    "Only one reference can have Controller set to true. Found \"true\" in \
                     references for {first} and {shown}"
                ),
            )),
        }
    }
    errors
}

/// Drops members that Go would leave out.
fn tidy(metadata: &mut Map<String, Value>) {
    metadata.retain(|name, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        // An empty list of managed fields asks for a reset.
        Value::Array(list) => name == "managedFields" || !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    });
}

#[cfg(test)]
mod tests;
