//! Whether the schemas of a definition are acceptable, beyond being structural.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver
//! `pkg/apis/apiextensions/validation.ValidateCustomResourceDefinitionOpenAPISchema`.

use std::sync::Arc;

use flotilla_machinery::status::FieldError;
use serde_json::{Map, Value};

use super::{defaults, rules};
use crate::crd::cel::{self, RuleError};
use crate::crd::fieldpath;
use crate::crd::formats::Format;
use crate::crd::path::Path;
use crate::crd::structural::{Additional, JsonType, ListType, Node, Pool, is_zero, parse};
use crate::strategy::golang;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// Keywords the root may have when status has its own endpoint, so that the part for status can be
/// cut out.
const ROOT_KEYWORDS: [&str; 22] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// The same, in the words of the error text.
const ROOT_KEYWORDS_TEXT: &str = "[Description Type Format Title Maximum ExclusiveMaximum Minimum \
    ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required \
    Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]";

/// What is wrong with one version's `openAPIV3Schema`, which stands at `path`.
pub(super) fn check(schema: &Value, has_status: bool, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_root(schema, has_status, path, &mut errors);
    let mut node = None;
    let mut unreadable = None;
    match parse(schema, &mut Pool::new()) {
        Err(why) => unreadable = Some(FieldError::invalid(path, "", why.to_string())),
        Ok(parsed) => {
            let mut found = rules::structural(schema, path);
            if found.is_empty() {
                found = defaults::check(&parsed, path);
            }
            if found.is_empty() {
                node = Some(parsed);
            }
            errors.extend(found);
        }
    }
    let mut walk = Walk { errors: Vec::new() };
    walk.schema(schema, path, Rights::default(), true);
    errors.extend(walk.errors);
    if errors.is_empty() {
        errors.extend(unreadable);
    }
    if errors.is_empty()
        && let Some(node) = node
    {
        let place = Place {
            uncorrelated: None,
            times: Some(1),
            is_root: true,
        };
        check_rules(&node, path, place, &mut errors);
    }
    errors
}

/// Warnings about formats that mean nothing and sets that apply does not support.
pub(super) fn warnings(definition: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for version in definition["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
    {
        each(&version["schema"]["openAPIV3Schema"], &mut |s| {
            let ty = s["type"].as_str().and_then(JsonType::parse);
            if let Some(format) = s["format"].as_str().filter(|f| !f.is_empty())
                && Format::parse(format, ty).is_none()
            {
                out.push(format!(
                    "unrecognized format {}",
                    crate::crd::quoted(format)
                ));
            }
            let item = s["items"]["type"].as_str().unwrap_or("");
            if s["x-kubernetes-list-type"] == "set" && matches!(item, "object" | "array") {
                out.push(format!(
                    "x-kubernetes-list-type: set for items of type \"{item}\" is not supported by \
                     server-side apply or CEL validation rules"
                ));
            }
        });
    }
    let mut seen = std::collections::BTreeSet::new();
    out.retain(|w| seen.insert(w.clone()));
    out
}

fn each(schema: &Value, visit: &mut dyn FnMut(&Value)) {
    let Some(fields) = schema.as_object() else {
        return;
    };
    visit(schema);
    for (keyword, value) in fields {
        match keyword.as_str() {
            "items" | "additionalProperties" | "not" => each(value, visit),
            "allOf" | "anyOf" | "oneOf" => {
                value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .for_each(|s| each(s, visit));
            }
            "properties" => {
                value
                    .as_object()
                    .into_iter()
                    .flat_map(Map::values)
                    .for_each(|s| each(s, visit));
            }
            _ => {}
        }
    }
}

fn check_root(schema: &Value, has_status: bool, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if has_status {
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            if is_zero(value) {
                continue;
            }
            if keyword == "type" && value != "object" {
                let at = format!("{path}.type");
                let why = "only \"object\" is allowed as the type at the root of the schema if the \
                           status subresource is enabled";
                errors.push(FieldError::invalid(at, value.clone(), why));
                break;
            }
            if !ROOT_KEYWORDS.contains(&keyword.as_str()) {
                let why = format!(
                    "only {ROOT_KEYWORDS_TEXT} fields are allowed at the root of the schema if the \
                     status subresource is enabled"
                );
                errors.push(FieldError::invalid(path, schema.clone(), why));
                break;
            }
        }
    }
    if schema["nullable"] == true {
        let at = format!("{path}.nullable");
        errors.push(FieldError::forbidden(
            at,
            "nullable cannot be true at the root",
        ));
    }
}

/// What a place in the schema may say.
#[derive(Clone, Copy, Default)]
struct Rights {
    /// Why defaults are forbidden; `None` where they are allowed.
    no_defaults: Option<&'static str>,
    /// Inside `apiVersion`, `kind` or `metadata` of an object.
    in_meta: bool,
}

struct Walk {
    errors: Vec<FieldError>,
}

impl Walk {
    fn forbid(&mut self, path: Path<'_>, why: &str) {
        self.errors.push(FieldError::forbidden(path, why));
    }

    fn schema(&mut self, s: &Value, path: &Path<'_>, rights: Rights, is_root: bool) {
        let Some(fields) = s.as_object() else { return };
        self.standard(s, path, rights);
        if s["uniqueItems"] == true {
            let why = "uniqueItems cannot be set to true since the runtime complexity becomes \
                       quadratic";
            self.forbid(path.child("uniqueItems"), why);
        }
        if let Some(values) = fields.get("additionalProperties").filter(|v| !v.is_null()) {
            let at = path.child("additionalProperties");
            if !is_zero(&s["properties"]) && values != &Value::Bool(true) {
                self.forbid(
                    at,
                    "additionalProperties and properties are mutual exclusive",
                );
            }
            let reason = "inside additionalProperties applying to object metadata";
            let inner = match rights.in_meta {
                true => Rights {
                    no_defaults: Some(reason),
                    ..rights
                },
                false => rights,
            };
            self.schema(values, &at, inner, false);
        }
        let properties = path.child("properties");
        for (name, property) in s["properties"].as_object().into_iter().flatten() {
            let mut inner = rights;
            let is_resource = is_root || s["x-kubernetes-embedded-resource"] == true;
            let reason = match name.as_str() {
                "metadata" => Some("in top-level metadata"),
                "kind" => Some("in top-level kind"),
                "apiVersion" => Some("in top-level apiVersion"),
                _ => None,
            };
            if is_resource && reason.is_some() {
                inner.in_meta = true;
                if is_root {
                    inner.no_defaults = reason;
                }
            }
            self.schema(property, &properties.key(name), inner, false);
        }
        self.schema(&s["not"], &path.child("not"), rights, false);
        for keyword in ["allOf", "oneOf", "anyOf"] {
            let at = path.child(keyword);
            for (n, branch) in s[keyword].as_array().into_iter().flatten().enumerate() {
                self.schema(branch, &at.index(n), rights, false);
            }
        }
        self.schema(&s["items"], &path.child("items"), rights, false);
        self.collections(s, path);
        self.rule_texts(s, path);
    }

    fn standard(&mut self, s: &Value, path: &Path<'_>, rights: Rights) {
        let ty = s["type"].as_str().unwrap_or("");
        if !matches!(ty, "" | "null") && !TYPES.contains(&ty) {
            self.errors
                .push(FieldError::not_supported(path.child("type"), ty, &TYPES));
        }
        if let Some(reason) = rights.no_defaults
            && s.get("default").is_some_and(|v| !v.is_null())
        {
            self.forbid(path.child("default"), &format!("must not be set {reason}"));
        }
        for keyword in ["id", "patternProperties", "definitions"] {
            if s.get(keyword).is_some_and(|v| !is_zero(v)) {
                self.forbid(path.child(keyword), &format!("{keyword} is not supported"));
            }
        }
        for keyword in ["additionalItems", "dependencies", "$ref"] {
            if s.get(keyword).is_some_and(|v| !v.is_null()) {
                self.forbid(path.child(keyword), &format!("{keyword} is not supported"));
            }
        }
        if ty == "null" {
            let why = "type cannot be set to null, use nullable as an alternative";
            self.forbid(path.child("type"), why);
        }
        if s["items"].is_array() {
            self.forbid(
                path.child("items"),
                "items must be a schema object and not an array",
            );
        }
        if rights.in_meta && s["x-kubernetes-embedded-resource"] == true {
            let at = path.child("x-kubernetes-embedded-resource");
            self.forbid(at, "must not be used inside of resource meta");
        }
        if s["x-kubernetes-preserve-unknown-fields"] == false {
            let at = path.child("x-kubernetes-preserve-unknown-fields");
            self.errors
                .push(FieldError::invalid(at, false, "must be true or undefined"));
        }
    }

    fn collections(&mut self, s: &Value, path: &Path<'_>) {
        let ty = s["type"].as_str().unwrap_or("");
        let type_path = path.child("type");
        let wrong_type = |wanted: &str, keyword: &str| {
            let why = format!("must be {wanted} if {keyword} is specified");
            match ty {
                "" => FieldError::required(type_path, why),
                other => FieldError::invalid(type_path, other, why),
            }
        };
        if let Some(map_type) = s["x-kubernetes-map-type"].as_str() {
            if ty != "object" {
                self.errors
                    .push(wrong_type("object", "x-kubernetes-map-type"));
            }
            if !matches!(map_type, "atomic" | "granular") {
                let at = path.child("x-kubernetes-map-type");
                let supported = ["atomic", "granular"];
                self.errors
                    .push(FieldError::not_supported(at, map_type, &supported));
            }
        }
        let list_type = s["x-kubernetes-list-type"].as_str();
        let at = path.child("x-kubernetes-list-type");
        if list_type.is_some() && ty != "array" {
            self.errors
                .push(wrong_type("array", "x-kubernetes-list-type"));
        } else if list_type == Some("set") && s["items"].is_object() {
            self.set_items(&s["items"], &path.child("items"));
        }
        if let Some(list_type) = list_type.filter(|t| !matches!(*t, "atomic" | "set" | "map")) {
            let supported = ["atomic", "set", "map"];
            self.errors
                .push(FieldError::not_supported(at, list_type, &supported));
        }
        if !is_zero(&s["x-kubernetes-list-map-keys"]) {
            let why = "must be map if x-kubernetes-list-map-keys is non-empty";
            match list_type {
                None => self.errors.push(FieldError::required(at, why)),
                Some("map") => {}
                Some(other) => self.errors.push(FieldError::invalid(at, other, why)),
            }
        }
        if list_type == Some("map") {
            self.map_keys(s, path);
        }
        if matches!(list_type, Some("set" | "map")) && s["items"].is_object() {
            self.not_nullable(s, list_type.unwrap_or(""), path);
        }
    }

    fn set_items(&mut self, items: &Value, path: &Path<'_>) {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let (keyword, is_atomic) = match items["type"].as_str() {
            Some("array") => (
                "x-kubernetes-list-type",
                matches!(
                    items["x-kubernetes-list-type"].as_str(),
                    None | Some("atomic")
                ),
            ),
            Some("object") => (
                "x-kubernetes-map-type",
                items["x-kubernetes-map-type"] == "atomic",
            ),
            _ => return,
        };
        if !is_atomic {
            let found = items["x-kubernetes-list-type"].clone();
            self.errors
                .push(FieldError::invalid(path.child(keyword), found, why));
        }
    }

    fn map_keys(&mut self, s: &Value, path: &Path<'_>) {
        let keys_path = path.child("x-kubernetes-list-map-keys");
        let items_path = path.child("items");
        let keys = s["x-kubernetes-list-map-keys"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        if keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            self.errors.push(FieldError::required(keys_path, why));
        }
        if s["items"].is_null() {
            let why = "must have a schema if x-kubernetes-list-type is map";
            self.errors.push(FieldError::required(items_path, why));
        }
        if !s["items"].is_object() {
            return;
        }
        let item_type = s["items"]["type"].as_str().unwrap_or("");
        if item_type != "object" {
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            let at = items_path.child("type");
            self.errors.push(FieldError::invalid(at, item_type, why));
            return;
        }
        let properties = items_path.child("properties");
        for (n, key) in keys.iter().enumerate() {
            let name = key.as_str().unwrap_or("");
            match s["items"]["properties"].get(name) {
                None => {
                    let why = "entries must all be names of item properties";
                    self.errors
                        .push(FieldError::invalid(keys_path, keys.to_vec(), why));
                }
                Some(property) if matches!(property["type"].as_str(), Some("array" | "object")) => {
                    let why = "must be a scalar type if parent array's x-kubernetes-list-type is \
                               map";
                    let at = properties.key(name);
                    self.errors
                        .push(FieldError::invalid(at.child("type"), item_type, why));
                }
                Some(_) => {}
            }
            if keys[..n].contains(key) {
                let why = "must not contain duplicate entries";
                self.errors
                    .push(FieldError::invalid(keys_path, keys.to_vec(), why));
            }
        }
    }

    fn not_nullable(&mut self, s: &Value, list_type: &str, path: &Path<'_>) {
        let items_path = path.child("items");
        if s["items"]["nullable"] == true {
            let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.forbid(items_path.child("nullable"), &why);
        }
        if list_type != "map" {
            return;
        }
        let required = s["items"]["required"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let properties = items_path.child("properties");
        for key in s["x-kubernetes-list-map-keys"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let Some(name) = key.as_str() else { continue };
            let Some(property) = s["items"]["properties"].get(name) else {
                continue;
            };
            let at = properties.key(name);
            if !required.contains(key) && property["default"].is_null() {
                let why = "this property is in x-kubernetes-list-map-keys, so it must have a \
                           default or be a required property";
                self.errors
                    .push(FieldError::required(at.child("default"), why));
            }
            if property["nullable"] == true {
                let why = "this property is in x-kubernetes-list-map-keys, so it cannot be \
                           nullable";
                self.forbid(at.child("nullable"), why);
            }
        }
    }

    fn rule_texts(&mut self, s: &Value, path: &Path<'_>) {
        let at = path.child("x-kubernetes-validations");
        let list = s["x-kubernetes-validations"]
            .as_array()
            .into_iter()
            .flatten();
        for (n, rule) in list.enumerate() {
            let at = at.index(n);
            let text = |name: &str| rule[name].as_str().unwrap_or("");
            let breaks = |text: &str| text.contains(['\n', '\r']);
            let message = text("message").trim();
            if text("rule").trim().is_empty() {
                self.errors.push(FieldError::required(
                    at.child("rule"),
                    "rule is not specified",
                ));
            } else if !text("message").is_empty() && message.is_empty() {
                let why = "must be non-empty if specified";
                self.errors.push(FieldError::invalid(
                    at.child("message"),
                    text("message"),
                    why,
                ));
            } else if breaks(message) {
                let why = "must not contain line breaks";
                self.errors.push(FieldError::invalid(
                    at.child("message"),
                    text("message"),
                    why,
                ));
            } else if breaks(text("rule").trim()) && message.is_empty() {
                let why = "message must be specified if rule contains line breaks";
                self.errors
                    .push(FieldError::required(at.child("message"), why));
            }
            let expression = text("messageExpression");
            if !expression.is_empty() && expression.trim().is_empty() {
                let why = "messageExpression must be non-empty if specified";
                self.errors
                    .push(FieldError::required(at.child("messageExpression"), why));
            }
            if let Some(reason) = rule["reason"].as_str().filter(|r| !REASONS.contains(r)) {
                self.errors.push(FieldError::not_supported(
                    at.child("reason"),
                    reason,
                    &REASONS,
                ));
            }
            self.rule_path(s, text("fieldPath"), &at.child("fieldPath"));
        }
    }

    fn rule_path(&mut self, s: &Value, field_path: &str, at: &Path<'_>) {
        if field_path.is_empty() {
            return;
        }
        if field_path.trim().is_empty() {
            let why = "must be non-empty if specified";
            self.errors.push(FieldError::invalid(at, field_path, why));
        }
        if field_path.contains(['\n', '\r']) {
            let why = "must not contain line breaks";
            self.errors.push(FieldError::invalid(at, field_path, why));
        }
        let is_valid = parse(s, &mut Pool::new())
            .is_ok_and(|node| fieldpath::resolve(field_path, &node).is_ok());
        if !is_valid {
            self.errors
                .push(FieldError::invalid(at, field_path, "must be a valid path"));
        }
    }
}

/// What matters to the rules of a place.
#[derive(Clone, Copy)]
struct Place<'p> {
    /// The part around it whose old and new values cannot be told apart.
    uncorrelated: Option<&'p Path<'p>>,
    /// How often it can occur in one object.
    times: Option<u64>,
    is_root: bool,
}

/// Compiles every rule.
fn check_rules(node: &Arc<Node>, path: &Path<'_>, place: Place<'_>, errors: &mut Vec<FieldError>) {
    let at = path.child("x-kubernetes-validations");
    for (n, rule) in node.rules.iter().enumerate() {
        let at = at.index(n);
        let shown = super::check::shown_rule(rule);
        match cel::try_rule(rule, node, place.is_root, place.times) {
            Err(RuleError::Rule(why)) => {
                errors.push(golang::invalid(at.child("rule"), &shown, &why));
            }
            Err(RuleError::Message(why)) => {
                let at = at.child("messageExpression");
                errors.push(golang::invalid(at, &shown, &why));
            }
            Err(RuleError::TooExpensive(why)) => {
                errors.push(FieldError::forbidden(at.child("rule"), why));
            }
            Ok(true) => {
                if let Some(around) = place.uncorrelated {
                    let why = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within \
                         {around}"
                    );
                    errors.push(FieldError::invalid(at.child("rule"), &*rule.rule, why));
                }
            }
            Ok(false) if rule.optional_old_self => {
                let why = "may not be set if oldSelf is not used in rule";
                errors.push(FieldError::invalid(at.child("optionalOldSelf"), true, why));
            }
            Ok(false) => {}
        }
    }
    let inner = Place {
        is_root: false,
        ..place
    };
    let properties = path.child("properties");
    for (name, property) in &node.properties {
        check_rules(property, &properties.key(name), inner, errors);
    }
    let many = Place {
        times: cel::times_inside(node, place.times),
        ..inner
    };
    if let Additional::Schema(values) = &node.additional {
        check_rules(values, &path.child("additionalProperties"), many, errors);
    }
    if let Some(items) = &node.items {
        let around = place
            .uncorrelated
            .or((node.list != ListType::Map).then_some(path));
        let items_path = path.child("items");
        check_rules(
            items,
            &items_path,
            Place {
                uncorrelated: around,
                ..many
            },
            errors,
        );
    }
}
