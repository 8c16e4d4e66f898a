//! Behaviour of the store, seen through its front door.

mod contract;
mod crash;
mod failure;
mod model;
mod restart;
mod soak;

use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};

use super::*;

fn pods() -> ResourceKey {
    ResourceKey::new("", "pods")
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + seconds.seconds()
}

fn memory() -> Store {
    Store::open(StoreConfig::new(None), at(1000)).expect("memory always opens")
}

fn pod(key: &ObjectKey, value: impl Into<Value>) -> Draft {
    let object = json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": &*key.name, "namespace": &*key.namespace, "uid": format!("uid-{key}")},
        "spec": {"value": value.into()},
    });
    Draft::new(&object, Vec::new()).expect("complete")
}

fn key(text: &str) -> ObjectKey {
    let (namespace, name) = text.split_once('/').unwrap_or(("", text));
    ObjectKey::new(namespace, name)
}

impl Store {
    async fn put(&self, name: &str, expect: Expect, value: &str) -> Result<Committed, CommitError> {
        let key = key(name);
        let op = Op::Put(pod(&key, value));
        let resource = pods();
        self.commit(Write {
            resource,
            key,
            expect,
            op,
        })
        .await
    }

    async fn create(&self, name: &str, value: &str) -> Committed {
        self.put(name, Expect::Absent, value).await.expect("new")
    }

    async fn replace(&self, name: &str, rev: u64, value: &str) -> Committed {
        let expect = Expect::Rev(rev);
        self.put(name, expect, value)
            .await
            .expect("unchanged since")
    }

    async fn delete(&self, name: &str, rev: u64) -> Result<Committed, CommitError> {
        let write = Write {
            resource: pods(),
            key: key(name),
            expect: Expect::Rev(rev),
            op: Op::Delete,
        };
        self.commit(write).await
    }

    fn listed(&self) -> Vec<String> {
        let state = self.state();
        let objects = state.collection(&pods()).map(|pods| pods.objects.clone());
        let objects = objects.unwrap_or_default();
        objects
            .into_iter()
            .map(|(_, object)| render(object))
            .collect()
    }

    fn happened(&self, after: u64) -> Vec<String> {
        let events = self.state().events_after(&pods(), after);
        let events = events.expect("kept");
        events
            .iter()
            .map(|event| format!("{:?} {}", event.kind, render(&event.object)))
            .collect()
    }
}

/// `namespace/name=value@revision`, read back from the body.
fn render(object: &Object) -> String {
    let body: Value = serde_json::from_slice(&object.body).expect("bodies are JSON");
    let value = body["spec"]["value"].as_str().expect("text");
    let rev = body["metadata"]["resourceVersion"].as_str().expect("text");
    assert_eq!(rev, object.rev.to_string(), "body and header agree");
    format!("{}={value}@{rev}", object.key)
}

#[test]
fn a_body_begins_with_its_type_and_carries_its_revision() {
    let object = json!({
        "metadata": {"name": "a", "zone": 1, "resourceVersion": "7", "labels": {"b": "2", "a": "1"},
                     "ownerReferences": [{"uid": "u1"}, {"uid": "u2"}], "finalizers": ["x"],
                     "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "kind": "Pod", "apiVersion": "v1", "alpha": 1, "zeta": null,
    });
    let draft = Draft::new(&object, vec![("spec.nodeName".into(), "n".into())]).unwrap();
    let object = draft.object(key("a"), 1234, 5);
    let text = std::str::from_utf8(&object.body).unwrap();
    expect_test::expect![[r#"{"kind":"Pod","apiVersion":"v1","metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["x"],"labels":{"a":"1","b":"2"},"name":"a","ownerReferences":[{"uid":"u1"},{"uid":"u2"}],"resourceVersion":"1234","zone":1},"alpha":1,"zeta":null}"#]].assert_eq(text);
    assert_eq!(
        &text[..object.prefix_len as usize],
        r#"{"kind":"Pod","apiVersion":"v1","#
    );
    assert!(text[object.rev_at as usize..].starts_with("1234\""));
    expect_test::expect![[r#"
        Meta {
            uid: "",
            labels: {
                "a": "1",
                "b": "2",
            },
            fields: {
                "spec.nodeName": "n",
            },
            deleting: true,
            finalizers: true,
        }
    "#]]
    .assert_debug_eq(&object.meta);
    let deleted = object.at_revision(99);
    assert_eq!(deleted.body, text.replace("1234", "99"));
}

#[test]
fn a_body_needs_no_other_metadata_than_its_own_revision() {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
    let object = Draft::new(&object, Vec::new())
        .unwrap()
        .object(key("a"), 1, 1);
    assert_eq!(
        object.body,
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"}}"#
    );
}

#[test]
fn a_value_without_type_or_metadata_is_refused() {
    let cases = [
        (json!([]), "object has no members"),
        (
            json!({"apiVersion": "v1", "kind": "Pod"}),
            "object has no metadata",
        ),
        (
            json!({"apiVersion": "v1", "metadata": {}}),
            "object has no kind",
        ),
        (
            json!({"kind": "Pod", "apiVersion": 1, "metadata": {}}),
            "object has no apiVersion",
        ),
    ];
    for (object, expected) in cases {
        let error = Draft::new(&object, Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn keys_sort_by_the_bytes_of_their_path() {
    let mut keys = ["a/x", "a-b/x", "a.b/x", "a/y", "b/", "a0/x"].map(key);
    keys.sort();
    let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["a-b/x", "a.b/x", "a/x", "a/y", "a0/x", "b/"]);
}

#[tokio::test]
async fn a_write_larger_than_the_limit_is_refused() {
    let cfg = StoreConfig {
        object_bytes_max: 200,
        ..StoreConfig::new(None)
    };
    let store = Store::open(cfg, at(0)).unwrap();
    let error = store
        .put("a/b", Expect::Absent, &"x".repeat(200))
        .await
        .unwrap_err();
    assert!(
        matches!(error, CommitError::TooLarge { max: 200, .. }),
        "{error}"
    );
    store.create("a/b", "x").await;
}

#[tokio::test]
async fn a_closed_store_refuses_writes_and_still_reads() {
    let store = memory();
    let mut changes = store.subscribe(&pods());
    store.create("a/b", "1").await;
    store.close().await;
    assert_eq!(changes.changed().await, Some(2));
    assert_eq!(changes.changed().await, None);
    assert!(matches!(
        store.put("a/c", Expect::Absent, "1").await,
        Err(CommitError::Closed)
    ));
    assert_eq!(store.listed(), ["a/b=1@2"]);
    store.close().await;
}

#[tokio::test]
async fn only_watchers_of_the_changed_resource_and_namespace_wake() {
    let store = memory();
    let mut of_pods = store.subscribe(&pods());
    let mut of_namespace = store.subscribe_namespace(&pods(), "a");
    let mut of_other = store.subscribe_namespace(&pods(), "b");
    let mut of_nodes = store.subscribe(&ResourceKey::new("", "nodes"));
    let first = store.create("a/x", "1").await;
    let last = store.replace("a/x", first.rev, "2").await;
    // The commit thread wakes watchers before it takes the next message.
    store.tick(at(1000)).await.unwrap();
    assert_eq!(
        of_pods.changed().await,
        Some(last.rev),
        "two changes, one wake-up"
    );
    assert_eq!(of_namespace.changed().await, Some(last.rev));
    for silent in [&mut of_other, &mut of_nodes, &mut of_pods] {
        assert!(futures::poll!(std::pin::pin!(silent.changed())).is_pending());
    }
    drop((of_pods, of_namespace));
    store.tick(at(1001)).await.unwrap();
    let mut again = store.subscribe_namespace(&pods(), "a");
    let rev = store.create("a/y", "1").await.rev;
    assert_eq!(again.changed().await, Some(rev), "swept buckets come back");
}

#[tokio::test]
async fn an_encoding_of_an_event_is_made_once_and_not_kept_for_long() {
    let store = memory();
    store.create("a/x", "1").await;
    let events = store.state().events_after(&pods(), 1).unwrap();
    let first = events[0].encoded(1, || "one".into());
    assert_eq!(events[0].encoded(1, || unreachable!("remembered")), first);
    assert_eq!(events[0].encoded(2, || "two".into()), "two");
    store.tick(at(1001)).await.unwrap();
    assert_eq!(events[0].encoded(1, || unreachable!("remembered")), first);
    store.tick(at(1010)).await.unwrap();
    assert_eq!(events[0].encoded(1, || "anew".into()), "anew");
    assert_eq!(events[0].encoded(1, || "again".into()), "again");
}
