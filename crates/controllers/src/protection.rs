//! When volumes and their claims may go: a claim when no pod uses it, a volume when no claim has it.
//!
//! The API server gives each a finalizer. While it is there, a deleted claim or volume stays.
//!
//! Source: Kubernetes v1.35, pkg/controller/volume/{pvcprotection,pvprotection}.

use k8s_openapi::{
    api::core::v1::{PersistentVolume, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

/// Finalizer of claims.
pub const CLAIM: &str = "kubernetes.io/pvc-protection";
/// Finalizer of volumes.
pub const VOLUME: &str = "kubernetes.io/pv-protection";

/// The finalizers an object should have; none if it has them. `is_used` matters only while the object is being deleted.
pub fn finalizers(metadata: &ObjectMeta, finalizer: &str, is_used: bool) -> Option<Vec<String>> {
    let found = metadata.finalizers.clone().unwrap_or_default();
    let has = found.iter().any(|name| name == finalizer);
    match (metadata.deletion_timestamp.is_some(), has) {
        (false, false) => {
            let own = std::iter::once(finalizer.to_owned());
            Some(found.into_iter().chain(own).collect())
        }
        (true, true) if !is_used => {
            let others = found.into_iter().filter(|name| name != finalizer);
            Some(others.collect())
        }
        _ => None,
    }
}

/// Whether a deleted object waits for its users.
pub fn is_waiting(metadata: &ObjectMeta, finalizer: &str) -> bool {
    let names = metadata.finalizers.iter().flatten();
    metadata.deletion_timestamp.is_some() && names.into_iter().any(|name| name == finalizer)
}

/// Whether a pod uses the claim called `claim` in its namespace. One without a node does not: no node starts a pod whose claim
/// is being deleted.
pub fn uses(pod: &Pod, claim: &str) -> bool {
    let Some(spec) = &pod.spec else {
        return false;
    };
    let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
    let is_scheduled = spec.node_name.as_ref().is_some_and(|node| !node.is_empty());
    let mut volumes = spec.volumes.iter().flatten();
    is_scheduled
        && volumes.any(|volume| {
            let named = volume.persistent_volume_claim.as_ref();
            named.is_some_and(|named| named.claim_name == claim)
                || volume.ephemeral.is_some() && format!("{pod_name}-{}", volume.name) == claim
        })
}

/// Whether a claim has the volume.
pub fn is_bound(volume: &PersistentVolume) -> bool {
    let phase = volume
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase == Some("Bound")
}

#[cfg(test)]
mod tests;
