//! A disk that fails: every operation of the database file fails once, in order.

use std::{
    io,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use redb::{StorageBackend, backends::InMemoryBackend};

use super::*;

/// A disk in memory whose n-th change fails, and every later one, as on a full disk.
#[derive(Clone, Debug)]
struct Failing {
    inner: Arc<InMemoryBackend>,
    left: Arc<AtomicI64>,
    failed: Arc<Mutex<bool>>,
}

impl Failing {
    fn after(left: i64) -> Self {
        Self {
            inner: Arc::new(InMemoryBackend::new()),
            left: Arc::new(AtomicI64::new(left)),
            failed: Arc::default(),
        }
    }

    fn change(&self) -> Result<(), io::Error> {
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Ok(());
        }
        *self.failed.lock().unwrap() = true;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }
}

impl StorageBackend for Failing {
    fn len(&self) -> Result<u64, io::Error> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.change()?;
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.change()?;
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.change()?;
        self.inner.write(offset, data)
    }
}

fn open(disk: &Failing) -> Result<Store, StoreError> {
    let (disk, state) = Disk::open_on(Path::new("state"), disk.clone())?;
    Store::start(disk, state, StoreConfig::new(None), at(0))
}

/// Writes until the disk fails. Whatever was acknowledged must be there afterwards, and nothing may be acknowledged later.
async fn fail_after(changes: i64) -> bool {
    let disk = Failing::after(i64::MAX);
    let store = open(&disk).unwrap();
    disk.left.store(changes, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    let mut refused = None;
    for n in 0..4 {
        let name = format!("a/{n}");
        match store.put(&name, Expect::Absent, "1").await {
            Ok(made) => {
                assert!(refused.is_none(), "acknowledged after a failure");
                acknowledged.push(render(&made.object));
            }
            Err(CommitError::ReadOnly(reason)) => refused = Some(reason),
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(
        store.listed(),
        acknowledged,
        "readers see what was acknowledged, no more"
    );
    assert_eq!(store.failure(), refused);
    if let Some(reason) = &refused {
        assert!(reason.starts_with("cannot write state: "), "{reason}");
    }
    let newest = store.state().rev;
    store.close().await;

    disk.left.store(i64::MAX, Ordering::SeqCst);
    let after = open(&disk).unwrap();
    assert!(after.state().rev >= newest);
    let kept = after.listed();
    assert!(
        kept.starts_with(&acknowledged),
        "{acknowledged:?} acknowledged, {kept:?} kept"
    );
    assert!(
        kept.len() <= acknowledged.len() + 1,
        "only the write in doubt may have survived"
    );
    after.close().await;
    refused.is_some()
}

#[tokio::test]
async fn each_failing_write_makes_the_store_read_only_and_loses_nothing_acknowledged() {
    let mut failures = 0;
    for changes in 0.. {
        assert!(changes < 1000, "the writes end at some point");
        if !fail_after(changes).await {
            break;
        }
        failures += 1;
    }
    assert!(
        failures >= 8,
        "four writes change the file more than {failures} times"
    );
}

#[test]
fn each_failing_write_while_opening_is_an_error() {
    for changes in 0.. {
        assert!(changes < 1000, "opening ends at some point");
        let disk = Failing::after(changes);
        match open(&disk) {
            Err(StoreError::Io { .. } | StoreError::Corrupt { .. }) => {}
            Err(other) => panic!("{other}"),
            Ok(_) if *disk.failed.lock().unwrap() => {}
            Ok(_) => break,
        }
    }
}
