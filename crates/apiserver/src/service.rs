//! The server as one `tower` service: what happens to every request before and after its handler.
//!
//! Order, as upstream: request line, identity, impersonation, places in flight, permission, body,
//! handler under a deadline; panics become 500 and stay in their request. The same service answers
//! network connections and, with an [`Identity`] in the request's extensions, clients in the
//! process.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/server/config.go`, `DefaultBuildHandlerChain`.

use std::{
    convert::Infallible,
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use flotilla_machinery::status::Status;
use futures::FutureExt;
use http::{HeaderName, HeaderValue, Method, Request, Response, header};
use http_body_util::BodyExt;
use hyper::upgrade::OnUpgrade;
use prometheus_client::metrics::histogram::Histogram;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tracing::Instrument;

use crate::{
    access::{Attributes, Authenticator, Authorizer, Decision, Identity, ResourceAttributes},
    body::Body,
    call::{Call, Parts, header as text},
    compress,
    decode::BODY_BYTES_MAX,
    engine::Engine,
    handlers::{create, delete, eviction, modify, patch, read, review, subresource, watch},
    impersonate,
    metrics::RequestLabels,
    negotiate::{Accepted, accept},
    paths,
    registry::{Registry, Resource, Verb},
    render,
    request::{self, RequestInfo},
    websocket::handshake,
};

/// The server. Clones share everything.
#[derive(Clone)]
pub struct Service {
    engine: Arc<Engine>,
}

/// The future of one response.
pub type Responding = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// Longest `Warning` headers together, in bytes; beyond that each is cut.
const WARNINGS_BYTES_MAX: usize = 4 << 10;
/// Where each warning is cut then, in characters.
const WARNING_CHARS_MAX: usize = 256;

impl Service {
    /// A service over this engine.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// What the requests share.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

impl<B> tower::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Responding;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Responding {
        let engine = self.engine.clone();
        let (parts, body) = request.into_parts();
        Box::pin(async move {
            let audit_id = uuid::Uuid::new_v4().to_string();
            let mut response = respond(engine, parts, body).await;
            let headers = response.headers_mut();
            headers.insert(
                AUDIT_ID,
                HeaderValue::from_str(&audit_id).expect("a uuid is ASCII"),
            );
            let uncached = HeaderValue::from_static("no-cache, private");
            headers.entry(header::CACHE_CONTROL).or_insert(uncached);
            Ok(response)
        })
    }
}

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// A finished response together with what it was about, for the metrics.
async fn respond<B>(engine: Arc<Engine>, parts: http::request::Parts, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    #[expect(clippy::disallowed_methods, reason = "durations for the metrics")]
    let start = std::time::Instant::now();
    let accepted = accept(text(&parts.headers, "accept")).unwrap_or_default();
    let form = Form::of(&parts);
    let info = request::parse(&parts.method, parts.uri.path(), parts.uri.query());
    let (info, result) = match info {
        Err(error) => (
            RequestInfo::default(),
            Err(Status::bad_request(error.to_string())),
        ),
        Ok(info) => {
            let span = tracing::debug_span!(
                "Request",
                verb = %info.verb,
                resource = %info.resource,
                namespace = %info.namespace,
                name = %info.name
            );
            let handled = handle(engine.clone(), info.clone(), parts, body).instrument(span);
            let result = AssertUnwindSafe(handled).catch_unwind().await;
            (info, result.unwrap_or_else(|_| Err(panicked(&engine))))
        }
    };
    let response = result.unwrap_or_else(|s| {
        render::status(
            &s,
            &Accepted {
                media: accepted.media,
                ..Accepted::default()
            },
            false,
        )
    });
    let registry = engine.registry(&engine.store.state());
    let labels = labels(&registry, &info, form, response.status().as_u16());
    let response = match labels.verb.as_str() {
        "GET" | "LIST" if !labels.resource.is_empty() => {
            measured(response, engine.metrics.response_sizes(&labels))
        }
        _ => response,
    };
    let row = registry.get(&info.group, &info.version, &info.resource);
    if row.is_some_and(|row| row.deprecation.is_some()) {
        engine.metrics.observe_deprecated(&labels);
    }
    engine.metrics.observe(labels, start.elapsed());
    response
}

/// What the metrics want to know of a request beyond its path.
#[derive(Clone, Copy)]
struct Form {
    is_apply: bool,
    is_dry_run: bool,
}

impl Form {
    fn of(parts: &http::request::Parts) -> Self {
        let media = text(&parts.headers, "content-type").unwrap_or("");
        let mut pairs = request::query_pairs(parts.uri.query().unwrap_or(""));
        Self {
            is_apply: media.starts_with("application/apply-patch"),
            is_dry_run: pairs.any(|(name, value)| name == "dryRun" && value == "All"),
        }
    }
}

/// A response whose bytes are counted when it ends.
fn measured(response: Response<Body>, sizes: Histogram) -> Response<Body> {
    struct Tally(u64, Histogram);
    impl Tally {
        fn add(&mut self, n_bytes: usize) {
            self.0 += n_bytes as u64;
        }
    }
    impl Drop for Tally {
        fn drop(&mut self) {
            self.1.observe(self.0 as f64);
        }
    }
    let mut tally = Tally(0, sizes);
    response.map(|body| {
        let counted = body.map_frame(move |frame| {
            tally.add(frame.data_ref().map_or(0, Bytes::len));
            frame
        });
        counted.boxed_unsync()
    })
}

async fn handle<B>(
    engine: Arc<Engine>,
    info: RequestInfo,
    mut parts: http::request::Parts,
    body: B,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let user = identify(&engine, &parts)?;
    let user = impersonate::effective(&engine, user, &parts.headers)?;
    let permit = enter(&engine, &info)?;
    permit_or_refuse(&engine, &user, &info)?;
    if !info.is_resource {
        return paths::serve(&engine, &info, &parts).await;
    }
    if !is_known(&engine, &info) {
        return Ok(paths::absent());
    }
    let deadline = engine.limits.deadline;
    let upgrade = parts.extensions.remove::<OnUpgrade>();
    let upgrade = upgrade.filter(|_| handshake::is_asked(&parts.headers));
    let has_body = parts.method != Method::GET && parts.method != Method::HEAD;
    let (body, permit) = read_in_place(&engine, &info, permit, read_body(body, has_body)).await?;
    let query = parts.uri.query().unwrap_or("").to_owned();
    let call = Call::new(
        engine,
        Parts {
            info,
            query,
            headers: parts.headers,
            user,
            body,
        },
    )?;
    if let Some(text) = &call.resource.deprecation {
        call.warn(text.to_string());
    }
    if call.info.verb == "watch" {
        check_verb(&call)?;
        return watch::watch(call, permit, upgrade);
    }
    let result = timeout(deadline, dispatch(&call))
        .await
        .unwrap_or_else(|_| Err(too_slow()));
    drop(permit);
    // Warnings travel with refusals too.
    let mut response = result.unwrap_or_else(|s| render::status(&s, &call.accepted, call.pretty));
    add_warnings(&mut response, call.take_warnings());
    if compress::is_accepted(&call.headers) {
        response = compress::large(response).await;
    }
    Ok(response)
}

/// Whether a request is for something served, or for something else in a group that is built in.
fn is_known(engine: &Engine, info: &RequestInfo) -> bool {
    let registry = engine.registry(&engine.store.state());
    let found = registry.get(&info.group, &info.version, &info.resource);
    found.is_some() || registry.has_built_in(&info.group)
}

async fn dispatch(call: &Call) -> Result<Response<Body>, Status> {
    check_verb(call)?;
    render::check_included(call)?;
    match (call.info.subresource.as_str(), call.info.verb) {
        ("scale", "get") => Box::pin(subresource::get_scale(call)).await,
        ("scale", "update" | "patch") => Box::pin(subresource::write_scale(call)).await,
        ("binding", "create") => Box::pin(subresource::bind(call)).await,
        ("eviction", "create") => Box::pin(eviction::eviction(call)).await,
        ("exec" | "attach" | "portforward" | "log" | "proxy", _) => {
            if call
                .state
                .get(&call.resource.storage, &call.key())
                .is_none()
            {
                return Err(call.not_found());
            }
            Err(Status::unavailable(format!(
                "{}/{} needs a node agent, and none is connected",
                call.resource.plural, call.info.subresource
            )))
        }
        ("token", "create") => review::token(call),
        ("", "create") if !call.resource.is_stored() => Box::pin(review::create(call)).await,
        (_, "get") => Box::pin(read::get(call)).await,
        ("", "list") => Box::pin(read::list(call)).await,
        ("", "create") => Box::pin(create::create(call)).await,
        (_, "update") => Box::pin(modify::update(call)).await,
        (_, "patch") => Box::pin(patch::patch(call)).await,
        ("", "delete") => Box::pin(delete::delete(call)).await,
        ("", "deletecollection") => Box::pin(delete::delete_collection(call)).await,
        _ => Err(Status::no_such_method()),
    }
}

fn check_verb(call: &Call) -> Result<(), Status> {
    let verb = match call.info.verb {
        "deletecollection" => Some(Verb::DeleteCollection),
        word => Verb::parse(word),
    };
    let verbs = match call.resource.subresource(&call.info.subresource) {
        Some(sub) => sub.verbs,
        None => call.resource.verbs,
    };
    let one = call.info.named || call.info.verb == "create";
    let misplaced = if call.resource.namespaced {
        one && call.info.namespace.is_empty()
    } else {
        !call.info.namespace.is_empty() && &*call.resource.plural != "namespaces"
    };
    if misplaced && call.info.verb == "create" && call.resource.namespaced {
        // The path is there, for lists of all namespaces.
        return Err(Status::no_such_method());
    }
    if misplaced {
        return Err(Status::unknown_resource());
    }
    let misdirected = match call.info.verb {
        "update" | "patch" => !call.info.named,
        "create" => call.info.named && call.info.subresource.is_empty(),
        _ => false,
    };
    match verb {
        Some(verb) if verbs.contains(verb) && !misdirected => Ok(()),
        _ => Err(Status::no_such_method()),
    }
}

/// Who asks: the identity the connection or process vouches for, the bearer token's (which comes in
/// a subprotocol when a browser opens a WebSocket), or nobody in particular, who may do what the rules grant `system:unauthenticated`.
fn identify(engine: &Engine, parts: &http::request::Parts) -> Result<Identity, Status> {
    if let Some(identity) = parts.extensions.get::<Identity>() {
        return Ok(identity.clone());
    }
    let bearer = text(&parts.headers, "authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let hidden = match handshake::is_asked(&parts.headers) {
        true => handshake::token(&parts.headers).map_err(|_| Status::unauthorized())?,
        false => None,
    };
    let bearer = bearer.filter(|token| !token.is_empty());
    match bearer.or(hidden.as_deref()) {
        Some(token) => match engine.tokens.token(token, &[], engine.now()) {
            Ok(Some(identity)) => Ok(identity),
            Ok(None) | Err(_) => Err(Status::unauthorized()),
        },
        None => Ok(Identity::anonymous()),
    }
}

fn permit_or_refuse(engine: &Engine, user: &Identity, info: &RequestInfo) -> Result<(), Status> {
    if !info.is_resource && paths::is_public(&info.path) {
        return Ok(());
    }
    let attributes = attributes(info);
    match engine.access.authorize(user, &attributes) {
        Decision::Allow(_) => Ok(()),
        Decision::NoOpinion(why) => Err(impersonate::denied(user, &attributes, &why)),
    }
}

fn attributes(info: &RequestInfo) -> Attributes {
    if !info.is_resource {
        return Attributes::Path {
            path: info.path.clone(),
            verb: info.verb.to_owned(),
        };
    }
    Attributes::Resource(ResourceAttributes {
        verb: info.verb.to_owned(),
        group: info.group.clone(),
        version: info.version.clone(),
        resource: info.resource.clone(),
        subresource: info.subresource.clone(),
        namespace: info.namespace.clone(),
        name: info.name.clone(),
    })
}

/// A place in flight; long-running requests have their own, health checks always get through.
fn enter(engine: &Engine, info: &RequestInfo) -> Result<OwnedSemaphorePermit, Status> {
    let gates = &engine.gates;
    let gate = match () {
        () if info.is_resource && info.is_long_running() => &gates.watches,
        () if info.is_read_only() => &gates.reads,
        () => &gates.writes,
    };
    if !info.is_resource && paths::is_public(&info.path) {
        // Not counted, but the caller wants something to hold.
        return Ok(unlimited());
    }
    place_in(gate)
}

fn place_in(gate: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Status> {
    gate.clone()
        .try_acquire_owned()
        .map_err(|_| Status::too_many_requests("Too many requests, please try again later.", 1))
}

/// Reads the body of a request that is in flight. One that comes slowly waits elsewhere and takes its place in flight anew
/// when it is complete.
async fn read_in_place(
    engine: &Engine,
    info: &RequestInfo,
    permit: OwnedSemaphorePermit,
    body: impl Future<Output = Result<Bytes, Status>>,
) -> Result<(Bytes, OwnedSemaphorePermit), Status> {
    let limits = &engine.limits;
    let mut body = std::pin::pin!(body);
    if let Ok(body) = timeout(limits.body_is_slow_after, body.as_mut()).await {
        return Ok((body?, permit));
    }
    drop(permit);
    let _slow = place_in(&engine.gates.slow_bodies)?;
    let body = timeout(limits.deadline, body)
        .await
        .map_err(|_| too_slow())??;
    Ok((body, enter(engine, info)?))
}

fn unlimited() -> OwnedSemaphorePermit {
    let gate = Arc::new(Semaphore::new(1));
    gate.try_acquire_owned().expect("the only place is free")
}

async fn read_body<B>(body: B, wanted: bool) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: std::fmt::Display,
{
    if !wanted {
        return Ok(Bytes::new());
    }
    let too_large = || Status::too_large(format!("limit is {BODY_BYTES_MAX}"));
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    let mut body = std::pin::pin!(body);
    let mut out = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|e| Status::bad_request(format!("reading the request body: {e}")))?;
        if let Ok(data) = frame.into_data() {
            if out.len() + data.len() > BODY_BYTES_MAX {
                return Err(too_large());
            }
            out.extend_from_slice(&data);
        }
    }
    Ok(out.freeze())
}

fn too_slow() -> Status {
    Status::timeout("request did not complete within the allotted timeout", 0)
}

fn panicked(engine: &Engine) -> Status {
    engine.metrics.panics.inc();
    tracing::error!("A request panicked");
    Status::internal("this request caused the server to panic; the log has the details")
}

/// `Warning: 299 - "text"` for each; when all together are too long, each is cut.
fn add_warnings(response: &mut Response<Body>, warnings: Vec<String>) {
    let total: usize = warnings.iter().map(String::len).sum();
    for mut text in warnings {
        if total > WARNINGS_BYTES_MAX {
            text = text.chars().take(WARNING_CHARS_MAX).collect();
        }
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

/// What a request counts as. Only what is served becomes a label: requests that are refused before
/// anybody looks whether their resource exists must not grow the metrics.
fn labels(registry: &Registry, info: &RequestInfo, form: Form, code: u16) -> RequestLabels {
    let row = registry.get(&info.group, &info.version, &info.resource);
    let known = row.filter(|_| info.is_resource);
    let scope = match known {
        None => "",
        Some(_) if info.named => "resource",
        Some(_) if !info.namespace.is_empty() => "namespace",
        Some(_) => "cluster",
    };
    let subresource = known.and_then(|row| row.subresource(&info.subresource));
    let name = |part: fn(&Resource) -> &str| known.map_or("", |row| part(row)).to_owned();
    RequestLabels {
        verb: reported_verb(info, form),
        group: name(|row| &row.group),
        version: name(|row| &row.version),
        resource: name(|row| &row.plural),
        subresource: subresource.map_or(String::new(), |sub| sub.name.to_string()),
        scope: scope.to_owned(),
        component: "apiserver".to_owned(),
        code,
        dry_run: if form.is_dry_run { "All" } else { "" }.to_owned(),
    }
}

/// The verb as metrics call it.
fn reported_verb(info: &RequestInfo, form: Form) -> String {
    let word = match info.verb {
        _ if info.is_resource
            && matches!(
                info.subresource.as_str(),
                "exec" | "attach" | "portforward" | "proxy"
            ) =>
        {
            "CONNECT"
        }
        "create" => "POST",
        "update" => "PUT",
        "patch" if form.is_apply => "APPLY",
        other => return other.to_uppercase(),
    };
    word.to_owned()
}
