//! The two kinds that are served in two versions of different shape.
//!
//! Source: Kubernetes v1.35, `pkg/apis/events/v1/conversion.go`, `pkg/apis/autoscaling/v1/conversion.go`.

use serde_json::{Map, Value, json};

/// Old and new names of an event's fields.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn rename(object: &mut Value, pairs: impl Iterator<Item = (&'static str, &'static str)>) {
    let Value::Object(map) = object else { return };
    for (from, to) in pairs {
        if let Some(value) = map.remove(from) {
            map.insert(to.to_owned(), value);
        }
    }
}

/// core/v1 to events.k8s.io/v1.
pub(super) fn event_from_core(object: &mut Value) {
    rename(object, EVENT_FIELDS.into_iter());
    object["apiVersion"] = "events.k8s.io/v1".into();
}

/// events.k8s.io/v1 to core/v1.
pub(super) fn event_to_core(object: &mut Value) {
    rename(
        object,
        EVENT_FIELDS.into_iter().map(|(old, new)| (new, old)),
    );
    object["apiVersion"] = "v1".into();
}

/// The annotation in which autoscaling/v1 keeps metrics that it has no field for.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";

/// autoscaling/v2 to v1: the first CPU utilisation target has a field, the rest an annotation.
pub(super) fn autoscaler_to_v1(object: &mut Value) {
    object["apiVersion"] = "autoscaling/v1".into();
    let (cpu, rest) = split_cpu(object, "spec", "metrics");
    if let Some(target) =
        cpu.and_then(|m| m.pointer("/resource/target/averageUtilization").cloned())
    {
        object["spec"]["targetCPUUtilizationPercentage"] = target;
    }
    if !rest.is_empty() {
        annotate(object, METRICS, &Value::from(rest));
    }
    let behavior = object["spec"]
        .as_object_mut()
        .and_then(|spec| spec.remove("behavior"));
    if let Some(behavior) = behavior {
        annotate(object, BEHAVIOR, &behavior);
    }
    if !object["status"].is_object() {
        return;
    }
    let (cpu, rest) = split_cpu(object, "status", "currentMetrics");
    let current = cpu.and_then(|m| m.pointer("/resource/current/averageUtilization").cloned());
    if let Some(current) = current {
        object["status"]["currentCPUUtilizationPercentage"] = current;
    }
    if !rest.is_empty() {
        annotate(object, CURRENT_METRICS, &Value::from(rest));
    }
    let conditions = object["status"]
        .as_object_mut()
        .and_then(|s| s.remove("conditions"));
    if let Some(conditions) = conditions {
        annotate(object, CONDITIONS, &conditions);
    }
}

const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// autoscaling/v1 to v2.
pub(super) fn autoscaler_from_v1(object: &mut Value) {
    object["apiVersion"] = "autoscaling/v2".into();
    let mut metrics = unannotate(object, METRICS)
        .and_then(into_list)
        .unwrap_or_default();
    let spec = object["spec"].as_object_mut();
    let target = spec.and_then(|spec| spec.remove("targetCPUUtilizationPercentage"));
    if let Some(percent) = target.filter(|target| !target.is_null()) {
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        metrics.insert(0, metric);
    }
    if !metrics.is_empty() {
        object["spec"]["metrics"] = metrics.into();
    }
    if let Some(behavior) = unannotate(object, BEHAVIOR) {
        object["spec"]["behavior"] = behavior;
    }
    let mut current = unannotate(object, CURRENT_METRICS)
        .and_then(into_list)
        .unwrap_or_default();
    let status = object.get_mut("status").and_then(Value::as_object_mut);
    let percent = status.and_then(|status| status.remove("currentCPUUtilizationPercentage"));
    if let Some(percent) = percent.filter(|percent| !percent.is_null()) {
        let value = json!({"averageUtilization": percent, "averageValue": "0"});
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "current": value}});
        current.insert(0, metric);
    }
    if !current.is_empty() {
        object["status"]["currentMetrics"] = current.into();
    }
    if let Some(conditions) = unannotate(object, CONDITIONS) {
        object["status"]["conditions"] = conditions;
    }
}

/// Takes a list of metrics out of a part of the object: the first CPU utilisation, and the others.
fn split_cpu(object: &mut Value, part: &str, key: &str) -> (Option<Value>, Vec<Value>) {
    let list = object[part]
        .as_object_mut()
        .and_then(|map| map.remove(key))
        .and_then(into_list);
    let mut list = list.unwrap_or_default();
    let at = list.iter().position(|metric| {
        let resource = &metric["resource"];
        let amount = if resource["target"].is_object() {
            "target"
        } else {
            "current"
        };
        metric["type"] == "Resource"
            && resource["name"] == "cpu"
            && resource[amount]["averageUtilization"].is_number()
    });
    (at.map(|at| list.remove(at)), list)
}

fn into_list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn annotate(object: &mut Value, key: &str, value: &Value) {
    let annotations = &mut object["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = Value::Object(Map::new());
    }
    annotations[key] = value.to_string().into();
}

/// Takes an annotation away and parses it.
fn unannotate(object: &mut Value, key: &str) -> Option<Value> {
    let annotations = object
        .pointer_mut("/metadata/annotations")?
        .as_object_mut()?;
    let value = annotations.remove(key)?;
    let parsed = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    if annotations.is_empty() {
        object["metadata"].as_object_mut()?.remove("annotations");
    }
    parsed
}
