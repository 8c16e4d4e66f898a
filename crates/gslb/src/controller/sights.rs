//! Asking the other clusters whom they see.
//!
//! Only hosts whose Gslb asks for witnesses or for gradual drains are asked about: once per poll interval, and every
//! second while a fail-over waits for the answer. One task asks everybody; each question has its own patience, so a dead
//! peer delays nobody else.

use std::{
    collections::{BTreeMap, HashMap},
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use flotilla_dns::{
    client::{self, Outcome},
    message::Question,
    name::Name,
    record::{Data, Type},
};
use futures::{StreamExt, stream::FuturesUnordered};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};

use super::now;
use crate::{
    config::Config,
    decide::Asking,
    engine::Input,
    sight::{self, Sight, Sighting},
};

/// Questions under way at once.
const IN_FLIGHT_MAX: usize = 256;
/// How often a host is asked about while a fail-over waits.
const URGENT: Duration = Duration::from_secs(1);
/// How often otherwise, when peers are never polled.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Interest {
    /// Zone, eagerness and when to ask next, by host.
    hosts: HashMap<String, (String, Asking, Instant)>,
    /// Servers of each peer, by zone.
    peers: BTreeMap<String, BTreeMap<String, Vec<IpAddr>>>,
}

struct Shared {
    interest: Mutex<Interest>,
    changed: Notify,
}

/// Front of the questions.
pub(super) struct Sights(Arc<Shared>);

struct Settings {
    interval: Duration,
    ports: Vec<u16>,
    client: client::Config,
}

/// The front, and the future that asks.
pub(super) fn start(
    config: &Config,
    inputs: mpsc::Sender<Input>,
) -> (Sights, impl Future<Output = ()> + Send + 'static) {
    let shared = Arc::new(Shared {
        interest: Mutex::default(),
        changed: Notify::new(),
    });
    let interval = match config.poll_interval {
        Duration::ZERO => DEFAULT_INTERVAL,
        interval => interval,
    };
    let settings = Settings {
        interval,
        ports: config.peer_ports(),
        client: client::Config {
            source: config.own_dns.first().copied(),
            ..client::Config::default()
        },
    };
    (Sights(shared.clone()), run(shared, settings, inputs))
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Interest> {
        // Every change leaves the maps whole, whoever panicked after it.
        self.interest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sights {
    pub(super) fn ask(&self, host: String, zone: String, asking: Asking) {
        {
            let mut interest = self.0.lock();
            match asking {
                Asking::No => interest.hosts.remove(&host),
                _ => interest.hosts.insert(host, (zone, asking, Instant::now())),
            };
        }
        self.0.changed.notify_one();
    }

    pub(super) fn set(&self, zone: &str, peers: BTreeMap<String, Vec<IpAddr>>) {
        self.0.lock().peers.insert(zone.to_owned(), peers);
        self.0.changed.notify_one();
    }
}

/// A question that is due: the host, whom to ask, and where.
type Due = (String, String, Vec<SocketAddr>);

impl Interest {
    /// Questions that are due; each host is asked about again after its interval.
    fn due(&mut self, settings: &Settings, now: Instant) -> Vec<Due> {
        let mut due = Vec::new();
        for (host, (zone, asking, at)) in &mut self.hosts {
            if *at > now {
                continue;
            }
            *at = now
                + match asking {
                    Asking::Urgently => URGENT.min(settings.interval),
                    _ => settings.interval,
                };
            for (tag, addresses) in self.peers.get(zone).into_iter().flatten() {
                let servers = settings
                    .ports
                    .iter()
                    .flat_map(|port| addresses.iter().map(|ip| SocketAddr::new(*ip, *port)));
                due.push((host.clone(), tag.clone(), servers.collect()));
            }
        }
        due
    }

    fn next(&self) -> Option<Instant> {
        self.hosts.values().map(|(_, _, at)| *at).min()
    }
}

async fn run(shared: Arc<Shared>, settings: Settings, inputs: mpsc::Sender<Input>) {
    let mut asking = FuturesUnordered::new();
    loop {
        let wake = {
            let mut interest = shared.lock();
            if asking.len() < IN_FLIGHT_MAX {
                for (host, tag, servers) in interest.due(&settings, Instant::now()) {
                    let client = &settings.client;
                    asking.push(async move {
                        let sighting = sighting(&host, &servers, client).await;
                        (host, tag, sighting)
                    });
                }
            }
            interest.next().filter(|_| asking.len() < IN_FLIGHT_MAX)
        };
        tokio::select! {
            Some((host, tag, sighting)) = asking.next() => {
                let input = Input::Sighting { host, tag, sighting, at: now() };
                if inputs.send(input).await.is_err() {
                    return;
                }
            }
            () = shared.changed.notified() => {}
            () = sleep_until(wake) => {}
        }
    }
}

/// Asks one cluster whom it sees of a host.
pub(crate) async fn sighting(
    host: &str,
    servers: &[SocketAddr],
    client: &client::Config,
) -> Sighting {
    let Ok(name) = Name::parse(&sight::name(host)) else {
        return Sighting::NotKept;
    };
    let question = Question {
        name,
        rtype: Type::TXT,
    };
    let report = client::ask(&question, servers, client).await;
    match report.outcome {
        Outcome::Answer(records) => {
            let texts = records.into_iter().filter_map(|record| match record.data {
                Data::Txt(parts) => String::from_utf8(parts.concat()).ok(),
                _ => None,
            });
            let said = texts.into_iter().find_map(|text| Sight::parse(&text));
            said.map_or(Sighting::NotKept, Sighting::Said)
        }
        Outcome::NoData { .. } | Outcome::NxDomain { .. } => Sighting::NotKept,
        Outcome::Referral(_) | Outcome::Failed(_) | Outcome::Timeout | Outcome::Error(_) => {
            Sighting::Silence
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
