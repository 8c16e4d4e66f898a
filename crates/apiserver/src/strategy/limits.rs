//! What the limit ranges of a namespace do to a new pod.
//!
//! Source: Kubernetes v1.35, the LimitRanger admission plugin (limits of type `Container`).

use flotilla_machinery::{group::GroupResource, status::Status};
use serde_json::{Value, json};

use super::{
    fill::{at, fill, items, list, text},
    pod_spec::follow_limits,
    resources::quantity,
};
use crate::{
    registry::Context,
    store::{ResourceKey, list as in_order},
};

/// Applies the namespace's limit ranges to a new pod.
///
/// # Errors
/// 403 when a container asks for less than a minimum or more than a maximum.
pub(super) fn apply_ranges(cx: &Context<'_>, pod: &mut Value) -> Result<(), Status> {
    let key = ResourceKey::new("", "limitranges");
    let Some(stored) = cx.state.collection(&key) else {
        return Ok(());
    };
    let namespace = text(pod, "metadata.namespace").to_owned();
    let mut broken = Vec::new();
    for object in in_order(&stored.objects, Some(&namespace), None) {
        let range: Value = serde_json::from_slice(&object.body).unwrap_or_default();
        for limit in list(&range, "spec.limits")
            .iter()
            .filter(|l| l["type"] == "Container")
        {
            for kind in ["containers", "initContainers"] {
                for container in items(&mut pod["spec"], kind) {
                    fill_from(container, limit);
                    broken.extend(violations(container, limit));
                }
            }
        }
    }
    match broken.as_slice() {
        [] => Ok(()),
        [one] => Err(refusal(pod, one)),
        several => Err(refusal(pod, &format!("[{}]", several.join(", ")))),
    }
}

fn refusal(pod: &Value, why: &str) -> Status {
    Status::forbidden(
        &GroupResource::new("", "pods"),
        text(pod, "metadata.name"),
        why,
    )
}

fn fill_from(container: &mut Value, limit: &Value) {
    follow_limits(container);
    for (target, source) in [("limits", "default"), ("requests", "defaultRequest")] {
        let defaults = limit[source].as_object().cloned().unwrap_or_default();
        for (name, amount) in defaults {
            fill(container, "resources", json!({}));
            fill(&mut container["resources"], target, json!({}));
            fill(&mut container["resources"][target], &name, amount);
        }
    }
}

/// In upstream's words, one sentence for each bound that does not hold.
fn violations(container: &Value, limit: &Value) -> Vec<String> {
    let asked = |kind: &str, name: &str| quantity(&at(container, "resources")[kind][name]);
    let mut found = Vec::new();
    for (name, bound) in limit["min"].as_object().into_iter().flatten() {
        let Some(bound) = quantity(bound) else {
            continue;
        };
        match asked("requests", name) {
            None => found.push(format!(
                "minimum {name} usage per Container is {bound}.  No request is specified"
            )),
            Some(request) if request < bound => found.push(format!(
                "minimum {name} usage per Container is {bound}, but request is {request}"
            )),
            Some(_) => {}
        }
    }
    for (name, bound) in limit["max"].as_object().into_iter().flatten() {
        let Some(bound) = quantity(bound) else {
            continue;
        };
        match (asked("limits", name), asked("requests", name)) {
            (Some(limit), _) if limit > bound => found.push(format!(
                "maximum {name} usage per Container is {bound}, but limit is {limit}"
            )),
            (_, Some(request)) if request > bound => found.push(format!(
                "maximum {name} usage per Container is {bound}, but request is {request}"
            )),
            (None, _) => found.push(format!(
                "maximum {name} usage per Container is {bound}.  No limit is specified"
            )),
            _ => {}
        }
    }
    found
}
