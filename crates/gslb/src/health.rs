//! Whether a host can be served by this cluster.
//!
//! A backend is ready when any endpoint in any of its EndpointSlices has an address and is not declared unready.
//! Terminating and serving are not looked at, as in k8gb, and an ExternalName Service is never ready because it has no
//! slices (k8gb#1887).
//!
//! Source: k8gb v0.21 `runtime_shared`, `TestCalculateServiceHealth`; research §3.3.

use std::fmt;

use flotilla_api::gslb::ServiceHealthPolicy;

/// What this cluster says about a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Health {
    /// The host can be served here.
    Healthy,
    /// The backends exist but none, or not all, are ready.
    Unhealthy,
    /// There is no backend.
    #[default]
    NotFound,
}

impl Health {
    /// The word k8gb writes into the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Health::Healthy => "Healthy",
            Health::Unhealthy => "Unhealthy",
            Health::NotFound => "NotFound",
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is known of one Service behind a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// There is no such Service.
    Missing,
    /// The Service exists without a ready endpoint.
    NotReady,
    /// The Service has a ready endpoint.
    Ready,
}

/// One endpoint of an EndpointSlice: how many addresses, and the ready condition (absent counts as ready).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointView {
    /// Number of addresses.
    pub n_addresses: usize,
    /// The condition `ready`, if stated.
    pub ready: Option<bool>,
}

/// Whether a slice with these endpoints makes its Service ready.
pub fn slice_is_ready(endpoints: &[EndpointView]) -> bool {
    endpoints
        .iter()
        .any(|e| e.n_addresses > 0 && e.ready.unwrap_or(true))
}

/// Health of a host from the state of its backends.
pub fn of_host(policy: ServiceHealthPolicy, backends: impl IntoIterator<Item = Backend>) -> Health {
    let (mut n_missing, mut n_not_ready, mut n_ready) = (0usize, 0usize, 0usize);
    for backend in backends {
        match backend {
            Backend::Missing => n_missing += 1,
            Backend::NotReady => n_not_ready += 1,
            Backend::Ready => n_ready += 1,
        }
    }
    if n_missing + n_not_ready + n_ready == 0 {
        return Health::NotFound;
    }
    match policy {
        ServiceHealthPolicy::Any if n_ready > 0 => Health::Healthy,
        ServiceHealthPolicy::Any if n_not_ready > 0 => Health::Unhealthy,
        ServiceHealthPolicy::Any => Health::NotFound,
        ServiceHealthPolicy::All if n_missing > 0 => Health::NotFound,
        ServiceHealthPolicy::All if n_not_ready > 0 => Health::Unhealthy,
        ServiceHealthPolicy::All => Health::Healthy,
    }
}

#[cfg(test)]
mod tests;
