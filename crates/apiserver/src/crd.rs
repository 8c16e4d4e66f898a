//! Custom resources: from a CustomResourceDefinition to a served, validated resource.
//!
//! Read in this order: [`definition`] decides whether a definition is accepted and what it is
//! called; [`resource`] makes rows of the registry of it; [`structural`] is the compiled schema; [`prune`], [`default`], [`validate`],
//! [`lists`] and [`meta`] are what it does to a value, each a pure function; [`shape`] is the same
//! schema for patches and server-side apply; [`conversion`] says what a conversion webhook is asked
//! and [`webhook`] asks it.

pub(crate) mod cleanup;
pub mod conversion;
pub mod definition;
pub mod resource;
pub mod structural;

pub mod cel;
pub mod default;
pub mod fieldpath;
pub mod formats;
pub mod fuzz;
pub mod lists;
pub mod meta;
pub mod path;
pub mod prune;
pub mod regexp;
pub mod shape;
pub mod validate;
pub mod webhook;

/// `text` between double quotes, escaped.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
