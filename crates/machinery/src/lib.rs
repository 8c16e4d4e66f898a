//! The Kubernetes data model, pure: names, quantities, selectors, schemas, patches and server-side
//! apply.

pub mod apply;
pub mod builtin;
pub mod fieldpath;
pub mod fields;
pub mod fuzz;
pub mod group;
pub mod intstr;
pub mod json_syntax;
pub mod jsonpath;
pub mod labels;
pub mod names;
pub mod patch;
pub mod printers;
pub mod protobuf;
pub mod quantity;
pub mod quote;
pub mod schema;
pub mod status;
pub mod texts;
