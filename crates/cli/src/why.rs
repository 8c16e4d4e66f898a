//! `flotilla why …`: why an object is the way it is, with nothing but a kubeconfig.

use anyhow::Result;
use flotilla_telemetry::logging;
use flotilla_why::ask::{self, Ask};
use flotilla_why::explain::explain;

use crate::args::WhyArgs;
use crate::connect::{client, print, runtime};
use crate::environment;

/// Carries the command out.
pub(crate) fn run(args: &WhyArgs, log: Option<&str>) -> Result<()> {
    logging::install(&environment::log_settings(log.or(Some("warn"))), None)?;
    runtime()?.block_on(async {
        let client = client(&args.cluster).await?;
        let namespace = args.namespace.clone();
        let ask = Ask {
            kind: args.kind.clone(),
            name: args.name.clone(),
            namespace: namespace.unwrap_or_else(|| client.default_namespace().to_owned()),
            user: args.user.clone().unwrap_or_default(),
            groups: args.groups.clone(),
            verb: args.verb.clone(),
            subresource: args.subresource.clone().unwrap_or_default(),
        };
        let facts = ask::facts(&client, &ask, environment::now()).await?;
        let explanation = explain(&facts);
        print(&explanation, &explanation.to_string(), args.output)
    })
}
