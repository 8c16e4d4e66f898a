//! Tokens of service accounts: issuing them (TokenRequest), checking them against what is stored, and publishing the key.
//!
//! A token names the account and, if bound, a pod, secret or node, each with its uid. It is good only while all of them
//! exist with that uid, and for a minute after their deletion began.
//!
//! Source: k8s.io/kubernetes v1.35, pkg/serviceaccount/claims.go and pkg/registry/core/serviceaccount/storage/token.go.

use std::collections::BTreeMap;

use flotilla_machinery::{
    group::{GroupKind, GroupResource},
    status::{FieldError, Status},
};
use jiff::{SignedDuration, Timestamp};
use ring::rand::SecureRandom;
use serde_json::{Value, json};

use super::jws::{self, Key};
use crate::{
    access::Identity,
    store::{Object, ObjectKey, ResourceKey, State},
};

/// Who signs tokens and for whom.
pub struct Issuer {
    /// `iss` of every token, default `https://kubernetes.default.svc.cluster.local`.
    pub url: String,
    /// What this server is called in `aud`; the first is the default of new tokens.
    pub audiences: Vec<String>,
    /// What signs.
    pub key: Key,
    /// What signed before; their tokens stay good and their public halves are published.
    pub older: Vec<Key>,
}

/// A token that was found good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Whose it is.
    pub identity: Identity,
    /// Those of the asked audiences it is meant for.
    pub audiences: Vec<String>,
}

/// Why a token of ours is not good (any more).
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// See there.
    #[error(transparent)]
    Jws(#[from] jws::Error),
    /// A claim that every token of ours has is missing.
    #[error("the token has no {0}")]
    Claim(&'static str),
    /// Meant for somebody else.
    #[error("token audiences {0:?} is invalid for the target audiences {1:?}")]
    Audience(Vec<String>, Vec<String>),
    /// Its time is over.
    #[error("service account token has expired")]
    Expired,
    /// Its time has not come.
    #[error("service account token is not valid yet")]
    NotYet,
    /// The account is gone, or was replaced by another of the same name.
    #[error("service account {0} has been deleted")]
    AccountGone(ObjectKey),
    /// What it was bound to is gone.
    #[error("service account token has been invalidated")]
    Invalidated,
}

/// What a request for a token is answered from.
pub struct Request<'a> {
    /// Namespace of the account, from the URL.
    pub namespace: &'a str,
    /// Name of the account, from the URL.
    pub name: &'a str,
    /// The TokenRequest as sent.
    pub body: Value,
    /// The present.
    pub now: Timestamp,
    /// A fresh UUID, becomes `jti`.
    pub id: &'a str,
}

const DEFAULT_SECONDS: i64 = 3600;
const SECONDS_MIN: i64 = 600;
const SECONDS_MAX: i64 = 1 << 32;

/// What kubelets ask for on behalf of pods. Such a token lives on for a year, because old clients never read it again; it
/// says after which time they should have.
const PROJECTED_SECONDS: i64 = 3607;
const EXTENDED_SECONDS: i64 = 365 * 24 * 3600;

/// Clocks may differ by this much, and what is being deleted counts as there for as long.
const LEEWAY: SignedDuration = SignedDuration::from_secs(60);

/// Says in a TokenRequest what it leaves out: an hour.
pub fn fill_request(body: &mut Value) {
    if let Some(spec) = body
        .as_object_mut()
        .map(|map| map.entry("spec").or_insert(json!({})))
        && let Some(spec) = spec.as_object_mut()
        && spec.get("expirationSeconds").is_none_or(Value::is_null)
    {
        spec.insert("expirationSeconds".to_owned(), DEFAULT_SECONDS.into());
    }
}

/// Answers a TokenRequest: the request with its defaults and the token in its status.
///
/// # Errors
/// The status to answer with: 404 without account or bound object, 409 for a uid that does not match, 422 or 400 for a
/// request that makes no sense.
pub fn issue(
    issuer: &Issuer,
    state: &State,
    request: Request<'_>,
    random: &dyn SecureRandom,
) -> Result<Value, Status> {
    let Request {
        namespace,
        name,
        mut body,
        now,
        id,
    } = request;
    check_name(&body, namespace, name)?;
    let accounts = GroupResource::new("", "serviceaccounts");
    let account = find(state, "serviceaccounts", namespace, name);
    let account = account.ok_or_else(|| Status::not_found(&accounts, name))?;
    let asked_uid = text(&body, "/metadata/uid");
    if !asked_uid.is_empty() && asked_uid != &*account.meta.uid {
        let why = format!(
            "the UID in the token request ({asked_uid}) does not match the UID of the service account ({})",
            account.meta.uid
        );
        let kind = GroupResource::new("authentication.k8s.io", "TokenRequest");
        return Err(Status::conflict(&kind, name, why));
    }
    let asked = body
        .pointer("/spec/audiences")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let audiences = if asked.is_empty() {
        json!(issuer.audiences)
    } else {
        Value::Array(asked)
    };
    let asked = body
        .pointer("/spec/expirationSeconds")
        .and_then(Value::as_i64);
    let seconds = asked.unwrap_or(DEFAULT_SECONDS);
    check_seconds(seconds)?;
    let bound = bind(state, namespace, name, body.pointer("/spec/boundObjectRef"))?;

    let mut private = json!({
        "namespace": namespace,
        "serviceaccount": {"name": name, "uid": &*account.meta.uid},
    });
    let at_most_ours = |audiences: &Value| {
        let mut audiences = audiences
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        audiences.all(|audience| issuer.audiences.iter().any(|ours| ours == audience))
    };
    let mut lifetime = seconds;
    if bound.contains_key("pod") && seconds == PROJECTED_SECONDS && at_most_ours(&audiences) {
        private["warnafter"] = (now.as_second() + seconds).into();
        lifetime = EXTENDED_SECONDS;
    }
    for (kind, reference) in bound {
        private[kind] = reference;
    }
    let claims = json!({
        "aud": audiences, "exp": now.as_second() + lifetime, "iat": now.as_second(), "iss": issuer.url,
        "jti": id, "kubernetes.io": private, "nbf": now.as_second(),
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
    });
    let token = issuer.key.sign(&claims, random).map_err(Status::internal)?;
    body["metadata"]["name"] = name.into();
    body["metadata"]["namespace"] = namespace.into();
    body["metadata"]["uid"] = (*account.meta.uid).into();
    body["metadata"]["creationTimestamp"] = second(now).into();
    body["spec"]["audiences"] = audiences;
    body["spec"]["expirationSeconds"] = seconds.into();
    let expires = second(now + SignedDuration::from_secs(seconds));
    body["status"] = json!({"token": token, "expirationTimestamp": expires});
    Ok(body)
}

/// Whose token it is; none if it is not one of ours.
///
/// `audiences` empty means this server.
///
/// # Errors
/// When it is one of ours and not good.
pub fn verify(
    issuer: &Issuer,
    state: &State,
    token: &str,
    audiences: &[String],
    now: Timestamp,
) -> Result<Option<Verified>, Error> {
    let claimed = jws::unverified(token).ok();
    if claimed.is_none_or(|claims| text(&claims, "/iss") != issuer.url) {
        return Ok(None);
    }
    let mut keys = std::iter::once(&issuer.key).chain(&issuer.older);
    let claims = keys
        .find_map(|key| match key.verify(token) {
            Err(jws::Error::OtherKey) => None,
            judged => Some(judged),
        })
        .unwrap_or(Err(jws::Error::OtherKey))?;
    let wanted = if audiences.is_empty() {
        &issuer.audiences
    } else {
        audiences
    };
    let meant = texts(claims.get("aud"));
    let audiences: Vec<_> = wanted
        .iter()
        .filter(|wanted| meant.contains(wanted))
        .cloned()
        .collect();
    if audiences.is_empty() {
        return Err(Error::Audience(meant, wanted.to_vec()));
    }
    check_time(&claims, now)?;
    let identity = check_objects(&claims, state, now)?;
    Ok(Some(Verified {
        identity,
        audiences,
    }))
}

/// The OpenID discovery document (`/.well-known/openid-configuration`).
pub fn discovery(issuer: &Issuer) -> Value {
    json!({
        "issuer": issuer.url,
        "jwks_uri": format!("{}/openid/v1/jwks", issuer.url.trim_end_matches('/')),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    })
}

/// The set of public keys (`/openid/v1/jwks`, media type `application/jwk-set+json`), the one in use
/// first.
pub fn jwks(issuer: &Issuer) -> Value {
    let keys = std::iter::once(&issuer.key).chain(&issuer.older);
    let keys: Vec<Value> = keys.map(Key::public).collect();
    json!({"keys": keys})
}

fn check_name(body: &Value, namespace: &str, name: &str) -> Result<(), Status> {
    let kind = kind();
    let fields = [("name", name), ("namespace", namespace)];
    for (field, expected) in fields {
        let found = text(body, &format!("/metadata/{field}"));
        if !found.is_empty() && found != expected {
            let word = if field == "name" { "name" } else { "namespace" };
            let why = format!("must match the service account {word} if specified");
            let error = FieldError::invalid(format!("metadata.{field}"), found, why);
            return Err(Status::invalid(&kind, name, vec![error]));
        }
    }
    Ok(())
}

fn check_seconds(seconds: i64) -> Result<(), Status> {
    let why = match seconds {
        ..SECONDS_MIN => "may not specify a duration less than 10 minutes",
        SECONDS_MIN..=SECONDS_MAX => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let error = FieldError::invalid("spec.expirationSeconds", seconds, why);
    Err(Status::invalid(&kind(), "", vec![error]))
}

fn kind() -> GroupKind {
    GroupKind::new("authentication.k8s.io", "TokenRequest")
}

/// The claims for the object a token is to be bound to.
fn bind(
    state: &State,
    namespace: &str,
    account: &str,
    reference: Option<&Value>,
) -> Result<BTreeMap<&'static str, Value>, Status> {
    let mut claims = BTreeMap::new();
    let Some(reference) = reference.filter(|reference| !reference.is_null()) else {
        return Ok(claims);
    };
    let (kind, name, uid) = (
        text(reference, "/kind"),
        text(reference, "/name"),
        text(reference, "/uid"),
    );
    let version = text(reference, "/apiVersion");
    let (claim, plural, namespace) = match (version, kind) {
        ("v1", "Pod") => ("pod", "pods", namespace),
        ("v1", "Secret") => ("secret", "secrets", namespace),
        ("v1", "Node") => ("node", "nodes", ""),
        _ => {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            let why = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(why));
        }
    };
    let object = find(state, plural, namespace, name)
        .ok_or_else(|| Status::not_found(&GroupResource::new("", plural), name))?;
    if !uid.is_empty() && uid != &*object.meta.uid {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        return Err(Status::conflict(&GroupResource::new("", kind), name, why));
    }
    claims.insert(claim, named(name, &object.meta.uid));
    if claim == "pod" {
        let pod: Value = serde_json::from_slice(&object.body).unwrap_or_default();
        if text(&pod, "/spec/serviceAccountName") != account {
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
            )));
        }
        let node = text(&pod, "/spec/nodeName");
        if !node.is_empty() {
            let uid = find(state, "nodes", "", node).map_or("", |node| &node.meta.uid);
            claims.insert("node", named(node, uid));
        }
    }
    Ok(claims)
}

fn named(name: &str, uid: &str) -> Value {
    if uid.is_empty() {
        json!({"name": name})
    } else {
        json!({"name": name, "uid": uid})
    }
}

fn check_time(claims: &Value, now: Timestamp) -> Result<(), Error> {
    let time = |name: &'static str| {
        let seconds = claims
            .get(name)
            .and_then(Value::as_i64)
            .ok_or(Error::Claim(name))?;
        Timestamp::from_second(seconds).map_err(|_| Error::Claim(name))
    };
    if now.duration_since(time("exp")?) > LEEWAY {
        return Err(Error::Expired);
    }
    if time("nbf")?.duration_since(now) > LEEWAY {
        return Err(Error::NotYet);
    }
    Ok(())
}

/// Looks for everything the claims name, and builds the identity from them.
fn check_objects(claims: &Value, state: &State, now: Timestamp) -> Result<Identity, Error> {
    let private = claims
        .get("kubernetes.io")
        .ok_or(Error::Claim("kubernetes.io"))?;
    let namespace = text(private, "/namespace");
    let name = text(private, "/serviceaccount/name");
    let uid = text(private, "/serviceaccount/uid");
    if !is_there(state, "serviceaccounts", namespace, name, uid, now) {
        return Err(Error::AccountGone(ObjectKey::new(namespace, name)));
    }
    let mut identity = Identity::user(
        format!("system:serviceaccount:{namespace}:{name}"),
        [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
        ],
    );
    identity.uid = uid.into();
    let extra = &mut identity.extra;
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            extra.insert(
                format!("authentication.kubernetes.io/{name}"),
                vec![value.into()],
            );
        }
    };
    let id = text(claims, "/jti");
    put(
        "credential-id",
        &if id.is_empty() {
            String::new()
        } else {
            format!("JTI={id}")
        },
    );
    let pod_bound = private.get("pod").is_some();
    for (claim, plural) in [("pod", "pods"), ("secret", "secrets"), ("node", "nodes")] {
        let Some(reference) = private.get(claim) else {
            continue;
        };
        let (name, uid) = (text(reference, "/name"), text(reference, "/uid"));
        let namespace = if claim == "node" { "" } else { namespace };
        // The node of a bound pod is only information; the pod decides.
        let decides = claim != "node" || !pod_bound;
        if decides && !is_there(state, plural, namespace, name, uid, now) {
            return Err(Error::Invalidated);
        }
        if claim != "secret" {
            put(&format!("{claim}-name"), name);
            put(&format!("{claim}-uid"), uid);
        }
    }
    Ok(identity)
}

/// Whether the object exists with that uid and its deletion did not begin more than a leeway ago.
fn is_there(
    state: &State,
    plural: &str,
    namespace: &str,
    name: &str,
    uid: &str,
    now: Timestamp,
) -> bool {
    let Some(object) = find(state, plural, namespace, name) else {
        return false;
    };
    if *object.meta.uid != *uid {
        return false;
    }
    if !object.meta.deleting {
        return true;
    }
    let body: Value = serde_json::from_slice(&object.body).unwrap_or_default();
    let deleted = text(&body, "/metadata/deletionTimestamp").parse::<Timestamp>();
    deleted.is_ok_and(|deleted| now.duration_since(deleted) <= LEEWAY)
}

fn find<'a>(state: &'a State, plural: &str, namespace: &str, name: &str) -> Option<&'a Object> {
    let object = state.get(
        &ResourceKey::new("", plural),
        &ObjectKey::new(namespace, name),
    )?;
    Some(object)
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(String::from).collect()
}

/// RFC 3339 with whole seconds, as all times of the API.
fn second(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
