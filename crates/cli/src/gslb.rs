//! `flotilla gslb …`: questions to a cluster's load balancing, with nothing but a kubeconfig.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flotilla_gslb::explain::ask::{Ask, explain_host};
use flotilla_telemetry::logging;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::Serialize;

use crate::args::{ExplainArgs, Output};
use crate::plan::state_dir;
use crate::{environment, say};

/// `flotilla gslb explain HOST`.
pub(crate) fn explain(args: &ExplainArgs, log: Option<&str>) -> Result<()> {
    logging::install(&environment::log_settings(log.or(Some("warn"))), None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let explanation = runtime.block_on(async {
        let client = client(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
        let ask = Ask {
            ports: args.dns_port.clone(),
            ..Ask::default()
        };
        explain_host(&client, &args.host, &ask)
            .await
            .with_context(|| format!("cannot explain {}", args.host))
    })?;
    print(&explanation, &explanation.to_string(), args.output)
}

/// Prints a value in the format asked for.
fn print(value: &impl Serialize, text: &str, output: Output) -> Result<()> {
    match output {
        Output::Text => say(text),
        Output::Json => say(&(serde_json::to_string_pretty(value)? + "\n")),
        Output::Yaml => say(&serde_saphyr::to_string(value).context("cannot write YAML")?),
    }
}

async fn client(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Client> {
    let path = kubeconfig
        .map(Path::to_owned)
        .map_or_else(default_kubeconfig, Ok)?;
    let kubeconfig = Kubeconfig::read_from(&path).with_context(|| {
        format!(
            "cannot use {}; --kubeconfig chooses another",
            path.display()
        )
    })?;
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
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
