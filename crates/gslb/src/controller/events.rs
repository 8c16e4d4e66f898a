//! Events on objects, as k8gb's users already watch for them.
//!
//! Written without kube-runtime's recorder, which folds events of one reason into a series and keeps the first text:
//! the second problem of a Gslb would never be read.

use flotilla_operator::Tasks;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, Client, api::PostParams};
use serde_json::Value;
use tokio::sync::mpsc;

use super::now;
use crate::engine::Importance;

/// Events that wait to be written; more are dropped, because events are advice.
const WAITING_MAX: usize = 256;
/// Characters of a note (the API's limit is 1024).
const NOTE_CHARS_MAX: usize = 1000;

/// Front of the recorder.
pub(super) struct Recorder(mpsc::Sender<Event>);

/// Starts the task that writes events.
pub(super) fn start(tasks: &mut Tasks, client: Client) -> Recorder {
    let (sender, mut waiting) = mpsc::channel::<Event>(WAITING_MAX);
    tasks.spawn("events", async move {
        while let Some(event) = waiting.recv().await {
            let namespace = event.metadata.namespace.clone().unwrap_or_default();
            let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
            if let Err(error) = api.create(&PostParams::default(), &event).await {
                tracing::debug!(%error, "An event was not recorded");
            }
        }
    });
    Recorder(sender)
}

impl Recorder {
    pub(super) fn say(
        &self,
        regarding: Value,
        importance: Importance,
        reporter: &str,
        reason: &'static str,
        message: String,
    ) {
        let Ok(regarding) = serde_json::from_value::<ObjectReference>(regarding) else {
            return;
        };
        let name = regarding.name.clone().unwrap_or_default();
        match importance {
            Importance::Warning => {
                tracing::warn!(gslb = %name, reason, message, "A Gslb has a problem");
            }
            Importance::Normal => tracing::info!(gslb = %name, reason, message, "A Gslb changed"),
        }
        let at = now();
        let event = Event {
            metadata: ObjectMeta {
                // Unique per object and microsecond, as client-go names events.
                name: Some(format!("{name}.{:x}", at.as_nanosecond())),
                namespace: regarding.namespace.clone(),
                ..ObjectMeta::default()
            },
            action: Some("Reconcile".into()),
            event_time: Some(MicroTime(at)),
            note: Some(message.chars().take(NOTE_CHARS_MAX).collect()),
            reason: Some(reason.into()),
            regarding: Some(regarding),
            reporting_controller: Some(reporter.into()),
            reporting_instance: Some(reporter.into()),
            type_: Some(importance.as_str().into()),
            ..Event::default()
        };
        // A full queue means that the API server is slow; the condition says the same.
        let _ = self.0.try_send(event);
    }
}
