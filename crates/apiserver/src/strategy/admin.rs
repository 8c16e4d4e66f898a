//! Access control, scaling, admission and other kinds for administrators.
//!
//! Source: Kubernetes v1.35, `pkg/apis/*/v1/defaults.go` and validation of the same groups.

use std::collections::BTreeSet;

use flotilla_machinery::{builtin::ResourceRow, labels::Selector, names, status::FieldError};
use serde_json::{Value, json};

use super::{
    autoscaler_check, convert,
    field::{Field, check},
    fill::{at_mut, fill, items, list, text},
    golang::{record, shapes},
    pod_check::tolerations,
    resources::overhead,
    rules::{Errors, Rewrite, Rules, immutable, one_of},
    webhook_check,
    workload_check::{at_most_all, number_or_percent},
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
            name: path_segment,
            check_status: check_budget_status,
            ..rules
        },
        ("scheduling.k8s.io", "priorityclasses") => Rules {
            defaults: |object| fill(object, "preemptionPolicy", "PreemptLowerPriority"),
            // The first generation stays, whatever changes.
            on_create: |object| object["metadata"]["generation"] = 1.into(),
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
                check_new: autoscaler_check::new,
                check_change: autoscaler_check::changed,
                check_status: autoscaler_check::status,
                conversion,
                ..rules
            }
        }
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations") => Rules {
            defaults: |object| fill_webhooks(object, true),
            check: webhook_check::configuration,
            ..rules
        },
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations") => Rules {
            defaults: |object| fill_webhooks(object, false),
            check: webhook_check::configuration,
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
            check: check_runtime_class,
            check_change: |new, old, errors| immutable(new, old, "handler", errors),
            ..rules
        },
        _ => return None,
    })
}

fn check_runtime_class(object: &Value, errors: &mut Errors) {
    check(object, "", errors, |object| {
        let handler = object.at("handler");
        handler.complain(names::dns1123_label(handler.text()));
        let fixed = object.at("overhead.podFixed");
        overhead(&object.with("overhead", fixed.value));
        let scheduling = object.at("scheduling");
        scheduling.at("nodeSelector").labels();
        let allowed = scheduling.at("tolerations");
        tolerations(&allowed);
        let mut seen = BTreeSet::new();
        for toleration in allowed.items() {
            let key = ["key", "operator", "value", "effect"].map(|key| text(toleration.value, key));
            if !seen.insert(key) {
                toleration.duplicate_shown(record(toleration.value, shapes::Toleration));
            }
        }
    });
}

/// Names that only have to fit into a path; those of RBAC hold colons.
pub(super) fn path_segment(name: &str, prefix: bool) -> Vec<String> {
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
            let named = list(rule, "resourceNames");
            if !groups.is_empty() || !resources.is_empty() || !named.is_empty() {
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
    check(
        &object["aggregationRule"],
        "aggregationRule",
        errors,
        check_aggregation,
    );
}

fn check_aggregation(rule: &Field<'_, '_>) {
    let selectors = rule.at("clusterRoleSelectors");
    if rule.is_set() && selectors.list().is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        selectors.required(detail);
    }
    for selector in selectors.items() {
        selector.selector();
        if Selector::from_value(selector.value).is_err() {
            selector.invalid_as(Value::Null, "invalid label selector.");
        }
    }
}

fn fill_binding(object: &mut Value) {
    fill(object, "roleRef", json!({}));
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
    let is_cluster_wide = text(object, "kind") == "ClusterRoleBinding";
    check(object, "", errors, |object| {
        let role = object.at("roleRef");
        role.at("apiGroup").supported(&[RBAC]);
        if is_cluster_wide {
            role.at("kind").supported(&["ClusterRole"]);
        } else {
            role.at("kind").supported(&["Role", "ClusterRole"]);
        }
        role.at("name").named(names::path_segment);
        for subject in object.at("subjects").items() {
            check_subject(&subject, is_cluster_wide);
        }
    });
}

fn check_subject(subject: &Field<'_, '_>, is_cluster_wide: bool) {
    let (name, group) = (subject.at("name"), subject.at("apiGroup"));
    name.needed();
    match subject.at("kind").text() {
        "ServiceAccount" => {
            name.named_if_any(names::dns1123_subdomain);
            if !group.text().is_empty() {
                group.not_supported(&[""]);
            }
            if is_cluster_wide {
                subject.at("namespace").needed();
            }
        }
        "User" | "Group" => group.supported(&[RBAC]),
        _ => subject
            .at("kind")
            .not_supported(&["ServiceAccount", "User", "Group"]),
    }
}

fn role_kept(new: &Value, old: &Value, errors: &mut Errors) {
    if new["roleRef"] != old["roleRef"] {
        check(&new["roleRef"], "roleRef", errors, |role| {
            role.invalid_shown(
                &record(role.value, shapes::RoleRef),
                "cannot change roleRef",
            );
        });
    }
}

fn check_budget(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        let shares = [spec.at("minAvailable"), spec.at("maxUnavailable")];
        if shares.iter().all(Field::is_set) {
            let shown = record(spec.value, shapes::PodDisruptionBudgetSpec);
            spec.invalid_shown(&shown, "minAvailable and maxUnavailable cannot be both set");
        }
        for share in shares.iter().filter(|share| share.is_set()) {
            number_or_percent(share);
            at_most_all(share);
        }
        spec.at("selector").selector();
        let policy = spec.at("unhealthyPodEvictionPolicy");
        policy.supported_if_set(&["AlwaysAllow", "IfHealthyBudget"]);
    });
}

fn check_budget_status(object: &Value, _: &Value, errors: &mut Errors) {
    check(&object["status"], "status", errors, |status| {
        for key in [
            "disruptionsAllowed",
            "currentHealthy",
            "desiredHealthy",
            "expectedPods",
        ] {
            status.at(key).not_negative();
        }
    });
}

fn check_priority_class(object: &Value, errors: &mut Errors) {
    let name = text(object, "metadata.name");
    let value = object["value"].as_i64().unwrap_or(0);
    if name.starts_with("system-") {
        if let Err(why) = is_known_priority(name, value, object["globalDefault"] == true) {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. \
                 error: {why}"
            );
            errors.push(FieldError::forbidden("metadata.name", detail));
        }
    } else if value > PRIORITY_MAX {
        let detail = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
        errors.push(FieldError::forbidden("value", detail));
    }
    let policies = ["PreemptLowerPriority", "Never"];
    one_of(
        &object["preemptionPolicy"],
        "preemptionPolicy",
        &policies,
        errors,
    );
}

/// Whether a class is one of the system's own, as the system makes it.
fn is_known_priority(name: &str, value: i64, is_global: bool) -> Result<(), String> {
    let known = [
        ("system-cluster-critical", 2_000_000_000),
        ("system-node-critical", 2_000_001_000),
    ];
    match known.iter().find(|(known, _)| *known == name) {
        None => Err(format!("{name} is not a known system priority class")),
        Some((_, fixed)) if *fixed != value => {
            Err(format!("value of {name} PriorityClass must be {fixed}"))
        }
        Some(_) if is_global => Err(format!(
            "globalDefault of {name} PriorityClass must be false"
        )),
        Some(_) => Ok(()),
    }
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
