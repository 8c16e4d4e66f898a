//! What is wrong with the status of a job.
//!
//! Source: Kubernetes v1.35, `pkg/apis/batch/validation/validation.go` (ValidateJobStatusUpdate).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    field::{Field, check},
    fill::{at, list, text},
    golang::{record, shapes},
    rules::Errors,
};

/// Whether a job has a condition that is true.
fn is_true(job: &Value, kind: &str) -> bool {
    let mut conditions = list(job, "status.conditions").iter();
    conditions.any(|condition| condition["type"] == kind && condition["status"] == "True")
}

/// Checks the status of a job.
pub(super) fn job_status(new: &Value, old: &Value, errors: &mut Errors) {
    check(&new["status"], "status", errors, |status| {
        for key in ["active", "succeeded", "failed", "ready", "terminating"] {
            status.at(key).not_negative();
        }
        uncounted(&status.at("uncountedTerminatedPods"));
        let is = |kind: &str| is_true(new, kind);
        let conditions = status.at("conditions");
        let exclusive = [
            (
                "Complete",
                "Failed",
                "cannot set Complete=True and Failed=true conditions",
            ),
            (
                "Complete",
                "FailureTarget",
                "cannot set Complete=True and FailureTarget=true conditions",
            ),
        ];
        for (one, other, detail) in exclusive {
            if is(one) && is(other) {
                conditions.invalid_alone(detail);
            }
        }
        finished_times(status, new);
        if is("Failed") && !is("FailureTarget") {
            conditions.invalid_alone(
                "cannot set Failed=True condition without the FailureTarget=true condition",
            );
        }
        if is("Complete") && !is("SuccessCriteriaMet") {
            conditions.invalid_alone(
                "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
            );
        }
        finished_counts(status, new);
        let exclusive = [
            (
                "Failed",
                "cannot set SuccessCriteriaMet=True and Failed=true conditions",
            ),
            (
                "FailureTarget",
                "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
            ),
        ];
        for (other, detail) in exclusive {
            if is("SuccessCriteriaMet") && is(other) {
                conditions.invalid_alone(detail);
            }
        }
        status_kept(status, new, old);
    });
}

fn uncounted(pods: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for key in ["succeeded", "failed"] {
        for (index, uid) in pods.at(key).list().iter().enumerate() {
            let place = pods.at(key);
            let place = place.item(index);
            if place.text().is_empty() {
                place.invalid_text("must not be empty");
            } else if !seen.insert(uid.as_str()) {
                place.duplicate();
            }
        }
    }
}

fn finished_times(status: &Field<'_, '_>, job: &Value) {
    let (start, end) = (status.at("startTime"), status.at("completionTime"));
    let is_complete = is_true(job, "Complete");
    if end.is_set() && !is_complete {
        end.invalid("cannot set completionTime when there is no Complete=True condition");
    }
    if !end.is_set() && is_complete {
        end.required("completionTime is required for Complete jobs");
    }
    // Both are in UTC and of one form, so that their texts order as their times.
    if start.is_set() && end.is_set() && end.text() < start.text() {
        end.invalid("must be equal to or after `startTime`");
    }
}

fn finished_counts(status: &Field<'_, '_>, job: &Value) {
    let is_finished = is_true(job, "Complete") || is_true(job, "Failed");
    let (active, ready) = (status.at("active"), status.at("ready"));
    if is_finished {
        if active.count() > 0 {
            active.invalid("active>0 is invalid for finished job");
        }
        if !status.at("startTime").is_set() {
            status
                .at("startTime")
                .required("startTime is required for finished job");
        }
        let pods = status.at("uncountedTerminatedPods");
        if !pods.at("failed").list().is_empty() || !pods.at("succeeded").list().is_empty() {
            let shown = record(pods.value, shapes::UncountedTerminatedPods);
            pods.invalid_shown(&shown, "must be empty for finished job");
        }
    }
    let is_indexed = text(job, "spec.completionMode") == "Indexed";
    let (done, failed) = (status.at("completedIndexes"), status.at("failedIndexes"));
    if !done.text().is_empty() && !is_indexed {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        done.invalid(detail);
    }
    if failed.is_set() && at(job, "spec.backoffLimitPerIndex").is_null() {
        failed.invalid("cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
    let terminating = status.at("terminating");
    if is_finished && terminating.count() > 0 {
        terminating.invalid("terminating>0 is invalid for finished job");
    }
    if ready.is_set() && ready.count() > active.count() {
        ready.invalid("cannot set more ready pods than active");
    }
}

fn status_kept(status: &Field<'_, '_>, new: &Value, old: &Value) {
    let conditions = status.at("conditions");
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if is_true(old, kind) && !is_true(new, kind) {
            conditions.invalid_alone(&format!(
                "cannot disable the terminal {kind}=True condition"
            ));
        }
    }
    for key in ["failed", "succeeded"] {
        let counter = status.at(key);
        if counter.count() < old["status"][key].as_i64().unwrap_or(0) {
            counter.invalid_as(
                counter.count(),
                format!("cannot decrease the {key} counter"),
            );
        }
    }
    let (start, end) = (status.at("startTime"), status.at("completionTime"));
    let was_end = at(old, "status.completionTime");
    if end.is_set() && !was_end.is_null() && end.value != was_end {
        end.invalid("field is immutable");
    }
    let was_start = at(old, "status.startTime");
    let runs = at(new, "spec.suspend") != true;
    if !was_start.is_null() && was_start != start.value && runs {
        start.required("startTime cannot be removed for unsuspended job");
    }
    if is_true(old, "SuccessCriteriaMet") && !is_true(new, "SuccessCriteriaMet") {
        conditions.invalid_alone("cannot disable the SuccessCriteriaMet=True condition");
    }
}
