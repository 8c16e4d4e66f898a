//! What a store finds when it is opened again, and how it refuses what it cannot use.

use std::path::Path;

use super::*;

fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(StoreConfig::new(Some(path.into())), at(1000))
}

fn refusal(path: &Path) -> String {
    let error = open(path).map(|_| ()).unwrap_err();
    error.to_string().replace(path.to_str().unwrap(), "FILE")
}

#[tokio::test]
async fn objects_revisions_and_parsed_parts_survive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let store = open(&path).unwrap();
    let object = json!({
        "apiVersion": "v1", "kind": "Pod", "spec": {"value": "1"},
        "metadata": {"name": "b", "uid": "u", "labels": {"app": "x"}, "finalizers": ["f"],
                     "ownerReferences": [{"uid": "o"}], "deletionTimestamp": "2026-01-01T00:00:00Z"},
    });
    let draft = Draft::new(&object, vec![("spec.nodeName".into(), "n".into())]).unwrap();
    let write = Write {
        resource: pods(),
        key: key("a/b"),
        expect: Expect::Absent,
        op: Op::Put(draft),
    };
    let before = store.commit(write).await.unwrap().object;
    let gone = store.create("a/c", "1").await;
    store.delete("a/c", gone.rev).await.unwrap();
    store.close().await;

    let store = open(&path).unwrap();
    let state = store.state();
    assert_eq!(state.rev, 4, "a deletion counts");
    assert_eq!(store.listed(), ["a/b=1@2"]);
    let after = state.get(&pods(), &key("a/b")).unwrap();
    assert_eq!((&after.meta, &after.body), (&before.meta, &before.body));
    assert_eq!((after.rev, after.create_rev), (2, 2));
    assert_eq!(
        (after.prefix_len, after.rev_at),
        (before.prefix_len, before.rev_at)
    );
    assert!(
        state.events_after(&pods(), 3).is_err(),
        "history begins anew"
    );
    assert!(state.events_after(&pods(), 4).unwrap().is_empty());
    store.close().await;
}

#[tokio::test]
async fn expiry_survives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let cfg = StoreConfig {
        ttl: vec![(pods(), Duration::from_secs(60))],
        ..StoreConfig::new(Some(path))
    };
    let store = Store::open(cfg.clone(), at(1000)).unwrap();
    store.create("a/b", "1").await;
    store.close().await;
    let store = Store::open(cfg, at(1000)).unwrap();
    store.tick(at(1059)).await.unwrap();
    assert_eq!(store.listed().len(), 1);
    store.tick(at(1060)).await.unwrap();
    assert!(store.listed().is_empty());
    store.close().await;
}

#[tokio::test]
async fn a_second_process_is_told_who_is_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let store = open(&path).unwrap();
    assert_eq!(
        refusal(&path),
        "FILE is in use by another process; stop that one or choose another data directory"
    );
    store.close().await;
    open(&path).unwrap().close().await;
}

#[test]
fn a_file_that_is_something_else_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    std::fs::write(&path, "apiVersion: v1\n".repeat(1000)).unwrap();
    let text = refusal(&path);
    assert!(text.starts_with("FILE is damaged ("), "{text}");
    assert!(
        text.ends_with("); restore it from a backup, or move it away to start empty"),
        "{text}"
    );
}

#[tokio::test]
async fn a_flipped_byte_in_an_object_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let store = open(&path).unwrap();
    store.create("a/b", "find-me").await;
    store.close().await;
    let mut bytes = std::fs::read(&path).unwrap();
    let found = bytes
        .windows(7)
        .enumerate()
        .filter(|(_, window)| *window == b"find-me");
    let places: Vec<_> = found.map(|(place, _)| place).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|place| bytes[place] = b'F');
    std::fs::write(&path, bytes).unwrap();
    let text = refusal(&path);
    assert!(text.starts_with("FILE is damaged ("), "{text}");
}

/// Damages each page of a database in turn. Whatever is opened afterwards must hold exactly what was written.
#[tokio::test]
async fn a_damaged_page_is_found_or_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let store = open(&path).unwrap();
    for n in 0..40 {
        store.create(&format!("a/{n}"), &"x".repeat(500)).await;
    }
    let written = store.listed();
    store.close().await;
    let whole = std::fs::read(&path).unwrap();
    let mut found = 0;
    for page in whole
        .chunks(4096)
        .enumerate()
        .filter(|(_, page)| page.iter().any(|byte| *byte != 0))
    {
        let mut damaged = whole.clone();
        let begin = page.0 * 4096;
        damaged[begin..begin + page.1.len()]
            .iter_mut()
            .for_each(|byte| *byte ^= 0x55);
        std::fs::write(&path, damaged).unwrap();
        match open(&path) {
            Ok(store) => {
                assert_eq!(store.listed(), written, "page {}", page.0);
                store.close().await;
            }
            Err(StoreError::Corrupt { .. } | StoreError::Io { .. }) => found += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(found > 0);
}

#[test]
fn a_folder_that_is_missing_or_no_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/state");
    let text = "cannot open FILE for reading and writing; check that the folder exists and its permissions";
    assert_eq!(refusal(&path), text);
    assert_eq!(refusal(folder.path()), text);
}

#[tokio::test]
async fn without_flushing_a_clean_end_loses_nothing_and_a_crash_skips_revisions() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("state"), folder.path().join("copy"));
    let cfg = StoreConfig {
        fsync: Fsync::Off,
        ..StoreConfig::new(Some(path.clone()))
    };
    let store = Store::open(cfg.clone(), at(0)).unwrap();
    store.create("a/1", "1").await;
    store.create("a/2", "1").await;
    // The file as a crash would leave it: the first write reserved revisions, the second is lost.
    std::fs::copy(&path, &copy).unwrap();
    let crashed = open(&copy).unwrap();
    assert_eq!(crashed.listed(), ["a/1=1@2"]);
    assert!(crashed.state().rev >= 3, "no revision is given out twice");
    crashed.close().await;
    store.tick(at(1)).await.unwrap();
    std::fs::copy(&path, &copy).unwrap();
    let crashed = open(&copy).unwrap();
    assert_eq!(crashed.listed().len(), 2, "a tick flushes");
    crashed.close().await;
    store.create("a/3", "1").await;
    store.close().await;
    let store = Store::open(cfg, at(0)).unwrap();
    assert_eq!(
        (store.listed().len(), store.state().rev),
        (3, 4),
        "closing is exact"
    );
    store.close().await;
}
