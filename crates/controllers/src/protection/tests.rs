use serde_json::{from_value, json};

use super::*;

fn metadata(finalizers: &[&str], is_deleting: bool) -> ObjectMeta {
    let deleted = is_deleting.then_some("2026-01-02T03:04:05Z");
    from_value(json!({"finalizers": finalizers, "deletionTimestamp": deleted})).unwrap()
}

#[test]
fn what_is_used_stays_and_everything_is_protected() {
    let wanted = |found: &[&str], is_deleting, is_used| {
        finalizers(&metadata(found, is_deleting), CLAIM, is_used)
    };
    assert_eq!(wanted(&["x/y"], false, false).unwrap(), ["x/y", CLAIM]);
    assert_eq!(wanted(&[CLAIM], false, false), None);
    assert_eq!(wanted(&[CLAIM, "x/y"], true, true), None);
    assert_eq!(wanted(&[CLAIM, "x/y"], true, false).unwrap(), ["x/y"]);
    assert_eq!(
        wanted(&["x/y"], true, false),
        None,
        "too late to protect it"
    );
    assert!(is_waiting(&metadata(&[CLAIM], true), CLAIM));
    assert!(!is_waiting(&metadata(&["x/y"], true), CLAIM));
}

#[test]
fn scheduled_pods_use_claims_by_name_or_through_volumes_of_their_own() {
    let pod = |node: &str, volume| -> Pod {
        from_value(json!({
            "metadata": {"name": "p"},
            "spec": {"nodeName": node, "containers": [], "volumes": [volume]},
        }))
        .unwrap()
    };
    let named = || json!({"name": "v", "persistentVolumeClaim": {"claimName": "c"}});
    assert!(uses(&pod("n", named()), "c"));
    assert!(!uses(&pod("n", named()), "d"));
    assert!(!uses(&pod("", named()), "c"));
    let own = json!({"name": "v", "ephemeral": {}});
    assert!(uses(&pod("n", own), "p-v"));
}

#[test]
fn a_bound_volume_is_used() {
    let volume = |phase: &str| -> PersistentVolume {
        from_value(json!({"metadata": {}, "status": {"phase": phase}})).unwrap()
    };
    assert!(is_bound(&volume("Bound")));
    assert!(!is_bound(&volume("Released")));
}
