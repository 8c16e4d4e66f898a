//! What is wrong with quotas and limit ranges.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation` (ValidateResourceQuota,
//! ValidateLimitRange) and `pkg/apis/core/helper/helpers.go`.

use std::collections::BTreeSet;

use flotilla_machinery::{
    names,
    quantity::{Format, Quantity},
};
use serde_json::{Value, json};

use super::{
    field::{Field, check},
    resources::{self, is_native, quantity},
    rules::Errors,
};

const COMPUTE: [&str; 6] = [
    "cpu",
    "memory",
    "limits.cpu",
    "limits.memory",
    "requests.cpu",
    "requests.memory",
];

/// Scopes that exclude each other.
const CONFLICTS: [[&str; 2]; 2] = [
    ["BestEffort", "NotBestEffort"],
    ["Terminating", "NotTerminating"],
];

/// Checks a quota.
pub(super) fn quota(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        amounts(&spec.at("hard"));
        scopes(spec);
        selector(spec);
    });
}

/// Checks the status of a quota.
pub(super) fn quota_status(object: &Value, _: &Value, errors: &mut Errors) {
    check(&object["status"], "status", errors, |status| {
        amounts(&status.at("hard"));
        amounts(&status.at("used"));
    });
}

/// What a quota is for stays what it is.
pub(super) fn quota_kept(new: &Value, old: &Value, errors: &mut Errors) {
    let set = |object: &Value| -> BTreeSet<String> {
        let scopes = object["spec"]["scopes"].as_array().into_iter().flatten();
        scopes.map(Value::to_string).collect()
    };
    if set(new) != set(old) {
        check(&new["spec"]["scopes"], "spec.scopes", errors, |scopes| {
            scopes.invalid("field is immutable");
        });
    }
}

fn amounts(amounts: &Field<'_, '_>) {
    for (name, place) in amounts.entries() {
        resources::quota_name(&place, name);
        if let Some(amount) = quantity(place.value) {
            resources::amount(&place, name, &amount);
        }
    }
}

fn is_scope(scope: &str) -> bool {
    let others = [
        "PriorityClass",
        "VolumeAttributesClass",
        "CrossNamespacePodAffinity",
    ];
    CONFLICTS.concat().contains(&scope) || others.contains(&scope)
}

/// Whether a scope says anything about a resource.
fn applies(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        scope if is_scope(scope) => resource == "pods" || COMPUTE.contains(&resource),
        _ => true,
    }
}

/// How many resources of the quota a scope does not apply to.
fn n_strangers(spec: &Field<'_, '_>, scope: &str) -> usize {
    let hard = spec.at("hard");
    let standard = hard
        .entries()
        .filter(|(name, _)| resources::is_of_quota(name));
    standard.filter(|(name, _)| !applies(scope, name)).count()
}

fn conflicts(place: &Field<'_, '_>, seen: &BTreeSet<&str>, shown: &Value) {
    for pair in CONFLICTS {
        if pair.iter().all(|scope| seen.contains(scope)) {
            place.invalid_as(shown.clone(), "conflicting scopes");
        }
    }
}

fn scopes(spec: &Field<'_, '_>) {
    let scopes = spec.at("scopes");
    let mut seen = BTreeSet::new();
    for scope in scopes.list().iter().filter_map(Value::as_str) {
        if !is_scope(scope) {
            scopes.invalid("unsupported scope");
        }
        for _ in 0..n_strangers(spec, scope) {
            scopes.invalid("unsupported scope applied to resource");
        }
        seen.insert(scope);
    }
    conflicts(&scopes, &seen, scopes.value);
}

fn selector(spec: &Field<'_, '_>) {
    // Upstream leaves the index out of these paths.
    let place = spec.at("scopeSelector.matchExpressions");
    let mut seen = BTreeSet::new();
    for expression in place.list() {
        let part = |name| place.with(name, &expression[name]);
        let (scope, operator, values) = (part("scopeName"), part("operator"), part("values"));
        if !is_scope(scope.text()) {
            scope.invalid_text("unsupported scope");
        }
        for _ in 0..n_strangers(spec, scope.text()) {
            let shown = spec.at("scopeSelector").value.clone();
            place.invalid_as(shown, "unsupported scope applied to resource");
        }
        let is_flag = CONFLICTS.concat().contains(&scope.text())
            || scope.text() == "CrossNamespacePodAffinity";
        if is_flag && operator.text() != "Exists" {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            operator.invalid_text(detail);
        }
        match (operator.text(), values.list().is_empty()) {
            ("In" | "NotIn", true) => {
                let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                values.required(detail);
            }
            ("Exists" | "DoesNotExist", false) => {
                let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                values.invalid(detail);
            }
            ("In" | "NotIn", false) | ("Exists" | "DoesNotExist", true) => {}
            _ => operator.invalid_text("not a valid selector operator"),
        }
        seen.insert(expression["scopeName"].as_str().unwrap_or_default());
    }
    conflicts(&place, &seen, spec.at("scopes").value);
}

/// Checks a limit range.
pub(super) fn limit_range(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        let mut seen = BTreeSet::new();
        for limit in spec.at("limits").items() {
            let kind = limit.at("type");
            limit_type(&kind);
            if !seen.insert(kind.text().to_owned()) {
                kind.duplicate();
            }
            limit_names(&limit);
            let has = |key: &str| !limit.at(key).key("storage").value.is_null();
            if kind.text() == "PersistentVolumeClaim" && !has("min") && !has("max") {
                let detail =
                    "either minimum or maximum storage value is required, but neither was provided";
                limit.at("limits").required(detail);
            }
            limit_name_rules(&limit.at("maxLimitRequestRatio"), kind.text());
            for name in limited(&limit) {
                limit_amounts(&limit, name);
            }
        }
    });
}

fn limit_type(kind: &Field<'_, '_>) {
    let complaints = names::qualified_name(kind.text());
    let is_name = complaints.is_empty();
    kind.complain(complaints);
    let known = ["Pod", "Container", "PersistentVolumeClaim"];
    if is_name && !kind.text().contains('/') && !known.contains(&kind.text()) {
        kind.invalid_text("must be a standard limit type or fully qualified");
    }
}

fn limit_names(limit: &Field<'_, '_>) {
    let kind = limit.at("type").text();
    limit_name_rules(&limit.at("max"), kind);
    limit_name_rules(&limit.at("min"), kind);
    for key in ["default", "defaultRequest"] {
        let amounts = limit.at(key);
        if kind != "Pod" {
            limit_name_rules(&amounts, kind);
        } else if !amounts.is_empty() {
            amounts.forbidden("may not be specified when `type` is 'Pod'");
        }
    }
}

fn limit_name_rules(amounts: &Field<'_, '_>, kind: &str) {
    for (name, place) in amounts.entries() {
        if matches!(kind, "Pod" | "Container") {
            resources::container_name(&place, name);
        } else {
            resources::name(&place, name);
        }
    }
}

/// Names of all resources that a limit says something about.
fn limited<'v>(limit: &Field<'_, 'v>) -> BTreeSet<&'v str> {
    let is_pod = limit.at("type").text() == "Pod";
    let keys = [
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    ];
    let used = keys
        .into_iter()
        .filter(|key| !(is_pod && key.starts_with("default")));
    used.filter_map(|key| limit.value.get(key)?.as_object())
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect()
}

/// Bounds of one resource do not contradict each other.
fn limit_amounts(limit: &Field<'_, '_>, name: &str) {
    let is_pod = limit.at("type").text() == "Pod";
    let amount = |key: &str| quantity(limit.value.get(key)?.get(name)?);
    let own = |key: &str| amount(key).filter(|_| !is_pod);
    let (min, max) = (amount("min"), amount("max"));
    let (usual, asked) = (own("default"), own("defaultRequest"));
    // What must not exceed what: both with their words, where it is said and which amount is shown.
    let pairs = [
        (&min, &max, "min", "min value", "max value", true),
        (
            &min,
            &asked,
            "defaultRequest",
            "min value",
            "default request value",
            false,
        ),
        (
            &asked,
            &max,
            "defaultRequest",
            "default request value",
            "max value",
            true,
        ),
        (
            &asked,
            &usual,
            "defaultRequest",
            "default request value",
            "default limit value",
            true,
        ),
        (&min, &usual, "default", "min value", "default value", true),
        (&usual, &max, "default", "default value", "max value", false),
    ];
    for (less, more, key, less_word, more_word, shows_less) in pairs {
        let (Some(less), Some(more)) = (less, more) else {
            continue;
        };
        if less > more {
            let shown = if shows_less { less } else { more };
            let detail = format!("{less_word} {less} is greater than {more_word} {more}");
            let amounts = limit.at(key);
            amounts.key(name).invalid_as(shown.to_string(), detail);
        }
    }
    ratio(limit, name, &min, &max);
    if let (Some(usual), Some(asked)) = (&usual, &asked)
        && (!is_native(name) || name.starts_with("hugepages-"))
        && usual != asked
    {
        let amounts = limit.at("defaultRequest");
        let detail =
            format!("default value {usual} must equal to defaultRequest value {asked} in {name}");
        amounts.key(name).invalid_as(asked.to_string(), detail);
    }
}

fn ratio(limit: &Field<'_, '_>, name: &str, min: &Option<Quantity>, max: &Option<Quantity>) {
    let amounts = limit.at("maxLimitRequestRatio");
    let place = amounts.key(name);
    let Some(ratio) = quantity(place.value) else {
        return;
    };
    if ratio < Quantity::new(1, Format::DecimalSi) {
        place.invalid_as(
            json!(ratio.to_string()),
            format!("ratio {ratio} is less than 1"),
        );
    }
    if let (Some(min), Some(max)) = (min, max) {
        let most = max.to_f64() / min.to_f64();
        if ratio.to_f64() > most {
            let detail = format!("ratio {ratio} is greater than max/min = {most:.6}");
            place.invalid_as(ratio.to_string(), detail);
        }
    }
}
