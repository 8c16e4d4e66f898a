//! Ingresses that Gslbs create, and Gslbs that Ingresses create.
//!
//! Embedded mode: a Gslb without a reference owns an Ingress of its own name. Annotation mode: an Ingress with
//! `k8gb.io/strategy` owns a Gslb of its own name. Annotation mode keeps what the user set on the Gslb
//! (`serviceHealthPolicy`, weights, both exposed-* annotations); k8gb resets the policy and copies one annotation only.
//!
//! Source: k8gb v0.21; research §3.8b.

use std::collections::BTreeMap;

use flotilla_api::gslb::{GslbSpec, IngressSpec};
use serde_json::{Map, Value, json};

use crate::{
    expose::{EXPOSED_HOSTNAMES, EXPOSED_IP_ADDRESSES},
    key::Key,
    world::{GslbView, IngressView},
};

/// Annotation that turns an Ingress into a Gslb.
pub const STRATEGY: &str = "k8gb.io/strategy";
/// Annotation with the primary of a failover.
pub const PRIMARY_GEO_TAG: &str = "k8gb.io/primary-geotag";
/// Annotation with the TTL.
pub const DNS_TTL_SECONDS: &str = "k8gb.io/dns-ttl-seconds";
/// Label of Ingresses made by a Gslb.
const MANAGED_BY: &str = "app.k8gb.io/managed-by";

/// The networking.k8s.io/v1 spec of an embedded Ingress.
pub fn spec_of(embedded: &IngressSpec) -> Value {
    let mut spec = json!(embedded);
    if let Some(object) = spec.as_object_mut()
        && let Some(backend) = object.remove("backend")
    {
        object.insert("defaultBackend".into(), backend);
    }
    spec
}

/// The Ingress an embedding Gslb wants, unless it is there already.
///
/// `owner` is the Gslb's owner reference. An Ingress of that name with another spec is overwritten, as in k8gb.
pub fn embedded(
    key: &Key,
    gslb: &GslbView,
    owner: &Value,
    existing: Option<&IngressView>,
) -> Option<Value> {
    if !gslb.spec.resource_ref.is_zero() || gslb.spec.ingress.is_empty() || gslb.deleting {
        return None;
    }
    let spec = spec_of(&gslb.spec.ingress);
    if existing.is_some_and(|existing| covers(&existing.spec.unpack(), &spec)) {
        return None;
    }
    Some(json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "labels": { MANAGED_BY: "gslb" },
            "ownerReferences": [owner],
        },
        "spec": spec,
    }))
}

/// Whether `actual` says everything `wanted` says. Fields only the API server fills in are no difference.
fn covers(actual: &Value, wanted: &Value) -> bool {
    match (actual, wanted) {
        (Value::Object(actual), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, value)| actual.get(key).is_some_and(|actual| covers(actual, value))),
        (Value::Array(actual), Value::Array(wanted)) => {
            actual.len() == wanted.len() && actual.iter().zip(wanted).all(|(a, w)| covers(a, w))
        }
        _ => actual == wanted,
    }
}

/// The Gslb an annotated Ingress wants, unless it is there already.
///
/// Nothing happens when the TTL is no number or a failover has no primary, as in k8gb; removing the annotation leaves
/// the Gslb (k8gb#361).
pub fn annotated(key: &Key, ingress: &IngressView, existing: Option<&GslbView>) -> Option<Value> {
    let strategy = ingress.annotations.get(STRATEGY)?;
    if ingress.owned_by_gslb {
        return None;
    }
    let primary = ingress.annotations.get(PRIMARY_GEO_TAG);
    if strategy == "failover" && primary.is_none_or(String::is_empty) {
        return None;
    }
    let ttl: i64 = match ingress.annotations.get(DNS_TTL_SECONDS) {
        Some(text) => text.trim().parse().ok()?,
        None => 30,
    };
    let mut spec = GslbSpec::default();
    if let Some(existing) = existing {
        spec.service_health_policy = existing.spec.service_health_policy;
        spec.strategy
            .weight
            .clone_from(&existing.spec.strategy.weight);
        spec.strategy.split_brain_threshold_seconds =
            existing.spec.strategy.split_brain_threshold_seconds;
    }
    spec.strategy.kind.clone_from(strategy);
    spec.strategy.primary_geo_tag = primary.cloned().unwrap_or_default();
    spec.strategy.dns_ttl_seconds = ttl;
    spec.resource_ref.api_version = "networking.k8s.io/v1".into();
    spec.resource_ref.kind = "Ingress".into();
    spec.resource_ref.name.clone_from(&key.name);
    let copied: BTreeMap<&String, &String> = ingress
        .annotations
        .iter()
        .filter(|(k, _)| [EXPOSED_HOSTNAMES, EXPOSED_IP_ADDRESSES].contains(&k.as_str()))
        .collect();
    if let Some(existing) = existing {
        let annotations_same = copied
            .iter()
            .all(|(k, v)| existing.annotations.get(*k) == Some(*v));
        let same = GslbSpec {
            service_health_policy: spec.service_health_policy,
            ..existing.spec.clone()
        };
        if same == spec && annotations_same {
            return None;
        }
    }
    let mut metadata = Map::new();
    metadata.insert("name".into(), json!(key.name));
    metadata.insert("namespace".into(), json!(key.namespace));
    if !copied.is_empty() {
        metadata.insert("annotations".into(), json!(copied));
    }
    let owner = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "name": key.name,
        "uid": ingress.uid,
        "controller": true,
        "blockOwnerDeletion": true,
    });
    metadata.insert("ownerReferences".into(), json!([owner]));
    Some(json!({
        "apiVersion": "k8gb.io/v1beta1",
        "kind": "Gslb",
        "metadata": metadata,
        "spec": spec,
    }))
}

#[cfg(test)]
mod tests;
