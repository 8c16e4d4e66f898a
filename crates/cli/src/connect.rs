//! What commands that ask a cluster have in common: a client, a runtime, the ways to print.

use std::path::PathBuf;

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::args::{ClusterArgs, Output};
use crate::plan::state_dir;
use crate::{environment, say};

/// What a command runs on.
pub(crate) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")
}

/// Prints a value in the format asked for.
pub(crate) fn print(value: &impl Serialize, text: &str, output: Output) -> Result<()> {
    match output {
        Output::Text => say(text),
        Output::Json => say(&(serde_json::to_string_pretty(value)? + "\n")),
        Output::Yaml => say(&serde_saphyr::to_string(value).context("cannot write YAML")?),
    }
}

/// A client for the cluster that the arguments choose.
pub(crate) async fn client(args: &ClusterArgs) -> Result<Client> {
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
