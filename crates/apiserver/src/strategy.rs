//! The rules of built-in kinds: one small file for each family of kinds that has any.

mod namespace;

use std::sync::Arc;

use flotilla_machinery::builtin::ResourceRow;

use self::namespace::Namespaces;
use crate::registry::{Generic, Strategy};

/// The rules of a built-in resource; the generic ones when the kind has none of its own.
pub fn of(row: &ResourceRow) -> Arc<dyn Strategy> {
    match (row.group, row.plural) {
        ("", "namespaces") => Arc::new(Namespaces::default()),
        _ => Arc::new(Generic),
    }
}
