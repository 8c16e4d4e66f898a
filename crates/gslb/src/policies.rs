//! Admission policies for the annotations that name addresses, to be applied where the API server evaluates them.
//!
//! Source of names and rules: k8gb v0.21, chart value `validatingAdmissionPolicy.enabled`; research §2.7b.

/// The policies and their bindings, as YAML documents.
pub const POLICIES: &str = include_str!("policies.yaml");
