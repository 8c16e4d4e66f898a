//! Nodes: what is filled in, and what is wrong with one.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation` (ValidateNode, ValidateNodeUpdate),
//! `pkg/apis/core/v1/conversion.go`.

use std::collections::BTreeSet;

use flotilla_machinery::names;
use serde_json::{Value, json};

use super::{
    field::{Field, check},
    fill::{at, at_mut, is_unset, list, map_at, text},
    golang::{record, shapes},
    ip,
    pod_check::taint_effect,
    resources::{self, quantity},
    rules::Errors,
};

/// The one network of pods and the first of all networks are the same.
pub(super) fn fill(node: &mut Value) {
    let Some(spec) = at_mut(node, "spec").filter(|spec| spec.is_object()) else {
        return;
    };
    let first = list(spec, "podCIDRs").first().cloned();
    match (is_unset(spec.get("podCIDR")), first) {
        (true, Some(first)) => spec["podCIDR"] = first,
        (false, None) => spec["podCIDRs"] = json!([spec["podCIDR"]]),
        _ => {}
    }
}

/// A new node takes no pods before it is known to be ready (the NodeTaint admission plugin).
pub(super) fn not_ready(node: &mut Value) {
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let Some(spec) = map_at(node, "spec") else {
        return;
    };
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    if let Some(taints) = taints.as_array_mut()
        && !taints
            .iter()
            .any(|own| own["key"] == taint["key"] && own["effect"] == taint["effect"])
    {
        taints.push(taint);
    }
}

/// Checks a new node.
pub(super) fn new(node: &Value, errors: &mut Errors) {
    check(node, "", errors, |node| {
        taints(node);
        amounts(node);
        networks(&node.at("spec"));
    });
}

/// Upstream says that taints are in the metadata.
fn taints(node: &Field<'_, '_>) {
    let taints = node.with("metadata.taints", at(node.value, "spec.taints"));
    let mut seen = BTreeSet::new();
    for taint in taints.items() {
        let (key, value, effect) = (taint.at("key"), taint.at("value"), taint.at("effect"));
        key.complain(names::qualified_name(key.text()));
        let complaints = names::label_value(value.text());
        if !complaints.is_empty() {
            value.invalid_text(complaints.join(";"));
        }
        taint_effect(&effect);
        if !seen.insert((key.text().to_owned(), effect.text().to_owned())) {
            let shown = record(taint.value, shapes::Taint);
            taint.duplicate_shown(format!(
                "{shown}: taints must be unique by key and effect pair"
            ));
        }
    }
}

fn amounts(node: &Field<'_, '_>) {
    for kind in ["status.capacity", "status.allocatable"] {
        let amounts = node.at(kind);
        for (name, place) in amounts.entries() {
            if let Some(amount) = quantity(place.value) {
                resources::amount(&amounts.with(name, place.value), name, &amount);
            }
        }
    }
}

fn networks(spec: &Field<'_, '_>) {
    let networks = spec.at("podCIDRs");
    let parsed: Vec<_> = networks
        .items()
        .map(|network| ip::check_sloppy_network(&network))
        .collect();
    let is_pair = match parsed[..] {
        [] | [_] => true,
        [Some((a, _)), Some((b, _))] => a.is_ipv4() != b.is_ipv4(),
        [_, _] => true,
        _ => false,
    };
    if !is_pair {
        networks.invalid("may specify no more than one CIDR for each IP family");
    }
}

/// Checks a change of a node.
pub(super) fn changed(node: &Value, old: &Value, errors: &mut Errors) {
    check(node, "", errors, |node| {
        amounts(node);
        let mut seen = BTreeSet::new();
        for address in node.at("status.addresses").items() {
            if !seen.insert(address.value.to_string()) {
                let shown = record(address.value, shapes::NodeAddress);
                address.duplicate_shown(shown);
            }
        }
        let spec = node.at("spec");
        let (now, was) = (spec.at("podCIDRs").list(), list(old, "spec.podCIDRs"));
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        if was.is_empty() {
        } else if now.len() != was.len() {
            spec.at("podCIDRs").forbidden(detail);
        } else {
            for _ in now.iter().zip(was).filter(|(now, was)| now != was) {
                spec.at("podCIDRs").forbidden(detail);
            }
        }
        let provider = text(old, "spec.providerID");
        if !provider.is_empty() && provider != spec.at("providerID").text() {
            let detail = "node updates may not change providerID except from \"\" to valid";
            spec.at("providerID").forbidden(detail);
        }
        taints(node);
    });
}

/// Checks a change of a node's status.
pub(super) fn status(node: &Value, _: &Value, errors: &mut Errors) {
    check(node, "", errors, amounts);
}
