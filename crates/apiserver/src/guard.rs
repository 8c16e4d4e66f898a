//! Writes that need more than permission for the object itself: granting rights takes those rights.

use flotilla_machinery::status::Status;
use serde_json::Value;

use crate::{auth::rbac, call::Call};

/// Refuses roles and bindings that would give somebody more than the writer has.
///
/// # Errors
/// 403 in upstream's words, 404 for a binding to a role that does not exist.
pub(crate) fn check(call: &Call, object: &Value, old: Option<&Value>) -> Result<(), Status> {
    if &*call.resource.group != "rbac.authorization.k8s.io" || !call.info.subresource.is_empty() {
        return Ok(());
    }
    let index = call.engine.access.index();
    match &*call.resource.plural {
        "roles" | "clusterroles" => rbac::may_grant(&index, &call.user, object, old),
        _ => rbac::may_bind(&index, &call.user, object, old),
    }
}
