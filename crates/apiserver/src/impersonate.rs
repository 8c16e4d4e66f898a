//! Acting as somebody else: the `Impersonate-*` headers behind `kubectl --as`.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/endpoints/filters/impersonation`.

use std::collections::BTreeMap;

use flotilla_machinery::{group::GroupResource, status::Status};
use http::HeaderMap;

use crate::{
    access::{AUTHENTICATED, Attributes, Decision, Identity, ResourceAttributes},
    engine::Engine,
};

const EXTRA: &str = "impersonate-extra-";

/// The identity a request acts as: the client's own, or the one it asks for and may take.
///
/// # Errors
/// 403 when it may not, 400 when it names groups without a user.
pub(crate) fn effective(
    engine: &Engine,
    user: Identity,
    headers: &HeaderMap,
) -> Result<Identity, Status> {
    let wanted = wanted(headers);
    let Some(wanted) = wanted? else {
        return Ok(user);
    };
    for (resource, name) in asked(&wanted) {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let group = match resource {
            "uids" | "userextras" => "authentication.k8s.io",
            _ => "",
        };
        let what = ResourceAttributes {
            verb: "impersonate".to_owned(),
            group: group.to_owned(),
            version: if group.is_empty() { "" } else { "v1" }.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            name: name.clone(),
            ..ResourceAttributes::default()
        };
        let decision = engine
            .authorizer
            .authorize(&user, &Attributes::Resource(what));
        if let Decision::NoOpinion(_) = decision {
            let why = format!(
                "User \"{}\" cannot impersonate resource \"{resource}\" in API group \"{group}\" \
                 at the cluster scope",
                user.name
            );
            return Err(Status::forbidden(
                &GroupResource::new(group, resource),
                &name,
                why,
            ));
        }
    }
    Ok(wanted)
}

fn wanted(headers: &HeaderMap) -> Result<Option<Identity>, Status> {
    let one = |name: &str| {
        headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .unwrap_or("")
            .to_owned()
    };
    let all = |name: &str| -> Vec<String> {
        let values = headers.get_all(name).iter().filter_map(|v| v.to_str().ok());
        values.map(str::to_owned).collect()
    };
    let name = one("impersonate-user");
    let mut groups = all("impersonate-group");
    let uid = one("impersonate-uid");
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for key in headers.keys() {
        if let Some(suffix) = key.as_str().strip_prefix(EXTRA) {
            let suffix = crate::request::decoded(suffix);
            extra.insert(suffix, all(key.as_str()));
        }
    }
    if name.is_empty() {
        if groups.is_empty() && extra.is_empty() && uid.is_empty() {
            return Ok(None);
        }
        let why = "requested impersonation without impersonating a user";
        return Err(Status::bad_request(why));
    }
    if groups.is_empty()
        && let Some(account) = name.strip_prefix("system:serviceaccount:")
        && let Some((namespace, _)) = account.split_once(':')
    {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    if name != "system:anonymous" && !groups.iter().any(|g| g == AUTHENTICATED) {
        groups.push(AUTHENTICATED.to_owned());
    }
    Ok(Some(Identity {
        name,
        uid,
        groups,
        extra,
    }))
}

/// What has to be allowed, as resource and name.
fn asked(wanted: &Identity) -> Vec<(&str, String)> {
    let mut out = Vec::new();
    match wanted
        .name
        .strip_prefix("system:serviceaccount:")
        .and_then(|a| a.split_once(':'))
    {
        Some((_, account)) => out.push(("serviceaccounts", account.to_owned())),
        None => out.push(("users", wanted.name.clone())),
    }
    let implied = |group: &str| {
        group == AUTHENTICATED
            || (wanted.name.starts_with("system:serviceaccount:")
                && group.starts_with("system:serviceaccounts"))
    };
    out.extend(
        wanted
            .groups
            .iter()
            .filter(|g| !implied(g))
            .map(|g| ("groups", g.clone())),
    );
    if !wanted.uid.is_empty() {
        out.push(("uids", wanted.uid.clone()));
    }
    out.extend(
        wanted
            .extra
            .values()
            .flatten()
            .map(|value| ("userextras", value.clone())),
    );
    out
}
