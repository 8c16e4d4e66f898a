use std::sync::Arc;

use super::*;
use crate::{
    access::Identity,
    registry::{Strategy, tests::row},
    store::State,
};

struct Pods;

impl Strategy for Pods {
    fn grace(&self, _: &Value, requested: Option<i64>) -> Option<i64> {
        Some(requested.unwrap_or(30))
    }
}

#[track_caller]
fn check(graceful: bool, object: Value, options: &str) -> Result<Verdict, Status> {
    let mut resource = row("", "pods", "Pod", true);
    if graceful {
        resource.strategy = Arc::new(Pods);
    }
    let user = Identity::internal("test");
    let state = State::new(1);
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let cx = Context {
        resource: &resource,
        subresource: "",
        now,
        entropy: 0,
        dry_run: false,
        user: &user,
        state: &state,
    };
    let options: Value = serde_json::from_str(options).unwrap();
    decide(
        &cx,
        &object,
        &DeleteOptions::parse("", Some(&options)).unwrap(),
    )
}

fn marked(verdict: Result<Verdict, Status>) -> Value {
    match verdict {
        Ok(Verdict::Mark(object)) => object["metadata"].clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn plain_objects_go_at_once() {
    let object = json!({"metadata": {"name": "a", "uid": "u"}});
    assert_eq!(check(false, object, "{}"), Ok(Verdict::Remove));
}

#[test]
fn finalizers_keep_an_object_that_is_marked() {
    let object = json!({"metadata": {"name": "a", "finalizers": ["x/y"], "generation": 1}});
    assert_eq!(
        marked(check(false, object, "{}")),
        json!({"name": "a", "finalizers": ["x/y"], "generation": 2, "deletionGracePeriodSeconds": 0,
               "deletionTimestamp": "2026-01-02T03:04:05Z"})
    );
    let waiting = json!({"metadata": {"name": "a", "finalizers": ["x/y"],
        "deletionGracePeriodSeconds": 0, "deletionTimestamp": "2026-01-02T03:04:05Z"}});
    assert_eq!(check(false, waiting, "{}"), Ok(Verdict::Keep));
}

#[test]
fn propagation_sets_and_clears_finalizers() {
    let plain = || json!({"metadata": {"name": "a"}});
    let orphan = marked(check(false, plain(), r#"{"propagationPolicy":"Orphan"}"#));
    assert_eq!(orphan["finalizers"], json!(["orphan"]));
    let foreground = marked(check(
        false,
        plain(),
        r#"{"propagationPolicy":"Foreground"}"#,
    ));
    assert_eq!(foreground["finalizers"], json!(["foregroundDeletion"]));
    let had = json!({"metadata": {"name": "a", "finalizers": ["orphan"]}});
    let background = check(false, had, r#"{"propagationPolicy":"Background"}"#);
    assert_eq!(background, Ok(Verdict::Remove));
}

#[test]
fn graceful_kinds_wait_and_a_second_delete_only_shortens() {
    let object = json!({"metadata": {"name": "a"}});
    let first = marked(check(true, object.clone(), "{}"));
    assert_eq!(first["deletionTimestamp"], "2026-01-02T03:04:35Z");
    let waiting = || {
        json!({"metadata": {"name": "a", "deletionGracePeriodSeconds": 30,
        "deletionTimestamp": "2026-01-02T03:04:25Z"}})
    };
    assert_eq!(
        check(true, waiting(), r#"{"gracePeriodSeconds":60}"#),
        Ok(Verdict::Keep)
    );
    let last = |object| match check(true, object, r#"{"gracePeriodSeconds":0}"#) {
        Ok(Verdict::MarkAndRemove(object)) => object["metadata"].clone(),
        other => panic!("{other:?}"),
    };
    let at_once = json!({"name": "a", "deletionGracePeriodSeconds": 0, "deletionTimestamp": "2026-01-02T03:04:05Z"});
    assert_eq!(last(waiting()), at_once);
    assert_eq!(last(object), at_once);
    let sooner = marked(check(true, waiting(), r#"{"gracePeriodSeconds":1}"#));
    assert_eq!(sooner["deletionTimestamp"], "2026-01-02T03:04:05Z");
}

#[test]
fn preconditions_must_hold() {
    let object = json!({"metadata": {"name": "a", "uid": "u"}});
    let error = check(false, object, r#"{"preconditions":{"uid":"v"}}"#).unwrap_err();
    assert_eq!(error.code(), 409);
    assert!(
        error
            .message
            .contains("the UID in the precondition (v) does not match the UID in record (u).")
    );
}
