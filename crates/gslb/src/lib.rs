//! Global DNS load balancing across clusters, compatible with k8gb.
//!
//! Every cluster of a fleet decides alone which addresses a host is answered with: its own when the host is healthy
//! here, and the ones its peers vouch for over DNS. There is no global component and no connection between clusters
//! other than DNS.

pub mod config;
pub mod endpoints;
pub mod expose;
pub mod health;
pub mod key;
pub mod kinds;
pub mod names;
pub mod problem;
pub mod refs;
pub mod select;
pub mod spec;
pub mod view;
pub mod zones;
