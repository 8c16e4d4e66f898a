//! What a full server costs: memory per object, per definition and per watcher, and a start with state.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use flotilla_testkit::Flotilla;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource;
use kube::api::{Api, PostParams, WatchParams};
use serde_json::json;

use crate::api::{client, config_map};
use crate::boot::{cpu_time, resident_kilobytes};
use crate::report::{Report, shown};

const DEFINITIONS: usize = 100;
const PODS: usize = 100_000;
const STORED: usize = 10_000;
const WATCHERS: usize = 1_000;
const EVENTS_PER_SECOND: u64 = 1_000;
const WATCH_TIME: Duration = Duration::from_secs(5);
/// Watches of a client that never reads them.
const DEAF: usize = 5_000;
/// Requests under way at once while objects are made.
const PARALLEL: usize = 64;

pub(crate) async fn measure(binary: &Path, report: &mut Report) -> Result<()> {
    eprintln!("load");
    start_with_state(binary, report).await?;
    definitions(binary, report).await?;
    watchers(binary, report).await?;
    pods(binary, report).await?;
    deaf_watchers(binary, report).await
}

async fn start_with_state(binary: &Path, report: &mut Report) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let quiet = ["--log", "error"];
    let flotilla = Flotilla::up_in(binary, folder.path(), &quiet);
    let api: Api<ConfigMap> = Api::default_namespaced(client(&flotilla.kubeconfig(), None).await?);
    create(&api, STORED, |n| config_map(format!("stored-{n}"), 3_000)).await?;
    flotilla.interrupt();
    let mut times = Vec::new();
    for _ in 0..5 {
        let began = now();
        let flotilla = Flotilla::up_in(binary, folder.path(), &quiet);
        times.push(began.elapsed());
        flotilla.interrupt();
    }
    let what = format!("start to the greeting with {STORED} objects of 3 KB on disk");
    report.times(&what, times, "≤ 400 ms");
    Ok(())
}

async fn definitions(binary: &Path, report: &mut Report) -> Result<()> {
    let flotilla = Flotilla::up(binary, &["--log", "error"]);
    let api: Api<CustomResourceDefinition> = Api::all(client(&flotilla.kubeconfig(), None).await?);
    settle().await;
    let before = resident_kilobytes(flotilla.id())?;
    create(&api, DEFINITIONS, definition).await?;
    settle().await;
    let grown = (resident_kilobytes(flotilla.id())? as f64 - before as f64) / 1024.0;
    let what = format!("resident memory for {DEFINITIONS} definitions");
    report.add(what, format!("+{grown:.1} MB"), "≤ +25 MB");
    Ok(())
}

async fn watchers(binary: &Path, report: &mut Report) -> Result<()> {
    let flotilla = Flotilla::up(binary, &["--log", "error", "--data-dir", ":memory:"]);
    let client = client(&flotilla.kubeconfig(), None).await?;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..WATCHERS {
        let api = api.clone();
        tasks.spawn(async move {
            let events = api.watch(&WatchParams::default(), "0").await?.boxed();
            events.try_for_each(async |_| Ok(())).await
        });
    }
    settle().await;
    let (began, used) = (now(), cpu_time(flotilla.id())?);
    let mut ticks = tokio::time::interval(Duration::from_micros(1_000_000 / EVENTS_PER_SECOND));
    let mut written = 0_u32;
    let mut writes = tokio::task::JoinSet::new();
    while began.elapsed() < WATCH_TIME {
        ticks.tick().await;
        let (api, name) = (api.clone(), format!("event-{written}"));
        writes.spawn(async move {
            api.create(&PostParams::default(), &config_map(name, 50))
                .await
        });
        written += 1;
    }
    while writes.join_next().await.is_some() {}
    let took = began.elapsed().as_secs_f64();
    let used = (cpu_time(flotilla.id())? - used).as_secs_f64();
    let what = format!(
        "{WATCHERS} watchers, {:.0} events/s: cores used",
        f64::from(written) / took
    );
    report.add(what, format!("{:.2}", used / took), "≤ 1");
    Ok(())
}

/// Thousands of watches that nobody reads, and what a write of somebody else takes meanwhile.
async fn deaf_watchers(binary: &Path, report: &mut Report) -> Result<()> {
    let flotilla = Flotilla::up(binary, &["--log", "error", "--data-dir", ":memory:"]);
    let client = client(&flotilla.kubeconfig(), None).await?;
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    settle().await;
    let before = resident_kilobytes(flotilla.id())?;
    let mut deaf = Vec::new();
    for _ in 0..DEAF {
        // The server may have had enough before; a client of its own asks for the figures below.
        match api.watch(&WatchParams::default(), "0").await {
            Ok(events) => deaf.push(events.boxed()),
            Err(_) => break,
        }
    }
    let n_deaf = deaf.len();
    let other = crate::api::client(&flotilla.kubeconfig(), None).await?;
    let api: Api<ConfigMap> = Api::default_namespaced(other);
    let mut times = Vec::new();
    for n in 0..500 {
        let began = now();
        let object = config_map(format!("other-{n}"), 1_000);
        api.create(&PostParams::default(), &object).await?;
        times.push(began.elapsed());
    }
    settle().await;
    let grown = (resident_kilobytes(flotilla.id())? as f64 - before as f64) / 1024.0;
    drop(deaf);
    report.times(
        &format!("write beside {n_deaf} watches that nobody reads"),
        times,
        "",
    );
    report.add(
        format!("resident memory for {n_deaf} of them"),
        format!("+{grown:.1} MB"),
        "",
    );
    Ok(())
}

async fn pods(binary: &Path, report: &mut Report) -> Result<()> {
    let flotilla = Flotilla::up(binary, &["--log", "error", "--data-dir", ":memory:"]);
    let api: Api<Pod> = Api::default_namespaced(client(&flotilla.kubeconfig(), None).await?);
    let began = now();
    create(&api, PODS, pod).await?;
    let took = began.elapsed();
    settle().await;
    let megabytes = resident_kilobytes(flotilla.id())? as f64 / 1024.0;
    let what = format!(
        "resident memory with {PODS} pods of 3 KB, made in {}",
        shown(took)
    );
    report.add(what, format!("{megabytes:.0} MB"), "≤ 450 MB");
    Ok(())
}

async fn create<K>(api: &Api<K>, count: usize, make: impl Fn(usize) -> K) -> Result<()>
where
    K: Resource + Clone + serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug,
{
    futures::stream::iter((0..count).map(make))
        .map(|object| {
            let api = api.clone();
            async move { api.create(&PostParams::default(), &object).await.map(drop) }
        })
        .buffer_unordered(PARALLEL)
        .try_collect::<Vec<()>>()
        .await
        .context("making objects")?;
    Ok(())
}

/// A definition of the size of a common one: forty fields, some with rules.
fn definition(n: usize) -> CustomResourceDefinition {
    let fields: serde_json::Map<String, serde_json::Value> = (0..40)
        .map(|field| {
            let schema = json!({"type": "string", "maxLength": 63, "description": "x".repeat(200)});
            (format!("field{field}"), schema)
        })
        .collect();
    let plural = format!("loads{n}");
    let object = json!({
        "metadata": {"name": format!("{plural}.bench.example.com")},
        "spec": {
            "group": "bench.example.com", "scope": "Namespaced",
            "names": {"plural": plural, "kind": format!("Load{n}")},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": fields, "x-kubernetes-validations": [
                        {"rule": "!has(self.field0) || self.field0 != self.field1"},
                    ]},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    });
    serde_json::from_value(object).unwrap_or_default()
}

/// A pod that takes 3 KB as the server keeps it, with defaults, a token volume and managed fields.
fn pod(n: usize) -> Pod {
    let object = json!({
        "metadata": {"name": format!("pod-{n}"), "labels": {"app": format!("app-{}", n % 100)},
            "annotations": {"payload": "x".repeat(625)}},
        "spec": {"containers": [{"name": "main", "image": "registry.example.com/team/app:v1",
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
            "env": [{"name": "ONE", "value": "1"}, {"name": "TWO", "value": "2"}]}]},
    });
    serde_json::from_value(object).unwrap_or_default()
}

/// Time for what was done to be over.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(2)).await;
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn now() -> Instant {
    Instant::now()
}
