//! What is wrong with a workload: apps, and the old replication controller.
//!
//! Source: Kubernetes v1.35, `pkg/apis/apps/validation/validation.go` and the replication
//! controllers of `pkg/apis/core/validation/validation.go`.

use flotilla_machinery::{labels::Selector, names};
use serde_json::Value;

use super::{
    claims,
    field::{Field, check},
    fill::{at, list, text},
    golang::{record, selector as shown_selector, shapes},
    pod_check::check_template,
    rules::Errors,
};

const LABELS: &str = "`selector` does not match template `labels`";

// === deployments and replica sets ===

pub(super) fn deployment(object: &Value, errors: &mut Errors) {
    check(at(object, "spec"), "spec", errors, |spec| {
        spec.at("replicas").not_negative();
        strict_selector(spec, "deployment", "invalid label selector");
        strategy(&spec.at("strategy"));
        spec.at("minReadySeconds").not_negative();
        spec.at("revisionHistoryLimit").not_negative();
        let deadline = spec.at("progressDeadlineSeconds");
        deadline.not_negative();
        if deadline.is_set() && deadline.count() <= spec.at("minReadySeconds").count() {
            deadline.invalid("must be greater than minReadySeconds");
        }
    });
}

pub(super) fn replica_set(object: &Value, errors: &mut Errors) {
    check(at(object, "spec"), "spec", errors, |spec| {
        spec.at("replicas").not_negative();
        spec.at("minReadySeconds").not_negative();
        // Upstream calls it a deployment here too.
        strict_selector(spec, "deployment", "invalid label selector");
    });
}

/// A selector that selects something, and a template whose labels it selects.
fn strict_selector(spec: &Field<'_, '_>, kind: &str, unreadable: &str) {
    let selector = spec.at("selector");
    if !selector.is_set() {
        selector.required("");
    } else {
        selector.selector();
        let is_empty = selector.at("matchLabels").is_empty()
            && selector.at("matchExpressions").list().is_empty();
        if is_empty {
            let detail = format!("empty selector is invalid for {kind}");
            selector.invalid_shown(&shown_selector(selector.value), &detail);
        }
    }
    match Selector::from_value(selector.value) {
        Err(_) => selector.invalid_shown(&shown_selector(selector.value), unreadable),
        Ok(parsed) => {
            let template = spec.at("template");
            if !parsed.is_everything() {
                template_labels(&template, &parsed);
            }
            check_template(&template);
            restarts_always(&template, "ReplicaSet");
        }
    }
}

fn template_labels(template: &Field<'_, '_>, selector: &Selector) {
    let labels = template.at("metadata.labels");
    if !selector.matches_labels(labels.value.as_object()) {
        labels.invalid(LABELS);
    }
}

/// Pods of these run for ever.
fn restarts_always(template: &Field<'_, '_>, kind: &str) {
    let (policy, deadline) = (
        template.at("spec.restartPolicy"),
        template.at("spec.activeDeadlineSeconds"),
    );
    if policy.text() != "Always" {
        policy.not_supported(&["Always"]);
    }
    if deadline.is_set() {
        deadline.forbidden(format!("activeDeadlineSeconds in {kind} is not Supported"));
    }
}

fn strategy(strategy: &Field<'_, '_>) {
    let rolling = strategy.at("rollingUpdate");
    match strategy.at("type").text() {
        "Recreate" if rolling.is_set() => {
            rolling.forbidden("may not be specified when strategy `type` is 'Recreate'");
        }
        "Recreate" => {}
        "RollingUpdate" if !rolling.is_set() => {
            rolling.required("this should be defaulted and never be nil");
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.at("maxUnavailable"), rolling.at("maxSurge"));
            number_or_percent(&unavailable);
            number_or_percent(&surge);
            if share(unavailable.value) == 0 && share(surge.value) == 0 {
                unavailable.invalid("may not be 0 when `maxSurge` is 0");
            }
            at_most_all(&unavailable);
        }
        _ => strategy.not_supported_shown(
            &record(strategy.value, shapes::DeploymentStrategy),
            &["Recreate", "RollingUpdate"],
        ),
    }
}

/// A number that is not negative, or a percentage.
pub(super) fn number_or_percent(share: &Field<'_, '_>) {
    match share.value {
        Value::String(percent) => share.complain(names::percent(percent)),
        _ => share.not_negative(),
    }
}

/// A percentage is of at most everything.
pub(super) fn at_most_all(share: &Field<'_, '_>) {
    if percent(share.value).is_some_and(|percent| percent > 100) {
        share.invalid("must not be greater than 100%");
    }
}

fn percent(value: &Value) -> Option<i64> {
    let text = value.as_str()?;
    let is_valid = names::percent(text).is_empty();
    is_valid.then(|| text.trim_end_matches('%').parse().unwrap_or(i64::MAX))
}

/// The number, or that of the percentage.
fn share(value: &Value) -> i64 {
    let plain = || match value {
        Value::String(text) => text.parse().unwrap_or(0),
        value => value.as_i64().unwrap_or(0),
    };
    percent(value).unwrap_or_else(plain)
}

// === stateful sets ===

pub(super) fn stateful_set(object: &Value, errors: &mut Errors) {
    check(at(object, "spec"), "spec", errors, |spec| {
        let policy = spec.at("podManagementPolicy");
        match policy.text() {
            "" => policy.required(""),
            "OrderedReady" | "Parallel" => {}
            _ => policy.invalid("must be 'OrderedReady' or 'Parallel'"),
        }
        update_strategy(&spec.at("updateStrategy"));
        let retention = spec.at("persistentVolumeClaimRetentionPolicy");
        if retention.is_set() {
            for key in ["whenDeleted", "whenScaled"] {
                retention.at(key).supported(&["Retain", "Delete"]);
            }
        }
        spec.at("replicas").not_negative();
        spec.at("minReadySeconds").not_negative();
        spec.at("ordinals.start").not_negative();
        selected_template(spec);
    });
}

/// What holds for a stateful set only when it is made, because it cannot change.
pub(super) fn new_stateful_set(object: &Value, errors: &mut Errors) {
    check(at(object, "spec"), "spec", errors, |spec| {
        for template in spec.at("volumeClaimTemplates").items() {
            claims::check_spec(&template.at("spec"));
        }
        spec.at("serviceName").named_if_any(names::dns1123_label);
    });
}

fn update_strategy(strategy: &Field<'_, '_>) {
    let rolling = strategy.at("rollingUpdate");
    match strategy.at("type").text() {
        "" => strategy.required(""),
        "OnDelete" if rolling.is_set() => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            rolling.invalid_shown(
                &record(rolling.value, shapes::RollingUpdateStatefulSetStrategy),
                detail,
            );
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            rolling.at("partition").not_negative();
            let unavailable = rolling.at("maxUnavailable");
            if unavailable.is_set() {
                number_or_percent(&unavailable);
                if share(unavailable.value) == 0 {
                    unavailable.invalid("cannot be 0");
                }
                at_most_all(&unavailable);
            }
        }
        _ => {
            let shown = record(strategy.value, shapes::StatefulSetUpdateStrategy);
            strategy.invalid_shown(&shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

fn selected_template(spec: &Field<'_, '_>) {
    let selector = spec.at("selector");
    if !selector.is_set() {
        selector.required("");
    } else {
        selector.selector();
        let is_empty = selector.at("matchLabels").is_empty()
            && selector.at("matchExpressions").list().is_empty();
        if is_empty {
            let shown = shown_selector(selector.value);
            selector.invalid_shown(&shown, "empty selector is invalid for statefulset");
        }
    }
    let template = spec.at("template");
    match Selector::from_value(selector.value) {
        Err(_) => selector.invalid(""),
        Ok(parsed) => {
            let changed = as_started(spec.value);
            let template = spec.with("template", changed.as_ref().unwrap_or(template.value));
            if !parsed.is_everything() {
                template_labels(&template, &parsed);
            }
            check_template(&template);
            // Upstream looks at these twice.
            let metadata = &template.value["metadata"];
            template.with("labels", &metadata["labels"]).labels();
            template
                .with("annotations", &metadata["annotations"])
                .annotations();
        }
    }
    restarts_always(&template, "StatefulSet");
}

/// The template as the controller will use it: with the claims, and without names of its own.
fn as_started(spec: &Value) -> Option<Value> {
    let claims = list(spec, "volumeClaimTemplates");
    let pod = at(spec, "template.spec");
    let has_names = !text(pod, "subdomain").is_empty() || !text(pod, "hostname").is_empty();
    if claims.is_empty() && !has_names {
        return None;
    }
    let mut template = spec["template"].clone();
    let pod = template["spec"].as_object_mut()?;
    pod.remove("subdomain");
    pod.remove("hostname");
    let named = |name: &Value| {
        claims
            .iter()
            .any(|claim| claim["metadata"]["name"] == *name)
    };
    let own = pod.remove("volumes");
    let own = own.iter().filter_map(Value::as_array).flatten();
    let mut volumes: Vec<Value> = claims
        .iter()
        .map(|claim| {
            let name = &claim["metadata"]["name"];
            serde_json::json!({"name": name, "persistentVolumeClaim": {"claimName": name}})
        })
        .collect();
    volumes.extend(own.filter(|volume| !named(&volume["name"])).cloned());
    pod.insert("volumes".to_owned(), volumes.into());
    Some(template)
}

// === daemon sets ===

pub(super) fn daemon_set(object: &Value, errors: &mut Errors) {
    check(at(object, "spec"), "spec", errors, |spec| {
        let selector = spec.at("selector");
        selector.selector();
        let template = spec.at("template");
        if let Ok(parsed) = Selector::from_value(selector.value) {
            template_labels(&template, &parsed);
        }
        let is_empty = selector.at("matchLabels").is_empty()
            && selector.at("matchExpressions").list().is_empty();
        if selector.is_set() && is_empty {
            let shown = shown_selector(selector.value);
            selector.invalid_shown(&shown, "empty selector is invalid for daemonset");
        }
        check_template(&template);
        restarts_always(&template, "DaemonSet");
        spec.at("minReadySeconds").not_negative();
        daemon_strategy(&spec.at("updateStrategy"));
        spec.at("revisionHistoryLimit").not_negative();
    });
}

fn daemon_strategy(strategy: &Field<'_, '_>) {
    let rolling = strategy.at("rollingUpdate");
    match strategy.at("type").text() {
        "OnDelete" => {}
        "RollingUpdate" if !rolling.is_set() => rolling.required(""),
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.at("maxUnavailable"), rolling.at("maxSurge"));
            number_or_percent(&unavailable);
            number_or_percent(&surge);
            at_most_all(&unavailable);
            at_most_all(&surge);
            match (share(unavailable.value) != 0, share(surge.value) != 0) {
                (true, true) => surge.invalid("may not be set when maxUnavailable is non-zero"),
                (false, false) => unavailable.required("cannot be 0 when maxSurge is 0"),
                _ => {}
            }
        }
        _ => strategy.not_supported_shown(
            &record(strategy.value, shapes::DeploymentStrategy),
            &["RollingUpdate", "OnDelete"],
        ),
    }
}

// === replication controllers ===

pub(super) fn replication_controller(object: &Value, errors: &mut Errors) {
    check(at(object, "spec"), "spec", errors, |spec| {
        spec.at("minReadySeconds").not_negative();
        let selector = spec.at("selector");
        if selector.is_empty() {
            selector.required("");
        }
        spec.at("replicas").not_negative();
        let template = spec.at("template");
        if !template.is_set() {
            template.required("");
            return;
        }
        if let Some(labels) = selector
            .value
            .as_object()
            .filter(|labels| !labels.is_empty())
        {
            template_labels(&template, &Selector::from_labels(labels));
        }
        check_template(&template);
        restarts_always(&template, "ReplicationController");
    });
}

// === changes and statuses ===

/// A selector stays what it is.
pub(super) fn selector_kept(new: &Value, old: &Value, errors: &mut Errors) {
    if at(new, "spec.selector") != at(old, "spec.selector") {
        check(
            at(new, "spec.selector"),
            "spec.selector",
            errors,
            |selector| {
                selector.invalid_shown(&shown_selector(selector.value), "field is immutable");
            },
        );
    }
}

/// Counts of a status: those that are not negative, those that are at most all replicas, and the
/// words for availability without readiness.
pub(super) struct Counts {
    pub(super) all: &'static [&'static str],
    pub(super) parts: &'static [&'static str],
    pub(super) unready: &'static str,
}

pub(super) const DEPLOYMENT: Counts = Counts {
    all: &[
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ],
    parts: &["updatedReplicas", "readyReplicas", "availableReplicas"],
    unready: "cannot be greater than readyReplicas",
};

pub(super) const REPLICA_SET: Counts = Counts {
    all: &[
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ],
    parts: &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
    unready: "cannot be greater than readyReplicas",
};

pub(super) const STATEFUL_SET: Counts = Counts {
    all: &[
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ],
    parts: &[
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ],
    unready: "cannot be greater than status.readyReplicas",
};

pub(super) const DAEMON_SET: Counts = Counts {
    all: &[
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ],
    parts: &[],
    unready: "",
};

/// Checks a status that counts replicas.
pub(super) fn status(counts: &Counts, new: &Value, old: &Value, errors: &mut Errors) {
    check(&new["status"], "status", errors, |status| {
        for key in counts.all {
            status.at(key).not_negative();
        }
        let total = status.at("replicas").count();
        for key in counts.parts {
            let part = status.at(key);
            if part.count() > total {
                part.invalid_as(part.count(), "cannot be greater than status.replicas");
            }
        }
        let available = status.at("availableReplicas");
        if !counts.parts.is_empty() && available.count() > status.at("readyReplicas").count() {
            available.invalid(counts.unready);
        }
        let collisions = status.at("collisionCount");
        let before = at(old, "status.collisionCount").as_i64();
        if counts.all.contains(&"collisionCount")
            && before.is_some_and(|before| collisions.count() < before)
        {
            collisions.invalid_as(collisions.count(), "cannot be decremented");
        }
    });
}
