//! Keeping our part of each delegation in a parent zone that only an API can change.
//!
//! One wish per zone, the latest only; a refusal is retried with growing pauses. The engine asks again as long as the
//! parent zone's servers do not say what they should, which takes a while after a change: a wish that was carried out
//! lately is therefore not looked at again before the servers had time to follow.

mod infoblox;
mod route53;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use flotilla_operator::{Backoff, Outcome, Queue, QueueMetrics};
use tokio::time::Instant;

use super::http;
use crate::{
    config::{Config, Provider},
    delegate::Records,
    metrics::Metrics,
    providers::{route53::Occupied, route53::Refusal},
};

/// How long the parent zone's servers may take to follow.
const SETTLE: Duration = Duration::from_secs(60);
/// First and longest pause after a failure.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// Attempts at one change while others change the same object, before a longer pause.
const ATTEMPTS: u32 = 8;
/// Longest of the random pauses between those attempts, times the number of the attempt.
const PAUSE_MS: u64 = 200;

/// Why our part of a delegation was not put into the parent zone.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The provider cannot be reached.
    #[error(transparent)]
    Http(#[from] http::Error),
    /// Route 53 refused.
    #[error("Route 53 refused: {0}")]
    Route53(#[from] Refusal),
    /// A record of another kind stands in the way.
    #[error(transparent)]
    Occupied(#[from] Occupied),
    /// The account has no such zone.
    #[error("no public hosted zone {0} is in this account; set FLOTILLA_ROUTE53_HOSTED_ZONE_ID")]
    NoHostedZone(String),
    /// There are no credentials.
    #[error("no credentials: {0}")]
    Credentials(String),
    /// The grid refused, or said something odd.
    #[error("Infoblox: {0}")]
    Infoblox(String),
    /// Others kept changing the object.
    #[error("others changed the delegation in each of {ATTEMPTS} attempts")]
    Contended,
}

/// How the parent zone is changed.
enum Keeper {
    Route53(route53::Route53),
    Infoblox(infoblox::Grid),
}

#[derive(Default)]
struct Wishes {
    wanted: HashMap<String, Records>,
    /// What was carried out last, and when.
    done: HashMap<String, (Records, Instant)>,
}

/// Front of the keeper.
#[derive(Clone)]
pub(super) struct Delegations {
    queue: Queue<String>,
    wishes: Arc<Mutex<Wishes>>,
    keeper: Arc<Keeper>,
}

/// The keeper the settings ask for, if the parent zone has an API.
pub(super) fn start(config: &Config, metrics: &Metrics) -> Option<Delegations> {
    let keeper = match &config.provider {
        Provider::Route53(settings) => route53::Route53::new(settings.clone()).map(Keeper::Route53),
        Provider::Infoblox(settings) => {
            infoblox::Grid::new(settings.clone(), metrics.clone()).map(Keeper::Infoblox)
        }
        Provider::None | Provider::ExternalDns => return None,
    };
    match keeper {
        Ok(keeper) => Some(Delegations {
            queue: Queue::new(Backoff {
                first: PAUSES.0,
                max: PAUSES.1,
            }),
            wishes: Arc::default(),
            keeper: Arc::new(keeper),
        }),
        Err(error) => {
            tracing::error!(error = %chain(&error), "The parent zone cannot be changed");
            None
        }
    }
}

impl Delegations {
    /// Replaces what the parent zone is to say about us.
    pub(super) fn set(&self, records: Records) {
        let zone = records.zone.clone();
        {
            let mut wishes = self.lock();
            // The same again is under way, waits after a failure, or gives the servers time to follow.
            let settled =
                |(done, at): &(Records, Instant)| *done == records && at.elapsed() >= SETTLE;
            let due = wishes.done.get(&zone).is_some_and(settled);
            if wishes.wanted.get(&zone) == Some(&records) && !due {
                return;
            }
            wishes.done.remove(&zone);
            wishes.wanted.insert(zone.clone(), records);
        }
        self.queue.add(zone);
    }

    /// Works until the queue is closed.
    pub(super) async fn run(self) {
        let queue = self.queue.clone();
        let reconcile = move |zone: String| {
            let this = self.clone();
            async move { this.keep(zone).await }
        };
        flotilla_operator::run("delegation", queue, 1, QueueMetrics::default(), reconcile).await;
    }

    async fn keep(&self, zone: String) -> Result<Outcome, Error> {
        let wanted = self.lock().wanted.get(&zone).cloned();
        let Some(wanted) = wanted else {
            return Ok(Outcome::Wait);
        };
        let changed = match &*self.keeper {
            Keeper::Route53(route53) => route53.put(&wanted).await?,
            Keeper::Infoblox(grid) => grid.put(&wanted).await?,
        };
        if changed {
            let present = !wanted.addresses.is_empty();
            tracing::info!(name_server = %wanted.own_name, present, "The parent zone was updated");
        }
        self.lock().done.insert(zone, (wanted, Instant::now()));
        Ok(Outcome::Wait)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Wishes> {
        // Every change leaves the maps whole, whoever panicked after it.
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error with its causes.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// A random pause before attempt number `attempt`, so that clusters that met do not meet again.
async fn pause(attempt: u32) {
    let share: f64 = rand::random();
    let longest = Duration::from_millis(PAUSE_MS * u64::from(attempt));
    tokio::time::sleep(longest.mul_f64(share)).await;
}

#[cfg(test)]
mod double;
#[cfg(test)]
mod tests;
