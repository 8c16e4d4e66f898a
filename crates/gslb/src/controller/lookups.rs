//! Looking names up at the edge servers, and keeping our own records in the parent zone.
//!
//! Name servers of other clusters are looked up every zone interval once they are known, and every second until then,
//! so that a fleet that starts together finds itself at once. Host names that stand for addresses follow the poll
//! interval.

use std::{
    collections::{BTreeSet, HashMap},
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use flotilla_dns::{
    client::{self, Outcome},
    message::Question,
    name::Name,
    record::Type,
};
use futures::{StreamExt, future::join, stream::FuturesUnordered};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};

use super::delegations::chain;
use crate::{
    config::{Config, EdgeServer, Update},
    delegate::{self, Records},
    engine::Input,
    expose::Lookup,
};

/// Look-ups under way at once.
const IN_FLIGHT_MAX: usize = 32;
/// How soon a name that was not found is looked up again.
const RETRY: Duration = Duration::from_secs(1);
/// How often host names are looked up when peers are never polled.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Names {
    /// Whether each name is a name server.
    wanted: HashMap<String, bool>,
    due: BTreeSet<(Instant, String)>,
    /// When each name in `due` is.
    times: HashMap<String, Instant>,
    /// Why the last update about each of our name servers failed.
    failures: HashMap<String, String>,
}

struct Shared {
    names: Mutex<Names>,
    changed: Notify,
}

/// Front of the look-ups.
pub(super) struct Lookups(Arc<Shared>);

struct Settings {
    edge: Vec<EdgeServer>,
    interval: Duration,
    zone_interval: Duration,
    client: client::Config,
}

/// The front, and the future that looks names up.
pub(super) fn start(
    config: &Config,
    inputs: mpsc::Sender<Input>,
) -> (Lookups, impl Future<Output = ()> + Send + 'static) {
    let shared = Arc::new(Shared {
        names: Mutex::default(),
        changed: Notify::new(),
    });
    let interval = if config.poll_interval.is_zero() {
        DEFAULT_INTERVAL
    } else {
        config.poll_interval
    };
    let zone_interval = if config.zone_interval.is_zero() {
        interval
    } else {
        config.zone_interval
    };
    let settings = Settings {
        edge: config.edge_servers.clone(),
        interval,
        zone_interval,
        client: client::Config {
            recursion_desired: true,
            source: config.own_dns.first().copied(),
            ..client::Config::default()
        },
    };
    (Lookups(shared.clone()), run(shared, settings, inputs))
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Names> {
        // Every change leaves the names whole, whoever panicked after it.
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Names {
    /// Looks a name up at `at` and not when it was due before.
    fn set_due(&mut self, name: String, at: Instant) {
        self.forget_due(&name);
        self.times.insert(name.clone(), at);
        self.due.insert((at, name));
    }

    fn forget_due(&mut self, name: &str) {
        if let Some((name, at)) = self.times.remove_entry(name) {
            self.due.remove(&(at, name));
        }
    }

    /// Takes out the first name if it is due, or says when it is.
    fn next(&mut self, now: Instant) -> Result<String, Option<Instant>> {
        match self.due.first() {
            Some((at, _)) if *at > now => Err(Some(*at)),
            _ => {
                let (_, name) = self.due.pop_first().ok_or(None)?;
                self.times.remove(&name);
                Ok(name)
            }
        }
    }
}

impl Lookups {
    pub(super) fn add(&self, name: String, name_server: bool) {
        {
            let mut names = self.0.lock();
            names.wanted.insert(name.clone(), name_server);
            names.set_due(name, Instant::now());
        }
        self.0.changed.notify_one();
    }

    pub(super) fn remove(&self, name: &str) {
        let mut names = self.0.lock();
        names.wanted.remove(name);
        names.forget_due(name);
    }

    /// Sends a dynamic update. A failure is seen by the next look-up of our name, which asks for it again.
    pub(super) fn update(&self, settings: Update, source: Option<IpAddr>, records: Records) {
        let shared = self.0.clone();
        tokio::spawn(async move {
            let own_name = records.own_name.clone();
            let present = !records.addresses.is_empty();
            match delegate::send(&settings, source, records).await {
                Ok(()) => {
                    tracing::info!(name_server = %own_name, present, "The parent zone was updated");
                    // Whoever waits for it, such as the deletion of a zone, learns it at once.
                    let mut names = shared.lock();
                    names.failures.remove(&own_name);
                    if names.wanted.contains_key(&own_name) {
                        names.set_due(own_name, Instant::now());
                    }
                    drop(names);
                    shared.changed.notify_one();
                }
                Err(error) => {
                    // It is tried again every second: the same failure is told once.
                    let error = chain(&error);
                    let before = shared
                        .lock()
                        .failures
                        .insert(own_name.clone(), error.clone());
                    if before.as_ref() != Some(&error) {
                        tracing::warn!(name_server = %own_name, %error, "The parent zone was not updated");
                    }
                }
            }
        });
    }
}

async fn run(shared: Arc<Shared>, settings: Settings, inputs: mpsc::Sender<Input>) {
    let mut looking = FuturesUnordered::new();
    loop {
        let wake = loop {
            if looking.len() >= IN_FLIGHT_MAX {
                break None;
            }
            let next = shared.lock().next(Instant::now());
            match next {
                Ok(name) => looking.push(look_up(&settings, name)),
                Err(at) => break at,
            }
        };
        tokio::select! {
            Some((name, lookup)) = looking.next() => {
                let found = matches!(&lookup, Lookup::Addresses(found) if !found.is_empty());
                {
                    let mut names = shared.lock();
                    let Some(name_server) = names.wanted.get(&name).copied() else { continue };
                    let wait = match (found, name_server) {
                        (false, _) => RETRY,
                        (true, true) => settings.zone_interval,
                        (true, false) => settings.interval,
                    };
                    names.set_due(name.clone(), Instant::now() + wait);
                }
                if inputs.send(Input::Lookup { name, lookup }).await.is_err() {
                    return;
                }
            }
            () = shared.changed.notified() => {}
            () = sleep_until(wake) => {}
        }
    }
}

async fn look_up(settings: &Settings, name: String) -> (String, Lookup) {
    let lookup = match Name::parse(&name) {
        Ok(parsed) => {
            addresses(
                &parsed,
                &edge_addresses(&settings.edge).await,
                &settings.client,
            )
            .await
        }
        Err(error) => Lookup::Failed(error.to_string()),
    };
    (name, lookup)
}

/// Addresses of a name in both families. A family that fails does not hide what the other one has.
pub(crate) async fn addresses(name: &Name, servers: &[SocketAddr], cfg: &client::Config) -> Lookup {
    let question = |rtype| Question {
        name: name.clone(),
        rtype,
    };
    let (a, aaaa) = (question(Type::A), question(Type::AAAA));
    let (v4, v6) = join(
        client::ask(&a, servers, cfg),
        client::ask(&aaaa, servers, cfg),
    )
    .await;
    let mut found = v4.outcome.addresses();
    found.extend(v6.outcome.addresses());
    found.sort();
    found.dedup();
    match (&v4.outcome, found.is_empty()) {
        (_, false) => Lookup::Addresses(found),
        (Outcome::NoData { .. } | Outcome::NxDomain { .. }, true) => Lookup::Addresses(found),
        (Outcome::Failed(rcode), true) => Lookup::Failed(rcode.to_string()),
        (Outcome::Timeout, true) => Lookup::Failed("no answer".into()),
        (Outcome::Error(error), true) => Lookup::Failed(error.to_string()),
        _ => Lookup::Failed("the servers refer to others".into()),
    }
}

/// Addresses of the edge servers, in their order. One named by a host name is asked of the system's resolver.
pub(crate) async fn edge_addresses(edge: &[EdgeServer]) -> Vec<SocketAddr> {
    let mut servers = Vec::new();
    for server in edge {
        match server.host.parse::<IpAddr>() {
            Ok(ip) => servers.push(SocketAddr::new(ip, server.port)),
            Err(_) => {
                let found = tokio::net::lookup_host((server.host.as_str(), server.port)).await;
                servers.extend(found.into_iter().flatten());
            }
        }
    }
    servers
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
