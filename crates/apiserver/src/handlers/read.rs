//! GET of one object and of collections.
//!
//! A list is the stored bodies between a head and a tail, gathered into chunks while the client
//! reads; memory per request is one pointer per object.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use bytes::{BufMut, Bytes, BytesMut};
use flotilla_machinery::status::Status;
use futures::stream;
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::{
    body::{self, Body, CHUNK_BYTES},
    call::Call,
    components, convert,
    filter::Filter,
    negotiate::{As, Media},
    page,
    params::{ListOptions, VersionMatch, parse_version},
    render,
    request::query_pairs,
    store::{Object, ObjectKey, Objects, State, list as in_order},
    table::Columns,
};

const TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list \
     result. You can start a new list without the continue parameter, or use the continue token \
     in this response to retrieve the remainder of the results. Continuing with the provided \
     token results in an inconsistent list - objects that were created, modified, or deleted \
     between the time the first chunk was returned and now may show up in the list.";

/// One page of a list.
pub(crate) struct Page {
    /// The objects, in order.
    pub(crate) objects: Vec<Arc<Object>>,
    /// ListMeta.
    pub(crate) metadata: Value,
}

struct Source {
    objects: Objects,
    rev: u64,
    start: Option<ObjectKey>,
    /// Whether the next page reads the same state again.
    pinned: bool,
}

/// GET of one object.
pub(crate) async fn get(call: &Call) -> Result<Response<Body>, Status> {
    let asked = query_pairs(&call.query).find(|(name, _)| name == "resourceVersion");
    let asked = parse_version(&asked.map_or(String::new(), |(_, v)| v.into_owned()))?;
    not_from_the_future(asked, &call.state)?;
    let made = components::are(&call.resource)
        .then(|| components::objects(call.state.rev, &call.engine.components()));
    let object = match &made {
        Some(objects) => objects.get(&call.key()),
        None => call.state.get(&call.resource.storage, &call.key()),
    };
    let object = object.ok_or_else(|| call.not_found())?;
    if matches!(call.accepted.shape, As::Metadata(_)) {
        return Ok(render::object(call, StatusCode::OK, object));
    }
    let object = convert::view(&call.engine, &call.resource, object).await?;
    Ok(render::object(call, StatusCode::OK, &object))
}

/// GET of a collection.
pub(crate) async fn list(call: &Call) -> Result<Response<Body>, Status> {
    let options = ListOptions::parse(&call.query, false)?;
    let page = select(call, &options, converts(call)).await?;
    Ok(match &call.accepted.shape {
        As::Object if call.accepted.media == Media::Json && !call.pretty => stream_page(call, page),
        As::Object => {
            let items: Vec<Value> = page
                .objects
                .iter()
                .map(|o| render::item(&call.resource, o))
                .collect();
            let list = json!({
                "kind": *call.resource.list_kind,
                "apiVersion": call.resource.api_version(),
                "metadata": page.metadata,
                "items": items,
            });
            render::made(call, StatusCode::OK, &list)
        }
        As::Metadata(version) => metadata_page(call, version, &page),
        As::Table(version) if call.accepted.media == Media::Json && !call.pretty => {
            stream_table(call, version, page)
        }
        As::Table(version) => {
            let objects = page
                .objects
                .iter()
                .map(|o| render::value(&call.resource, o));
            let objects: Vec<Value> = objects.collect();
            let table = render::table(call, version, &objects, page.metadata, true);
            render::made(call, StatusCode::OK, &table)
        }
    })
}

/// Whether the objects of a list or watch are shown in the version of the request. What only has
/// metadata is made from the stored object, so that garbage collection and other readers of
/// metadata do not depend on a webhook (docs/differences.md, "Conversion webhooks").
pub(crate) fn converts(call: &Call) -> bool {
    call.resource.webhook.is_some() && !matches!(call.accepted.shape, As::Metadata(_))
}

/// The objects of a list and where it goes on. `converts` says whether they are needed in the
/// version of the request; if not, they are as stored.
///
/// # Errors
/// 410 when the state a token or `Exact` asks for is gone, 400 for unknown field labels, 500 when a
/// webhook cannot translate one of the objects.
pub(crate) async fn select(
    call: &Call,
    options: &ListOptions,
    converts: bool,
) -> Result<Page, Status> {
    let filter = Filter::new(call, options)?;
    let converts = converts || (call.resource.webhook.is_some() && filter.needs_fields());
    let namespace = call.list_namespace();
    let source = source(call, options)?;
    let whole_key = namespace.is_some() || !call.resource.namespaced;
    if let Some(key) = filter
        .name()
        .filter(|_| whole_key)
        .map(|name| call.key_of(name))
    {
        let found = source.objects.get(&key).cloned();
        let mut objects: Vec<Arc<Object>> = found.into_iter().collect();
        if converts {
            objects = convert::views(&call.engine, &call.resource, objects).await?;
        }
        let n_found = objects.len();
        objects.retain(|object| filter.matches(object));
        observe(call, n_found, &objects);
        let metadata = list_metadata(call, source.rev).into();
        return Ok(Page { objects, metadata });
    }
    let mut candidates = in_order(&source.objects, namespace, source.start.as_ref());
    let limit = usize::try_from(options.limit)
        .ok()
        .filter(|l| *l > 0)
        .unwrap_or(usize::MAX);
    // With a selector the count would not be sent, so one more object is all that matters.
    let counted = filter.is_everything();
    let (objects, n_left) = if converts {
        let n_fetched = AtomicUsize::new(0);
        let count = |_: &Arc<Object>| _ = n_fetched.fetch_add(1, Relaxed);
        let mut candidates = candidates.cloned().inspect(count);
        let mut objects = convert::matching(call, &filter, &mut candidates, limit).await?;
        observe(call, n_fetched.load(Relaxed), &objects);
        match counted {
            true => {
                let n_left = candidates.count();
                (objects, n_left)
            }
            false => {
                let n_left = objects.len().saturating_sub(limit);
                objects.truncate(limit);
                (objects, n_left)
            }
        }
    } else {
        let mut n_fetched = 0;
        let looked_at = candidates.by_ref().inspect(|_| n_fetched += 1);
        let matching = looked_at.filter(|object| filter.matches(object));
        let objects: Vec<Arc<Object>> = matching.take(limit).cloned().collect();
        observe(call, n_fetched, &objects);
        let mut rest = candidates.filter(|object| filter.matches(object));
        let n_left = match counted {
            true => rest.count(),
            false => usize::from(rest.next().is_some()),
        };
        (objects, n_left)
    };
    let mut metadata = list_metadata(call, source.rev);
    if let Some(last) = objects.last().filter(|_| n_left > 0) {
        let token = page::encode(source.pinned.then_some(source.rev), &last.key, namespace);
        metadata.insert("continue".to_owned(), token.into());
        if counted {
            metadata.insert("remainingItemCount".to_owned(), n_left.into());
        }
    }
    Ok(Page {
        objects,
        metadata: metadata.into(),
    })
}

fn observe(call: &Call, n_fetched: usize, objects: &[Arc<Object>]) {
    let metrics = &call.engine.metrics;
    metrics.observe_list(&call.resource.storage, n_fetched, objects.len());
}

/// The metadata of a list that ends with this page.
fn list_metadata(call: &Call, rev: u64) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), rev.to_string().into());
    if call.resource.custom.is_some() && matches!(call.accepted.shape, As::Object) {
        // Upstream builds these lists by hand, and writes the token always.
        metadata.insert("continue".to_owned(), "".into());
    }
    metadata
}

/// Refuses revisions that do not exist yet. Memory is the truth, so waiting would not help.
///
/// # Errors
/// 504 with the cause that makes clients try again.
pub(crate) fn not_from_the_future(asked: Option<u64>, state: &State) -> Result<(), Status> {
    match asked {
        Some(rev) if rev > state.rev => Err(Status::too_large_resource_version(rev, state.rev)),
        _ => Ok(()),
    }
}

fn source(call: &Call, options: &ListOptions) -> Result<Source, Status> {
    if components::are(&call.resource) {
        return made(call, options);
    }
    let state = &call.state;
    let resource = &call.resource.storage;
    let newest = || {
        state
            .collection(resource)
            .map(|c| c.objects.clone())
            .unwrap_or_default()
    };
    if !options.continue_token.is_empty() {
        return continued(call, options, newest);
    }
    not_from_the_future(options.resource_version, state)?;
    let exact = match (options.resource_version, options.version_match) {
        (Some(rev), Some(VersionMatch::Exact)) => Some(rev),
        (Some(rev), None) if rev > 0 && options.limit > 0 => Some(rev),
        _ => None,
    };
    let Some(rev) = exact else {
        return Ok(Source {
            objects: newest(),
            rev: state.rev,
            start: None,
            pinned: true,
        });
    };
    let objects = state
        .objects_at(resource, rev)
        .map_err(|_| Status::expired("The resourceVersion for the provided list is too old."))?;
    Ok(Source {
        objects,
        rev,
        start: None,
        pinned: true,
    })
}

/// Objects that are made for this request. They have no history, so pages go on in those of now.
fn made(call: &Call, options: &ListOptions) -> Result<Source, Status> {
    let start = match options.continue_token.as_str() {
        "" => None,
        token => Some(page::decode(token, call.list_namespace())?.start),
    };
    Ok(Source {
        objects: components::objects(call.state.rev, &call.engine.components()),
        rev: call.state.rev,
        start,
        pinned: false,
    })
}

fn continued(
    call: &Call,
    options: &ListOptions,
    newest: impl FnOnce() -> Objects,
) -> Result<Source, Status> {
    if options.resource_version.is_some_and(|rev| rev != 0) {
        let why = "specifying resource version is not allowed when using continue";
        return Err(Status::bad_request(why));
    }
    let namespace = call.list_namespace();
    let token = page::decode(&options.continue_token, namespace)?;
    let start = Some(token.start.clone());
    let Some(rev) = token.rev else {
        return Ok(Source {
            objects: newest(),
            rev: call.state.rev,
            start,
            pinned: false,
        });
    };
    not_from_the_future(Some(rev), &call.state)?;
    let objects = call
        .state
        .objects_at(&call.resource.storage, rev)
        .map_err(|_| {
            let last = token.start.name.trim_end_matches('\0');
            let last = ObjectKey::new(&token.start.namespace, last);
            Status::expired(TOO_OLD).with_continue(page::encode(None, &last, namespace))
        })?;
    Ok(Source {
        objects,
        rev,
        start,
        pinned: true,
    })
}

fn stream_page(call: &Call, page: Page) -> Response<Body> {
    let head = format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
        call.resource.list_kind,
        call.resource.api_version(),
        page.metadata,
    );
    let resource = call.resource.clone();
    stream_items(head, page.objects, move |out, object| {
        render::put_item(out, &resource, object);
    })
}

/// A Table, row by row: only one object is parsed at a time.
fn stream_table(call: &Call, version: &'static str, page: Page) -> Response<Body> {
    let head = render::table_head(call, version, &page.metadata);
    let (resource, include, now) = (call.resource.clone(), render::included(call), call.now);
    let columns = Columns::of(&call.resource);
    stream_items(head, page.objects, move |out, object| {
        let object = render::value(&resource, object);
        out.put_slice(&render::to_bytes(
            &columns.row(&object, include, version, now),
        ));
    })
}

/// A response of `head`, the objects as `put` writes them, and a tail, gathered into chunks.
fn stream_items(
    head: String,
    objects: Vec<Arc<Object>>,
    put: impl Fn(&mut BytesMut, &Object) + Send + 'static,
) -> Response<Body> {
    let chunks = stream::unfold((0_usize, head), move |(mut at, head)| {
        if at > objects.len() {
            return std::future::ready(None);
        }
        let mut out = BytesMut::with_capacity(CHUNK_BYTES.min(1024 + 512 * objects.len()));
        out.put_slice(head.as_bytes());
        while at < objects.len() && out.len() < CHUNK_BYTES {
            if at > 0 {
                out.put_u8(b',');
            }
            put(&mut out, &objects[at]);
            at += 1;
        }
        if at == objects.len() {
            out.put_slice(b"]}\n");
            at += 1;
        }
        std::future::ready(Some((out.freeze(), (at, String::new()))))
    });
    render::with_type(StatusCode::OK, crate::negotiate::JSON, body::stream(chunks))
}

fn metadata_page(call: &Call, version: &str, page: &Page) -> Response<Body> {
    if page.objects.is_empty() {
        let list = json!({
            "kind": "PartialObjectMetadataList",
            "apiVersion": format!("meta.k8s.io/{version}"),
            "metadata": page.metadata,
            // Upstream gathers them in a list that it never begins.
            "items": null,
        });
        return render::made(call, StatusCode::OK, &list);
    }
    let mut out = BytesMut::new();
    out.put_slice(
        format!(
            "{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/{version}\",\
             \"metadata\":{},\"items\":[",
            page.metadata
        )
        .as_bytes(),
    );
    for (at, object) in page.objects.iter().enumerate() {
        if at > 0 {
            out.put_u8(b',');
        }
        out.put_slice(&render::metadata(&call.resource, version, object));
    }
    out.put_slice(b"]}");
    render::reply(StatusCode::OK, call, Bytes::from(out))
}
