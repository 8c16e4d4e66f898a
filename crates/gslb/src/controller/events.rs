//! Warning events on objects, as k8gb's users already watch for them.

use flotilla_operator::Tasks;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{self, Event, EventType, Reporter},
};
use serde_json::Value;
use tokio::sync::mpsc;

/// Events that wait to be written; more are dropped, because events are advice.
const WAITING_MAX: usize = 256;

/// Front of the recorder.
pub(super) struct Recorder(mpsc::Sender<(ObjectReference, Event)>);

/// Starts the task that writes events.
pub(super) fn start(tasks: &mut Tasks, client: Client) -> Recorder {
    let (sender, mut waiting) = mpsc::channel::<(ObjectReference, Event)>(WAITING_MAX);
    let reporter = Reporter {
        controller: "gslb-controller".into(),
        instance: None,
    };
    let recorder = events::Recorder::new(client, reporter);
    tasks.spawn("events", async move {
        while let Some((regarding, event)) = waiting.recv().await {
            if let Err(error) = recorder.publish(&event, &regarding).await {
                tracing::debug!(%error, "An event was not recorded");
            }
        }
    });
    Recorder(sender)
}

impl Recorder {
    pub(super) fn warn(&self, regarding: Value, reason: &'static str, message: String) {
        let Ok(regarding) = serde_json::from_value::<ObjectReference>(regarding) else {
            return;
        };
        let name = regarding.name.clone().unwrap_or_default();
        tracing::warn!(gslb = %name, reason, message, "A Gslb has a problem");
        let event = Event {
            type_: EventType::Warning,
            reason: reason.into(),
            note: Some(message),
            action: "Reconcile".into(),
            secondary: None,
        };
        // A full queue means that the API server is slow; the condition says the same.
        let _ = self.0.try_send((regarding, event));
    }
}
