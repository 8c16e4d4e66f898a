//! The parts of a control plane, as the deprecated ComponentStatus shows them.
//!
//! Upstream asks the scheduler, the controller manager and etcd for their health with every read. Here etcd's part is played
//! by the store, and whoever runs the controllers beside the server says so; no scheduler of pods runs. Nothing is stored.
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

/// What is known of the components.
pub(crate) struct Seen {
    /// Why the store takes no writes, if so.
    pub(crate) store_failure: Option<Arc<str>>,
    /// Whether controllers run beside the server.
    pub(crate) controllers_run: bool,
}

/// All components, as objects at a revision.
pub(crate) fn objects(rev: u64, seen: &Seen) -> Objects {
    let healthy = || json!({"type": "Healthy", "status": "True", "message": "ok"});
    let ill = |status: &str, why: &str| json!({"type": "Healthy", "status": status, "error": why});
    let controllers = match seen.controllers_run {
        true => healthy(),
        false => ill("Unknown", "no controllers run beside this server"),
    };
    let store = match &seen.store_failure {
        None => healthy(),
        Some(why) => ill("False", why),
    };
    let scheduler = ill("Unknown", "no scheduler runs in this server");
    let mut objects = Objects::default();
    for (name, condition) in [
        ("controller-manager", controllers),
        ("etcd-0", store),
        ("scheduler", scheduler),
    ] {
        let draft = Draft::new(&component(name, &condition), Vec::new());
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
