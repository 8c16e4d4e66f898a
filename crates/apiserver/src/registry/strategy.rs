//! The rules of a kind: defaults, what a write may touch, validity, deletion.
//!
//! Handlers call the hooks in a fixed order and know nothing about kinds:
//!
//! - create: `fill_defaults`, `prepare_create`, `allocate`, `validate_create`
//! - update and patch: `fill_defaults`, `prepare_update`, `allocate`, `validate_update`
//! - delete: `check_delete`, then `grace`, finalizers and propagation
//!
//! Objects arrive in the version of the endpoint, complete (`apiVersion`, `kind`, `metadata`).
//! Every hook has a default, which is right for kinds without special rules; an override usually
//! calls the function of [`generic`] first. Hooks are pure; only `allocate` may look at the store.

use flotilla_machinery::status::{FieldError, Status};
use jiff::Timestamp;
use serde_json::Value;

use super::Resource;
use crate::{access::Identity, store::State};

/// What a hook may know besides the object.
pub struct Context<'a> {
    /// The endpoint's resource.
    pub resource: &'a Resource,
    /// Subresource, or empty for the main endpoint.
    pub subresource: &'a str,
    /// Time of the request.
    pub now: Timestamp,
    /// Random bits, for names and addresses; a fresh value per attempt.
    pub entropy: u64,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// Who asks.
    pub user: &'a Identity,
    /// The store at the moment the write was prepared. The commit fails, and the write is prepared
    /// anew, when the object itself changed since; other objects may change unnoticed.
    pub state: &'a State,
}

/// A field that field selectors may use, besides `metadata.name` and `metadata.namespace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableField {
    /// What clients write, such as `spec.nodeName`.
    pub label: Box<str>,
    /// JSON path as dotted names; the same as the label for most.
    pub path: Box<str>,
    /// What an absent field stands for.
    pub default: Box<str>,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The garbage collector deletes them afterwards.
    Background,
    /// The object stays until they are gone.
    Foreground,
    /// They stay and lose the owner reference.
    Orphan,
}

/// The rules of a kind. See the module's text for the order of calls.
pub trait Strategy: Send + Sync {
    /// Fills in what the client left out. Called on every decoded body and patch result.
    fn fill_defaults(&self, object: &mut Value) {
        let _ = object;
    }

    /// Clears what a client must not set on creation and sets the first generation.
    fn prepare_create(&self, cx: &Context<'_>, object: &mut Value) {
        generic::prepare_create(cx, object);
    }

    /// Restores what this endpoint must not change, and counts the generation up when the desired
    /// state differs. `cx.subresource` says which endpoint.
    fn prepare_update(&self, cx: &Context<'_>, new: &mut Value, old: &Value) {
        generic::prepare_update(cx, new, old);
    }

    /// Assigns what only the server knows: cluster addresses, node ports, token mounts. Runs before
    /// validation. `old` is absent on creation.
    ///
    /// # Errors
    /// A refusal, such as an exhausted range.
    fn allocate(
        &self,
        cx: &Context<'_>,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let _ = (cx, object, old);
        Ok(())
    }

    /// Whether [`Self::allocate`] hands out what there is only once (addresses, names), so that
    /// writes of the kind happen one after the other.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Mistakes in a new object; `metadata` was checked by the caller, with [`Self::check_name`].
    fn validate_create(&self, cx: &Context<'_>, object: &Value) -> Vec<FieldError> {
        let _ = (cx, object);
        Vec::new()
    }

    /// Mistakes in a changed object; `metadata` was checked by the caller.
    fn validate_update(&self, cx: &Context<'_>, new: &Value, old: &Value) -> Vec<FieldError> {
        let _ = old;
        if cx.subresource.is_empty() {
            self.validate_create(cx, new)
        } else {
            Vec::new()
        }
    }

    /// Remarks for the client that do not stop the write; one `Warning` header each.
    fn warnings(&self, cx: &Context<'_>, object: &Value, old: Option<&Value>) -> Vec<String> {
        let _ = (cx, object, old);
        Vec::new()
    }

    /// What is wrong with `name`, as upstream words it. `prefix` is true for a `generateName`,
    /// which may end in a dash. The default wants a DNS subdomain.
    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        generic::check_subdomain(name, prefix)
    }

    /// Whether an object without a name, and without a `generateName`, is called by a fresh UUID.
    fn names_itself(&self) -> bool {
        false
    }

    /// Whether finalizers without a domain must be among Kubernetes' own.
    fn qualifies_finalizers(&self) -> bool {
        false
    }

    /// Field paths (fieldpath notation, such as `["status"]`) that server-side apply and manager
    /// tracking ignore at an endpoint, because the endpoint resets them.
    fn reset_fields(&self, cx: &Context<'_>) -> Vec<Vec<&'static str>> {
        generic::reset_fields(cx)
    }

    /// Fields for field selectors, besides name and namespace.
    fn selectable_fields(&self) -> &[SelectableField] {
        &[]
    }

    /// The value of a selectable field.
    fn selectable_value(&self, object: &Value, field: &SelectableField) -> String {
        match value_at(object, &field.path) {
            None | Some(Value::Null) => field.default.to_string(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// An annotation that stands for a field of upstream's internal version, so that Tables and metadata-only answers, which are
    /// made from that, do not show it.
    fn hidden_annotation(&self) -> Option<&'static str> {
        None
    }

    /// What deletion does to dependents when the client does not say.
    fn default_propagation(&self) -> Propagation {
        Propagation::Background
    }

    /// Whether the garbage collector works on the kind; then `orphan` and `foregroundDeletion`
    /// finalizers make sense.
    fn supports_garbage_collection(&self) -> bool {
        true
    }

    /// A refusal to delete this object at all, such as an immortal namespace.
    ///
    /// # Errors
    /// The refusal.
    fn check_delete(&self, cx: &Context<'_>, object: &Value) -> Result<(), Status> {
        let _ = (cx, object);
        Ok(())
    }

    /// Seconds the object keeps running after a delete, given what the client asked for; `None`
    /// for kinds that are removed at once.
    fn grace(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        let _ = (object, requested);
        None
    }

    /// Changes an object at the moment it is marked as deleted (a namespace's phase).
    fn mark_deleted(&self, object: &mut Value) {
        let _ = object;
    }

    /// Whether something besides `metadata.finalizers` keeps a deleted object alive (a namespace's
    /// `spec.finalizers`).
    fn is_held(&self, object: &Value) -> bool {
        let _ = object;
        false
    }

    /// Whether DELETE answers with the removed object instead of a `Status`.
    fn returns_deleted(&self) -> bool {
        false
    }

    /// Whether PUT may leave out `metadata.resourceVersion`.
    fn allows_unconditional_update(&self) -> bool {
        true
    }

    /// Whether PUT of an absent object creates it.
    fn allows_create_on_update(&self) -> bool {
        false
    }

    /// Rewrites a stored object into the version of this row ([`super::Conversion::Rewrite`]).
    fn read_stored(&self, object: &mut Value) {
        let _ = object;
    }

    /// Rewrites an object of this row's version into the stored one.
    fn write_stored(&self, object: &mut Value) {
        let _ = object;
    }
}

/// A kind without special rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Generic;

impl Strategy for Generic {}

impl SelectableField {
    /// A field whose label is its path and which is empty when absent.
    pub fn new(label: &str) -> Self {
        Self {
            label: label.into(),
            path: label.into(),
            default: "".into(),
        }
    }
}

/// The value at a dotted path of object fields.
pub fn value_at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .filter(|p| !p.is_empty())
        .try_fold(object, |at, name| at.get(name))
}

/// What the default hooks do, for overrides to call.
pub mod generic {
    use std::borrow::Cow;

    use flotilla_machinery::names;
    use serde_json::{Map, Value, json};

    use super::Context;

    /// Drops `status` when it has its own endpoint, and sets generation 1.
    pub fn prepare_create(cx: &Context<'_>, object: &mut Value) {
        let Some(fields) = object.as_object_mut() else {
            return;
        };
        if cx.resource.has_status {
            fields.remove("status");
        }
        let metadata = metadata_mut(fields);
        if cx.resource.tracks_generation {
            metadata.insert("generation".to_owned(), json!(1));
        }
    }

    /// On the main endpoint the old status is kept; on `status` everything but status and the
    /// client's part of the metadata is. The generation goes up by one when anything outside
    /// `metadata` and `status` differs.
    pub fn prepare_update(cx: &Context<'_>, new: &mut Value, old: &Value) {
        let Some(fields) = new.as_object_mut() else {
            return;
        };
        match cx.subresource {
            "" if cx.resource.has_status => restore(fields, old, "status"),
            "" => {}
            "status" => keep_all_but_status(fields, old, cx.resource.custom.is_some()),
            _ => {}
        }
        let before = old.pointer("/metadata/generation").and_then(Value::as_i64);
        let metadata = metadata_mut(fields);
        match before {
            Some(generation) => metadata.insert("generation".to_owned(), json!(generation)),
            None => metadata.remove("generation"),
        };
        // A scheduler's choice is no wish of the pod's owner.
        let counts = cx.resource.tracks_generation && cx.subresource != "binding";
        if counts && desired_state_differs(cx, new, old) {
            count_generation(new, old);
        }
    }

    /// The generation after `old`'s.
    pub fn count_generation(new: &mut Value, old: &Value) {
        let before = old.pointer("/metadata/generation").and_then(Value::as_i64);
        new["metadata"]["generation"] = json!(before.unwrap_or(0) + 1);
    }

    /// Whether anything outside `metadata` and `status` differs. Built-in kinds do not tell an empty list from none.
    fn desired_state_differs(cx: &Context<'_>, new: &Value, old: &Value) -> bool {
        let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
            return false;
        };
        let differ = |new: Option<&Value>, old: Option<&Value>| match cx.resource.custom {
            Some(_) => new != old,
            None => !same_desire(new.unwrap_or(&Value::Null), old.unwrap_or(&Value::Null)),
        };
        let desired = |name: &&String| {
            !matches!(name.as_str(), "metadata" | "status" | "apiVersion" | "kind")
        };
        let gone = old.keys().filter(|name| !new.contains_key(*name));
        let mut names = new.keys().chain(gone).filter(desired);
        names.any(|name| differ(new.get(name), old.get(name)))
    }

    /// Whether two values mean the same to a built-in kind.
    pub fn same_desire(new: &Value, old: &Value) -> bool {
        match (new, old) {
            (Value::Null, Value::Array(items)) | (Value::Array(items), Value::Null) => {
                items.is_empty()
            }
            (Value::Array(new), Value::Array(old)) => {
                new.len() == old.len() && new.iter().zip(old).all(|(n, o)| same_desire(n, o))
            }
            (Value::Object(new), Value::Object(old)) => {
                // Each member once: twice would double with every level.
                let kept = |(name, new)| same_desire(new, old.get(name).unwrap_or(&Value::Null));
                let mut gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
                new.iter().all(kept) && gone.all(|(_, old)| same_desire(&Value::Null, old))
            }
            (new, old) => new == old,
        }
    }

    /// `status` on the main endpoint of a kind that has one; everything but `status` on that.
    pub fn reset_fields(cx: &Context<'_>) -> Vec<Vec<&'static str>> {
        match cx.subresource {
            "" if cx.resource.has_status => vec![vec!["status"]],
            // A status write to a custom resource cannot touch metadata either.
            "status" if cx.resource.custom.is_some() => vec![vec!["spec"], vec!["metadata"]],
            "status" => vec![vec!["spec"]],
            _ => Vec::new(),
        }
    }

    /// What is wrong with a DNS subdomain; a prefix may end in a dash.
    pub fn check_subdomain(name: &str, prefix: bool) -> Vec<String> {
        names::dns1123_subdomain(&masked(name, prefix))
    }

    /// What is wrong with a DNS label; a prefix may end in a dash.
    pub fn check_label(name: &str, prefix: bool) -> Vec<String> {
        names::dns1123_label(&masked(name, prefix))
    }

    /// A prefix may end in a dash, because a suffix will follow.
    fn masked(name: &str, prefix: bool) -> Cow<'_, str> {
        if prefix {
            names::as_prefix(name)
        } else {
            name.into()
        }
    }

    /// Puts the old value of a field back, or removes it.
    pub fn restore(fields: &mut Map<String, Value>, old: &Value, name: &str) {
        match old.get(name) {
            Some(value) => fields.insert(name.to_owned(), value.clone()),
            None => fields.remove(name),
        };
    }

    /// The object's `metadata`, made if absent or not an object.
    pub fn metadata_mut(fields: &mut Map<String, Value>) -> &mut Map<String, Value> {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if !metadata.is_object() {
            *metadata = json!({});
        }
        metadata.as_object_mut().expect("made an object above")
    }

    fn keep_all_but_status(fields: &mut Map<String, Value>, old: &Value, custom: bool) {
        let status = fields.remove("status");
        let metadata = fields.remove("metadata");
        *fields = old.as_object().cloned().unwrap_or_default();
        match status {
            Some(status) => fields.insert("status".to_owned(), status),
            None => fields.remove("status"),
        };
        match metadata {
            // Upstream: a status write to a custom resource changes nothing but managedFields.
            Some(metadata) if custom => {
                let kept = metadata_mut(fields);
                match metadata.get("managedFields") {
                    Some(managed) => kept.insert("managedFields".to_owned(), managed.clone()),
                    None => kept.remove("managedFields"),
                };
                if let Some(rv) = metadata.get("resourceVersion") {
                    kept.insert("resourceVersion".to_owned(), rv.clone());
                }
            }
            Some(metadata) => {
                fields.insert("metadata".to_owned(), metadata);
            }
            None => {}
        }
    }
}
