//! Merging lists, and the order in which the merged items stand.
//!
//! The order rules: items that the patch names stand in the order of `$setElementOrder` (or of the
//! patch), items that only the server has keep the server's order, and the two rows are zipped so
//! that a server item comes before the first patch item that followed it in the live list.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{
    DIRECTIVE, Error, Merger, SET_ORDER, drop_directives, list_name, unknown_directive, wrong_type,
};
use crate::quote::{plain, plain_list};
use crate::schema::TypeId;

/// Lists up to this length are searched from the front; a hash table costs more than it saves.
const LINEAR_MAX: usize = 16;

impl Merger<'_> {
    /// Merges a list of scalars, or of objects by `merge_key`; or removes scalars when `deletes`.
    pub(super) fn list(
        self,
        live: Vec<Value>,
        patch: Vec<Value>,
        item: TypeId,
        merge_key: Option<&str>,
        deletes: bool,
    ) -> Result<Vec<Value>, Error> {
        if live.is_empty() && patch.is_empty() {
            return Ok(live);
        }
        match (items_are_objects(&live, &patch)?, merge_key) {
            (false, _) if deletes => {
                let gone: HashSet<Value> = patch.into_iter().collect();
                Ok(live.into_iter().filter(|v| !gone.contains(v)).collect())
            }
            (false, _) => {
                let order = Order::new(patch.clone(), live.clone());
                let mut seen = HashSet::new();
                let both = live.into_iter().chain(patch);
                let merged: Vec<Value> = both.filter(|v| seen.insert(v.clone())).collect();
                let keys = merged.clone();
                Ok(order.sort(merged, keys))
            }
            (true, None) => Err(Error::Other(
                "cannot merge lists without merge key for struct".into(),
            )),
            (true, Some(key)) => {
                let (live, patch) = special_items(live, patch, key)?;
                let order = Order::new(keys_of(&patch, key)?, keys_of(&live, key)?);
                let merged = self.keyed_items(live, patch, item, key)?;
                let keys = keys_of(&merged, key)?;
                Ok(order.sort(merged, keys))
            }
        }
    }

    /// Merges every item of `patch` into the live item of the same key, or appends it.
    fn keyed_items(
        self,
        mut live: Vec<Value>,
        patch: Vec<Value>,
        item: TypeId,
        merge_key: &str,
    ) -> Result<Vec<Value>, Error> {
        let mut places = Places::new(keys_of(&live, merge_key)?);
        for new in patch {
            let key = key_of(&new, merge_key)?.clone();
            let Some(at) = places.find(&key) else {
                places.push(key);
                live.push(new);
                continue;
            };
            if let (Value::Object(old), Value::Object(new)) = (live[at].take(), new) {
                live[at] = Value::Object(self.map(old, new, item)?);
            }
        }
        Ok(live)
    }

    /// Merges the lists for which the patch sets an order, and takes both out of the patch.
    pub(super) fn ordered_lists(
        self,
        live: &mut Map<String, Value>,
        patch: &mut Map<String, Value>,
        ty: TypeId,
    ) -> Result<(), Error> {
        if !patch.keys().any(|key| key.starts_with(SET_ORDER)) {
            return Ok(());
        }
        let is_order = |key: &&String| key.starts_with(SET_ORDER);
        let directives: Vec<String> = patch.keys().filter(is_order).cloned().collect();
        for directive in directives {
            let order = match patch.remove(&directive) {
                Some(Value::Array(order)) => order,
                other => return Err(wrong_type("[]interface {}", &other.unwrap_or_default())),
            };
            let name = list_name(&directive, SET_ORDER).ok_or(Error::SetOrder)?;
            let old = take_list(live, name)?;
            let new = take_list(patch, name)?;
            if let Some(list) = self.ordered_list(old, new, order, ty, name)? {
                live.insert(name.to_owned(), Value::Array(list));
            }
        }
        Ok(())
    }

    fn ordered_list(
        self,
        live: Option<Vec<Value>>,
        patch: Option<Vec<Value>>,
        order: Vec<Value>,
        ty: TypeId,
        name: &str,
    ) -> Result<Option<Vec<Value>>, Error> {
        let (item, treatment) = self.item_type(ty, name)?;
        let merge_key = treatment.merge_key.as_deref();
        check_order(patch.as_deref().unwrap_or_default(), &order, merge_key)?;
        if live.is_none() && patch.is_none() {
            return Ok(None);
        }
        let (live_items, patch_items) = (
            live.as_deref().unwrap_or_default(),
            patch.as_deref().unwrap_or_default(),
        );
        if live_items.is_empty() && patch_items.is_empty() {
            return Err(Error::Other(
                "no elements in any of the given slices".into(),
            ));
        }
        let objects = items_are_objects(live_items, patch_items)?;
        let keys = |items: &[Value]| match merge_key {
            Some(key) if objects => keys_of(items, key),
            _ => Ok(items.to_vec()),
        };
        if merge_key.is_some()
            && let Some(at) = order.iter().position(|item| !item.is_object())
        {
            return Err(Error::Other(format!("value for key {at} is not a map")));
        }
        let order_keys = keys(&order)?;
        let mut live_keys = keys(live_items)?;
        if let Some(key) = merge_key.filter(|_| live.is_some()) {
            reuse_places(&mut live_keys, patch_items, key);
        }
        let merged = match (live, patch) {
            (Some(live), None) => live,
            (None, Some(patch)) => {
                let mut list = Value::Array(patch);
                drop_directives(&mut list);
                match list {
                    Value::Array(list) => list,
                    _ => Vec::new(),
                }
            }
            (Some(live), Some(patch)) if treatment.merge => {
                self.list(live, patch, item, merge_key, false)?
            }
            (_, patch) => patch.unwrap_or_default(),
        };
        let merged_keys = keys(&merged)?;
        Ok(Some(
            Order::new(order_keys, live_keys).sort(merged, merged_keys),
        ))
    }
}

/// Where items stand: the order asked for, and the order of the live list.
struct Order {
    asked: Places,
    live: Places,
}

impl Order {
    fn new(asked: Vec<Value>, live: Vec<Value>) -> Self {
        Self {
            asked: Places::new(asked),
            live: Places::new(live),
        }
    }

    /// Sorts `items`, whose keys are `keys`.
    fn sort(&self, items: Vec<Value>, keys: Vec<Value>) -> Vec<Value> {
        let (mut asked, mut server) = (Vec::new(), Vec::new());
        for (item, key) in items.into_iter().zip(keys) {
            let live = self.live.find(&key);
            match self.asked.find(&key) {
                Some(at) => asked.push((at, live, item)),
                None => server.push((live, item)),
            }
        }
        asked.sort_by_key(|(at, ..)| *at);
        sort_server_items(&mut server);
        let mut out = Vec::with_capacity(asked.len() + server.len());
        let mut server = server.into_iter().peekable();
        for (_, live, item) in asked {
            while let Some((_, earlier)) =
                server.next_if(|(at, _)| at.zip(live).is_some_and(|(server, asked)| server < asked))
            {
                out.push(earlier);
            }
            out.push(item);
        }
        out.extend(server.map(|(_, item)| item));
        out
    }
}

/// Sorts items by their place in the live list.
///
/// Items without a place occur when a patch names items that its own order leaves out. Upstream's
/// comparison calls each of them less than anything, which makes its insertion sort (up to 20
/// items) turn rows of them round.
fn sort_server_items(items: &mut [(Option<usize>, Value)]) {
    if items.len() > 20 || items.iter().all(|(live, _)| live.is_some()) {
        items.sort_by_key(|(live, _)| *live);
        return;
    }
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && items[at].0.zip(items[at - 1].0).is_none_or(|(a, b)| a < b) {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Positions of keys; of equal keys the first counts.
struct Places {
    keys: Vec<Value>,
    /// Filled once there are many keys.
    index: HashMap<Value, usize>,
}

impl Places {
    fn new(keys: Vec<Value>) -> Self {
        let mut places = Self {
            keys,
            index: HashMap::new(),
        };
        places.fill_index();
        places
    }

    fn push(&mut self, key: Value) {
        if !self.index.is_empty() {
            self.index.entry(key.clone()).or_insert(self.keys.len());
        }
        self.keys.push(key);
        self.fill_index();
    }

    fn find(&self, key: &Value) -> Option<usize> {
        if self.index.is_empty() {
            return self.keys.iter().position(|k| k == key);
        }
        self.index.get(key).copied()
    }

    fn fill_index(&mut self) {
        if self.index.is_empty() && self.keys.len() > LINEAR_MAX {
            for (at, key) in self.keys.iter().enumerate() {
                self.index.entry(key.clone()).or_insert(at);
            }
        }
    }
}

/// Whether the items of both lists are objects; they must all be of one type, and not lists.
fn items_are_objects(live: &[Value], patch: &[Value]) -> Result<bool, Error> {
    let mut items = live.iter().chain(patch);
    let Some(first) = items.next() else {
        return Ok(false);
    };
    if first.is_array() {
        return Err(Error::ListOfLists);
    }
    let same = |v: &Value| match (first, v) {
        (Value::Number(a), Value::Number(b)) => a.is_f64() == b.is_f64(),
        _ => std::mem::discriminant(first) == std::mem::discriminant(v),
    };
    if items.all(same) {
        return Ok(first.is_object());
    }
    let (live, patch) = (plain_list(live), plain_list(patch));
    Err(Error::Other(format!(
        "list element types are not identical: [{live} {patch}]"
    )))
}

/// Takes deleted items out of the live order and lets new items have their places at its end.
///
/// Upstream does this by accident (its slices share memory), but users see the resulting order.
fn reuse_places(live_keys: &mut Vec<Value>, patch: &[Value], merge_key: &str) {
    let deleted: HashSet<&Value> = patch
        .iter()
        .filter(|item| deletes(item))
        .filter_map(|item| item.get(merge_key))
        .collect();
    if deleted.is_empty() {
        return;
    }
    let n_live = live_keys.len();
    live_keys.retain(|key| !deleted.contains(key));
    if patch.iter().any(|item| directive(item) == Some("replace")) {
        return;
    }
    let plain = patch.iter().filter(|item| directive(item).is_none());
    for key in plain.filter_map(|item| item.get(merge_key)) {
        if live_keys.len() < n_live && !live_keys.contains(key) {
            live_keys.push(key.clone());
        }
    }
}

/// Carries out and removes the items of `patch` that have a `$patch` directive.
fn special_items(
    mut live: Vec<Value>,
    patch: Vec<Value>,
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut deleted = HashSet::new();
    let mut replaces = false;
    for item in patch {
        match directive(&item) {
            None => rest.push(item),
            Some("delete") => {
                deleted.insert(key_of(&item, merge_key)?.clone());
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                let text = "merging lists cannot yet be specified in the patch";
                return Err(Error::Other(text.into()));
            }
            Some(_) => {
                let Value::Object(mut map) = item else {
                    continue;
                };
                let directive = map.remove(DIRECTIVE).unwrap_or_default();
                return Err(unknown_directive(directive, map));
            }
        }
    }
    if replaces {
        return Ok((rest, Vec::new()));
    }
    if !deleted.is_empty() {
        live.retain(|item| !item.get(merge_key).is_some_and(|key| deleted.contains(key)));
    }
    Ok((live, rest))
}

/// Refuses a patch list that contradicts its `$setElementOrder`.
fn check_order(patch: &[Value], order: &[Value], merge_key: Option<&str>) -> Result<(), Error> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    if merge_key.is_some()
        && let Some(wrong) = patch.iter().find(|item| !item.is_object())
    {
        return Err(wrong_type("map[string]interface {}", wrong));
    }
    let kept = patch
        .iter()
        .filter(|item| merge_key.is_none() || !deletes(item));
    let kept: Vec<&Value> = kept.collect();
    let (mut at, mut asked) = (0, order.iter());
    while at < kept.len() && asked.len() > 0 {
        if kept[at].get(DIRECTIVE).is_some() {
            at += 1;
            continue;
        }
        let Some(next) = asked.next() else { break };
        let equal = match merge_key {
            None => kept[at] == next,
            Some(key) => key_of(kept[at], key)? == key_of(next, key)?,
        };
        at += usize::from(equal);
    }
    if at < kept.len() {
        let (patch, order) = (plain_list(patch), plain_list(order));
        return Err(Error::Other(format!(
            "The order in patch list:\n{patch}\n doesn't match {SET_ORDER} list:\n{order}\n"
        )));
    }
    Ok(())
}

/// The value of `$patch`; empty when it is not even text.
fn directive(item: &Value) -> Option<&str> {
    item.get(DIRECTIVE).map(|d| d.as_str().unwrap_or_default())
}

fn deletes(item: &Value) -> bool {
    directive(item) == Some("delete")
}

fn take_list(map: &mut Map<String, Value>, name: &str) -> Result<Option<Vec<Value>>, Error> {
    match map.remove(name) {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(other) => Err(wrong_type("[]interface {}", &other)),
    }
}

fn keys_of(items: &[Value], merge_key: &str) -> Result<Vec<Value>, Error> {
    items
        .iter()
        .map(|item| key_of(item, merge_key).cloned())
        .collect()
}

fn key_of<'a>(item: &'a Value, merge_key: &str) -> Result<&'a Value, Error> {
    if !item.is_object() {
        return Err(wrong_type("map[string]interface {}", item));
    }
    item.get(merge_key)
        .ok_or_else(|| Error::NoMergeKey(plain(item), merge_key.to_owned()))
}
