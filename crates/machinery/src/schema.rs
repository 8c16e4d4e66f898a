//! What shape a Kubernetes object has: which fields, how lists and maps merge, what is pruned.
//!
//! One model serves built-in kinds (from generated tables) and custom resources (from their
//! OpenAPI schemas), so patches, server-side apply, strict decoding, pruning, protobuf decoding and
//! `kubectl explain` all read the same description. Types live in an arena and refer to each other
//! by [`TypeId`], because some of them are recursive (`JSONSchemaProps`).
//!
//! The model says nothing about validity: patterns, ranges and CEL rules belong to whoever owns the
//! kind.

use std::collections::HashMap;

use serde_json::Value;

/// The position of a type in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

/// An arena of types, with names for those that can be looked up.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    types: Vec<Type>,
    names: HashMap<Box<str>, TypeId>,
}

/// The shape of one value.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Anything goes, nothing is pruned, and apply treats granular maps and structs inside as
    /// "deduced" (structured-merge-diff v6, `DeducedParseableType`): maps merge by key, lists are
    /// atomic.
    Any,
    /// A single value.
    Scalar(Scalar),
    /// An object with known fields.
    Struct(Struct),
    /// An object with free keys and values of one type.
    Map {
        /// Type of every value.
        value: TypeId,
        /// Whether apply owns and replaces the map as a whole.
        atomic: bool,
    },
    /// A list.
    List {
        /// Type of every item.
        item: TypeId,
        /// How two versions of the list combine under server-side apply.
        merge: ListMerge,
    },
}

/// Kinds of single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// UTF-8 text.
    String,
    /// Base64 in JSON, raw bytes in protobuf.
    Bytes,
    /// A signed 32-bit integer.
    Int32,
    /// A signed 64-bit integer.
    Int64,
    /// A double.
    Number,
    /// `true` or `false`.
    Boolean,
    /// An integer or a string such as `25%`.
    IntOrString,
    /// A resource amount such as `100m`.
    Quantity,
    /// RFC 3339 with seconds.
    Time,
    /// RFC 3339 with microseconds.
    MicroTime,
    /// A Go duration such as `1m30s`.
    Duration,
}

/// An object with known fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Struct {
    /// Sorted by name, so that look-ups are a binary search and walks are deterministic.
    pub fields: Vec<Field>,
    /// Keep fields that are not listed (`x-kubernetes-preserve-unknown-fields`).
    pub preserve_unknown: bool,
    /// Type of fields that are not listed, for a custom resource that has both properties and
    /// additionalProperties; never set together with `preserve_unknown`.
    pub additional: Option<TypeId>,
    /// Whether apply owns and replaces the struct as a whole (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
}

/// One field of a [`Struct`].
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// JSON name.
    pub name: Box<str>,
    /// Type of the value.
    pub ty: TypeId,
    /// Whether the published schema lists it as required.
    pub required: bool,
    /// Whether Go writes the field even when nothing is in it; for built-in kinds.
    pub always: bool,
    /// Whether `null` is a value rather than the absence of one (custom resources only).
    pub nullable: bool,
    /// The schema's default, if it has one.
    pub default: Option<Value>,
    /// How a strategic merge patch treats this field.
    pub patch: Patch,
    /// Where the field stands in protobuf, for built-in kinds.
    pub proto: Option<Proto>,
}

/// Strategic-merge-patch treatment of a field (`x-kubernetes-patch-strategy` and `-merge-key`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Items of a list are merged instead of replaced.
    pub merge: bool,
    /// An object is replaced instead of merged (`PodDisruptionBudget` selectors).
    pub replace: bool,
    /// `retainKeys`: keys that the patch does not name are dropped when `$retainKeys` lists the rest.
    pub retain_keys: bool,
    /// Which field identifies an item of a merged list of objects; `None` for lists of scalars.
    pub merge_key: Option<Box<str>>,
}

/// Protobuf position of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proto {
    /// Field number.
    pub tag: u32,
    /// Field numbers of the messages around it, outermost first and 0 for none: structs that Go
    /// inlines into their parent in JSON (`VolumeSource`) are messages of their own in protobuf.
    pub via: [u8; 2],
    /// Whether Go holds a pointer: then an explicit zero on the wire is a value, otherwise it
    /// stands for "not set" because gogo writes zero values of plain fields.
    pub pointer: bool,
}

/// How a list combines under server-side apply (`x-kubernetes-list-type`).
#[derive(Clone, Debug, PartialEq)]
pub enum ListMerge {
    /// Replaced as a whole; the default.
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects identified by one or more keys.
    Map {
        /// In schema order, which is the order upstream writes them in field paths.
        keys: Vec<ListKey>,
    },
}

/// One key of a [`ListMerge::Map`].
#[derive(Clone, Debug, PartialEq)]
pub struct ListKey {
    /// Field of the item.
    pub name: Box<str>,
    /// Value an absent key stands for (`protocol` = `TCP`).
    pub default: Option<Value>,
}

// === impl Schema ===

impl Schema {
    /// An arena without types.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a type and returns where it stands.
    pub fn add(&mut self, ty: Type) -> TypeId {
        let id = TypeId(u32::try_from(self.types.len()).expect("fewer than 2³² types"));
        self.types.push(ty);
        id
    }

    /// Reserves a place for a type that will be [set](Self::set) later, for recursive types.
    pub fn reserve(&mut self) -> TypeId {
        self.add(Type::Any)
    }

    /// Replaces the type at `id`.
    ///
    /// # Panics
    /// When `id` does not come from this arena.
    pub fn set(&mut self, id: TypeId, ty: Type) {
        self.types[id.0 as usize] = ty;
    }

    /// Gives a type a name to be found by, such as `io.k8s.api.core.v1.Pod`.
    pub fn name(&mut self, name: impl Into<Box<str>>, id: TypeId) {
        self.names.insert(name.into(), id);
    }

    /// The type called `name`.
    pub fn find(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }

    /// A name of the type at `id`, found by search; for error texts.
    pub fn name_of(&self, id: TypeId) -> Option<&str> {
        self.names
            .iter()
            .find(|&(_, &at)| at == id)
            .map(|(name, _)| name.as_ref())
    }

    /// Every name, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = (&str, TypeId)> {
        self.names.iter().map(|(name, id)| (name.as_ref(), *id))
    }

    /// The type at `id`.
    ///
    /// # Panics
    /// When `id` does not come from this arena.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// How many types the arena holds.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether the arena holds no type.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }
}

// === impl Struct ===

impl Struct {
    /// A struct with these fields, sorted here.
    pub fn with_fields(mut fields: Vec<Field>) -> Self {
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            fields,
            ..Self::default()
        }
    }

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self
            .fields
            .binary_search_by(|f| f.name.as_ref().cmp(name))
            .ok()?;
        Some(&self.fields[at])
    }
}

// === impl Field ===

impl Field {
    /// An optional field without defaults, patch treatment or protobuf position.
    pub fn new(name: impl Into<Box<str>>, ty: TypeId) -> Self {
        Self {
            name: name.into(),
            ty,
            required: false,
            always: false,
            nullable: false,
            default: None,
            patch: Patch::default(),
            proto: None,
        }
    }
}
