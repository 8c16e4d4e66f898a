//! The roles and bindings every cluster begins with, and how a start brings stored ones up to date.
//!
//! The table lies in `bootstrap/policy.txt`. A start creates what is missing and adds what an older version lacked; it never
//! takes away, so that an administrator's additions stay. An object whose annotation
//! `rbac.authorization.kubernetes.io/autoupdate` is not `true` is left alone, as upstream does.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::rbac::{GROUP, Rule, covers};

/// The annotation that lets a start update an object.
pub const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

const TABLE: &str = include_str!("bootstrap/policy.txt");

/// All bootstrap roles and bindings as objects to create, roles before the bindings that name them.
pub fn policy() -> &'static [Value] {
    static POLICY: LazyLock<Vec<Value>> =
        LazyLock::new(|| parse(TABLE).expect("the table is part of this program and tested"));
    &POLICY
}

/// What `found` must become for it to give at least what `wanted` gives; none if it does already or must be left alone.
///
/// Missing rules, subjects, labels and the aggregation rule are added. A binding to another role than `wanted` cannot be
/// changed in place and has to be replaced; that is the caller's to do, see [`must_be_replaced`].
pub fn reconcile(found: &Value, wanted: &Value) -> Option<Value> {
    if !updates_itself(found) || must_be_replaced(found, wanted) {
        return None;
    }
    let mut merged = found.clone();
    let labels = wanted
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        let metadata = merged.get_mut("metadata")?.as_object_mut()?;
        let labels = metadata
            .entry("labels")
            .or_insert_with(|| Map::new().into());
        labels.as_object_mut()?.insert(key.clone(), value.clone());
    }
    if let Some(aggregation) = wanted.get("aggregationRule") {
        // The rules of an aggregated role belong to its aggregation.
        merged
            .as_object_mut()?
            .insert("aggregationRule".into(), aggregation.clone());
    } else if wanted.get("rules").is_some() {
        let missing = covers(&rules(found), &rules(wanted));
        extend(
            &mut merged,
            "rules",
            missing.into_iter().map(|rule| json!(rule)),
        );
    }
    let subjects = wanted
        .get("subjects")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let known = list(found, "subjects");
    let missing = subjects.filter(|subject| !known.contains(subject)).cloned();
    extend(&mut merged, "subjects", missing);
    (merged != *found).then_some(merged)
}

/// Whether `found` binds another role than `wanted`, which no update can change.
pub fn must_be_replaced(found: &Value, wanted: &Value) -> bool {
    updates_itself(found) && found.get("roleRef") != wanted.get("roleRef")
}

fn updates_itself(found: &Value) -> bool {
    let annotations = found.pointer("/metadata/annotations");
    let autoupdate = annotations.and_then(|annotations| annotations.get(AUTOUPDATE));
    autoupdate.and_then(Value::as_str) == Some("true")
}

fn rules(role: &Value) -> Vec<Rule> {
    let rules = list(role, "rules").iter().cloned();
    rules
        .filter_map(|rule| serde_json::from_value(rule).ok())
        .collect()
}

fn list<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn extend(object: &mut Value, name: &str, items: impl Iterator<Item = Value>) {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return;
    }
    if !object.get(name).is_some_and(Value::is_array) {
        object[name] = json!([]);
    }
    if let Some(list) = object[name].as_array_mut() {
        list.extend(items);
    }
}

/// Reads the table; the format is described at its top.
fn parse(table: &str) -> Result<Vec<Value>, String> {
    let mut objects: Vec<Value> = Vec::new();
    for (number, line) in table.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<_> = line.split_whitespace().collect();
        let read = if line.starts_with(' ') {
            objects.last_mut().and_then(|object| detail(object, &words))
        } else {
            head(&words).map(|object| objects.push(object))
        };
        read.ok_or_else(|| format!("line {} is not understood: {line}", number + 1))?;
    }
    Ok(objects)
}

fn head(words: &[&str]) -> Option<Value> {
    let (kind, name) = (*words.first()?, *words.get(1)?);
    let mut metadata = json!({
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {AUTOUPDATE: "true"},
    });
    if !kind.starts_with("Cluster") {
        let (namespace, name) = name.split_once('/')?;
        metadata["namespace"] = namespace.into();
        metadata["name"] = name.into();
    }
    let mut object =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": metadata});
    match kind {
        "ClusterRole" | "Role" => {}
        "ClusterRoleBinding" | "RoleBinding" => {
            let role_kind = kind.strip_suffix("Binding")?;
            object["roleRef"] =
                json!({"apiGroup": GROUP, "kind": role_kind, "name": words.get(2)?});
        }
        _ => return None,
    }
    Some(object)
}

fn detail(object: &mut Value, words: &[&str]) -> Option<()> {
    let items = |list: &str| -> Value {
        let items = list
            .split(',')
            .map(|item| if item == "~" { "" } else { item });
        items.collect()
    };
    match *words {
        ["label", key] => object["metadata"]["labels"][key] = "true".into(),
        ["aggregate", key] => {
            let rule = json!({"clusterRoleSelectors": [{"matchLabels": {key: "true"}}]});
            object["aggregationRule"] = rule;
        }
        ["allow", verbs, paths] => {
            let rule = json!({"nonResourceURLs": items(paths), "verbs": items(verbs)});
            extend(object, "rules", std::iter::once(rule));
        }
        ["allow", verbs, groups, resources, ref names @ ..] => {
            let mut rule = json!({
                "apiGroups": items(groups), "resources": items(resources), "verbs": items(verbs),
            });
            if let [names] = names {
                rule["resourceNames"] = items(names);
            }
            extend(object, "rules", std::iter::once(rule));
        }
        ["to", kind, name] => {
            let subject = match kind {
                "group" => json!({"apiGroup": GROUP, "kind": "Group", "name": name}),
                "user" => json!({"apiGroup": GROUP, "kind": "User", "name": name}),
                "account" => {
                    let (namespace, name) = name.split_once('/')?;
                    json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
                }
                _ => return None,
            };
            extend(object, "subjects", std::iter::once(subject));
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests;
