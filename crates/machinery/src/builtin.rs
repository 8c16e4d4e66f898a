//! What a Kubernetes v1.35 API server serves: the shapes of its types and the rows of its resources.
//!
//! Both come from committed text tables (`tables/types.txt`, written by `cargo xtask gen`, and
//! `tables/resources.txt`, kept by hand) that are parsed on first use and then live as long as the
//! process. Parsing takes about a millisecond in a release build and the result about a megabyte.

mod emit;
mod resources;
mod types;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::schema::{Schema, TypeId};

pub use emit::{Lists, emit};
pub use resources::{ResourceRow, SubresourceRow};

static TYPES: LazyLock<Types> = LazyLock::new(|| types::parse(include_str!("../tables/types.txt")));
static RESOURCES: LazyLock<Vec<ResourceRow>> =
    LazyLock::new(|| resources::parse(include_str!("../tables/resources.txt")));

struct Types {
    schema: Schema,
    /// Definition names by kind, version, group.
    kinds: HashMap<(&'static str, &'static str, &'static str), &'static str>,
}

/// Shapes of all 735 published types, named as in swagger (`io.k8s.api.core.v1.Pod`).
pub fn schema() -> &'static Schema {
    &TYPES.schema
}

/// Every resource served by default, in discovery order (groups by registration priority, preferred
/// version first).
pub fn resources() -> &'static [ResourceRow] {
    &RESOURCES
}

/// The definition name of a kind, list kinds and options included: `("", "v1", "Pod")` is
/// `io.k8s.api.core.v1.Pod`. Kinds that every group knows (`DeleteOptions`, `WatchEvent`) answer for
/// any group and version.
pub fn type_name(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    let kinds = &TYPES.kinds;
    kinds
        .get(&(kind, version, group))
        .or_else(|| kinds.get(&(kind, "*", "*")))
        .copied()
}

/// Every kind as (group, version, kind, definition name), in no particular order; group and version
/// are `*` for kinds that every group knows.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str, &'static str, &'static str)> {
    TYPES
        .kinds
        .iter()
        .map(|((kind, version, group), name)| (*group, *version, *kind, *name))
}

/// The shape of a kind, see [`type_name`].
pub fn kind(group: &str, version: &str, kind: &str) -> Option<TypeId> {
    schema().find(type_name(group, version, kind)?)
}

/// The row of a resource by its URL parts.
pub fn resource(group: &str, version: &str, plural: &str) -> Option<&'static ResourceRow> {
    resources()
        .iter()
        .find(|row| row.plural == plural && row.version == version && row.group == group)
}

#[cfg(test)]
mod tests;
