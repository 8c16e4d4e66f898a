//! Server-side apply: who owns which field, and what happens when two want the same one.
//!
//! [`apply`] lays a configuration over a live object: fields it names are set and owned, fields it
//! named last time and no longer names go away unless somebody else owns them, and fields that
//! others own and that would change are conflicts. [`track_update`] does the bookkeeping of all
//! other writes: what they change or add belongs to them from then on. Ownership is kept in
//! `metadata.managedFields`, one entry for each manager, operation, subresource and (for updates)
//! version.
//!
//! Everything is a function of its arguments; the time comes with the [`Context`].
//!
//! Source: structured-merge-diff v6.3 and Kubernetes v1.35, apimachinery `util/managedfields`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::fieldpath::{Path, Set};
use crate::names::ANNOTATIONS_BYTES_MAX;

pub use self::error::Error;
pub use self::managers::Operation;
pub use self::times::revert_times;
pub use self::typed::Shape;

use self::managers::{Identity, Managers};
use self::updater::{Apply, Outcome};
use self::validate::{Duplicates, validate};

mod compare;
mod error;
mod fields;
mod managers;
mod merge;
mod reconcile;
pub mod scale;
mod times;
mod typed;
mod updater;
mod validate;

/// The annotation in which client-side apply keeps what it applied.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Owner of fields that were there before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// The one manager for which [`LAST_APPLIED`] is looked after.
const KUBECTL: &str = "kubectl";

/// Everything about a write but the objects.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Shape of the object in the version of the request.
    pub shape: Shape<'a>,
    /// Version of the request, such as `apps/v1`.
    pub api_version: &'a str,
    /// Kind of the object.
    pub kind: &'a str,
    /// Field manager; empty means `unknown`.
    pub manager: &'a str,
    /// Subresource written through, or empty.
    pub subresource: &'a str,
    /// Whether an apply takes over what others own.
    pub force: bool,
    /// The time, RFC 3339 in UTC with whole seconds.
    pub now: &'a str,
    /// Paths that this endpoint never writes (`status` on the main one) and so nobody owns by it.
    pub reset_fields: &'a Set,
    /// The kind's other versions; `None` when there is only one.
    pub versions: Option<&'a dyn Versions>,
}

/// Other versions of a kind.
pub trait Versions {
    /// Shape of the object in `api_version`; `None` when that version does not exist (any more).
    fn shape(&self, api_version: &str) -> Option<Shape<'_>>;

    /// `object` in `api_version`; `None` when that version does not exist (any more).
    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<Value>, String>;
}

/// What an apply makes of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object with its new `managedFields`.
    pub object: Value,
    /// Whether it differs from the live one at all; if not, nothing is to be written.
    pub changed: bool,
}

/// A path that somebody else owns and the configuration would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    identity: Identity,
    /// When the owner last changed something.
    pub time: Option<String>,
    /// Where.
    pub path: Path,
}

/// Whether a configuration has only the fields of its kind, each with a value of its type and no item twice.
///
/// # Errors
/// All that is wrong, in one error.
pub fn check(config: &Value, shape: Shape<'_>, api_version: &str, kind: &str) -> Result<(), Error> {
    validate(shape, config, Duplicates::Refused).map_err(|text| Error::Typed {
        which: "patch",
        object: describe(config, api_version, kind),
        text,
    })
}

/// Applies `config` to `live`, which is `None` when the object is to be created.
///
/// Defaults are the caller's to set afterwards.
pub fn apply(live: Option<Value>, config: &Value, ctx: &Context<'_>) -> Result<Applied, Error> {
    check_kind(config, ctx)?;
    if config
        .pointer("/metadata/managedFields")
        .is_some_and(|entries| !entries.is_null())
    {
        return Err(Error::ManagedFieldsGiven);
    }
    let creates = live.is_none();
    let mut live = live.unwrap_or_else(|| Value::Object(Map::new()));
    let old_entries = take_managed_fields(&mut live);
    let mut managers = Managers::decode(&old_entries).map_err(Error::ManagedFields)?;
    check(config, ctx.shape, ctx.api_version, ctx.kind)?;
    validate(ctx.shape, &live, Duplicates::Allowed).map_err(|text| Error::Typed {
        which: "live",
        object: describe(&live, ctx.api_version, ctx.kind),
        text,
    })?;
    let untracked = managers.0.is_empty();
    if untracked {
        own_before_first_apply(&live, ctx, &mut managers)?;
    }
    let (outcome, mut managers) = merge_or_migrate(&live, &old_entries, config, ctx, managers)?;
    let identity = applier(ctx);
    let last = outcome.last.as_ref().map(|(version, set)| (version, set));
    let owned = managers
        .find(&identity)
        .map(|entry| (&entry.api_version, &entry.set));
    let owners_changed = creates || untracked || outcome.others_changed || last != owned;
    let changed = outcome.object.is_some() || creates;
    let mut object = outcome.object.unwrap_or(live);
    let annotated = ctx.manager == KUBECTL && update_last_applied(&mut object, config);
    if !owners_changed && !changed {
        // Nothing to encode: the entries are what they were.
        put_managed_fields(
            &mut object,
            Some(old_entries).filter(|entries| !entries.is_null()),
        );
        return Ok(Applied {
            object,
            changed: annotated,
        });
    }
    if changed && let Some(entry) = managers.find_mut(&identity) {
        entry.time = Some(ctx.now.to_owned());
    }
    let entries = managers.encode();
    let same_entries = entries.as_ref().unwrap_or(&Value::Null) == &old_entries;
    put_managed_fields(&mut object, entries);
    Ok(Applied {
        object,
        changed: changed || annotated || !same_entries,
    })
}

/// Notes in `new` that the writer owns what differs from `live`.
///
/// `live` is `None` for a creation. The request may replace `managedFields` (and reset them by
/// `[]` or `[{}]`) except through subresources; what does not parse is ignored.
pub fn track_update(live: Option<&Value>, new: Value, ctx: &Context<'_>) -> Value {
    match live {
        Some(live) => track(Some(live), live, new, ctx),
        None => track_creation(&Value::Object(Map::new()), new, ctx),
    }
}

/// [`track_update`] of an object that did not exist. `blank` is what an object of the kind is before anything is in it; what it
/// has already is owned by nobody.
pub fn track_creation(blank: &Value, new: Value, ctx: &Context<'_>) -> Value {
    track(None, blank, new, ctx)
}

fn track(live: Option<&Value>, old: &Value, mut new: Value, ctx: &Context<'_>) -> Value {
    let asked = take_managed_fields(&mut new);
    let mut managers = managers_before_update(live, &asked, ctx).unwrap_or_default();
    if managers.0.is_empty() && live.is_some() {
        // An object that nobody tracks stays that way until something is applied to it.
        return new;
    }
    let tracked = validate(ctx.shape, old, Duplicates::Allowed).is_ok()
        && validate(ctx.shape, &new, Duplicates::Allowed).is_ok()
        && take_changes(ctx, old, &new, &mut managers).is_ok();
    if tracked {
        put_managed_fields(&mut new, managers.encode());
    }
    new
}

/// Who owns what before an update, from the request or else the live object.
fn managers_before_update(
    live: Option<&Value>,
    asked: &Value,
    ctx: &Context<'_>,
) -> Option<Managers> {
    if ctx.subresource.is_empty() {
        let resets = match asked {
            Value::Array(entries) => match entries.as_slice() {
                [] => true,
                [Value::Object(only)] => only.is_empty(),
                _ => false,
            },
            _ => false,
        };
        if resets {
            return None;
        }
        if let Ok(managers) = Managers::decode(asked)
            && !managers.0.is_empty()
        {
            return Some(managers);
        }
    }
    Managers::decode(live?.pointer("/metadata/managedFields")?).ok()
}

/// Gives the changes from `live` to `new` to the updater of `ctx`.
fn take_changes(
    ctx: &Context<'_>,
    live: &Value,
    new: &Value,
    managers: &mut Managers,
) -> Result<(), Error> {
    let updater = Identity::new(
        ctx.manager,
        Operation::Update,
        ctx.api_version,
        ctx.subresource,
    );
    let mut set = updater::update(ctx, live, new, &updater, managers)?;
    set.subtract(stripped());
    if !set.is_empty() {
        let time = Some(ctx.now.to_owned());
        match managers.find_mut(&updater) {
            Some(entry) => {
                entry.set = entry.set.union(&set);
                entry.time = time;
            }
            None => managers.0.push(managers::Entry {
                identity: updater,
                api_version: ctx.api_version.to_owned(),
                time,
                set,
            }),
        }
    }
    managers.cap_updaters();
    Ok(())
}

/// Notes that all of an object nobody tracked was there before the first apply.
fn own_before_first_apply(
    live: &Value,
    ctx: &Context<'_>,
    managers: &mut Managers,
) -> Result<(), Error> {
    let empty = Value::Object(Map::new());
    let ctx = Context {
        manager: BEFORE_FIRST_APPLY,
        ..*ctx
    };
    take_changes(&ctx, &empty, live, managers)
}

/// Applies; when kubectl's client-side apply set all fields in conflict, takes them over.
///
/// `old_entries` are what `managers` were read from.
fn merge_or_migrate(
    live: &Value,
    old_entries: &Value,
    config: &Value,
    ctx: &Context<'_>,
    managers: Managers,
) -> Result<(Outcome, Managers), Error> {
    let run = |mut managers: Managers, force: bool| {
        let request = Apply {
            live,
            config,
            identity: applier(ctx),
            force,
        };
        let outcome = updater::apply(ctx, &request, &mut managers)?;
        if let Some(entry) = managers.find_mut(&request.identity) {
            entry.set.subtract(stripped());
        }
        managers.drop_empty();
        Ok((outcome, managers))
    };
    let conflicts = match run(managers, ctx.force) {
        Err(Error::Conflicts(conflicts)) if ctx.manager == KUBECTL && !ctx.force => conflicts,
        result => return result,
    };
    let Some(allowed) = last_applied_set(live, ctx) else {
        return Err(Error::Conflicts(conflicts));
    };
    let mut left = conflicts;
    left.retain(|conflict| !allowed.has(&conflict.path.0));
    if !left.is_empty() {
        return Err(Error::Conflicts(left));
    }
    // The first attempt has changed the managers; to read them again is rarer than to keep a copy.
    let mut managers = Managers::decode(old_entries).map_err(Error::ManagedFields)?;
    if managers.0.is_empty() {
        own_before_first_apply(live, ctx, &mut managers)?;
    }
    run(managers, true)
}

/// The paths that client-side apply set and that still have the values it set.
fn last_applied_set(live: &Value, ctx: &Context<'_>) -> Option<Set> {
    let text = live
        .get("metadata")?
        .get("annotations")?
        .get(LAST_APPLIED)?
        .as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    if last.get("apiVersion")?.as_str()? != ctx.api_version {
        return None;
    }
    validate(ctx.shape, live, Duplicates::Refused).ok()?;
    validate(ctx.shape, &last, Duplicates::Refused).ok()?;
    let changes = compare::compare(ctx.shape, &last, live);
    let set = fields::field_set(ctx.shape, &last);
    Some(
        set.difference(&changes.modified)
            .difference(&changes.added)
            .difference(&changes.removed),
    )
}

/// Replaces the annotation of client-side apply, if there is one, by what was applied.
///
/// Says whether that changed anything.
fn update_last_applied(object: &mut Value, config: &Value) -> bool {
    let annotations = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut);
    let Some(annotations) = annotations else {
        return false;
    };
    let known = annotations
        .get(LAST_APPLIED)
        .and_then(Value::as_str)
        .unwrap_or_default();
    if known.is_empty() {
        return false;
    }
    let mut config = config.clone();
    if let Some(given) = config
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        given.remove(LAST_APPLIED);
    }
    let text = format!("{}\n", crate::quote::json(&config));
    let changed = known != text;
    annotations.insert(LAST_APPLIED.into(), text.into());
    let bytes: usize = annotations
        .iter()
        .map(|(k, v)| k.len() + v.as_str().map_or(0, str::len))
        .sum();
    if bytes > ANNOTATIONS_BYTES_MAX {
        annotations.remove(LAST_APPLIED);
    }
    changed
}

/// Paths that identify an object or belong to the server, so that nobody owns them.
fn stripped() -> &'static Set {
    static STRIPPED: std::sync::LazyLock<Set> = std::sync::LazyLock::new(|| {
        let metadata = [
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        ];
        let root = ["apiVersion", "kind", "metadata"].map(|name| Path::fields(&[name]));
        let inner = metadata.map(|name| Path::fields(&["metadata", name]));
        Set::from_paths(root.into_iter().chain(inner))
    });
    &STRIPPED
}

fn applier(ctx: &Context<'_>) -> Identity {
    Identity::new(
        ctx.manager,
        Operation::Apply,
        ctx.api_version,
        ctx.subresource,
    )
}

fn check_kind(config: &Value, ctx: &Context<'_>) -> Result<(), Error> {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") == ctx.api_version && text("kind") == ctx.kind {
        return Ok(());
    }
    Err(Error::WrongKind(group_version_kind(
        text("apiVersion"),
        text("kind"),
    )))
}

/// `apps/v1, Kind=Deployment`, or `/v1, Kind=Pod` for the legacy group.
fn group_version_kind(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

/// `namespace/name; group/version, Kind=Kind`, as upstream's errors name an object.
fn describe(object: &Value, api_version: &str, kind: &str) -> String {
    let text = |name: &str| {
        object
            .get("metadata")
            .and_then(|m| m.get(name))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let gvk = group_version_kind(api_version, kind);
    format!("{}/{}; {gvk}", text("namespace"), text("name"))
}

/// Cuts `metadata.managedFields` out of an object.
fn take_managed_fields(object: &mut Value) -> Value {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    metadata
        .and_then(|map| map.remove("managedFields"))
        .unwrap_or_default()
}

fn put_managed_fields(object: &mut Value, entries: Option<Value>) {
    let (Some(entries), Value::Object(map)) = (entries, object) else {
        return;
    };
    let metadata = map
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert("managedFields".into(), entries);
    }
}

// === impl Context ===

impl Context<'_> {
    /// Shape of the object in `api_version`.
    fn shape_of(&self, api_version: &str) -> Option<Shape<'_>> {
        match api_version == self.api_version {
            true => Some(self.shape),
            false => self.versions?.shape(api_version),
        }
    }

    /// `object`, in whatever version it says it is, in `api_version`.
    fn convert<'v>(
        &self,
        object: &'v Value,
        api_version: &str,
    ) -> Result<Option<Cow<'v, Value>>, Error> {
        let current = object.get("apiVersion").and_then(Value::as_str);
        if current.unwrap_or(self.api_version) == api_version {
            return Ok(Some(Cow::Borrowed(object)));
        }
        let Some(versions) = self.versions else {
            return Ok(None);
        };
        let converted = versions
            .convert(object, api_version)
            .map_err(Error::Convert)?;
        Ok(converted.map(Cow::Owned))
    }
}

#[cfg(test)]
mod tests;
