//! Ownership: what an apply or an update makes of the sets of all managers.

use std::borrow::Cow;
use std::mem;

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

/// What an apply makes of an object and its owners.
pub(super) struct Outcome {
    /// The new object, or `None` when it equals the live one.
    pub(super) object: Option<Value>,
    /// What the applier owned before, and in which version.
    pub(super) last: Option<(String, Set)>,
    /// Whether entries other than the applier's have changed.
    pub(super) others_changed: bool,
}

/// Merges a configuration and settles ownership.
pub(super) fn apply(
    ctx: &Context<'_>,
    apply: &Apply<'_>,
    managers: &mut Managers,
) -> Result<Outcome, Error> {
    let mut others_changed = reconcile_all(ctx, managers);
    let merged = match merge(ctx.shape, apply.live, apply.config) {
        Some(merged) => Cow::Owned(merged),
        None => Cow::Borrowed(apply.live),
    };
    let mut set = field_set(ctx.shape, apply.config);
    set.subtract_recursive(ctx.reset_fields);
    let version = ctx.api_version.to_owned();
    let last = match managers.find_mut(&apply.identity) {
        Some(known) => {
            let last = (
                mem::replace(&mut known.api_version, version),
                mem::take(&mut known.set),
            );
            known.set = set;
            Some(last)
        }
        None => {
            let identity = apply.identity.clone();
            managers.0.push(Entry {
                identity,
                api_version: version,
                time: None,
                set,
            });
            None
        }
    };
    let pruned = match &last {
        Some((version, last)) => prune(ctx, &merged, managers, version, last)?,
        None => None,
    };
    let (owned, stored) = match pruned {
        Some(pruned) => {
            // Merging again brings back maps and lists that the configuration wants empty.
            let stored = merge(ctx.shape, &pruned.stored, apply.config);
            (
                Cow::Owned(pruned.owned),
                Some(stored.unwrap_or(pruned.stored)),
            )
        }
        None => (merged, None),
    };
    let (changes, taken) = settle(
        ctx,
        apply.live,
        &owned,
        managers,
        &apply.identity,
        apply.force,
    )?;
    others_changed |= taken;
    let stored = match stored {
        Some(stored) => Some(stored),
        None => match owned {
            Cow::Owned(owned) => Some(owned),
            Cow::Borrowed(_) => None,
        },
    };
    // Order and nulls of lists and maps may differ without any path having changed.
    let is_new = |stored: &Value| !changes.is_same() || !crate::fieldpath::same(apply.live, stored);
    Ok(Outcome {
        object: stored.filter(is_new),
        last,
        others_changed,
    })
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
    let (changes, _) = settle(ctx, live, new, managers, &nobody, true)?;
    Ok(changes.modified.union(&changes.added))
}

/// Drops managers of versions that no longer exist and follows schema changes.
///
/// Says whether there was anything to do.
fn reconcile_all(ctx: &Context<'_>, managers: &mut Managers) -> bool {
    let n_before = managers.0.len();
    let mut changed = false;
    managers.0.retain_mut(|entry| {
        let Some(shape) = ctx.shape_of(&entry.api_version) else {
            return false;
        };
        if let Some(set) = reconcile(shape, &entry.set) {
            entry.set = set;
            changed = true;
        }
        true
    });
    changed || managers.0.len() != n_before
}

/// What differs in one version, in the form in which owners lose it.
struct Changes {
    /// Added or modified: whoever owns these is in conflict.
    touched: Set,
    removed: Set,
}

/// Takes what has changed from everybody but `keeper`, or refuses.
///
/// Returns the changes in the version of the request, without reset fields, and whether anybody
/// lost anything.
fn settle(
    ctx: &Context<'_>,
    live: &Value,
    new: &Value,
    managers: &mut Managers,
    keeper: &Identity,
    force: bool,
) -> Result<(Comparison, bool), Error> {
    let ours = compare(ctx.shape, live, new).without(ctx.reset_fields);
    let touched = ours.modified.union(&ours.added);
    let mut versions = vec![(
        ctx.api_version.to_owned(),
        Some(Changes {
            touched,
            removed: ours.removed.clone(),
        }),
    )];
    for entry in managers.0.iter().filter(|entry| entry.identity != *keeper) {
        let version = &entry.api_version;
        if !versions.iter().any(|(known, _)| known == version) {
            let changes = compare_at(ctx, version, live, new)?.map(|changes| Changes {
                touched: changes.modified.union(&changes.added),
                removed: changes.removed,
            });
            versions.push((version.clone(), changes));
        }
    }
    let changes_in = |version: &str| {
        let (_, changes) = versions.iter().find(|(known, _)| known == version)?;
        changes.as_ref()
    };
    let n_before = managers.0.len();
    managers
        .0
        .retain(|e| e.identity == *keeper || changes_in(&e.api_version).is_some());
    let mut conflicts = Vec::new();
    let mut lost = Vec::new();
    for (at, entry) in managers.0.iter().enumerate() {
        let changes = changes_in(&entry.api_version).filter(|_| entry.identity != *keeper);
        let Some(changes) = changes else { continue };
        let touched = entry.set.intersection(&changes.touched);
        if !force {
            let paths = touched.paths().into_iter();
            conflicts.extend(paths.map(|path| Conflict::new(entry, path)));
        }
        let gone = touched.union(&entry.set.intersection(&changes.removed));
        if !gone.is_empty() {
            lost.push((at, gone));
        }
    }
    if !conflicts.is_empty() {
        conflicts.sort_by_cached_key(|conflict| conflict.identity.sort_key());
        return Err(Error::Conflicts(conflicts));
    }
    let taken = !lost.is_empty();
    for (at, gone) in lost {
        managers.0[at].set.subtract(&gone);
    }
    managers.drop_empty();
    Ok((ours, taken || managers.0.len() != n_before))
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
    let mut orphans = Cow::Borrowed(last);
    for entry in owned_here {
        orphans = Cow::Owned(orphans.difference(&entry.set));
    }
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
    let all = named_set(shape, &at_last);
    let pruned = remove_items(shape, &at_last, &last, Emptied::Null);
    let pruned = add_back_owned(ctx, (&at_last, &all), pruned, managers, version)?;
    let Some(pruned) = ctx.convert(&pruned, version)? else {
        return Ok(None);
    };
    let gone = all
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
///
/// `merged` comes with all its paths, which the caller needs as well.
fn add_back_owned(
    ctx: &Context<'_>,
    (merged, all): (&Value, &Set),
    mut pruned: Value,
    managers: &Managers,
    pruned_version: &str,
) -> Result<Value, Error> {
    let mut versions: Vec<&str> = managers.0.iter().map(|e| e.api_version.as_str()).collect();
    versions.sort_by_key(|&v| (v != pruned_version, v.to_owned()));
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
        let gone = match version == pruned_version {
            true => all.difference(&keep),
            false => named_set(shape, &merged).difference(&keep),
        };
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
