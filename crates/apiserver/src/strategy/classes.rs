//! Default classes: a claim or an ingress that names none gets the one marked as default.
//!
//! Source: Kubernetes v1.35, admission plugins DefaultStorageClass and DefaultIngressClass.

use flotilla_machinery::{group::GroupResource, status::Status};
use serde_json::Value;

use super::fill::{at, text};
use crate::{registry::Context, store::ResourceKey};

const STORAGE: &str = "storageclass.kubernetes.io/is-default-class";
const INGRESS: &str = "ingressclass.kubernetes.io/is-default-class";

/// The annotation that named a claim's class before the field did.
const OLD_STORAGE: &str = "volume.beta.kubernetes.io/storage-class";
/// The annotation that named an ingress's class before the field did.
const OLD_INGRESS: &str = "kubernetes.io/ingress.class";

/// Gives a new claim the default storage class; of several the newest.
pub(super) fn storage_class(cx: &Context<'_>, claim: &mut Value) -> Result<(), Status> {
    let is_named = !at(claim, "spec.storageClassName").is_null()
        || at(claim, "metadata.annotations").get(OLD_STORAGE).is_some();
    if is_named || !claim["spec"].is_object() {
        return Ok(());
    }
    let defaults = marked(cx, "storage.k8s.io", "storageclasses", STORAGE);
    if let Some((_, name)) = defaults.into_iter().max() {
        claim["spec"]["storageClassName"] = name.into();
    }
    Ok(())
}

/// Gives a new ingress the default class.
///
/// # Errors
/// 403 when several classes are marked.
pub(super) fn ingress_class(cx: &Context<'_>, ingress: &mut Value) -> Result<(), Status> {
    let is_named = !at(ingress, "spec.ingressClassName").is_null()
        || at(ingress, "metadata.annotations")
            .get(OLD_INGRESS)
            .is_some();
    if is_named || !ingress["spec"].is_object() {
        return Ok(());
    }
    let defaults = marked(cx, "networking.k8s.io", "ingressclasses", INGRESS);
    match defaults.as_slice() {
        [] => {}
        [(_, name)] => ingress["spec"]["ingressClassName"] = name.as_str().into(),
        several => {
            let why = format!(
                "{} default IngressClasses were found, only 1 allowed",
                several.len()
            );
            let resource = GroupResource::new("networking.k8s.io", "ingresses");
            return Err(Status::forbidden(
                &resource,
                text(ingress, "metadata.name"),
                why,
            ));
        }
    }
    Ok(())
}

/// Creation time and name of every class with the annotation.
fn marked(cx: &Context<'_>, group: &str, plural: &str, annotation: &str) -> Vec<(String, String)> {
    let classes = cx.state.collection(&ResourceKey::new(group, plural));
    let bodies = classes
        .into_iter()
        .flat_map(|all| &all.objects)
        .map(|(_, object)| &object.body);
    bodies
        .filter_map(|body| serde_json::from_slice::<Value>(body).ok())
        .filter(|class| at(class, "metadata.annotations").get(annotation) == Some(&"true".into()))
        .map(|class| {
            let own = |path: &str| text(&class, path).to_owned();
            (own("metadata.creationTimestamp"), own("metadata.name"))
        })
        .collect()
}
