//! Which resources the server serves, and by which rules.
//!
//! A [`Resource`] is one row: names, scope, verbs, the shape of its objects, where they are stored
//! and the [`Strategy`] with the rules of its kind. Rows come from the generated tables (built-in
//! kinds) and from CustomResourceDefinitions; nothing after the look-up cares which. A [`Registry`]
//! is an immutable snapshot of all rows: a request takes one and keeps it to its end.

mod builtin;
mod strategy;

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{Arc, LazyLock},
};

use flotilla_machinery::{
    builtin::{self as kinds, Lists},
    schema::{Schema, TypeId},
};
use serde_json::Value;

pub use self::builtin::built_in;
pub use self::strategy::{
    Context, Generic, Propagation, SelectableField, Strategy, generic, value_at,
};
use crate::{
    crd::webhook::Converter,
    store::{ResourceKey, TypeOrder},
};

/// One served resource in one version.
pub struct Resource {
    /// API group; empty for the core group.
    pub group: Box<str>,
    /// API version, such as `v1`.
    pub version: Box<str>,
    /// Plural name, as in paths.
    pub plural: Box<str>,
    /// Singular name, as `kubectl get` accepts it.
    pub singular: Box<str>,
    /// Kind of one object.
    pub kind: Box<str>,
    /// Kind of a list of them.
    pub list_kind: Box<str>,
    /// Abbreviations, such as `po`.
    pub short_names: Vec<Box<str>>,
    /// Groupings such as `all`.
    pub categories: Vec<Box<str>>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// What the main endpoint serves.
    pub verbs: Verbs,
    /// Endpoints below an object, sorted by name.
    pub subresources: Vec<Subresource>,
    /// Shape of an object in this version.
    pub shape: Shape,
    /// Where objects are stored; shared by all versions (and by `events` of both groups).
    pub storage: ResourceKey,
    /// `apiVersion` of stored bodies.
    pub storage_api_version: Box<str>,
    /// How a stored body becomes one of this version.
    pub conversion: Conversion,
    /// What discovery calls the storage version; empty for resources without storage.
    pub storage_version_hash: Box<str>,
    /// Whether `metadata.generation` counts changes of the desired state.
    pub tracks_generation: bool,
    /// Whether status is written through its own endpoint.
    pub has_status: bool,
    /// Rules of the kind.
    pub strategy: Arc<dyn Strategy>,
    /// Text of the warning header every request gets, for deprecated versions.
    pub deprecation: Option<Box<str>>,
    /// Extras of a custom resource; `None` for built-in kinds.
    pub custom: Option<Custom>,
    /// Which older objects get defaults when they are read; `None` when there are no defaults.
    pub defaults: Option<Defaults>,
    /// What translates between the versions of a custom resource, if its definition names a webhook.
    pub webhook: Option<Arc<Converter>>,
}

/// The defaults in the schema of a custom resource, as far as reading needs to know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// Objects written before this revision may lack some of them.
    pub since_rev: u64,
    /// Tells schemas apart, so that other changes of a definition do not count.
    pub digest: u64,
}

/// What only custom resources have.
#[derive(Clone, Debug, Default)]
pub struct Custom {
    /// Paths behind the scale subresource.
    pub scale: Option<ScalePaths>,
    /// Columns of `kubectl get`; empty means the default ones (name and age).
    pub columns: Vec<PrinterColumn>,
}

/// Where the scale subresource of a custom resource reads and writes; simple dotted JSON paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// For example `.spec.replicas`.
    pub spec_replicas: Box<str>,
    /// For example `.status.replicas`.
    pub status_replicas: Box<str>,
    /// For example `.status.selector`; points at a string.
    pub label_selector: Option<Box<str>>,
}

/// A column of `additionalPrinterColumns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Heading.
    pub name: Box<str>,
    /// OpenAPI type: `string`, `integer`, `number`, `boolean` or `date`.
    pub ty: Box<str>,
    /// OpenAPI format.
    pub format: Box<str>,
    /// Explanation.
    pub description: Box<str>,
    /// 0 is always shown; greater only with `-o wide`.
    pub priority: i32,
    /// Simple JSON path such as `.spec.replicas`.
    pub json_path: Box<str>,
}

/// An endpoint below an object, such as `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Name in paths.
    pub name: Box<str>,
    /// Group of the kind it exchanges (`autoscaling` for `scale`).
    pub group: Box<str>,
    /// Version of the kind it exchanges.
    pub version: Box<str>,
    /// Kind it exchanges.
    pub kind: Box<str>,
    /// What it serves.
    pub verbs: Verbs,
}

/// A schema and the type of the root in it.
#[derive(Clone)]
pub struct Shape {
    /// The arena.
    pub schema: SchemaRef,
    /// The object's type.
    pub root: TypeId,
}

/// A schema of the binary, or one compiled at run time.
#[derive(Clone)]
pub enum SchemaRef {
    /// Built-in kinds.
    Static(&'static Schema),
    /// Made at run time.
    Shared(Arc<Schema>),
    /// Custom resources; made when it is first looked at.
    Lazy(Arc<LazySchema>),
}

/// A schema that is made when it is first looked at.
pub type LazySchema = LazyLock<Arc<Schema>, Box<dyn FnOnce() -> Arc<Schema> + Send + Sync>>;

/// How stored bodies and bodies of a version relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// This is the storage version.
    None,
    /// Only `apiVersion` differs.
    Rename,
    /// [`Strategy::read_stored`] and [`Strategy::write_stored`] rewrite the object.
    Rewrite,
    /// The [`Resource::webhook`] rewrites it, before anything else looks at it.
    Webhook,
}

/// One thing a client may do with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are upstream's verbs")]
pub enum Verb {
    Create,
    Delete,
    DeleteCollection,
    Get,
    List,
    Patch,
    Update,
    Watch,
}

/// A set of verbs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verbs(u8);

/// All rows at one moment.
///
/// Rows keep the order they were given in; look-ups are one hash.
#[derive(Default)]
pub struct Registry {
    rows: Vec<Arc<Resource>>,
    by_path: HashMap<[Box<str>; 3], usize>,
    by_kind: HashMap<[Box<str>; 3], usize>,
    custom_rev: u64,
}

// === impl Resource ===

impl Resource {
    /// Brings an object of a built-in kind to the form in which Go writes it; custom resources have none.
    pub fn emit(&self, object: &mut Value, lists: Lists) {
        if self.custom.is_none() {
            kinds::emit(object, &self.shape.schema, self.shape.root, lists);
        }
    }

    /// How its objects begin.
    pub(crate) fn type_order(&self) -> TypeOrder {
        match self.custom {
            None => TypeOrder::KindFirst,
            Some(_) => TypeOrder::ByName,
        }
    }

    /// `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `pods` or `deployments.apps`, as messages name it.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// Whether objects are kept. Others are questions with an answer (reviews), or actions
    /// (`bindings`).
    pub fn is_stored(&self) -> bool {
        self.verbs.contains(Verb::List)
    }

    /// The subresource called `name`.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name.as_ref() == name)
    }
}

impl std::fmt::Debug for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.api_version(), self.plural)
    }
}

// === impl SchemaRef ===

impl Deref for SchemaRef {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        match self {
            Self::Static(schema) => schema,
            Self::Shared(schema) => schema,
            Self::Lazy(schema) => schema,
        }
    }
}

// === impl Verbs ===

impl Verb {
    /// All of them, in the order discovery lists them.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Delete,
        Self::DeleteCollection,
        Self::Get,
        Self::List,
        Self::Patch,
        Self::Update,
        Self::Watch,
    ];

    /// Upstream's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }

    /// The verb upstream calls `word`.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.as_str() == word)
    }
}

impl Verbs {
    /// Everything.
    pub const ALL: Self = Self(0xff);

    /// These verbs.
    pub const fn of(verbs: &[Verb]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < verbs.len() {
            bits |= 1 << verbs[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    /// Whether `verb` is among them.
    pub const fn contains(self, verb: Verb) -> bool {
        self.0 & (1 << verb as u8) != 0
    }

    /// In the order discovery lists them.
    pub fn iter(self) -> impl Iterator<Item = Verb> {
        Verb::ALL.into_iter().filter(move |v| self.contains(*v))
    }
}

// === impl Registry ===

impl Registry {
    /// A snapshot of these rows. A later row replaces an earlier one of the same path.
    pub fn new(rows: impl IntoIterator<Item = Arc<Resource>>) -> Self {
        let mut registry = Self::default();
        for row in rows {
            registry.insert(row);
        }
        registry
    }

    /// The rows of built-in kinds together with these of custom resources, which were compiled
    /// from the definitions as of revision `rev`. A definition never shadows a built-in kind.
    pub fn with_custom(&self, rows: impl IntoIterator<Item = Arc<Resource>>, rev: u64) -> Self {
        let mut registry = Self::new(self.rows.iter().filter(|r| r.custom.is_none()).cloned());
        for row in rows {
            if registry
                .get(&row.group, &row.version, &row.plural)
                .is_none()
            {
                registry.insert(row);
            }
        }
        registry.custom_rev = rev;
        registry
    }

    /// Store revision of the definitions behind the custom rows; 0 before the first look.
    pub fn custom_rev(&self) -> u64 {
        self.custom_rev
    }

    /// The resource at `/apis/{group}/{version}/{plural}`.
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let key = [group.into(), version.into(), plural.into()];
        self.by_path.get(&key).map(|at| &self.rows[*at])
    }

    /// The resource whose objects are of this kind.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let key = [group.into(), version.into(), kind.into()];
        self.by_kind.get(&key).map(|at| &self.rows[*at])
    }

    /// Every row.
    pub fn rows(&self) -> &[Arc<Resource>] {
        &self.rows
    }

    /// The row that stores objects as they are, for each stored resource; custom ones included.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.rows
            .iter()
            .filter(|r| r.conversion == Conversion::None)
    }

    /// Whether any resource of this group and version is served.
    pub fn serves(&self, group: &str, version: &str) -> bool {
        self.rows
            .iter()
            .any(|r| r.group.as_ref() == group && r.version.as_ref() == version)
    }

    /// Whether a group has built-in kinds.
    pub fn has_built_in(&self, group: &str) -> bool {
        let mut built_in = self.rows.iter().filter(|row| row.custom.is_none());
        built_in.any(|row| *row.group == *group)
    }

    fn insert(&mut self, row: Arc<Resource>) {
        let path = [row.group.clone(), row.version.clone(), row.plural.clone()];
        let kind = [row.group.clone(), row.version.clone(), row.kind.clone()];
        if let Some(at) = self.by_path.get(&path) {
            self.rows[*at] = row;
            return;
        }
        self.by_kind.entry(kind).or_insert(self.rows.len());
        self.by_path.insert(path, self.rows.len());
        self.rows.push(row);
    }
}

#[cfg(test)]
pub(crate) mod tests;
