//! `flotilla up`: start what the plan says, wait for Ctrl-C, stop it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use flotilla_apiserver::auth::token_file::TokenFile;
use flotilla_telemetry::metrics::SharedRegistry;
use flotilla_telemetry::{logging, metrics, tracing_export};
use futures::FutureExt;
use futures::future::{join_all, try_join_all};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::UpArgs;
use crate::cluster::{Cluster, name_server};
use crate::edge::Edge;
use crate::nameserver::Copies;
use crate::plan::{Plan, plan};
use crate::{environment, greeting, say};

/// How long a clean stop may take before the process ends anyway.
pub(crate) const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Signals this close together count as one.
const SAME_WISH: Duration = Duration::from_millis(300);

/// Runs until Ctrl-C or SIGTERM.
pub(crate) fn run(args: &UpArgs, log: Option<&str>) -> Result<()> {
    let start = now();
    let plan = plan(args, &environment::surroundings()).map_err(|mistakes| {
        let lines: Vec<String> = mistakes.into_iter().map(|mistake| mistake.0).collect();
        anyhow::anyhow!("nothing was started:\n  {}", lines.join("\n  "))
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    runtime.block_on(serve(args, log, &plan, start))
}

async fn serve(args: &UpArgs, log: Option<&str>, plan: &Plan, start: Instant) -> Result<()> {
    let tokens = read_tokens(args.token_auth_file.as_deref())?;
    let mut copies = Copies::read(&args.copy)?;
    let traces = match &args.otlp_endpoint {
        Some(endpoint) => {
            let settings = tracing_export::Settings {
                service: "flotilla",
                endpoint: endpoint.clone(),
                sampling_ratio: 1.0,
            };
            Some(tracing_export::provider(
                &settings,
                env!("CARGO_PKG_VERSION"),
            )?)
        }
        None => None,
    };
    logging::install(&environment::log_settings(log), traces.as_ref())?;
    let stop = CancellationToken::new();
    let mut interrupt = Interrupt::new()?;
    let registry = SharedRegistry::default();
    if let Some(address) = args.metrics_address {
        let (address, serving) = metrics::listen(address, registry.clone(), stop.clone()).await?;
        tracing::info!(%address, "Serving metrics");
        tokio::spawn(serving);
    }

    let edge = match &plan.edge {
        Some(edge) => Some(Edge::start(edge, plan, &registry)?),
        None => None,
    };
    copies.push_key = edge.as_ref().and_then(Edge::push_key);
    let name_servers = plan
        .clusters
        .iter()
        .map(|cluster| name_server(cluster, plan, copies.clone(), &registry))
        .collect::<Result<Vec<_>>>()?;
    let starting = plan
        .clusters
        .iter()
        .zip(name_servers)
        .map(|(cluster, dns)| Cluster::start(cluster, dns, &tokens));
    let mut clusters = try_join_all(starting).await?;
    write_kubeconfig(plan, &clusters)?;
    let update = |name: &str| edge.as_ref().and_then(|edge| edge.update(name));
    let work = clusters
        .iter_mut()
        .zip(&plan.clusters)
        .map(|(cluster, its_plan)| cluster.work(plan, update(&its_plan.name), &registry));
    try_join_all(work).await?;
    let addresses: Vec<_> = clusters.iter().map(Cluster::address).collect();
    say(&greeting::greeting(plan, &addresses, start.elapsed()))?;

    interrupt.wait().await;
    tracing::info!("Stopping; Ctrl-C again ends the process at once");
    stop.cancel();
    let stopping = async {
        join_all(clusters.into_iter().map(Cluster::stop)).await;
        if let Some(edge) = edge {
            edge.stop().await;
        }
    };
    tokio::select! {
        () = stopping => {}
        () = interrupt.again() => bail!("stopped before everything had ended"),
        () = tokio::time::sleep(STOP_LIMIT) => bail!("not everything ended within {STOP_LIMIT:?}"),
    }
    if plan.kubeconfig_is_temporary {
        // It may have been removed or replaced by somebody else; then there is nothing to do.
        let _ = std::fs::remove_file(&plan.kubeconfig);
    }
    if let Some(traces) = traces {
        // A collector that is away must not fail a clean stop.
        let _ = tokio::task::spawn_blocking(move || traces.shutdown()).await;
    }
    Ok(())
}

/// Static tokens; none without a file.
fn read_tokens(path: Option<&Path>) -> Result<TokenFile> {
    let Some(path) = path else {
        return Ok(TokenFile::default());
    };
    let hint = || format!("cannot use {} of --token-auth-file", path.display());
    let text = std::fs::read_to_string(path).with_context(hint)?;
    TokenFile::parse(&text).with_context(hint)
}

fn write_kubeconfig(plan: &Plan, clusters: &[Cluster]) -> Result<()> {
    let contexts: Vec<_> = clusters.iter().filter_map(Cluster::context).collect();
    let path = &plan.kubeconfig;
    let hint = || {
        format!(
            "cannot write {}; choose another file with --kubeconfig",
            path.display()
        )
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        std::fs::create_dir_all(folder).with_context(hint)?;
    }
    flotilla_apiserver::kubeconfig::write(path, &contexts).with_context(hint)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the greeting says how long the start took"
)]
fn now() -> Instant {
    Instant::now()
}

/// Ctrl-C and SIGTERM.
pub(crate) struct Interrupt {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Interrupt {
    pub(crate) fn new() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Another signal after a first one. Supervisors such as timeout(1) send theirs twice at once,
    /// to the process and to its group; that is one wish, not two.
    pub(crate) async fn again(&mut self) {
        tokio::time::sleep(SAME_WISH).await;
        while self.wait().now_or_never().is_some() {}
        self.wait().await;
    }

    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
