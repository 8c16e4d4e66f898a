//! The `Status` object: how the API says that something went wrong, and with which words.
//!
//! Clients and their test suites compare messages byte for byte, so each constructor here carries
//! upstream's text. A [`Status`] is the error type of everything that answers API requests; what
//! is wrong inside an object is a list of [`FieldError`]s, turned into one status by
//! [`Status::invalid`].
//!
//! Source: Kubernetes v1.35, apimachinery `api/errors` and apiserver `endpoints/handlers`.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::group::{GroupKind, GroupResource};
use crate::quote::quote;

pub use self::field::{FieldError, FieldErrorKind, aggregate};

mod field;

/// Why an optimistic update failed; the tail of [`Status::modified`].
pub const OBJECT_MODIFIED: &str = "the object has been modified; please apply your changes to \
     the latest version and try again";

/// An API error, or the success answer of a deletion.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// HTTP status code; equal to the code of the response that carries it.
    pub code: u16,
    /// Machine-readable cause.
    pub reason: Reason,
    /// Text for people.
    pub message: String,
    /// What the status is about.
    pub details: Option<Box<Details>>,
    /// A fresh continue token, sent with 410 so that a client can finish its list.
    pub continue_token: Option<Box<str>>,
}

/// What a status is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Object name.
    pub name: String,
    /// API group.
    pub group: String,
    /// Plural resource name, or the kind for [`Status::invalid`].
    pub kind: String,
    /// Object uid.
    pub uid: String,
    /// Single causes, one for each wrong field.
    pub causes: Vec<Cause>,
    /// Seconds a client should wait; 0 means it is not said. Mirrored by the Retry-After header.
    pub retry_after_seconds: u32,
}

/// One cause of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// Machine-readable type (`FieldValueInvalid`, `FieldManagerConflict` …).
    pub reason: String,
    /// Text for people.
    pub message: String,
    /// Path of the field at fault.
    pub field: String,
}

/// Machine-readable cause of a failure (`metav1.StatusReason`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No reason; success.
    None,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 409 on creation.
    AlreadyExists,
    /// 409 on change.
    Conflict,
    /// 410 without a way forward.
    Gone,
    /// 422.
    Invalid,
    /// 500, try again.
    ServerTimeout,
    /// 500, a stored object cannot be read.
    StoreReadError,
    /// 504.
    Timeout,
    /// 429.
    TooManyRequests,
    /// 400.
    BadRequest,
    /// 405.
    MethodNotAllowed,
    /// 406.
    NotAcceptable,
    /// 413.
    RequestEntityTooLarge,
    /// 415.
    UnsupportedMediaType,
    /// 500.
    InternalError,
    /// 410: the asked-for history is gone.
    Expired,
    /// 503.
    ServiceUnavailable,
    /// Whatever an admission webhook or a peer chose.
    Other(String),
}

/// A request that may be refused, in the words of the authorizer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempt<'a> {
    /// User name.
    pub user: &'a str,
    /// API verb.
    pub verb: &'a str,
    /// API group.
    pub group: &'a str,
    /// Plural resource name; empty for requests outside the API.
    pub resource: &'a str,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Object name, or empty.
    pub name: &'a str,
    /// Namespace, or empty for the cluster scope.
    pub namespace: &'a str,
    /// URL path of requests outside the API.
    pub path: &'a str,
}

// === impl Status ===

impl Status {
    /// A failure with nothing but code, reason and text.
    pub fn new(code: u16, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            continue_token: None,
        }
    }

    /// The answer to a deletion that removed the object at once (200).
    pub fn deleted(resource: &GroupResource, name: &str, uid: &str) -> Self {
        let mut status = Self::about(200, Reason::None, resource, name, "");
        status.details_mut().uid = uid.into();
        status
    }

    /// The object does not exist (404).
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} not found", quote(name));
        Self::about(404, Reason::NotFound, resource, name, message)
    }

    /// No such resource (404); the text clients make up for an unknown path.
    pub fn unknown_resource() -> Self {
        let text = "the server could not find the requested resource";
        Self::new(404, Reason::NotFound, text).with_details(Details::default())
    }

    /// An object of that name exists (409).
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} already exists", quote(name));
        Self::about(409, Reason::AlreadyExists, resource, name, message)
    }

    /// All attempts at a generated name were taken (409, retry after a second).
    pub fn generate_name_conflict(resource: &GroupResource, name: &str) -> Self {
        let message = format!(
            "{resource} {} already exists, the server was not able to generate a unique name for \
             the object",
            quote(name)
        );
        Self::about(409, Reason::AlreadyExists, resource, name, message).with_retry_after(1)
    }

    /// The change cannot be made because of `why` (409).
    pub fn conflict(resource: &GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {resource} {}: {why}",
            quote(name)
        );
        Self::about(409, Reason::Conflict, resource, name, message)
    }

    /// The resourceVersion in the request is not the current one (409).
    pub fn modified(resource: &GroupResource, name: &str) -> Self {
        Self::conflict(resource, name, OBJECT_MODIFIED)
    }

    /// Server-side apply ran into other managers' fields (409).
    pub fn apply_conflict(message: impl Into<String>, causes: Vec<Cause>) -> Self {
        Self::new(409, Reason::Conflict, message).with_details(Details {
            causes,
            ..Details::default()
        })
    }

    /// The object breaks its rules (422).
    pub fn invalid(kind: &GroupKind, name: &str, errors: Vec<FieldError>) -> Self {
        let mut message = format!("{kind} {} is invalid", quote(name));
        if !errors.is_empty() {
            message.push_str(": ");
            message.push_str(&aggregate(&errors));
        }
        let causes = errors.iter().map(FieldError::to_cause).collect();
        Self::new(422, Reason::Invalid, message).with_details(Details {
            name: name.into(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            causes,
            ..Details::default()
        })
    }

    /// The request makes no sense (400).
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, Reason::BadRequest, message)
    }

    /// The request carries no valid identity (401).
    pub fn unauthorized() -> Self {
        Self::new(401, Reason::Unauthorized, "Unauthorized")
    }

    /// The request is understood but not allowed (403).
    pub fn forbidden(resource: &GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let message = match (resource.resource.as_str(), resource.group.as_str(), name) {
            ("", "", _) => format!("forbidden: {why}"),
            (_, _, "") => format!("{resource} is forbidden: {why}"),
            _ => format!("{resource} {} is forbidden: {why}", quote(name)),
        };
        Self::about(403, Reason::Forbidden, resource, name, message)
    }

    /// The authorizer refuses (403); `why` is its reason, such as `RBAC: …`, or empty.
    pub fn denied(attempt: &Attempt<'_>, why: &str) -> Self {
        let mut text = attempt.refusal();
        if !why.is_empty() {
            text.push_str(": ");
            text.push_str(why);
        }
        let resource = GroupResource::new(attempt.group, attempt.resource);
        Self::forbidden(&resource, attempt.name, text)
    }

    /// The thing is gone and there is no other address (410).
    pub fn gone(message: impl Into<String>) -> Self {
        Self::new(410, Reason::Gone, message)
    }

    /// The asked-for history is gone (410).
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, Reason::Expired, message)
    }

    /// A watch asks for events before the oldest kept one (410).
    pub fn too_old(asked: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {asked} ({oldest})"))
    }

    /// The resource exists, but not with this verb (405).
    pub fn method_not_allowed(resource: &GroupResource, action: &str) -> Self {
        let message = format!(
            "{action} is not supported on resources of kind {}",
            quote(&resource.to_string())
        );
        Self::about(405, Reason::MethodNotAllowed, resource, "", message)
    }

    /// The path knows other methods (405).
    pub fn no_such_method() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, Reason::MethodNotAllowed, message).with_details(Details::default())
    }

    /// No representation that the client accepts (406).
    pub fn not_acceptable(offered: &[&str]) -> Self {
        let offered = offered.join(", ");
        let message = format!("only the following media types are accepted: {offered}");
        Self::new(406, Reason::NotAcceptable, message)
    }

    /// The body has a type nobody decodes (415).
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let accepted = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: \
             {accepted}"
        );
        Self::new(415, Reason::UnsupportedMediaType, message)
    }

    /// The body or the stored object exceeds its limit (413).
    pub fn too_large(why: impl fmt::Display) -> Self {
        let message = format!("Request entity too large: {why}");
        Self::new(413, Reason::RequestEntityTooLarge, message)
    }

    /// The client should slow down (429).
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(429, Reason::TooManyRequests, message).with_details(Details {
            retry_after_seconds,
            ..Details::default()
        })
    }

    /// Our own fault (500).
    pub fn internal(why: impl fmt::Display) -> Self {
        let cause = Cause {
            message: why.to_string(),
            ..Cause::default()
        };
        Self::new(
            500,
            Reason::InternalError,
            format!("Internal error occurred: {why}"),
        )
        .with_cause(cause)
    }

    /// A passing trouble, try again (500).
    pub fn server_timeout(resource: &GroupResource, operation: &str, retry_after: u32) -> Self {
        let message = format!(
            "The {operation} operation against {resource} could not be completed at this time, \
             please try again."
        );
        Self::about(500, Reason::ServerTimeout, resource, operation, message)
            .with_retry_after(retry_after)
    }

    /// Shutting down or overloaded (503).
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, Reason::ServiceUnavailable, message)
    }

    /// The deadline passed (504).
    pub fn timeout(why: impl fmt::Display, retry_after_seconds: u32) -> Self {
        Self::new(504, Reason::Timeout, format!("Timeout: {why}")).with_details(Details {
            retry_after_seconds,
            ..Details::default()
        })
    }

    /// A client asks for a revision that does not exist yet (504, retry after a second).
    pub fn too_large_resource_version(asked: u64, current: u64) -> Self {
        let why = format!("Too large resource version: {asked}, current: {current}");
        Self::timeout(why, 1).with_cause(Cause {
            reason: "ResourceVersionTooLarge".into(),
            message: "Too large resource version".into(),
            field: String::new(),
        })
    }

    /// Creation in a namespace that is going away (403).
    pub fn namespace_terminating(resource: &GroupResource, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        Self::forbidden(resource, name, why).with_cause(Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        })
    }

    /// Replaces the details.
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Adds a cause.
    pub fn with_cause(mut self, cause: Cause) -> Self {
        self.details_mut().causes.push(cause);
        self
    }

    /// Says how many seconds to wait before the next try.
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.details_mut().retry_after_seconds = seconds;
        self
    }

    /// Adds the token with which a list can go on.
    pub fn with_continue(mut self, token: impl Into<Box<str>>) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// Seconds for the Retry-After header, if any.
    pub fn retry_after_seconds(&self) -> Option<u32> {
        self.details
            .as_ref()
            .map(|d| d.retry_after_seconds)
            .filter(|&s| s > 0)
    }

    /// HTTP status code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The `v1` Status object.
    pub fn to_value(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".into(), token.as_ref().into());
        }
        let success = self.code < 400;
        let mut out = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": if success { "Success" } else { "Failure" },
        });
        if let Value::Object(map) = &mut out {
            put(map, "message", &self.message);
            put(map, "reason", self.reason.as_str());
            if let Some(details) = &self.details {
                map.insert("details".into(), details.to_value());
            }
            if !success {
                map.insert("code".into(), self.code.into());
            }
        }
        out
    }

    fn about(
        code: u16,
        reason: Reason,
        resource: &GroupResource,
        name: &str,
        message: impl Into<String>,
    ) -> Self {
        Self::new(code, reason, message).with_details(Details {
            name: name.into(),
            group: resource.group.clone(),
            kind: resource.resource.clone(),
            ..Details::default()
        })
    }

    fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

// === impl Details ===

impl Details {
    fn to_value(&self) -> Value {
        let mut map = Map::new();
        put(&mut map, "name", &self.name);
        put(&mut map, "group", &self.group);
        put(&mut map, "kind", &self.kind);
        put(&mut map, "uid", &self.uid);
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(Cause::to_value).collect();
            map.insert("causes".into(), Value::Array(causes));
        }
        if self.retry_after_seconds > 0 {
            map.insert("retryAfterSeconds".into(), self.retry_after_seconds.into());
        }
        Value::Object(map)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut map = Map::new();
        put(&mut map, "reason", &self.reason);
        put(&mut map, "message", &self.message);
        put(&mut map, "field", &self.field);
        Value::Object(map)
    }
}

// === impl Reason ===

impl Reason {
    /// The word on the wire; empty for [`Reason::None`].
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Gone => "Gone",
            Self::Invalid => "Invalid",
            Self::ServerTimeout => "ServerTimeout",
            Self::StoreReadError => "StorageReadError",
            Self::Timeout => "Timeout",
            Self::TooManyRequests => "TooManyRequests",
            Self::BadRequest => "BadRequest",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::InternalError => "InternalError",
            Self::Expired => "Expired",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::Other(word) => word,
        }
    }
}

// === impl Attempt ===

impl Attempt<'_> {
    /// `User "u" cannot get resource "pods/log" in API group "" in the namespace "ns"`.
    ///
    /// `&`, `<` and `>` become entities, as upstream does it so that no browser takes the text for
    /// a page.
    pub fn refusal(&self) -> String {
        let user = quote(self.user);
        let text = if self.resource.is_empty() {
            format!("User {user} cannot {} path {}", self.verb, quote(self.path))
        } else {
            let resource = match self.subresource {
                "" => quote(self.resource),
                sub => quote(&format!("{}/{sub}", self.resource)),
            };
            let scope = match self.namespace {
                "" => "at the cluster scope".to_owned(),
                ns => format!("in the namespace {}", quote(ns)),
            };
            let group = quote(self.group);
            format!(
                "User {user} cannot {} resource {resource} in API group {group} {scope}",
                self.verb
            )
        };
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    }
}

fn put(map: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key.into(), text.into());
    }
}

#[cfg(test)]
mod tests;
