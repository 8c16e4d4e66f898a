//! What is wrong with an autoscaler.
//!
//! Source: Kubernetes v1.35, `pkg/apis/autoscaling/validation/validation.go`.

use flotilla_machinery::names;
use serde_json::Value;

use super::{
    field::{Field, check},
    resources::{container_name, quantity},
    rules::Errors,
};

/// Longest look back before a scaling decision: an hour.
const WINDOW_SECONDS_MAX: i64 = 3600;
/// Longest period of a scaling policy: half an hour.
const PERIOD_SECONDS_MAX: i64 = 1800;

const KINDS: [&str; 5] = [
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];

/// Kinds of metrics, the member each has, and its rule; in the order in which upstream looks.
type Kind = (&'static str, &'static str, fn(&Field<'_, '_>));

const SOURCES: [Kind; 5] = [
    ("Object", "object", object),
    ("External", "external", external),
    ("Pods", "pods", pods),
    ("Resource", "resource", resource),
    ("ContainerResource", "containerResource", container),
];

/// Checks a new autoscaler of either version.
pub(super) fn new(object: &Value, errors: &mut Errors) {
    autoscaler(object, true, errors);
}

/// Checks a changed autoscaler. What it scales may stay as odd as it was.
pub(super) fn changed(object: &Value, old: &Value, errors: &mut Errors) {
    let target = |object: &Value| {
        let target = &object["spec"]["scaleTargetRef"];
        [target["apiVersion"].clone(), target["kind"].clone()]
    };
    autoscaler(object, target(object) != target(old), errors);
}

fn autoscaler(object: &Value, checks_version: bool, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        let (min, max) = (spec.at("minReplicas"), spec.at("maxReplicas"));
        if min.number().is_some_and(|min| min < 1) {
            min.invalid("must be greater than or equal to 1");
        }
        if max.count() < 1 {
            max.invalid_as(max.count(), "must be greater than 0");
        }
        if min.number().is_some_and(|min| max.count() < min) {
            let detail = "must be greater than or equal to `minReplicas`";
            max.invalid_as(max.count(), detail);
        }
        let target = spec.at("scaleTargetRef");
        reference(&target);
        if checks_version {
            // Only one kind of the core group can be scaled.
            version(&target, target.at("kind").text() != "ReplicationController");
        }
        metrics(spec);
        for direction in ["scaleUp", "scaleDown"] {
            let behavior = spec.at("behavior");
            let rules = behavior.at(direction);
            if rules.is_set() {
                scaling(&rules);
            }
        }
    });
}

/// Checks the status of an autoscaler.
pub(super) fn status(object: &Value, _: &Value, errors: &mut Errors) {
    check(&object["status"], "status", errors, |status| {
        status.at("currentReplicas").not_negative();
        status.at("desiredReplicas").not_negative();
    });
}

fn reference(object: &Field<'_, '_>) {
    object.at("kind").named(names::path_segment);
    object.at("name").named(names::path_segment);
}

fn version(object: &Field<'_, '_>, needs_group: bool) {
    let version = object.at("apiVersion");
    match version.text().matches('/').count() {
        0 if needs_group => version.invalid_text("apiVersion must specify API group"),
        0 | 1 => {}
        _ => version.invalid(format!(
            "unexpected GroupVersion string: {}",
            version.text()
        )),
    }
}

fn metrics(spec: &Field<'_, '_>) {
    let metrics = spec.at("metrics");
    for metric in metrics.items() {
        self::metric(&metric);
    }
    let counts_others = |metric: &Value| metric["type"] == "Object" || metric["type"] == "External";
    if spec.at("minReplicas").number() == Some(0) && !metrics.list().iter().any(counts_others) {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        metrics.forbidden(detail);
    }
}

fn metric(metric: &Field<'_, '_>) {
    let kind = metric.at("type");
    if kind.text().is_empty() {
        kind.required("must specify a metric source type");
    }
    kind.supported(&KINDS);
    let present: Vec<&Kind> = SOURCES
        .iter()
        .filter(|(_, member, _)| metric.at(member).is_set())
        .collect();
    if let Some((_, member, rule)) = present.first() {
        rule(&metric.at(member));
    }
    let expected = SOURCES.iter().find(|(name, ..)| *name == kind.text());
    match expected {
        None => kind.not_supported(&KINDS),
        Some((_, member, _)) if !metric.at(member).is_set() => {
            let detail = "must populate information for the given metric source";
            metric.at(member).required(detail);
        }
        Some(_) => {}
    }
    if present.len() != 1 {
        let surplus = present.iter().filter(|(name, ..)| *name != kind.text());
        for (_, member, _) in surplus {
            metric
                .at(member)
                .forbidden("must populate the given metric source only");
        }
    }
}

fn identifier(metric: &Field<'_, '_>) {
    let name = metric.at("name");
    if name.text().is_empty() {
        name.required("must specify a metric name");
    } else {
        name.complain(names::path_segment(name.text()));
    }
}

fn target(target: &Field<'_, '_>) {
    let kind = target.at("type");
    if kind.text().is_empty() {
        kind.required("must specify a metric target type");
    }
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        kind.invalid_text("must be either Utilization, Value, or AverageValue");
    }
    for key in ["value", "averageValue"] {
        let amount = target.at(key);
        if let Some(quantity) = quantity(amount.value).filter(|q| q.signum() != 1) {
            amount.invalid_as(quantity.to_string(), "must be positive");
        }
    }
    let utilization = target.at("averageUtilization");
    if utilization.number().is_some_and(|percent| percent < 1) {
        utilization.invalid("must be greater than 0");
    }
}

fn object(source: &Field<'_, '_>) {
    reference(&source.at("describedObject"));
    version(&source.at("describedObject"), false);
    identifier(&source.at("metric"));
    let aim = source.at("target");
    target(&aim);
    if !aim.at("value").is_set() && !aim.at("averageValue").is_set() {
        let detail = "must set either a target value or averageValue";
        aim.at("averageValue").required(detail);
    }
}

fn external(source: &Field<'_, '_>) {
    identifier(&source.at("metric"));
    let aim = source.at("target");
    target(&aim);
    match (aim.at("value").is_set(), aim.at("averageValue").is_set()) {
        (false, false) => aim
            .at("averageValue")
            .required("must set either a target value for metric or a per-pod target"),
        (true, true) => aim
            .at("value")
            .forbidden("may not set both a target value for metric and a per-pod target"),
        _ => {}
    }
}

fn pods(source: &Field<'_, '_>) {
    identifier(&source.at("metric"));
    let aim = source.at("target");
    target(&aim);
    if !aim.at("averageValue").is_set() {
        aim.at("averageValue")
            .required("must specify a positive target averageValue");
    }
}

/// The use of a resource, as a share or as an amount.
fn usage(source: &Field<'_, '_>) {
    let aim = source.at("target");
    target(&aim);
    let (share, amount) = (aim.at("averageUtilization"), aim.at("averageValue"));
    match (share.is_set(), amount.is_set()) {
        (false, false) => {
            share.required("must set either a target raw value or a target utilization");
        }
        (true, true) => {
            amount.forbidden("may not set both a target raw value and a target utilization");
        }
        _ => {}
    }
}

fn resource(source: &Field<'_, '_>) {
    let name = source.at("name");
    if name.text().is_empty() {
        name.required("must specify a resource name");
    }
    usage(source);
}

fn container(source: &Field<'_, '_>) {
    let (name, container) = (source.at("name"), source.at("container"));
    if name.text().is_empty() {
        name.required("must specify a resource name");
    } else {
        container_name(&name, name.text());
    }
    if container.text().is_empty() {
        container.required("must specify a container");
    } else {
        container.complain(names::dns1123_label(container.text()));
    }
    usage(source);
}

fn scaling(rules: &Field<'_, '_>) {
    let window = rules.at("stabilizationWindowSeconds");
    if window.count() < 0 {
        window.invalid("must be greater than or equal to zero");
    }
    if window.count() > WINDOW_SECONDS_MAX {
        window.invalid(format!(
            "must be less than or equal to {WINDOW_SECONDS_MAX}"
        ));
    }
    rules
        .at("selectPolicy")
        .supported_if_set(&["Disabled", "Max", "Min"]);
    let policies = rules.at("policies");
    if policies.list().is_empty() {
        policies.required("must specify at least one Policy");
    }
    for policy in policies.items() {
        policy.at("type").supported(&["Percent", "Pods"]);
        let (value, period) = (policy.at("value"), policy.at("periodSeconds"));
        for number in [&value, &period] {
            if number.count() <= 0 {
                number.invalid_as(number.count(), "must be greater than zero");
            }
        }
        if period.count() > PERIOD_SECONDS_MAX {
            period.invalid(format!(
                "must be less than or equal to {PERIOD_SECONDS_MAX}"
            ));
        }
    }
    let tolerance = rules.at("tolerance");
    if let Some(amount) = quantity(tolerance.value).filter(|amount| amount.signum() < 0) {
        tolerance.invalid_as(amount.to_string(), "must be greater than or equal to 0");
    }
}
