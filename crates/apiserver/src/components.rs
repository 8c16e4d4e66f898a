//! The parts of a control plane, as the deprecated ComponentStatus shows them.
//!
//! Upstream asks the scheduler, the controller manager and etcd for their health with every read. Here the last two are
//! parts of the process that answers; no scheduler of pods runs, and its component says so. Nothing is stored.
//!
//! Source: Kubernetes v1.35, `pkg/registry/core/componentstatus/rest.go`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    registry::Resource,
    store::{Draft, ObjectKey, Objects},
};

/// Whether the objects of a resource are made here instead of being read.
pub(crate) fn are(resource: &Resource) -> bool {
    resource.group.is_empty() && &*resource.plural == "componentstatuses"
}

/// All components, as objects at a revision.
pub(crate) fn objects(rev: u64) -> Objects {
    let healthy = json!({"type": "Healthy", "status": "True", "message": "ok"});
    let absent = json!({"type": "Healthy", "status": "Unknown", "error": "no scheduler runs in this server"});
    let mut objects = Objects::default();
    for (name, condition) in [
        ("controller-manager", &healthy),
        ("etcd-0", &healthy),
        ("scheduler", &absent),
    ] {
        let draft = Draft::new(&component(name, condition), Vec::new());
        let draft = draft.expect("a component has a type and metadata");
        let key = ObjectKey::new("", name);
        objects.insert_cow(key.clone(), Arc::new(draft.object(key, rev, rev)));
    }
    objects
}

fn component(name: &str, condition: &Value) -> Value {
    json!({
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "conditions": [condition],
    })
}
