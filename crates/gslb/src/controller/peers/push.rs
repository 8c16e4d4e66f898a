//! Following a peer's zone over one connection instead of asking about each host.
//!
//! A [`Pusher`] keeps a copy of the local targets in one peer's zone. It opens a connection, fetches the zone once, and pulls what
//! changed whenever the peer says so (NOTIFY) and once per keep-alive. When to do what decides [`Session`]; here are the connection
//! and the clock.

use std::{
    collections::{HashSet, VecDeque},
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use flotilla_dns::{
    client::stream::{Error, Stream, Wanted},
    name::Name,
    secondary::{
        Replica, Update,
        session::{Session, Step},
    },
    tsig::Key,
};
use jiff::Timestamp;
use tokio::{sync::mpsc, time::Instant};

use super::{super::now, sleep_until};
use crate::{
    names,
    view::{Answer, Family, Observation},
};

/// Longest time between two proofs that a peer is there: below the time after which DNS servers close idle connections.
const KEEP_ALIVE_MAX: Duration = Duration::from_secs(5);

/// Different addresses that are remembered to be shared: those of some Gslbs next to each other.
const SHARED_MAX: usize = 16;

/// What came of a pull.
type Pulled = (Option<Stream>, Result<Update, Error>);

/// What happened to a session.
#[derive(Debug)]
pub(super) enum Event {
    /// The copy is complete: polling can rest.
    Live,
    /// The peer is there, and these names have other addresses than before.
    Pulled(HashSet<Name>),
    /// The session broke after it was live: polling goes on at once.
    Broke,
}

/// A copy of one peer's zone.
pub(super) struct Pusher {
    session: Session,
    replica: Replica,
    wanted: Wanted,
    servers: Vec<SocketAddr>,
    source: Option<IpAddr>,
    start: Instant,
    /// The connection while nothing is pulled.
    stream: Option<Stream>,
    pulling: Option<Pin<Box<dyn Future<Output = Pulled> + Send>>>,
    /// Serials the peer says it has.
    notices: mpsc::Receiver<Option<u32>>,
    server: Option<SocketAddr>,
    /// When the copy was right for the last time.
    proven_at: Timestamp,
    /// Addresses handed out lately.
    shared: VecDeque<Arc<[IpAddr]>>,
    results: super::super::Metrics,
    place: (String, String),
}

/// What a pusher needs.
pub(super) struct Setup {
    pub(super) zone: String,
    pub(super) tag: String,
    pub(super) key: Key,
    pub(super) servers: Vec<SocketAddr>,
    pub(super) source: Option<IpAddr>,
    pub(super) interval: Duration,
    pub(super) notices: mpsc::Receiver<Option<u32>>,
    pub(super) metrics: super::super::Metrics,
}

impl Pusher {
    /// A pusher that has not connected yet; none when the zone is no name.
    pub(super) fn new(setup: Setup) -> Option<Pusher> {
        let start = Instant::now();
        let keep_alive = match setup.interval {
            Duration::ZERO => KEEP_ALIVE_MAX,
            interval => interval.min(KEEP_ALIVE_MAX),
        };
        Some(Pusher {
            session: Session::new(keep_alive, Duration::ZERO),
            replica: Replica::default(),
            wanted: Wanted {
                zone: Name::parse(&setup.zone).ok()?,
                key: setup.key,
                keep: names::is_local_targets,
            },
            servers: setup.servers,
            source: setup.source,
            start,
            stream: None,
            pulling: None,
            notices: setup.notices,
            server: None,
            proven_at: now(),
            shared: VecDeque::new(),
            results: setup.metrics,
            place: (setup.zone, setup.tag),
        })
    }

    /// Whether the copy can be believed.
    pub(super) fn is_live(&self) -> bool {
        self.session.is_live()
    }

    /// The next thing that happens. May be dropped and called again at any time.
    pub(super) async fn next(&mut self) -> Event {
        loop {
            let wake = match self.session.step(self.start.elapsed()) {
                Step::Open => {
                    self.replica = Replica::default();
                    self.stream = None;
                    self.pull();
                    None
                }
                Step::Pull => {
                    self.pull();
                    None
                }
                Step::Wait(at) => at.map(|at| self.start + at),
            };
            tokio::select! {
                pulled = finished(&mut self.pulling) => {
                    self.pulling = None;
                    if let Some(event) = self.take(pulled) {
                        return event;
                    }
                }
                Some(serial) = self.notices.recv() => self.session.noticed(serial),
                () = sleep_until(wake) => {}
            }
        }
    }

    fn pull(&mut self) {
        let (stream, servers, source) = (self.stream.take(), self.servers.clone(), self.source);
        let (wanted, known) = (self.wanted.clone(), self.replica.serial());
        self.pulling = Some(Box::pin(async move {
            let opened = match stream {
                Some(stream) => Ok(stream),
                None => open(&servers, source).await,
            };
            match opened {
                Err(error) => (None, Err(error)),
                Ok(mut stream) => {
                    let result = stream.pull(&wanted, known).await;
                    (Some(stream), result)
                }
            }
        }));
    }

    fn take(&mut self, (stream, result): Pulled) -> Option<Event> {
        let (zone, tag) = &self.place;
        let was_live = self.session.is_live();
        let kind = match &result {
            Ok(Update::Same) => "same",
            Ok(Update::Whole { .. }) => "whole",
            Ok(Update::Changes { .. }) => "changes",
            Err(_) => "failed",
        };
        self.results.pulled(zone, tag, kind);
        let applied = match result {
            Ok(update) => self.replica.apply(update).map_err(Error::from),
            Err(error) => Err(error),
        };
        let elapsed = self.start.elapsed();
        match applied {
            Ok(changed) => {
                self.server = stream.as_ref().map(Stream::server);
                self.stream = stream;
                self.proven_at = now();
                self.session.pulled(self.replica.serial(), elapsed);
                if was_live {
                    return Some(Event::Pulled(changed));
                }
                let n_addresses = self.replica.len();
                tracing::info!(zone, peer = tag, n_addresses, "A peer pushes its changes");
                self.results.pushes(zone, tag, true);
                Some(Event::Live)
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                let broke = self.session.broke(elapsed);
                if broke {
                    tracing::warn!(zone, peer = tag, %error, cause, "A peer pushes no more and is polled");
                    self.results.pushes(zone, tag, false);
                } else {
                    tracing::debug!(zone, peer = tag, %error, cause, "A peer does not push");
                }
                broke.then_some(Event::Broke)
            }
        }
    }

    /// What the peer says about a host, whose local targets have these names, in one family, as of the last proof.
    pub(super) fn observation(&mut self, names: &[Name], family: Family) -> Observation {
        let mut addresses = Vec::new();
        let mut ttl_seconds = None;
        for name in names {
            let held = self.replica.addresses(name).iter();
            for address in held.filter(|address| Family::of(&address.ip) == family) {
                let ttl = ttl_seconds.get_or_insert(address.ttl_seconds);
                *ttl = (*ttl).min(address.ttl_seconds);
                if !address.ip.is_unspecified() {
                    addresses.push(address.ip);
                }
            }
            if !addresses.is_empty() {
                break;
            }
        }
        addresses.sort_unstable();
        addresses.dedup();
        Observation {
            answer: Answer::Targets {
                addresses: self.shared(addresses),
                ttl_seconds: ttl_seconds.unwrap_or_default(),
            },
            at: self.proven_at,
            server: self.server,
        }
    }

    /// One copy of addresses that many hosts have.
    fn shared(&mut self, addresses: Vec<IpAddr>) -> Arc<[IpAddr]> {
        let same = |known: &&Arc<[IpAddr]>| ***known == *addresses;
        if let Some(known) = self.shared.iter().rev().find(same) {
            return known.clone();
        }
        let new: Arc<[IpAddr]> = addresses.into();
        if self.shared.len() == SHARED_MAX {
            self.shared.pop_front();
        }
        self.shared.push_back(new.clone());
        new
    }
}

/// The first server that takes a connection.
async fn open(servers: &[SocketAddr], source: Option<IpAddr>) -> Result<Stream, Error> {
    let none = || std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
    let mut failed = Error::Io(none());
    for server in servers {
        match Stream::connect(*server, source).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// The host whose local targets a name holds: the inverse of [`names::local_targets`].
pub(super) fn host_of(name: &Name) -> Option<String> {
    let text = name.to_string();
    let host = text
        .strip_prefix("localtargets-")
        .or_else(|| text.strip_prefix("localtargets."))?;
    Some(host.trim_end_matches('.').to_owned())
}

/// What comes of the future in the place; waits for ever when there is none.
async fn finished<T>(place: &mut Option<Pin<Box<dyn Future<Output = T> + Send>>>) -> T {
    match place {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
