//! The slice of kube-controller-manager that the embedded API server needs.
//!
//! Each controller decides in a pure module and acts in a thin one: [`slices`] and [`subsets`] say which endpoints a Service
//! has, [`graph`] what garbage collection does next, [`namespaces`] what a namespace lacks or still holds, [`addresses`]
//! which addresses a load balancer gets, [`roles`] which rules an aggregated role has, [`protection`] when volumes may go. [`Mirror`] is how all of them see the cluster.

pub mod addresses;
pub mod graph;
pub mod namespaces;
pub mod protection;
pub mod roles;
pub mod slices;
pub mod subsets;

mod candidate;
mod controller;
mod mirror;

pub use self::{
    candidate::{Candidate, NamedPort},
    controller::{Config, Error, Metrics, run},
    mirror::{Change, Key, Mirror, Mirrored},
};
