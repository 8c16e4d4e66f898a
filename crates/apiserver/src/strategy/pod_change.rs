//! What may change in a pod: images, deadlines that come nearer, tolerations that are added, gates that fall, and before the
//! last gate fell where it may run.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation/validation.go`, `ValidatePodUpdate`.

use serde_json::{Value, json};

use super::{
    field::Field,
    fill::{at, items, list},
    golang::{diff, record, shapes},
    pod_check::tolerations,
};
use crate::registry::generic;

const IMMUTABLE: &str = "pod updates may not change fields other than \
    `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Members of the spec that Go's internal type has in its security context.
const OF_HOST: [&str; 5] = [
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostUsers",
];

/// Checks how a pod's spec differs from `old`.
pub(super) fn spec_kept(spec: &Field<'_, '_>, old: &Value) {
    for kind in ["containers", "initContainers"] {
        let containers = spec.at(kind);
        if containers.list().len() != list(old, kind).len() {
            containers.forbidden("pod updates may not add or remove containers");
            return;
        }
        containers
            .items()
            .for_each(|container| image(&container.at("image")));
    }
    if !deadline(&spec.at("activeDeadlineSeconds"), old) {
        return;
    }
    added_tolerations(&spec.at("tolerations"), old);
    fallen_gates(&spec.at("schedulingGates"), old);
    let mut undone = allowed_changes_undone(spec.value, old);
    if !list(old, "schedulingGates").is_empty() {
        placement(spec, &mut undone, old);
    }
    if !generic::same_desire(&undone, old) {
        let changes = diff(&shown(old), &shown(&undone));
        spec.forbidden(format!("{IMMUTABLE}\n{changes}"));
    }
}

/// A pod template as Go's JSON shows its internal form.
pub(super) fn shown_template(template: &Value) -> String {
    let mut template = template.clone();
    template["spec"] = internal(&template["spec"]);
    record(&template, shapes::PodTemplateSpec)
}

fn shown(spec: &Value) -> String {
    record(&internal(spec), shapes::PodSpec)
}

fn internal(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let Some(members) = spec.as_object_mut() else {
        return spec;
    };
    let of_host = OF_HOST.map(|name| (name, members.remove(name)));
    let context = members.entry("securityContext").or_insert(Value::Null);
    if context.is_null() {
        *context = json!({});
    }
    for (name, value) in of_host {
        if let Some(value) = value {
            context[name] = value;
        }
    }
    spec
}

fn image(image: &Field<'_, '_>) {
    image.needed();
    if image.text().trim() != image.text() {
        image.invalid("must not have leading or trailing whitespace");
    }
}

/// Whether the rest is worth a look.
fn deadline(deadline: &Field<'_, '_>, old: &Value) -> bool {
    let before = old["activeDeadlineSeconds"].as_i64();
    match (deadline.number(), before) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            deadline.invalid("must be between 0 and 2147483647, inclusive");
            false
        }
        (Some(now), Some(before)) if before < now => {
            deadline.invalid("must be less than or equal to previous value");
            false
        }
        (None, Some(_)) => {
            deadline.invalid("must not update from a positive integer to nil value");
            true
        }
        _ => true,
    }
}

fn added_tolerations(now: &Field<'_, '_>, old: &Value) {
    let without_time = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(members) = toleration.as_object_mut() {
            members.remove("tolerationSeconds");
        }
        toleration
    };
    let kept: Vec<Value> = now.list().iter().map(without_time).collect();
    let mut before = list(old, "tolerations").iter().map(without_time);
    if before.all(|toleration| kept.contains(&toleration)) {
        tolerations(now);
    } else {
        now.forbidden("existing toleration can not be modified except its tolerationSeconds");
    }
}

fn fallen_gates(gates: &Field<'_, '_>, old: &Value) {
    let before = list(old, "schedulingGates");
    for gate in gates.items() {
        let name = gate.at("name");
        if !before.iter().any(|before| before["name"] == name.text()) {
            name.forbidden(format!(
                "only deletion is allowed, but found new scheduling gate '{}'",
                name.text()
            ));
        }
    }
}

/// A pod that is not to be scheduled yet may be placed more narrowly.
fn placement(spec: &Field<'_, '_>, undone: &mut Value, old: &Value) {
    let selector = spec.at("nodeSelector");
    let before = old["nodeSelector"].as_object();
    let is_kept = before
        .into_iter()
        .flatten()
        .all(|(key, value)| selector.value.get(key) == Some(value));
    if !is_kept {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        selector.invalid(detail);
    }
    node_affinity(
        &spec.at("affinity.nodeAffinity"),
        at(old, "affinity.nodeAffinity"),
    );
    let Some(members) = undone.as_object_mut() else {
        return;
    };
    generic::restore(members, old, "nodeSelector");
    let others = ["podAffinity", "podAntiAffinity"];
    let has_others = |affinity: &Value| others.iter().any(|key| affinity.get(key).is_some());
    match members.get_mut("affinity") {
        Some(affinity) if old["affinity"].is_object() || has_others(affinity) => {
            if let Some(affinity) = affinity.as_object_mut() {
                generic::restore(affinity, &old["affinity"], "nodeAffinity");
            }
        }
        Some(_) => generic::restore(members, old, "affinity"),
        None => {
            let before = at(old, "affinity.nodeAffinity");
            if !before.is_null() {
                members.insert("affinity".to_owned(), json!({"nodeAffinity": before}));
            }
        }
    }
}

fn node_affinity(now: &Field<'_, '_>, old: &Value) {
    const TERMS: &str = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let before = list(old, TERMS);
    let terms = now.at(TERMS);
    if before.is_empty() {
        return;
    }
    if before.len() != terms.list().len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        terms.invalid(detail);
        return;
    }
    for (term, before) in terms.items().zip(before) {
        if !only_adds(term.value, before) {
            term.invalid("only additions are allowed (no mutations or deletions)");
        }
    }
}

fn only_adds(term: &Value, before: &Value) -> bool {
    let kinds = ["matchExpressions", "matchFields"];
    // An empty term matches nothing, so that additions would let in more.
    if kinds.iter().all(|kind| list(before, kind).is_empty()) {
        return kinds.iter().all(|kind| list(term, kind).is_empty());
    }
    kinds
        .iter()
        .all(|kind| list(term, kind).starts_with(list(before, kind)))
}

/// The new spec with what may change as it was.
fn allowed_changes_undone(new: &Value, old: &Value) -> Value {
    let mut spec = new.clone();
    for kind in ["containers", "initContainers"] {
        for (at, container) in items(&mut spec, kind).enumerate() {
            if let Some(image) = list(old, kind).get(at).and_then(|c| c.get("image")) {
                container["image"] = image.clone();
            }
        }
    }
    let Some(members) = spec.as_object_mut() else {
        return spec;
    };
    for key in ["tolerations", "schedulingGates", "activeDeadlineSeconds"] {
        generic::restore(members, old, key);
    }
    let grace = "terminationGracePeriodSeconds";
    if new[grace] == 1 && old[grace].as_i64().is_some_and(|seconds| seconds < 0) {
        generic::restore(members, old, grace);
    }
    spec
}
