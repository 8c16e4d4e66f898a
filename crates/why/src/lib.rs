//! Why an object is the way it is: what holds up its deletion, who owns its fields, whether a
//! request would be refused, and what is missing for it to work.
//!
//! [`explain`](explain::explain) is pure: from [`Facts`](facts::Facts) it makes an
//! [`Explanation`](explain::Explanation), for people and programs. [`ask`] gathers the facts from any
//! cluster with nothing but a client, and only those that the object needs.
//!
//! - [`deletion`]: finalizers, dependents, what is left in a namespace;
//! - [`fields`]: `managedFields` as a table;
//! - [`access`]: the rules that were considered for a request, quotas and limits;
//! - [`health`]: definitions that are not established, services without endpoints.

pub mod access;
pub mod ask;
pub mod deletion;
pub mod explain;
pub mod facts;
pub mod fields;
pub mod health;
