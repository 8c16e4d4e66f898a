//! Names of collections and of objects inside them, with the order that lists are served in.

use std::{cmp::Ordering, fmt, sync::Arc};

/// The resource a collection holds, in its one storage form: API group and plural.
///
/// Versions do not appear: all served versions of a resource read the same collection. Groups that share objects
/// (`events` of the core group and of `events.k8s.io`) share the key of the storage group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey {
    /// API group, empty for the core group.
    pub group: Arc<str>,
    /// Lower-case plural, as in URLs.
    pub plural: Arc<str>,
}

impl ResourceKey {
    /// The key of `plural` in `group` (`""` is the core group).
    pub fn new(group: &str, plural: &str) -> Self {
        Self {
            group: group.into(),
            plural: plural.into(),
        }
    }
}

/// Renders like `schema.GroupResource`: `pods`, `deployments.apps`.
impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

/// Where an object lives inside its collection.
///
/// Ordered by the bytes of `namespace/name`, which is the order of upstream's lists and continue tokens. It is not the
/// order of the pair: `a-b/x` sorts before `a/x`, because `-` is below `/`. Objects of one namespace are contiguous.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// Namespace, empty for cluster-scoped resources.
    pub namespace: Arc<str>,
    /// Name, unique within the namespace.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// The key of `name` in `namespace` (`""` for cluster-scoped resources).
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.namespace
            .bytes()
            .chain(std::iter::once(b'/'))
            .chain(self.name.bytes())
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> Ordering {
        // The common case by far: one namespace, often one allocation.
        if Arc::ptr_eq(&self.namespace, &other.namespace) || self.namespace == other.namespace {
            return self.name.as_bytes().cmp(other.name.as_bytes());
        }
        self.bytes().cmp(other.bytes())
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Renders as `namespace/name`, or only the name when cluster-scoped.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}
