//! The sockets in front of [`crate::answer`].
//!
//! Each listening address has one UDP socket per worker thread, all bound to it with SO_REUSEPORT, so the kernel spreads clients and
//! threads share nothing. A worker takes a batch of datagrams, loads the catalog once, answers them one after another from its own
//! buffers and sends the batch; at high rates it lets queries gather a moment (`pace`). TCP (RFC 7766) is served by tasks on the
//! caller's runtime. Nothing is logged per query; counting happens in memory that only the worker writes.

mod aside;
mod doh;
mod metrics;
mod notifier;
mod pace;
#[cfg(target_os = "linux")]
#[path = "server/mmsg.rs"]
mod packets;
#[cfg(not(target_os = "linux"))]
#[path = "server/single.rs"]
mod packets;
mod tcp;
mod udp;

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_util::sync::CancellationToken;

use crate::answer::{self, Context, Request, Transport};
use crate::catalog::{Catalog, Zones};
use crate::cookie::Cookies;
use crate::dnssec::SharedSigner;
use crate::geo::{CurrentGeo, Geo};
use crate::limit::RateLimit;
use crate::message::TCP_OCTETS_MAX;
use crate::order::Entropy;
use crate::transfer::Granted;
use crate::update::Updates;

pub use crate::transfer::Grantee;
pub use aside::Notices;
pub use metrics::Metrics;
pub(crate) use metrics::{Counters, Served};
pub use notifier::{Notifier, NotifierConfig};
pub(crate) use packets::Batch;
pub(crate) use tcp::{Limits, Replies, Respond, serve as serve_tcp};

/// Octets of receive buffer asked from the kernel per UDP socket: some thousands of queries while a worker is not scheduled.
const RECEIVE_BUFFER_OCTETS: usize = 1 << 20;
/// Tries to find a port that is free for both UDP and TCP when the configuration says 0.
const PORT_TRIES: usize = 16;

/// Where and how to listen.
#[derive(Debug, Clone)]
pub struct Config {
    /// Name of this server in metrics and thread names, such as the cluster's geo tag.
    pub name: String,
    /// Addresses for both UDP and TCP. Port 0 picks one that is free for both. An unspecified address (`0.0.0.0`) replies from the
    /// address the kernel chooses; on hosts with several, list them.
    pub listen: Vec<SocketAddr>,
    /// UDP threads per address, at least 1. Default 1.
    pub workers: usize,
    /// TCP connections served at once; further ones wait in the kernel's queue. Default 512.
    pub tcp_connections_max: usize,
    /// A TCP connection without a query for so long is closed (RFC 7766 §6.2.3). Default 10 s.
    pub tcp_idle: Duration,
    /// Time one TCP message may take to arrive or to be taken. Default 5 s.
    pub tcp_message: Duration,
    /// Secret of DNS cookies, shared by servers behind one address. `None`, the default, draws one at start.
    pub cookie_secret: Option<[u8; 16]>,
    /// Limit on equal replies per client network. Default none.
    pub rate_limit: Option<RateLimit>,
    /// The database for answers by place. Default none; it can be set and replaced while serving.
    pub geo: CurrentGeo,
    /// Those who may fetch zones and their changes (AXFR and IXFR, over TCP or TLS), all or some names of them. Default none: nobody
    /// may.
    pub transfer_keys: Vec<Grantee>,
    /// Where to hand in NOTIFY messages. Default nowhere: they are answered with NOTIMP.
    pub notices: Option<Notices>,
    /// Listeners for DNS over TLS (RFC 7858), usually on port 853. Default none.
    pub tls: Vec<Tls>,
    /// Listeners for DNS over HTTPS (RFC 8484), path `/dns-query`, usually on port 443. Default none.
    pub https: Vec<Tls>,
    /// Signs answers (DNSSEC). Default none.
    pub signer: Option<SharedSigner>,
    /// Who may update which zone. Default nobody: updates are answered with NOTIMP.
    pub updates: Option<Arc<Updates>>,
}

/// A listener for DNS over TLS or HTTPS.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Where to listen; port 0 picks one.
    pub address: SocketAddr,
    /// Certificate and key. Clients that negotiate a protocol say `dot`, or `h2` and
    /// `http/1.1` for HTTPS, so those should be among the ALPN names, if there are any.
    pub config: Arc<ServerConfig>,
}

impl Tls {
    /// A listener at `address` with a certificate chain and its key, both in PEM, that offers the protocols `alpn`.
    ///
    /// # Errors
    /// When there is no certificate or no key in them, or they do not belong together.
    pub fn from_pem(
        address: SocketAddr,
        certificates: &[u8],
        key: &[u8],
        alpn: &[&str],
    ) -> Result<Tls, rustls::Error> {
        let text = |error: &dyn std::fmt::Display| rustls::Error::General(error.to_string());
        let chain = CertificateDer::pem_slice_iter(certificates).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| text(&error))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| text(&error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Tls {
            address,
            config: Arc::new(config),
        })
    }
}

impl Config {
    /// Defaults for the given name and addresses.
    pub fn new(name: &str, listen: Vec<SocketAddr>) -> Config {
        let tcp = Limits::default();
        Config {
            name: name.to_owned(),
            listen,
            workers: 1,
            tcp_connections_max: tcp.connections_max,
            tcp_idle: tcp.idle,
            tcp_message: tcp.message,
            cookie_secret: None,
            rate_limit: None,
            geo: CurrentGeo::default(),
            transfer_keys: Vec::new(),
            notices: None,
            tls: Vec::new(),
            https: Vec::new(),
            signer: None,
            updates: None,
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Someone else listens there.
    #[error(
        "{protocol} {address} is in use by another program; stop that one (`ss -lnp` names it) or choose another port"
    )]
    InUse {
        /// The address.
        address: SocketAddr,
        /// `UDP` or `TCP`.
        protocol: &'static str,
    },
    /// The port needs a privilege.
    #[error(
        "not allowed to listen on {protocol} {address}; ports below 1024 need CAP_NET_BIND_SERVICE, or choose a higher port"
    )]
    NotAllowed {
        /// The address.
        address: SocketAddr,
        /// `UDP` or `TCP`.
        protocol: &'static str,
    },
    /// The address is not ours.
    #[error("cannot listen on {protocol} {address}: this machine has no such address")]
    NoSuchAddress {
        /// The address.
        address: SocketAddr,
        /// `UDP` or `TCP`.
        protocol: &'static str,
    },
    /// Anything else the operating system says.
    #[error("cannot listen on {protocol} {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// `UDP` or `TCP`.
        protocol: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A worker thread could not be started.
    #[error("cannot start a DNS worker thread")]
    Thread(#[source] io::Error),
}

/// A running server. Dropping it stops it without waiting.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<SocketAddr>,
    tls_addresses: Vec<SocketAddr>,
    https_addresses: Vec<SocketAddr>,
    workers: Vec<udp::Worker>,
    streams: JoinSet<()>,
    stopping: CancellationToken,
}

impl Server {
    /// Binds all addresses and starts to answer from `zones`. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When an address cannot be bound; nothing keeps running then.
    pub fn start(cfg: &Config, zones: &Arc<Zones>, metrics: &Metrics) -> Result<Server, Error> {
        let mut server = Server {
            addresses: Vec::new(),
            tls_addresses: Vec::new(),
            https_addresses: Vec::new(),
            workers: Vec::new(),
            streams: JoinSet::new(),
            stopping: CancellationToken::new(),
        };
        let answerer = Arc::new(Answerer {
            zones: Arc::clone(zones),
            cookies: Cookies::new(cfg.cookie_secret.unwrap_or_else(rand::random)),
            rate_limit: cfg.rate_limit,
            geo: cfg.geo.clone(),
            signer: cfg.signer.clone(),
            updates: cfg.updates.clone(),
            transfer_keys: cfg.transfer_keys.clone(),
            notices: cfg.notices.clone(),
        });
        for address in &cfg.listen {
            let bound = Bound::bind(*address, cfg.workers.max(1))?;
            server.addresses.push(bound.address);
            for socket in bound.datagrams {
                let counters = metrics.worker(&cfg.name);
                let worker = udp::Worker::start(&cfg.name, socket, Arc::clone(&answerer), counters);
                server.workers.push(worker.map_err(Error::Thread)?);
            }
            server.serve_streams(cfg, bound.stream, None, &answerer, metrics);
        }
        for tls in &cfg.tls {
            let stream =
                bind_stream(tls.address).map_err(|error| explain(error, tls.address, "TCP"))?;
            let address = stream.local_addr().unwrap_or(tls.address);
            server.tls_addresses.push(address);
            let acceptor = TlsAcceptor::from(Arc::clone(&tls.config));
            server.serve_streams(cfg, stream, Some(acceptor), &answerer, metrics);
        }
        for https in &cfg.https {
            let stream =
                bind_stream(https.address).map_err(|error| explain(error, https.address, "TCP"))?;
            let address = stream.local_addr().unwrap_or(https.address);
            server.https_addresses.push(address);
            let acceptor = TlsAcceptor::from(Arc::clone(&https.config));
            server.streams.spawn(doh::serve(
                stream,
                acceptor,
                limits(cfg),
                server_streams(cfg, &answerer, metrics),
                server.stopping.clone(),
            ));
        }
        if let Some(signer) = &cfg.signer {
            metrics.add_signer(&cfg.name, signer);
        }
        Ok(server)
    }

    fn serve_streams(
        &mut self,
        cfg: &Config,
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        answerer: &Arc<Answerer>,
        metrics: &Metrics,
    ) {
        self.streams.spawn(serve_tcp(
            listener,
            tls,
            limits(cfg),
            server_streams(cfg, answerer, metrics),
            self.stopping.clone(),
        ));
    }

    /// The addresses of DNS over TLS, in the order of the configuration.
    pub fn tls_addresses(&self) -> &[SocketAddr] {
        &self.tls_addresses
    }

    /// The addresses of DNS over HTTPS, in the order of the configuration.
    pub fn https_addresses(&self) -> &[SocketAddr] {
        &self.https_addresses
    }

    /// The addresses listened on, in the order of the configuration, with the ports chosen for 0.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Stops receiving, lets what has been received be answered, and returns when all threads and connections have ended.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        let workers = std::mem::take(&mut self.workers);
        workers.iter().for_each(udp::Worker::wake);
        // Joining blocks for at most a batch.
        let joined =
            tokio::task::spawn_blocking(|| workers.into_iter().for_each(udp::Worker::join));
        if let Err(error) = joined.await {
            tracing::debug!(%error, "DNS workers ended abnormally");
        }
        while self.streams.join_next().await.is_some() {}
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.cancel();
        self.workers.iter().for_each(udp::Worker::wake);
    }
}

fn limits(cfg: &Config) -> Limits {
    Limits {
        connections_max: cfg.tcp_connections_max,
        idle: cfg.tcp_idle,
        message: cfg.tcp_message,
    }
}

fn server_streams(cfg: &Config, answerer: &Arc<Answerer>, metrics: &Metrics) -> Arc<Streams> {
    Arc::new(Streams {
        answerer: Arc::clone(answerer),
        counters: metrics.worker(&cfg.name),
    })
}

/// The sockets of one address.
pub(crate) struct Bound {
    pub(crate) address: SocketAddr,
    pub(crate) datagrams: Vec<UdpSocket>,
    pub(crate) stream: TcpListener,
}

impl Bound {
    /// Binds TCP first, without SO_REUSEPORT: that fails when another server of ours is there, where UDP alone would quietly share
    /// its clients.
    pub(crate) fn bind(address: SocketAddr, n_datagrams: usize) -> Result<Bound, Error> {
        let mut n_tries = if address.port() == 0 { PORT_TRIES } else { 1 };
        loop {
            n_tries -= 1;
            let stream = bind_stream(address).map_err(|error| explain(error, address, "TCP"))?;
            let exact = stream
                .local_addr()
                .map_err(|error| explain(error, address, "TCP"))?;
            match bind_datagrams(exact, n_datagrams) {
                Ok(datagrams) => {
                    return Ok(Bound {
                        address: exact,
                        datagrams,
                        stream,
                    });
                }
                Err(error) if n_tries > 0 && error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(explain(error, exact, "UDP")),
            }
        }
    }
}

fn bind_stream(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(128)?;
    TcpListener::from_std(socket.into())
}

fn bind_datagrams(address: SocketAddr, n_sockets: usize) -> io::Result<Vec<UdpSocket>> {
    let open = || {
        Socket::new(
            Domain::for_address(address),
            Type::DGRAM,
            Some(Protocol::UDP),
        )
    };
    // Alone first: fails when anyone else has the port.
    open()?.bind(&address.into())?;
    let bind = |_| {
        let socket = open()?;
        socket.set_reuse_port(true)?;
        // A wish; the kernel's limit may be lower and that is fine.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER_OCTETS);
        socket.bind(&address.into())?;
        Ok(socket.into())
    };
    (0..n_sockets).map(bind).collect()
}

fn explain(source: io::Error, address: SocketAddr, protocol: &'static str) -> Error {
    match source.kind() {
        io::ErrorKind::AddrInUse => Error::InUse { address, protocol },
        io::ErrorKind::PermissionDenied => Error::NotAllowed { address, protocol },
        io::ErrorKind::AddrNotAvailable => Error::NoSuchAddress { address, protocol },
        _ => Error::Listen {
            address,
            protocol,
            source,
        },
    }
}

/// What all sockets of a server share.
struct Answerer {
    zones: Arc<Zones>,
    cookies: Cookies,
    rate_limit: Option<RateLimit>,
    geo: CurrentGeo,
    signer: Option<SharedSigner>,
    updates: Option<Arc<Updates>>,
    transfer_keys: Vec<Grantee>,
    notices: Option<Notices>,
}

impl Answerer {
    fn context<'a>(
        &'a self,
        catalog: &'a Catalog,
        geo: &'a Option<Arc<Geo>>,
        now: Duration,
    ) -> Context<'a> {
        // Cookies use the time modulo 2³².
        Context {
            catalog,
            cookies: Some(&self.cookies),
            geo: geo.as_deref(),
            signer: self.signer.as_deref(),
            now_seconds: now.as_secs() as u32,
        }
    }
}

/// Time since the Unix epoch; zero on a clock set before it.
fn unix_time() -> Duration {
    #[expect(
        clippy::disallowed_methods,
        reason = "the server is the shell that has the clock"
    )]
    let now = SystemTime::now();
    now.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Answers queries that came over TCP.
struct Streams {
    answerer: Arc<Answerer>,
    counters: Arc<Counters>,
}

impl Respond for Streams {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    async fn respond(&self, query: &[u8], client: IpAddr) -> Option<Replies> {
        let aside = self
            .answerer
            .aside(query, client, Transport::Tcp, unix_time());
        match aside {
            Some(Granted::Transfer(messages)) => Some(Replies::Many(messages)),
            Some(Granted::One(message)) => Some(Replies::One(message)),
            None => self.respond_now(query, client).map(Replies::One),
        }
    }
}

impl Streams {
    /// Apart from the async function, so that the buffer lives on the stack and not in a future.
    fn respond_now(&self, query: &[u8], client: IpAddr) -> Option<Vec<u8>> {
        let mut out = [0; TCP_OCTETS_MAX];
        let mut entropy = Entropy::new(rand::random());
        let catalog = self.answerer.zones.current().load();
        let geo = self.answerer.geo.load();
        let context = self.answerer.context(&catalog, &geo, unix_time());
        let request = Request {
            query,
            client,
            transport: Transport::Tcp,
        };
        let reply = answer::answer(&context, &request, &mut entropy, &mut out);
        self.counters.count(Served {
            transport: Transport::Tcp,
            reply,
        });
        reply.map(|reply| out[..reply.octets].to_vec())
    }
}

#[cfg(test)]
mod tests;
