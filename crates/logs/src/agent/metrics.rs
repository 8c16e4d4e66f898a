//! What the agent counts, and the page that shows it.

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flotilla_loglevel::{FORMATS, LEVELS, Record, SOURCES};
use http::{Response, StatusCode};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use crate::entry::Entry;

type Labels = Vec<(&'static str, &'static str)>;

/// Counters and gauges; labels come from closed sets.
#[derive(Default)]
pub(crate) struct Metrics {
    lines: Family<Labels, Counter>,
    /// The counters of `lines`, at [`place`]: looking one up by its labels costs more than reading the record.
    found: Found,
    bytes: Counter,
    misrouted: Counter,
    parse_failures: Counter,
    multiline_joined: Counter,
    pub(crate) sent: Counter,
    pub(crate) retry: Counter,
    pub(crate) dropped: Counter,
    pub(crate) parts: Counter,
    pub(crate) lag_bytes: Gauge,
    pub(crate) lag: Gauge<f64, AtomicU64>,
    pub(crate) files: Gauge,
    registry: Registry,
}

/// A counter for each combination of format, level and source; filled as they are seen.
struct Found(Box<[OnceLock<Counter>]>);

impl Default for Found {
    fn default() -> Found {
        let n_places = FORMATS.len() * LEVELS.len() * SOURCES.len();
        Found((0..n_places).map(|_| OnceLock::new()).collect())
    }
}

fn place(record: &Record) -> usize {
    let pair = record.format as usize * LEVELS.len() + record.level as usize;
    pair * SOURCES.len() + record.source as usize
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("flotilla_logs"),
            ..Metrics::default()
        };
        let m = &mut metrics;
        let r = &mut m.registry;
        r.register(
            "lines",
            "Records by format, level and where the level stood",
            m.lines.clone(),
        );
        r.register("bytes", "Bytes of records", m.bytes.clone());
        r.register(
            "misrouted",
            "Records from stderr that are no errors",
            m.misrouted.clone(),
        );
        r.register(
            "parse_failures",
            "Records in which no format was recognised",
            m.parse_failures.clone(),
        );
        r.register(
            "multiline_joined",
            "Records of several lines",
            m.multiline_joined.clone(),
        );
        r.register(
            "parts",
            "Parts of lines that are longer than a record may be",
            m.parts.clone(),
        );
        r.register("sink_sent", "Records the sink has taken", m.sent.clone());
        r.register(
            "sink_retry",
            "Attempts to deliver that failed",
            m.retry.clone(),
        );
        r.register(
            "sink_dropped",
            "Records the sink refused for good; they are kept beside the checkpoint",
            m.dropped.clone(),
        );
        r.register(
            "lag_bytes",
            "Bytes written to the files but not read yet",
            m.lag_bytes.clone(),
        );
        r.register(
            "lag_seconds",
            "Age of the oldest record that waits for the sink",
            m.lag.clone(),
        );
        r.register("open_files", "Files that are tailed", m.files.clone());
        metrics
    }

    /// Counts one record.
    pub(crate) fn count(&self, entry: &Entry<'_>) {
        let record = entry.record;
        let counter = self.found.0[place(record)].get_or_init(|| {
            let labels = vec![
                ("format", record.format.name()),
                ("level", record.level.name()),
                ("level_source", record.source.name()),
            ];
            self.lines.get_or_create_owned(&labels)
        });
        counter.inc();
        self.bytes.inc_by(entry.bytes.len() as u64);
        self.misrouted.inc_by(u64::from(entry.is_misread()));
        self.parse_failures
            .inc_by(u64::from(record.format == flotilla_loglevel::Format::Plain));
        self.multiline_joined
            .inc_by(u64::from(entry.bytes.len() > entry.head_end));
    }

    fn page(&self) -> String {
        let mut page = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut page, &self.registry);
        page
    }
}

/// Serves `/metrics` until the task is dropped.
pub(crate) async fn serve(metrics: Arc<Metrics>, address: SocketAddr) -> std::io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        let metrics = metrics.clone();
        let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
            let found = request.uri().path() == "/metrics";
            let body = if found { metrics.page() } else { String::new() };
            let mut response = Response::new(Full::new(Bytes::from(body)));
            *response.status_mut() = if found {
                StatusCode::OK
            } else {
                StatusCode::NOT_FOUND
            };
            async move { Ok::<_, std::convert::Infallible>(response) }
        });
        // One request after the other is enough for a scraper, and bounds what clients can hold.
        let served = hyper::server::conn::http1::Builder::new()
            .keep_alive(false)
            .serve_connection(TokioIo::new(socket), service);
        let _ = tokio::time::timeout(std::time::Duration::from_secs(5), served).await;
    }
}
