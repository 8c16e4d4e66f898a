//! Collecting rules.

use serde_json::json;

use super::*;

fn role(name: &str, labels: Value, collects: Option<&str>, resources: &[&str]) -> ClusterRole {
    let rules: Vec<_> = resources
        .iter()
        .map(|resource| json!({"apiGroups": [""], "resources": [resource], "verbs": ["get"]}))
        .collect();
    let aggregation =
        collects.map(|label| json!({"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}));
    let role = json!({"metadata": {"name": name, "labels": labels}, "rules": rules, "aggregationRule": aggregation});
    serde_json::from_value(role).unwrap()
}

#[test]
fn rules_are_collected_once_in_order_of_the_roles() {
    let labelled = json!({"to-edit": "true"});
    let roles = [
        role("a", labelled.clone(), None, &["pods", "secrets"]),
        role("b", json!({"to-edit": "false"}), None, &["nodes"]),
        role("c", labelled.clone(), None, &["secrets", "services"]),
        role("edit", labelled, Some("to-edit"), &["stale"]),
    ];
    let found = rules(&roles[3], roles.iter()).unwrap();
    let resources: Vec<_> = found
        .iter()
        .map(|rule| rule.resources.as_ref().unwrap()[0].as_str())
        .collect();
    assert_eq!(resources, ["pods", "secrets", "services"]);
    let settled = ClusterRole {
        rules: Some(found.into_iter().rev().collect()),
        ..roles[3].clone()
    };
    assert_eq!(rules(&settled, roles.iter()), None, "in any order");
    assert_eq!(rules(&roles[0], roles.iter()), None, "collects nothing");
}
