//! Laying a configuration over a live object.

use serde_json::{Map, Value};

use super::typed::{Atom, ListShape, MapShape, Shape, Ty};
use crate::fieldpath::PathElement;

/// `live` with everything that `config` says; both fit the shape, and `config` has no duplicates.
pub(super) fn merge(shape: Shape<'_>, live: &Value, config: &Value) -> Value {
    shape.merge(shape.root(), live, config)
}

impl Shape<'_> {
    fn merge(self, ty: Ty, live: &Value, config: &Value) -> Value {
        match self.atom(ty, Some(config)) {
            Atom::Scalar(_) => config.clone(),
            Atom::Map(map) => self.merge_maps(map, live, config),
            Atom::List(list) => self.merge_lists(list, live, config),
        }
    }

    fn merge_maps(self, shape: MapShape<'_>, live: &Value, config: &Value) -> Value {
        match (live, config) {
            _ if shape.atomic => config.clone(),
            (Value::Object(live), Value::Object(config)) => {
                let mut out = Map::new();
                let mut configs = config.iter().peekable();
                for (key, value) in live {
                    while let Some((key, value)) = configs.next_if(|(next, _)| *next < key) {
                        out.insert(key.clone(), value.clone());
                    }
                    let merged = match configs.next_if(|(next, _)| *next == key) {
                        Some((_, config)) => {
                            self.merge(shape.child(key).unwrap_or(Ty::Any), value, config)
                        }
                        None => value.clone(),
                    };
                    out.insert(key.clone(), merged);
                }
                out.extend(configs.map(|(key, value)| (key.clone(), value.clone())));
                Value::Object(out)
            }
            // A null says nothing about a map that has something in it.
            (Value::Object(map), Value::Null) if !map.is_empty() => live.clone(),
            _ => config.clone(),
        }
    }

    fn merge_lists(self, shape: ListShape<'_>, live: &Value, config: &Value) -> Value {
        match (live, config) {
            _ if shape.is_atomic() => config.clone(),
            (Value::Array(old), Value::Null) if !old.is_empty() => live.clone(),
            (Value::Array(old), Value::Array(new)) if !old.is_empty() && old != new => {
                Value::Array(self.merge_items(shape, old, new))
            }
            _ => config.clone(),
        }
    }

    /// Merges keyed lists and sets.
    ///
    /// Items of `new` keep their order. Items only in `old` stay where they were relative to the
    /// shared items, as far as the two orders agree.
    fn merge_items(self, shape: ListShape<'_>, old: &[Value], new: &[Value]) -> Vec<Value> {
        let (left, right) = (Index::new(shape, old), Index::new(shape, new));
        let mut out = Vec::with_capacity(old.len().max(new.len()));
        let mut merged = vec![false; new.len()];
        let mut shared = right
            .elements
            .iter()
            .filter(|element| left.contains(element));
        let mut next_shared = shared.next();
        let take = |at: usize| match left.unique(&right.elements[at]) {
            Some(old_at) => self.merge(shape.item, &old[old_at], &new[at]),
            None => new[at].clone(),
        };
        let (mut l, mut r) = (0, 0);
        while l < old.len() || r < new.len() {
            if l < old.len() && r < new.len() {
                let element = &left.elements[l];
                if *element == right.elements[r] {
                    out.push(take(r));
                    merged[r] = true;
                    (l, r) = (l + 1, r + 1);
                    next_shared = shared.next();
                    continue;
                }
                if right.contains(element) && next_shared.is_some_and(|next| next != element) {
                    // A shared item, but another one comes first.
                    l += 1;
                    continue;
                }
            }
            if l < old.len() {
                match right.find(&left.elements[l]) {
                    None => {
                        out.push(old[l].clone());
                        l += 1;
                        continue;
                    }
                    Some(at) if merged[at] => l += 1,
                    Some(_) => {}
                }
            }
            if r < new.len() {
                out.push(take(r));
                merged[r] = true;
                if next_shared == Some(&right.elements[r]) {
                    next_shared = shared.next();
                }
                r += 1;
            }
        }
        out
    }
}

/// The elements that name a list's items, with look-up.
struct Index {
    /// In the order of the list.
    elements: Vec<PathElement>,
    /// Positions sorted by element; of duplicates all.
    sorted: Vec<usize>,
}

impl Index {
    /// Items that cannot be named, which validation has ruled out, are named by position.
    fn new(shape: ListShape<'_>, items: &[Value]) -> Self {
        let elements: Vec<PathElement> = items
            .iter()
            .enumerate()
            .map(|(at, item)| {
                let position = i64::try_from(at).unwrap_or(i64::MAX);
                shape.element(item).unwrap_or(PathElement::Index(position))
            })
            .collect();
        let mut sorted: Vec<usize> = (0..elements.len()).collect();
        sorted.sort_by(|&a, &b| elements[a].cmp(&elements[b]));
        Self { elements, sorted }
    }

    fn find(&self, element: &PathElement) -> Option<usize> {
        let at = self
            .sorted
            .binary_search_by(|&at| self.elements[at].cmp(element))
            .ok()?;
        Some(self.sorted[at])
    }

    fn contains(&self, element: &PathElement) -> bool {
        self.find(element).is_some()
    }

    /// Where `element` stands, unless it stands there twice: duplicates are not merged into.
    fn unique(&self, element: &PathElement) -> Option<usize> {
        let start = self
            .sorted
            .partition_point(|&at| self.elements[at] < *element);
        let mut same = self.sorted[start..]
            .iter()
            .take_while(|&&at| self.elements[at] == *element);
        match (same.next(), same.next()) {
            (Some(&at), None) => Some(at),
            _ => None,
        }
    }
}
