//! What is wrong with where a pod wants to run: affinity, spreading, tolerations.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation/validation.go` (validateAffinity,
//! validateTopologySpreadConstraints, ValidateTolerations).

use std::collections::BTreeSet;

use flotilla_machinery::{labels::validate_label_selector, names, status::FieldError};
use serde_json::Value;

use super::{
    fill::{is_unset, list, text},
    rules::{Errors, complain},
};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Checks the parts of a pod spec at `path` that say where it may run.
pub(super) fn check_placing(spec: &Value, path: &str, errors: &mut Errors) {
    let affinity = &spec["affinity"];
    let at = format!("{path}.affinity");
    check_node_affinity(
        &affinity["nodeAffinity"],
        &format!("{at}.nodeAffinity"),
        errors,
    );
    for kind in ["podAffinity", "podAntiAffinity"] {
        check_pod_affinity(&affinity[kind], &format!("{at}.{kind}"), errors);
    }
    check_spreading(spec, path, errors);
    for (n, toleration) in list(spec, "tolerations").iter().enumerate() {
        check_toleration(toleration, &format!("{path}.tolerations[{n}]"), errors);
    }
}

fn check_node_affinity(affinity: &Value, path: &str, errors: &mut Errors) {
    let required = &affinity[REQUIRED];
    if required.is_object() {
        let path = format!("{path}.{REQUIRED}.nodeSelectorTerms");
        let terms = list(required, "nodeSelectorTerms");
        if terms.is_empty() {
            let detail = "must have at least one node selector term";
            errors.push(FieldError::required(&*path, detail));
        }
        for (n, term) in terms.iter().enumerate() {
            check_node_term(term, &format!("{path}[{n}]"), errors);
        }
    }
    for (n, preferred) in list(affinity, PREFERRED).iter().enumerate() {
        let path = format!("{path}.{PREFERRED}[{n}]");
        check_weight(preferred, &path, errors);
        check_node_term(
            &preferred["preference"],
            &format!("{path}.preference"),
            errors,
        );
    }
}

fn check_node_term(term: &Value, path: &str, errors: &mut Errors) {
    for (n, requirement) in list(term, "matchExpressions").iter().enumerate() {
        check_expression(
            requirement,
            &format!("{path}.matchExpressions[{n}]"),
            errors,
        );
    }
    for (n, requirement) in list(term, "matchFields").iter().enumerate() {
        check_field(requirement, &format!("{path}.matchFields[{n}]"), errors);
    }
}

fn check_expression(requirement: &Value, path: &str, errors: &mut Errors) {
    let n_values = list(requirement, "values").len();
    let values = format!("{path}.values");
    match text(requirement, "operator") {
        "In" | "NotIn" if n_values == 0 => errors.push(FieldError::required(
            values,
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if n_values > 0 => errors.push(FieldError::forbidden(
            values,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "Gt" | "Lt" if n_values != 1 => errors.push(FieldError::required(
            values,
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => errors.push(bad_operator(path, other)),
    }
    check_label_name(text(requirement, "key"), &format!("{path}.key"), errors);
}

fn check_field(requirement: &Value, path: &str, errors: &mut Errors) {
    match text(requirement, "operator") {
        "In" | "NotIn" => {
            if list(requirement, "values").len() != 1 {
                errors.push(FieldError::required(
                    format!("{path}.values"),
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field \
                     selector",
                ));
            }
        }
        other => errors.push(bad_operator(path, other)),
    }
    let key = text(requirement, "key");
    if key != "metadata.name" {
        let detail = "not a valid field selector key";
        errors.push(FieldError::invalid(format!("{path}.key"), key, detail));
    }
}

fn bad_operator(path: &str, operator: &str) -> FieldError {
    let detail = "not a valid selector operator";
    FieldError::invalid(format!("{path}.operator"), operator, detail)
}

fn check_pod_affinity(affinity: &Value, path: &str, errors: &mut Errors) {
    for (n, term) in list(affinity, REQUIRED).iter().enumerate() {
        check_pod_term(term, &format!("{path}.{REQUIRED}[{n}]"), errors);
    }
    for (n, preferred) in list(affinity, PREFERRED).iter().enumerate() {
        let path = format!("{path}.{PREFERRED}[{n}]");
        check_weight(preferred, &path, errors);
        check_pod_term(
            &preferred["podAffinityTerm"],
            &format!("{path}.podAffinityTerm"),
            errors,
        );
    }
}

fn check_pod_term(term: &Value, path: &str, errors: &mut Errors) {
    for selector in ["labelSelector", "namespaceSelector"] {
        let found = validate_label_selector(&term[selector], &format!("{path}.{selector}"));
        errors.extend(found);
    }
    for namespace in list(term, "namespaces").iter().filter_map(Value::as_str) {
        let path = format!("{path}.namespace");
        complain(&path, namespace, names::dns1123_label(namespace), errors);
    }
    check_topology_key(term, path, errors);
}

fn check_topology_key(term: &Value, path: &str, errors: &mut Errors) {
    let path = format!("{path}.topologyKey");
    match text(term, "topologyKey") {
        "" => errors.push(FieldError::required(path, "can not be empty")),
        key => check_label_name(key, &path, errors),
    }
}

fn check_weight(preferred: &Value, path: &str, errors: &mut Errors) {
    let weight = preferred["weight"].as_i64().unwrap_or(0);
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        errors.push(FieldError::invalid(
            format!("{path}.weight"),
            weight,
            detail,
        ));
    }
}

fn check_label_name(name: &str, path: &str, errors: &mut Errors) {
    complain(path, name, names::qualified_name(name), errors);
}

fn check_spreading(spec: &Value, path: &str, errors: &mut Errors) {
    const ACTIONS: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];
    const POSITIVE: &str = "must be greater than zero";
    let mut seen = BTreeSet::new();
    for (n, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        let path = format!("{path}.topologySpreadConstraints[{n}]");
        let skew = constraint["maxSkew"].as_i64().unwrap_or(0);
        if skew <= 0 {
            errors.push(FieldError::invalid(
                format!("{path}.maxSkew"),
                skew,
                POSITIVE,
            ));
        }
        check_topology_key(constraint, &path, errors);
        let action = text(constraint, "whenUnsatisfiable");
        if !ACTIONS.contains(&action) {
            let at = format!("{path}.whenUnsatisfiable");
            errors.push(FieldError::not_supported(at, action, &ACTIONS));
        }
        let key = text(constraint, "topologyKey");
        if !seen.insert((key, action)) {
            let pair = format!("{{{key}, {action}}}");
            let at = format!("{path}.{{topologyKey, whenUnsatisfiable}}");
            errors.push(FieldError::duplicate(at, pair));
        }
        if let Some(domains) = constraint["minDomains"].as_i64() {
            let at = format!("{path}.minDomains");
            if domains <= 0 {
                errors.push(FieldError::invalid(&*at, domains, POSITIVE));
            }
            if action != "DoNotSchedule" {
                let detail = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                );
                errors.push(FieldError::invalid(at, domains, detail));
            }
        }
        for member in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let policy = text(constraint, member);
            if !matches!(policy, "" | "Honor" | "Ignore") {
                let at = format!("{path}.{member}");
                errors.push(FieldError::not_supported(at, policy, &["Honor", "Ignore"]));
            }
        }
        let selector = format!("{path}.labelSelector");
        errors.extend(validate_label_selector(
            &constraint["labelSelector"],
            &selector,
        ));
    }
}

fn check_toleration(toleration: &Value, path: &str, errors: &mut Errors) {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
    let (value, effect) = (text(toleration, "value"), text(toleration, "effect"));
    let operator_at = format!("{path}.operator");
    if !key.is_empty() {
        check_label_name(key, &format!("{path}.key"), errors);
    } else if operator != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values \
                      and all keys\"";
        errors.push(FieldError::invalid(&*operator_at, operator, detail));
    }
    if !is_unset(toleration.get("tolerationSeconds")) && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(FieldError::invalid(
            format!("{path}.effect"),
            effect,
            detail,
        ));
    }
    match operator {
        "" | "Equal" => {
            let wrong = names::label_value(value).join(";");
            if !wrong.is_empty() {
                errors.push(FieldError::invalid(operator_at, value, wrong));
            }
        }
        "Exists" if !value.is_empty() => {
            let detail = "value must be empty when `operator` is 'Exists'";
            errors.push(FieldError::invalid(operator_at, toleration.clone(), detail));
        }
        "Exists" => {}
        other => errors.push(FieldError::not_supported(
            operator_at,
            other,
            &["Equal", "Exists"],
        )),
    }
    if !effect.is_empty() && !EFFECTS.contains(&effect) {
        let at = format!("{path}.effect");
        errors.push(FieldError::not_supported(at, effect, &EFFECTS));
    }
}

#[cfg(test)]
mod tests;
