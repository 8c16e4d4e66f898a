//! `ZoneDelegation`: a zone that the clusters of a fleet answer for together, and the name servers found for it.

use k8s_openapi::{ClusterResourceScope, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{crd::Condition, resource::resource};

/// A `ZoneDelegation` of the group `k8gb.io`; cluster-scoped, short name `zd`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZoneDelegation {
    /// Object metadata.
    pub metadata: ObjectMeta,
    /// What the user asks for.
    pub spec: ZoneDelegationSpec,
    /// What the controller found; absent until the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ZoneDelegationStatus>,
}

resource!(
    ZoneDelegation,
    "k8gb.io",
    "v1beta1",
    "ZoneDelegation",
    "zonedelegations",
    ClusterResourceScope
);

/// The zone, its parent, and how it is given up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"message": "loadBalancedZone must not equal parentZone", "rule": "self.loadBalancedZone != self.parentZone"},
    {"message": "loadBalancedZone must be subdomain", "rule": "self.loadBalancedZone.endsWith('.' + self.parentZone)"}
]))]
pub struct ZoneDelegationSpec {
    /// How long, in seconds, resolvers may remember that a name of the zone does not exist.
    #[serde(rename = "dnsZoneNegTTL")]
    pub neg_ttl_seconds: i64,
    /// Whether deleting this object also withdraws the zone from the parent zone, once no cluster serves it any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("x-default" = false))]
    pub do_finalize: bool,
    /// The zone the clusters answer for, for example cloud.example.com.
    pub load_balanced_zone: String,
    /// The zone that delegates it, for example example.com.
    pub parent_zone: String,
}

/// The name servers found for the zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZoneDelegationStatus {
    /// What is right or wrong with this zone, one entry per aspect, and what to do about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Name servers of the zone, one entry per address, sorted by name and address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_servers: Vec<DnsServer>,
}

/// One address of one name server.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct DnsServer {
    /// Fully qualified name of the server.
    pub name: String,
    /// Its IPv4 or IPv6 address.
    pub address: String,
}
