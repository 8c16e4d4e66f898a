//! From a Gslb of the legacy group to one of the current group, when its labels ask for it.
//!
//! | labels of the legacy object | what happens |
//! |---|---|
//! | none | it is carried out as it stands, with the event LegacyDeprecated; beside a Gslb of the current group and its name it is ignored |
//! | `k8gb.io/migration-requested: "true"` | protected by a finalizer, copied, its Ingress and DNSEndpoint handed over, marked as migrated |
//! | `k8gb.io/migrated-to-k8gb-io: "true"` | not carried out any more; what it still owns is handed over |
//! | it is being deleted | what it owns is handed over, then the finalizer goes, so Ingress and records survive |
//!
//! Everything is derived from the objects as they are, one step after another, so it may stop anywhere and go on later.
//! The legacy object is carried out until its copy is there: the host is answered all the time.
//!
//! Source: k8gb v0.21, `legacy-gslb-migrator`; research §3.8. Unlike k8gb the copy leaves out kubectl's
//! last-applied annotation, which speaks of another group.

use serde_json::{Value, json};

use crate::{
    key::Key,
    world::{EndpointView, GslbView, IngressView},
};

/// Label with which a user asks for the migration.
pub const REQUESTED: &str = "k8gb.io/migration-requested";
/// Label that says that it is done.
pub const MIGRATED: &str = "k8gb.io/migrated-to-k8gb-io";
/// Finalizer that keeps a legacy object until nothing depends on it.
pub const PROTECTION: &str = "k8gb.io/legacy-migration-protection";
/// Annotation of kubectl that is not copied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How far a legacy object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nobody asked for anything.
    Active,
    /// Nobody asked, but a Gslb of the current group has its name: that one counts, because they would write the same
    /// DNSEndpoint.
    Ignored,
    /// The migration is asked for and not done.
    Requested,
    /// It is done.
    Migrated,
    /// The object is being deleted and waits for us.
    Leaving,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Put the finalizer on the legacy object.
    Protect,
    /// Take it off.
    Release,
    /// Create this Gslb.
    Create(Value),
    /// Take the legacy object off the owners of the Ingress of its name.
    DetachIngress,
    /// Take it off the owners of the DNSEndpoint of its name; the copy becomes its controller if there is a copy.
    DetachEndpoint,
    /// Label the legacy object as migrated.
    Mark,
}

/// A legacy object and what stands around it under the same name.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The legacy object.
    pub legacy: &'a GslbView,
    /// The Gslb of the current group.
    pub canonical: Option<&'a GslbView>,
    /// The Ingress.
    pub ingress: Option<&'a IngressView>,
    /// The DNSEndpoint.
    pub endpoint: Option<&'a EndpointView>,
}

/// How far a legacy object is.
pub fn phase(legacy: &GslbView, canonical: Option<&GslbView>) -> Phase {
    let says = |label: &str| legacy.labels.get(label).is_some_and(|v| v == "true");
    match () {
        () if legacy.deleting && legacy.protected => Phase::Leaving,
        () if says(MIGRATED) && !legacy.deleting => Phase::Migrated,
        () if says(REQUESTED) && !legacy.deleting => Phase::Requested,
        () if canonical.is_some() => Phase::Ignored,
        () => Phase::Active,
    }
}

/// Whether the legacy object itself decides what its hosts are answered with.
pub fn is_carried_out(legacy: &GslbView, canonical: Option<&GslbView>) -> bool {
    match phase(legacy, canonical) {
        Phase::Active => true,
        Phase::Requested => canonical.is_none(),
        Phase::Ignored | Phase::Migrated | Phase::Leaving => false,
    }
}

/// What can be done now; more may follow when it is done.
pub fn steps(key: &Key, facts: Facts<'_>) -> Vec<Step> {
    let Facts {
        legacy, canonical, ..
    } = facts;
    let phase = phase(legacy, canonical);
    let mut steps = Vec::new();
    match (phase, canonical) {
        (Phase::Active | Phase::Ignored, _) => return steps,
        (Phase::Requested, _) if !legacy.protected => return vec![Step::Protect],
        (Phase::Requested, None) => return vec![Step::Create(copy(key, legacy))],
        _ => {}
    }
    if facts
        .ingress
        .is_some_and(|it| it.owners.contains(&legacy.uid))
    {
        steps.push(Step::DetachIngress);
    }
    if facts
        .endpoint
        .is_some_and(|it| it.owners.contains(&legacy.uid))
    {
        steps.push(Step::DetachEndpoint);
    }
    if steps.is_empty() {
        match phase {
            Phase::Requested => steps.push(Step::Mark),
            Phase::Leaving => steps.push(Step::Release),
            Phase::Active | Phase::Ignored | Phase::Migrated => {}
        }
    }
    steps
}

/// The Gslb of the current group: annotations are copied, labels are not, and an embedded Ingress becomes a reference.
fn copy(key: &Key, legacy: &GslbView) -> Value {
    let mut spec = legacy.spec.clone();
    if spec.resource_ref.is_zero() && !spec.ingress.is_empty() {
        spec.ingress = Default::default();
        spec.resource_ref.api_version = "networking.k8s.io/v1".into();
        spec.resource_ref.kind = "Ingress".into();
        spec.resource_ref.name.clone_from(&key.name);
        spec.resource_ref.namespace.clone_from(&key.namespace);
    }
    let mut annotations = legacy.annotations.clone();
    annotations.remove(LAST_APPLIED);
    let mut object = json!({
        "apiVersion": "k8gb.io/v1beta1",
        "kind": "Gslb",
        "metadata": { "name": key.name, "namespace": key.namespace },
        "spec": spec,
    });
    if !annotations.is_empty() {
        object["metadata"]["annotations"] = json!(annotations);
    }
    object
}

#[cfg(test)]
mod tests;
