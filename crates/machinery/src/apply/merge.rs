//! Laying a configuration over a live object.

use serde_json::{Map, Value};

use super::typed::{Atom, ListShape, MapShape, Shape, Ty};
use crate::fieldpath::PathElement;

/// `live` with everything that `config` says, or `None` when it says so already; both fit the shape, and `config` has no
/// duplicates.
///
/// Most applies change little or nothing, so only what changes is built anew.
pub(super) fn merge(shape: Shape<'_>, live: &Value, config: &Value) -> Option<Value> {
    shape.merge(shape.root(), live, config)
}

impl Shape<'_> {
    fn merge(self, ty: Ty, live: &Value, config: &Value) -> Option<Value> {
        match self.atom(ty, Some(config)) {
            Atom::Map(map) if !map.atomic => self.merge_maps(map, live, config),
            Atom::List(list) if !list.is_atomic() => self.merge_lists(list, live, config),
            _ => replace(live, config),
        }
    }

    fn merge_maps(self, shape: MapShape<'_>, live: &Value, config: &Value) -> Option<Value> {
        match (live, config) {
            (Value::Object(live), Value::Object(config)) => {
                let mut changes = Vec::new();
                for (key, config) in config {
                    let merged = match live.get(key) {
                        Some(live) => self.merge(shape.child(key).unwrap_or(Ty::Any), live, config),
                        None => Some(config.clone()),
                    };
                    changes.extend(merged.map(|merged| (key, merged)));
                }
                (!changes.is_empty()).then(|| Value::Object(with_changes(live, changes)))
            }
            // A null says nothing about a map that has something in it.
            (Value::Object(map), Value::Null) if !map.is_empty() => None,
            _ => replace(live, config),
        }
    }

    fn merge_lists(self, shape: ListShape<'_>, live: &Value, config: &Value) -> Option<Value> {
        match (live, config) {
            (Value::Array(old), Value::Null) if !old.is_empty() => None,
            (Value::Array(old), Value::Array(new)) if !old.is_empty() && old != new => {
                match places(shape, old, new) {
                    Some(places) => self.merge_in_place(shape, old, new, &places),
                    None => Some(Value::Array(self.merge_items(shape, old, new))),
                }
            }
            _ => replace(live, config),
        }
    }

    /// [`Self::merge_items`] for lists in the same order, where item n of `new` belongs to item `places[n]` of `old`.
    fn merge_in_place(
        self,
        shape: ListShape<'_>,
        old: &[Value],
        new: &[Value],
        places: &[usize],
    ) -> Option<Value> {
        let mut changes = Vec::new();
        for (new, &at) in new.iter().zip(places) {
            let merged = self.merge(shape.item, &old[at], new);
            changes.extend(merged.map(|merged| (at, merged)));
        }
        if changes.is_empty() {
            return None;
        }
        let mut changes = changes.into_iter().peekable();
        let items = old.iter().enumerate().map(|(at, item)| {
            let changed = changes.next_if(|(changed, _)| *changed == at);
            changed.map_or_else(|| item.clone(), |(_, merged)| merged)
        });
        Some(Value::Array(items.collect()))
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
            Some(old_at) => {
                let old = &old[old_at];
                let merged = self.merge(shape.item, old, &new[at]);
                merged.unwrap_or_else(|| old.clone())
            }
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

/// `config` in the place of `live`, unless it is the same.
fn replace(live: &Value, config: &Value) -> Option<Value> {
    (live != config).then(|| config.clone())
}

/// `live` with some values in the place of its own, or beside them; both sorted by key.
fn with_changes(live: &Map<String, Value>, changes: Vec<(&String, Value)>) -> Map<String, Value> {
    let mut out = Map::new();
    let mut changes = changes.into_iter().peekable();
    for (key, value) in live {
        while let Some((added, value)) = changes.next_if(|(next, _)| *next < key) {
            out.insert(added.clone(), value);
        }
        let changed = changes.next_if(|(next, _)| *next == key);
        let value = changed.map_or_else(|| value.clone(), |(_, merged)| merged);
        out.insert(key.clone(), value);
    }
    out.extend(changes.map(|(added, value)| (added.clone(), value)));
    out
}

/// Comparisons of items that cost less than an index of their names.
const COMPARISONS_MAX: usize = 1024;

/// Where in `old` the items of `new` stand, when each stands there once and all in the same order, as in most lists that are
/// applied again. `None` for other lists, and for long ones.
fn places(shape: ListShape<'_>, old: &[Value], new: &[Value]) -> Option<Vec<usize>> {
    if old.len() * new.len() > COMPARISONS_MAX {
        return None;
    }
    let mut places = Vec::with_capacity(new.len());
    for new in new {
        let mut same = (0..old.len()).filter(|&at| shape.is_same_item(&old[at], new));
        let at = same.next()?;
        if same.next().is_some() || places.last().is_some_and(|&last| at <= last) {
            return None;
        }
        places.push(at);
    }
    Some(places)
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

#[cfg(test)]
mod tests;
