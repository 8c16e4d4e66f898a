//! Encodes records for a sink and delivers batches of them.

mod datadog;
mod loki;
mod otlp;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::config::{Protocol, Sink};
use super::tail::Origin;
use crate::entry::Entry;
use crate::output::{self, Output};

/// One encoded batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) body: Bytes,
    pub(crate) n_records: u64,
}

impl Batch {
    /// The memory of the batch, when nothing else holds it: asking the kernel for it anew costs as much as copying.
    pub(crate) fn into_room(self) -> Vec<u8> {
        let mut room = self
            .body
            .try_into_mut()
            .map_or_else(|_| Vec::new(), Vec::from);
        room.clear();
        room
    }
}

/// Why a batch was not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// Worth another try, perhaps not before a while.
    #[error("{reason}")]
    Retry {
        /// What happened.
        reason: String,
        /// When the sink wants to be asked again.
        after: Option<Duration>,
    },
    /// The sink will never take this batch.
    #[error("{0}")]
    Refused(String),
}

/// Longest wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Most bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Gathers records in the form a sink wants.
pub(crate) enum Encoder {
    /// JSON lines.
    Lines(Vec<u8>, u64),
    /// OTLP; the flag asks for gRPC framing.
    Otlp(otlp::Builder, bool),
    /// Loki's push API.
    Loki(loki::Builder),
    /// Datadog's intake.
    Datadog(datadog::Builder),
}

impl Encoder {
    pub(crate) fn new(sink: &Sink) -> Encoder {
        match sink {
            Sink::Stdout {} | Sink::File { .. } => Encoder::Lines(Vec::new(), 0),
            Sink::Otlp { protocol, .. } => {
                Encoder::Otlp(otlp::Builder::default(), *protocol == Protocol::Grpc)
            }
            Sink::Loki { .. } => Encoder::Loki(loki::Builder::default()),
            Sink::Datadog { .. } => Encoder::Datadog(datadog::Builder::default()),
        }
    }

    pub(crate) fn add(&mut self, origin: &Arc<Origin>, entry: &Entry<'_>) {
        match self {
            Encoder::Lines(lines, n_records) => {
                add_line(origin, entry, lines);
                *n_records += 1;
            }
            Encoder::Otlp(builder, _) => builder.add(origin, entry),
            Encoder::Loki(builder) => builder.add(origin, entry),
            Encoder::Datadog(builder) => builder.add(origin, entry),
        }
    }

    /// About how many bytes have gathered.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Encoder::Lines(lines, _) => lines.len(),
            Encoder::Otlp(builder, _) => builder.n_bytes(),
            Encoder::Loki(builder) => builder.n_bytes(),
            Encoder::Datadog(builder) => builder.n_bytes(),
        }
    }

    /// Hands out what has gathered and begins anew, in the memory of `room` where that is of use.
    pub(crate) fn take(&mut self, room: Vec<u8>) -> Batch {
        match self {
            Encoder::Lines(lines, n_records) => Batch {
                body: std::mem::replace(lines, room).into(),
                n_records: std::mem::take(n_records),
            },
            Encoder::Otlp(builder, grpc) => builder.take(*grpc, room),
            Encoder::Loki(builder) => builder.take(),
            Encoder::Datadog(builder) => builder.take(),
        }
    }
}

/// The record as JSON with the container it came from.
fn add_line(origin: &Origin, entry: &Entry<'_>, out: &mut Vec<u8>) {
    output::write(entry, &Output::Json, &[], out);
    // Before the closing brace and the newline.
    out.truncate(out.len() - 2);
    let k8s = serde_json::json!({
        "namespace": origin.namespace, "pod": origin.pod, "uid": origin.uid, "container": origin.container,
    });
    let _ = writeln!(out, ",\"k8s\":{k8s}}}");
}

type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Delivers batches.
pub(crate) enum Sender {
    Stdout,
    File(std::fs::File),
    Http {
        client: Box<HttpClient>,
        uri: http::Uri,
        headers: HeaderMap,
        grpc: bool,
    },
}

impl Sender {
    /// Opens the file or prepares the client.
    pub(crate) fn new(sink: &Sink) -> io::Result<Sender> {
        let (endpoint, path, kind, mut headers) = match sink {
            Sink::Stdout {} => return Ok(Sender::Stdout),
            Sink::File { path } => {
                return Ok(Sender::File(
                    std::fs::OpenOptions::new()
                        .create(true)
                        .append(true)
                        .open(path)?,
                ));
            }
            Sink::Otlp {
                endpoint,
                protocol: Protocol::Http,
                headers,
            } => (
                endpoint,
                "/v1/logs",
                "application/x-protobuf",
                headers.clone(),
            ),
            Sink::Otlp {
                endpoint,
                protocol: Protocol::Grpc,
                headers,
            } => (
                endpoint,
                "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
                "application/grpc",
                headers.clone(),
            ),
            Sink::Loki {
                endpoint,
                tenant,
                headers,
            } => {
                let mut headers = headers.clone();
                headers.extend(
                    tenant
                        .clone()
                        .map(|tenant| ("X-Scope-OrgID".to_owned(), tenant)),
                );
                (endpoint, "/loki/api/v1/push", "application/json", headers)
            }
            Sink::Datadog { endpoint, api_key } => {
                let headers = BTreeMap::from([("DD-API-KEY".to_owned(), api_key.clone())]);
                (endpoint, "/api/v2/logs", "application/json", headers)
            }
        };
        headers.insert("content-type".to_owned(), kind.to_owned());
        let grpc = kind == "application/grpc";
        if grpc {
            headers.insert("te".to_owned(), "trailers".to_owned());
        }
        let headers = (&headers
            .into_iter()
            .collect::<std::collections::HashMap<_, _>>())
            .try_into()
            .map_err(|error: http::Error| io::Error::other(error))?;
        let uri = format!("{}{path}", endpoint.trim_end_matches('/'))
            .parse()
            .map_err(io::Error::other)?;
        let builder = hyper_rustls::HttpsConnectorBuilder::new()
            .with_native_roots()?
            .https_or_http();
        let connector = if grpc {
            builder.enable_http2().build()
        } else {
            builder.enable_http1().build()
        };
        let client = Client::builder(TokioExecutor::new())
            .http2_only(grpc)
            .build(connector);
        Ok(Sender::Http {
            client: Box::new(client),
            uri,
            headers,
            grpc,
        })
    }

    /// Delivers one batch, once.
    pub(crate) async fn send(&mut self, batch: &Batch) -> Result<(), SendError> {
        let retry = |error: io::Error| SendError::Retry {
            reason: error.to_string(),
            after: None,
        };
        match self {
            Sender::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout
                    .write_all(&batch.body)
                    .and_then(|()| stdout.flush())
                    .map_err(retry)
            }
            Sender::File(file) => file
                .write_all(&batch.body)
                .and_then(|()| file.sync_data())
                .map_err(retry),
            Sender::Http {
                client,
                uri,
                headers,
                grpc,
            } => {
                let mut request = Request::post(uri.clone())
                    .body(Full::new(batch.body.clone()))
                    .expect("a checked address");
                *request.headers_mut() = headers.clone();
                let answer =
                    tokio::time::timeout(ANSWER_TIMEOUT, post(client, request, *grpc)).await;
                answer.unwrap_or_else(|_| {
                    Err(SendError::Retry {
                        reason: format!("no answer within {ANSWER_TIMEOUT:?}"),
                        after: None,
                    })
                })
            }
        }
    }
}

async fn post(
    client: &HttpClient,
    request: Request<Full<Bytes>>,
    grpc: bool,
) -> Result<(), SendError> {
    let failed = |reason: String| SendError::Retry {
        reason,
        after: None,
    };
    let answer = client
        .request(request)
        .await
        .map_err(|error| failed(chain(&error)))?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX)
        .collect()
        .await
        .map_err(|error| failed(error.to_string()))?;
    if grpc && status.is_success() {
        let code = body
            .trailers()
            .and_then(|trailers| trailers.get("grpc-status"))
            .or(headers.get("grpc-status"));
        return match code.map(|code| code.as_bytes()) {
            Some(b"0") => Ok(()),
            // Invalid argument, unimplemented: the same bytes will fail again.
            Some(b"3" | b"12") => Err(SendError::Refused(format!("gRPC status {code:?}"))),
            _ => Err(failed(format!("gRPC status {code:?}"))),
        };
    }
    if status.is_success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&body.to_bytes())
        .chars()
        .take(200)
        .collect::<String>();
    let reason = format!("{status} {text}");
    match status {
        StatusCode::BAD_REQUEST
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNPROCESSABLE_ENTITY => Err(SendError::Refused(reason)),
        _ => {
            let seconds = headers
                .get("retry-after")
                .and_then(|value| value.to_str().ok()?.parse().ok());
            Err(SendError::Retry {
                reason,
                after: seconds.map(Duration::from_secs),
            })
        }
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
