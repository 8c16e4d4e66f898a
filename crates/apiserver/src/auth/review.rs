//! The review APIs: questions about tokens and permissions, answered and never stored.
//!
//! Every function takes the object as sent and returns it with its status, or the error to answer with.
//!
//! Source: k8s.io/kubernetes v1.35, pkg/registry/{authentication,authorization}, pkg/apis/authorization/validation.

use std::collections::BTreeMap;

use flotilla_machinery::{
    group::GroupKind,
    status::{FieldError, Status},
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    Tokens,
    rbac::{Held, Rule},
};
use crate::access::{Attributes, Authorizer, Decision, Identity, ResourceAttributes};

/// SubjectAccessReview: may the named user do that?
///
/// # Errors
/// 422 when the question is incomplete.
pub fn subject_access(review: Value, authorizer: &dyn Authorizer) -> Result<Value, Status> {
    let mut errors = check_attributes(&review);
    errors.extend(check_subject(&review));
    errors.extend(check_metadata(&review, &[], "must be empty"));
    refuse(errors)?;
    let who = subject(&review);
    decide(review, &who, authorizer)
}

/// LocalSubjectAccessReview: the same in one namespace, `namespace` from the URL.
///
/// # Errors
/// 422 when the question is incomplete, 400 when it is about another namespace.
pub fn local_subject_access(
    review: Value,
    namespace: &str,
    authorizer: &dyn Authorizer,
) -> Result<Value, Status> {
    let mut errors = check_attributes(&review);
    errors.extend(check_subject(&review));
    let allowed = ["namespace"];
    errors.extend(check_metadata(
        &review,
        &allowed,
        "must be empty except for namespace",
    ));
    let own = text(&review, "/metadata/namespace");
    let asked = text(&review, "/spec/resourceAttributes/namespace");
    if present(&review, "/spec/resourceAttributes") && !own.is_empty() && asked != own {
        let path = "spec.resourceAttributes.namespace";
        errors.push(FieldError::invalid(
            path,
            asked,
            "must match metadata.namespace",
        ));
    }
    if present(&review, "/spec/nonResourceAttributes") {
        let value = review["spec"]["nonResourceAttributes"].clone();
        let why = "disallowed on this kind of request";
        errors.push(FieldError::invalid(
            "spec.nonResourceAttributes",
            value,
            why,
        ));
    }
    refuse(errors)?;
    if asked != namespace {
        return Err(Status::bad_request(format!(
            "spec.resourceAttributes.namespace must match namespace: {namespace}"
        )));
    }
    let who = subject(&review);
    decide(review, &who, authorizer)
}

/// SelfSubjectAccessReview: may I do that?
///
/// # Errors
/// 422 when the question is incomplete.
pub fn self_subject_access(
    review: Value,
    who: &Identity,
    authorizer: &dyn Authorizer,
) -> Result<Value, Status> {
    let mut errors = check_attributes(&review);
    errors.extend(check_metadata(&review, &[], "must be empty"));
    refuse(errors)?;
    decide(review, who, authorizer)
}

/// SelfSubjectRulesReview: what may I do in that namespace? `held` gives the rules of the requester there.
///
/// # Errors
/// 400 without a namespace.
pub fn self_subject_rules(
    mut review: Value,
    held: impl FnOnce(&str) -> Held,
) -> Result<Value, Status> {
    let namespace = text(&review, "/spec/namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let held = held(namespace);
    let keep = |rule: &Rule, names: &[(&str, &Vec<String>)]| {
        let mut shown = Map::new();
        shown.insert("verbs".into(), json!(rule.verbs));
        let filled = names.iter().filter(|(_, values)| !values.is_empty());
        shown.extend(filled.map(|(name, values)| ((*name).to_owned(), json!(values))));
        Value::Object(shown)
    };
    let resources = held
        .rules
        .iter()
        .filter(|rule| !rule.resources.is_empty())
        .map(|rule| {
            let names = [
                ("apiGroups", &rule.api_groups),
                ("resources", &rule.resources),
                ("resourceNames", &rule.resource_names),
            ];
            keep(rule, &names)
        });
    let paths = held
        .rules
        .iter()
        .filter(|rule| !rule.non_resource_urls.is_empty());
    let paths = paths.map(|rule| keep(rule, &[("nonResourceURLs", &rule.non_resource_urls)]));
    let mut status = json!({
        "resourceRules": resources.collect::<Vec<_>>(),
        "nonResourceRules": paths.collect::<Vec<_>>(),
        "incomplete": false,
    });
    match held.errors.as_slice() {
        [] => {}
        [one] => status["evaluationError"] = one.as_str().into(),
        many => status["evaluationError"] = format!("[{}]", many.join(", ")).into(),
    }
    review["status"] = status;
    Ok(review)
}

/// SelfSubjectReview: who am I?
pub fn self_subject(mut review: Value, who: &Identity) -> Value {
    review["status"] = json!({"userInfo": user_info(who)});
    review
}

/// TokenReview: whose token is this?
///
/// # Errors
/// 400 without a token.
pub fn token(mut review: Value, tokens: &Tokens, now: Timestamp) -> Result<Value, Status> {
    let token = text(&review, "/spec/token");
    if token.is_empty() {
        return Err(Status::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let audiences = review.pointer("/spec/audiences").and_then(Value::as_array);
    let audiences = audiences.into_iter().flatten().filter_map(Value::as_str);
    let audiences: Vec<_> = audiences.map(String::from).collect();
    let status = match tokens.verify(token, &audiences, now) {
        Ok(Some(verified)) => json!({
            "authenticated": true,
            "user": user_info(&verified.identity),
            "audiences": verified.audiences,
        }),
        Ok(None) => json!({"user": {}, "error": "invalid bearer token"}),
        Err(error) => json!({"user": {}, "error": format!("[invalid bearer token, {error}]")}),
    };
    review["status"] = status;
    Ok(review)
}

/// An identity as `authentication.k8s.io/v1` UserInfo.
pub fn user_info(who: &Identity) -> Value {
    let mut info = json!({"username": who.name, "groups": who.groups});
    if !who.uid.is_empty() {
        info["uid"] = who.uid.as_str().into();
    }
    if !who.extra.is_empty() {
        info["extra"] = json!(who.extra);
    }
    info
}

fn decide(mut review: Value, who: &Identity, authorizer: &dyn Authorizer) -> Result<Value, Status> {
    let (allowed, reason) = match authorizer.authorize(who, &attributes(&review)) {
        Decision::Allow(reason) => (true, reason),
        Decision::NoOpinion(reason) => (false, reason),
    };
    let mut status = json!({"allowed": allowed});
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    review["status"] = status;
    Ok(review)
}

fn attributes(review: &Value) -> Attributes {
    if present(review, "/spec/nonResourceAttributes") {
        return Attributes::Path {
            path: text(review, "/spec/nonResourceAttributes/path").into(),
            verb: text(review, "/spec/nonResourceAttributes/verb").into(),
        };
    }
    let field = |name: &str| text(review, &format!("/spec/resourceAttributes/{name}")).to_owned();
    Attributes::Resource(ResourceAttributes {
        verb: field("verb"),
        group: field("group"),
        version: field("version"),
        resource: field("resource"),
        subresource: field("subresource"),
        namespace: field("namespace"),
        name: field("name"),
    })
}

fn subject(review: &Value) -> Identity {
    let list = |value: Option<&Value>| -> Vec<String> {
        let list = value.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(String::from).collect()
    };
    let extra = review.pointer("/spec/extra").and_then(Value::as_object);
    let extra: BTreeMap<_, _> = extra
        .into_iter()
        .flatten()
        .map(|(key, values)| (key.to_lowercase(), list(Some(values))))
        .collect();
    Identity {
        name: text(review, "/spec/user").into(),
        uid: text(review, "/spec/uid").into(),
        groups: list(review.pointer("/spec/groups")),
        extra,
    }
}

fn check_attributes(review: &Value) -> Vec<FieldError> {
    let resource = present(review, "/spec/resourceAttributes");
    let path = present(review, "/spec/nonResourceAttributes");
    match (resource, path) {
        (true, true) => vec![FieldError::invalid(
            "spec.nonResourceAttributes",
            // Shown with the names of Go's members.
            json!({
                "Path": text(review, "/spec/nonResourceAttributes/path"),
                "Verb": text(review, "/spec/nonResourceAttributes/verb"),
            }),
            "cannot be specified in combination with resourceAttributes",
        )],
        (false, false) => vec![FieldError::invalid(
            "spec.resourceAttributes",
            Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )],
        _ => Vec::new(),
    }
}

fn check_subject(review: &Value) -> Option<FieldError> {
    let groups = review.pointer("/spec/groups").and_then(Value::as_array);
    let nobody = text(review, "/spec/user").is_empty() && groups.is_none_or(Vec::is_empty);
    let why = "at least one of user or group must be specified";
    nobody.then(|| FieldError::invalid("spec.user", "", why))
}

fn check_metadata(review: &Value, allowed: &[&str], why: &str) -> Option<FieldError> {
    let metadata = review.get("metadata").and_then(Value::as_object)?;
    let ignored = |name: &str| {
        matches!(name, "managedFields" | "creationTimestamp") || allowed.contains(&name)
    };
    let filled = metadata
        .iter()
        .any(|(name, value)| !ignored(name) && !value.is_null());
    filled.then(|| FieldError::invalid("metadata", review["metadata"].clone(), why))
}

fn refuse(errors: Vec<FieldError>) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    // Upstream leaves the kind out.
    let kind = GroupKind::new("authorization.k8s.io", "");
    Err(Status::invalid(&kind, "", errors))
}

fn present(object: &Value, pointer: &str) -> bool {
    object
        .pointer(pointer)
        .is_some_and(|value| !value.is_null())
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
