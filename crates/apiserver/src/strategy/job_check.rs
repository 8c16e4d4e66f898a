//! What is wrong with a job, and with the jobs a cron job makes.
//!
//! Source: Kubernetes v1.35, `pkg/apis/batch/validation/validation.go`.

use std::collections::BTreeSet;

use flotilla_machinery::{labels::Selector, names};
use serde_json::{Value, json};

use super::{
    cron,
    field::{Field, check},
    fill::{at, list},
    golang::{record, selector as shown_selector, shapes},
    pod_change::shown_template,
    pod_check::check_template,
    rules::Errors,
};
use crate::registry::generic;

/// Names of jobs end up in the names and labels of pods, with a suffix of 11 for cron jobs.
const CRON_JOB_NAME_MAX: usize = 52;
/// Pods of an indexed job at a time.
const PARALLELISM_MAX: i64 = 100_000;
/// Indexes of a job that may fail.
const FAILED_INDEXES_MAX: i64 = 100_000;
/// From how many indexes on the two limits below hold.
const MANY_COMPLETIONS: i64 = 100_000;
/// The same for a job with very many indexes.
const MANY_LIMIT: i64 = 10_000;
const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const INDEXES_BYTES_MAX: usize = 64 * 1024;
const MANAGER_BYTES_MAX: usize = 63;

/// Checks a job.
pub(super) fn job(object: &Value, errors: &mut Errors) {
    check(object, "", errors, |job| {
        generated_selector(job);
        selected_spec(&job.at("spec"));
        let spec = job.at("spec");
        let completions = spec.at("completions").count();
        let name = job.at("metadata.name");
        if spec.at("completionMode").text() == "Indexed" && completions > 0 {
            let longest = format!("{}-{}", name.text(), completions - 1);
            if !names::dns1123_label(&longest).is_empty() {
                name.invalid(format!(
                    "will not able to create pod with invalid DNS label: {longest}"
                ));
            }
        }
    });
}

/// The selector and labels that the server makes are there, unless the client makes its own.
fn generated_selector(job: &Field<'_, '_>) {
    let spec = job.at("spec");
    let selector = spec.at("selector");
    if spec.at("manualSelector").is_true() || !selector.is_set() {
        return;
    }
    let (uid, name) = (
        job.at("metadata.uid").text(),
        job.at("metadata.name").text(),
    );
    if uid.is_empty() {
        job.at("metadata.uid").required("");
    }
    let labels = spec.at("template.metadata.labels");
    let expected = json!({
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    });
    for key in [
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
    ] {
        let value = expected[key].as_str().unwrap_or_default();
        let label = labels.key(key);
        if !label.is_set() {
            label.required(format!("must be '{value}'"));
        } else if label.text() != value {
            label.invalid_as(labels.value.clone(), format!("must be '{value}'"));
        }
    }
    if let Ok(parsed) = Selector::from_value(selector.value)
        && !parsed.matches_labels(expected.as_object())
    {
        let detail = "`selector` not auto-generated";
        selector.invalid_shown(&shown_selector(selector.value), detail);
    }
}

fn selected_spec(spec: &Field<'_, '_>) {
    job_spec(spec);
    let selector = spec.at("selector");
    if selector.is_set() {
        selector.selector();
    } else {
        selector.required("");
    }
    let labels = spec.at("template.metadata.labels");
    if let Ok(parsed) = Selector::from_value(selector.value)
        && !parsed.matches_labels(labels.value.as_object())
    {
        labels.invalid("`selector` does not match template `labels`");
    }
}

fn job_spec(spec: &Field<'_, '_>) {
    for key in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        spec.at(key).not_negative();
    }
    let per_index = spec.at("backoffLimitPerIndex");
    if spec.at("maxFailedIndexes").is_set() && !per_index.is_set() {
        per_index.required("when maxFailedIndexes is specified");
    }
    let manager = spec.at("managedBy");
    if manager.is_set() {
        domain_path(&manager);
        if manager.text().len() > MANAGER_BYTES_MAX {
            manager.too_long(MANAGER_BYTES_MAX);
        }
    }
    completion_mode(spec);
    failure_policy(spec);
    success_policy(spec);
    let replacement = spec.at("podReplacementPolicy");
    if spec.at("podFailurePolicy").is_set() {
        replacement.supported_if_set(&["Failed"]);
    } else {
        replacement.supported_if_set(&["Failed", "TerminatingOrFailed"]);
    }
    check_template(&spec.at("template"));
    let restart = spec.at("template.spec.restartPolicy");
    match restart.text() {
        "" | "Always" => restart.required("valid values: \"OnFailure\", \"Never\""),
        "Never" => {}
        "OnFailure" if spec.at("podFailurePolicy").is_set() => {
            restart.invalid("only \"Never\" is supported when podFailurePolicy is specified");
        }
        "OnFailure" => {}
        _ => restart.not_supported(&["OnFailure", "Never"]),
    }
}

/// `example.com/name`.
pub(super) fn domain_path(place: &Field<'_, '_>) {
    let text = place.text();
    if text.is_empty() {
        place.required("");
        return;
    }
    let parts = text
        .split_once('/')
        .filter(|(a, b)| !a.is_empty() && !b.is_empty());
    let Some((host, path)) = parts else {
        place.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    };
    for complaint in names::dns1123_subdomain(host) {
        place.invalid_as(host, complaint);
    }
    let is_path = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !path.bytes().all(is_path) {
        let detail =
            "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        place.invalid_as(path, detail);
    }
}

fn completion_mode(spec: &Field<'_, '_>) {
    let mode = spec.at("completionMode");
    mode.supported_if_set(&["NonIndexed", "Indexed"]);
    let (per_index, failed) = (spec.at("backoffLimitPerIndex"), spec.at("maxFailedIndexes"));
    if mode.text() != "Indexed" {
        for place in [per_index, failed] {
            if place.is_set() && matches!(mode.text(), "" | "NonIndexed") {
                place.invalid("requires indexed completion mode");
            }
        }
        return;
    }
    let (completions, parallelism) = (spec.at("completions"), spec.at("parallelism"));
    let above = |place: &Field<'_, '_>, max: i64| place.number().is_some_and(|number| number > max);
    if !completions.is_set() {
        completions.required("when completion mode is Indexed");
    }
    if above(&parallelism, PARALLELISM_MAX) {
        parallelism.invalid(format!(
            "must be less than or equal to {PARALLELISM_MAX} when completion mode is Indexed"
        ));
    }
    if let Some(all) = completions.number()
        && above(&failed, all)
    {
        failed.invalid("must be less than or equal to completions");
    }
    if above(&failed, FAILED_INDEXES_MAX) {
        failed.invalid(format!(
            "must be less than or equal to {FAILED_INDEXES_MAX}"
        ));
    }
    if above(&completions, MANY_COMPLETIONS) && per_index.is_set() {
        if !failed.is_set() {
            failed.required(format!(
                "must be specified when completions is above {MANY_COMPLETIONS}"
            ));
        }
        for place in [parallelism, failed] {
            if above(&place, MANY_LIMIT) {
                place.invalid(format!(
                    "must be less than or equal to {MANY_LIMIT} when completions are above \
                     {MANY_COMPLETIONS} and used with backoff limit per index"
                ));
            }
        }
    }
}

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];

/// A word of a fixed set, which is listed when it is missing.
fn word(place: &Field<'_, '_>, words: &[&str]) {
    if place.text().is_empty() {
        place.required(format!("valid values: [\"{}\"]", words.join("\" \"")));
    } else {
        place.supported(words);
    }
}

fn failure_policy(spec: &Field<'_, '_>) {
    let rules = spec.at("podFailurePolicy.rules");
    if rules.list().len() > RULES_MAX {
        rules.too_many(RULES_MAX);
    }
    for rule in rules.items() {
        let action = rule.at("action");
        if action.text() != "FailIndex" {
            word(&action, &ACTIONS);
        } else if !spec.at("backoffLimitPerIndex").is_set() {
            action.invalid("requires the backoffLimitPerIndex to be set");
        }
        let (codes, conditions) = (rule.at("onExitCodes"), rule.at("onPodConditions"));
        if codes.is_set() {
            exit_codes(spec, &codes);
        }
        if conditions.list().len() > RULES_MAX {
            conditions.too_many(RULES_MAX);
        }
        for condition in conditions.items() {
            let kind = condition.at("type");
            kind.complain(names::qualified_name(kind.text()));
            word(&condition.at("status"), &STATUSES);
        }
        match (codes.is_set(), conditions.list().is_empty()) {
            (true, false) => {
                rule.invalid_alone(
                    "specifying both OnExitCodes and OnPodConditions is not supported",
                );
            }
            (false, true) => {
                rule.invalid_alone("specifying one of OnExitCodes and OnPodConditions is required");
            }
            _ => {}
        }
    }
}

fn exit_codes(spec: &Field<'_, '_>, codes: &Field<'_, '_>) {
    let operator = codes.at("operator");
    word(&operator, &OPERATORS);
    let container = codes.at("containerName");
    let pod = at(spec.value, "template.spec");
    let mut known = list(pod, "containers")
        .iter()
        .chain(list(pod, "initContainers"));
    if container.is_set() && !known.any(|c| c["name"] == *container.value) {
        let detail = "must be one of the container or initContainer names in the pod template";
        container.invalid(detail);
    }
    let values = codes.at("values");
    match values.list().len() {
        0 => values.invalid_as(json!([]), "at least one value is required"),
        n if n > EXIT_CODES_MAX => values.too_many(EXIT_CODES_MAX),
        _ => {}
    }
    let mut seen = BTreeSet::new();
    for value in values.items() {
        if operator.text() == "In" && value.count() == 0 {
            value.invalid("must not be 0 for the In operator");
        }
        if !seen.insert(value.count()) {
            value.duplicate();
        }
    }
    let numbers = values
        .list()
        .iter()
        .map(|value| value.as_i64().unwrap_or(0));
    if !numbers.is_sorted() {
        values.invalid("must be ordered");
    }
}

fn success_policy(spec: &Field<'_, '_>) {
    let policy = spec.at("successPolicy");
    if !policy.is_set() {
        return;
    }
    if spec.at("completionMode").text() != "Indexed" {
        let shown = record(policy.value, shapes::SuccessPolicy);
        policy.invalid_shown(&shown, "requires indexed completion mode");
        return;
    }
    let rules = policy.at("rules");
    match rules.list().len() {
        0 => rules
            .required("at least one rules must be specified when the successPolicy is specified"),
        n if n > RULES_MAX => rules.too_many(RULES_MAX),
        _ => {}
    }
    let completions = spec.at("completions").count();
    for rule in rules.items() {
        let (indexes, count) = (rule.at("succeededIndexes"), rule.at("succeededCount"));
        if !indexes.is_set() && !count.is_set() {
            let detail = "at least one of succeededCount or succeededIndexes must be specified";
            rule.required(detail);
        }
        let mut total = 0;
        if indexes.is_set() {
            if indexes.text().len() > INDEXES_BYTES_MAX {
                indexes.too_long(INDEXES_BYTES_MAX);
            }
            match count_indexes(indexes.text(), completions) {
                Ok(n) => total = n,
                Err(why) => indexes.invalid(format!("error parsing succeededIndexes: {why}")),
            }
        }
        count.not_negative();
        if count.count() > completions {
            count.invalid(format!(
                "must be less than or equal to {completions} (the number of specified completions)"
            ));
        }
        if indexes.is_set() && count.count() > total {
            count.invalid(format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            ));
        }
    }
}

/// How many indexes `1,3-5` names, all below the number of completions and in order.
fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    let (mut total, mut last) = (0, None);
    if text.is_empty() {
        return Ok(0);
    }
    for interval in text.split(',') {
        let (first, end) = interval_of(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(format!(
                "non-increasing order, previous: {last}, current: {first}"
            ));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// `3-5` or `3`.
fn interval_of(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let index = |part: &str| match part.parse::<i64>() {
        Err(_) => Err(format!(
            "cannot convert string to integer for index: {part:?}"
        )),
        Ok(index) if index >= completions => Err(format!("too large index: {part:?}")),
        Ok(index) => Ok(index),
    };
    let parts: Vec<&str> = interval.split('-').collect();
    match parts[..] {
        [one] => index(one).map(|one| (one, one)),
        [first, end] => {
            let (first, end) = (index(first)?, index(end)?);
            if first >= end {
                return Err(format!(
                    "non-increasing order, previous: {first}, current: {end}"
                ));
            }
            Ok((first, end))
        }
        _ => Err(format!(
            "the fragment {interval:?} violates the requirement that an index interval can have \
             at most two parts separated by '-'"
        )),
    }
}

/// Checks a change of a job.
pub(super) fn job_kept(new: &Value, old: &Value, errors: &mut Errors) {
    check(&new["spec"], "spec", errors, |spec| {
        // Upstream looks at the whole spec a second time.
        selected_spec(spec);
        let old = &old["spec"];
        let kept = |key: &str| {
            let place = spec.at(key);
            if *place.value != old[key] {
                place.invalid("field is immutable");
            }
        };
        completions(spec, old);
        let selector = spec.at("selector");
        if *selector.value != old["selector"] {
            selector.invalid_shown(&shown_selector(selector.value), "field is immutable");
        }
        template_kept(spec, old);
        for key in [
            "completionMode",
            "podFailurePolicy",
            "backoffLimitPerIndex",
            "managedBy",
            "successPolicy",
        ] {
            kept(key);
        }
    });
}

/// Completions of an indexed job may change together with its parallelism.
fn completions(spec: &Field<'_, '_>, old: &Value) {
    let now = spec.at("completions");
    if *now.value == old["completions"] {
        return;
    }
    if spec.at("completionMode").text() != "Indexed" {
        now.invalid("field is immutable");
    } else if now.is_set() && now.value != spec.at("parallelism").value {
        now.invalid("can only be modified in tandem with spec.parallelism");
    }
}

fn template_kept(spec: &Field<'_, '_>, old: &Value) {
    let template = spec.at("template");
    let mut changed = template.value.clone();
    // While a job is suspended and has not started, queues may still place its pods.
    if old["suspend"] == true {
        let before = &old["template"];
        for key in ["nodeSelector", "tolerations", "affinity", "schedulingGates"] {
            if let Some(pod) = changed.get_mut("spec").and_then(Value::as_object_mut) {
                generic::restore(pod, &before["spec"], key);
            }
        }
        for key in ["labels", "annotations"] {
            if let Some(metadata) = changed.get_mut("metadata").and_then(Value::as_object_mut) {
                generic::restore(metadata, &before["metadata"], key);
            }
        }
    }
    if changed != old["template"] {
        template.invalid_shown(&shown_template(template.value), "field is immutable");
    }
}

/// Checks a cron job.
pub(super) fn cron_job(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        let schedule = spec.at("schedule");
        if schedule.text().is_empty() {
            schedule.required("");
        } else {
            if let Err(why) = cron::parse(schedule.text()) {
                schedule.invalid(why);
            }
            if schedule.text().contains("TZ") {
                let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
                schedule.invalid(detail);
            }
        }
        spec.at("startingDeadlineSeconds").not_negative();
        time_zone(&spec.at("timeZone"));
        spec.at("concurrencyPolicy")
            .one_of(&["Allow", "Forbid", "Replace"]);
        let job = spec.at("jobTemplate.spec");
        job_spec(&job);
        let selector = job.at("selector");
        if selector.is_set() {
            let shown = shown_selector(selector.value);
            selector.invalid_shown(&shown, "`selector` will be auto-generated");
        }
        let manual = job.at("manualSelector");
        if manual.is_true() {
            manual.not_supported_as(true, &["nil", "false"]);
        }
        spec.at("successfulJobsHistoryLimit").not_negative();
        spec.at("failedJobsHistoryLimit").not_negative();
    });
}

fn time_zone(zone: &Field<'_, '_>) {
    let name = zone.text();
    if !zone.is_set() {
    } else if name.is_empty() {
        zone.invalid("timeZone must be nil or non-empty string");
    } else if name.eq_ignore_ascii_case("local") {
        let detail =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        zone.invalid(detail);
        if name != "Local" {
            zone.invalid(format!("unknown time zone {name}"));
        }
    } else if !cron::is_zone(name) {
        zone.invalid(format!("unknown time zone {name}"));
    }
}

/// The name of a new cron job leaves room for its jobs' suffix.
pub(super) fn new_cron_job(object: &Value, errors: &mut Errors) {
    check(object, "", errors, |object| {
        let name = object.at("metadata.name");
        if name.text().len() > CRON_JOB_NAME_MAX {
            name.invalid(format!(
                "must be no more than {CRON_JOB_NAME_MAX} characters"
            ));
        }
    });
}
