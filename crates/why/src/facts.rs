//! What an explanation is made of: objects as the cluster shows them, untyped.

use jiff::Timestamp;
use serde_json::Value;

/// Everything that was asked about one object.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The object.
    pub object: Value,
    /// Plural name of its resource.
    pub plural: String,
    /// API group of its resource.
    pub group: String,
    /// The objects it names as owners, as far as they exist, in any order.
    pub owners: Vec<Value>,
    /// Objects that name it as an owner; asked for only when its deletion waits for them.
    pub dependents: Vec<Value>,
    /// What is left in a namespace that is being deleted, or of the instances of a definition.
    pub content: Vec<Content>,
    /// Pods that use a claim, or that a service selects.
    pub pods: Vec<Value>,
    /// EndpointSlices of a service.
    pub slices: Vec<Value>,
    /// Set when a request is to be explained too.
    pub request: Option<Request>,
    /// What could not be asked, and why; the explanation says so.
    pub gaps: Vec<String>,
    /// Now.
    pub now: Timestamp,
}

/// Objects of one resource that are still there.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// `plural.group`.
    pub resource: String,
    /// Their metadata.
    pub objects: Vec<Value>,
}

/// A request somebody would make.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Who.
    pub user: String,
    /// Further groups.
    pub groups: Vec<String>,
    /// What they would do.
    pub verb: String,
    /// Endpoint below the object, or empty.
    pub subresource: String,
    /// `status` of the cluster's own SubjectAccessReview.
    pub review: Value,
    /// ClusterRoles and Roles that a binding below refers to.
    pub roles: Vec<Value>,
    /// ClusterRoleBindings and RoleBindings of the namespace.
    pub bindings: Vec<Value>,
    /// ResourceQuotas of the namespace.
    pub quotas: Vec<Value>,
    /// LimitRanges of the namespace.
    pub limits: Vec<Value>,
}

/// A text inside an object, or empty.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or("")
}

/// A list inside an object, or nothing.
pub fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    let found = object.pointer(pointer).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

/// `namespace/name`, or the name alone.
pub fn place(object: &Value) -> String {
    let name = text(object, "/metadata/name");
    match text(object, "/metadata/namespace") {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}
