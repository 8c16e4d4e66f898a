//! The rules of CustomResourceDefinitions themselves.
//!
//! A definition is accepted, named and established in the write that creates it: by the time the
//! client reads the answer its resources are served, and `kubectl wait` returns at once. Upstream
//! needs three controllers and five seconds for that, because several servers must agree; here one
//! store decides.
//!
//! - [`check`] validates the definition, [`schema`] its schemas, [`rules`] whether they are
//!   structural, [`defaults`] the defaults in them; [`names`] decides names and conditions.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/registry/customresourcedefinition`.

pub mod check;
mod defaults;
pub mod names;
mod rules;
mod schema;

use flotilla_machinery::status::FieldError;
use serde_json::{Map, Value, json};

use crate::registry::{Context, Strategy, generic};
use crate::store::{ResourceKey, State};

/// Keeps a deleted definition until its objects are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Rules of CustomResourceDefinitions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Definitions;

/// Where definitions are stored.
pub fn key() -> ResourceKey {
    ResourceKey::new("apiextensions.k8s.io", "customresourcedefinitions")
}

impl Strategy for Definitions {
    fn fill_defaults(&self, object: &mut Value) {
        let Some(spec) = object["spec"].as_object_mut() else {
            return;
        };
        if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
            let kind = names
                .get("kind")
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_owned();
            let is_empty = |v: Option<&Value>| v.is_none_or(|v| v.is_null() || v == "");
            if is_empty(names.get("singular")) && !kind.is_empty() {
                names.insert("singular".into(), kind.to_lowercase().into());
            }
            if is_empty(names.get("listKind")) && !kind.is_empty() {
                names.insert("listKind".into(), format!("{kind}List").into());
            }
        }
        if spec.get("conversion").is_none_or(Value::is_null) {
            spec.insert("conversion".into(), json!({"strategy": "None"}));
        }
        if let Some(service) = spec
            .get_mut("conversion")
            .and_then(|c| c.pointer_mut("/webhook/clientConfig/service"))
            .and_then(Value::as_object_mut)
        {
            service.entry("port").or_insert(json!(443));
        }
        if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
            spec.remove("preserveUnknownFields");
        }
    }

    fn prepare_create(&self, cx: &Context<'_>, object: &mut Value) {
        generic::prepare_create(cx, object);
        // Defaults decide the names that are accepted.
        self.fill_defaults(object);
        object["status"] = json!({});
        settle(cx, object);
    }

    fn prepare_update(&self, cx: &Context<'_>, new: &mut Value, old: &Value) {
        generic::prepare_update(cx, new, old);
        self.fill_defaults(new);
        if cx.subresource.is_empty() {
            settle(cx, new);
        }
    }

    fn validate_create(&self, _: &Context<'_>, object: &Value) -> Vec<FieldError> {
        check::create(object)
    }

    fn validate_update(&self, cx: &Context<'_>, new: &Value, old: &Value) -> Vec<FieldError> {
        match cx.subresource {
            "" => check::update(new, old),
            _ => check::status(new),
        }
    }

    fn warnings(&self, _: &Context<'_>, object: &Value, old: Option<&Value>) -> Vec<String> {
        let before = old.map(schema::warnings).unwrap_or_default();
        let mut now = schema::warnings(object);
        now.retain(|w| !before.contains(w));
        now
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn mark_deleted(&self, object: &mut Value) {
        let now = object["metadata"]["deletionTimestamp"]
            .as_str()
            .unwrap_or("")
            .to_owned();
        let metadata = &mut object["metadata"];
        let mut finalizers = metadata["finalizers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if !finalizers.iter().any(|f| f == CLEANUP_FINALIZER) {
            finalizers.push(CLEANUP_FINALIZER.into());
        }
        metadata["finalizers"] = finalizers.into();
        names::set_condition(
            object,
            &names::Condition {
                ty: "Terminating",
                status: "True",
                reason: "InstanceDeletionPending",
                message:
                    "CustomResourceDefinition marked for deletion; CustomResource deletion will \
                      begin soon"
                        .into(),
            },
            &now,
        );
    }

    fn is_held(&self, object: &Value) -> bool {
        // The first deletion only marks; the finalizer that comes with the mark holds from then on.
        !crate::meta::is_deleting(object)
    }
}

/// Brings the status up to date with the spec: stored versions, names, conditions.
fn settle(cx: &Context<'_>, object: &mut Value) {
    let versions = object["spec"]["versions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let storage = versions.iter().find(|v| v["storage"] == true);
    if let Some(name) = storage.and_then(|v| v["name"].as_str()) {
        let status = object["status"].as_object_mut();
        let stored = status.map(|s| s.entry("storedVersions").or_insert(json!([])));
        if let Some(Value::Array(stored)) = stored
            && !stored.iter().any(|v| v == name)
        {
            stored.push(name.into());
        }
    }
    if cx.dry_run {
        // Nothing is served after a dry run, so it must not say that something is established.
        let nothing = json!({"kind": "", "plural": ""});
        if let Some(status) = object["status"].as_object_mut() {
            status.entry("acceptedNames").or_insert(nothing);
            status.entry("conditions").or_insert(Value::Null);
        }
        return;
    }
    let group = object["spec"]["group"].as_str().unwrap_or("").to_owned();
    let own = object["metadata"]["name"].as_str().unwrap_or("").to_owned();
    let taken = names::taken(&of_group(cx.state, &group, &own));
    names::settle(
        object,
        &taken,
        &cx.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    );
}

/// Status names of the other definitions of a group.
pub(crate) fn of_group(state: &State, group: &str, except: &str) -> Vec<Map<String, Value>> {
    let Some(collection) = state.collection(&key()) else {
        return Vec::new();
    };
    let suffix = format!(".{group}");
    collection
        .list(None, None)
        .filter(|object| {
            let name = object.key.name.as_ref();
            name != except && name.ends_with(&suffix)
        })
        .filter_map(|object| {
            let definition: Value = serde_json::from_slice(&object.body).ok()?;
            definition["status"]["acceptedNames"].as_object().cloned()
        })
        .collect()
}

#[cfg(test)]
mod tests;
