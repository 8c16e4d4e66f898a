//! Whether a definition as a whole is valid.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apis/apiextensions/validation`.

use std::collections::HashSet;

use flotilla_machinery::names::{dns1035_label, dns1123_subdomain};
use flotilla_machinery::status::FieldError;
use serde_json::{Map, Value, json};

use super::names::{APPROVED_ANNOTATION, Approval, approval};
use super::schema;
use crate::crd::fieldpath;
use crate::crd::path::Path;
use crate::crd::resource::is_established;
use crate::crd::structural::{JsonType, Pool, Reason, Rule, parse};
use crate::strategy::golang::{self, record, shapes};

/// Most fields of one version that field selectors may use.
const SELECTABLE_MAX: usize = 8;
/// Longest deprecation warning, in bytes.
const WARNING_BYTES_MAX: usize = 256;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 11] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
    // Upstream's set holds these eight; the rest of the OpenAPI names follow.
    "binary",
    "email",
    "uuid",
];

/// Mistakes in a new definition.
pub fn create(definition: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &definition["spec"];
    let required = format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group"));
    let name = text(&definition["metadata"], "name");
    if name != required {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
    check_spec(spec, None, &mut errors);
    stored_versions(definition, &mut errors);
    check_approval(definition, None, &mut errors);
    if spec["preserveUnknownFields"] == true {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                   spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, why));
    }
    errors
}

/// Mistakes in a changed definition.
pub fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (spec, old_spec) = (&new["spec"], &old["spec"]);
    check_spec(spec, Some(old_spec), &mut errors);
    let mut immutable = |path: &str, new: &Value, old: &Value| {
        if new != old {
            errors.push(FieldError::invalid(path, new.clone(), "field is immutable"));
        }
    };
    if is_established(old) {
        immutable("spec.scope", &spec["scope"], &old_spec["scope"]);
        immutable(
            "spec.names.kind",
            &spec["names"]["kind"],
            &old_spec["names"]["kind"],
        );
    }
    immutable("spec.group", &spec["group"], &old_spec["group"]);
    immutable(
        "spec.names.plural",
        &spec["names"]["plural"],
        &old_spec["names"]["plural"],
    );
    errors.extend(status(new));
    stored_versions(new, &mut errors);
    check_approval(new, Some(old), &mut errors);
    errors
}

/// Mistakes in the names a status holds.
pub fn status(definition: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = Path::ROOT.child("status");
    check_names(
        &definition["status"]["acceptedNames"],
        &path.child("acceptedNames"),
        &mut errors,
    );
    errors
}

/// A rule as error texts show it. A reason that is the default one counts as not given.
pub(super) fn shown_rule(rule: &Rule) -> String {
    let value = json!({
        "rule": &*rule.rule,
        "message": &*rule.message,
        "messageExpression": &*rule.message_expression,
        "reason": (rule.reason != Reason::default()).then(|| format!("FieldValue{:?}", rule.reason)),
        "fieldPath": &*rule.field_path,
        "optionalOldSelf": rule.optional_old_self.then_some(true),
    });
    record(&value, shapes::ValidationRule)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn check_spec(spec: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let path = Path::ROOT.child("spec");
    let group = text(spec, "group");
    let complaints = dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required(path.child("group"), ""));
    } else if !complaints.is_empty() {
        errors.push(FieldError::invalid(
            path.child("group"),
            group,
            complaints.join(","),
        ));
    } else if !group.contains('.') {
        let why = "should be a domain with at least one dot";
        errors.push(FieldError::invalid(path.child("group"), group, why));
    }
    one_of(
        text(spec, "scope"),
        &["Cluster", "Namespaced"],
        &path.child("scope"),
        errors,
    );
    let versions = list(spec, "versions");
    let at = path.child("versions");
    let mut found = Vec::new();
    for (n, version) in versions.iter().enumerate() {
        let old = old.and_then(|old| {
            list(old, "versions")
                .iter()
                .find(|o| o["name"] == version["name"])
        });
        check_version(version, old, &at.index(n), &mut found);
    }
    errors.extend(hoisted(found, versions));
    let mut seen = HashSet::new();
    if !versions.iter().all(|v| seen.insert(text(v, "name"))) {
        let why = "must contain unique version names";
        errors.push(golang::invalid(at, &shown_versions(versions), why));
    }
    if versions.iter().filter(|v| v["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(golang::invalid(at, &shown_versions(versions), why));
    }
    // Upstream's internal form has the first version once more, as what it was before there were several.
    if let Some(first) = versions.first() {
        let (name, at) = (text(first, "name"), path.child("version"));
        let complaints = dns1035_label(name);
        if !complaints.is_empty() {
            errors.push(FieldError::invalid(at, name, complaints.join(",")));
        }
    }
    let names_path = path.child("names");
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(&spec["names"], name).is_empty() {
            errors.push(FieldError::required(names_path.child(name), ""));
        }
    }
    check_names(&spec["names"], &names_path, errors);
    check_conversion(&spec["conversion"], &path.child("conversion"), errors);
}

/// What a version has, and where upstream's internal form keeps it if all versions have the same.
const PLACES: [(&str, &str); 4] = [
    ("schema", "spec.validation"),
    ("subresources", "spec.subresources"),
    ("additionalPrinterColumns", "spec.additionalPrinterColumns"),
    ("selectableFields", "spec.selectableFields"),
];

/// Whether all versions have the same in this place.
fn is_common(versions: &[Value], name: &str) -> bool {
    let mut pairs = versions.windows(2);
    pairs.all(|pair| pair[0][name] == pair[1][name])
}

/// Errors under the paths upstream gives them: what all versions have in common stands at the top of its internal form.
fn hoisted(found: Vec<FieldError>, versions: &[Value]) -> Vec<FieldError> {
    let is_set = |name: &str| {
        let first = versions.first().map(|version| &version[name]);
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        first.is_some_and(|first| !first.is_null() && !is_empty(first))
    };
    let places = PLACES
        .iter()
        .filter(|(name, _)| is_set(name) && is_common(versions, name));
    let places: Vec<(String, &str)> = places
        .map(|(name, top)| (format!(".{name}"), *top))
        .collect();
    let mut out = Vec::with_capacity(found.len());
    for mut error in found {
        let rest = error.path.strip_prefix("spec.versions[");
        let Some((index, rest)) = rest.and_then(|rest| rest.split_once(']')) else {
            out.push(error);
            continue;
        };
        let tail = places.iter().find_map(|(name, top)| {
            let tail = rest.strip_prefix(name.as_str())?;
            (tail.is_empty() || tail.starts_with(['.', '['])).then(|| format!("{top}{tail}"))
        });
        match tail {
            Some(_) if index != "0" => {}
            Some(path) => {
                error.path = path;
                out.push(error);
            }
            None => out.push(error),
        }
    }
    out
}

/// Versions as error texts show them. Schemas that differ between versions are left out: in Go's form
/// they are fifty times as long.
fn shown_versions(versions: &[Value]) -> String {
    let mut shown = Vec::with_capacity(versions.len());
    for version in versions {
        let mut version = version.clone();
        for (name, _) in PLACES {
            if name == "schema" || is_common(versions, name) {
                version[name] = Value::Null;
            }
        }
        shown.push(record(&version, shapes::CustomResourceDefinitionVersion));
    }
    format!("[{}]", shown.join(","))
}

fn one_of(value: &str, supported: &[&str], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if value.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !supported.contains(&value) {
        errors.push(FieldError::not_supported(path, value, supported));
    }
}

fn check_version(
    version: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let name = text(version, "name");
    let complaints = dns1035_label(name);
    if !complaints.is_empty() {
        errors.push(FieldError::invalid(
            path.child("name"),
            name,
            complaints.join(","),
        ));
    }
    check_deprecation(version, path, errors);
    let schema_path = path.child("schema");
    let schema_path = schema_path.child("openAPIV3Schema");
    let schema = &version["schema"]["openAPIV3Schema"];
    if schema.is_null() {
        errors.push(FieldError::required(schema_path, ""));
    } else if old.is_none_or(|old| &old["schema"]["openAPIV3Schema"] != schema) {
        // A schema that was accepted before is not judged again.
        let has_status = version["subresources"]["status"].is_object();
        errors.extend(schema::check(schema, has_status, &schema_path));
    }
    check_scale(version, &path.child("subresources"), errors);
    let columns = path.child("additionalPrinterColumns");
    for (n, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
        check_column(column, &columns.index(n), errors);
    }
    check_selectable(version, old, &path.child("selectableFields"), errors);
}

fn check_deprecation(version: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let Some(warning) = version["deprecationWarning"].as_str() else {
        return;
    };
    let mut complain = |why: String| {
        errors.push(FieldError::invalid(
            path.child("deprecationWarning"),
            warning,
            why,
        ));
    };
    if version["deprecated"] != true {
        return complain("can only be set for deprecated versions".into());
    }
    if warning.len() > WARNING_BYTES_MAX {
        complain(format!("must be <= {WARNING_BYTES_MAX} characters long"));
    }
    if warning.is_empty() {
        complain("must not be an empty string".into());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        complain(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index \
             {at}"
        ));
    }
}

fn check_scale(version: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let scale = &version["subresources"]["scale"];
    if !scale.is_object() {
        return;
    }
    for (name, prefix) in [
        ("specReplicasPath", ".spec."),
        ("statusReplicasPath", ".status."),
    ] {
        let value = text(scale, name);
        let at = format!("{path}.scale.{name}");
        if value.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else if !value.starts_with('.') {
            let why = "must be a simple json path starting with .";
            errors.push(FieldError::invalid(at, value, why));
        } else if !value.starts_with(prefix) {
            let why = format!(
                "should be a json path under {}",
                prefix.trim_end_matches('.')
            );
            errors.push(FieldError::invalid(at, value, why));
        }
    }
    let value = text(scale, "labelSelectorPath");
    let at = format!("{path}.scale.labelSelectorPath");
    if !value.is_empty() && !value.starts_with('.') {
        let why = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(at, value, why));
    } else if !value.is_empty() && !value.starts_with(".spec.") && !value.starts_with(".status.") {
        let why = "should be a json path under either .spec or .status";
        errors.push(FieldError::invalid(at, value, why));
    }
}

fn check_column(column: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if text(column, "name").is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    let ty = text(column, "type");
    let why = format!("must be one of {}", COLUMN_TYPES.join(","));
    if ty.is_empty() {
        errors.push(FieldError::required(path.child("type"), why));
    } else if !COLUMN_TYPES.contains(&ty) {
        errors.push(FieldError::invalid(path.child("type"), ty, why));
    }
    let format = text(column, "format");
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let why = format!("must be one of {}", COLUMN_FORMATS[..8].join(","));
        errors.push(FieldError::invalid(path.child("format"), format, why));
    }
    let json_path = text(column, "jsonPath");
    if json_path.is_empty() {
        errors.push(FieldError::required(path.child("JSONPath"), ""));
    } else if !json_path.starts_with('.') {
        let why = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(path.child("JSONPath"), json_path, why));
    }
}

fn check_selectable(
    version: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let fields = list(version, "selectableFields");
    if fields.is_empty() {
        return;
    }
    let schema = &version["schema"]["openAPIV3Schema"];
    let Ok(node) = parse(schema, &mut Pool::new()) else {
        return;
    };
    let mut seen = HashSet::new();
    for (n, field) in fields.iter().enumerate() {
        let at = path.index(n);
        let at = at.child("jsonPath");
        let json_path = text(field, "jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let found = match fieldpath::resolve_dotted(json_path, &node) {
            Ok(found) => found,
            Err(why) => {
                let why = format!("is an invalid path: {why}");
                errors.push(FieldError::invalid(at, json_path, why));
                continue;
            }
        };
        if found.root == "metadata" {
            let why = "must not point to fields in metadata";
            errors.push(FieldError::invalid(at, json_path, why));
        }
        let ty = found.node.and_then(|n| n.ty);
        if !matches!(
            ty,
            Some(JsonType::String | JsonType::Boolean | JsonType::Integer)
        ) {
            let why = "must point to a field of type string, boolean or integer. Enum string \
                       fields and strings with formats are allowed.";
            errors.push(FieldError::invalid(at, json_path, why));
        }
        if !seen.insert(found.path) {
            errors.push(FieldError::duplicate(at, json_path));
        }
    }
    let unchanged = old.is_some_and(|o| o["selectableFields"] == version["selectableFields"]);
    if seen.len() > SELECTABLE_MAX && !unchanged {
        errors.push(FieldError::too_many(path, seen.len(), SELECTABLE_MAX));
    }
}

fn check_names(names: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for name in ["plural", "singular"] {
        let value = text(names, name);
        let complaints = dns1035_label(value);
        if !value.is_empty() && !complaints.is_empty() {
            errors.push(FieldError::invalid(
                path.child(name),
                value,
                complaints.join(","),
            ));
        }
    }
    for name in ["kind", "listKind"] {
        let value = text(names, name);
        let complaints = dns1035_label(&value.to_lowercase());
        if !value.is_empty() && !complaints.is_empty() {
            let why = format!(
                "may have mixed case, but should otherwise match: {}",
                complaints.join(",")
            );
            errors.push(FieldError::invalid(path.child(name), value, why));
        }
    }
    for name in ["shortNames", "categories"] {
        let at = path.child(name);
        for (n, value) in list(names, name).iter().enumerate() {
            let value = value.as_str().unwrap_or("");
            let complaints = dns1035_label(value);
            if !complaints.is_empty() {
                errors.push(FieldError::invalid(
                    at.index(n),
                    value,
                    complaints.join(","),
                ));
            }
        }
    }
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(path.child("listKind"), kind, why));
    }
}

fn check_conversion(conversion: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if conversion.is_null() {
        return;
    }
    let strategy = text(conversion, "strategy");
    one_of(
        strategy,
        &["None", "Webhook"],
        &path.child("strategy"),
        errors,
    );
    let at = path.child("webhookClientConfig");
    let versions_at = path.child("conversionReviewVersions");
    let webhook = &conversion["webhook"];
    let client = &webhook["clientConfig"];
    let versions = list(webhook, "conversionReviewVersions");
    if strategy != "Webhook" {
        if !client.is_null() {
            let why = "should not be set when strategy is not set to Webhook";
            errors.push(FieldError::forbidden(at, why));
        }
        if !versions.is_empty() {
            let why = "should not be set when strategy is not set to Webhook";
            errors.push(FieldError::forbidden(versions_at, why));
        }
        return;
    }
    if client.is_null() {
        errors.push(FieldError::required(
            at,
            "required when strategy is set to Webhook",
        ));
    } else if client["url"].is_null() == client["service"].is_null() {
        errors.push(FieldError::required(
            at,
            "exactly one of url or service is required",
        ));
    } else if let Some(url) = client["url"].as_str()
        && !url.starts_with("https://")
    {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        let why = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
        errors.push(FieldError::invalid(at.child("url"), scheme, why));
    }
    if versions.is_empty() {
        errors.push(FieldError::required(versions_at, ""));
    } else if !versions
        .iter()
        .any(|v| matches!(v.as_str(), Some("v1" | "v1beta1")))
    {
        let why = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(versions_at, versions.to_vec(), why));
    }
    let mut seen = HashSet::new();
    for (n, version) in versions.iter().enumerate() {
        let name = version.as_str().unwrap_or("");
        if !seen.insert(name) {
            errors.push(FieldError::invalid(
                versions_at.index(n),
                name,
                "duplicate version",
            ));
            continue;
        }
        for why in dns1035_label(name) {
            errors.push(FieldError::invalid(versions_at.index(n), name, why));
        }
    }
}

fn stored_versions(definition: &Value, errors: &mut Vec<FieldError>) {
    let stored = list(&definition["status"], "storedVersions");
    let versions = list(&definition["spec"], "versions");
    let path = Path::ROOT.child("status");
    let path = path.child("storedVersions");
    let shown = &definition["status"]["storedVersions"];
    if stored.is_empty() {
        let why = "must have at least one stored version";
        errors.push(FieldError::invalid(path, shown.clone(), why));
        return;
    }
    let storage = versions.iter().filter(|v| v["storage"] == true);
    for name in storage.map(|v| text(v, "name")) {
        if !stored.iter().any(|stored| stored == name) {
            let why = format!("must have the storage version {name}");
            errors.push(FieldError::invalid(path, shown.clone(), why));
        }
    }
    for (n, name) in stored.iter().enumerate() {
        if versions.iter().any(|v| &v["name"] == name) {
            continue;
        }
        let v = name.as_str().unwrap_or("");
        let why = format!(
            "missing from spec.versions; {v} was previously a storage version, and must remain in \
             spec.versions until a storage migration ensures no data remains persisted in {v} and \
             removes {v} from status.storedVersions"
        );
        errors.push(FieldError::invalid(path.index(n), v, why));
    }
}

fn check_approval(new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let Some(found) = approval(new) else { return };
    let before = old.and_then(approval);
    if before.as_ref().map(std::mem::discriminant) == Some(std::mem::discriminant(&found)) {
        return;
    }
    let path = Path::ROOT.child("metadata");
    let path = path.child("annotations");
    let at = path.key(APPROVED_ANNOTATION);
    match found {
        Approval::Missing(why) => errors.push(FieldError::required(at, why)),
        Approval::Invalid(why) => {
            let value = new["metadata"]["annotations"][APPROVED_ANNOTATION].clone();
            errors.push(FieldError::invalid(at, value, why));
        }
        Approval::Bypassed(_) | Approval::Approved(_) => {}
    }
}
