//! Global DNS load balancing across clusters, compatible with k8gb.
//!
//! Every cluster of a fleet decides alone which addresses a host is answered with: its own when the host is healthy
//! here, and the ones its peers vouch for over DNS. There is no global component and no connection between clusters
//! other than DNS.

pub mod config;
pub mod controller;
pub mod decide;
pub mod delegate;
pub mod drain;
pub mod endpoints;
pub mod engine;
pub mod explain;
pub mod expose;
pub mod health;
pub mod import;
pub mod ingress;
pub mod key;
pub mod kinds;
pub mod manifests;
pub mod metrics;
pub mod migrate;
pub mod names;
pub mod note;
pub mod options;
pub mod packed;
pub mod policies;
pub mod problem;
pub mod providers;
pub mod publish;
pub mod ramp;
pub mod refs;
pub mod select;
pub mod sight;
pub mod spec;
pub mod status;
pub mod steady;
pub mod view;
pub mod world;
pub mod zone_plan;
pub mod zones;

pub use config::Config;
pub use controller::{Environment, Gslb, Handle, Push};
