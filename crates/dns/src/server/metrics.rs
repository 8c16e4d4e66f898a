//! Counting without contention: every worker owns its counters, a scrape adds them up.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::answer::{Reply, Transport};
use crate::dnssec::SharedSigner;
use crate::record::Rcode;

/// Codes counted one by one; higher ones share the last place.
const N_RCODES: usize = 24;

/// What became of one query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Served {
    pub(crate) transport: Transport,
    /// `None` when nothing was sent.
    pub(crate) reply: Option<Reply>,
}

/// Counters of one worker, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    udp_queries: AtomicU64,
    tcp_queries: AtomicU64,
    dropped: AtomicU64,
    truncated: AtomicU64,
    /// Replies held back by the rate limit.
    pub(crate) limited: AtomicU64,
    replies: [AtomicU64; N_RCODES],
    /// TCP connections taken so far.
    pub(crate) tcp_connections: AtomicU64,
    /// Datagrams that could not be received or sent.
    pub(crate) socket_errors: AtomicU64,
}

impl Counters {
    pub(crate) fn count(&self, served: Served) {
        let queries = match served.transport {
            Transport::Udp => &self.udp_queries,
            Transport::Tcp => &self.tcp_queries,
        };
        increment(queries);
        let Some(reply) = served.reply else {
            return increment(&self.dropped);
        };
        if reply.truncated {
            increment(&self.truncated);
        }
        increment(&self.replies[usize::from(reply.rcode.0).min(N_RCODES - 1)]);
    }
}

/// Adds one; relaxed, because counters order nothing.
pub(crate) fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// All counters of all DNS servers of a process. Cheap to clone.
///
/// Served as `flotilla_dns_queries_total{server,transport}`, `flotilla_dns_replies_total{server,rcode}`,
/// `flotilla_dns_replies_truncated_total{server}`, `flotilla_dns_queries_dropped_total{server}`,
/// `flotilla_dns_replies_limited_total{server}`, `flotilla_dns_tcp_connections_total{server}`, `flotilla_dns_socket_errors_total{server}` and
/// `flotilla_dns_signatures_total{server}`.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    workers: Arc<Mutex<Vec<Registered>>>,
    signers: Arc<Mutex<Vec<(String, SharedSigner)>>>,
}

#[derive(Debug)]
struct Registered {
    server: String,
    counters: Arc<Counters>,
}

impl Metrics {
    /// Counters that `registry` serves.
    pub fn registered(registry: &mut Registry) -> Metrics {
        let metrics = Metrics::default();
        registry.register_collector(Box::new(metrics.clone()));
        metrics
    }

    /// Counters for one more worker of `server`. They stay after it ends, since counters never go back.
    pub(crate) fn worker(&self, server: &str) -> Arc<Counters> {
        let counters = Arc::<Counters>::default();
        let registered = Registered {
            server: server.to_owned(),
            counters: Arc::clone(&counters),
        };
        self.workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(registered);
        counters
    }

    /// Counts what a server signs.
    pub(crate) fn add_signer(&self, server: &str, signer: &SharedSigner) {
        self.signers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((server.to_owned(), Arc::clone(signer)));
    }

    /// Queries received so far over all servers.
    pub fn n_queries(&self) -> u64 {
        let sum = |c: &Counters| load(&c.udp_queries) + load(&c.tcp_queries);
        self.sums(|counters| vec![("", sum(counters))])
            .into_values()
            .sum()
    }

    /// Sums over the workers by server and label value.
    fn sums(
        &self,
        read: impl Fn(&Counters) -> Vec<(&'static str, u64)>,
    ) -> BTreeMap<(String, &'static str), u64> {
        let mut sums = BTreeMap::new();
        for worker in self
            .workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            for (label, value) in read(&worker.counters) {
                *sums.entry((worker.server.clone(), label)).or_default() += value;
            }
        }
        sums
    }

    fn encode_counter(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help, label): (&str, &str, &'static str),
        read: impl Fn(&Counters) -> Vec<(&'static str, u64)>,
    ) -> fmt::Result {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for ((server, value), count) in self.sums(read) {
            let labels = [("server", server.as_str()), (label, value)];
            let labels = if label.is_empty() {
                &labels[..1]
            } else {
                &labels[..]
            };
            family
                .encode_family(&labels)?
                .encode_counter::<NoLabelSet, u64, u64>(&count, None)?;
        }
        Ok(())
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let plain = |read: fn(&Counters) -> &AtomicU64| {
            move |counters: &Counters| vec![("", load(read(counters)))]
        };
        let encoder = &mut encoder;
        let queries = ("flotilla_dns_queries", "Queries received", "transport");
        self.encode_counter(encoder, queries, |counters| {
            vec![
                ("udp", load(&counters.udp_queries)),
                ("tcp", load(&counters.tcp_queries)),
            ]
        })?;
        let replies = ("flotilla_dns_replies", "Replies sent", "rcode");
        self.encode_counter(encoder, replies, |counters| {
            let counted = counters.replies.iter().enumerate();
            let counted = counted.map(|(rcode, count)| (rcode_label(rcode), load(count)));
            counted.filter(|(_, count)| *count > 0).collect()
        })?;
        let truncated = ("flotilla_dns_replies_truncated", "Replies cut short", "");
        self.encode_counter(encoder, truncated, plain(|counters| &counters.truncated))?;
        let dropped = (
            "flotilla_dns_queries_dropped",
            "Queries left without reply",
            "",
        );
        self.encode_counter(encoder, dropped, plain(|counters| &counters.dropped))?;
        let limited = (
            "flotilla_dns_replies_limited",
            "Replies held back by the rate limit",
            "",
        );
        self.encode_counter(encoder, limited, plain(|counters| &counters.limited))?;
        let connections = (
            "flotilla_dns_tcp_connections",
            "TCP connections accepted",
            "",
        );
        self.encode_counter(
            encoder,
            connections,
            plain(|counters| &counters.tcp_connections),
        )?;
        let errors = (
            "flotilla_dns_socket_errors",
            "Datagrams not received or sent",
            "",
        );
        self.encode_counter(encoder, errors, plain(|counters| &counters.socket_errors))?;
        let signers = self.signers.lock().unwrap_or_else(PoisonError::into_inner);
        if signers.is_empty() {
            return Ok(());
        }
        let (name, help) = ("flotilla_dns_signatures", "DNSSEC signatures made");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (server, signer) in signers.iter() {
            family
                .encode_family(&[("server", server.as_str())])?
                .encode_counter::<NoLabelSet, u64, u64>(&signer.n_signed(), None)?;
        }
        Ok(())
    }
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn rcode_label(rcode: usize) -> &'static str {
    match Rcode(rcode as u16) {
        Rcode::NOERROR => "NOERROR",
        Rcode::FORMERR => "FORMERR",
        Rcode::SERVFAIL => "SERVFAIL",
        Rcode::NXDOMAIN => "NXDOMAIN",
        Rcode::NOTIMP => "NOTIMP",
        Rcode::REFUSED => "REFUSED",
        Rcode::NOTAUTH => "NOTAUTH",
        Rcode::BADVERS => "BADVERS",
        Rcode::BADCOOKIE => "BADCOOKIE",
        _ => "other",
    }
}
