//! What the agent counts, and the page that shows it.

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flotilla_loglevel::{FORMATS, Format, LEVELS, Record, SOURCES};
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

    /// The counter of records of this place, made when it is first needed.
    fn lines_of(&self, record: &Record) -> &Counter {
        self.found.0[place(record)].get_or_init(|| {
            let labels = vec![
                ("format", record.format.name()),
                ("level", record.level.name()),
                ("level_source", record.source.name()),
            ];
            self.lines.get_or_create_owned(&labels)
        })
    }

    fn page(&self) -> String {
        let mut page = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut page, &self.registry);
        page
    }
}

/// What one reading of a file has found, added to the counters at its end: the counters are shared, and counting in them
/// record by record would cost a tenth of the reading.
#[derive(Default)]
pub(crate) struct Tally<'a> {
    /// The counter of the last record, with what was not added to it yet: neighbours are mostly alike.
    alike: Option<(usize, &'a Counter, u64)>,
    n_records: u64,
    n_parts: u64,
    n_bytes: u64,
    n_misrouted: u64,
    n_plain: u64,
    n_joined: u64,
}

impl<'a> Tally<'a> {
    /// Counts one record.
    pub(crate) fn count(&mut self, entry: &Entry<'_>, metrics: &'a Metrics) {
        let record = entry.record;
        let place = place(record);
        match &mut self.alike {
            Some((last, _, n)) if *last == place => *n += 1,
            alike => {
                if let Some((_, counter, n)) = alike.replace((place, metrics.lines_of(record), 1)) {
                    counter.inc_by(n);
                }
            }
        }
        self.n_records += 1;
        self.n_parts += u64::from(entry.part.is_some());
        self.n_bytes += entry.bytes.len() as u64;
        self.n_misrouted += u64::from(entry.is_misread());
        self.n_plain += u64::from(record.format == Format::Plain);
        self.n_joined += u64::from(entry.bytes.len() > entry.head_end);
    }

    /// Moves what was counted to the counters; returns how many records and how many parts of lines there were.
    pub(crate) fn settle(self, metrics: &Metrics) -> (u64, u64) {
        if let Some((_, counter, n)) = self.alike {
            counter.inc_by(n);
        }
        metrics.bytes.inc_by(self.n_bytes);
        metrics.misrouted.inc_by(self.n_misrouted);
        metrics.parse_failures.inc_by(self.n_plain);
        metrics.multiline_joined.inc_by(self.n_joined);
        (self.n_records, self.n_parts)
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
