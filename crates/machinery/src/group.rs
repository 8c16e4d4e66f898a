//! Coordinates of API types: group with resource, group with kind, and their `apiVersion` text.

use std::fmt;

/// A resource by its API group and plural name; prints as `deployments.apps`, or `pods` for the
/// legacy group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupResource {
    /// API group, empty for the legacy group.
    pub group: String,
    /// Plural, lower-case resource name.
    pub resource: String,
}

/// A kind by its API group; prints as `Deployment.apps`, or `Pod` for the legacy group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind {
    /// API group, empty for the legacy group.
    pub group: String,
    /// CamelCase kind.
    pub kind: String,
}

impl GroupResource {
    /// The resource called `resource` in `group`.
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
        }
    }
}

impl GroupKind {
    /// The kind called `kind` in `group`.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
        }
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.resource, &self.group)
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.kind, &self.group)
    }
}

/// Splits an `apiVersion` such as `apps/v1` into group and version; `v1` has the empty group.
///
/// `None` when there is more than one slash.
pub fn split_api_version(api_version: &str) -> Option<(&str, &str)> {
    match api_version.split_once('/') {
        None => Some(("", api_version)),
        Some((_, version)) if version.contains('/') => None,
        Some(parts) => Some(parts),
    }
}

fn dotted(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    match group {
        "" => f.write_str(name),
        _ => write!(f, "{name}.{group}"),
    }
}
