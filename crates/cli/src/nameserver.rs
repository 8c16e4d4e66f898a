//! A cluster's DNS server, the zones it answers from and the key it signs with.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use flotilla_dns::catalog::{Publish, Zones};
use flotilla_dns::dnssec::key::SigningKey;
use flotilla_dns::dnssec::{Signer, store};
use flotilla_dns::geo::CurrentGeo;
use flotilla_dns::keep::Keeper;
use flotilla_dns::server::{Config, Grantee, Metrics, Notices, Notifier, NotifierConfig, Server};
use flotilla_dns::tsig::{Key, key_file};
use flotilla_dns::update::unix_now;
use flotilla_gslb::controller::{Push, Signing};
use flotilla_gslb::names;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::args::CopyArgs;

/// File of the zones in a data folder.
const SNAPSHOT: &str = "dns-zones";
/// File of the DNSSEC key.
const KEY: &str = "dnssec.pem";
/// File of the other clusters' keys.
const PEERS: &str = "dnssec-peers";
/// Notices of changed zones that wait; further ones say nothing new.
const NOTICES_MAX: usize = 256;

/// Who may have the zones, and who is told that they changed.
#[derive(Clone, Default)]
pub(crate) struct Copies {
    /// The key that the clusters of a fleet share.
    pub(crate) push_key: Option<Key>,
    /// Keys whose holders may fetch the zones.
    transfer_keys: Vec<Key>,
    /// Servers that keep a copy of the zones.
    secondaries: Vec<SocketAddr>,
}

impl Copies {
    /// Reads what the arguments name.
    pub(crate) fn read(args: &CopyArgs) -> Result<Self> {
        let transfer_keys = match &args.transfer_key_file {
            None => Vec::new(),
            Some(path) => {
                let hint = || format!("cannot use {} of --transfer-key-file", path.display());
                let text = std::fs::read_to_string(path).with_context(hint)?;
                key_file::parse(&text).with_context(hint)?
            }
        };
        Ok(Self {
            push_key: None,
            transfer_keys,
            secondaries: args.secondary.clone(),
        })
    }
}

/// What is kept, and where.
#[derive(Clone, Copy)]
pub(crate) struct Keeping<'a> {
    /// Folder for zones and keys; none keeps nothing.
    pub(crate) folder: Option<&'a Path>,
    /// Another file for the DNSSEC key.
    pub(crate) key: Option<&'a Path>,
    /// Whether answers are signed.
    pub(crate) sign: bool,
}

/// A running DNS server. With a folder it answers at once what it answered before a restart.
pub(crate) struct NameServer {
    server: Server,
    publisher: Arc<dyn Publish>,
    signing: Option<Signing>,
    push: Option<Push>,
    geo: CurrentGeo,
    notifying: JoinHandle<()>,
    stop: CancellationToken,
}

impl NameServer {
    /// Starts it.
    pub(crate) fn start(
        mut config: Config,
        copies: Copies,
        keeping: Keeping<'_>,
        metrics: &Metrics,
    ) -> Result<Self> {
        let Copies {
            push_key,
            transfer_keys,
            secondaries,
        } = copies;
        let signing = keeping.sign.then(|| signing(keeping)).transpose()?;
        config.signer = signing.as_ref().map(|signing| Arc::clone(&signing.signer));
        let (sender, notices) = mpsc::channel(NOTICES_MAX);
        let fleet = push_key.clone().map(|key| Grantee {
            key,
            pick: Some(names::is_local_targets),
        });
        let copies = transfer_keys.iter().cloned().map(Grantee::from);
        config.transfer_keys = fleet.into_iter().chain(copies).collect();
        config.notices = push_key.clone().map(|key| Notices { key, sender });
        let zones = Zones::timed(unix_now);
        let publisher: Arc<dyn Publish> = match keeping.folder {
            Some(folder) => Arc::new(Keeper::start(folder.join(SNAPSHOT), Arc::clone(&zones))),
            None => Arc::clone(&zones) as _,
        };
        let server = Server::start(&config, &zones, metrics)?;
        let stop = CancellationToken::new();
        // Peers know a cluster by the address of its name server, if that is one address.
        let source = config.listen.first().map(SocketAddr::ip);
        let notifier = NotifierConfig {
            key: push_key.clone(),
            secondaries,
            secondaries_key: transfer_keys.into_iter().next(),
            source: source.filter(|ip| !ip.is_unspecified()),
        };
        let (notifier, notifying) = Notifier::start(&zones, notifier, stop.clone());
        let push = push_key.map(|key| Push {
            key,
            notifier,
            notices,
        });
        Ok(Self {
            server,
            publisher,
            signing,
            push,
            geo: config.geo,
            notifying: tokio::spawn(notifying),
            stop,
        })
    }

    /// What a controller needs to push and be pushed to; once.
    pub(crate) fn take_push(&mut self) -> Option<Push> {
        self.push.take()
    }

    /// Where a controller hands in what is to be answered.
    pub(crate) fn publisher(&self) -> Arc<dyn Publish> {
        Arc::clone(&self.publisher)
    }

    /// The database by which it answers by place, to be replaced while it runs.
    pub(crate) fn geo(&self) -> CurrentGeo {
        self.geo.clone()
    }

    /// How it signs, for whoever learns the other clusters' keys.
    pub(crate) fn signing(&self) -> Option<Signing> {
        self.signing.clone()
    }

    /// Stops answering and writes what is outstanding, once no controller publishes any more.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        // A panic there was reported when it happened.
        let _ = self.notifying.await;
        self.server.stop().await;
        // The file is small or the process is ending: waiting here holds nobody up.
        drop(self.publisher);
    }
}

/// The key of the file, of the folder, or one for this run.
fn signing(keeping: Keeping<'_>) -> Result<Signing> {
    let Keeping { folder, key, .. } = keeping;
    let path = key.map(Path::to_owned);
    let key = match path.or_else(|| Some(folder?.join(KEY))) {
        Some(path) => store::open(&path)?,
        None => SigningKey::generate()?.0,
    };
    Ok(Signing {
        signer: Arc::new(Signer::new(key)),
        peers_file: folder.map(|folder| folder.join(PEERS)),
    })
}
