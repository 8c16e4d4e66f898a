//! Writes to the API server, one at a time per object and part, the latest wish only.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use flotilla_operator::{Backoff, Outcome, Queue, QueueMetrics};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::{Instrument, Span};

use super::object::{Part, Place};
use crate::{
    engine::{Action, Target},
    migrate,
    world::FINALIZER,
};

/// Writes under way at once.
const WRITERS: usize = 8;
/// Wait before a write that met another one is tried again.
const CONFLICT_WAIT: Duration = Duration::from_millis(10);
/// The API server refused, or was not there.
#[derive(Debug, thiserror::Error)]
#[error("the write was refused")]
pub(super) struct Error(#[from] kube::Error);

/// Front of the writers.
#[derive(Clone)]
pub(super) struct Writer {
    queue: Queue<Target>,
    wishes: Arc<Mutex<HashMap<Target, Wish>>>,
    leading: watch::Receiver<bool>,
}

/// What is to be written, and the round in which that was decided.
#[derive(Clone)]
struct Wish {
    action: Action,
    round: Span,
}

impl Writer {
    pub(super) fn new(leading: watch::Receiver<bool>) -> Writer {
        Writer {
            queue: Queue::new(Backoff::default()),
            wishes: Arc::default(),
            leading,
        }
    }

    /// Replaces what is to be written to `target`.
    pub(super) fn set(&self, target: Target, action: Action, round: Span) {
        self.wishes().insert(target.clone(), Wish { action, round });
        self.queue.add(target);
    }

    fn wishes(&self) -> std::sync::MutexGuard<'_, HashMap<Target, Wish>> {
        // A map of wishes is whole at any time.
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes until the queue is closed.
    pub(super) async fn run(self, client: Client) {
        let queue = self.queue.clone();
        let reconcile = move |target: Target| {
            let (writer, client) = (self.clone(), client.clone());
            async move {
                if !*writer.leading.borrow() {
                    // Another replica writes now, and by what it sees itself.
                    writer.wishes().remove(&target);
                    return Ok(Outcome::Wait);
                }
                let wish = writer.wishes().get(&target).cloned();
                let Some(Wish { action, round }) = wish else {
                    return Ok(Outcome::Wait);
                };
                let span = match &target {
                    Target::Endpoint(_) => {
                        tracing::info_span!(parent: &round, "SaveDNSEndpoint", %target)
                    }
                    _ => tracing::info_span!(parent: &round, "Save", %target),
                };
                match write(&client, &target, &action).instrument(span).await {
                    // Another part of the same object was written in between: read it again.
                    Err(kube::Error::Api(status)) if status.code == 409 => {
                        return Ok(Outcome::Again(CONFLICT_WAIT));
                    }
                    other => other?,
                }
                // Unless it changed meanwhile, it is done; a newer one is in the queue already.
                let mut wishes = writer.wishes();
                if wishes.get(&target).is_some_and(|now| now.action == action) {
                    wishes.remove(&target);
                }
                Ok::<_, Error>(Outcome::Wait)
            }
        };
        flotilla_operator::run("gslb", queue, WRITERS, QueueMetrics::default(), reconcile).await;
    }
}

async fn write(client: &Client, target: &Target, action: &Action) -> Result<(), kube::Error> {
    let (kind, key) = target.object();
    let place = Place::new(client, kind, &key);
    match action {
        Action::Delete => return place.delete().await,
        // Nothing of what is there matters for these two, so it is not read.
        Action::Status(status) => return place.set(Part::Status, status).await,
        Action::Respec(wanted) => return place.set(Part::Spec, &wanted["spec"]).await,
        _ => {}
    }
    let existing = place.get().await?;
    match (action, existing) {
        (Action::Apply(wanted) | Action::Create(wanted), None) => place.create(wanted).await,
        (Action::Apply(wanted), Some(before)) => {
            let after = merged(&before, wanted, target);
            replace(&place, &before, &after).await
        }
        (Action::Finalizer(present), Some(before)) => {
            let ours = match target {
                Target::Legacy(_) => migrate::PROTECTION,
                _ => FINALIZER,
            };
            let after = with_finalizer(&before, ours, *present);
            replace(&place, &before, &after).await
        }
        (Action::Mark, Some(before)) => {
            let mut after = before.clone();
            let mark = json!({ migrate::MIGRATED: "true" });
            add(&mut after["metadata"]["labels"], &mark);
            replace(&place, &before, &after).await
        }
        (Action::Detach { uid, to }, Some(before)) => {
            let after = detached(&before, uid, to.as_ref());
            replace(&place, &before, &after).await
        }
        // Somebody else was faster, and what is there stays.
        (Action::Create(_), Some(_)) => Ok(()),
        // The object is gone: so is what we had to say about it.
        (_, None) | (Action::Delete | Action::Status(_) | Action::Respec(_), Some(_)) => Ok(()),
    }
}

/// Writes an object unless it is as it should be.
async fn replace(place: &Place<'_>, before: &Value, after: &Value) -> Result<(), kube::Error> {
    if after == before {
        return Ok(());
    }
    place.replace(after).await
}

/// The object with a finalizer, or without it.
fn with_finalizer(before: &Value, finalizer: &str, present: bool) -> Value {
    let mut after = before.clone();
    let finalizers = before["metadata"]["finalizers"].as_array();
    let mut finalizers = finalizers.cloned().unwrap_or_default();
    if finalizers.iter().any(|known| known == finalizer) == present {
        return after;
    }
    finalizers.retain(|known| known != finalizer);
    if present {
        finalizers.push(json!(finalizer));
    }
    after["metadata"]["finalizers"] = json!(finalizers);
    after
}

/// The object with what we want. A DNSEndpoint's labels and annotations are ours alone; on other objects ours are
/// added to those of others, and of a ZoneDelegation's spec only the fields we set are ours.
fn merged(before: &Value, wanted: &Value, target: &Target) -> Value {
    let mut after = before.clone();
    match target {
        Target::Zone(_) => add(&mut after["spec"], &wanted["spec"]),
        _ => after["spec"] = wanted["spec"].clone(),
    }
    for part in ["labels", "annotations"] {
        let ours = &wanted["metadata"][part];
        match target {
            Target::Endpoint(_) if ours.is_null() => {
                if let Some(metadata) = after["metadata"].as_object_mut() {
                    metadata.remove(part);
                }
            }
            Target::Endpoint(_) => after["metadata"][part] = ours.clone(),
            _ => add(&mut after["metadata"][part], ours),
        }
        if after["metadata"][part].is_null()
            && let Some(metadata) = after["metadata"].as_object_mut()
        {
            metadata.remove(part);
        }
    }
    if let Some(owners) = wanted["metadata"]["ownerReferences"].as_array() {
        let uids: Vec<&Value> = owners.iter().map(|owner| &owner["uid"]).collect();
        let mut all = before["metadata"]["ownerReferences"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        // An object has one controller at most; an earlier one made way for us.
        all.retain(|owner| !uids.contains(&&owner["uid"]) && owner["controller"] != true);
        all.extend(owners.iter().cloned());
        after["metadata"]["ownerReferences"] = json!(all);
    }
    after
}

/// The object without an owner. A successor becomes its controller when it has none.
fn detached(before: &Value, uid: &str, to: Option<&Value>) -> Value {
    let mut after = before.clone();
    let mut owners = before["metadata"]["ownerReferences"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    owners.retain(|owner| owner["uid"] != uid);
    if let Some(to) = to
        && owners.iter().all(|owner| owner["controller"] != true)
    {
        owners.retain(|owner| owner["uid"] != to["uid"]);
        owners.push(to.clone());
    }
    if let Some(metadata) = after["metadata"].as_object_mut() {
        if owners.is_empty() {
            metadata.remove("ownerReferences");
        } else {
            metadata.insert("ownerReferences".into(), json!(owners));
        }
    }
    after
}

fn add(into: &mut Value, from: &Value) {
    let Some(from) = from.as_object() else { return };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in from {
        into[key] = value.clone();
    }
}

#[cfg(test)]
mod tests;
