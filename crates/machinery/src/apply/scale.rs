//! Ownership of replicas, seen from a resource and from its scale subresource.
//!
//! Both are one number, so whoever sets it through `/scale` owns the path in the resource, and the
//! other way round. The entries are translated on the way in and out.
//!
//! Source: Kubernetes v1.35, apimachinery `util/managedfields/scalehandler.go`.

use serde_json::Value;

use super::managers::{Entry, Managers};
use crate::fieldpath::{Path, Set};

/// Version of the Scale object.
const SCALE_VERSION: &str = "autoscaling/v1";

/// Where each version of the resource keeps its replicas; `None` in versions without scale.
pub type ReplicasPaths<'a> = [(&'a str, Option<Path>)];

/// The entries that a Scale object made from a resource with the entries `parent` shows.
pub fn to_scale(parent: &Value, paths: &ReplicasPaths<'_>) -> Result<Value, String> {
    let mut managers = Managers::decode(parent)?;
    managers.0.retain_mut(|entry| {
        let owned = path_in(paths, &entry.api_version).flatten();
        let owned = owned.is_some_and(|path| entry.set.has(&path.0));
        if owned {
            entry.set = Set::from_paths([scale_path()]);
            entry.api_version = SCALE_VERSION.into();
        }
        owned
    });
    Ok(managers.encode().unwrap_or_default())
}

/// The entries of the resource in `api_version` after its Scale object got the entries `scale`.
pub fn to_parent(
    parent: &Value,
    scale: &Value,
    api_version: &str,
    paths: &ReplicasPaths<'_>,
) -> Result<Value, String> {
    let mut managers = Managers::decode(parent)?;
    let mut scale = Managers::decode(scale)?;
    // Updaters are compared without their version, which differs between the two objects; upstream
    // takes them for strangers and writes their entry twice.
    let mut take = |entry: &Entry| {
        let same = |other: &Entry| {
            let (a, b) = (&other.identity, &entry.identity);
            (&a.manager, a.operation, &a.subresource) == (&b.manager, b.operation, &b.subresource)
        };
        let at = scale.0.iter().position(same);
        at.map(|at| scale.0.remove(at)).is_some()
    };
    managers.0.retain_mut(|entry| {
        let Some(path) = path_in(paths, &entry.api_version) else {
            return false;
        };
        if let Some(path) = path.filter(|path| entry.set.has(&path.0))
            && !take(entry)
        {
            entry.set = entry.set.difference(&Set::from_paths([path.clone()]));
        }
        !entry.set.is_empty()
    });
    let replicas = path_in(paths, api_version).flatten();
    for mut entry in scale.0 {
        if let Some(path) = replicas.filter(|_| entry.set.has(&scale_path().0)) {
            entry.set = Set::from_paths([path.clone()]);
            entry.api_version = api_version.to_owned();
            // Upstream looks the time up among the parent's managers, where a new one has none.
            entry.time = None;
            managers.0.push(entry);
        }
    }
    Ok(managers.encode().unwrap_or_default())
}

fn scale_path() -> Path {
    Path::fields(&["spec", "replicas"])
}

/// `None` for versions that do not exist, `Some(None)` for those without replicas.
fn path_in<'p>(paths: &'p ReplicasPaths<'_>, api_version: &str) -> Option<Option<&'p Path>> {
    let (_, path) = paths.iter().find(|(version, _)| *version == api_version)?;
    Some(path.as_ref())
}
