//! A small HTTP endpoint for Prometheus.
//!
//! `GET /metrics` renders a registry in the OpenMetrics text format, `GET /healthz` answers `ok`.
//! The endpoint is for scrapers on the same machine or network: no state, no bodies, at most
//! [`MAX_CONNECTIONS`] connections at a time.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::encoding::text::encode;
pub use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Connections served at a time; more wait in the accept queue.
pub const MAX_CONNECTIONS: usize = 64;

/// How long a client may take to send its request head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A registry that parts of the process add to while it is served.
#[derive(Clone, Debug, Default)]
pub struct SharedRegistry(Arc<RwLock<Registry>>);

/// Why the endpoint could not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for metrics; choose another address with --metrics-address")]
pub struct ListenError {
    address: SocketAddr,
    #[source]
    source: std::io::Error,
}

// === impl SharedRegistry ===

impl SharedRegistry {
    /// Registers metrics: `f` gets the registry for the time of the call.
    pub fn with<R>(&self, f: impl FnOnce(&mut Registry) -> R) -> R {
        let mut registry = self
            .0
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        f(&mut registry)
    }

    /// The OpenMetrics text of everything registered.
    pub fn render(&self) -> String {
        let registry = self
            .0
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut text = String::new();
        // Writing to a String cannot fail; an encoder error would be a bug of a metric, and a
        // truncated page is better than none.
        if let Err(error) = encode(&mut text, &registry) {
            tracing::error!(%error, "Metrics could not be encoded completely");
        }
        text
    }
}

/// Binds `address` and serves `registry` until `stop` is cancelled; the future that serves and the
/// bound address are returned.
///
/// # Errors
/// When the address cannot be bound.
pub async fn listen(
    address: SocketAddr,
    registry: SharedRegistry,
    stop: CancellationToken,
) -> Result<(SocketAddr, impl Future<Output = ()> + Send), ListenError> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|source| ListenError { address, source })?;
    let bound = listener
        .local_addr()
        .map_err(|source| ListenError { address, source })?;
    Ok((bound, serve(listener, registry, stop)))
}

async fn serve(listener: TcpListener, registry: SharedRegistry, stop: CancellationToken) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: wait instead of spinning.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (registry, stop) = (registry.clone(), stop.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(registry.clone(), request));
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection => {}
                () = stop.cancelled() => {}
            }
            drop(slot);
        });
    }
}

async fn answer(
    registry: SharedRegistry,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, content_type, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, OPEN_METRICS, registry.render()),
        (&Method::GET, "/healthz") => (StatusCode::OK, "text/plain", "ok".to_owned()),
        (&Method::GET, path) => {
            let text = format!("nothing at {path}; try /metrics or /healthz\n");
            (StatusCode::NOT_FOUND, "text/plain", text)
        }
        _ => (
            StatusCode::METHOD_NOT_ALLOWED,
            "text/plain",
            "only GET is served here\n".to_owned(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    Ok(response)
}

#[cfg(test)]
mod tests;
