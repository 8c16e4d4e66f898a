//! The embedded Kubernetes-compatible API server

pub mod access;
pub mod discovery;
pub mod negotiate;
pub mod openapi;
pub mod params;
pub mod registry;
pub mod request;
pub mod store;
pub mod strategy;
