//! Watches: a cursor over the shared history of a resource.
//!
//! A watch keeps a filter and the revision it has sent up to, nothing else; events are read from
//! the published state when the client has room for them, and encoded once for all plain watches.
//! A client that reads too slowly falls behind until history has moved on, then gets 410 and lists
//! again. Nobody waits for it and nothing grows.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/endpoints/handlers/watch.go`,
//! `pkg/storage/cacher/cache_watcher.go`.

use std::{ops::Bound, sync::Arc, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use flotilla_machinery::status::Status;
use futures::stream;
use http::{Response, StatusCode};
use prometheus_client::metrics::{counter::Counter, gauge::Gauge};
use serde_json::{Value, json};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep_until},
};

use super::read::not_from_the_future;
use crate::{
    body::{self, Body, CHUNK_BYTES},
    call::Call,
    filter::Filter,
    metrics::ResourceLabels,
    negotiate::{As, JSON},
    params::ListOptions,
    registry::Conversion,
    render,
    store::{Collection, Event, EventKind, Object, ObjectKey, Subscription, list as in_order},
};

/// Seconds between two bookmarks; each watch is moved by up to a quarter, so that they spread.
const BOOKMARK_SECONDS: u64 = 60;
/// A last bookmark comes this long before the watch ends.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// Annotation of the bookmark behind the initial state.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// One watch.
struct Watch {
    call: Call,
    filter: Filter,
    subscription: Subscription,
    /// The state still to be sent as ADDED, and the key after the last sent one.
    initial: Option<(Arc<Collection>, Option<ObjectKey>)>,
    /// Whether a bookmark closes the initial state.
    announce: bool,
    /// Everything up to here was sent or filtered out.
    cursor: u64,
    bookmarks: bool,
    next_bookmark: Instant,
    /// Whether that time has come.
    due: bool,
    end: Instant,
    /// Whether the table columns were sent.
    columns_sent: bool,
    done: bool,
    /// Counts what was sent.
    sent: Counter,
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

/// GET of a collection with `watch`.
///
/// # Errors
/// 400 and 422 for options without sense, 504 for a revision of the future.
pub(crate) fn watch(call: Call, permit: OwnedSemaphorePermit) -> Result<Response<Body>, Status> {
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
    let mut watch = Watch {
        filter,
        subscription,
        initial: collection.map(|c| (c, None)),
        announce: options.send_initial_events == Some(true) && options.allow_bookmarks,
        cursor,
        bookmarks: options.allow_bookmarks,
        next_bookmark: now,
        due: false,
        end: now + Duration::from_secs(seconds),
        columns_sent: false,
        done: false,
        sent: call
            .engine
            .metrics
            .watch_events
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
        let labels = labels(call);
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
        if let Some(chunk) = self.next_initial() {
            return Some(chunk);
        }
        loop {
            if let Some(chunk) = self.next_live() {
                return Some(chunk);
            }
            if self.due {
                self.due = false;
                self.schedule();
                // Without bookmarks the timer still moves the cursor on, so that a quiet watch does
                // not fall out of history.
                if self.bookmarks {
                    return Some(self.bookmark(false));
                }
            }
            let stop = self.call.engine.stop.clone();
            tokio::select! {
                changed = self.subscription.changed() => { changed?; }
                () = sleep_until(self.next_bookmark) => self.due = true,
                () = sleep_until(self.end) => return None,
                () = stop.cancelled() => return None,
            }
        }
    }

    /// Sets the time of the next bookmark; the last one comes shortly before the end.
    fn schedule(&mut self) {
        let now = Instant::now();
        let next = now + Duration::from_millis(bookmark_millis(self.call.engine.entropy()));
        let last = self.end - LAST_BOOKMARK;
        self.next_bookmark = if next > last && now < last {
            last
        } else {
            next
        };
    }

    fn next_initial(&mut self) -> Option<Bytes> {
        let mut out = BytesMut::new();
        if let Some((collection, start)) = self.initial.take() {
            let namespace = self.call.list_namespace().map(str::to_owned);
            let objects = in_order(&collection.objects, namespace.as_deref(), start.as_ref());
            let mut after = None;
            for object in objects {
                if out.len() >= CHUNK_BYTES {
                    after = Some(object.key.clone());
                    break;
                }
                if self.filter.matches(object) {
                    self.put(&mut out, "ADDED", object);
                }
            }
            if let Some(after) = after {
                self.initial = Some((collection, Some(after)));
                return Some(out.freeze());
            }
        }
        if std::mem::take(&mut self.announce) {
            out.put_slice(&self.bookmark(true));
        }
        (!out.is_empty()).then(|| out.freeze())
    }

    /// Events after the cursor, up to a chunk of bytes.
    fn next_live(&mut self) -> Option<Bytes> {
        let state = self.call.engine.store.state();
        if state.rev == self.cursor {
            return None;
        }
        let storage = &self.call.resource.storage;
        let compacted = state.compacted(storage);
        if self.cursor < compacted {
            self.done = true;
            let status = Status::too_old(self.cursor, compacted);
            return Some(line("ERROR", &render::to_bytes(&status.to_value())));
        }
        let newer = (Bound::Excluded(self.cursor), Bound::Unbounded);
        let collection = state.collection(storage);
        let events = collection.into_iter().flat_map(|c| c.events.range(newer));
        let mut out = BytesMut::new();
        let mut single = None;
        for (_, event) in events {
            self.cursor = event.rev;
            match (self.encode(event), single.take()) {
                (None, before) => single = before,
                (Some(bytes), None) if out.is_empty() => single = Some(bytes),
                (Some(bytes), before) => {
                    out.put_slice(&before.unwrap_or_default());
                    out.put_slice(&bytes);
                }
            }
            if out.len() >= CHUNK_BYTES {
                return Some(out.freeze());
            }
        }
        self.cursor = self.cursor.max(state.rev);
        match single {
            Some(bytes) => Some(bytes),
            None => (!out.is_empty()).then(|| out.freeze()),
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
        let is = self.filter.matches(&event.object);
        let was = event
            .previous
            .as_ref()
            .is_some_and(|previous| self.filter.matches(previous));
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
        let word = match seen {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        };
        if seen == EventKind::Deleted && event.kind == EventKind::Modified {
            // It left the selection: the client sees its last state inside, at the new revision.
            let previous = event.previous.as_ref()?.at_revision(event.rev);
            let mut out = BytesMut::new();
            self.put(&mut out, word, &previous);
            return Some(out.freeze());
        }
        let shared = seen == event.kind && self.call.resource.conversion == Conversion::None;
        if shared && let Some(form) = self.form() {
            let shape = self.call.accepted.shape.clone();
            return Some(event.encoded(form, || match shape {
                As::Metadata(version) => line(word, &render::metadata(version, &event.object)),
                _ => line(word, &event.object.body),
            }));
        }
        let mut out = BytesMut::new();
        self.put(&mut out, word, &event.object);
        Some(out.freeze())
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
            As::Metadata(version) => render::metadata(version, object),
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
