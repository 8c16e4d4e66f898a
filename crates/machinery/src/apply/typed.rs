//! Values seen through a schema: what a value of a type may be, and how lists name their items.

use serde_json::Value;
use smol_str::SmolStr;

use crate::fieldpath::{PathElement, compare_values};
use crate::schema::{ListMerge, Scalar, Schema, Struct, Type, TypeId};

/// A schema and the type of its root.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// Where types are looked up.
    pub schema: &'a Schema,
    /// Type of the whole object.
    pub root: TypeId,
}

/// A type, or the absence of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// A type of the schema.
    At(TypeId),
    /// Anything goes: maps merge by key, lists are atomic.
    Any,
}

/// What a value of a type is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Atom<'a> {
    /// A scalar; `None` is a scalar of any kind.
    Scalar(Option<Scalar>),
    Map(MapShape<'a>),
    List(ListShape<'a>),
}

/// A struct, a map with free keys, or both.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapShape<'a> {
    fields: Option<&'a Struct>,
    /// Type of keys that are no fields; `None` forbids them.
    element: Option<Ty>,
    pub(super) atomic: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ListShape<'a> {
    pub(super) item: Ty,
    pub(super) merge: &'a ListMerge,
}

static ATOMIC: ListMerge = ListMerge::Atomic;

impl<'a> Shape<'a> {
    pub(super) fn root(self) -> Ty {
        Ty::At(self.root)
    }

    /// What `ty` is for a value like `value`; where anything goes, the value decides.
    pub(super) fn atom(self, ty: Ty, value: Option<&Value>) -> Atom<'a> {
        match ty {
            Ty::Any => untyped(value),
            Ty::At(id) => match self.schema.get(id) {
                Type::Any if self.is_embedded(id) => match untyped(value) {
                    Atom::Map(shape) => Atom::Map(MapShape {
                        atomic: true,
                        ..shape
                    }),
                    other => other,
                },
                Type::Any => untyped(value),
                Type::Scalar(scalar) => Atom::Scalar(known(*scalar)),
                Type::Struct(shape) => Atom::Map(MapShape {
                    fields: Some(shape),
                    element: match shape.additional {
                        Some(ty) => Some(Ty::At(ty)),
                        None => shape.preserve_unknown.then_some(Ty::Any),
                    },
                    atomic: shape.atomic,
                }),
                Type::Map { value, atomic } => Atom::Map(MapShape {
                    fields: None,
                    element: Some(Ty::At(*value)),
                    atomic: *atomic,
                }),
                Type::List { item, merge } => Atom::List(ListShape {
                    item: Ty::At(*item),
                    merge,
                }),
            },
        }
    }

    /// Whether a built-in kind keeps an object of any kind here. Upstream's bookkeeping does not look into it.
    fn is_embedded(self, id: TypeId) -> bool {
        let name = self.schema.name_of(id);
        name.is_some_and(|name| name == "io.k8s.apimachinery.pkg.runtime.RawExtension")
    }

    /// Whether `ty` says nothing about what is inside.
    pub(super) fn is_untyped(self, ty: Ty) -> bool {
        match ty {
            Ty::Any => true,
            Ty::At(id) => matches!(self.schema.get(id), Type::Any),
        }
    }
}

impl MapShape<'_> {
    /// Type of the value at `key`; `None` when the schema has no such field.
    pub(super) fn child(&self, key: &str) -> Option<Ty> {
        match self.fields.and_then(|shape| shape.field(key)) {
            Some(field) => Some(Ty::At(field.ty)),
            None => self.element,
        }
    }

    /// Whether `key` is a field rather than a key of a map.
    pub(super) fn declares(&self, key: &str) -> bool {
        self.fields.is_some_and(|shape| shape.field(key).is_some())
    }
}

impl ListShape<'_> {
    pub(super) fn is_atomic(&self) -> bool {
        matches!(self.merge, ListMerge::Atomic)
    }

    /// Whether paths can name `item`.
    pub(super) fn is_named(&self, item: &Value) -> bool {
        match self.merge {
            ListMerge::Atomic => false,
            ListMerge::Set => !item.is_object() && !item.is_array() && !item.is_null(),
            ListMerge::Map { keys } => item.as_object().is_some_and(|map| {
                keys.iter()
                    .any(|key| key.default.is_some() || map.contains_key(key.name.as_ref()))
            }),
        }
    }

    /// Whether paths name both items, and alike.
    pub(super) fn is_same_item(&self, a: &Value, b: &Value) -> bool {
        match self.merge {
            ListMerge::Atomic => false,
            ListMerge::Set => self.is_named(a) && self.is_named(b) && compare_values(a, b).is_eq(),
            ListMerge::Map { keys } => {
                let (Value::Object(a), Value::Object(b)) = (a, b) else {
                    return false;
                };
                let mut values = keys.iter().map(|key| {
                    let (name, default) = (key.name.as_ref(), key.default.as_ref());
                    (a.get(name).or(default), b.get(name).or(default))
                });
                let mut is_named = false;
                values.all(|values| match values {
                    (Some(a), Some(b)) => {
                        is_named = true;
                        compare_values(a, b).is_eq()
                    }
                    (None, None) => true,
                    _ => false,
                }) && is_named
            }
        }
    }

    /// How paths name `item`.
    pub(super) fn element(&self, item: &Value) -> Result<PathElement, String> {
        match self.merge {
            ListMerge::Atomic => Err("invalid indexing of non-associative list".into()),
            ListMerge::Set => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".into())
                }
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".into())
                }
                Value::Null => Err(
                    "associative list without keys has an element that's an explicit null".into(),
                ),
                scalar => Ok(PathElement::Value(scalar.clone())),
            },
            ListMerge::Map { keys } => {
                let map = match item {
                    Value::Object(map) => map,
                    Value::Null => {
                        return Err("associative list with keys may not have a null element".into());
                    }
                    _ => {
                        return Err(
                            "associative list with keys may not have non-map elements".into()
                        );
                    }
                };
                let mut fields = Vec::with_capacity(keys.len());
                for key in keys {
                    if let Some(value) = map.get(key.name.as_ref()).or(key.default.as_ref()) {
                        fields.push((SmolStr::new(&key.name), value.clone()));
                    }
                }
                if fields.is_empty() {
                    let names: Vec<String> = keys
                        .iter()
                        .map(|key| crate::quote::quote(&key.name))
                        .collect();
                    return Err(format!(
                        "associative list with keys has an element that omits all key fields [{}] \
                         (and doesn't have default values for any key fields)",
                        names.join(" ")
                    ));
                }
                fields.sort_by(|a, b| a.0.cmp(&b.0));
                Ok(PathElement::Key(fields.into()))
            }
        }
    }
}

fn untyped<'a>(value: Option<&Value>) -> Atom<'a> {
    match value {
        None | Some(Value::Null | Value::Object(_)) => Atom::Map(MapShape {
            fields: None,
            element: Some(Ty::Any),
            atomic: false,
        }),
        Some(Value::Array(_)) => Atom::List(ListShape {
            item: Ty::Any,
            merge: &ATOMIC,
        }),
        Some(_) => Atom::Scalar(None),
    }
}

/// The scalar kinds that apply tells apart; the others may be number or text.
fn known(scalar: Scalar) -> Option<Scalar> {
    match scalar {
        Scalar::IntOrString | Scalar::Quantity | Scalar::Time | Scalar::MicroTime => None,
        known => Some(known),
    }
}
