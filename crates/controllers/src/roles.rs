//! The rules of a ClusterRole that collects those of others.
//!
//! The server decides with aggregation resolved already; writing the rules down lets people and other programs read them.
//!
//! Source: Kubernetes v1.35, pkg/controller/clusterroleaggregation.

use flotilla_machinery::labels::Selector;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use kube::ResourceExt;
use serde_json::{Map, Value};

/// Whether `role` collects the rules of roles with these labels.
pub fn collects(role: &ClusterRole, labels: &Map<String, Value>) -> bool {
    let selectors = role
        .aggregation_rule
        .as_ref()
        .and_then(|rule| rule.cluster_role_selectors.as_ref());
    selectors.into_iter().flatten().any(|selector| {
        let selector =
            serde_json::to_value(selector).map(|selector| Selector::from_value(&selector));
        matches!(selector, Ok(Ok(selector)) if selector.matches_labels(Some(labels)))
    })
}

/// The labels of a role as selectors read them.
pub fn labels(role: &ClusterRole) -> Map<String, Value> {
    role.labels()
        .iter()
        .map(|(key, value)| (key.clone(), value.clone().into()))
        .collect()
}

/// The rules that `role` should have, given all roles in order of their names; none if it has them or collects none.
pub fn rules<'a>(
    role: &ClusterRole,
    all: impl Iterator<Item = &'a ClusterRole>,
) -> Option<Vec<PolicyRule>> {
    role.aggregation_rule.as_ref()?;
    let mut rules: Vec<PolicyRule> = Vec::new();
    let collected =
        all.filter(|other| other.name_any() != role.name_any() && collects(role, &labels(other)));
    for rule in collected.flat_map(|other| other.rules.iter().flatten()) {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    let has = role.rules.as_deref().unwrap_or_default();
    let same = has.len() == rules.len() && rules.iter().all(|rule| has.contains(rule));
    (!same).then_some(rules)
}

#[cfg(test)]
mod tests;
