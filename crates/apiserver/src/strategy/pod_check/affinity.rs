//! Which nodes and which neighbours a pod wants.

use std::collections::BTreeSet;

use flotilla_machinery::names;

use super::placement::label_keys;
use crate::strategy::{field::Field, fill::text};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn check(affinity: &Field<'_, '_>) {
    let node = affinity.at("nodeAffinity");
    if node.at(REQUIRED).is_set() {
        node_selector(&node.at(REQUIRED));
    }
    for term in node.at(PREFERRED).items() {
        weight(&term);
        node_term(&term.at("preference"), false);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pod = affinity.at(kind);
        for term in pod.at(REQUIRED).items() {
            pod_term(&term);
        }
        for term in pod.at(PREFERRED).items() {
            weight(&term);
            pod_term(&term.at("podAffinityTerm"));
        }
    }
}

fn weight(term: &Field<'_, '_>) {
    let weight = term.at("weight");
    if !(1..=100).contains(&weight.count()) {
        weight.invalid_as(weight.count(), "must be in the range 1-100");
    }
}

/// Terms for nodes, one of which must hold.
pub(in crate::strategy) fn node_selector(selector: &Field<'_, '_>) {
    let terms = selector.at("nodeSelectorTerms");
    if terms.list().is_empty() {
        terms.required("must have at least one node selector term");
    }
    for term in terms.items() {
        node_term(&term, true);
    }
}

fn node_term(term: &Field<'_, '_>, checks_values: bool) {
    for expression in term.at("matchExpressions").items() {
        let (operator, values) = (expression.at("operator"), expression.at("values"));
        match (operator.text(), values.list().len()) {
            ("In" | "NotIn", 0) => {
                values.required("must be specified when `operator` is 'In' or 'NotIn'");
            }
            ("In" | "NotIn", _) | ("Exists" | "DoesNotExist", 0) | ("Gt" | "Lt", 1) => {}
            ("Exists" | "DoesNotExist", _) => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                values.forbidden(detail);
            }
            ("Gt" | "Lt", _) => {
                values.required("must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            _ => operator.invalid_text("not a valid selector operator"),
        }
        let key = expression.at("key");
        key.complain(names::qualified_name(key.text()));
        if checks_values {
            for value in values.items() {
                value.complain(names::label_value(value.text()));
            }
        }
    }
    for expression in term.at("matchFields").items() {
        node_field(&expression);
    }
}

fn node_field(expression: &Field<'_, '_>) {
    let (operator, values) = (expression.at("operator"), expression.at("values"));
    match (operator.text(), values.list().len()) {
        ("In" | "NotIn", 1) => {}
        ("In" | "NotIn", _) => {
            let detail =
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            values.required(detail);
        }
        _ => operator.invalid_text("not a valid selector operator"),
    }
    let key = expression.at("key");
    if key.text() != "metadata.name" {
        key.invalid_text("not a valid field selector key");
        return;
    }
    for value in values.items() {
        value.complain(names::dns1123_subdomain(value.text()));
    }
}

fn pod_term(term: &Field<'_, '_>) {
    term.at("labelSelector").selector();
    term.at("namespaceSelector").selector();
    for name in term.at("namespaces").list() {
        let name = name.as_str().unwrap_or_default();
        for complaint in names::dns1123_label(name) {
            // Upstream's path has the singular and no index.
            term.at("namespace").invalid_as(name, complaint);
        }
    }
    label_keys(term);
    let key = term.at("topologyKey");
    if key.text().is_empty() {
        key.required("can not be empty");
    }
    key.complain(names::qualified_name(key.text()));
}

/// Terms for the topology of a storage class.
pub(in crate::strategy) fn topology_terms(terms: &Field<'_, '_>) {
    let mut raw = BTreeSet::new();
    for term in terms.items() {
        let mut seen = BTreeSet::new();
        for expression in term.at("matchLabelExpressions").items() {
            let (key, values) = (expression.at("key"), expression.at("values"));
            if values.list().is_empty() {
                values.required("");
            }
            let mut known = BTreeSet::new();
            for value in values.items() {
                if !known.insert(value.text()) {
                    value.duplicate();
                }
            }
            key.complain(names::qualified_name(key.text()));
            if !seen.insert(text(expression.value, "key")) {
                key.duplicate();
            }
        }
        if !raw.insert(term.value.to_string()) {
            term.at("matchLabelExpressions").duplicate_of("");
        }
    }
}
