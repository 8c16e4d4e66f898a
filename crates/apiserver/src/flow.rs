//! Flow schemas say whether the priority level they send requests to exists.
//!
//! Clients, and people who look why a schema has no effect, read the condition `Dangling` in its
//! status. This task keeps it, in the name under which kube-apiserver does. Requests are not queued
//! by priority levels here: [`crate::engine::Limits`] bounds them all.
//!
//! [`dangling`] decides what the condition says; [`defaults`] are the levels and schemas every
//! cluster begins with.
//!
//! Source: Kubernetes v1.35.4, apiserver `pkg/util/flowcontrol/apf_controller.go`.

mod dangling;
pub(crate) mod defaults;

use std::time::Duration;

use flotilla_machinery::status::Status;
use http::{Method, Request};
use serde_json::{Value, json};

use self::dangling::{Dangling, decide};
use crate::{
    errand,
    service::Service,
    store::{ObjectKey, ResourceKey, State},
};

/// API group of levels and schemas.
pub(crate) const GROUP: &str = "flowcontrol.apiserver.k8s.io";
/// Who owns the condition.
const MANAGER: &str = "api-priority-and-fairness-config-consumer-v1";
/// How long to wait after a write that failed.
const RETRY: Duration = Duration::from_secs(1);

/// Runs until the server stops.
pub(crate) async fn run(service: Service) {
    let engine = service.engine().clone();
    let mut schemas = engine.store.subscribe(&key("flowschemas"));
    let mut levels = engine.store.subscribe(&key("prioritylevelconfigurations"));
    loop {
        let is_done = match sweep(&service).await {
            Ok(()) => true,
            Err(error) => {
                // The store is closing, or a schema is not what it was; the next look decides.
                tracing::debug!(%error, "A flow schema waits");
                false
            }
        };
        tokio::select! {
            () = engine.stop.cancelled() => return,
            rev = schemas.changed() => if rev.is_none() { return },
            rev = levels.changed() => if rev.is_none() { return },
            () = tokio::time::sleep(RETRY), if !is_done => {}
        }
    }
}

fn key(plural: &str) -> ResourceKey {
    ResourceKey::new(GROUP, plural)
}

/// Writes every condition that is not as it should be.
async fn sweep(service: &Service) -> Result<(), Status> {
    let state = service.engine().store.state();
    let schemas = state.collection(&key("flowschemas"));
    for object in schemas.into_iter().flat_map(|c| c.list(None, None)) {
        let schema: Value = serde_json::from_slice(&object.body).map_err(Status::internal)?;
        if let Some(dangling) = decide(&schema, |level| exists(&state, level)) {
            write(service, &object.key.name, &dangling).await?;
        }
    }
    Ok(())
}

fn exists(state: &State, level: &str) -> bool {
    let levels = key("prioritylevelconfigurations");
    state.get(&levels, &ObjectKey::new("", level)).is_some()
}

async fn write(service: &Service, name: &str, dangling: &Dangling) -> Result<(), Status> {
    let now = service.engine().now();
    let condition = json!({
        "type": "Dangling",
        "status": dangling.status,
        "reason": dangling.reason,
        "message": dangling.message,
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    });
    let schema = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "FlowSchema",
        "metadata": {"name": name},
        "status": {"conditions": [condition]},
    });
    let path = format!("/apis/{GROUP}/v1/flowschemas/{name}/status");
    let request = Request::builder()
        .method(Method::PATCH)
        .uri(format!("{path}?fieldManager={MANAGER}&force=true"))
        .header(http::header::CONTENT_TYPE, "application/apply-patch+yaml");
    match errand::send(service, errand::SERVER, request, &schema).await {
        // Deleted in between.
        Err(status) if status.code == 404 => Ok(()),
        result => result,
    }
}
