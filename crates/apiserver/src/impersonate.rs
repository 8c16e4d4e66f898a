//! Acting as somebody else, if the client may: `kubectl --as`.

use flotilla_machinery::status::{Attempt, Status};
use http::HeaderMap;

use crate::{
    access::{Attributes, Authorizer, Decision, Identity},
    auth::impersonation,
    engine::Engine,
};

/// The identity a request acts as: the client's own, or the one it asks for and may take.
///
/// # Errors
/// 403 when it may not, 400 when it names groups without a user.
pub(crate) fn effective(
    engine: &Engine,
    user: Identity,
    headers: &HeaderMap,
) -> Result<Identity, Status> {
    let pairs = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let wanted = impersonation::read(pairs).map_err(|e| Status::bad_request(e.to_string()))?;
    let Some(wanted) = wanted else {
        return Ok(user);
    };
    for need in &wanted.needs {
        if let Decision::NoOpinion(why) = engine.access.authorize(&user, need) {
            return Err(denied(&user, need, &why));
        }
    }
    Ok(wanted.identity)
}

/// The refusal of something an identity may not do.
pub(crate) fn denied(user: &Identity, what: &Attributes, why: &str) -> Status {
    let attempt = match what {
        Attributes::Path { path, verb } => Attempt {
            user: &user.name,
            verb,
            path,
            ..Attempt::default()
        },
        Attributes::Resource(what) => Attempt {
            user: &user.name,
            verb: &what.verb,
            group: &what.group,
            resource: &what.resource,
            subresource: &what.subresource,
            name: &what.name,
            namespace: &what.namespace,
            path: "",
        },
    };
    Status::denied(&attempt, why)
}
