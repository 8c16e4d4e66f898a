//! Ownership: what an apply or an update makes of the sets of all managers.

use std::borrow::Cow;

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::fields::{Emptied, field_set, remove_items, with_named_fields};
use super::managers::{Entry, Identity, Managers, Operation};
use super::merge::merge;
use super::reconcile::reconcile;
use super::typed::Shape;
use super::{Conflict, Context, Error};
use crate::fieldpath::Set;

/// What an apply asks for.
pub(super) struct Apply<'a> {
    pub(super) live: &'a Value,
    pub(super) config: &'a Value,
    pub(super) identity: Identity,
    pub(super) force: bool,
}

/// Merges a configuration and settles ownership.
///
/// Returns the new object, or `None` when it equals the live one.
pub(super) fn apply(
    ctx: &Context<'_>,
    apply: &Apply<'_>,
    managers: &mut Managers,
) -> Result<Option<Value>, Error> {
    reconcile_all(ctx, managers);
    let merged = merge(ctx.shape, apply.live, apply.config);
    let set = field_set(ctx.shape, apply.config).recursive_difference(ctx.reset_fields);
    let last = managers
        .find(&apply.identity)
        .map(|e| (e.api_version.clone(), e.set.clone()));
    let entry = Entry {
        identity: apply.identity.clone(),
        api_version: ctx.api_version.to_owned(),
        time: managers.find(&apply.identity).and_then(|e| e.time.clone()),
        set,
    };
    match managers.find_mut(&apply.identity) {
        Some(known) => *known = entry,
        None => managers.0.push(entry),
    }
    let pruned = match last {
        Some((version, last)) => prune(ctx, &merged, managers, &version, &last)?,
        None => None,
    };
    let (owned, stored) = match pruned {
        Some(pruned) => {
            // Merging again brings back maps and lists that the configuration wants empty.
            let stored = merge(ctx.shape, &pruned.stored, apply.config);
            (pruned.owned, Some(stored))
        }
        None => (merged, None),
    };
    let changes = settle(
        ctx,
        apply.live,
        &owned,
        managers,
        &apply.identity,
        apply.force,
    )?;
    let stored = stored.unwrap_or(owned);
    // Order and nulls of lists and maps may differ without any path having changed.
    let same = changes.is_same() && crate::fieldpath::same(apply.live, &stored);
    Ok((!same).then_some(stored))
}

/// Gives `identity` the paths that a write other than apply has changed.
pub(super) fn update(
    ctx: &Context<'_>,
    live: &Value,
    new: &Value,
    identity: &Identity,
    managers: &mut Managers,
) -> Result<Set, Error> {
    reconcile_all(ctx, managers);
    // Nobody is spared: what an updater had set before is taken from it and given back by the
    // caller, so that the entry's time says when it last changed something.
    let nobody = Identity {
        manager: String::new(),
        ..identity.clone()
    };
    let changes = settle(ctx, live, new, managers, &nobody, true)?;
    Ok(changes.modified.union(&changes.added))
}

/// Drops managers of versions that no longer exist and follows schema changes.
fn reconcile_all(ctx: &Context<'_>, managers: &mut Managers) {
    managers
        .0
        .retain_mut(|entry| match ctx.shape_of(&entry.api_version) {
            None => false,
            Some(shape) => {
                if let Some(set) = reconcile(shape, &entry.set) {
                    entry.set = set;
                }
                true
            }
        });
}

/// Takes what has changed from everybody but `keeper`, or refuses.
///
/// Returns the changes in the version of the request, without reset fields.
fn settle(
    ctx: &Context<'_>,
    live: &Value,
    new: &Value,
    managers: &mut Managers,
    keeper: &Identity,
    force: bool,
) -> Result<Comparison, Error> {
    let ours = compare(ctx.shape, live, new).without(ctx.reset_fields);
    let mut others: Vec<(String, Option<Comparison>)> = Vec::new();
    for entry in managers.0.iter().filter(|entry| entry.identity != *keeper) {
        let version = &entry.api_version;
        if version != ctx.api_version && !others.iter().any(|(known, _)| known == version) {
            others.push((version.clone(), compare_at(ctx, version, live, new)?));
        }
    }
    let changes_at = |version: &str| match version == ctx.api_version {
        true => Some(&ours),
        false => others
            .iter()
            .find(|(known, _)| known == version)?
            .1
            .as_ref(),
    };
    managers
        .0
        .retain(|e| e.identity == *keeper || changes_at(&e.api_version).is_some());
    let mut conflicts = Vec::new();
    let mut taken = Vec::new();
    for entry in managers.0.iter().filter(|entry| entry.identity != *keeper) {
        let Some(changes) = changes_at(&entry.api_version) else {
            continue;
        };
        let set = entry
            .set
            .intersection(&changes.modified)
            .union(&entry.set.intersection(&changes.added));
        if !force {
            conflicts.extend(
                set.paths()
                    .into_iter()
                    .map(|path| Conflict::new(entry, path)),
            );
        }
        let rest = entry.set.difference(&set).difference(&changes.removed);
        if rest != entry.set {
            taken.push((entry.identity.clone(), rest));
        }
    }
    if !conflicts.is_empty() {
        conflicts.sort_by_cached_key(|conflict| conflict.identity.sort_key());
        return Err(Error::Conflicts(conflicts));
    }
    for (identity, rest) in taken {
        if let Some(entry) = managers.find_mut(&identity) {
            entry.set = rest;
        }
    }
    managers.drop_empty();
    Ok(ours)
}

fn compare_at(
    ctx: &Context<'_>,
    version: &str,
    live: &Value,
    new: &Value,
) -> Result<Option<Comparison>, Error> {
    let Some(shape) = ctx.shape_of(version) else {
        return Ok(None);
    };
    let live = ctx.convert(live, version)?;
    let new = ctx.convert(new, version)?;
    Ok(live
        .zip(new)
        .map(|(live, new)| compare(shape, &live, &new).without(ctx.reset_fields)))
}

/// An object without what nobody wants any more.
struct Pruned {
    /// With nulls in the place of what became empty, which is how ownership sees it.
    owned: Value,
    /// Without them. Upstream stores the nulls; built-in kinds drop them later and custom
    /// resources would keep them.
    stored: Value,
}

/// Removes what this manager applied last time, no longer applies, and nobody else owns.
///
/// `None` when nothing is to be removed.
fn prune(
    ctx: &Context<'_>,
    merged: &Value,
    managers: &Managers,
    version: &str,
    last: &Set,
) -> Result<Option<Pruned>, Error> {
    // Owned paths are put back anyway, so that when all are owned nothing is pruned.
    let owned_here = managers
        .0
        .iter()
        .filter(|entry| entry.api_version == version);
    let orphans = owned_here.fold(last.clone(), |left, entry| left.difference(&entry.set));
    if orphans.is_empty() {
        return Ok(None);
    }
    let Some(shape) = ctx.shape_of(version) else {
        return Ok(None);
    };
    let Some(at_last) = ctx.convert(merged, version)? else {
        return Ok(None);
    };
    let last = with_named_fields(shape, last);
    let pruned = remove_items(shape, &at_last, &last, Emptied::Null);
    let pruned = add_back_owned(ctx, &at_last, pruned, managers, version)?;
    let Some(pruned) = ctx.convert(&pruned, version)? else {
        return Ok(None);
    };
    let gone = named_set(shape, &at_last)
        .difference(&named_set(shape, &pruned))
        .intersection(&last);
    let without = |emptied| {
        let object = remove_items(shape, &at_last, &gone, emptied);
        ctx.convert(&object, ctx.api_version)
            .map(|object| object.map(Cow::into_owned))
    };
    let both = without(Emptied::Null)?.zip(without(Emptied::Gone)?);
    Ok(both.map(|(owned, stored)| Pruned { owned, stored }))
}

/// Puts back what others own, the version of the pruned object first.
fn add_back_owned(
    ctx: &Context<'_>,
    merged: &Value,
    mut pruned: Value,
    managers: &Managers,
    version: &str,
) -> Result<Value, Error> {
    let mut versions: Vec<&str> = managers.0.iter().map(|e| e.api_version.as_str()).collect();
    versions.sort_by_key(|&v| (v != version, v.to_owned()));
    versions.dedup();
    let mut from = merged.clone();
    for version in versions {
        let Some(shape) = ctx.shape_of(version) else {
            continue;
        };
        let entries = managers
            .0
            .iter()
            .filter(|entry| entry.api_version == version);
        let owned = entries.fold(Set::new(), |owned, entry| owned.union(&entry.set));
        let converted = ctx
            .convert(&from, version)?
            .zip(ctx.convert(&pruned, version)?);
        let Some((merged, left)) = converted else {
            continue;
        };
        let keep = named_set(shape, &left).union(&with_named_fields(shape, &owned));
        let gone = named_set(shape, &merged).difference(&keep);
        let kept = remove_items(shape, &merged, &gone, Emptied::Null);
        (from, pruned) = (merged.into_owned(), kept);
    }
    Ok(pruned)
}

fn named_set(shape: Shape<'_>, object: &Value) -> Set {
    with_named_fields(shape, &field_set(shape, object))
}

impl Conflict {
    fn new(entry: &Entry, path: crate::fieldpath::Path) -> Self {
        Self {
            identity: entry.identity.clone(),
            time: entry.time.clone(),
            path,
        }
    }

    /// Name of the manager that owns the path.
    pub fn manager(&self) -> &str {
        &self.identity.manager
    }

    /// Subresource through which it was set, or empty.
    pub fn subresource(&self) -> &str {
        &self.identity.subresource
    }

    /// How the manager came to own the path.
    pub fn operation(&self) -> Operation {
        self.identity.operation
    }

    /// Version in which an updater set the path; empty for appliers.
    pub fn api_version(&self) -> &str {
        &self.identity.api_version
    }
}
