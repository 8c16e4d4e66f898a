//! Workloads: apps, batch, and the old replication controller. Their mistakes are found in
//! [`super::workload_check`] and [`super::job_check`].
//!
//! Source: Kubernetes v1.35, `pkg/apis/{apps,batch}/v1/defaults.go`.

use flotilla_machinery::{builtin::ResourceRow, status::FieldError};
use serde_json::{Value, json};

use super::{
    field::check,
    fill::{at, at_mut, fill, is_unset, items, map_at, text},
    job_check::{cron_job, job, job_kept, new_cron_job},
    job_status::job_status,
    pod_check::check_template,
    pod_spec,
    rules::{Errors, Rules, immutable, not_negative},
    workload_check::{
        DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET, daemon_set, deployment,
        new_stateful_set, replica_set, replication_controller, selector_kept, stateful_set, status,
    },
};
use crate::registry::{Propagation, generic};

/// The rules of a workload, `None` for other resources.
pub(super) fn of(row: &ResourceRow) -> Option<Rules> {
    let rules = Rules::of(row);
    Some(match (row.group, row.plural) {
        ("apps", "deployments") => Rules {
            defaults: fill_deployment,
            check: deployment,
            check_change: selector_kept,
            check_status: |new, old, errors| status(&DEPLOYMENT, new, old, errors),
            ..rules
        },
        ("apps", "replicasets") => Rules {
            defaults: fill_replica_set,
            check: replica_set,
            check_change: selector_kept,
            check_status: |new, old, errors| status(&REPLICA_SET, new, old, errors),
            ..rules
        }
        .with_fields(&["status.replicas"]),
        ("apps", "statefulsets") => Rules {
            defaults: fill_stateful_set,
            check: stateful_set,
            on_create: without_gated,
            on_update: |set, _| without_gated(set),
            check_new: new_stateful_set,
            check_change: stateful_set_kept,
            check_status: |new, old, errors| status(&STATEFUL_SET, new, old, errors),
            name: generic::check_label,
            ..rules
        },
        ("apps", "daemonsets") => Rules {
            defaults: fill_daemon_set,
            on_create: |object| annotate_generation(object, 1),
            on_update: count_generation,
            hidden_annotation: Some(TEMPLATE_GENERATION),
            check: daemon_set,
            check_change: selector_kept,
            check_status: |new, old, errors| status(&DAEMON_SET, new, old, errors),
            ..rules
        },
        ("apps", "controllerrevisions") => Rules {
            check: |object, errors| not_negative(object, "revision", errors),
            check_new: |object, errors| {
                check(&object["data"], "data", errors, |data| match data.value {
                    Value::Null => data.required("data is mandatory"),
                    Value::Object(_) => {}
                    _ => data.required("data must be a valid JSON object"),
                });
            },
            check_change: |new, old, errors| immutable(new, old, "data", errors),
            ..rules
        },
        ("batch", "jobs") => Rules {
            defaults: fill_job,
            on_create: select_own_pods,
            check: job,
            check_change: job_kept,
            check_status: job_status,
            propagation: Propagation::Orphan,
            ..rules
        }
        .with_fields(&["status.successful"]),
        ("batch", "cronjobs") => Rules {
            defaults: fill_cron_job,
            check: cron_job,
            check_new: new_cron_job,
            ..rules
        },
        ("", "replicationcontrollers") => Rules {
            defaults: fill_replication_controller,
            check: replication_controller,
            check_status: |new, old, errors| status(&REPLICA_SET, new, old, errors),
            propagation: Propagation::Orphan,
            ..rules
        }
        .with_fields(&["status.replicas"]),
        ("", "podtemplates") => Rules {
            defaults: |object| {
                fill(object, "template", json!({}));
                pod_spec::fill_template(&mut object["template"]);
            },
            check: |object, errors| {
                check(&object["template"], "template", errors, check_template);
            },
            ..rules
        },
        _ => return None,
    })
}

fn fill_template(object: &mut Value) {
    let Some(spec) = at_mut(object, "spec").filter(|spec| spec.is_object()) else {
        return;
    };
    fill(spec, "template", json!({}));
    pod_spec::fill_template(&mut spec["template"]);
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
    fill_replicas(object);
}

/// One replica, and the labels of the template.
fn fill_replicas(object: &mut Value) {
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
    if !at(object, "spec.template").is_null() {
        fill_template(object);
    }
    fill_replicas(object);
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
    let annotations = at(object, "metadata.annotations");
    if annotations.get(TEMPLATE_GENERATION).is_none() {
        annotate_generation(object, 0);
    }
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

/// Where the number of the template is kept since it has no field.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn annotate_generation(object: &mut Value, generation: u64) {
    if let Some(metadata) = object.get_mut("metadata")
        && let Some(annotations) = map_at(metadata, "annotations")
    {
        annotations.insert(
            TEMPLATE_GENERATION.to_owned(),
            generation.to_string().into(),
        );
    }
}

/// The number goes up with each change of the template.
fn count_generation(new: &mut Value, old: &Value) {
    let annotations = at(old, "metadata.annotations");
    let before = annotations[TEMPLATE_GENERATION].as_str();
    let before: u64 = before.and_then(|text| text.parse().ok()).unwrap_or(0);
    let changes = at(new, "spec.template") != at(old, "spec.template");
    annotate_generation(new, before + u64::from(changes));
}

/// How many pods may be missing during an update cannot be said yet upstream.
fn without_gated(set: &mut Value) {
    if let Some(rolling) = at_mut(set, "spec.updateStrategy.rollingUpdate")
        && let Some(rolling) = rolling.as_object_mut()
    {
        rolling.remove("maxUnavailable");
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
    fill(spec, "manualSelector", false);
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
    let template = Value::Object(labels.clone());
    fill(spec, "selector", json!({}));
    fill(&mut spec["selector"], "matchLabels", json!({}));
    fill(
        &mut spec["selector"]["matchLabels"],
        "batch.kubernetes.io/controller-uid",
        uid,
    );
    // A job without labels has those of its pods.
    let is_bare = |labels: &Value| labels.as_object().is_none_or(|labels| labels.is_empty());
    if is_bare(at(object, "metadata.labels")) {
        object["metadata"]["labels"] = template;
    }
}

fn fill_cron_job(object: &mut Value) {
    let Some(spec) = at_mut(object, "spec").filter(|spec| spec.is_object()) else {
        return;
    };
    fill(spec, "jobTemplate", json!({}));
    fill(&mut spec["jobTemplate"], "spec", json!({}));
    fill_template(&mut spec["jobTemplate"]);
    fill(spec, "concurrencyPolicy", "Allow");
    fill(spec, "suspend", false);
    fill(spec, "successfulJobsHistoryLimit", 3);
    fill(spec, "failedJobsHistoryLimit", 1);
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
