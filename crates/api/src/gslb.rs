//! `Gslb`: one application that is reachable under the same host names in several clusters.
//!
//! Served under `k8gb.io/v1beta1` and, for objects made before k8gb 0.19, under `k8gb.absa.oss/v1beta1`
//! ([`LegacyGslb`]), which has the same fields except `serviceHealthPolicy`.

mod ingress;

use std::collections::BTreeMap;

use k8s_openapi::{NamespaceResourceScope, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::ingress::{
    HttpIngressPath, HttpIngressRuleValue, IngressBackend, IngressRule, IngressSpec, IngressTls,
    ServiceBackend, ServicePort, TypedReference,
};
use crate::{crd::Condition, resource::resource};

/// The API group of current k8gb objects.
pub const GROUP: &str = "k8gb.io";
/// The API group used before k8gb 0.19, still served until an object is migrated.
pub const LEGACY_GROUP: &str = "k8gb.absa.oss";
/// The one version both groups serve.
pub const VERSION: &str = "v1beta1";

/// A `Gslb` of the group `k8gb.io`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gslb {
    /// Object metadata.
    pub metadata: ObjectMeta,
    /// What the user asks for.
    pub spec: GslbSpec,
    /// What the controller found; absent until the first decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<GslbStatus>,
}

/// A `Gslb` of the legacy group `k8gb.absa.oss`.
///
/// The spec type is shared; the legacy CRD has no `serviceHealthPolicy`, so an API server never hands one over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LegacyGslb {
    /// Object metadata.
    pub metadata: ObjectMeta,
    /// What the user asks for.
    pub spec: GslbSpec,
    /// What the controller found; absent until the first decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<GslbStatus>,
}

resource!(
    Gslb,
    "k8gb.io",
    "v1beta1",
    "Gslb",
    "gslbs",
    NamespaceResourceScope
);
resource!(
    LegacyGslb,
    "k8gb.absa.oss",
    "v1beta1",
    "Gslb",
    "gslbs",
    NamespaceResourceScope
);

/// Which hosts are balanced, how, and what stands behind them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GslbSpec {
    /// An Ingress that the controller creates and owns under the name of this object. Leave it out when resourceRef
    /// is set.
    #[serde(default, skip_serializing_if = "IngressSpec::is_empty")]
    pub ingress: IngressSpec,
    /// The existing object whose hosts, backends and addresses are balanced.
    #[serde(default, skip_serializing_if = "ResourceRef::is_zero")]
    pub resource_ref: ResourceRef,
    /// How several Services behind one host are judged: with Any one ready Service makes the host healthy, with All
    /// every Service has to be ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "Any"))]
    pub service_health_policy: Option<ServiceHealthPolicy>,
    /// How the clusters share the host.
    pub strategy: Strategy,
}

/// How several Services behind one host are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ServiceHealthPolicy {
    /// One ready Service is enough.
    #[default]
    Any,
    /// Every Service has to be ready.
    All,
}

/// How the clusters share a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// How long clients may cache an answer, in whole seconds. Zero or absent means 30.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dns_ttl_seconds: i64,
    /// The cluster that serves while it is healthy. Needed by the failover strategy.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub primary_geo_tag: String,
    /// How long, in seconds, the last answer of a cluster that has fallen silent is still believed. Zero or absent
    /// means that silence counts at once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub split_brain_threshold_seconds: i64,
    /// The strategy: roundRobin, failover or geoip.
    #[serde(rename = "type")]
    pub kind: String,
    /// Relative shares by geo tag, each 0 to 1000. Only for roundRobin.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weight: BTreeMap<String, i64>,
}

/// Reference to an existing object, by name or by labels.
///
/// The wire form is an inlined `ObjectReference` and an inlined `LabelSelector`. All fields empty means embedded mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ResourceRef {
    /// API group and version of the object, for example networking.k8s.io/v1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Part of the object that is meant. Not used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field_path: String,
    /// Kind of the object, for example Ingress.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Label conditions that all have to hold; used when no name is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<LabelRequirement>,
    /// Labels the object must carry; used when no name is given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Name of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Namespace of the object; the one of the Gslb when absent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Version of the object. Not used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Unique identifier of the object. Not used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// One label condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelRequirement {
    /// Label key.
    pub key: String,
    /// In, NotIn, Exists or DoesNotExist.
    pub operator: String,
    /// Values for In and NotIn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<String>,
}

/// What the controller of one cluster found.
///
/// The definition requires three of the fields, so every write sends them; a status without them is still read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["geoTag", "healthyRecords", "serviceHealth"]))]
pub struct GslbStatus {
    /// What is right or wrong with this object, one entry per aspect, and what to do about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Geo tag of the cluster that wrote this status.
    #[serde(default)]
    pub geo_tag: String,
    /// The addresses every healthy host is answered with, by host.
    #[serde(default)]
    pub healthy_records: BTreeMap<String, Vec<String>>,
    /// The hosts, separated by a comma and a blank.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hosts: String,
    /// The addresses of this cluster.
    #[serde(default, skip_serializing_if = "LoadBalancer::is_empty")]
    pub load_balancer: LoadBalancer,
    /// Hosts and the Services behind them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// Health of every host in this cluster: Healthy, Unhealthy or NotFound.
    #[serde(default)]
    pub service_health: BTreeMap<String, String>,
}

/// The addresses of this cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadBalancer {
    /// Addresses under which clients reach the application in this cluster.
    #[serde(default, rename = "exposedIps", skip_serializing_if = "Vec::is_empty")]
    pub exposed_ips: Vec<String>,
}

/// One host and the Services behind it.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Server {
    /// Host name that is balanced.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Services that serve the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<NamespacedName>,
}

/// Name of an object and the namespace it lives in.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct NamespacedName {
    /// Name of the object.
    pub name: String,
    /// Namespace of the object.
    pub namespace: String,
}

// === impls ===

impl ResourceRef {
    /// Whether nothing is referenced, which selects embedded mode.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl LoadBalancer {
    fn is_empty(&self) -> bool {
        self.exposed_ips.is_empty()
    }
}

fn is_zero(n: &i64) -> bool {
    *n == 0
}
