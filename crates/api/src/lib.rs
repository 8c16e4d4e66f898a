//! Types of every custom resource Flotilla serves or reads, and the CRDs generated from them.
//!
//! Each module holds one resource: plain serde types whose wire form is exactly the peer's, so that manifests written
//! for it need no change. The OpenAPI schemas come from the types themselves ([`crds`]), which means a field cannot
//! exist in one place only; golden files under `crd/` pin what is installed.
//!
//! Field names, required lists, defaults, validation rules and printer columns follow k8gb v0.21 (`chart/k8gb/crd`) and
//! external-dns v0.21; the descriptions are ours. Two deliberate additions are listed in docs/differences.md:
//! `status.conditions` on both k8gb kinds.

pub mod crd;
pub mod dns_endpoint;
pub mod gslb;
pub mod resource;
pub mod zone_delegation;

pub use crd::{Condition, crds};
pub use dns_endpoint::{DnsEndpoint, DnsEndpointSpec, Endpoint};
pub use gslb::{Gslb, GslbSpec, GslbStatus, LegacyGslb};
pub use zone_delegation::{ZoneDelegation, ZoneDelegationSpec, ZoneDelegationStatus};
