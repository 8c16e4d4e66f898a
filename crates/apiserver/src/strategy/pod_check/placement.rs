//! Tolerations, gates and spreading over a topology.

use std::collections::BTreeSet;

use flotilla_machinery::names;
use serde_json::Value;

use crate::strategy::{field::Field, fill::list};

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// What a taint does.
pub(in crate::strategy) fn taint_effect(effect: &Field<'_, '_>) {
    effect.one_of(&EFFECTS);
}

/// Which taints a pod bears.
pub(in crate::strategy) fn tolerations(tolerations: &Field<'_, '_>) {
    for toleration in tolerations.items() {
        let key = toleration.at("key");
        let (operator, value) = (toleration.at("operator"), toleration.at("value").text());
        key.named_if_any(names::qualified_name);
        if key.text().is_empty() && operator.text() != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            operator.invalid_text(detail);
        }
        let effect = toleration.at("effect");
        if toleration.at("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
            effect.invalid_text("effect must be 'NoExecute' when `tolerationSeconds` is set");
        }
        match operator.text() {
            "" | "Equal" => {
                let complaints = names::label_value(value);
                if !complaints.is_empty() {
                    operator.invalid_as(value, complaints.join(";"));
                }
            }
            "Exists" if !value.is_empty() => {
                operator.invalid_as(value, "value must be empty when `operator` is 'Exists'");
            }
            "Exists" => {}
            "Lt" | "Gt" => operator.not_supported(&["Equal", "Exists", "Lt", "Gt"]),
            _ => operator.not_supported(&["Equal", "Exists"]),
        }
        if !effect.text().is_empty() {
            effect.supported(&EFFECTS);
        }
    }
}

/// What holds a pod back.
pub(super) fn scheduling_gates(gates: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for gate in gates.items() {
        let name = gate.at("name").text();
        for complaint in names::qualified_name(name) {
            gate.invalid_as(name, complaint);
        }
        if !seen.insert(gate.value["name"].as_str().unwrap_or_default()) {
            gate.duplicate_of(name);
        }
    }
}

/// How pods spread over nodes and zones.
pub(super) fn spread(constraints: &Field<'_, '_>) {
    for (index, constraint) in constraints.items().enumerate() {
        positive(&constraint.at("maxSkew"));
        let (key, action) = (
            constraint.at("topologyKey"),
            constraint.at("whenUnsatisfiable"),
        );
        if key.text().is_empty() {
            key.required("can not be empty");
        }
        action.supported(&["DoNotSchedule", "ScheduleAnyway"]);
        let same = |other: &&Value| {
            other["topologyKey"] == *key.value && other["whenUnsatisfiable"] == *action.value
        };
        if constraints.list()[index + 1..]
            .iter()
            .any(|other| same(&other))
        {
            let pair = format!("{{{}, {}}}", key.text(), action.text());
            constraint
                .at("{topologyKey, whenUnsatisfiable}")
                .duplicate_of(pair);
        }
        let domains = constraint.at("minDomains");
        if domains.is_set() {
            positive(&domains);
            if action.text() != "DoNotSchedule" {
                domains.invalid(format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}",
                    action.text()
                ));
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            constraint.at(policy).supported_if_set(&["Honor", "Ignore"]);
        }
        label_keys(&constraint);
        constraint.at("labelSelector").selector();
    }
}

fn positive(number: &Field<'_, '_>) {
    if number.count() <= 0 {
        number.invalid_as(number.count(), "must be greater than zero");
    }
}

/// Keys of labels that are added to a selector when the pod is made.
pub(super) fn label_keys(term: &Field<'_, '_>) {
    let selector = term.at("labelSelector");
    for name in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = term.at(name);
        if keys.list().is_empty() {
        } else if !selector.is_set() {
            keys.forbidden("must not be specified when labelSelector is not set");
        } else {
            for key in keys.items() {
                key.complain(names::qualified_name(key.text()));
            }
        }
    }
    let (keys, unlike) = (term.at("matchLabelKeys"), term.at("mismatchLabelKeys"));
    let mut selected: BTreeSet<&str> = selector
        .at("matchLabels")
        .entries()
        .map(|(key, _)| key)
        .collect();
    for expression in list(selector.value, "matchExpressions") {
        let key = expression["key"].as_str().unwrap_or_default();
        // The server itself adds one expression for each key; a second one is the client's.
        if let Some(at) = keys.list().iter().position(|k| k == key)
            && selected.contains(key)
        {
            term.item(at)
                .invalid_as(key, "exists in both matchLabelKeys and labelSelector");
        }
        selected.insert(key);
    }
    for key in keys.items() {
        if unlike.list().contains(key.value) {
            key.invalid("exists in both matchLabelKeys and mismatchLabelKeys");
        }
    }
}
