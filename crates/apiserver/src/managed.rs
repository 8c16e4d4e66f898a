//! Which manager owns which fields: the bookkeeping of `metadata.managedFields` for each write.

use flotilla_machinery::status::{FieldError, Status};
use serde_json::Value;

use crate::{meta, registry::Context};

/// Writes down what a write that is not an apply changes. `old` is absent on creation.
///
/// # Errors
/// When managed fields cannot be read.
pub(crate) fn track(
    _: &Context<'_>,
    new: &mut Value,
    old: Option<&Value>,
    _: &str,
) -> Result<(), Status> {
    let _ = old;
    meta::fields_mut(new).remove("managedFields");
    Ok(())
}

/// An object made by server-side apply of `config` to `live`, with its managed fields.
///
/// # Errors
/// 409 when other managers own what would change, unless `force` is set.
pub(crate) fn apply(
    _: &Context<'_>,
    live: Option<&Value>,
    config: &Value,
    _: &str,
    _: bool,
) -> Result<Value, Status> {
    let _ = (live, config);
    Err(Status::internal("not yet"))
}

/// Apply without `fieldManager`.
pub(crate) fn manager_required() -> Status {
    let kind = flotilla_machinery::group::GroupKind::new("meta.k8s.io", "PatchOptions");
    let why = "is required for apply patch";
    Status::invalid(&kind, "", vec![FieldError::required("fieldManager", why)])
}

/// Whether two lists of managed fields differ in nothing but their times.
pub(crate) fn same(new: &Value, old: &Value) -> bool {
    let strip = |list: &Value| -> Vec<Value> {
        let entries = list.as_array().into_iter().flatten().cloned();
        let stripped = entries.map(|mut entry| {
            if let Some(members) = entry.as_object_mut() {
                members.remove("time");
            }
            entry
        });
        stripped.collect()
    };
    new == old || strip(new) == strip(old)
}
