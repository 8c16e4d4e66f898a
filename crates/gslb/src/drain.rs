//! Taking a cluster out of the answers by hand, and putting it back.

use jiff::Timestamp;
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    controller::now,
    explain::ask::{self, Error, Found},
    names,
    options::{self, Defaults},
    ramp::Drain,
};

/// What a drain did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drained {
    /// Namespace and name of the Gslb.
    pub gslb: String,
    /// The cluster.
    pub geo_tag: String,
    /// Every host of the Gslb, all of which are concerned.
    pub hosts: Vec<String>,
    /// Whether the cluster is drained now.
    pub drained: bool,
    /// Whether it was otherwise before.
    pub changed: bool,
}

/// Drains the Gslb of a host in the cluster of `client`, or ends that. A Gslb that leaves over a period
/// (`flotilla.dev/drain-seconds`, or `period_seconds` which is written there) begins to do so now.
///
/// # Errors
/// When the cluster does not balance the host, or refuses the write.
pub async fn drain(
    client: &Client,
    host: &str,
    drained: bool,
    period_seconds: Option<u64>,
) -> Result<Drained, Error> {
    let host = names::canonical(host)?;
    let Found { kind, gslb, status } = ask::find(client, &host).await?;
    let (namespace, name) = (
        gslb.metadata.namespace.unwrap_or_default(),
        gslb.metadata.name.unwrap_or_default(),
    );
    let annotations = gslb.metadata.annotations.unwrap_or_default();
    let (before, _) = options::read(&annotations, Defaults::default());
    let was_out = matches!(before.drain, Drain::Out(_));
    let changed = was_out != drained;
    if changed {
        let api: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), &namespace, &ask::resource(kind));
        let gradual = period_seconds.map_or(!before.drain_period.is_zero(), |n| n > 0);
        let patch = json!({ "metadata": { "annotations":
            annotations_of(drained, gradual, period_seconds, now()) } });
        api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
    }
    Ok(Drained {
        gslb: format!("{namespace}/{name}"),
        geo_tag: status.geo_tag,
        hosts: status.servers.into_iter().map(|s| s.host).collect(),
        drained,
        changed,
    })
}

/// The annotations to write; null takes one away (RFC 7386).
fn annotations_of(
    drained: bool,
    gradual: bool,
    period_seconds: Option<u64>,
    now: Timestamp,
) -> Value {
    let instant = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let (out, back) = match (drained, gradual) {
        (true, true) => (Some(instant), None),
        (true, false) => (Some("true".to_owned()), None),
        (false, true) => (None, Some(instant)),
        (false, false) => (None, None),
    };
    let mut annotations = json!({ options::DRAIN: out, options::UNDRAINED_AT: back });
    if let Some(seconds) = period_seconds {
        annotations[options::DRAIN_SECONDS] = json!(seconds.to_string());
    }
    annotations
}
