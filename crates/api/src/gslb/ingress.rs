//! The Ingress inside a Gslb: networking.k8s.io/v1 with two differences that k8gb has always had.
//!
//! The default backend is called `backend`, and a rule must have `http`; an API server refuses one without it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Ingress that embedded mode creates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressSpec {
    /// Backend for requests that match no rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<IngressBackend>,
    /// Class of the ingress controller that serves this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress_class_name: Option<String>,
    /// Hosts and where their requests go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<IngressRule>,
    /// Certificates by host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tls: Vec<IngressTls>,
}

/// One host and where its requests go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IngressRule {
    /// Fully qualified host name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Where requests for the host go.
    pub http: HttpIngressRuleValue,
}

/// Paths of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HttpIngressRuleValue {
    /// Paths and their backends.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub paths: Vec<HttpIngressPath>,
}

/// One path and its backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpIngressPath {
    /// Where matching requests go.
    pub backend: IngressBackend,
    /// Path of the request; starts with a slash for the types Exact and Prefix.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// How the path is compared: Exact, Prefix or ImplementationSpecific.
    pub path_type: String,
}

/// A Service or another object that serves requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IngressBackend {
    /// Any other object in the namespace; excludes service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<TypedReference>,
    /// A Service in the namespace; excludes resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceBackend>,
}

/// A Service and one of its ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceBackend {
    /// Name of the Service.
    pub name: String,
    /// Port of the Service, by name or by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<ServicePort>,
}

/// Port of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ServicePort {
    /// Name of the port; excludes number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Number of the port; excludes name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-format" = "int32"))]
    pub number: Option<i32>,
}

/// Reference to an object of any kind in the namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct TypedReference {
    /// API group; absent for the core group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
}

/// A certificate and the hosts it is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressTls {
    /// Hosts the certificate covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub hosts: Vec<String>,
    /// Secret that holds the certificate and its key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub secret_name: String,
}

impl IngressSpec {
    /// Whether no field is set, as in a Gslb with a resourceRef.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
