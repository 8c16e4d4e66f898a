//! What happens to definitions after the write: their objects go before they do, and names that
//! become free find who waits for them.
//!
//! Deleting a definition marks it (see [`super::definition`]). This task then deletes its objects
//! through the server itself, so finalizers are honoured and watchers hear of it, and takes the
//! definition's finalizer off when nothing is left. It works from the store's state and remembers
//! nothing, so a restart goes on where it stopped.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/controller/finalizer`.

use std::collections::BTreeSet;
use std::time::Duration;

use flotilla_machinery::status::Status;
use http::{Method, Request};
use serde_json::{Value, json};

use super::definition::{self, CLEANUP_FINALIZER, names};
use super::resource::is_established;
use crate::errand;
use crate::service::Service;
use crate::store::{Object, ResourceKey};

/// How long to wait before looking again at objects that finalizers keep.
const RETRY: Duration = Duration::from_millis(500);

/// Name of this task in managed fields.
const NAME: &str = "crd-cleanup";

/// Runs until the server stops.
pub(crate) async fn run(service: Service) {
    let stop = service.engine().stop.clone();
    let mut changes = service.engine().store.subscribe(&definition::key());
    loop {
        let is_waiting = sweep(&service).await;
        tokio::select! {
            () = stop.cancelled() => return,
            rev = changes.changed() => if rev.is_none() { return },
            () = tokio::time::sleep(RETRY), if is_waiting => {}
        }
    }
}

/// One look at all definitions; true when something is still to be waited for.
async fn sweep(service: &Service) -> bool {
    let state = service.engine().store.state();
    let Some(collection) = state.collection(&definition::key()) else {
        return false;
    };
    let mut is_waiting = false;
    for object in collection.list(None, None) {
        let result = if object.meta.deleting {
            clean(service, object).await
        } else if is_refused(object) {
            reconsider(service, object).await
        } else {
            Ok(false)
        };
        match result {
            Ok(more) => is_waiting |= more,
            Err(error) => {
                // Somebody else changed it, or the store is closing; the next look decides.
                tracing::debug!(crd = %object.key.name, %error, "A definition waits");
                is_waiting = true;
            }
        }
    }
    is_waiting
}

/// Deletes a definition's objects, then lets it go; true while objects remain.
async fn clean(service: &Service, object: &Object) -> Result<bool, Status> {
    let mut crd: Value = serde_json::from_slice(&object.body).map_err(Status::internal)?;
    let is_ours = |f: &Value| f == CLEANUP_FINALIZER;
    let finalizers = crd["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if !finalizers.iter().any(is_ours) {
        return Ok(false);
    }
    let path = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}",
        object.key.name
    );
    let group = crd["spec"]["group"].as_str().unwrap_or("").to_owned();
    let plural = crd["spec"]["names"]["plural"]
        .as_str()
        .unwrap_or("")
        .to_owned();
    let state = service.engine().store.state();
    let instances = state.collection(&ResourceKey::new(&group, &plural));
    let remaining = instances.map_or(0, |c| c.objects.len());
    if is_established(&crd) && remaining > 0 {
        let now = service
            .engine()
            .now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let before = crd["status"]["conditions"].clone();
        names::set_condition(
            &mut crd,
            &names::Condition {
                ty: "Terminating",
                status: "True",
                reason: "InstanceDeletionInProgress",
                message: "CustomResource deletion is in progress".into(),
            },
            &now,
        );
        if crd["status"]["conditions"] != before {
            let patch = json!({"status": {"conditions": crd["status"]["conditions"]}});
            send(service, Method::PATCH, &format!("{path}/status"), &patch).await?;
        }
        let namespaces: BTreeSet<&str> = instances
            .into_iter()
            .flat_map(|c| c.list(None, None))
            .filter(|o| !o.meta.deleting)
            .map(|o| o.key.namespace.as_ref())
            .collect();
        let version = served(&crd).unwrap_or_default();
        for namespace in namespaces {
            let within = match namespace {
                "" => String::new(),
                ns => format!("namespaces/{ns}/"),
            };
            let collection = format!("/apis/{group}/{version}/{within}{plural}");
            send(service, Method::DELETE, &collection, &json!({})).await?;
        }
        return Ok(true);
    }
    let kept: Vec<&Value> = finalizers.iter().filter(|f| !is_ours(f)).collect();
    let patch = json!({"metadata": {"finalizers": kept}});
    send(service, Method::PATCH, &path, &patch).await?;
    Ok(false)
}

/// Whether a definition did not get its names. Looks at the text, because definitions are large.
fn is_refused(object: &Object) -> bool {
    std::str::from_utf8(&object.body).is_ok_and(|text| text.contains(r#""reason":"NotAccepted""#))
}

/// Any update decides about names anew.
async fn reconsider(service: &Service, object: &Object) -> Result<bool, Status> {
    let path = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}",
        object.key.name
    );
    send(service, Method::PATCH, &path, &json!({})).await?;
    Ok(false)
}

fn served(crd: &Value) -> Option<&str> {
    let versions = crd["spec"]["versions"].as_array()?;
    let served = || versions.iter().filter(|v| v["served"] == true);
    // In the storage version nothing is to be converted.
    let stored = served().find(|v| v["storage"] == true);
    stored.or_else(|| served().next())?["name"].as_str()
}

async fn send(service: &Service, method: Method, path: &str, body: &Value) -> Result<(), Status> {
    let media = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, media);
    match errand::send(service, NAME, request, body).await {
        Err(status) if status.code == 404 => Ok(()),
        result => result,
    }
}
