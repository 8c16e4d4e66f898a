//! Bringing old field sets up to date with a schema that has since become less granular.
//!
//! When a list or map turns atomic, whoever owned something inside owns the whole. The other way
//! round nothing needs to be done: the owner of the whole keeps a path that still exists.

use super::typed::{Atom, Shape, Ty};
use crate::fieldpath::{Node, PathElement, Set};

/// `set` as it would be if it had been made with today's schema; `None` when nothing changes.
pub(super) fn reconcile(shape: Shape<'_>, set: &Set) -> Option<Set> {
    shape.children_of(shape.root(), set)
}

impl Shape<'_> {
    /// Reconciles what is below a place of type `ty`.
    fn children_of(self, ty: Ty, set: &Set) -> Option<Set> {
        let atom = match self.is_untyped(ty) {
            true => return None,
            false => self.atom(ty, None),
        };
        let mut changed: Option<Vec<Node>> = None;
        for (at, node) in set.nodes().iter().enumerate() {
            let child = match (&atom, &node.element) {
                (Atom::Map(map), PathElement::Field(key)) => map.child(key),
                (Atom::Map(_), _) | (Atom::Scalar(_), _) => None,
                (Atom::List(list), _) => Some(list.item),
            };
            let new = child.and_then(|ty| self.node(ty, node));
            if let Some(new) = new {
                changed.get_or_insert_with(|| set.nodes().to_vec())[at] = new;
            }
        }
        changed.map(Set::from_nodes)
    }

    fn node(self, ty: Ty, node: &Node) -> Option<Node> {
        if node.children.is_empty() {
            return None;
        }
        let atomic = !self.is_untyped(ty)
            && match self.atom(ty, None) {
                Atom::Map(map) => map.atomic,
                Atom::List(list) => list.is_atomic(),
                Atom::Scalar(_) => false,
            };
        if atomic {
            return Some(Node {
                element: node.element.clone(),
                member: true,
                children: Set::new(),
            });
        }
        let children = self.children_of(ty, &node.children)?;
        Some(Node {
            element: node.element.clone(),
            member: node.member,
            children,
        })
    }
}
