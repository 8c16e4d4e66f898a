//! Whether the defaults in a schema are values the schema would accept.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apiserver/schema/defaulting/validation.go`.

use std::sync::Arc;

use flotilla_machinery::status::FieldError;

use crate::crd::path::Path;
use crate::crd::structural::Node;
use crate::crd::{cel, meta, prune, validate};

/// Defaults with unknown fields, or that break the schema or its rules.
pub(super) fn check(root: &Arc<Node>, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(root, path, true, false, &mut errors);
    errors
}

fn walk(
    node: &Arc<Node>,
    path: &Path<'_>,
    is_root: bool,
    in_meta: bool,
    errors: &mut Vec<FieldError>,
) {
    let is_resource = is_root || node.embedded;
    let in_meta = in_meta && !node.embedded;
    if let Some(default) = &node.default {
        value(node, default, &path.child("default"), in_meta, errors);
    }
    if let Some(items) = &node.items {
        walk(items, &path.child("items"), false, in_meta, errors);
    }
    let properties = path.child("properties");
    for (name, property) in &node.properties {
        let is_meta = is_resource && matches!(&**name, "metadata" | "apiVersion" | "kind");
        walk(
            property,
            &properties.key(name),
            false,
            in_meta || is_meta,
            errors,
        );
    }
}

fn value(
    node: &Arc<Node>,
    default: &serde_json::Value,
    path: &Path<'_>,
    in_meta: bool,
    errors: &mut Vec<FieldError>,
) {
    let mut pruned = default.clone();
    if !in_meta && !prune::prune_value(&mut pruned, node).is_empty() {
        let why = "must not have unknown fields";
        errors.push(FieldError::invalid(path, default.clone(), why));
    }
    let at = path.to_string();
    let mut found = match meta::coerce(&mut pruned, node, node.embedded) {
        Err(mut error) => {
            error.path = format!("{at}.{}", error.path);
            vec![error]
        }
        Ok(()) => meta::check(default, node, node.embedded),
    };
    if found.is_empty() {
        found = validate::create(default, node, &at);
    }
    if found.is_empty()
        && let Some(rules) = cel::compile(node)
    {
        found = rules.check(default, None, None).0;
        for error in &mut found {
            error.path = match error.path.as_str() {
                "" => at.clone(),
                inner => format!("{at}.{inner}"),
            };
        }
    }
    errors.extend(found);
}
