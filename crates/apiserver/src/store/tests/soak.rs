//! Days of writes in seconds: small limits and a clock of its own. Nothing may grow but the revision.

use super::*;

/// Pods that are changed again and again.
const KEPT: u64 = 20;
/// Pods made each minute and deleted in the next.
const PASSING: u64 = 10;
/// Events made each minute; they live for [`TTL_MINUTES`].
const EVENTS: u64 = 10;
const TTL_MINUTES: u64 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    pods: usize,
    events: usize,
    pod_history: usize,
    event_history: usize,
}

fn events() -> ResourceKey {
    ResourceKey::new("", "events")
}

/// What one minute brings; `revisions` are those of the kept pods.
async fn minute(store: &Store, minute: u64, revisions: &mut [u64]) {
    for (n, rev) in revisions.iter_mut().enumerate() {
        let name = format!("kept/{n}");
        *rev = store.replace(&name, *rev, &minute.to_string()).await.rev;
    }
    for n in 0..PASSING {
        let name = format!("passing/{minute}-{n}");
        let rev = store.create(&name, &"x".repeat(500)).await.rev;
        store.delete(&name, rev).await.expect("it was just made");
    }
    for n in 0..EVENTS {
        let key = key(&format!("events/{minute}-{n}"));
        let op = Op::Put(pod(&key, "an event"));
        let resource = events();
        let expect = Expect::Absent;
        let write = Write {
            resource,
            key,
            expect,
            op,
        };
        store.commit(write).await.expect("a new name");
    }
    store
        .tick(at(1000 + 60 * minute as i64))
        .await
        .expect("the disk has room");
}

fn size(store: &Store) -> Size {
    let state = store.state();
    let of = |resource| state.collection(&resource).expect("there are some").clone();
    let (pods, events) = (of(pods()), of(events()));
    Size {
        pods: pods.objects.len(),
        events: events.objects.len(),
        pod_history: pods.events.len(),
        event_history: events.events.len(),
    }
}

#[tokio::test]
async fn hours_of_writes_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut cfg = StoreConfig::new(Some(path.clone()));
    cfg.fsync = Fsync::Off;
    cfg.ttl = vec![(events(), Duration::from_secs(60 * TTL_MINUTES))];
    cfg.history.age = Duration::from_secs(300);
    cfg.history.events_min = 50;
    cfg.history.events_max = 150;
    let store = Store::open(cfg, at(1000)).unwrap();
    let mut revisions = Vec::new();
    for n in 0..KEPT {
        revisions.push(store.create(&format!("kept/{n}"), "first").await.rev);
    }
    let mut measured = Vec::new();
    for now in 0..360 {
        minute(&store, now, &mut revisions).await;
        if now % 60 == 59 {
            measured.push((size(&store), path.metadata().unwrap().len()));
        }
    }
    let (expected, file_bytes) = measured[1];
    assert_eq!(expected.pods, KEPT as usize);
    assert!(
        expected.events as u64 <= EVENTS * (TTL_MINUTES + 2),
        "{expected:?}"
    );
    assert!(
        expected.pod_history <= 150 && expected.event_history <= 150,
        "{expected:?}"
    );
    for (hour, (size, bytes)) in measured.iter().enumerate().skip(1) {
        assert_eq!(*size, expected, "hour {hour}");
        assert!(
            *bytes <= file_bytes + file_bytes / 4,
            "hour {hour}: {file_bytes} grew to {bytes} bytes"
        );
    }
    assert!(store.state().rev > 360 * (KEPT + 2 * PASSING + EVENTS));
    store.close().await;
}
