//! Counters of the API server, under upstream's names where dashboards look for them.

use std::{fmt::Write, sync::Mutex, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

/// Buckets of request durations in seconds, as upstream's.
const DURATIONS: [f64; 15] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 60.0,
];

/// All counters of one server.
pub struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Counter>,
    durations: Family<DurationLabels, Histogram>,
    /// Long-running requests being served.
    pub long_running: Family<ResourceLabels, Gauge>,
    /// Events sent to watches.
    pub watch_events: Family<ResourceLabels, Counter>,
    conversions: Family<ConversionLabels, Counter>,
    conversion_durations: Family<ConversionLabels, Histogram>,
    /// Panics that were caught while serving a request.
    pub panics: Counter,
}

/// How a call of a conversion webhook ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConversionLabels {
    failure_type: &'static str,
    result: &'static str,
}

/// What a finished request was.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// Upper-case API verb.
    pub verb: String,
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural name.
    pub resource: String,
    /// Subresource.
    pub subresource: String,
    /// `cluster`, `namespace`, `resource` or empty.
    pub scope: String,
    /// Always `apiserver`.
    pub component: String,
    /// HTTP status.
    pub code: u16,
    /// `All` or empty.
    pub dry_run: String,
}

/// Labels of durations: those of requests without code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DurationLabels {
    verb: String,
    group: String,
    version: String,
    resource: String,
    subresource: String,
    scope: String,
    component: String,
}

/// Labels of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ResourceLabels {
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural name.
    pub resource: String,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let metrics = Self {
            registry: Mutex::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATIONS)),
            long_running: Family::default(),
            watch_events: Family::default(),
            conversions: Family::default(),
            conversion_durations: Family::new_with_constructor(|| Histogram::new(DURATIONS)),
            panics: Counter::default(),
        };
        registry.register(
            "apiserver_request",
            "Requests served",
            metrics.requests.clone(),
        );
        registry.register(
            "apiserver_request_duration_seconds",
            "Seconds from the first byte to the last header",
            metrics.durations.clone(),
        );
        registry.register(
            "apiserver_longrunning_requests",
            "Watches and other long requests being served",
            metrics.long_running.clone(),
        );
        registry.register(
            "apiserver_watch_events",
            "Events sent to watches",
            metrics.watch_events.clone(),
        );
        registry.register(
            "apiserver_conversion_webhook_request",
            "Calls of conversion webhooks",
            metrics.conversions.clone(),
        );
        registry.register(
            "apiserver_conversion_webhook_duration_seconds",
            "Seconds that calls of conversion webhooks took",
            metrics.conversion_durations.clone(),
        );
        registry.register(
            "flotilla_apiserver_panics",
            "Panics caught while serving a request",
            metrics.panics.clone(),
        );
        *metrics.registry.lock().expect("nobody else has it yet") = registry;
        metrics
    }
}

impl Metrics {
    /// Counts a finished request.
    pub fn observe(&self, labels: RequestLabels, took: Duration) {
        let durations = DurationLabels {
            verb: labels.verb.clone(),
            group: labels.group.clone(),
            version: labels.version.clone(),
            resource: labels.resource.clone(),
            subresource: labels.subresource.clone(),
            scope: labels.scope.clone(),
            component: labels.component.clone(),
        };
        self.durations
            .get_or_create(&durations)
            .observe(took.as_secs_f64());
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts a call of a conversion webhook.
    pub(crate) fn observe_conversion(&self, ok: bool, took: Duration) {
        let labels = match ok {
            true => ConversionLabels {
                failure_type: "",
                result: "success",
            },
            false => ConversionLabels {
                failure_type: "conversion_webhook_call_failure",
                result: "failure",
            },
        };
        self.conversion_durations
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
        self.conversions.get_or_create(&labels).inc();
    }

    /// The text that Prometheus reads. `objects` are the numbers of stored objects by resource,
    /// `in_flight` those of requests being served by kind (`readOnly`, `mutating`).
    pub fn render(
        &self,
        objects: impl Iterator<Item = (String, usize)>,
        in_flight: [(&str, usize); 2],
    ) -> String {
        let mut out = String::new();
        let registry = self
            .registry
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if encode(&mut out, &registry).is_err() {
            return String::new();
        }
        let end = "# EOF\n";
        out.truncate(out.len() - end.len());
        out.push_str("# HELP apiserver_storage_objects Stored objects.\n");
        out.push_str("# TYPE apiserver_storage_objects gauge\n");
        for (resource, n) in objects {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "apiserver_storage_objects{{resource=\"{resource}\"}} {n}"
            );
        }
        out.push_str("# HELP apiserver_current_inflight_requests Requests being served.\n");
        out.push_str("# TYPE apiserver_current_inflight_requests gauge\n");
        for (kind, n) in in_flight {
            let _ = writeln!(
                out,
                "apiserver_current_inflight_requests{{request_kind=\"{kind}\"}} {n}"
            );
        }
        out.push_str(end);
        out
    }
}
