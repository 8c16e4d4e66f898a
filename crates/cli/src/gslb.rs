//! `flotilla gslb …`: a cluster's load balancing, with nothing but a kubeconfig.

mod import;

use std::path::PathBuf;

use anyhow::{Context, Result};
use flotilla_gslb::explain::ask::{self, Ask};
use flotilla_gslb::explain::outlook::outlook;
use flotilla_gslb::explain::{self, Facts, Scenario};
use flotilla_telemetry::logging;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::Serialize;

use crate::args::{ClusterArgs, DrainArgs, ExplainArgs, GslbCommand, Output, WhatIfArgs};
use crate::plan::state_dir;
use crate::{environment, say};

/// Carries a command out.
pub(crate) fn run(command: &GslbCommand, log: Option<&str>) -> Result<()> {
    logging::install(&environment::log_settings(log.or(Some("warn"))), None)?;
    if let GslbCommand::ImportValues(args) = command {
        return import::run(args);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    runtime.block_on(async {
        match command {
            GslbCommand::Explain(args) => explain(args).await,
            GslbCommand::WhatIf(args) => what_if(args).await,
            GslbCommand::Drain(args) => drain(args).await,
            GslbCommand::ImportValues(_) => Ok(()),
        }
    })
}

/// `flotilla gslb explain HOST`.
async fn explain(args: &ExplainArgs) -> Result<()> {
    let explanation = explain::explain(&facts(args).await?);
    print(&explanation, &explanation.to_string(), args.output)
}

/// `flotilla gslb what-if HOST`.
async fn what_if(args: &WhatIfArgs) -> Result<()> {
    let scenario = Scenario {
        unhealthy: args.down.iter().cloned().collect(),
        partitions: args.partition.iter().cloned().collect(),
        ..Scenario::default()
    };
    let outlook = outlook(&facts(&args.explain).await?, &scenario)?;
    print(&outlook, &outlook.to_string(), args.explain.output)
}

async fn facts(args: &ExplainArgs) -> Result<Facts> {
    let client = client(&args.cluster).await?;
    let ask = Ask {
        ports: args.dns_port.clone(),
        ..Ask::default()
    };
    ask::facts(&client, &args.host, &ask)
        .await
        .with_context(|| format!("cannot explain {}", args.host))
}

/// `flotilla gslb drain HOST`.
async fn drain(args: &DrainArgs) -> Result<()> {
    let client = client(&args.cluster).await?;
    let seconds = args.over.map(|over| over.as_secs());
    let done = flotilla_gslb::drain::drain(&client, &args.host, !args.undo, seconds)
        .await
        .with_context(|| format!("cannot drain {}", args.host))?;
    let state = match (done.drained, done.changed) {
        (true, true) => "is drained",
        (true, false) => "was drained already",
        (false, true) => "is not drained any more",
        (false, false) => "was not drained",
    };
    let (gslb, tag, hosts) = (done.gslb, done.geo_tag, done.hosts.join(", "));
    say(&format!(
        "Gslb {gslb} of {tag} {state}; its hosts: {hosts}\n"
    ))
}

/// Prints a value in the format asked for.
fn print(value: &impl Serialize, text: &str, output: Output) -> Result<()> {
    match output {
        Output::Text => say(text),
        Output::Json => say(&(serde_json::to_string_pretty(value)? + "\n")),
        Output::Yaml => say(&serde_saphyr::to_string(value).context("cannot write YAML")?),
    }
}

async fn client(args: &ClusterArgs) -> Result<Client> {
    let path = args
        .kubeconfig
        .clone()
        .map_or_else(default_kubeconfig, Ok)?;
    let kubeconfig = Kubeconfig::read_from(&path).with_context(|| {
        format!(
            "cannot use {}; --kubeconfig chooses another",
            path.display()
        )
    })?;
    let options = KubeConfigOptions {
        context: args.context.clone(),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .with_context(|| format!("cannot use {}; --context chooses a context", path.display()))?;
    Ok(Client::try_from(config)?)
}

/// The first that there is: KUBECONFIG, the one of `flotilla up`, kubectl's own.
fn default_kubeconfig() -> Result<PathBuf> {
    let around = environment::surroundings();
    let candidates = [
        environment::kubeconfig(),
        state_dir(&around).map(|folder| folder.join("kubeconfig")),
        around.home.map(|home| home.join(".kube/config")),
    ];
    candidates
        .into_iter()
        .flatten()
        .find(|path| path.exists())
        .context(
            "no kubeconfig found; start a cluster with `flotilla up` or name one with --kubeconfig",
        )
}
