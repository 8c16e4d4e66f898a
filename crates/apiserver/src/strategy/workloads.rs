//! Workloads: apps, batch, and the old replication controller.
//!
//! Source: Kubernetes v1.35, `pkg/apis/{apps,batch}/v1/defaults.go`, `pkg/apis/{apps,batch}/validation`.

use flotilla_machinery::{
    builtin::ResourceRow,
    labels::{Selector, validate_label_selector},
    status::FieldError,
};
use serde_json::{Value, json};

use super::{
    fill::{at, at_mut, fill, is_unset, items, list, map_at, text},
    pod_check::check_pod_spec,
    pod_spec::fill_pod_spec,
    rules::{Errors, Rules, complain, immutable, not_negative, one_of},
};
use crate::registry::{Propagation, generic};

/// Names of jobs end up in the names and labels of pods, with a suffix of 11 for cron jobs.
const CRON_JOB_NAME_MAX: usize = 52;

/// The rules of a workload, `None` for other resources.
pub(super) fn of(row: &ResourceRow) -> Option<Rules> {
    let rules = Rules::of(row);
    Some(match (row.group, row.plural) {
        ("apps", "deployments") => Rules {
            defaults: fill_deployment,
            check: check_deployment,
            check_change: selector_kept,
            ..rules
        },
        ("apps", "replicasets") => Rules {
            defaults: fill_replica_set,
            check: check_selected,
            check_change: selector_kept,
            ..rules
        }
        .with_fields(&["status.replicas"]),
        ("apps", "statefulsets") => Rules {
            defaults: fill_stateful_set,
            check: check_stateful_set,
            check_change: stateful_set_kept,
            ..rules
        },
        ("apps", "daemonsets") => Rules {
            defaults: fill_daemon_set,
            check: check_selected,
            check_change: selector_kept,
            ..rules
        },
        ("apps", "controllerrevisions") => Rules {
            check: |object, errors| not_negative(object, "revision", errors),
            check_change: |new, old, errors| immutable(new, old, "data", errors),
            ..rules
        },
        ("batch", "jobs") => Rules {
            defaults: fill_job,
            on_create: select_own_pods,
            check: check_job,
            check_change: job_kept,
            propagation: Propagation::Orphan,
            ..rules
        }
        .with_fields(&["status.successful"]),
        ("batch", "cronjobs") => Rules {
            defaults: fill_cron_job,
            check: check_cron_job,
            ..rules
        },
        ("", "replicationcontrollers") => Rules {
            defaults: fill_replication_controller,
            check: check_replication_controller,
            propagation: Propagation::Orphan,
            ..rules
        }
        .with_fields(&["status.replicas"]),
        ("", "podtemplates") => Rules {
            defaults: |object| {
                if let Some(spec) = at_mut(object, "template.spec") {
                    fill_pod_spec(spec);
                }
            },
            ..rules
        },
        _ => return None,
    })
}

fn fill_template(object: &mut Value) {
    if let Some(spec) = at_mut(object, "spec.template.spec") {
        fill_pod_spec(spec);
    }
}

fn fill_deployment(object: &mut Value) {
    fill_template(object);
    let Some(spec) = at_mut(object, "spec") else {
        return;
    };
    fill(spec, "replicas", 1);
    fill(spec, "revisionHistoryLimit", 10);
    fill(spec, "progressDeadlineSeconds", 600);
    fill(spec, "strategy", json!({}));
    let strategy = &mut spec["strategy"];
    fill(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        fill(strategy, "rollingUpdate", json!({}));
        fill(&mut strategy["rollingUpdate"], "maxUnavailable", "25%");
        fill(&mut strategy["rollingUpdate"], "maxSurge", "25%");
    }
}

fn fill_replica_set(object: &mut Value) {
    fill_template(object);
    let labels = at(object, "spec.template.metadata.labels").clone();
    if labels.is_object() && at(object, "metadata.labels").is_null() {
        object["metadata"]["labels"] = labels;
    }
    if let Some(spec) = at_mut(object, "spec") {
        fill(spec, "replicas", 1);
    }
}

fn fill_replication_controller(object: &mut Value) {
    let labels = at(object, "spec.template.metadata.labels").clone();
    fill_replica_set(object);
    if let Some(spec) = at_mut(object, "spec")
        && labels.is_object()
    {
        fill(spec, "selector", labels);
    }
}

fn fill_stateful_set(object: &mut Value) {
    fill_template(object);
    let Some(spec) = at_mut(object, "spec") else {
        return;
    };
    fill(spec, "replicas", 1);
    fill(spec, "revisionHistoryLimit", 10);
    fill(spec, "podManagementPolicy", "OrderedReady");
    fill(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
    for key in ["whenDeleted", "whenScaled"] {
        fill(
            &mut spec["persistentVolumeClaimRetentionPolicy"],
            key,
            "Retain",
        );
    }
    fill(spec, "updateStrategy", json!({}));
    let strategy = &mut spec["updateStrategy"];
    fill(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        fill(strategy, "rollingUpdate", json!({}));
        fill(&mut strategy["rollingUpdate"], "partition", 0);
    }
    for claim in items(spec, "volumeClaimTemplates") {
        fill(claim, "apiVersion", "v1");
        fill(claim, "kind", "PersistentVolumeClaim");
        fill(claim, "status", json!({}));
        fill(&mut claim["status"], "phase", "Pending");
        if let Some(spec) = at_mut(claim, "spec") {
            fill(spec, "volumeMode", "Filesystem");
        }
    }
}

fn fill_daemon_set(object: &mut Value) {
    fill_template(object);
    let Some(spec) = at_mut(object, "spec") else {
        return;
    };
    fill(spec, "revisionHistoryLimit", 10);
    fill(spec, "updateStrategy", json!({}));
    let strategy = &mut spec["updateStrategy"];
    fill(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        fill(strategy, "rollingUpdate", json!({}));
        fill(&mut strategy["rollingUpdate"], "maxUnavailable", 1);
        fill(&mut strategy["rollingUpdate"], "maxSurge", 0);
    }
}

fn fill_job(object: &mut Value) {
    fill_template(object);
    let labels = at(object, "spec.template.metadata.labels").clone();
    let is_unlabelled = at(object, "metadata.labels")
        .as_object()
        .is_none_or(|l| l.is_empty());
    if is_unlabelled && labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        object["metadata"]["labels"] = labels;
    }
    let Some(spec) = at_mut(object, "spec") else {
        return;
    };
    if is_unset(spec.get("completions")) && is_unset(spec.get("parallelism")) {
        fill(spec, "completions", 1);
    }
    fill(spec, "parallelism", 1);
    let per_index = spec["backoffLimitPerIndex"].is_number();
    fill(spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
    fill(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    let replacement = if spec["podFailurePolicy"].is_object() {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    fill(spec, "podReplacementPolicy", replacement);
    if let Some(policy) = at_mut(spec, "podFailurePolicy") {
        for rule in items(policy, "rules") {
            for condition in items(rule, "onPodConditions") {
                fill(condition, "status", "True");
            }
        }
    }
}

/// Labels the pods of a job with its uid and selects them by it, unless the user does that.
fn select_own_pods(object: &mut Value) {
    if at(object, "spec.manualSelector") == true {
        return;
    }
    let uid = text(object, "metadata.uid").to_owned();
    let name = text(object, "metadata.name").to_owned();
    let Some(spec) = at_mut(object, "spec").filter(|spec| spec.is_object()) else {
        return;
    };
    let Some(template) =
        map_at(spec, "template").map(|map| map.entry("metadata").or_insert(Value::Null))
    else {
        return;
    };
    if template.is_null() {
        *template = json!({});
    }
    let Some(labels) = map_at(template, "labels") else {
        return;
    };
    for prefix in ["batch.kubernetes.io/", ""] {
        labels.insert(format!("{prefix}controller-uid"), uid.clone().into());
        labels.insert(format!("{prefix}job-name"), name.clone().into());
    }
    fill(spec, "selector", json!({}));
    fill(&mut spec["selector"], "matchLabels", json!({}));
    fill(
        &mut spec["selector"]["matchLabels"],
        "batch.kubernetes.io/controller-uid",
        uid,
    );
}

fn fill_cron_job(object: &mut Value) {
    if let Some(spec) = at_mut(object, "spec.jobTemplate.spec.template.spec") {
        fill_pod_spec(spec);
    }
    let Some(spec) = at_mut(object, "spec") else {
        return;
    };
    fill(spec, "concurrencyPolicy", "Allow");
    fill(spec, "suspend", false);
    fill(spec, "successfulJobsHistoryLimit", 3);
    fill(spec, "failedJobsHistoryLimit", 1);
}

/// Replicas, selector, and a template that the selector matches and that may restart for ever.
fn check_selected(object: &Value, errors: &mut Errors) {
    not_negative(object, "spec.replicas", errors);
    not_negative(object, "spec.minReadySeconds", errors);
    not_negative(object, "spec.revisionHistoryLimit", errors);
    let selector = at(object, "spec.selector");
    if selector.is_null() {
        errors.push(FieldError::required("spec.selector", ""));
    } else {
        errors.extend(validate_label_selector(selector, "spec.selector"));
        let is_empty = list(selector, "matchExpressions").is_empty()
            && at(selector, "matchLabels")
                .as_object()
                .is_none_or(|labels| labels.is_empty());
        if is_empty {
            let kind = text(object, "kind").to_lowercase();
            let detail = format!("empty selector is invalid for {kind}");
            errors.push(FieldError::invalid(
                "spec.selector",
                selector.clone(),
                detail,
            ));
        } else if let Ok(selector) = Selector::from_value(selector) {
            check_template_labels(object, &selector, errors);
        }
    }
    check_template(object, errors);
}

fn check_template_labels(object: &Value, selector: &Selector, errors: &mut Errors) {
    let labels = at(object, "spec.template.metadata.labels");
    if !selector.matches_labels(labels.as_object()) {
        let value = if labels.is_null() {
            json!({})
        } else {
            labels.clone()
        };
        let detail = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid(
            "spec.template.metadata.labels",
            value,
            detail,
        ));
    }
}

fn check_template(object: &Value, errors: &mut Errors) {
    let spec = at(object, "spec.template.spec");
    check_pod_spec(spec, "spec.template.spec", errors);
    restarts_always(spec, errors);
}

fn restarts_always(spec: &Value, errors: &mut Errors) {
    if matches!(text(spec, "restartPolicy"), "OnFailure" | "Never") {
        let path = "spec.template.spec.restartPolicy";
        errors.push(FieldError::not_supported(
            path,
            text(spec, "restartPolicy"),
            &["Always"],
        ));
    }
}

fn check_deployment(object: &Value, errors: &mut Errors) {
    check_selected(object, errors);
    let strategy = at(object, "spec.strategy");
    one_of(
        &strategy["type"],
        "spec.strategy.type",
        &["Recreate", "RollingUpdate"],
        errors,
    );
    if strategy["type"] == "Recreate" && strategy["rollingUpdate"].is_object() {
        let detail = "may not be specified when strategy `type` is 'Recreate'";
        errors.push(FieldError::forbidden("spec.strategy.rollingUpdate", detail));
    }
    let rolling = &strategy["rollingUpdate"];
    let is_zero = |value: &Value| *value == 0 || value == "0%";
    if is_zero(&rolling["maxUnavailable"]) && is_zero(&rolling["maxSurge"]) {
        let path = "spec.strategy.rollingUpdate.maxUnavailable";
        let detail = "may not be 0 when `maxSurge` is 0";
        errors.push(FieldError::invalid(
            path,
            rolling["maxUnavailable"].clone(),
            detail,
        ));
    }
    not_negative(object, "spec.progressDeadlineSeconds", errors);
    let number = |key: &str| at(object, "spec")[key].as_i64().unwrap_or(0);
    if number("progressDeadlineSeconds") <= number("minReadySeconds") {
        let detail = "must be greater than minReadySeconds";
        let path = "spec.progressDeadlineSeconds";
        errors.push(FieldError::invalid(
            path,
            number("progressDeadlineSeconds"),
            detail,
        ));
    }
}

fn selector_kept(new: &Value, old: &Value, errors: &mut Errors) {
    immutable(new, old, "spec.selector", errors);
}

fn check_stateful_set(object: &Value, errors: &mut Errors) {
    check_selected(object, errors);
    let policy = at(object, "spec.podManagementPolicy");
    one_of(
        policy,
        "spec.podManagementPolicy",
        &["OrderedReady", "Parallel"],
        errors,
    );
    let kind = at(object, "spec.updateStrategy.type");
    one_of(
        kind,
        "spec.updateStrategy.type",
        &["OnDelete", "RollingUpdate"],
        errors,
    );
    not_negative(
        object,
        "spec.updateStrategy.rollingUpdate.partition",
        errors,
    );
}

fn stateful_set_kept(new: &Value, old: &Value, errors: &mut Errors) {
    const MAY_CHANGE: [&str; 8] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
        "status",
    ];
    let rest = |object: &Value| {
        let mut spec = object["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|key, _| !MAY_CHANGE.contains(&key.as_str()));
        }
        spec
    };
    if rest(new) != rest(old) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
            'template', 'updateStrategy', 'revisionHistoryLimit', \
            'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        errors.push(FieldError::forbidden("spec", detail));
    }
}

fn check_replication_controller(object: &Value, errors: &mut Errors) {
    not_negative(object, "spec.replicas", errors);
    let selector = at(object, "spec.selector");
    match selector.as_object().filter(|labels| !labels.is_empty()) {
        None => errors.push(FieldError::required("spec.selector", "")),
        Some(labels) => check_template_labels(object, &Selector::from_labels(labels), errors),
    }
    if at(object, "spec.template").is_null() {
        errors.push(FieldError::required("spec.template", ""));
        return;
    }
    check_template(object, errors);
}

fn check_job(object: &Value, errors: &mut Errors) {
    check_job_spec(at(object, "spec"), "spec", errors);
}

fn check_job_spec(spec: &Value, path: &str, errors: &mut Errors) {
    for key in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    ] {
        if let Some(number) = spec[key].as_i64().filter(|number| *number < 0) {
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(format!("{path}.{key}"), number, detail));
        }
    }
    if spec["completionMode"] == "Indexed" && spec["completions"].is_null() {
        let detail = "when completion mode is Indexed";
        errors.push(FieldError::required(format!("{path}.completions"), detail));
    }
    let pod = at(spec, "template.spec");
    let template = format!("{path}.template.spec");
    check_pod_spec(pod, &template, errors);
    if text(pod, "restartPolicy") == "Always" {
        let supported = ["OnFailure", "Never"];
        let path = format!("{template}.restartPolicy");
        errors.push(FieldError::required(
            path,
            format!(
                "valid values: {}",
                supported.map(|value| format!("\"{value}\"")).join(", ")
            ),
        ));
    }
}

fn job_kept(new: &Value, old: &Value, errors: &mut Errors) {
    for path in [
        "spec.selector",
        "spec.completionMode",
        "spec.podFailurePolicy",
        "spec.backoffLimitPerIndex",
    ] {
        immutable(new, old, path, errors);
    }
    if at(new, "spec.completionMode") != "Indexed" {
        immutable(new, old, "spec.completions", errors);
    }
    // While a job is suspended and has not started, queues may still place its pods.
    let may_place = at(old, "spec.suspend") == true && at(old, "status.startTime").is_null();
    let mut template = at(new, "spec.template").clone();
    if may_place {
        let before = at(old, "spec.template");
        for key in ["nodeSelector", "tolerations", "affinity", "schedulingGates"] {
            if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
                generic::restore(spec, &before["spec"], key);
            }
        }
        for key in ["labels", "annotations"] {
            if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
                generic::restore(metadata, &before["metadata"], key);
            }
        }
    }
    if template != *at(old, "spec.template") {
        let value = at(new, "spec.template").clone();
        errors.push(FieldError::invalid(
            "spec.template",
            value,
            "field is immutable",
        ));
    }
}

fn check_cron_job(object: &Value, errors: &mut Errors) {
    let schedule = text(object, "spec.schedule");
    let is_descriptor = schedule.starts_with('@');
    match schedule.split_whitespace().count() {
        0 => errors.push(FieldError::required("spec.schedule", "")),
        5 => {}
        _ if is_descriptor => {}
        n => {
            let detail = format!("expected exactly 5 fields, found {n}: [{schedule}]");
            errors.push(FieldError::invalid("spec.schedule", schedule, detail));
        }
    }
    let policies = ["Allow", "Forbid", "Replace"];
    one_of(
        at(object, "spec.concurrencyPolicy"),
        "spec.concurrencyPolicy",
        &policies,
        errors,
    );
    for path in [
        "spec.startingDeadlineSeconds",
        "spec.successfulJobsHistoryLimit",
        "spec.failedJobsHistoryLimit",
    ] {
        not_negative(object, path, errors);
    }
    check_job_spec(
        at(object, "spec.jobTemplate.spec"),
        "spec.jobTemplate.spec",
        errors,
    );
    let name = text(object, "metadata.name");
    if name.len() > CRON_JOB_NAME_MAX {
        let detail = format!("must be no more than {CRON_JOB_NAME_MAX} characters");
        complain("metadata.name", name, vec![detail], errors);
    }
}
