//! What every namespace has, and how it goes.
//!
//! A living namespace has a `default` service account and the certificate of the API server. One that is being deleted is
//! emptied, says in its conditions what is left and why, and is let go when nothing is.
//!
//! Source: Kubernetes v1.35, pkg/controller/{namespace/deletion,serviceaccount,certificates/rootcacertpublisher}.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, NamespaceCondition, ServiceAccount},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};

/// Name of the ConfigMap with the certificate that clients in the cluster trust.
pub const ROOT_CA: &str = "kube-root-ca.crt";
/// Name of the service account that pods use when they name none.
pub const DEFAULT_ACCOUNT: &str = "default";
/// Finalizer in the spec of a namespace that holds it until it is empty.
pub const FINALIZER: &str = "kubernetes";

const ROOT_CA_KEY: &str = "ca.crt";
const DESCRIPTION: (&str, &str) = (
    "kubernetes.io/description",
    "Certificates that clients use to verify the API server of this cluster",
);

/// What is left of a namespace that is being emptied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    /// Objects left, by `plural.group` (`pods.` in the core group, as upstream writes it).
    pub objects: BTreeMap<String, usize>,
    /// Objects that wait, by finalizer.
    pub finalizers: BTreeMap<String, usize>,
    /// Why the list of resources is not known completely, if so.
    pub discovery_failure: Option<String>,
    /// What could not be listed or deleted, and why.
    pub content_failures: Vec<String>,
}

/// Whether a namespace is being deleted.
pub fn is_terminating(namespace: &Namespace) -> bool {
    namespace.metadata.deletion_timestamp.is_some()
}

/// The default service account of a namespace.
pub fn default_account(namespace: &str) -> ServiceAccount {
    ServiceAccount {
        metadata: named(namespace, DEFAULT_ACCOUNT),
        ..ServiceAccount::default()
    }
}

/// The certificate of the API server as a namespace should have it; none if `found` is right.
pub fn root_ca(namespace: &str, pem: &str, found: Option<&ConfigMap>) -> Option<ConfigMap> {
    let data = BTreeMap::from([(ROOT_CA_KEY.to_owned(), pem.to_owned())]);
    if found.is_some_and(|found| found.data.as_ref() == Some(&data) && found.binary_data.is_none())
    {
        return None;
    }
    let mut metadata =
        found.map_or_else(|| named(namespace, ROOT_CA), |found| found.metadata.clone());
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.insert(DESCRIPTION.0.into(), DESCRIPTION.1.into());
    Some(ConfigMap {
        data: Some(data),
        metadata,
        ..ConfigMap::default()
    })
}

/// Whether nothing is left and nothing is unknown.
pub fn is_empty(remains: &Remains) -> bool {
    *remains == Remains::default()
}

/// The conditions of a terminating namespace with these remains. Conditions of others stay; a time is that of the last change
/// of its condition.
pub fn conditions(
    remains: &Remains,
    before: &[NamespaceCondition],
    now: Timestamp,
) -> Vec<NamespaceCondition> {
    let wanted = findings(remains).map(|(type_, problem, fine)| {
        let status = if problem.is_some() { "True" } else { "False" };
        let (reason, message) = problem.unwrap_or_else(|| (fine.0, fine.1.into()));
        (type_, status, reason, message)
    });
    let others = before
        .iter()
        .filter(|old| !wanted.iter().any(|(type_, ..)| *type_ == old.type_));
    let wanted = wanted.iter().map(|(type_, status, reason, message)| {
        let same = |old: &&NamespaceCondition| {
            old.type_ == *type_
                && old.status == *status
                && old.reason.as_deref() == Some(reason)
                && old.message.as_ref() == Some(message)
        };
        before
            .iter()
            .find(same)
            .cloned()
            .unwrap_or_else(|| NamespaceCondition {
                last_transition_time: Some(Time(now)),
                message: Some(message.clone()),
                reason: Some((*reason).into()),
                status: (*status).into(),
                type_: (*type_).into(),
            })
    });
    others.cloned().chain(wanted).collect()
}

/// A condition's type, its reason and message if there is a problem, and those if there is none.
type Finding = (
    &'static str,
    Option<(&'static str, String)>,
    (&'static str, &'static str),
);

fn findings(remains: &Remains) -> [Finding; 5] {
    let list = |counts: &BTreeMap<String, usize>, word: &str| {
        let parts = counts
            .iter()
            .map(|(what, n)| format!("{what} {word} {n} resource instances"));
        parts.collect::<Vec<_>>().join(", ")
    };
    let discovery = remains.discovery_failure.as_ref();
    let failures = &remains.content_failures;
    [
        (
            "NamespaceDeletionDiscoveryFailure",
            discovery.map(|why| {
                (
                    "DiscoveryFailed",
                    format!("Discovery failed for some groups: {why}"),
                )
            }),
            (
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            None,
            (
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
        ),
        (
            "NamespaceDeletionContentFailure",
            (!failures.is_empty()).then(|| {
                let (n, all) = (failures.len(), failures.join(", "));
                (
                    "ContentDeletionFailed",
                    format!("Failed to delete all resource types, {n} remaining: {all}"),
                )
            }),
            (
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
        ),
        (
            "NamespaceContentRemaining",
            (!remains.objects.is_empty()).then(|| {
                let all = list(&remains.objects, "has");
                (
                    "SomeResourcesRemain",
                    format!("Some resources are remaining: {all}"),
                )
            }),
            ("ContentRemoved", "All content successfully removed"),
        ),
        (
            "NamespaceFinalizersRemaining",
            (!remains.finalizers.is_empty()).then(|| {
                let all = list(&remains.finalizers, "in");
                (
                    "SomeFinalizersRemain",
                    format!("Some content in the namespace has finalizers remaining: {all}"),
                )
            }),
            (
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            ),
        ),
    ]
}

fn named(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        namespace: Some(namespace.into()),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests;
