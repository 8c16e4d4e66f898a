//! Definitions of custom resources, from the definitions as users wrote them.

use serde_json::{Map, Value, json};

use super::Flavor;
use crate::{
    registry::Resource,
    store::{ResourceKey, State},
};

/// Metadata of every object.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// Metadata of every list.
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// Keys of a structural schema that OpenAPI v2 cannot say.
const NOT_IN_V2: [&str; 8] = [
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "nullable",
    "default",
    "x-kubernetes-validations",
    "x-kubernetes-embedded-resource",
];

/// The stored CustomResourceDefinitions of a group, parsed.
pub(super) fn of_group(state: &State, group: &str) -> Vec<Value> {
    each(state, |name| {
        name.split_once('.').is_some_and(|(_, of)| of == group)
    })
    .filter_map(|(_, body)| serde_json::from_slice(body).ok())
    .collect()
}

/// Revisions of the definitions of a group, for validators.
pub(super) fn revisions(state: &State, group: &str) -> Vec<u64> {
    each(state, |name| {
        name.split_once('.').is_some_and(|(_, of)| of == group)
    })
    .map(|(rev, _)| rev)
    .collect()
}

/// Definitions are called `plural.group`, which finds those of a group without parsing.
fn each<'s>(
    state: &'s State,
    wanted: impl Fn(&str) -> bool + 's,
) -> impl Iterator<Item = (u64, &'s [u8])> {
    let key = ResourceKey::new("apiextensions.k8s.io", "customresourcedefinitions");
    let objects = state
        .collection(&key)
        .into_iter()
        .flat_map(|all| &all.objects);
    objects
        .filter(move |(_, object)| wanted(&object.key.name))
        .map(|(_, object)| (object.rev, &object.body[..]))
}

/// The name of a custom resource's definition: `com.example.stable.v1.CronTab`.
pub(super) fn definition_name(group: &str, version: &str, kind: &str) -> String {
    let reversed: Vec<&str> = group.rsplit('.').collect();
    format!("{}.{version}.{kind}", reversed.join("."))
}

/// Definitions of one served version: of an object and of a list.
pub(super) fn definitions(row: &Resource, crds: &[Value], flavor: Flavor) -> [(String, Value); 2] {
    let schema = crds
        .iter()
        .find(|crd| crd["spec"]["names"]["plural"] == *row.plural)
        .and_then(|crd| {
            let versions = crd["spec"]["versions"].as_array()?;
            versions
                .iter()
                .find(|version| version["name"] == *row.version)
        })
        .map(|version| version["schema"]["openAPIV3Schema"].clone());
    let mut object = match schema {
        Some(schema) if schema.is_object() => schema,
        _ => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    };
    if flavor == Flavor::V2 {
        reduce(&mut object);
    }
    let name = definition_name(&row.group, &row.version, &row.kind);
    let gvk = |kind: &str| json!([{"group": row.group, "version": row.version, "kind": kind}]);
    if !object["properties"].is_object() {
        object["properties"] = Value::Object(Map::new());
    }
    type_meta(&mut object, flavor, OBJECT_META);
    object["x-kubernetes-group-version-kind"] = gvk(&row.kind);
    let mut list = json!({
        "type": "object",
        "required": ["items"],
        "properties": {"items": {"type": "array", "items": flavor.reference(&name)}},
        "x-kubernetes-group-version-kind": gvk(&row.list_kind),
    });
    type_meta(&mut list, flavor, LIST_META);
    let list_name = definition_name(&row.group, &row.version, &row.list_kind);
    [(name, object), (list_name, list)]
}

fn type_meta(object: &mut Value, flavor: Flavor, metadata: &str) {
    let properties = &mut object["properties"];
    properties["apiVersion"] = json!({"type": "string"});
    properties["kind"] = json!({"type": "string"});
    properties["metadata"] = flavor.reference(metadata);
}

/// Drops what OpenAPI v2 cannot say, at every level of a schema.
fn reduce(schema: &mut Value) {
    let Some(keys) = schema.as_object_mut() else {
        return;
    };
    keys.retain(|key, _| !NOT_IN_V2.contains(&key.as_str()));
    if keys.contains_key("x-kubernetes-int-or-string") {
        keys.remove("type");
    }
    if keys.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
        keys.retain(|key, _| key == "description" || key.starts_with("x-") || key == "type");
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = keys.get_mut(inner) {
            reduce(inner);
        }
    }
    for (_, property) in keys
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        reduce(property);
    }
}
