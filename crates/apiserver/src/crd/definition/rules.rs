//! Whether a schema is structural: every place has one type, said outside of junctors.
//!
//! Works on the JSON text, because most rules are about keywords that must not be there.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apiserver/schema/{validation,complete}.go`.

use flotilla_machinery::status::FieldError;
use serde_json::{Map, Value, json};

use crate::crd::path::Path;
use crate::crd::regexp;
use crate::crd::structural::is_zero;

/// Where a schema stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What keeps a schema from being structural, sorted by text.
pub(super) fn structural(schema: &Value, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, path, &mut errors);
    completeness(schema, schema, path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn set<'a>(schema: &'a Value, keyword: &str) -> Option<&'a Value> {
    schema.get(keyword).filter(|v| !is_zero(v))
}

fn ty(schema: &Value) -> &str {
    schema["type"].as_str().unwrap_or("")
}

fn map<'a>(schema: &'a Value, keyword: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema[keyword].as_object().into_iter().flatten()
}

fn invariants(s: &Value, level: Level, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if ty(s) == "array" && !s["items"].is_object() {
        errors.push(FieldError::required(
            path.child("items"),
            "must be specified",
        ));
    }
    if s["items"].is_object() {
        invariants(&s["items"], Level::Item, &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, property) in map(s, "properties") {
        invariants(property, Level::Field, &properties.key(name), errors);
    }
    let additional = s.get("additionalProperties").filter(|a| !a.is_null());
    if let Some(values) = additional {
        let at = path.child("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(at, "must not be used at the root"));
        }
        if values.is_object() {
            invariants(values, Level::Field, &at, errors);
        }
    }
    extensions(s, path, errors);
    let int_or_string = json!([{"type": "integer"}, {"type": "string"}]);
    let skips_any_of = s["anyOf"] == int_or_string;
    let skips_first_all_of = s["allOf"][0]["anyOf"] == int_or_string;
    value_validation(s, (skips_any_of, skips_first_all_of), path, errors);
    type_invariants(s, level, path, errors);
    embedded_invariants(s, level, path, errors);
}

fn extensions(s: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if s["x-kubernetes-int-or-string"] != true {
        return;
    }
    let why = "must be false if x-kubernetes-int-or-string is true";
    for keyword in [
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
    ] {
        if s[keyword] == true {
            errors.push(FieldError::invalid(path.child(keyword), true, why));
        }
    }
}

fn type_invariants(s: &Value, level: Level, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let at = path.child("type");
    if s["x-kubernetes-embedded-resource"] == true && ty(s) != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match ty(s) {
            "" => FieldError::required(at, why),
            other => FieldError::invalid(at, other, why),
        });
    } else if ty(s).is_empty()
        && s["x-kubernetes-int-or-string"] != true
        && s["x-kubernetes-preserve-unknown-fields"] != true
    {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(at, why));
    }
    if level == Level::Root && !matches!(ty(s), "" | "object") {
        errors.push(FieldError::invalid(at, ty(s), "must be object at the root"));
    }
}

fn embedded_invariants(s: &Value, level: Level, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let embedded = s["x-kubernetes-embedded-resource"] == true;
    if embedded && s.get("additionalProperties").is_some_and(|a| !a.is_null()) {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(
            path.child("additionalProperties"),
            why,
        ));
    }
    let is_resource = level == Level::Root || embedded;
    let properties = path.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(property) = s["properties"].get(name)
            && is_resource
            && ty(property) != "string"
        {
            let at = properties.key(name);
            errors.push(FieldError::invalid(
                at.child("type"),
                ty(property),
                "must be string",
            ));
        }
    }
    if let Some(metadata) = s["properties"].get("metadata") {
        let at = properties.key("metadata");
        if is_resource && ty(metadata) != "object" {
            errors.push(FieldError::invalid(
                at.child("type"),
                ty(metadata),
                "must be object",
            ));
        }
        if level == Level::Root && restricts_metadata(metadata) {
            let why = "must not specify anything other than name and generateName, but metadata \
                       is implicitly specified";
            errors.push(FieldError::forbidden(at, why));
        }
    }
    if embedded
        && s["x-kubernetes-preserve-unknown-fields"] != true
        && set(s, "properties").is_none()
    {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                   x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(properties, why));
    }
}

/// Whether a schema of the object's own metadata says more than it may.
fn restricts_metadata(metadata: &Value) -> bool {
    map_of(metadata).any(|(keyword, value)| match keyword.as_str() {
        "type" | "default" => false,
        "properties" => value.as_object().is_some_and(|p| {
            p.keys()
                .any(|k| !matches!(k.as_str(), "name" | "generateName"))
        }),
        _ => !is_zero(value),
    })
}

fn map_of(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn value_validation(
    s: &Value,
    (skips_any_of, skips_first_all_of): (bool, bool),
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let branches = |keyword: &str| s[keyword].as_array().into_iter().flatten().enumerate();
    if !skips_any_of {
        let at = path.child("anyOf");
        for (n, branch) in branches("anyOf") {
            nested(branch, false, &at.index(n), errors);
        }
    }
    let at = path.child("allOf");
    for (n, branch) in branches("allOf") {
        nested(branch, skips_first_all_of && n == 0, &at.index(n), errors);
    }
    let at = path.child("oneOf");
    for (n, branch) in branches("oneOf") {
        nested(branch, false, &at.index(n), errors);
    }
    if s["not"].is_object() {
        nested(&s["not"], false, &path.child("not"), errors);
    }
    if let Some(pattern) = s["pattern"].as_str().filter(|p| !p.is_empty())
        && let Err(why) = regexp::compile(pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(path.child("pattern"), pattern, why));
    }
}

/// Keywords that have no place below a junctor, and how that is said.
const FORBIDDEN: &[(&str, &str)] = &[
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-embedded-resource",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-int-or-string",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-list-map-keys",
        "must be empty to be structural",
    ),
    (
        "x-kubernetes-list-type",
        "must be undefined to be structural",
    ),
    (
        "x-kubernetes-map-type",
        "must be undefined to be structural",
    ),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

fn nested(s: &Value, skips_any_of: bool, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    value_validation(s, (skips_any_of, false), path, errors);
    if s["items"].is_object() {
        nested(&s["items"], false, &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, property) in map(s, "properties") {
        nested(property, false, &properties.key(name), errors);
    }
    for (keyword, why) in FORBIDDEN {
        let is_there = match *keyword {
            // An empty schema or value also counts.
            "additionalProperties" => s
                .get(*keyword)
                .is_some_and(|v| v.is_object() || v == &Value::Bool(true)),
            "default" => s.get(*keyword).is_some_and(|v| !v.is_null()),
            _ => set(s, keyword).is_some(),
        };
        if is_there {
            errors.push(FieldError::forbidden(path.child(keyword), *why));
        }
    }
    if s["properties"].get("metadata").is_some() {
        let why = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(properties.key("metadata"), why));
    }
}

/// Every value that `v` (a schema, with its junctors) speaks about has a place in `s`.
fn completeness(
    v: &Value,
    s: &Value,
    s_path: &Path<'_>,
    v_path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let not = v_path.child("not");
    if v["not"].is_object() {
        nested_completeness(&v["not"], Some(s), s_path, &not, errors);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let at = v_path.child(keyword);
        for (n, branch) in v[keyword].as_array().into_iter().flatten().enumerate() {
            nested_completeness(branch, Some(s), s_path, &at.index(n), errors);
        }
    }
}

fn nested_completeness(
    v: &Value,
    s: Option<&Value>,
    s_path: &Path<'_>,
    v_path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let because = |at: &Path<'_>| format!("because it is defined in {at}");
    let Some(s) = s else {
        errors.push(FieldError::required(s_path, because(v_path)));
        return;
    };
    completeness(v, s, s_path, v_path, errors);
    if v["items"].is_object() {
        let items = s.get("items").filter(|i| i.is_object());
        let (s_items, v_items) = (s_path.child("items"), v_path.child("items"));
        nested_completeness(&v["items"], items, &s_items, &v_items, errors);
    }
    let (s_properties, v_properties) = (s_path.child("properties"), v_path.child("properties"));
    for (name, property) in map(v, "properties") {
        let (s_at, v_at) = (s_properties.key(name), v_properties.key(name));
        nested_completeness(property, s["properties"].get(name), &s_at, &v_at, errors);
    }
}
