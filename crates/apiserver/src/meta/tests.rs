use serde_json::json;

use super::*;
use crate::registry::Generic;

#[test]
fn a_new_object_carries_only_what_the_server_says() {
    let mut object = json!({"metadata": {"name": "a", "uid": "forged", "labels": {},
        "deletionTimestamp": "2020-01-01T00:00:00Z", "resourceVersion": "9"}});
    stamp_new(&mut object, "real", "2026-01-02T03:04:05Z".parse().unwrap());
    assert_eq!(
        object["metadata"],
        json!({"name": "a", "uid": "real", "creationTimestamp": "2026-01-02T03:04:05Z"})
    );
}

#[test]
fn an_update_cannot_change_what_the_server_owns() {
    let old = json!({"metadata": {"uid": "u", "creationTimestamp": "t"}});
    let mut new = json!({"metadata": {"uid": "x", "deletionTimestamp": "t"}});
    restore_server_owned(&mut new, &old);
    assert_eq!(new, old);
}

#[test]
fn mistakes_are_named_by_path() {
    let object = json!({"metadata": {"name": "Bad_Name", "labels": {"a b": "c"},
        "ownerReferences": [{"kind": "Pod", "name": "p", "uid": ""}]}});
    let paths: Vec<String> = validate(&object, &Generic)
        .into_iter()
        .map(|e| e.path.to_string())
        .collect();
    assert_eq!(
        paths,
        [
            "metadata.name",
            "metadata.labels",
            "metadata.ownerReferences.apiVersion",
            "metadata.ownerReferences.uid"
        ]
    );
}

#[test]
fn a_deleted_object_gets_no_new_finalizers() {
    let old = json!({"metadata": {"deletionTimestamp": "t", "finalizers": ["a/b"]}});
    let new = json!({"metadata": {"deletionTimestamp": "t", "finalizers": ["a/b", "c/d"]}});
    let errors = validate_change(&new, &old);
    assert_eq!(
        errors[0].to_string(),
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being \
         deleted, found new finalizers []string{\"c/d\"}"
    );
}

#[test]
fn repeated_owners_are_dropped_with_a_warning() {
    let mut object = json!({"metadata": {"ownerReferences": [{"uid": "a"}, {"uid": "a"}]}});
    assert!(dedupe_owners(&mut object).unwrap().ends_with("observed: a"));
    assert_eq!(object["metadata"]["ownerReferences"], json!([{"uid": "a"}]));
    assert_eq!(dedupe_owners(&mut object), None);
}
