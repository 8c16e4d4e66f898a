//! How fast the store writes, lists, starts and wakes watchers.
//!
//! `cargo bench -p flotilla-apiserver --bench store` prints one `name value unit` line for each number. Without `--bench`
//! (as in `cargo test --all-targets`) it runs once with tiny sizes, so that it cannot rot.
#![expect(clippy::print_stdout, reason = "numbers are what this program is for")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use flotilla_apiserver::store::{
    Draft, Expect, Fsync, ObjectKey, Op, ResourceKey, Store, StoreConfig, Write,
};
use jiff::Timestamp;
use serde_json::json;

/// Sizes of one run.
struct Sizes {
    writes: usize,
    objects: usize,
    watchers: usize,
    events: usize,
}

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    let sizes = if full {
        Sizes {
            writes: 20_000,
            objects: 10_000,
            watchers: 1000,
            events: 1000,
        }
    } else {
        Sizes {
            writes: 64,
            objects: 64,
            watchers: 4,
            events: 4,
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build();
    let runtime = runtime.expect("threads can be started");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (fsync, name) in [(Fsync::Batch, "batch"), (Fsync::Off, "off")] {
        for clients in [1, 64] {
            let path = folder.path().join(format!("writes-{name}-{clients}"));
            let cfg = StoreConfig {
                fsync,
                ..StoreConfig::new(Some(path))
            };
            let n = if clients == 1 {
                sizes.writes / 8
            } else {
                sizes.writes
            };
            runtime.block_on(writes(cfg, clients, n, name));
        }
    }
    runtime.block_on(start_and_list(&folder.path().join("start"), sizes.objects));
    runtime.block_on(fan_out(sizes.watchers, sizes.events));
}

fn draft(key: &ObjectKey, n: usize, bytes: usize) -> Draft {
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": &*key.name, "namespace": &*key.namespace, "labels": {"app": "bench"},
                     "uid": "6a1d6d5c-6c64-4a2c-9f5e-1b8f1d1f0001"},
        "spec": {"n": n, "filler": "x".repeat(bytes)},
    });
    Draft::new(&object, Vec::new()).expect("complete")
}

fn create(key: ObjectKey, n: usize) -> Write {
    Write {
        resource: ResourceKey::new("", "pods"),
        op: Op::Put(draft(&key, n, 2800)),
        key,
        expect: Expect::Absent,
    }
}

/// Creations of 3 KB objects by `clients` at once: rate and latency.
async fn writes(cfg: StoreConfig, clients: usize, n: usize, name: &str) {
    let store = Store::open(cfg, Timestamp::UNIX_EPOCH).expect("new");
    let begin = Instant::now();
    let tasks = (0..clients).map(|client| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut latencies = Vec::new();
            for n in 0..n / clients {
                let write = create(ObjectKey::new("bench", &format!("pod-{client}-{n}")), n);
                let begin = Instant::now();
                store.commit(write).await.expect("new");
                latencies.push(begin.elapsed());
            }
            latencies
        })
    });
    let mut latencies = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        latencies.extend(task.await.expect("no panic"));
    }
    let rate = latencies.len() as f64 / begin.elapsed().as_secs_f64();
    let name = format!("writes_fsync_{name}_{clients}_clients");
    println!("{name} {rate:.0} per_second");
    print_latencies(&name, latencies);
    store.close().await;
}

/// Opening a store of `n` objects, and copying all of them into one list body.
async fn start_and_list(path: &Path, n: usize) {
    let cfg = StoreConfig {
        fsync: Fsync::Off,
        ..StoreConfig::new(Some(path.into()))
    };
    let store = Store::open(cfg.clone(), Timestamp::UNIX_EPOCH).expect("new");
    for n in 0..n {
        let key = ObjectKey::new(&format!("ns-{}", n % 10), &format!("pod-{n}"));
        store.commit(create(key, n)).await.expect("new");
    }
    store.close().await;
    drop(store);
    let begin = Instant::now();
    let store = Store::open(cfg, Timestamp::UNIX_EPOCH).expect("written above");
    println!(
        "start_{n}_objects {:.1} ms",
        begin.elapsed().as_secs_f64() * 1e3
    );
    let begin = Instant::now();
    let state = store.state();
    let collection = state
        .collection(&ResourceKey::new("", "pods"))
        .expect("filled");
    let mut body = Vec::new();
    for object in collection.list(None, None) {
        body.extend_from_slice(&object.body[object.prefix_len as usize..]);
    }
    assert!(body.len() > n * 2800);
    println!(
        "list_{n}_objects {:.1} ms",
        begin.elapsed().as_secs_f64() * 1e3
    );
    store.close().await;
}

/// `n_events` writes seen by `n_watchers`: time from acknowledgement to the last watcher, and work per delivery.
async fn fan_out(n_watchers: usize, n_events: usize) {
    let store = Store::open(StoreConfig::new(None), Timestamp::UNIX_EPOCH).expect("in memory");
    let resource = ResourceKey::new("", "pods");
    let watchers = (0..n_watchers).map(|_| {
        let (store, resource) = (store.clone(), resource.clone());
        let mut changes = store.subscribe(&resource);
        tokio::spawn(async move {
            let (mut seen, mut at, mut bytes) = (0, 1, 0);
            while seen < n_events {
                changes.changed().await.expect("open");
                let events = store.state().events_after(&resource, at).expect("kept");
                for event in &events {
                    bytes += event.encoded(0, || event.object.body.clone()).len();
                    at = event.rev;
                }
                seen += events.len();
            }
            assert!(bytes > 0);
            Instant::now()
        })
    });
    let watchers: Vec<_> = watchers.collect();
    let begin = Instant::now();
    for n in 0..n_events {
        let write = create(ObjectKey::new("bench", &format!("pod-{n}")), n);
        store.commit(write).await.expect("new");
    }
    let written = Instant::now();
    let mut lag = Vec::new();
    for watcher in watchers {
        lag.push(
            watcher
                .await
                .expect("no panic")
                .saturating_duration_since(written),
        );
    }
    let deliveries = (n_watchers * n_events) as f64;
    println!(
        "fan_out {:.0} deliveries_per_second",
        deliveries / begin.elapsed().as_secs_f64()
    );
    print_latencies("fan_out_lag", lag);
}

fn print_latencies(name: &str, mut latencies: Vec<Duration>) {
    latencies.sort();
    for (percent, label) in [(50, "p50"), (99, "p99")] {
        let latency = latencies[(latencies.len() - 1) * percent / 100];
        println!("{name}_{label} {:.1} us", latency.as_secs_f64() * 1e6);
    }
}
