//! Taking a cluster out of the answers by hand, and putting it back.

use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams},
};
use serde::Serialize;
use serde_json::json;

use crate::{
    explain::ask::{self, Error, Found},
    names, spec,
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

/// Drains the Gslb of a host in the cluster of `client`, or ends that.
///
/// # Errors
/// When the cluster does not balance the host, or refuses the write.
pub async fn drain(client: &Client, host: &str, drained: bool) -> Result<Drained, Error> {
    let host = names::canonical(host)?;
    let Found { kind, gslb, status } = ask::find(client, &host).await?;
    let (namespace, name) = (
        gslb.metadata.namespace.unwrap_or_default(),
        gslb.metadata.name.unwrap_or_default(),
    );
    let annotations = gslb.metadata.annotations.unwrap_or_default();
    let before = annotations.get(spec::DRAIN).is_some_and(|v| v == "true");
    if before != drained {
        let api: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), &namespace, &ask::resource(kind));
        // Null takes the annotation away (RFC 7386).
        let value = drained.then_some("true");
        let patch = json!({ "metadata": { "annotations": { spec::DRAIN: value } } });
        api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
    }
    Ok(Drained {
        gslb: format!("{namespace}/{name}"),
        geo_tag: status.geo_tag,
        hosts: status.servers.into_iter().map(|s| s.host).collect(),
        drained,
        changed: before != drained,
    })
}
