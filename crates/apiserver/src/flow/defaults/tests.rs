use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{AUTOUPDATE, objects, revise};

#[test]
fn every_schema_names_a_level_that_is_there() {
    let objects = objects();
    let levels: BTreeSet<&str> = objects
        .iter()
        .filter(|object| object["kind"] == "PriorityLevelConfiguration")
        .filter_map(|level| level["metadata"]["name"].as_str())
        .collect();
    let schemas = objects
        .iter()
        .filter(|object| object["kind"] == "FlowSchema");
    for schema in schemas {
        let level = schema["spec"]["priorityLevelConfiguration"]["name"].as_str();
        assert!(
            level.is_some_and(|level| levels.contains(level)),
            "{schema}"
        );
    }
    assert_eq!(objects.len(), 19);
}

#[test]
fn a_start_restores_what_nobody_has_taken_over() {
    // Name, annotation, generation, whether the spec is restored, the annotation then.
    let cases = [
        ("probes", json!("true"), 1, true, "true"),
        ("probes", json!("true"), 2, true, "true"),
        ("probes", json!("false"), 1, false, "false"),
        ("probes", json!(null), 1, true, "true"),
        ("probes", json!(null), 2, false, "false"),
        ("exempt", json!("false"), 2, true, "true"),
    ];
    for (name, annotation, generation, is_restored, then) in cases {
        let mut stored = json!({
            "metadata": {"name": name, "generation": generation, "annotations": {}},
            "spec": {"matchingPrecedence": 7},
        });
        if !annotation.is_null() {
            stored["metadata"]["annotations"][AUTOUPDATE] = annotation.clone();
        }
        let wanted = json!({"spec": {"matchingPrecedence": 2}});
        let revised = revise(&stored, &wanted).unwrap_or_else(|| stored.clone());
        let case = format!("{name} {annotation} {generation}");
        let restored = revised["spec"] == wanted["spec"];
        assert_eq!(restored, is_restored, "{case}");
        assert_eq!(
            revised["metadata"]["annotations"][AUTOUPDATE], then,
            "{case}"
        );
        assert_eq!(revise(&revised, &wanted), None, "{case}: twice");
    }
}

#[test]
fn what_is_as_it_should_be_is_left_alone() {
    for object in objects() {
        assert_eq!(revise(&object, &object), None::<Value>);
    }
}
