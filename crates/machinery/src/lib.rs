//! The Kubernetes data model, pure: names, quantities, selectors, schemas, patches and server-side
//! apply.

pub mod builtin;
pub mod schema;
