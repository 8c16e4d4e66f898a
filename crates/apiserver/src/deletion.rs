//! What deleting an object does: mark it, keep it, or remove it.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/registry/rest/delete.go` and
//! `pkg/registry/generic/registry/store.go`.

use flotilla_machinery::{group::GroupResource, status::Status};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    decode::shape,
    meta,
    params::DeleteOptions,
    registry::{Context, Propagation},
};

/// Finalizer that lets dependents lose their owner.
pub const ORPHAN: &str = "orphan";
/// Finalizer that keeps an object until its dependents are gone.
pub const FOREGROUND: &str = "foregroundDeletion";

/// What to do with an object that a client deletes.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Take it out of the store.
    Remove,
    /// Store this: marked as deleted, waiting for its grace period or finalizers.
    Mark(Value),
    /// Store this, marked as deleted, and take it out then: watches see both.
    MarkAndRemove(Value),
    /// It is on its way already; answer with it as it is.
    Keep,
}

/// Decides what DELETE does to `object`.
///
/// # Errors
/// 409 when a precondition does not hold; whatever the kind's rules refuse.
pub fn decide(
    cx: &Context<'_>,
    object: &Value,
    options: &DeleteOptions,
) -> Result<Verdict, Status> {
    check_preconditions(cx, object, options)?;
    let strategy = &cx.resource.strategy;
    strategy.check_delete(cx, object)?;
    let mut marked = object.clone();
    set_propagation(cx, &mut marked, options);
    let requested = options
        .grace_period_seconds
        .map(|s| if s < 0 { 1 } else { s });
    let grace = strategy.grace(object, requested);
    let deleting = meta::is_deleting(object);
    let held = !meta::finalizers(&marked).is_empty() || strategy.is_held(&marked);
    match grace {
        Some(seconds) if deleting => {
            return Ok(shorten(object, marked, seconds, requested, cx.now, held));
        }
        Some(seconds) => {
            mark(cx, &mut marked, seconds);
            return Ok(last_or_not(marked, seconds, held));
        }
        None => {}
    }
    if !held {
        return Ok(Verdict::Remove);
    }
    if !deleting {
        mark(cx, &mut marked, 0);
    }
    Ok(if marked == *object {
        Verdict::Keep
    } else {
        Verdict::Mark(marked)
    })
}

/// Whether an update leaves a deleted object with nothing to wait for, so that it goes now.
pub fn is_over(cx: &Context<'_>, object: &Value) -> bool {
    let grace = object
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64);
    meta::is_deleting(object)
        && grace.unwrap_or(0) == 0
        && meta::finalizers(object).is_empty()
        && !cx.resource.strategy.is_held(object)
}

fn check_preconditions(
    cx: &Context<'_>,
    object: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    // Upstream names the kind here, where other conflicts name the resource.
    let kind = GroupResource::new(&*cx.resource.storage.group, &*cx.resource.kind);
    let name = meta::text(object, "name");
    let mismatch = |what: &str, wanted: &str, found: &str, guess: &str| {
        if &*cx.resource.plural == "namespaces" {
            // Their storage checks by itself, in its own words.
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
            );
            return Err(Status::conflict(
                &GroupResource::new("", "namespaces"),
                name,
                why,
            ));
        }
        let why = format!(
            "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). The object might \
             have been {guess}"
        );
        Err(Status::conflict(&kind, name, why))
    };
    let uid = meta::text(object, "uid");
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
        return mismatch("UID", wanted, uid, "deleted and then recreated");
    }
    let version = meta::text(object, "resourceVersion");
    match options
        .resource_version
        .as_deref()
        .filter(|wanted| *wanted != version)
    {
        Some(wanted) => mismatch("ResourceVersion", wanted, version, "modified"),
        None => Ok(()),
    }
}

/// Adds or removes the two garbage-collection finalizers: an explicit option beats a finalizer that
/// is there, which beats the kind's default.
fn set_propagation(cx: &Context<'_>, object: &mut Value, options: &DeleteOptions) {
    if !cx.resource.strategy.supports_garbage_collection() {
        return;
    }
    let before = meta::finalizers(object);
    let asked = options.propagation.or(match options.orphan_dependents {
        Some(true) => Some(Propagation::Orphan),
        Some(false) => Some(Propagation::Background),
        None => None,
    });
    let policy = asked.unwrap_or_else(|| match () {
        () if before.contains(&ORPHAN) => Propagation::Orphan,
        () if before.contains(&FOREGROUND) => Propagation::Foreground,
        () => cx.resource.strategy.default_propagation(),
    });
    let wanted = match policy {
        Propagation::Background => None,
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Orphan => Some(ORPHAN),
    };
    let mut after: Vec<&str> = before
        .iter()
        .copied()
        .filter(|f| ![ORPHAN, FOREGROUND].contains(f) || Some(*f) == wanted)
        .collect();
    after.extend(wanted.filter(|wanted| !before.contains(wanted)));
    if after == before {
        return;
    }
    let after = json!(after);
    let metadata = meta::fields_mut(object);
    if after == json!([]) {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), after);
    }
}

fn mark(cx: &Context<'_>, object: &mut Value, grace_seconds: i64) {
    let generation = object
        .pointer("/metadata/generation")
        .and_then(Value::as_i64);
    let metadata = meta::fields_mut(object);
    let at = after(cx.now, grace_seconds);
    metadata.insert("deletionTimestamp".to_owned(), shape::seconds(at).into());
    // Namespaces wait for their content, not for a time.
    if &*cx.resource.plural != "namespaces" {
        let seconds = grace_seconds.into();
        metadata.insert("deletionGracePeriodSeconds".to_owned(), seconds);
    }
    if let Some(generation) = generation {
        metadata.insert("generation".to_owned(), (generation + 1).into());
    }
    cx.resource.strategy.mark_deleted(object);
}

/// A repeated delete may only bring the end nearer.
fn shorten(
    object: &Value,
    mut marked: Value,
    seconds: i64,
    requested: Option<i64>,
    now: Timestamp,
    held: bool,
) -> Verdict {
    let left = object
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64);
    let left = left.unwrap_or(0);
    if requested.is_some() && seconds < left {
        // The new end counts from the first delete, but never lies in the past.
        let end = meta::text(object, "deletionTimestamp")
            .parse::<Timestamp>()
            .unwrap_or(now);
        let start = after(end, -left);
        let end = after(start, seconds).max(now);
        let metadata = meta::fields_mut(&mut marked);
        metadata.insert("deletionTimestamp".to_owned(), shape::seconds(end).into());
        metadata.insert("deletionGracePeriodSeconds".to_owned(), seconds.into());
        return last_or_not(marked, seconds, held);
    }
    if left == 0 && !held {
        return Verdict::Remove;
    }
    if marked == *object {
        Verdict::Keep
    } else {
        Verdict::Mark(marked)
    }
}

fn last_or_not(marked: Value, seconds: i64, held: bool) -> Verdict {
    if seconds > 0 || held {
        Verdict::Mark(marked)
    } else {
        Verdict::MarkAndRemove(marked)
    }
}

fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(time)
}

#[cfg(test)]
mod tests;
