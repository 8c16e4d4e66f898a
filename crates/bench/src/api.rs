//! Writes, lists and watches over TLS on loopback.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use flotilla_testkit::Flotilla;
use futures::{StreamExt, TryStreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::report::{Report, shown};

/// How long each write measurement runs.
const WRITE_TIME: Duration = Duration::from_secs(5);
const LISTED: usize = 10_000;
const BODY_BYTES: usize = 3_000;

/// Measures ours, and then the server of `beside` with the same requests.
pub(crate) async fn measure(
    binary: &Path,
    beside: Option<&Path>,
    report: &mut Report,
) -> Result<()> {
    eprintln!("api");
    let flotilla = Flotilla::up(binary, &["--log", "error"]);
    requests(&flotilla.kubeconfig(), report).await?;
    flotilla.interrupt();
    match beside {
        Some(kubeconfig) => {
            report.heading("the other server");
            requests(kubeconfig, report).await
        }
        None => Ok(()),
    }
}

async fn requests(kubeconfig: &Path, report: &mut Report) -> Result<()> {
    let client = client(kubeconfig, None).await?;
    for (clients, target) in [(1, "p50 ≤ 1 ms"), (64, "≥ 4,000/s")] {
        writes(&client, clients, target, report).await?;
    }
    watch(&client, report).await?;
    list(&client, report).await
}

/// A client for a context of a kubeconfig.
pub(crate) async fn client(kubeconfig: &Path, context: Option<&str>) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    Ok(Client::try_from(config)?)
}

pub(crate) fn config_map(name: String, bytes: usize) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name);
    object.data = Some([("payload".to_owned(), "x".repeat(bytes))].into());
    object
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
async fn writes(client: &Client, clients: usize, target: &str, report: &mut Report) -> Result<()> {
    let next = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let workers = (0..clients).map(|_| {
        let (api, next) = (
            Api::<ConfigMap>::default_namespaced(client.clone()),
            next.clone(),
        );
        tokio::spawn(async move {
            let mut times = Vec::new();
            while start.elapsed() < WRITE_TIME {
                let name = format!("w{clients}-{}", next.fetch_add(1, Ordering::Relaxed));
                let began = Instant::now();
                api.create(&PostParams::default(), &config_map(name, 200))
                    .await?;
                times.push(began.elapsed());
            }
            anyhow::Ok(times)
        })
    });
    let mut times = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        times.extend(worker.await??);
    }
    let rate = times.len() as f64 / start.elapsed().as_secs_f64();
    report.add(
        format!("durable writes, {clients} client(s)"),
        format!("{rate:.0}/s"),
        target,
    );
    report.times(
        &format!("durable write, {clients} client(s)"),
        times,
        target,
    );
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
async fn watch(client: &Client, report: &mut Report) -> Result<()> {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let from = api
        .list(&Default::default())
        .await?
        .metadata
        .resource_version
        .context("version")?;
    let events = api.watch(&WatchParams::default(), &from).await?;
    pin_mut!(events);
    let mut times = Vec::new();
    for number in 0..500 {
        let name = format!("watched-{number}");
        let (acknowledged, seen) = futures::join!(
            async {
                let created = api
                    .create(&PostParams::default(), &config_map(name.clone(), 200))
                    .await;
                created.map(|_| Instant::now())
            },
            async {
                while let Some(event) = events.try_next().await? {
                    if let WatchEvent::Added(object) = event
                        && object.metadata.name.as_deref() == Some(&name)
                    {
                        return anyhow::Ok(Instant::now());
                    }
                }
                anyhow::bail!("the watch ended")
            }
        );
        times.push(seen?.saturating_duration_since(acknowledged?));
    }
    report.times("watch, acknowledgement to event", times, "p50 ≤ 200 µs");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
async fn list(client: &Client, report: &mut Report) -> Result<()> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-public");
    let creates = futures::stream::iter(0..LISTED).map(|number| {
        let api = api.clone();
        async move {
            let object = config_map(format!("listed-{number:05}"), BODY_BYTES);
            api.create(&PostParams::default(), &object).await.map(drop)
        }
    });
    creates
        .buffer_unordered(64)
        .try_collect::<Vec<()>>()
        .await?;
    let mut times = Vec::new();
    let mut bytes = 0;
    for _ in 0..15 {
        let request = http::Request::get("/api/v1/namespaces/kube-public/configmaps")
            .body(Vec::new())
            .context("a request")?;
        let began = Instant::now();
        bytes = client.request_text(request).await?.len();
        times.push(began.elapsed());
    }
    times.sort();
    let what = format!("list of {LISTED} ConfigMaps of 3 KB, full JSON over TLS");
    let value = format!(
        "p50 {} ({:.1} MB)",
        shown(times[times.len() / 2]),
        bytes as f64 / 1e6
    );
    report.add(what, value, "≤ 60 ms");
    Ok(())
}
