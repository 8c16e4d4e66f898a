use std::sync::Arc;

use flotilla_machinery::builtin;

use super::*;
use crate::registry::{Custom, built_in, tests::row};

fn registry() -> Registry {
    Registry::new(built_in())
}

fn get(registry: &Registry, path: &str) -> Option<Value> {
    let document = document(registry, path, None, "127.0.0.1:6443")?;
    assert_eq!(document.content_type, JSON);
    Some(serde_json::from_slice(&document.body).unwrap())
}

/// The entry called `name` in a resource list.
fn entry(list: &Value, name: &str) -> Value {
    let entries = list["resources"].as_array().unwrap();
    entries
        .iter()
        .find(|entry| entry["name"] == name)
        .cloned()
        .unwrap_or_default()
}

#[test]
fn hashes_of_all_rows_are_those_of_their_storage_version() {
    for row in builtin::resources().iter().filter(|row| row.can("watch")) {
        let (group, version) = match row.plural {
            // Upstream still stores these in an older version.
            "volumeattributesclasses" | "customresourcedefinitions" => (row.group, "v1beta1"),
            _ => row.storage,
        };
        let expected = storage_version_hash(group, version, row.kind);
        assert_eq!(row.storage_version_hash, expected, "{}", row.plural);
    }
}

#[test]
fn core_resources_are_listed_as_a_real_server_lists_them() {
    let list = get(&registry(), "/api/v1").unwrap();
    assert_eq!(list["groupVersion"], "v1");
    assert!(list.get("apiVersion").is_none());
    assert_eq!(
        entry(&list, "pods"),
        json!({
            "name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            "shortNames": ["po"], "categories": ["all"], "storageVersionHash": "xPOwRZ+Yhw8=",
        })
    );
    assert_eq!(
        entry(&list, "pods/eviction"),
        json!({
            "name": "pods/eviction", "singularName": "", "namespaced": true, "group": "policy",
            "version": "v1", "kind": "Eviction", "verbs": ["create"],
        })
    );
    assert_eq!(entry(&list, "bindings")["verbs"], json!(["create"]));
    assert!(entry(&list, "bindings").get("storageVersionHash").is_none());
}

#[test]
fn groups_keep_their_order_and_prefer_stable_versions() {
    let list = get(&registry(), "/apis").unwrap();
    let groups: Vec<&str> = list["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| g["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        groups[..3],
        ["apiregistration.k8s.io", "apps", "events.k8s.io"]
    );
    let autoscaling = get(&registry(), "/apis/autoscaling").unwrap();
    assert_eq!(
        autoscaling,
        json!({
            "kind": "APIGroup", "apiVersion": "v1", "name": "autoscaling",
            "versions": [
                {"groupVersion": "autoscaling/v2", "version": "v2"},
                {"groupVersion": "autoscaling/v1", "version": "v1"},
            ],
            "preferredVersion": {"groupVersion": "autoscaling/v2", "version": "v2"},
        })
    );
    assert_eq!(get(&registry(), "/apis/nothing.example.com"), None);
    assert_eq!(get(&registry(), "/apis/apps/v2"), None);
    assert_eq!(get(&registry(), "/version"), None);
}

#[test]
fn versions_are_ordered_by_stability() {
    let mut versions = [
        "foo10",
        "v1alpha1",
        "v10beta3",
        "v1",
        "foo1",
        "v11alpha2",
        "v10",
        "v2",
        "v3beta1",
        "v12alpha1",
    ];
    versions.sort_by_key(|version| Reverse(version_priority(version)));
    let expected = [
        "v10",
        "v2",
        "v1",
        "v10beta3",
        "v3beta1",
        "v12alpha1",
        "v11alpha2",
        "v1alpha1",
        "foo1",
        "foo10",
    ];
    assert_eq!(versions, expected);
}

#[test]
fn kubectl_gets_the_aggregated_form() {
    let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let kubectl = format!("{v2},{},application/json", v2.replace("v2;", "v2beta1;"));
    let registry = registry();
    let document = document(&registry, "/apis", Some(&kubectl), "").unwrap();
    assert_eq!(document.content_type, v2);
    assert_eq!(document.etag.as_ref().unwrap().len(), 66);
    let list: Value = serde_json::from_slice(&document.body).unwrap();
    let apps = &list["items"][1];
    assert_eq!(apps["metadata"]["name"], "apps");
    let deployments = &apps["versions"][0]["resources"][2];
    assert_eq!(
        deployments["responseKind"],
        json!({"group": "", "kind": "Deployment", "version": ""})
    );
    assert_eq!(
        deployments["subresources"][0],
        json!({
            "subresource": "scale", "verbs": ["get", "patch", "update"],
            "responseKind": {"group": "autoscaling", "kind": "Scale", "version": "v1"},
        })
    );
    let core = super::document(&registry, "/api/", Some(v2), "").unwrap();
    let core: Value = serde_json::from_slice(&core.body).unwrap();
    assert_eq!(core["items"].as_array().unwrap().len(), 1);
}

#[test]
fn others_get_the_old_form() {
    let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    for accept in [None, Some("application/json"), Some("*/*"), Some(beta)] {
        let document = document(&registry(), "/apis", accept, "").unwrap();
        assert_eq!((document.content_type, document.etag), (JSON, None));
    }
}

#[test]
fn custom_groups_come_last_and_say_their_group() {
    let mut custom = row("aaa.example.com", "things", "Thing", true);
    custom.custom = Some(Custom::default());
    let registry = registry().with_custom([Arc::new(custom)], 1);
    let list = get(&registry, "/apis").unwrap();
    assert_eq!(
        list["groups"].as_array().unwrap().last().unwrap()["name"],
        "aaa.example.com"
    );
    let aggregated = document(&registry, "/apis", Some(AGGREGATED), "").unwrap();
    let aggregated: Value = serde_json::from_slice(&aggregated.body).unwrap();
    let last = aggregated["items"].as_array().unwrap().last().unwrap();
    let kind = &last["versions"][0]["resources"][0]["responseKind"];
    assert_eq!(
        *kind,
        json!({"group": "aaa.example.com", "version": "v1", "kind": "Thing"})
    );
}
