//! Which paths an object consists of, and taking paths out of it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::compare::Branch;
use super::typed::{Atom, ListShape, MapShape, Shape, Ty};
use crate::fieldpath::{Node, PathElement, Set};

/// All paths that `object` sets: what applying it would own.
pub(super) fn field_set(shape: Shape<'_>, object: &Value) -> Set {
    shape.fields(shape.root(), object).into_set()
}

/// What happens to maps and lists that lose their last item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Emptied {
    /// They become null. Their place still counts while ownership is worked out.
    Null,
    /// They go.
    Gone,
}

/// `object` without the items of `set`.
pub(super) fn remove_items(shape: Shape<'_>, object: &Value, set: &Set, emptied: Emptied) -> Value {
    shape
        .remove(shape.root(), object, set, emptied)
        .unwrap_or_default()
}

/// `set` and the named fields on the way to its paths, but not the keys of maps.
pub(super) fn with_named_fields(shape: Shape<'_>, set: &Set) -> Set {
    shape.named(Some(shape.root()), set)
}

impl Shape<'_> {
    fn fields(self, ty: Ty, value: &Value) -> Branch {
        match self.atom(ty, Some(value)) {
            Atom::Scalar(_) => Branch {
                member: true,
                nodes: Vec::new(),
            },
            Atom::Map(shape) if shape.atomic => Branch {
                member: true,
                nodes: Vec::new(),
            },
            Atom::Map(shape) => self.map_fields(shape, value),
            Atom::List(shape) if shape.is_atomic() => Branch {
                member: true,
                nodes: Vec::new(),
            },
            Atom::List(shape) => self.list_fields(shape, value),
        }
    }

    fn map_fields(self, shape: MapShape<'_>, value: &Value) -> Branch {
        let mut out = Branch::default();
        for (key, value) in value.as_object().into_iter().flatten() {
            let mut child = self.fields(shape.child(key).unwrap_or(Ty::Any), value);
            let empty = value.as_object().is_some_and(Map::is_empty);
            child.member |= value.is_null() || empty || !shape.declares(key);
            out.attach(child, || PathElement::field(key));
        }
        out
    }

    fn list_fields(self, shape: ListShape<'_>, value: &Value) -> Branch {
        let mut out = Branch::default();
        let mut seen = BTreeSet::new();
        let mut duplicates = BTreeSet::new();
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let elements: Vec<Option<PathElement>> =
            items.iter().map(|item| shape.element(item).ok()).collect();
        for element in elements.iter().flatten() {
            if !seen.insert(element) {
                duplicates.insert(element);
            }
        }
        for (item, element) in items.iter().zip(&elements) {
            let Some(element) = element else { continue };
            let mut child = Branch::default();
            if !duplicates.contains(element) {
                child = self.fields(shape.item, item);
            }
            child.member = true;
            out.attach(child, || element.clone());
        }
        out
    }

    fn remove(self, ty: Ty, value: &Value, set: &Set, emptied: Emptied) -> Option<Value> {
        let when_empty = || (emptied == Emptied::Null).then_some(Value::Null);
        match (self.atom(ty, Some(value)), value) {
            (Atom::Scalar(_), _) => Some(value.clone()),
            (Atom::Map(shape), Value::Object(map)) if !shape.atomic => {
                let mut out = Map::new();
                for (key, value) in map {
                    let kept = match set.field(key) {
                        None => Some(value.clone()),
                        Some(node) if node.member => None,
                        Some(node) => {
                            let ty = shape.child(key).unwrap_or(Ty::Any);
                            self.remove(ty, value, &node.children, emptied)
                        }
                    };
                    out.extend(kept.map(|kept| (key.clone(), kept)));
                }
                if out.is_empty() {
                    when_empty()
                } else {
                    Some(Value::Object(out))
                }
            }
            (Atom::List(shape), Value::Array(items)) if !shape.is_atomic() => {
                let mut out = Vec::with_capacity(items.len());
                for item in items {
                    let element = shape.element(item).ok();
                    match element.and_then(|element| set.node(&element)) {
                        None => out.push(item.clone()),
                        Some(node) if node.member => {}
                        Some(node) => {
                            out.extend(self.remove(shape.item, item, &node.children, emptied));
                        }
                    }
                }
                if out.is_empty() {
                    when_empty()
                } else {
                    Some(Value::Array(out))
                }
            }
            _ => when_empty(),
        }
    }

    fn named(self, ty: Option<Ty>, set: &Set) -> Set {
        // Without a value to look at, what may be anything counts as a map.
        let atom = ty.map(|ty| self.atom(ty, None));
        let nodes = set.nodes().iter().map(|node| {
            let (named, child) = match (&node.element, &atom) {
                (PathElement::Field(key), Some(Atom::Map(shape))) => {
                    (shape.declares(key), shape.child(key))
                }
                (PathElement::Key(_), Some(Atom::List(shape))) => (false, Some(shape.item)),
                _ => (false, None),
            };
            Node {
                element: node.element.clone(),
                member: node.member || (named && !node.children.is_empty()),
                children: self.named(child, &node.children),
            }
        });
        Set::from_nodes(nodes.collect())
    }
}
