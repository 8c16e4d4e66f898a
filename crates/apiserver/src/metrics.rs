//! Counters of the API server, under upstream's names where dashboards look for them.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/endpoints/metrics`, `pkg/storage/etcd3/metrics`.

pub(crate) mod format;
pub(crate) mod process;

use std::{fmt::Write, sync::Mutex, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use self::process::Process;
use crate::store::ResourceKey;

/// Buckets of request durations in seconds, as upstream's.
const DURATIONS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];
/// Buckets of response sizes in bytes, as upstream's.
const RESPONSES: [f64; 7] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/// Buckets of the sizes of watch events in bytes, as upstream's.
const EVENTS: [f64; 8] = [
    1024.0, 2048.0, 4096.0, 8192.0, 16_384.0, 32_768.0, 65_536.0, 131_072.0,
];

/// All counters of one server.
pub struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Counter>,
    durations: Family<DurationLabels, Histogram>,
    sli_durations: Family<DurationLabels, Histogram>,
    response_sizes: Family<EndpointLabels, Histogram>,
    deprecated: Family<DeprecatedLabels, Gauge>,
    /// Long-running requests being served.
    pub long_running: Family<EndpointLabels, Gauge>,
    /// Events sent to watches.
    pub watch_events: Family<ResourceLabels, Counter>,
    /// Sizes of the events sent to watches, in bytes.
    pub watch_event_sizes: Family<ResourceLabels, Histogram>,
    lists: Family<ListLabels, Counter>,
    listed_from: Family<ListLabels, Counter>,
    listed: Family<ReturnedLabels, Counter>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// HTTP method of the verb in capitals, or `LIST`, `WATCH`, `APPLY` and `DELETECOLLECTION`.
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
    dry_run: String,
}

/// Labels of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct EndpointLabels {
    /// As in [`RequestLabels`].
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
}

/// A version that will go away and is used nevertheless.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeprecatedLabels {
    group: String,
    version: String,
    resource: String,
    subresource: String,
    removed_release: String,
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

/// Labels of lists. There is no index to name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ListLabels {
    group: String,
    resource: String,
    index: &'static str,
}

/// Labels of what lists gave.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReturnedLabels {
    group: String,
    resource: String,
}

/// One resource at the moment somebody looks.
pub(crate) struct Stored<'a> {
    pub(crate) key: &'a ResourceKey,
    /// Stored objects.
    pub(crate) n_objects: usize,
    /// Changes since the start. Each is seen by whoever watches, so that none waits to be dispatched.
    pub(crate) n_events: u64,
    /// Revision of the newest change.
    pub(crate) revision: u64,
}

/// What is counted at the moment somebody looks.
pub(crate) struct Now<'a> {
    /// What is stored, by resource.
    pub(crate) stored: Vec<Stored<'a>>,
    /// Changes that are kept of a resource at most.
    pub(crate) events_max: usize,
    /// Requests being served, by kind.
    pub(crate) in_flight: [(&'static str, usize); 2],
    /// Revision of the newest write.
    pub(crate) revision: u64,
    /// The process.
    pub(crate) process: Process,
    /// `gitVersion`.
    pub(crate) version: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let durations = || Family::new_with_constructor(new_durations as fn() -> Histogram);
        let metrics = Self {
            registry: Mutex::default(),
            requests: Family::default(),
            durations: durations(),
            sli_durations: durations(),
            response_sizes: Family::new_with_constructor(|| Histogram::new(RESPONSES)),
            deprecated: Family::default(),
            long_running: Family::default(),
            watch_events: Family::default(),
            watch_event_sizes: Family::new_with_constructor(|| Histogram::new(EVENTS)),
            lists: Family::default(),
            listed_from: Family::default(),
            listed: Family::default(),
            conversions: Family::default(),
            conversion_durations: Family::new_with_constructor(new_durations as fn() -> Histogram),
            panics: Counter::default(),
        };
        *metrics.registry.lock().expect("nobody else has it yet") = metrics.registered();
        metrics
    }
}

fn new_durations() -> Histogram {
    Histogram::new(DURATIONS)
}

impl Metrics {
    fn registered(&self) -> Registry {
        let mut registry = Registry::default();
        let requests = self.requests.clone();
        registry.register("apiserver_request", "Requests served", requests);
        registry.register(
            "apiserver_request_duration_seconds",
            "Seconds from the first byte to the last header",
            self.durations.clone(),
        );
        registry.register(
            "apiserver_request_sli_duration_seconds",
            "Seconds that requests took, without those that are meant to be long",
            self.sli_durations.clone(),
        );
        registry.register(
            "apiserver_response_sizes",
            "Bytes of the responses to reading requests, before compression",
            self.response_sizes.clone(),
        );
        registry.register(
            "apiserver_requested_deprecated_apis",
            "Versions that will go away and were used",
            self.deprecated.clone(),
        );
        registry.register(
            "apiserver_longrunning_requests",
            "Watches and other long requests being served",
            self.long_running.clone(),
        );
        registry.register(
            "apiserver_watch_events",
            "Events sent to watches",
            self.watch_events.clone(),
        );
        registry.register(
            "apiserver_watch_events_sizes",
            "Bytes of the events sent to watches",
            self.watch_event_sizes.clone(),
        );
        registry.register(
            "apiserver_cache_list",
            "Lists of objects",
            self.lists.clone(),
        );
        registry.register(
            "apiserver_cache_list_fetched_objects",
            "Objects that were looked at for lists",
            self.listed_from.clone(),
        );
        registry.register(
            "apiserver_cache_list_returned_objects",
            "Objects that lists gave",
            self.listed.clone(),
        );
        registry.register(
            "apiserver_conversion_webhook_request",
            "Calls of conversion webhooks",
            self.conversions.clone(),
        );
        registry.register(
            "apiserver_conversion_webhook_duration_seconds",
            "Seconds that calls of conversion webhooks took",
            self.conversion_durations.clone(),
        );
        registry.register(
            "flotilla_apiserver_panics",
            "Panics caught while serving a request",
            self.panics.clone(),
        );
        registry
    }

    /// Counts a finished request.
    pub fn observe(&self, labels: RequestLabels, took: Duration) {
        let seconds = took.as_secs_f64();
        let durations = labels.durations();
        self.durations.get_or_create(&durations).observe(seconds);
        if !matches!(labels.verb.as_str(), "WATCH" | "CONNECT") {
            let durations = self.sli_durations.get_or_create(&durations);
            durations.observe(seconds);
        }
        self.requests.get_or_create(&labels).inc();
    }

    /// Where the sizes of responses of this endpoint are counted.
    pub(crate) fn response_sizes(&self, labels: &RequestLabels) -> Histogram {
        self.response_sizes.get_or_create_owned(&labels.endpoint())
    }

    /// Notes the use of a version that will go away.
    pub(crate) fn observe_deprecated(&self, labels: &RequestLabels) {
        let labels = DeprecatedLabels {
            group: labels.group.clone(),
            version: labels.version.clone(),
            resource: labels.resource.clone(),
            subresource: labels.subresource.clone(),
            removed_release: String::new(),
        };
        self.deprecated.get_or_create(&labels).set(1);
    }

    /// Counts a list that looked at `n_fetched` objects and gave `n_returned`.
    pub(crate) fn observe_list(&self, key: &ResourceKey, n_fetched: usize, n_returned: usize) {
        let labels = ListLabels {
            group: key.group.to_string(),
            resource: key.plural.to_string(),
            index: "",
        };
        self.lists.get_or_create(&labels).inc();
        let fetched = self.listed_from.get_or_create(&labels);
        fetched.inc_by(n_fetched as u64);
        let labels = ReturnedLabels {
            group: labels.group,
            resource: labels.resource,
        };
        let returned = self.listed.get_or_create(&labels);
        returned.inc_by(n_returned as u64);
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

    /// The page in the OpenMetrics format; [`format::plain`] makes Prometheus' older one of it.
    pub(crate) fn render(&self, now: &Now<'_>) -> String {
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
        // Writing to a string cannot fail.
        let _ = now.write(&mut out);
        out.push_str(end);
        out
    }
}

impl RequestLabels {
    fn durations(&self) -> DurationLabels {
        DurationLabels {
            verb: self.verb.clone(),
            group: self.group.clone(),
            version: self.version.clone(),
            resource: self.resource.clone(),
            subresource: self.subresource.clone(),
            scope: self.scope.clone(),
            component: self.component.clone(),
            dry_run: self.dry_run.clone(),
        }
    }

    /// The labels of the endpoint alone.
    pub(crate) fn endpoint(&self) -> EndpointLabels {
        EndpointLabels {
            verb: self.verb.clone(),
            group: self.group.clone(),
            version: self.version.clone(),
            resource: self.resource.clone(),
            subresource: self.subresource.clone(),
            scope: self.scope.clone(),
            component: self.component.clone(),
        }
    }
}

/// Name, description and type of a family, and its value for one resource.
type PerResource = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Now<'_>, &Stored<'_>) -> u64,
);

impl Now<'_> {
    /// Upstream's watch cache is our store with its history.
    const PER_RESOURCE: [PerResource; 6] = [
        (
            "apiserver_resource_objects",
            "Stored objects",
            "gauge",
            |_, stored| stored.n_objects as u64,
        ),
        (
            "apiserver_watch_cache_capacity",
            "Changes that are kept at most",
            "gauge",
            |now, _| now.events_max as u64,
        ),
        (
            "apiserver_watch_cache_events_dispatched",
            "Changes that watches could see",
            "counter",
            |_, stored| stored.n_events,
        ),
        (
            "apiserver_watch_cache_events_received",
            "Changes since the start",
            "counter",
            |_, stored| stored.n_events,
        ),
        (
            "apiserver_watch_cache_initializations",
            "How often the history was begun",
            "counter",
            |_, _| 1,
        ),
        (
            "apiserver_watch_cache_resource_version",
            "Revision of the newest change",
            "gauge",
            |_, stored| stored.revision,
        ),
    ];

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let head = |out: &mut String, name: &str, help: &str, ty: &str| {
            writeln!(out, "# HELP {name} {help}.\n# TYPE {name} {ty}")
        };
        for (name, help, ty, value) in Self::PER_RESOURCE {
            head(out, name, help, ty)?;
            let total = if ty == "counter" { "_total" } else { "" };
            for stored in &self.stored {
                let (group, plural) = (&stored.key.group, &stored.key.plural);
                let value = value(self, stored);
                writeln!(
                    out,
                    "{name}{total}{{group=\"{group}\",resource=\"{plural}\"}} {value}"
                )?;
            }
        }
        // The older name of the first; dashboards have both.
        head(out, "apiserver_storage_objects", "Stored objects", "gauge")?;
        for stored in &self.stored {
            let (key, n) = (stored.key, stored.n_objects);
            writeln!(out, "apiserver_storage_objects{{resource=\"{key}\"}} {n}")?;
        }
        let name = "apiserver_current_inflight_requests";
        head(out, name, "Requests being served", "gauge")?;
        for (kind, n) in self.in_flight {
            writeln!(out, "{name}{{request_kind=\"{kind}\"}} {n}")?;
        }
        let name = "flotilla_apiserver_store_revision";
        head(out, name, "Revision of the newest write", "gauge")?;
        writeln!(out, "{name} {}", self.revision)?;
        let name = "kubernetes_build_info";
        head(out, name, "What this is", "gauge")?;
        let version = self.version;
        writeln!(
            out,
            "{name}{{git_version=\"{version}\",major=\"1\",minor=\"35\"}} 1"
        )?;
        self.process.write(out)
    }
}

#[cfg(test)]
mod tests;
