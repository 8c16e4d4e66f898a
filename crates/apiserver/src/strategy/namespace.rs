//! Namespaces: three that cannot be deleted, a finalizer in `spec`, and a phase.
//!
//! Source: Kubernetes v1.35, `pkg/registry/core/namespace` and the NamespaceLifecycle plugin.

use flotilla_machinery::{
    group::GroupResource,
    status::{FieldError, Status},
};
use serde_json::{Value, json};

use crate::registry::{Context, SelectableField, Strategy, generic};

/// Namespaces the system lives in; deleting one is refused.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Finalizers that need no domain.
const OWN: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// The label with which selectors find a namespace by its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Rules of namespaces.
pub(super) struct Namespaces {
    fields: [SelectableField; 1],
}

impl Default for Namespaces {
    fn default() -> Self {
        Self {
            fields: [SelectableField::new("status.phase")],
        }
    }
}

impl Strategy for Namespaces {
    fn fill_defaults(&self, object: &mut Value) {
        let Some(name) = object.pointer("/metadata/name").cloned() else {
            return;
        };
        let labels = &mut object["metadata"]["labels"];
        if !labels.is_object() {
            *labels = json!({});
        }
        labels[NAME_LABEL] = name;
    }

    fn prepare_create(&self, cx: &Context<'_>, object: &mut Value) {
        generic::prepare_create(cx, object);
        object["status"] = json!({"phase": "Active"});
        let finalizers = &mut object["spec"]["finalizers"];
        let mut list = finalizers.as_array().cloned().unwrap_or_default();
        if !list.iter().any(|f| f == "kubernetes") {
            list.push("kubernetes".into());
        }
        *finalizers = list.into();
    }

    fn prepare_update(&self, cx: &Context<'_>, new: &mut Value, old: &Value) {
        let finalizers = new.pointer("/spec/finalizers").cloned();
        if cx.subresource == "finalize" {
            let metadata = new.get("metadata").cloned();
            *new = old.clone();
            if let Some(metadata) = metadata {
                new["metadata"] = metadata;
            }
            new["spec"]["finalizers"] = finalizers.unwrap_or_else(|| json!([]));
            return;
        }
        generic::prepare_update(cx, new, old);
        // Only the finalize endpoint changes these.
        match old.get("spec") {
            Some(spec) => new["spec"] = spec.clone(),
            None => {
                new.as_object_mut().map(|fields| fields.remove("spec"));
            }
        }
    }

    fn validate_create(&self, _: &Context<'_>, object: &Value) -> Vec<FieldError> {
        let finalizers = object.pointer("/spec/finalizers").and_then(Value::as_array);
        let names = finalizers.into_iter().flatten().filter_map(Value::as_str);
        let unqualified = names.filter(|name| !name.contains('/') && !OWN.contains(name));
        unqualified
            .map(|name| {
                let detail = "name is neither a standard finalizer name nor is it fully qualified";
                FieldError::invalid("spec.finalizers", name, detail)
            })
            .collect()
    }

    fn validate_update(&self, _: &Context<'_>, _: &Value, _: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        generic::check_label(name, prefix)
    }

    fn qualifies_finalizers(&self) -> bool {
        true
    }

    fn selectable_fields(&self) -> &[SelectableField] {
        &self.fields
    }

    fn check_delete(&self, _: &Context<'_>, object: &Value) -> Result<(), Status> {
        let name = object
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or("");
        if !IMMORTAL.contains(&name) {
            return Ok(());
        }
        let resource = GroupResource::new("", "namespaces");
        Err(Status::forbidden(
            &resource,
            name,
            "this namespace may not be deleted",
        ))
    }

    fn mark_deleted(&self, object: &mut Value) {
        object["status"]["phase"] = "Terminating".into();
    }

    fn is_held(&self, object: &Value) -> bool {
        let finalizers = object.pointer("/spec/finalizers").and_then(Value::as_array);
        finalizers.is_some_and(|f| !f.is_empty())
    }

    fn returns_deleted(&self) -> bool {
        true
    }
}
