//! Learning the keys with which the other clusters sign, so that our DNS server can publish the keys of all.
//!
//! Every minute each peer of each zone is asked for its key over TCP; peers whose key is not known yet every few seconds. What was
//! learned is kept in a file: after a restart resolvers may hold answers of a peer that we cannot reach.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use flotilla_dns::{
    dnssec::{SharedSigner, ask, key::PublicKey, peers::PeerKeys, store},
    name::Name,
};
use futures::{StreamExt, stream};
use tokio::sync::watch;

use super::now;
use crate::config::Config;

/// How often a peer whose key is known is asked again. Keys change rarely; the TTL of a key set is as long.
const INTERVAL: Duration = Duration::from_secs(60);
/// How often while some key is not known yet.
const RETRY: Duration = Duration::from_secs(5);
/// Peers asked at once.
const IN_FLIGHT_MAX: usize = 16;
/// Seconds after which the time a key was seen is written, though it is the same key.
const SEEN_SECONDS: i64 = 86_400;

/// How answers are signed.
#[derive(Clone, Debug)]
pub struct Signing {
    /// Of the DNS server.
    pub signer: SharedSigner,
    /// Where the other clusters' keys are kept; none keeps them in memory.
    pub peers_file: Option<PathBuf>,
}

/// Addresses of peers by zone and tag.
type Peers = BTreeMap<(String, String), Vec<IpAddr>>;

/// Front of the learner.
pub(super) struct Signers(watch::Sender<Peers>);

impl Signers {
    /// These are the peers of a zone from now on.
    pub(super) fn set(&self, zone: &str, peers: &BTreeMap<String, Vec<IpAddr>>) {
        self.0.send_modify(|known| {
            known.retain(|(other, _), _| other != zone);
            for (tag, addresses) in peers {
                known.insert((zone.to_owned(), tag.clone()), addresses.clone());
            }
        });
    }
}

/// The front, and the future that learns.
pub(super) fn start(
    config: &Config,
    signing: Signing,
) -> (Signers, impl Future<Output = ()> + Send + 'static) {
    let (sender, peers) = watch::channel(Peers::new());
    let learner = Learner {
        known: signing
            .peers_file
            .as_deref()
            .map(store::load_peers)
            .unwrap_or_default(),
        signing,
        ports: config.peer_ports(),
        source: config.own_dns.first().copied(),
        written_at: 0,
    };
    (Signers(sender), learner.run(peers))
}

struct Learner {
    signing: Signing,
    ports: Vec<u16>,
    source: Option<IpAddr>,
    known: PeerKeys,
    /// When the file was written last, Unix time in seconds.
    written_at: i64,
}

impl Learner {
    async fn run(mut self, mut peers: watch::Receiver<Peers>) {
        self.publish();
        loop {
            let asked = peers.borrow_and_update().clone();
            let complete = self.round(&asked).await;
            let wait = if complete { INTERVAL } else { RETRY };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                changed = peers.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Asks every peer once; whether all their keys are known then.
    async fn round(&mut self, peers: &Peers) -> bool {
        let unix = now().as_second();
        let seconds = u64::try_from(unix).unwrap_or_default();
        let asking: Vec<_> = peers
            .iter()
            .map(|((zone, tag), addresses)| {
                let servers = servers(addresses, &self.ports);
                ask_one(zone.clone(), tag.clone(), servers, self.source, seconds)
            })
            .collect();
        let answers: Vec<_> = stream::iter(asking)
            .buffer_unordered(IN_FLIGHT_MAX)
            .collect()
            .await;
        let mut news = self.known.forget(seconds);
        let mut complete = true;
        for (zone, tag, key) in answers {
            let Ok(zone) = Name::parse(&zone) else {
                continue;
            };
            match key {
                Some(key) if self.known.note(&zone, &tag, key.clone(), seconds) => {
                    tracing::info!(%zone, cluster = tag, tag = key.tag(), "Learned a cluster's DNSSEC key");
                    news = true;
                }
                Some(_) => {}
                None => complete &= self.known.knows(&zone, &tag),
            }
        }
        if news {
            self.publish();
        }
        if news || unix - self.written_at > SEEN_SECONDS {
            self.written_at = unix;
            self.save();
        }
        complete
    }

    fn publish(&self) {
        for (zone, keys) in self.known.by_zone() {
            self.signing.signer.set_peer_keys(&zone, keys);
        }
    }

    fn save(&self) {
        let Some(path) = &self.signing.peers_file else {
            return;
        };
        if let Err(error) = store::save_peers(path, &self.known) {
            tracing::warn!(%error, "The other clusters' DNSSEC keys cannot be kept on disk");
        }
    }
}

fn servers(addresses: &[IpAddr], ports: &[u16]) -> Vec<SocketAddr> {
    let mut servers = Vec::new();
    for address in addresses {
        servers.extend(ports.iter().map(|port| SocketAddr::new(*address, *port)));
    }
    servers
}

/// Zone and tag of a peer, and the key of the first of its servers that shows one.
async fn ask_one(
    zone: String,
    tag: String,
    servers: Vec<SocketAddr>,
    source: Option<IpAddr>,
    unix_seconds: u64,
) -> (String, String, Option<PublicKey>) {
    let mut key = None;
    if let Ok(name) = Name::parse(&zone) {
        for server in servers {
            match ask::peer_key(server, source, &name, unix_seconds).await {
                Ok(found) => {
                    key = Some(found);
                    break;
                }
                Err(error) => {
                    tracing::debug!(%server, %zone, %error, "A cluster's key was not learned");
                }
            }
        }
    }
    (zone, tag, key)
}
