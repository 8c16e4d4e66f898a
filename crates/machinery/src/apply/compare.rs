//! What differs between two objects, as sets of paths.

use std::collections::BTreeMap;

use serde_json::Value;

use super::typed::{Atom, ListShape, MapShape, Shape, Ty};
use crate::fieldpath::{Node, PathElement, Set, same};

/// What became of each path from one object to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub(super) added: Set,
    pub(super) modified: Set,
    pub(super) removed: Set,
}

/// Compares two objects of one shape.
pub(super) fn compare(shape: Shape<'_>, old: &Value, new: &Value) -> Comparison {
    let mut diff = Diff::default();
    shape.diff(shape.root(), Some(old), Some(new), &mut diff);
    Comparison {
        added: diff.added.into_set(),
        modified: diff.modified.into_set(),
        removed: diff.removed.into_set(),
    }
}

impl Comparison {
    /// Whether nothing differs.
    pub(super) fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// The comparison without `fields` and what is below them.
    pub(super) fn without(mut self, fields: &Set) -> Self {
        self.added.subtract_recursive(fields);
        self.modified.subtract_recursive(fields);
        self.removed.subtract_recursive(fields);
        self
    }
}

/// One place in the tree: whether its own path is meant, and what is below.
#[derive(Default)]
pub(super) struct Branch {
    pub(super) member: bool,
    pub(super) nodes: Vec<Node>,
}

impl Branch {
    /// Hangs `child` below this place.
    pub(super) fn attach(&mut self, child: Branch, element: impl FnOnce() -> PathElement) {
        if child.member || !child.nodes.is_empty() {
            let (member, children) = (child.member, Set::from_nodes(child.nodes));
            self.nodes.push(Node {
                element: element(),
                member,
                children,
            });
        }
    }

    pub(super) fn into_set(self) -> Set {
        Set::from_nodes(self.nodes)
    }
}

#[derive(Default)]
struct Diff {
    added: Branch,
    modified: Branch,
    removed: Branch,
}

impl Diff {
    fn attach(&mut self, child: Self, element: impl Fn() -> PathElement) {
        self.added.attach(child.added, &element);
        self.modified.attach(child.modified, &element);
        self.removed.attach(child.removed, &element);
    }

    /// Notes the difference of two values that are owned as a whole.
    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, _) => self.added.member = true,
            (_, None) => self.removed.member = true,
            (Some(old), Some(new)) if !same(old, new) => self.modified.member = true,
            _ => {}
        }
    }
}

impl Shape<'_> {
    fn diff(self, ty: Ty, old: Option<&Value>, new: Option<&Value>, out: &mut Diff) {
        // Few of an object's values differ, and telling so needs no schema.
        if old == new {
            return;
        }
        let kinds_differ = match (old, new) {
            (Some(old), Some(new)) => {
                self.is_untyped(ty) && std::mem::discriminant(old) != std::mem::discriminant(new)
            }
            _ => false,
        };
        let mut leaf = false;
        if kinds_differ {
            leaf |= self.diff_as(ty, old, old, new, out);
        }
        leaf |= self.diff_as(ty, new.or(old), old, new, out);
        if !leaf {
            match (old, new) {
                (None, _) => out.added.member = true,
                (_, None) => out.removed.member = true,
                _ => {}
            }
        }
    }

    /// Compares as whatever `like` is; says whether the values were taken as a whole.
    fn diff_as(
        self,
        ty: Ty,
        like: Option<&Value>,
        old: Option<&Value>,
        new: Option<&Value>,
        out: &mut Diff,
    ) -> bool {
        let leaf = match self.atom(ty, like) {
            Atom::Scalar(_) => true,
            Atom::Map(shape) => {
                let empty =
                    |v: Option<&Value>| v.and_then(Value::as_object).is_none_or(|m| m.is_empty());
                let leaf = shape.atomic || (empty(old) && empty(new));
                if !leaf {
                    self.diff_maps(shape, old, new, out);
                }
                leaf
            }
            Atom::List(shape) => {
                let empty =
                    |v: Option<&Value>| v.and_then(Value::as_array).is_none_or(Vec::is_empty);
                let leaf = shape.is_atomic() || (empty(old) && empty(new));
                if !leaf {
                    self.diff_lists(shape, old, new, out);
                }
                leaf
            }
        };
        if leaf {
            out.leaf(old, new);
        }
        leaf
    }

    fn diff_maps(
        self,
        shape: MapShape<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        out: &mut Diff,
    ) {
        let (old, new) = (
            old.and_then(Value::as_object),
            new.and_then(Value::as_object),
        );
        let mut visit = |key: &str, old: Option<&Value>, new: Option<&Value>| {
            let mut child = Diff::default();
            self.diff(shape.child(key).unwrap_or(Ty::Any), old, new, &mut child);
            out.attach(child, || PathElement::field(key));
        };
        let mut news = new.into_iter().flatten().peekable();
        for (key, value) in old.into_iter().flatten() {
            while let Some((key, value)) = news.next_if(|(next, _)| *next < key) {
                visit(key, None, Some(value));
            }
            let new = news.next_if(|(next, _)| *next == key);
            visit(key, Some(value), new.map(|(_, value)| value));
        }
        for (key, value) in news {
            visit(key, None, Some(value));
        }
    }

    fn diff_lists(
        self,
        shape: ListShape<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        out: &mut Diff,
    ) {
        let (old, new) = (old.and_then(Value::as_array), new.and_then(Value::as_array));
        if old == new {
            return;
        }
        let mut items: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in old.into_iter().flatten() {
            if let Ok(element) = shape.element(item) {
                items.entry(element).or_default().0.push(item);
            }
        }
        for item in new.into_iter().flatten() {
            if let Ok(element) = shape.element(item) {
                items.entry(element).or_default().1.push(item);
            }
        }
        for (element, (old, new)) in items {
            let mut child = Diff::default();
            match (old.as_slice(), new.as_slice()) {
                // Duplicates are owned as a whole, by their key.
                ([_, _, ..], [_, _, ..]) => {
                    let equal = old.len() == new.len()
                        && old.iter().zip(&new).all(|(old, new)| same(old, new));
                    child.modified.member = !equal;
                }
                ([_, _, ..], new) => {
                    if let [new] = new {
                        self.diff(shape.item, None, Some(new), &mut child);
                    }
                    child.removed.member = true;
                }
                (old, [_, _, ..]) => {
                    if let [old] = old {
                        self.diff(shape.item, Some(old), None, &mut child);
                    }
                    child.added.member = true;
                }
                (old, new) => {
                    let (old, new) = (old.first().copied(), new.first().copied());
                    self.diff(shape.item, old, new, &mut child);
                }
            }
            out.attach(child, || element.clone());
        }
    }
}
