//! Paths outside the objects: health, version, metrics, discovery, OpenAPI, the index.

use std::sync::Arc;

use flotilla_machinery::status::Status;
use http::{HeaderValue, Response, StatusCode, header as names, request::Parts};
use serde_json::json;

use crate::{
    auth::service_account,
    body::{self, Body},
    call::header,
    discovery,
    engine::Engine,
    metrics::{Now, Stored, format, process::Process},
    openapi::Ask,
    render,
    request::{RequestInfo, query_pairs},
};

/// The version whose behaviour this server has.
pub(crate) const GIT_VERSION: &str = concat!("v1.35.4+flotilla.", env!("CARGO_PKG_VERSION"));

const TEXT: &str = "text/plain; charset=utf-8";

/// Whether anybody may ask, with or without an identity.
pub(crate) fn is_public(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    ["/healthz", "/livez", "/readyz"].iter().any(|p| {
        path == *p
            || path
                .strip_prefix(p)
                .is_some_and(|rest| rest.starts_with('/'))
    }) || path == "/version"
}

/// Answers a path that is not an object or collection.
pub(crate) async fn serve(
    engine: &Arc<Engine>,
    info: &RequestInfo,
    parts: &Parts,
) -> Result<Response<Body>, Status> {
    let query = parts.uri.query().unwrap_or("");
    let path = info.path.trim_end_matches('/');
    let is_health = ["/healthz", "/livez", "/readyz"]
        .iter()
        .any(|check| path.starts_with(check));
    // Health is told to any method, as upstream does; some load balancers ask with POST.
    if !is_health && !matches!(info.verb, "get" | "head") {
        return Err(Status::no_such_method());
    }
    match path {
        "" => Ok(index(engine)),
        "/.well-known/openid-configuration" => {
            Ok(json_reply(&service_account::discovery(&engine.issuer)))
        }
        "/openid/v1/jwks" => {
            let keys = render::to_bytes(&service_account::jwks(&engine.issuer));
            Ok(render::with_type(
                StatusCode::OK,
                "application/jwk-set+json",
                body::full(keys),
            ))
        }
        "/version" => Ok(json_reply(&version())),
        "/metrics" => Ok(metrics(
            engine,
            header(&parts.headers, "accept").unwrap_or(""),
        )),
        _ if is_health => Ok(health(engine, path, query)),
        _ if path.starts_with("/openapi") => open_api(engine.clone(), path.to_owned(), parts).await,
        _ => discover(engine, path, parts),
    }
}

/// OpenAPI documents, rendered on a thread that may block.
async fn open_api(
    engine: Arc<Engine>,
    path: String,
    parts: &Parts,
) -> Result<Response<Body>, Status> {
    let query = parts.uri.query().unwrap_or("");
    let hash = query_pairs(query)
        .find(|(name, _)| name == "hash")
        .map(|(_, v)| v.into_owned());
    let text = |name: &str| header(&parts.headers, name).map(str::to_owned);
    let (accept, known) = (text("accept"), text("if-none-match"));
    let gzip = text("accept-encoding").is_some_and(|encodings| encodings.contains("gzip"));
    let rendering = tokio::task::spawn_blocking(move || {
        let state = engine.store.state();
        let registry = engine.registry(&state);
        let ask = Ask {
            path: &path,
            hash: hash.as_deref(),
            accept: accept.as_deref(),
            gzip,
            if_none_match: known.as_deref(),
        };
        engine
            .open_api
            .answer(&ask, &registry, &state, engine.now())
    });
    let answer = rendering.await.map_err(Status::internal)?;
    let answer = answer.ok_or_else(Status::unknown_resource)?;
    let mut response = Response::new(body::full(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in answer.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

fn discover(engine: &Engine, path: &str, parts: &Parts) -> Result<Response<Body>, Status> {
    let registry = engine.registry(&engine.store.state());
    let accept = header(&parts.headers, "accept");
    let address = header(&parts.headers, "host").unwrap_or("localhost");
    if let Some(document) = discovery::document(&registry, path, accept, address) {
        return Ok(cached(
            document.body,
            document.content_type,
            document.etag,
            parts,
        ));
    }
    let group = match path.strip_prefix("/apis/") {
        Some(rest) => rest.split('/').next().unwrap_or_default(),
        None => "",
    };
    let in_group = path.starts_with("/apis/") || path.starts_with("/api/");
    if in_group && registry.has_built_in(group) {
        return Err(Status::unknown_resource());
    }
    Ok(absent())
}

/// The answer for paths of no built-in group; upstream's router speaks plain text here.
pub(crate) fn absent() -> Response<Body> {
    let body = body::full("404 page not found\n");
    render::with_type(StatusCode::NOT_FOUND, TEXT, body)
}

/// A document that clients may keep and ask about by its tag.
fn cached(
    bytes: bytes::Bytes,
    content_type: &'static str,
    etag: Option<String>,
    parts: &Parts,
) -> Response<Body> {
    let known = header(&parts.headers, "if-none-match");
    let mut response = match &etag {
        Some(tag) if known == Some(tag.as_str()) => {
            let mut response = Response::new(body::full(bytes::Bytes::new()));
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
        _ => render::with_type(StatusCode::OK, content_type, body::full(bytes)),
    };
    let headers = response.headers_mut();
    headers.insert(names::VARY, HeaderValue::from_static("Accept"));
    if let Some(tag) = etag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        headers.insert(names::ETAG, tag);
        headers.insert(names::CACHE_CONTROL, HeaderValue::from_static("public"));
    }
    response
}

fn json_reply(value: &serde_json::Value) -> Response<Body> {
    render::with_type(
        StatusCode::OK,
        crate::negotiate::JSON,
        body::full(render::to_bytes(value)),
    )
}

fn version() -> serde_json::Value {
    json!({
        "major": "1",
        "minor": "35",
        "emulationMajor": "1",
        "emulationMinor": "35",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "34",
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, go_arch()),
    })
}

fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Metrics in the format that the scraper asks for.
fn metrics(engine: &Engine, accept: &str) -> Response<Body> {
    let state = engine.store.state();
    let reads = engine.limits.reads_max - engine.gates.reads.available_permits();
    let writes = engine.limits.writes_max - engine.gates.writes.available_permits();
    let now = Now {
        stored: state
            .collections()
            .map(|(key, collection)| Stored {
                key,
                n_objects: collection.objects.len(),
                n_events: collection.n_events,
                revision: collection.newest(),
            })
            .collect(),
        events_max: engine.store.events_max(),
        in_flight: [("readOnly", reads), ("mutating", writes)],
        revision: state.rev,
        process: process(),
        version: GIT_VERSION,
    };
    let text = engine.metrics.render(&now);
    if format::is_open(accept) {
        return render::with_type(StatusCode::OK, format::OPEN, body::full(text));
    }
    let text = format::plain(&text);
    render::with_type(StatusCode::OK, format::PLAIN, body::full(text))
}

/// What the kernel says about this process; what it does not say is left out.
fn process() -> Process {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let open = std::fs::read_dir("/proc/self/fd").ok();
    Process::parse(
        &read("/proc/self/stat"),
        &read("/proc/stat"),
        &read("/proc/self/limits"),
        // One of them is the look itself.
        open.map(|open| open.count().saturating_sub(1) as u64),
    )
}

fn index(engine: &Engine) -> Response<Body> {
    let registry = engine.registry(&engine.store.state());
    let mut paths = vec![
        "/.well-known/openid-configuration".to_owned(),
        "/api".to_owned(),
        "/apis".to_owned(),
        "/healthz".to_owned(),
        "/livez".to_owned(),
        "/metrics".to_owned(),
        "/openapi/v2".to_owned(),
        "/openapi/v3".to_owned(),
        "/openid/v1/jwks".to_owned(),
        "/readyz".to_owned(),
        "/version".to_owned(),
    ];
    for row in registry.rows() {
        if row.group.is_empty() {
            paths.push(format!("/api/{}", row.version));
        } else {
            paths.push(format!("/apis/{}", row.group));
            paths.push(format!("/apis/{}/{}", row.group, row.version));
        }
    }
    paths.sort();
    paths.dedup();
    json_reply(&json!({"paths": paths}))
}

/// One health check.
struct Check {
    name: &'static str,
    ok: bool,
    why: String,
}

fn checks(engine: &Engine, ready: bool) -> Vec<Check> {
    let failure = engine.store.failure();
    let mut checks = vec![
        Check {
            name: "ping",
            ok: true,
            why: String::new(),
        },
        Check {
            name: "etcd",
            ok: failure.is_none(),
            why: failure.map_or(String::new(), |f| f.to_string()),
        },
    ];
    if ready {
        let stopping = engine.stop.is_cancelled();
        let why = if stopping {
            "the server is shutting down"
        } else {
            ""
        };
        checks.push(Check {
            name: "shutdown",
            ok: !stopping,
            why: why.to_owned(),
        });
    }
    checks
}

/// `/healthz`, `/livez`, `/readyz`, with `?verbose`, `?exclude=` and `/{check}`.
fn health(engine: &Engine, path: &str, query: &str) -> Response<Body> {
    let mut parts = path.trim_start_matches('/').splitn(2, '/');
    let (endpoint, only) = (parts.next().unwrap_or(""), parts.next());
    let mut checks = checks(engine, endpoint == "readyz");
    if let Some(only) = only {
        checks.retain(|c| c.name == only);
        if checks.is_empty() {
            let body = body::full("404 page not found\n");
            return render::with_type(StatusCode::NOT_FOUND, TEXT, body);
        }
    }
    let excluded: Vec<String> = query_pairs(query)
        .filter(|(n, _)| n == "exclude")
        .map(|(_, v)| v.into_owned())
        .collect();
    let verbose = query_pairs(query).any(|(name, _)| name == "verbose");
    let mut failed = false;
    let mut report = String::new();
    for check in &checks {
        let line = match check {
            c if excluded.iter().any(|e| e == c.name) => format!("[+]{} excluded: ok\n", c.name),
            c if c.ok => format!("[+]{} ok\n", c.name),
            c => {
                failed = true;
                format!("[-]{} failed: {}\n", c.name, c.why)
            }
        };
        report.push_str(&line);
    }
    if failed {
        report.push_str(&format!("{endpoint} check failed\n"));
        return render::with_type(StatusCode::INTERNAL_SERVER_ERROR, TEXT, body::full(report));
    }
    report.push_str(&format!("{endpoint} check passed\n"));
    let text = if verbose { report } else { "ok".to_owned() };
    render::with_type(StatusCode::OK, TEXT, body::full(text))
}
