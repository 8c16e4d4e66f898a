//! `flotilla gslb …`: a cluster's load balancing, with nothing but a kubeconfig.

mod import;

use anyhow::{Context, Result};
use flotilla_gslb::explain::ask::{self, Ask};
use flotilla_gslb::explain::outlook::outlook;
use flotilla_gslb::explain::{self, Facts, Scenario};
use flotilla_telemetry::logging;
use serde_json::Value;

use crate::args::{DrainArgs, ExplainArgs, GslbCommand, ManifestsArgs, WhatIfArgs};
use crate::cluster::LEGACY_GROUP;
use crate::connect::{client, print, runtime};
use crate::{environment, say};

/// Carries a command out.
pub(crate) fn run(command: &GslbCommand, log: Option<&str>) -> Result<()> {
    logging::install(&environment::log_settings(log.or(Some("warn"))), None)?;
    if let GslbCommand::ImportValues(args) = command {
        return import::run(args);
    }
    if matches!(command, GslbCommand::Policies) {
        return say(flotilla_gslb::policies::POLICIES);
    }
    if let GslbCommand::Manifests(args) = command {
        return manifests(args);
    }
    runtime()?.block_on(async {
        match command {
            GslbCommand::Explain(args) => explain(args).await,
            GslbCommand::WhatIf(args) => what_if(args).await,
            GslbCommand::Drain(args) => drain(args).await,
            GslbCommand::ImportValues(_) | GslbCommand::Policies | GslbCommand::Manifests(_) => {
                Ok(())
            }
        }
    })
}

/// `flotilla gslb manifests`.
fn manifests(args: &ManifestsArgs) -> Result<()> {
    let mut text = String::new();
    // The legacy group is for those who move over and have it already; with both groups present,
    // `kubectl get gslb` would mean the old one.
    let is_legacy = |definition: &Value| definition["spec"]["group"] == LEGACY_GROUP;
    let definitions = flotilla_api::crd::documents();
    for definition in definitions.iter().filter(|it| !is_legacy(it)) {
        text += &serde_saphyr::to_string(definition).context("cannot write YAML")?;
        text += "---\n";
    }
    text += &flotilla_gslb::manifests::manifests(&args.namespace, &args.image);
    say(&text)
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
