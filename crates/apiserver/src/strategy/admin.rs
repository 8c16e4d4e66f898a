//! Access control, scaling, admission and other kinds for administrators.
//!
//! Source: Kubernetes v1.35, `pkg/apis/*/v1/defaults.go` and validation of the same groups.

use flotilla_machinery::{
    builtin::ResourceRow, labels::validate_label_selector, names, status::FieldError,
};
use serde_json::{Value, json};

use super::{
    convert,
    fill::{at, at_mut, fill, is_unset, items, list, text},
    rules::{Errors, Rewrite, Rules, immutable, one_of},
};

const RBAC: &str = "rbac.authorization.k8s.io";

/// User-made priorities end here; higher ones are the system's.
const PRIORITY_MAX: i64 = 1_000_000_000;

/// The rules of one of these kinds, `None` for other resources.
pub(super) fn of(row: &ResourceRow) -> Option<Rules> {
    let rules = Rules::of(row);
    Some(match (row.group, row.plural) {
        (RBAC, "roles" | "clusterroles") => Rules {
            check: check_role,
            name: path_segment,
            ..rules
        },
        (RBAC, "rolebindings" | "clusterrolebindings") => Rules {
            defaults: fill_binding,
            check: check_binding,
            check_change: role_kept,
            name: path_segment,
            ..rules
        },
        ("policy", "poddisruptionbudgets") => Rules {
            check: check_budget,
            ..rules
        },
        ("scheduling.k8s.io", "priorityclasses") => Rules {
            defaults: |object| fill(object, "preemptionPolicy", "PreemptLowerPriority"),
            check: check_priority_class,
            check_change: |new, old, errors| {
                let value = |object: &Value| object["value"].as_i64().unwrap_or(0);
                if value(new) != value(old) {
                    errors.push(FieldError::forbidden(
                        "value",
                        "may not be changed in an update.",
                    ));
                }
                immutable(new, old, "preemptionPolicy", errors);
            },
            ..rules
        },
        ("autoscaling", "horizontalpodautoscalers") => {
            let is_old = row.version == "v1";
            let conversion: Option<(Rewrite, Rewrite)> =
                is_old.then_some((convert::autoscaler_to_v1, convert::autoscaler_from_v1));
            let defaults = if is_old {
                fill_old_autoscaler
            } else {
                fill_autoscaler
            };
            Rules {
                defaults,
                check: check_autoscaler,
                conversion,
                ..rules
            }
        }
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations") => Rules {
            defaults: |object| fill_webhooks(object, true),
            ..rules
        },
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations") => Rules {
            defaults: |object| fill_webhooks(object, false),
            ..rules
        },
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => Rules {
            defaults: |object| {
                let Some(spec) = object.get_mut("spec") else {
                    return;
                };
                fill(spec, "failurePolicy", "Fail");
                if let Some(matched) = at_mut(spec, "matchConstraints") {
                    fill_match(matched);
                }
            },
            ..rules
        },
        ("admissionregistration.k8s.io", _) => Rules {
            defaults: |object| {
                if let Some(matched) = at_mut(object, "spec.matchResources") {
                    fill_match(matched);
                }
            },
            ..rules
        },
        ("apiregistration.k8s.io", "apiservices") => Rules {
            defaults: |object| {
                if let Some(service) = at_mut(object, "spec.service") {
                    fill(service, "port", 443);
                }
            },
            ..rules
        },
        ("certificates.k8s.io", "certificatesigningrequests") => {
            rules.with_fields(&["spec.signerName"])
        }
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => Rules {
            defaults: |object| {
                if let Some(spec) = object.get_mut("spec") {
                    fill(spec, "matchingPrecedence", 1000);
                }
            },
            ..rules
        },
        ("flowcontrol.apiserver.k8s.io", _) => Rules {
            defaults: fill_priority_level,
            ..rules
        },
        ("resource.k8s.io", "resourceslices") => {
            rules.with_fields(&["spec.nodeName", "spec.driver"])
        }
        ("resource.k8s.io", "resourceclaims") => Rules {
            defaults: |object| {
                if let Some(devices) = at_mut(object, "spec.devices") {
                    fill_requests(devices);
                }
            },
            check_change: |new, old, errors| immutable(new, old, "spec", errors),
            returns_deleted: true,
            ..rules
        },
        ("resource.k8s.io", "resourceclaimtemplates") => Rules {
            defaults: |object| {
                if let Some(devices) = at_mut(object, "spec.spec.devices") {
                    fill_requests(devices);
                }
            },
            check_change: |new, old, errors| immutable(new, old, "spec", errors),
            ..rules
        },
        ("node.k8s.io", "runtimeclasses") => Rules {
            check: |object, errors| {
                super::rules::named(&object["handler"], "handler", names::dns1123_label, errors);
            },
            check_change: |new, old, errors| immutable(new, old, "handler", errors),
            ..rules
        },
        _ => return None,
    })
}

/// RBAC names may hold colons.
fn path_segment(name: &str, prefix: bool) -> Vec<String> {
    if prefix {
        names::path_segment_prefix(name)
    } else {
        names::path_segment(name)
    }
}

fn check_role(object: &Value, errors: &mut Errors) {
    let is_namespaced = text(object, "kind") == "Role";
    for (index, rule) in list(object, "rules").iter().enumerate() {
        let path = format!("rules[{index}]");
        if list(rule, "verbs").is_empty() {
            let detail = "verbs must contain at least one value";
            errors.push(FieldError::required(format!("{path}.verbs"), detail));
        }
        let urls = list(rule, "nonResourceURLs");
        let (groups, resources) = (list(rule, "apiGroups"), list(rule, "resources"));
        if !urls.is_empty() {
            let at_urls = format!("{path}.nonResourceURLs");
            if is_namespaced {
                let detail = "namespaced rules cannot apply to non-resource URLs";
                errors.push(FieldError::invalid(
                    &*at_urls,
                    rule["nonResourceURLs"].clone(),
                    detail,
                ));
            }
            if !groups.is_empty() || !resources.is_empty() {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(FieldError::invalid(
                    at_urls,
                    rule["nonResourceURLs"].clone(),
                    detail,
                ));
            }
            continue;
        }
        if groups.is_empty() {
            let detail = "resource rules must supply at least one api group";
            errors.push(FieldError::required(format!("{path}.apiGroups"), detail));
        }
        if resources.is_empty() {
            let detail = "resource rules must supply at least one resource";
            errors.push(FieldError::required(format!("{path}.resources"), detail));
        }
    }
}

fn fill_binding(object: &mut Value) {
    if let Some(role) = object.get_mut("roleRef") {
        fill(role, "apiGroup", RBAC);
    }
    for subject in items(object, "subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            fill(subject, "apiGroup", RBAC);
        }
    }
}

fn check_binding(object: &Value, errors: &mut Errors) {
    let role = &object["roleRef"];
    one_of(&role["apiGroup"], "roleRef.apiGroup", &[RBAC], errors);
    one_of(
        &role["kind"],
        "roleRef.kind",
        &["Role", "ClusterRole"],
        errors,
    );
    if text(role, "name").is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    }
    let is_cluster_wide = text(object, "kind") == "ClusterRoleBinding";
    if is_cluster_wide && text(role, "kind") == "Role" {
        errors.push(FieldError::not_supported(
            "roleRef.kind",
            "Role",
            &["ClusterRole"],
        ));
    }
    for (index, subject) in list(object, "subjects").iter().enumerate() {
        let path = format!("subjects[{index}]");
        if text(subject, "name").is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
        let kinds = ["Group", "ServiceAccount", "User"];
        one_of(&subject["kind"], &format!("{path}.kind"), &kinds, errors);
        if text(subject, "kind") == "ServiceAccount" && text(subject, "namespace").is_empty() {
            errors.push(FieldError::required(format!("{path}.namespace"), ""));
        }
    }
}

fn role_kept(new: &Value, old: &Value, errors: &mut Errors) {
    if new["roleRef"] != old["roleRef"] {
        let detail = "cannot change roleRef";
        errors.push(FieldError::invalid(
            "roleRef",
            new["roleRef"].clone(),
            detail,
        ));
    }
}

fn check_budget(object: &Value, errors: &mut Errors) {
    let spec = at(object, "spec");
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid("spec", spec.clone(), detail));
    }
    for key in ["minAvailable", "maxUnavailable"] {
        let path = format!("spec.{key}");
        match &spec[key] {
            Value::String(percent) => {
                super::rules::complain(&path, percent, names::percent(percent), errors);
            }
            number if number.as_i64().is_some_and(|number| number < 0) => {
                let detail = "must be greater than or equal to 0";
                errors.push(FieldError::invalid(path, number.clone(), detail));
            }
            _ => {}
        }
    }
    if !spec["selector"].is_null() {
        errors.extend(validate_label_selector(&spec["selector"], "spec.selector"));
    }
}

fn check_priority_class(object: &Value, errors: &mut Errors) {
    let name = text(object, "metadata.name");
    let value = object["value"].as_i64().unwrap_or(0);
    if name.starts_with("system-") {
        let known = [
            ("system-cluster-critical", 2_000_000_000),
            ("system-node-critical", 2_000_001_000),
        ];
        if !known.contains(&(name, value)) {
            let detail =
                "priority class names with 'system-' prefix are reserved for system use only";
            errors.push(FieldError::forbidden("metadata.name", detail));
        }
    } else if value > PRIORITY_MAX {
        let detail = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
        errors.push(FieldError::forbidden("value", detail));
    }
    let policies = ["Never", "PreemptLowerPriority"];
    one_of(
        &object["preemptionPolicy"],
        "preemptionPolicy",
        &policies,
        errors,
    );
}

fn fill_old_autoscaler(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec") {
        fill(spec, "minReplicas", 1);
    }
}

fn fill_autoscaler(object: &mut Value) {
    fill_old_autoscaler(object);
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    if list(spec, "metrics").is_empty() {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        spec["metrics"] =
            json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
    }
    let Some(behavior) = at_mut(spec, "behavior").filter(|behavior| behavior.is_object()) else {
        return;
    };
    let policy =
        |kind: &str, value: i64| json!({"type": kind, "value": value, "periodSeconds": 15});
    fill(behavior, "scaleUp", json!({}));
    fill(behavior, "scaleDown", json!({}));
    let up = &mut behavior["scaleUp"];
    fill(up, "stabilizationWindowSeconds", 0);
    fill(
        up,
        "policies",
        json!([policy("Pods", 4), policy("Percent", 100)]),
    );
    fill(up, "selectPolicy", "Max");
    let down = &mut behavior["scaleDown"];
    fill(down, "policies", json!([policy("Percent", 100)]));
    fill(down, "selectPolicy", "Max");
}

fn check_autoscaler(object: &Value, errors: &mut Errors) {
    let spec = at(object, "spec");
    let (min, max) = (
        spec["minReplicas"].as_i64().unwrap_or(1),
        spec["maxReplicas"].as_i64().unwrap_or(0),
    );
    if min < 1 {
        let detail = "must be greater than or equal to 1";
        errors.push(FieldError::invalid("spec.minReplicas", min, detail));
    }
    if max < 1 {
        errors.push(FieldError::invalid(
            "spec.maxReplicas",
            max,
            "must be greater than 0",
        ));
    } else if max < min {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid("spec.maxReplicas", max, detail));
    }
    for key in ["kind", "name"] {
        if is_unset(at(spec, "scaleTargetRef").get(key)) {
            errors.push(FieldError::required(
                format!("spec.scaleTargetRef.{key}"),
                "",
            ));
        }
    }
}

fn fill_webhooks(object: &mut Value, is_mutating: bool) {
    for webhook in items(object, "webhooks") {
        fill(webhook, "failurePolicy", "Fail");
        fill(webhook, "timeoutSeconds", 10);
        if is_mutating {
            fill(webhook, "reinvocationPolicy", "Never");
        }
        if let Some(service) = at_mut(webhook, "clientConfig.service") {
            fill(service, "port", 443);
        }
        for rule in items(webhook, "rules") {
            fill(rule, "scope", "*");
        }
        fill_selectors(webhook);
    }
}

fn fill_selectors(target: &mut Value) {
    fill(target, "matchPolicy", "Equivalent");
    fill(target, "namespaceSelector", json!({}));
    fill(target, "objectSelector", json!({}));
}

fn fill_match(matched: &mut Value) {
    fill_selectors(matched);
    for key in ["resourceRules", "excludeResourceRules"] {
        for rule in items(matched, key) {
            fill(rule, "scope", "*");
        }
    }
}

fn fill_priority_level(object: &mut Value) {
    let Some(limited) = at_mut(object, "spec.limited") else {
        return;
    };
    fill(limited, "nominalConcurrencyShares", 30);
    fill(limited, "lendablePercent", 0);
    if let Some(queuing) = at_mut(limited, "limitResponse.queuing") {
        fill(queuing, "queues", 64);
        fill(queuing, "handSize", 6);
        fill(queuing, "queueLengthLimit", 50);
    }
}

fn fill_requests(devices: &mut Value) {
    let count = |request: &mut Value| {
        fill(request, "allocationMode", "ExactCount");
        if text(request, "allocationMode") == "ExactCount" {
            fill(request, "count", 1);
        }
    };
    for request in items(devices, "requests") {
        if let Some(exactly) = at_mut(request, "exactly") {
            count(exactly);
        }
        items(request, "firstAvailable").for_each(count);
    }
}
