//! `flotilla run gslb`: the controller and the DNS server on a cluster that is there already.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use flotilla_dns::server::{self, Metrics as DnsMetrics, Tls};
use flotilla_dns::tsig::{Key, key_file};
use flotilla_gslb::config::{Config, Parsed, PushKey};
use flotilla_gslb::controller::{Environment, Gslb};
use flotilla_operator::leader;
use flotilla_telemetry::logging::{self, Format};
use flotilla_telemetry::metrics::{self, SharedRegistry};
use flotilla_telemetry::tracing_export;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio_util::sync::CancellationToken;

use crate::args::{RunCommand, RunGslbArgs};
use crate::environment;
use crate::geo::Follow;
use crate::nameserver::{Copies, Keeping, NameServer};
use crate::up::{Interrupt, STOP_LIMIT};

/// Name of the Lease of the election.
const LEASE: &str = "flotilla-gslb";

/// Carries a command out.
pub(crate) fn run(command: &RunCommand, log: Option<&str>) -> Result<()> {
    let RunCommand::Gslb(args) = command;
    let parsed = Config::parse(&environment::variable).map_err(|mistakes| {
        let lines = mistakes
            .iter()
            .map(|mistake| format!("{}: {}", mistake.name, mistake.hint));
        let lines: Vec<String> = lines.collect();
        anyhow!("nothing was started:\n  {}", lines.join("\n  "))
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    runtime.block_on(serve(args, parsed, log))
}

async fn serve(args: &RunGslbArgs, parsed: Parsed, log: Option<&str>) -> Result<()> {
    let Parsed { config, warnings } = parsed;
    let traces = config
        .tracing
        .then(|| tracing_export::provider(&trace_settings(&config), env!("CARGO_PKG_VERSION")))
        .transpose()?;
    logging::install(&log_settings(&config, log), traces.as_ref())?;
    for warning in warnings {
        tracing::warn!(variable = warning.name, hint = %warning.hint, "A setting is not used as it stands");
    }
    let stop = CancellationToken::new();
    let mut interrupt = Interrupt::new()?;
    let registry = SharedRegistry::default();
    let (dns_metrics, gslb_metrics) = registry.with(|registry| {
        (
            DnsMetrics::registered(registry),
            Gslb::metrics(registry, &config),
        )
    });
    // First of all: it can answer from what it remembers while the API server is away.
    let keeping = Keeping {
        folder: args.data_dir.as_deref(),
        key: args.dnssec_key.as_deref(),
        sign: args.dnssec,
    };
    if args.dnssec && keeping.folder.or(keeping.key).is_none() {
        bail!("--dnssec needs a place for its key: --data-dir or --dnssec-key");
    }
    let mut copies = Copies::read(&args.copy)?;
    copies.push_key = push_key(args.push_key_file.as_deref(), config.push_key.as_ref())?;
    let dns = server_config(args, &config)?;
    if let Some(settings) = &config.geo {
        tokio::spawn(Follow::new(settings, dns.geo.clone()).run());
    }
    let mut dns = NameServer::start(dns, copies, keeping, &dns_metrics)
        .context("cannot serve DNS; --dns-listen chooses other addresses")?;
    serve_metrics(&config, &registry, &stop).await?;
    let environment = Environment {
        client: client(args).await?,
        dns: dns.publisher(),
        signing: dns.signing(),
        metrics: gslb_metrics,
        push: dns.take_push(),
        election: election(&config),
        stop: stop.clone(),
    };
    tracing::info!(geo_tag = %config.geo_tag, dns = ?args.dns_listen, "Balancing load");
    let gslb = Gslb::start(environment, config);

    interrupt.wait().await;
    tracing::info!("Stopping; Ctrl-C again ends the process at once");
    stop.cancel();
    let stopping = async {
        gslb.stop().await;
        dns.stop().await;
    };
    tokio::select! {
        () = stopping => {}
        () = interrupt.again() => bail!("stopped before everything had ended"),
        () = tokio::time::sleep(STOP_LIMIT) => bail!("not everything ended within {STOP_LIMIT:?}"),
    }
    if let Some(traces) = traces {
        // A collector that is away must not fail a clean stop.
        let _ = tokio::task::spawn_blocking(move || traces.shutdown()).await;
    }
    Ok(())
}

/// The key that the fleet shares, from a file or from the settings.
fn push_key(file: Option<&Path>, setting: Option<&PushKey>) -> Result<Option<Key>> {
    let Some(path) = file else {
        return Ok(setting.and_then(PushKey::key));
    };
    if setting.is_some() {
        bail!(
            "the push key is given twice: by --push-key-file and by FLOTILLA_PUSH_KEY_NAME with FLOTILLA_PUSH_KEY_SECRET"
        );
    }
    let hint = || format!("cannot use {} of --push-key-file", path.display());
    let text = std::fs::read_to_string(path).with_context(hint)?;
    let mut keys = key_file::parse(&text).with_context(hint)?;
    if keys.len() > 1 {
        return Err(anyhow!("it has {} keys; a fleet shares one", keys.len())).with_context(hint);
    }
    Ok(keys.pop())
}

/// Where and how to answer.
fn server_config(args: &RunGslbArgs, config: &Config) -> Result<server::Config> {
    let mut server = server::Config::new(&config.geo_tag, args.dns_listen.clone());
    if let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) {
        let read = |path: &Path| {
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
        };
        let (chain, secret) = (read(certificate)?, read(key)?);
        let listener = |address: SocketAddr, alpn: &[&str]| {
            Tls::from_pem(address, &chain, &secret, alpn).with_context(|| {
                format!("cannot use {} and {}", certificate.display(), key.display())
            })
        };
        if let Some(address) = args.dns_tls_listen {
            server.tls.push(listener(address, &["dot"])?);
        }
        if let Some(address) = args.dns_https_listen {
            server.https.push(listener(address, &["h2", "http/1.1"])?);
        }
    }
    Ok(server)
}

/// How replicas elect the one that writes. Their identity is the pod's name, which differs between them.
fn election(config: &Config) -> Option<leader::Settings> {
    let name = environment::variable("POD_NAME").or_else(|| environment::variable("HOSTNAME"));
    let name = name.unwrap_or_else(|| config.geo_tag.clone());
    // Two processes of one name, such as on one machine, are two all the same.
    let identity = format!("{name}_{:08x}", rand::random::<u32>());
    config
        .leader_election
        .then(|| leader::Settings::new(&config.namespace, LEASE, &identity))
}

/// `--log` and RUST_LOG before LOG_LEVEL; LOG_FORMAT, when set, before what the terminal suggests.
fn log_settings(config: &Config, log: Option<&str>) -> logging::Settings {
    let level = environment::variable("RUST_LOG").is_none();
    let level = level.then_some(config.log_level.as_str());
    let mut settings = environment::log_settings(log.or(level));
    if environment::variable("LOG_FORMAT").is_some() {
        settings.format = match config.log_format.as_str() {
            "json" => Format::Json,
            _ => Format::Pretty,
        };
    }
    settings.colour &= !config.no_color;
    settings
}

fn trace_settings(config: &Config) -> tracing_export::Settings {
    let endpoint = &config.otlp_endpoint;
    tracing_export::Settings {
        // As k8gb's, so that what looks for its traces finds ours.
        service: "k8gb",
        endpoint: if endpoint.contains("://") {
            endpoint.clone()
        } else {
            format!("http://{endpoint}")
        },
        sampling_ratio: config.sampling_ratio.parse().unwrap_or(1.0),
    }
}

async fn serve_metrics(
    config: &Config,
    registry: &SharedRegistry,
    stop: &CancellationToken,
) -> Result<()> {
    let text = &config.metrics_address;
    let address = tokio::net::lookup_host(text)
        .await
        .ok()
        .and_then(|mut found| found.next())
        .with_context(|| format!("METRICS_ADDRESS {text} does not resolve"))?;
    let serving = metrics::listen(address, registry.clone(), stop.clone()).await;
    let (address, serving) = serving.context("METRICS_ADDRESS chooses another address")?;
    tracing::info!(%address, "Serving metrics");
    tokio::spawn(serving);
    Ok(())
}

/// The cluster's client. Nothing is asked yet: an API server that is away stops nothing.
async fn client(args: &RunGslbArgs) -> Result<Client> {
    let options = KubeConfigOptions {
        context: args.context.clone(),
        ..KubeConfigOptions::default()
    };
    let config = match &args.kubeconfig {
        Some(path) => {
            let hint = || format!("cannot use {} of --kubeconfig", path.display());
            let kubeconfig = Kubeconfig::read_from(path).with_context(hint)?;
            kube::Config::from_custom_kubeconfig(kubeconfig, &options)
                .await
                .with_context(hint)?
        }
        None if args.context.is_some() => kube::Config::from_kubeconfig(&options)
            .await
            .context("cannot use the context of --context")?,
        None => kube::Config::infer()
            .await
            .context("no cluster found; name a kubeconfig with --kubeconfig")?,
    };
    Ok(Client::try_from(config)?)
}

#[cfg(test)]
mod tests;
