//! Who asks, for what, and whether they may: the seam between the request pipeline and the
//! authenticators and authorizers.

use std::{collections::BTreeMap, fmt::Debug};

/// Who a request comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// User name, such as `system:serviceaccount:default:builder`.
    pub name: String,
    /// Unique id, if the authenticator knows one.
    pub uid: String,
    /// Groups, in the order the authenticator lists them.
    pub groups: Vec<String>,
    /// Further facts, such as `authentication.kubernetes.io/credential-id`.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What a request wants to do, as authorizers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// Something with an API object.
    Resource(ResourceAttributes),
    /// A path outside the APIs, such as `/healthz`.
    Path {
        /// The request path.
        path: String,
        /// Lower-case HTTP method.
        verb: String,
    },
}

/// What a request wants to do with an API object; empty strings mean "none".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAttributes {
    /// `get`, `deletecollection`, `impersonate`, …
    pub verb: String,
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural resource name.
    pub resource: String,
    /// Name of the subresource.
    pub subresource: String,
    /// Namespace; empty for cluster-scoped objects and for all namespaces.
    pub namespace: String,
    /// Name of the object; empty for collections.
    pub name: String,
}

/// What an authorizer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Go ahead; says which rule allowed it.
    Allow(String),
    /// No rule allows it; says why, possibly nothing.
    NoOpinion(String),
}

/// Finds the identity behind a bearer token.
pub trait Authenticator: Send + Sync {
    /// The identity, `Ok(None)` when no authenticator knows the token, or why the token is wrong
    /// (expired, not yet valid, for another audience). `audiences` empty means the server itself.
    fn token(
        &self,
        token: &str,
        audiences: &[String],
        now: jiff::Timestamp,
    ) -> Result<Option<Identity>, String>;
}

/// Decides whether an identity may do something. Pure look-ups; must answer within microseconds.
pub trait Authorizer: Send + Sync {
    /// The decision.
    fn authorize(&self, who: &Identity, what: &Attributes) -> Decision;
}

// === impl Identity ===

impl Identity {
    /// An authenticated user: `system:authenticated` is added to the groups.
    pub fn user(name: impl Into<String>, groups: impl IntoIterator<Item = String>) -> Self {
        let mut groups: Vec<String> = groups.into_iter().collect();
        if !groups.iter().any(|g| g == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Self {
            name: name.into(),
            groups,
            ..Self::default()
        }
    }

    /// Nobody in particular.
    pub fn anonymous() -> Self {
        Self {
            name: "system:anonymous".to_owned(),
            groups: vec!["system:unauthenticated".to_owned()],
            ..Self::default()
        }
    }

    /// The server itself and what runs inside it: may do everything.
    pub fn internal(name: &str) -> Self {
        Self::user(name, [MASTERS.to_owned()])
    }

    /// Whether the identity belongs to `group`.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }
}

/// Group every authenticated identity belongs to.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Group that bypasses authorization.
pub const MASTERS: &str = "system:masters";
