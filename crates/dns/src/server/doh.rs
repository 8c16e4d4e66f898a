//! DNS over HTTPS (RFC 8484): queries as HTTP requests, over HTTP/2 or HTTP/1.1 and TLS.
//!
//! | request | reply |
//! |---|---|
//! | GET `/dns-query?dns=<base64url>`, POST `/dns-query` of `application/dns-message` | 200 and the reply as it would go over TCP, `Cache-Control: max-age` the smallest TTL in it |
//! | GET without a readable `dns`, a body beyond 65,535 octets | 400, 413 |
//! | another media type, method, path | 415, 405, 404 |
//! | octets that get no reply over TCP either | 400 |
//!
//! A connection may have [`STREAMS_MAX`] requests under way and is closed when it has had none for the idle time of TCP.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::Streams;
use super::metrics::increment;
use super::tcp::{ACCEPT_PAUSE, Limits};
use crate::message::{Cursor, Error, HEADER_OCTETS, TCP_OCTETS_MAX};
use crate::record::Type;

/// The path of RFC 8484's examples, which clients take when they know only a host.
const PATH: &str = "/dns-query";
const MEDIA_TYPE: &str = "application/dns-message";
/// Requests a client may have under way on one connection.
const STREAMS_MAX: u32 = 100;
/// Octets of all headers of a request. A `dns` parameter of the longest message does not fit, nor does any client send one.
const HEADERS_OCTETS_MAX: u32 = 16 * 1024;

type Reply = Response<Full<Bytes>>;

/// Serves `listener` until `stopping`; requests under way are then finished.
pub(super) async fn serve(
    listener: TcpListener,
    tls: TlsAcceptor,
    limits: Limits,
    streams: Arc<Streams>,
    stopping: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let mut connections = JoinSet::new();
    loop {
        let accept = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = stopping.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = accept => accepted,
        };
        let Ok((stream, client)) = accepted else {
            increment(&streams.counters.socket_errors);
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        increment(&streams.counters.tcp_connections);
        let conversation = Conversation {
            client: client.ip(),
            limits: limits.clone(),
            streams: Arc::clone(&streams),
            stopping: stopping.clone(),
        };
        let tls = tls.clone();
        connections.spawn(async move {
            let _place = place;
            conversation.start(stream, tls).await;
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// One client's connection.
struct Conversation {
    client: IpAddr,
    limits: Limits,
    streams: Arc<Streams>,
    stopping: CancellationToken,
}

impl Conversation {
    /// How a connection ends is the client's business.
    async fn start(self, stream: TcpStream, tls: TlsAcceptor) {
        let handshake = timeout(self.limits.message, tls.accept(stream));
        let Ok(Ok(stream)) = handshake.await else {
            return;
        };
        let shared = Arc::new((self, AtomicU64::new(0)));
        let its = Arc::clone(&shared);
        let service = service_fn(move |request| {
            let its = Arc::clone(&its);
            async move {
                its.1.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(its.0.answer(request).await)
            }
        });
        let (this, n_requests) = &*shared;
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(this.limits.idle)
            .max_buf_size(HEADERS_OCTETS_MAX as usize);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(HEADERS_OCTETS_MAX);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let mut seen = 0;
        loop {
            tokio::select! {
                _ = connection.as_mut() => return,
                () = this.stopping.cancelled() => break,
                () = sleep(this.limits.idle) => {
                    let now = n_requests.load(Ordering::Relaxed);
                    if std::mem::replace(&mut seen, now) == now {
                        break;
                    }
                }
            }
        }
        connection.as_mut().graceful_shutdown();
        let _ = timeout(this.limits.message, connection).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Reply {
        let query = match self.query(request).await {
            Ok(query) => query,
            Err(status) => return refusal(status),
        };
        let Some(reply) = self.streams.respond_now(&query, self.client) else {
            return refusal(StatusCode::BAD_REQUEST);
        };
        let age = format!("max-age={}", freshness_seconds(&reply));
        let mut response = Response::new(Full::new(Bytes::from(reply)));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.extend(HeaderValue::try_from(age).map(|age| (CACHE_CONTROL, age)));
        response
    }

    /// The message in a request.
    async fn query(&self, request: Request<Incoming>) -> Result<Vec<u8>, StatusCode> {
        if request.uri().path() != PATH {
            return Err(StatusCode::NOT_FOUND);
        }
        match *request.method() {
            Method::GET => parameter(request.uri().query().unwrap_or_default()),
            Method::POST => {
                let media_type = request.headers().get(CONTENT_TYPE);
                if media_type.is_none_or(|value| value.as_bytes() != MEDIA_TYPE.as_bytes()) {
                    return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
                }
                let body = Limited::new(request.into_body(), TCP_OCTETS_MAX).collect();
                let body = timeout(self.limits.message, body).await;
                let body = body.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
                let body = body.map_err(|error| match error.is::<LengthLimitError>() {
                    true => StatusCode::PAYLOAD_TOO_LARGE,
                    false => StatusCode::BAD_REQUEST,
                })?;
                Ok(body.to_bytes().to_vec())
            }
            _ => Err(StatusCode::METHOD_NOT_ALLOWED),
        }
    }
}

/// The message in the parameters of a GET.
fn parameter(query: &str) -> Result<Vec<u8>, StatusCode> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("dns="));
    let value = value.ok_or(StatusCode::BAD_REQUEST)?;
    URL_SAFE_NO_PAD
        .decode(value)
        .map_err(|_| StatusCode::BAD_REQUEST)
}

fn refusal(status: StatusCode) -> Reply {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from_static(reason.as_bytes())));
    *response.status_mut() = status;
    if status == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = HeaderValue::from_static("GET, POST");
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// How long caches may keep a reply (RFC 8484 §5.1): the smallest TTL of its answers, without any the smallest of its authorities;
/// nothing of what cannot be read.
fn freshness_seconds(reply: &[u8]) -> u32 {
    let read = || -> Result<Option<u32>, Error> {
        let mut cursor = Cursor::new(reply);
        let [_, _, n_questions, n_answers, n_authorities, _] = {
            let mut fields = [0; 6];
            for field in &mut fields {
                *field = cursor.u16()?;
            }
            fields
        };
        debug_assert_eq!(cursor.position(), HEADER_OCTETS);
        for _ in 0..n_questions {
            cursor.skip_name()?;
            cursor.take(4)?;
        }
        let n_records = if n_answers > 0 {
            n_answers
        } else {
            n_authorities
        };
        let mut smallest = None;
        for _ in 0..n_records {
            cursor.skip_name()?;
            let (rtype, _class, ttl) = (Type(cursor.u16()?), cursor.u16()?, cursor.u32()?);
            let octets = usize::from(cursor.u16()?);
            cursor.take(octets)?;
            if rtype != Type::OPT {
                smallest = Some(smallest.map_or(ttl, |smallest: u32| smallest.min(ttl)));
            }
        }
        Ok(smallest)
    };
    read().ok().flatten().unwrap_or(0)
}

#[cfg(test)]
mod tests;
