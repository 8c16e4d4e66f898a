//! Acting as somebody else: what the `Impersonate-*` headers ask for and what that needs.
//!
//! Source: k8s.io/apiserver v0.35, pkg/endpoints/filters/impersonation.go.

use std::collections::BTreeMap;

use crate::access::{AUTHENTICATED, Attributes, Identity, ResourceAttributes};

/// A request to act as somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonation {
    /// Who to be.
    pub identity: Identity,
    /// Everything the requester must be allowed to do for it.
    pub needs: Vec<Attributes>,
}

/// Why the headers make no sense.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Groups, extras or a uid without a user.
    #[error("requested {0} without impersonating a user")]
    NoUser(String),
}

/// Reads the `Impersonate-*` headers, given as (lower-case name, value) in order; none when there are none.
///
/// Keys of extras arrive in lower case and may be percent-encoded. A service account gets its groups unless groups are
/// given; everybody but the anonymous user becomes a member of `system:authenticated`.
///
/// # Errors
/// When something is to be impersonated, but no user.
pub fn read<'a>(
    headers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Option<Impersonation>, Error> {
    let (mut user, mut uid) = ("", "");
    let mut groups: Vec<String> = Vec::new();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        match name {
            "impersonate-user" => user = value,
            "impersonate-uid" => uid = value,
            "impersonate-group" => groups.push(value.into()),
            _ => {
                if let Some(key) = name.strip_prefix("impersonate-extra-") {
                    extra.entry(decode(key)).or_default().push(value.into());
                }
            }
        }
    }
    if user.is_empty() {
        return if groups.is_empty() && extra.is_empty() && uid.is_empty() {
            Ok(None)
        } else {
            Err(Error::NoUser(format!(
                "[{}]",
                asked_for(&groups, &extra, uid).join(" ")
            )))
        };
    }
    let account = service_account(user);
    let mut needs = vec![match account {
        Some((namespace, name)) => need("", "serviceaccounts", "", namespace, name),
        None => need("", "users", "", "", user),
    }];
    needs.extend(groups.iter().map(|group| need("", "groups", "", "", group)));
    for (key, values) in &extra {
        let values = values.iter();
        needs.extend(values.map(|value| need(AUTHENTICATION, "userextras", key, "", value)));
    }
    if !uid.is_empty() {
        needs.push(need(AUTHENTICATION, "uids", "", "", uid));
    }
    if let Some((namespace, _)) = account.filter(|_| groups.is_empty()) {
        groups = vec![
            "system:serviceaccounts".into(),
            format!("system:serviceaccounts:{namespace}"),
        ];
    }
    let anonymous = Identity::anonymous();
    let membership = if user == anonymous.name {
        &*anonymous.groups[0]
    } else {
        AUTHENTICATED
    };
    let unknown = !groups
        .iter()
        .any(|group| group == AUTHENTICATED || *group == anonymous.groups[0]);
    if unknown {
        groups.push(membership.into());
    }
    let identity = Identity {
        name: user.into(),
        uid: uid.into(),
        groups,
        extra,
    };
    Ok(Some(Impersonation { identity, needs }))
}

const AUTHENTICATION: &str = "authentication.k8s.io";

fn need(group: &str, resource: &str, subresource: &str, namespace: &str, name: &str) -> Attributes {
    Attributes::Resource(ResourceAttributes {
        verb: "impersonate".into(),
        group: group.into(),
        version: "v1".into(),
        resource: resource.into(),
        subresource: subresource.into(),
        namespace: namespace.into(),
        name: name.into(),
    })
}

fn asked_for(groups: &[String], extra: &BTreeMap<String, Vec<String>>, uid: &str) -> Vec<String> {
    let groups = groups.iter().map(|group| format!("group {group:?}"));
    let extra = extra.keys().map(|key| format!("extra {key:?}"));
    let uid = (!uid.is_empty()).then(|| format!("uid {uid:?}"));
    groups.chain(extra).chain(uid).collect()
}

/// Namespace and name, if `user` is a service account.
fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user
        .strip_prefix("system:serviceaccount:")?
        .split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

/// Undoes percent-encoding; what is not properly encoded stays as it is.
fn decode(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let [first, after @ ..] = rest {
        let pair = after
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match byte.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.into())
}

#[cfg(test)]
mod tests;
