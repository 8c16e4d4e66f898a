//! What kube-apiserver's registry expects of its storage.
//!
//! Source: k8s.io/apiserver v0.35, pkg/storage/testing; each test is named after the `RunTest…` function whose facts it
//! states, as far as they concern the storage and not the encoding around it.

use super::*;

#[tokio::test]
async fn create() {
    let store = memory();
    let made = store.create("ns/foo", "1").await;
    assert_eq!(made.rev, 2);
    assert_eq!((made.object.rev, made.object.create_rev), (2, 2));
    assert_eq!(store.state().rev, 2);
    assert_eq!(store.listed(), ["ns/foo=1@2"]);
}

#[tokio::test]
async fn create_with_key_exist() {
    let store = memory();
    let made = store.create("ns/foo", "1").await;
    match store.put("ns/foo", Expect::Absent, "2").await {
        Err(CommitError::Exists(found)) => assert_eq!(found.rev, made.rev),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        store.state().rev,
        made.rev,
        "a refused write takes no revision"
    );
}

#[tokio::test]
async fn create_with_ttl() {
    let cfg = StoreConfig {
        ttl: vec![(pods(), Duration::from_secs(60))],
        ..StoreConfig::new(None)
    };
    let store = Store::open(cfg, at(1000)).unwrap();
    store.create("ns/foo", "1").await;
    store.tick(at(1059)).await.unwrap();
    assert_eq!(store.listed().len(), 1);
    store.tick(at(1060)).await.unwrap();
    assert_eq!(store.happened(2), ["Deleted ns/foo=1@3"]);
    assert!(store.listed().is_empty());
}

#[tokio::test]
async fn guaranteed_update_with_ttl() {
    let cfg = StoreConfig {
        ttl: vec![(pods(), Duration::from_secs(60))],
        ..StoreConfig::new(None)
    };
    let store = Store::open(cfg, at(1000)).unwrap();
    let made = store.create("ns/foo", "1").await;
    store.tick(at(1030)).await.unwrap();
    store.replace("ns/foo", made.rev, "2").await;
    store.tick(at(1089)).await.unwrap();
    assert_eq!(
        store.listed(),
        ["ns/foo=2@3"],
        "an update begins a new life"
    );
    store.tick(at(1090)).await.unwrap();
    assert!(store.listed().is_empty());
}

#[tokio::test]
async fn get() {
    let store = memory();
    assert!(store.state().get(&pods(), &key("ns/foo")).is_none());
    store.create("ns/foo", "1").await;
    let state = store.state();
    assert_eq!(
        render(state.get(&pods(), &key("ns/foo")).unwrap()),
        "ns/foo=1@2"
    );
    assert!(state.get(&pods(), &key("other/foo")).is_none());
    assert!(
        state
            .get(&ResourceKey::new("apps", "pods"), &key("ns/foo"))
            .is_none()
    );
}

#[tokio::test]
async fn conditional_delete() {
    let store = memory();
    let made = store.create("ns/foo", "1").await;
    let new = store.replace("ns/foo", made.rev, "2").await;
    match store.delete("ns/foo", made.rev).await {
        Err(CommitError::Conflict(found)) => assert_eq!(found.rev, new.rev),
        other => panic!("{other:?}"),
    }
    let gone = store.delete("ns/foo", new.rev).await.unwrap();
    assert_eq!(render(&gone.object), "ns/foo=2@4");
    assert!(matches!(
        store.delete("ns/foo", new.rev).await,
        Err(CommitError::Missing(_))
    ));
}

#[tokio::test]
async fn guaranteed_update_with_conflict() {
    let store = memory();
    let made = store.create("ns/foo", "1").await;
    let writers = (0..8).map(|n| {
        let store = store.clone();
        async move {
            store
                .put("ns/foo", Expect::Rev(made.rev), &n.to_string())
                .await
                .is_ok()
        }
    });
    let won = futures::future::join_all(writers).await;
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
}

#[tokio::test]
async fn create_keeps_its_revision_over_updates() {
    let store = memory();
    let made = store.create("ns/foo", "1").await;
    let new = store.replace("ns/foo", made.rev, "2").await;
    assert_eq!(new.object.create_rev, made.rev);
    store.delete("ns/foo", new.rev).await.unwrap();
    let again = store.create("ns/foo", "3").await;
    assert_eq!(again.object.create_rev, again.rev);
}

async fn three() -> Store {
    let store = memory();
    for name in [
        "first/foo",
        "second/bar",
        "second/foo",
        "second-b/foo",
        "third/barfoo",
    ] {
        store.create(name, "1").await;
    }
    store
}

fn names<'a>(objects: impl Iterator<Item = &'a Arc<Object>>) -> Vec<String> {
    objects.map(|object| object.key.to_string()).collect()
}

#[tokio::test]
async fn list_continuation() {
    let store = three().await;
    let state = store.state();
    let collection = state.collection(&pods()).unwrap();
    let all = [
        "first/foo",
        "second-b/foo",
        "second/bar",
        "second/foo",
        "third/barfoo",
    ];
    assert_eq!(names(collection.list(None, None)), all);
    let mut start = None;
    let mut paged = Vec::new();
    while let Some(object) = collection.list(None, start.as_ref()).next() {
        paged.push(object.key.to_string());
        start = Some(ObjectKey::new(
            &object.key.namespace,
            &format!("{}\0", object.key.name),
        ));
    }
    assert_eq!(paged, all);
}

#[tokio::test]
async fn namespace_scoped_list() {
    let store = three().await;
    let state = store.state();
    let collection = state.collection(&pods()).unwrap();
    let cases: [(&str, Option<&str>, &[&str]); 6] = [
        ("second", None, &["second/bar", "second/foo"]),
        ("second", Some("second/bar\0"), &["second/foo"]),
        ("second", Some("first/foo"), &["second/bar", "second/foo"]),
        ("second", Some("third/a"), &[]),
        ("secon", None, &[]),
        ("", None, &[]),
    ];
    for (namespace, start, expected) in cases {
        let start = start.map(key);
        assert_eq!(
            names(collection.list(Some(namespace), start.as_ref())),
            expected,
            "{namespace}"
        );
    }
}

#[tokio::test]
async fn consistent_list() {
    let store = memory();
    let made = store.create("ns/foo", "1").await;
    let before = store.state();
    store.replace("ns/foo", made.rev, "2").await;
    assert_eq!(
        render(before.get(&pods(), &key("ns/foo")).unwrap()),
        "ns/foo=1@2"
    );
    assert_eq!(before.rev, 2, "a state that a reader holds does not change");
}

#[tokio::test]
async fn list_resource_version_match_exact() {
    let store = memory();
    let a = store.create("ns/a", "1").await;
    let b = store.create("ns/b", "1").await;
    let a2 = store.replace("ns/a", a.rev, "2").await;
    store.delete("ns/b", b.rev).await.unwrap();
    store.create("ns/b", "9").await;
    let state = store.state();
    let cases: [(u64, &[&str]); 6] = [
        (1, &[]),
        (a.rev, &["ns/a=1@2"]),
        (b.rev, &["ns/a=1@2", "ns/b=1@3"]),
        (a2.rev, &["ns/a=2@4", "ns/b=1@3"]),
        (a2.rev + 1, &["ns/a=2@4"]),
        (a2.rev + 2, &["ns/a=2@4", "ns/b=9@6"]),
    ];
    for (rev, expected) in cases {
        let objects = state.objects_at(&pods(), rev).unwrap();
        let rendered: Vec<_> = objects
            .into_iter()
            .map(|(_, object)| render(object))
            .collect();
        assert_eq!(rendered, expected, "at {rev}");
    }
}

fn short_history() -> StoreConfig {
    let history = History {
        events_min: 2,
        events_max: 3,
        ..History::default()
    };
    StoreConfig {
        history,
        ..StoreConfig::new(None)
    }
}

#[tokio::test]
async fn list_inconsistent_continuation() {
    let store = Store::open(short_history(), at(0)).unwrap();
    for name in ["a/1", "a/2", "a/3", "a/4", "a/5"] {
        store.create(name, "1").await;
    }
    let state = store.state();
    let expired = Expired {
        asked: 2,
        compacted: 3,
    };
    assert_eq!(state.objects_at(&pods(), 2).unwrap_err(), expired);
    assert_eq!(state.objects_at(&pods(), 3).unwrap().len(), 2);
}

#[tokio::test]
async fn watch_error_includes_requested_resource_version() {
    let store = Store::open(short_history(), at(0)).unwrap();
    for name in ["a/1", "a/2", "a/3", "a/4", "a/5"] {
        store.create(name, "1").await;
    }
    let error = store.state().events_after(&pods(), 2).unwrap_err();
    let text = "revision 2 is older than the kept history, which begins after 3";
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn compact_revision() {
    let store = Store::open(short_history(), at(0)).unwrap();
    for name in ["a/1", "a/2", "a/3"] {
        store.create(name, "1").await;
    }
    store.tick(at(300)).await.unwrap();
    assert_eq!(
        store.state().compacted(&pods()),
        1,
        "exactly as old as history may be"
    );
    store.tick(at(301)).await.unwrap();
    assert_eq!(
        store.state().compacted(&pods()),
        2,
        "old, but the minimum stays"
    );
    assert_eq!(store.happened(2).len(), 2);
}

#[tokio::test]
async fn history_is_capped_by_bytes_of_one_and_of_all_resources() {
    let history = History {
        bytes_max: 4000,
        total_bytes_max: 5000,
        ..History::default()
    };
    let cfg = StoreConfig {
        history,
        ..StoreConfig::new(None)
    };
    let store = Store::open(cfg, at(0)).unwrap();
    let mut rev = store.create("a/1", "1").await.rev;
    for _ in 0..50 {
        rev = store.replace("a/1", rev, &"x".repeat(500)).await.rev;
    }
    let bytes = |plural: &str| {
        let state = store.state();
        state
            .collection(&ResourceKey::new("", plural))
            .map_or(0, |c| c.events_bytes)
    };
    assert!((3000..=4000).contains(&bytes("pods")), "{}", bytes("pods"));
    let mut expect = Expect::Absent;
    for _ in 0..50 {
        let write = Write {
            resource: ResourceKey::new("", "others"),
            key: key("a/1"),
            expect,
            op: Op::Put(pod(&key("a/1"), "x".repeat(500))),
        };
        expect = Expect::Rev(store.commit(write).await.unwrap().rev);
    }
    assert!(bytes("pods") + bytes("others") <= 5000);
    assert!(store.state().compacted(&pods()) < store.state().rev);
}

#[tokio::test]
async fn a_resource_without_objects_and_history_is_forgotten_but_not_its_end() {
    let history = History {
        events_min: 0,
        ..History::default()
    };
    let store = Store::open(
        StoreConfig {
            history,
            ..StoreConfig::new(None)
        },
        at(0),
    )
    .unwrap();
    let made = store.create("a/1", "1").await;
    let gone = store.delete("a/1", made.rev).await.unwrap();
    store.tick(at(400)).await.unwrap();
    let state = store.state();
    assert!(state.collection(&pods()).is_none());
    assert!(state.events_after(&pods(), gone.rev - 1).is_err());
    assert!(state.events_after(&pods(), gone.rev).unwrap().is_empty());
    assert_eq!(state.objects_at(&pods(), gone.rev).unwrap().len(), 0);
}

#[tokio::test]
async fn watch_from_non_zero() {
    let store = memory();
    let made = store.create("ns/foo", "1").await;
    let new = store.replace("ns/foo", made.rev, "2").await;
    store.delete("ns/foo", new.rev).await.unwrap();
    let all = [
        "Added ns/foo=1@2",
        "Modified ns/foo=2@3",
        "Deleted ns/foo=2@4",
    ];
    assert_eq!(store.happened(1), all);
    assert_eq!(store.happened(made.rev), all[1..]);
    assert!(store.happened(4).is_empty());
}

#[tokio::test]
async fn watch_delete_event_object_have_latest_rv() {
    let store = memory();
    let made = store.create("ns/foo", "1").await;
    let other = store.create("ns/bar", "1").await;
    store.delete("ns/foo", made.rev).await.unwrap();
    let events = store.state().events_after(&pods(), other.rev).unwrap();
    assert_eq!(render(&events[0].object), "ns/foo=1@4");
    assert_eq!(events[0].previous.as_ref().unwrap().rev, made.rev);
}

#[tokio::test]
async fn events_after_any_revision_come_whole_and_in_order() {
    let store = memory();
    let mut all = vec![store.create("a/x", "0").await.rev];
    for n in 1..200 {
        let last = all[all.len() - 1];
        all.push(store.replace("a/x", last, &n.to_string()).await.rev);
    }
    let state = store.state();
    for after in (all[0] - 1)..=all[199] {
        let found = state.events_after(&pods(), after).unwrap();
        let found: Vec<u64> = found.iter().map(|event| event.rev).collect();
        let expected: Vec<u64> = all.iter().copied().filter(|rev| *rev > after).collect();
        assert_eq!(found, expected, "after {after}");
    }
}
