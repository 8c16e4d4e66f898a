//! The loop that feeds keys to a reconcile function.

use std::fmt::Display;
use std::future::Future;
use std::hash::Hash;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::queue::Queue;

/// What to do with a key after a successful look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing until the next event.
    Wait,
    /// Look again after this time, unless an event comes first.
    Again(Duration),
}

/// Counters of one work queue, under client-go's names with a `name` prefix chosen by the owner.
#[derive(Clone, Debug, Default)]
pub struct QueueMetrics {
    /// Keys taken from the queue.
    pub reconciles: Counter,
    /// Reconciles that failed.
    pub errors: Counter,
    /// Keys that wait.
    pub depth: Gauge,
}

impl QueueMetrics {
    /// Creates the metrics and registers them as `<prefix>_reconciles_total`, `<prefix>_errors_total`
    /// and `<prefix>_queue_depth`.
    pub fn register(registry: &mut Registry, prefix: &str) -> Self {
        let metrics = Self::default();
        registry.register(
            format!("{prefix}_reconciles"),
            "Keys taken from the work queue",
            metrics.reconciles.clone(),
        );
        registry.register(
            format!("{prefix}_errors"),
            "Reconciles that failed and will be tried again",
            metrics.errors.clone(),
        );
        registry.register(
            format!("{prefix}_queue_depth"),
            "Keys that wait for a worker",
            metrics.depth.clone(),
        );
        metrics
    }
}

/// Works on keys with `workers` concurrent reconciles until the queue is closed, then waits for the
/// reconciles under way.
///
/// A failure is retried with the queue's backoff. It is logged at `warn` when it is the key's first
/// in a row and at `debug` after that. A panic in a reconcile is counted as a failure of that key
/// and stays there.
pub async fn run<K, F, Fut, E>(
    controller: &'static str,
    queue: Queue<K>,
    workers: usize,
    metrics: QueueMetrics,
    reconcile: F,
) where
    K: Clone + Eq + Hash + Display + Send + Sync + 'static,
    F: Fn(K) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Outcome, E>> + Send + 'static,
    E: std::error::Error + Send + 'static,
{
    let mut running = JoinSet::new();
    for _ in 0..workers.max(1) {
        let (queue, metrics, reconcile) = (queue.clone(), metrics.clone(), reconcile.clone());
        running.spawn(async move {
            while let Some(key) = queue.next().await {
                metrics.reconciles.inc();
                metrics
                    .depth
                    .set(i64::try_from(queue.depth()).unwrap_or(i64::MAX));
                // A task of its own, so that a panic ends this reconcile and not the worker.
                let span = tracing::debug_span!("Attempt", controller, %key);
                let result = tokio::spawn(reconcile(key.clone()).instrument(span)).await;
                settle(controller, &queue, &metrics, key, result);
            }
        });
    }
    while running.join_next().await.is_some() {}
}

fn settle<K, E>(
    controller: &'static str,
    queue: &Queue<K>,
    metrics: &QueueMetrics,
    key: K,
    result: Result<Result<Outcome, E>, tokio::task::JoinError>,
) where
    K: Clone + Eq + Hash + Display,
    E: std::error::Error + 'static,
{
    let failure = match result {
        Ok(Ok(outcome)) => {
            queue.forget(&key);
            if let Outcome::Again(delay) = outcome {
                queue.add_after(key.clone(), delay);
            }
            return queue.done(&key);
        }
        Ok(Err(error)) => chain(&error),
        Err(panic) => format!("reconcile panicked: {panic}"),
    };
    metrics.errors.inc();
    let retry_in = queue.retry(key.clone());
    if retry_in <= queue.first_backoff() {
        tracing::warn!(controller, %key, error = failure, ?retry_in, "Reconcile failed");
    } else {
        tracing::debug!(controller, %key, error = failure, ?retry_in, "Reconcile failed again");
    }
    queue.done(&key);
}

/// An error and its causes in one line. A refusal of the API server is told in the server's words,
/// without the rest of its `Status`.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let refusal = match error.downcast_ref() {
            Some(kube::Error::Api(status)) => Some(status.message.clone()),
            _ => None,
        };
        next = if refusal.is_some() {
            None
        } else {
            error.source()
        };
        let part = refusal.unwrap_or_else(|| error.to_string());
        // Some libraries print their cause themselves.
        if !text.contains(&part) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&part);
        }
    }
    text
}

#[cfg(test)]
mod tests;
