//! `DNSEndpoint` of external-dns: DNS records as a Kubernetes object.
//!
//! The controller writes its answers in this form, so that the peer's DNS server or external-dns can serve them and
//! `kubectl` can show them.

use std::collections::BTreeMap;

use k8s_openapi::{NamespaceResourceScope, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::resource::resource;

/// A `DNSEndpoint` of the group `externaldns.k8s.io`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DnsEndpoint {
    /// Object metadata.
    pub metadata: ObjectMeta,
    /// The records.
    #[serde(default)]
    pub spec: DnsEndpointSpec,
    /// What external-dns has seen of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DnsEndpointStatus>,
}

resource!(
    DnsEndpoint,
    "externaldns.k8s.io",
    "v1alpha1",
    "DNSEndpoint",
    "dnsendpoints",
    NamespaceResourceScope
);

/// DNS records that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DnsEndpointSpec {
    /// The records, one entry per name and type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Endpoint>,
}

/// All records of one name and type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Name of the records.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dns_name: String,
    /// Hints for whoever serves the records, such as strategy and weights.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Settings for one DNS provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provider_specific: Vec<ProviderSpecific>,
    /// Time to live in seconds.
    #[serde(default, rename = "recordTTL", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-format" = "int64"))]
    pub record_ttl: Option<i64>,
    /// Type of the records, for example A, NS or TXT.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub record_type: String,
    /// Tells apart several record sets of the same name and type.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub set_identifier: String,
    /// Values of the records: addresses, names or texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
}

/// A setting for one DNS provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderSpecific {
    /// Name of the setting.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Value of the setting.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// What external-dns has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DnsEndpointStatus {
    /// The generation external-dns acted on last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-format" = "int64"))]
    pub observed_generation: Option<i64>,
}
