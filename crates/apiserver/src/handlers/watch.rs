//! Watches: a cursor over the shared history of a resource.
//!
//! A watch keeps a filter and the revision it has sent up to, nothing else; events are read from
//! the published state when the client has room for them, and encoded once for all plain watches.
//! A client that reads too slowly falls behind until history has moved on, then gets 410 and lists
//! again. Nobody waits for it and nothing grows.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/endpoints/handlers/watch.go`,
//! `pkg/storage/cacher/cache_watcher.go`.

use std::{pin::Pin, sync::Arc, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use flotilla_machinery::status::Status;
use futures::stream;
use http::{Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use prometheus_client::metrics::{counter::Counter, gauge::Gauge, histogram::Histogram};
use serde_json::{Value, json};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep, sleep_until},
};

use super::read::{converts, not_from_the_future};
use crate::{
    body::{self, Body, CHUNK_BYTES},
    call::Call,
    convert,
    filter::Filter,
    metrics::{EndpointLabels, ResourceLabels},
    negotiate::{As, JSON},
    params::ListOptions,
    registry::Conversion,
    render,
    store::{
        Collection, Event, EventKind, Object, ObjectKey, State, Subscription, list as in_order,
    },
    websocket::{self, handshake},
};

/// Seconds between two bookmarks; each watch is moved by up to a quarter, so that they spread.
const BOOKMARK_SECONDS: u64 = 60;
/// A last bookmark comes this long before the watch ends.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// A watch that shares its changes with many others leaves this much time for each of them between two sends; what comes
/// meanwhile is sent in one piece. With a thousand watchers a change a millisecond would else fill the machine with
/// packets of one event each.
const PACE_EACH: Duration = Duration::from_micros(10);
/// Pauses shorter than this are not made: a watch that few share sends at once.
const PACE_MIN: Duration = Duration::from_millis(1);
/// Pauses are not longer than this.
const PACE_MAX: Duration = Duration::from_millis(10);
/// How many bytes of events are sent in one piece, about. Smaller than a piece of a list, because thousands of watches may
/// be behind at once and each has its own.
const PIECE_BYTES: usize = 16 << 10;
/// Annotation of the bookmark behind the initial state.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// One watch.
struct Watch {
    call: Call,
    filter: Filter,
    /// Whether a webhook has to translate before the filter can judge.
    converts: bool,
    subscription: Subscription,
    /// The state still to be sent as ADDED, and the key after the last sent one.
    initial: Option<(Arc<Collection>, Option<ObjectKey>)>,
    /// Whether a bookmark closes the initial state.
    announce: bool,
    /// Everything up to here was sent or filtered out.
    cursor: u64,
    bookmarks: bool,
    /// Ends at the next bookmark or at the end of the watch.
    timer: Pin<Box<Sleep>>,
    /// Whether a bookmark is.
    due: bool,
    end: Instant,
    /// When the last live events were sent.
    sent_at: Instant,
    /// Whether the table columns were sent.
    columns_sent: bool,
    done: bool,
    /// Counts what was sent.
    sent: Counter,
    /// Counts its bytes.
    sizes: Histogram,
    /// Keeps the watch counted until it is dropped.
    _permit: OwnedSemaphorePermit,
    _alive: Alive,
}

/// Counts a watch as long as it lives.
struct Alive(Gauge);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// GET of a collection with `watch`; over a WebSocket when the connection can become one.
///
/// # Errors
/// 400 and 422 for options without sense, 504 for a revision of the future.
pub(crate) fn watch(
    call: Call,
    permit: OwnedSemaphorePermit,
    upgrade: Option<OnUpgrade>,
) -> Result<Response<Body>, Status> {
    let options = ListOptions::parse(&call.query, true)?;
    let filter = Filter::new(&call, &options)?;
    let storage = &call.resource.storage;
    // Subscribed before the state is taken, so that no change falls between.
    let subscription = match call.list_namespace() {
        Some(namespace) => call.engine.store.subscribe_namespace(storage, namespace),
        None => call.engine.store.subscribe(storage),
    };
    let state = call.engine.store.state();
    not_from_the_future(options.resource_version, &state)?;
    let asked = options.resource_version.unwrap_or(0);
    let initial = match options.send_initial_events {
        Some(wanted) => wanted,
        None => asked == 0,
    };
    let collection = state.collection(storage).filter(|_| initial).cloned();
    let cursor = if initial || asked == 0 {
        state.rev
    } else {
        asked
    };
    let now = Instant::now();
    let seconds = lifetime(&call, &options);
    let alive = Alive::new(&call);
    let opened = match upgrade {
        Some(_) => handshake::accept(&call.headers)?,
        None => Response::default(),
    };
    let engine = call.engine.clone();
    let mut watch = Watch {
        converts: converts(&call) || (call.resource.webhook.is_some() && filter.needs_fields()),
        filter,
        subscription,
        initial: collection.map(|c| (c, None)),
        announce: options.send_initial_events == Some(true) && options.allow_bookmarks,
        cursor,
        bookmarks: options.allow_bookmarks,
        timer: Box::pin(sleep_until(now)),
        due: false,
        sent_at: now,
        end: now + Duration::from_secs(seconds),
        columns_sent: false,
        done: false,
        sent: call
            .engine
            .metrics
            .watch_events
            .get_or_create_owned(&labels(&call)),
        sizes: call
            .engine
            .metrics
            .watch_event_sizes
            .get_or_create_owned(&labels(&call)),
        _permit: permit,
        _alive: alive,
        call,
    };
    watch.schedule();
    let chunks = stream::unfold(watch, |mut watch| async move {
        let chunk = watch.next().await?;
        Some((chunk, watch))
    });
    if let Some(upgrade) = upgrade {
        let stop = engine.stop.clone();
        engine.tasks.spawn(websocket::run(upgrade, chunks, stop));
        return Ok(opened);
    }
    Ok(render::with_type(
        StatusCode::OK,
        JSON,
        body::stream(chunks),
    ))
}

fn lifetime(call: &Call, options: &ListOptions) -> u64 {
    let least = call.engine.limits.watch_seconds_min;
    match options.timeout_seconds {
        Some(seconds) if seconds > 0 => seconds,
        _ => least + call.engine.entropy() % least.max(1),
    }
}

fn bookmark_millis(entropy: u64) -> u64 {
    BOOKMARK_SECONDS * 750 + entropy % (BOOKMARK_SECONDS * 250)
}

impl Alive {
    fn new(call: &Call) -> Self {
        let labels = EndpointLabels {
            verb: "WATCH".to_owned(),
            group: call.resource.group.to_string(),
            version: call.resource.version.to_string(),
            resource: call.resource.plural.to_string(),
            subresource: String::new(),
            scope: match call.list_namespace() {
                Some(_) => "namespace",
                None => "cluster",
            }
            .to_owned(),
            component: "apiserver".to_owned(),
        };
        let gauge = call
            .engine
            .metrics
            .long_running
            .get_or_create_owned(&labels);
        gauge.inc();
        Self(gauge)
    }
}

fn labels(call: &Call) -> ResourceLabels {
    ResourceLabels {
        group: call.resource.group.to_string(),
        version: call.resource.version.to_string(),
        resource: call.resource.plural.to_string(),
    }
}

impl Watch {
    /// The next bytes for the client; `None` when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.done {
            return None;
        }
        if let Some(chunk) = self.next_initial().await {
            return Some(chunk);
        }
        loop {
            let live = match self.converts {
                true => self.next_converted().await,
                false => self.next_live(),
            };
            if live.is_some() {
                self.sent_at = Instant::now();
                return live;
            }
            // Without bookmarks the timer still moves the cursor on, so that a quiet watch does not fall out of history.
            if std::mem::take(&mut self.due) && self.bookmarks {
                return Some(self.bookmark(false));
            }
            tokio::select! {
                changed = self.subscription.changed() => {
                    changed?;
                    self.pace().await;
                }
                () = &mut self.timer => {
                    if Instant::now() >= self.end {
                        return None;
                    }
                    self.schedule();
                    self.due = true;
                }
            }
        }
    }

    /// Lets changes gather while many watches are busy with the last ones.
    async fn pace(&self) {
        let sharing = u32::try_from(self.subscription.n_sharing()).unwrap_or(u32::MAX);
        let pause = PACE_EACH.saturating_mul(sharing).min(PACE_MAX);
        if pause >= PACE_MIN {
            sleep_until(self.sent_at + pause).await;
        }
    }

    /// Sets the timer to the next bookmark; the last one comes shortly before the end.
    fn schedule(&mut self) {
        let now = Instant::now();
        let next = now + Duration::from_millis(bookmark_millis(self.call.engine.entropy()));
        let last = self.end - LAST_BOOKMARK;
        let next = if next <= last {
            next
        } else if now < last {
            last
        } else {
            self.end
        };
        self.timer.as_mut().reset(next);
    }

    async fn next_initial(&mut self) -> Option<Bytes> {
        let mut out = BytesMut::new();
        while let Some((collection, start)) = self.initial.take() {
            let (batch, after) = self.batch(&collection, start.as_ref());
            let batch = match self.views(batch).await {
                Ok(batch) => batch,
                Err(last) => return Some(last),
            };
            for object in &batch {
                if !self.converts || self.filter.matches(object) {
                    self.put(&mut out, "ADDED", object);
                }
            }
            self.initial = after.map(|after| (collection, Some(after)));
            if self.initial.is_some() && !out.is_empty() {
                return Some(out.freeze());
            }
        }
        if std::mem::take(&mut self.announce) {
            out.put_slice(&self.bookmark(true));
        }
        (!out.is_empty()).then(|| out.freeze())
    }

    /// The next objects of the initial state, about a chunk of bytes, and the key to go on from.
    fn batch(
        &self,
        collection: &Collection,
        start: Option<&ObjectKey>,
    ) -> (Vec<Arc<Object>>, Option<ObjectKey>) {
        let objects = in_order(&collection.objects, self.call.list_namespace(), start);
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for object in objects {
            if bytes >= CHUNK_BYTES {
                return (batch, Some(object.key.clone()));
            }
            if self.converts || self.filter.matches(object) {
                bytes += object.body.len();
                batch.push(object.clone());
            }
        }
        (batch, None)
    }

    /// Objects as this client sees them, or the last line of the watch.
    async fn views(&mut self, objects: Vec<Arc<Object>>) -> Result<Vec<Arc<Object>>, Bytes> {
        if !self.converts {
            return Ok(objects);
        }
        let views = convert::views(&self.call.engine, &self.call.resource, objects).await;
        views.map_err(|status| {
            self.done = true;
            line("ERROR", &render::to_bytes(&status.to_value()))
        })
    }

    /// As [`Self::next_live`], for a version that a webhook translates to.
    async fn next_converted(&mut self) -> Option<Bytes> {
        loop {
            let state = self.call.engine.store.state();
            if state.rev == self.cursor {
                return None;
            }
            if let Some(last) = self.overtaken(&state) {
                return Some(last);
            }
            let events = self.events(&state);
            let last = events.last().map_or(state.rev, |event| event.rev);
            let both = |event: &Arc<Event>| [Some(event.object.clone()), event.previous.clone()];
            let objects = events.iter().flat_map(both).flatten().collect();
            let mut views = match self.views(objects).await {
                Ok(views) => views.into_iter(),
                Err(last) => return Some(last),
            };
            self.cursor = last;
            let mut out = BytesMut::new();
            for event in &events {
                let object = views.next()?;
                let previous = event.previous.as_ref().and_then(|_| views.next());
                match self.seen(event, &object, previous.as_ref()) {
                    Some((word, false)) => self.put(&mut out, word, &object),
                    Some((word, true)) => {
                        let gone = previous.as_ref()?.at_revision(event.rev);
                        self.put(&mut out, word, &gone);
                    }
                    None => {}
                }
            }
            if !out.is_empty() {
                return Some(out.freeze());
            }
        }
    }

    /// Events after the cursor that are about the watched namespace, up to a piece of bytes.
    fn events(&self, state: &State) -> Vec<Arc<Event>> {
        let collection = state.collection(&self.call.resource.storage);
        let events = collection
            .into_iter()
            .flat_map(|c| c.events_after(self.cursor));
        let namespace = self.call.list_namespace();
        let mut bytes = 0;
        events
            .filter(|e| namespace.is_none_or(|ns| ns == &*e.object.key.namespace))
            .take_while(|event| {
                let room = bytes < PIECE_BYTES;
                bytes += event.object.body.len();
                room
            })
            .cloned()
            .collect()
    }

    /// The last line of a watch that history has overtaken.
    fn overtaken(&mut self, state: &State) -> Option<Bytes> {
        let compacted = state.compacted(&self.call.resource.storage);
        if self.cursor >= compacted {
            return None;
        }
        self.done = true;
        let status = Status::too_old(self.cursor, compacted);
        Some(line("ERROR", &render::to_bytes(&status.to_value())))
    }

    /// Events after the cursor, up to a piece of bytes. A single one is sent as all watches share it.
    fn next_live(&mut self) -> Option<Bytes> {
        let state = self.call.engine.store.state();
        if state.rev == self.cursor {
            return None;
        }
        if let Some(last) = self.overtaken(&state) {
            return Some(last);
        }
        let collection = state.collection(&self.call.resource.storage);
        let cursor = self.cursor;
        let events = collection.into_iter().flat_map(|c| c.events_after(cursor));
        let (mut lines, mut n_bytes) = (Vec::new(), 0);
        self.cursor = cursor.max(state.rev);
        for event in events {
            if let Some(line) = self.encode(event) {
                n_bytes += line.len();
                lines.push(line);
            }
            if n_bytes >= PIECE_BYTES {
                self.cursor = event.rev;
                break;
            }
        }
        match lines.len() {
            0 | 1 => lines.pop(),
            _ => Some(lines.concat().into()),
        }
    }

    /// One event as this client sees it; `None` when it is none of its business.
    fn encode(&mut self, event: &Event) -> Option<Bytes> {
        if self
            .call
            .list_namespace()
            .is_some_and(|ns| ns != &*event.object.key.namespace)
        {
            return None;
        }
        let (word, left) = self.seen(event, &event.object, event.previous.as_ref())?;
        if left {
            let previous = event.previous.as_ref()?.at_revision(event.rev);
            let mut out = BytesMut::new();
            self.put(&mut out, word, &previous);
            return Some(out.freeze());
        }
        let resource = &self.call.resource;
        let shared = word == word_of(event.kind) && resource.conversion == Conversion::None;
        if shared && let Some(form) = self.form() {
            let shape = self.call.accepted.shape.clone();
            return Some(event.encoded(form, || match shape {
                As::Metadata(version) => {
                    line(word, &render::metadata(resource, version, &event.object))
                }
                _ => line(word, &render::body(resource, &event.object)),
            }));
        }
        let mut out = BytesMut::new();
        self.put(&mut out, word, &event.object);
        Some(out.freeze())
    }

    /// What an event is to this client, with the objects as it sees them; `None` when it is none of
    /// its business. True beside the word means that the object left the selection: the client sees
    /// its last state inside, at the new revision.
    fn seen(
        &self,
        event: &Event,
        object: &Object,
        previous: Option<&Arc<Object>>,
    ) -> Option<(&'static str, bool)> {
        let is = self.filter.matches(object);
        let was = previous.is_some_and(|previous| self.filter.matches(previous));
        let seen = match (event.kind, was, is) {
            (EventKind::Added, _, true) => EventKind::Added,
            (EventKind::Modified, false, true) => EventKind::Added,
            (EventKind::Modified, true, true) => EventKind::Modified,
            (EventKind::Modified, true, false) | (EventKind::Deleted, true, _) => {
                EventKind::Deleted
            }
            (EventKind::Deleted, false, true) => EventKind::Deleted,
            _ => return None,
        };
        self.sent.inc();
        self.sizes.observe(object.body.len() as f64);
        let left = seen == EventKind::Deleted && event.kind == EventKind::Modified;
        Some((word_of(seen), left))
    }

    /// Which remembered encoding of an event this watch uses, if any.
    fn form(&self) -> Option<usize> {
        match self.call.accepted.shape {
            As::Object => Some(0),
            As::Metadata("v1") => Some(1),
            _ => None,
        }
    }

    fn put(&mut self, out: &mut BytesMut, word: &str, object: &Object) {
        let resource = &self.call.resource;
        let bytes = match self.call.accepted.shape.clone() {
            As::Object => render::body(resource, object),
            As::Metadata(version) => render::metadata(resource, version, object),
            As::Table(version) => {
                let rows = [render::value(resource, object)];
                let metadata = json!({"resourceVersion": object.rev.to_string()});
                let columns = !std::mem::replace(&mut self.columns_sent, true);
                render::to_bytes(&render::table(
                    &self.call, version, &rows, metadata, columns,
                ))
            }
        };
        put_line(out, word, &bytes);
    }

    /// Tells the client how far it has seen.
    fn bookmark(&self, end_of_initial: bool) -> Bytes {
        let resource = &self.call.resource;
        let mut metadata = json!({
            "resourceVersion": self.cursor.to_string(),
            "creationTimestamp": Value::Null,
        });
        if end_of_initial {
            metadata["annotations"] = json!({INITIAL_EVENTS_END: "true"});
        }
        let (kind, api_version) = match self.call.accepted.shape {
            As::Metadata(version) => (
                "PartialObjectMetadata".to_owned(),
                format!("meta.k8s.io/{version}"),
            ),
            _ => (resource.kind.to_string(), resource.api_version()),
        };
        let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        line("BOOKMARK", &render::to_bytes(&object))
    }
}

fn word_of(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Added => "ADDED",
        EventKind::Modified => "MODIFIED",
        EventKind::Deleted => "DELETED",
    }
}

fn line(word: &str, object: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(object.len() + 40);
    put_line(&mut out, word, object);
    out.freeze()
}

fn put_line(out: &mut BytesMut, word: &str, object: &[u8]) {
    out.put_slice(b"{\"type\":\"");
    out.put_slice(word.as_bytes());
    out.put_slice(b"\",\"object\":");
    out.put_slice(object);
    out.put_slice(b"}\n");
}
