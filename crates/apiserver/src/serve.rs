//! The network side: sockets, TLS, client certificates, HTTP/1.1 and HTTP/2, an orderly end.

mod connections;
mod room;

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier},
    sign::CertifiedKey,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

use self::connections::{Connections, Place};
use crate::{auth::certificate, pki::Pair, service::Service};

/// Streams of one HTTP/2 connection. client-go opens about a hundred watches on one.
const STREAMS_MAX: u32 = 1000;
/// Head of a request in bytes, and of a response what waits for a client that does not read. Go's default is 1 MiB; ours is
/// smaller and still several times what clients send.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// What waits encrypted for a client that does not read, in bytes: two TLS records.
const TLS_BYTES_MAX: usize = 32 << 10;
/// How long a stopping server waits for requests in flight.
const DRAIN: Duration = Duration::from_secs(5);

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is taken, not ours, or needs privileges.
    #[error("cannot listen on {address}; choose another address or stop what uses it")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The certificates do not work together.
    #[error("the TLS certificates cannot be used")]
    Tls(#[source] rustls::Error),
    /// A PEM text cannot be read.
    #[error("the TLS certificates cannot be read")]
    Pem(#[source] rustls::pki_types::pem::Error),
    /// The client CA is empty or unusable.
    #[error("the client CA cannot be used")]
    ClientCa(#[source] rustls::server::VerifierBuilderError),
}

/// The certificate that new connections are shown; it can be replaced at any time.
#[derive(Debug)]
pub struct Serving(ArcSwap<CertifiedKey>);

impl Serving {
    /// Begins with this certificate.
    ///
    /// # Errors
    /// When PEM or key are unusable.
    pub fn new(pair: &Pair) -> Result<Self, Error> {
        Ok(Self(ArcSwap::from_pointee(certified(pair)?)))
    }

    /// Shows this certificate from now on.
    ///
    /// # Errors
    /// When PEM or key are unusable; the old one stays then.
    pub fn replace(&self, pair: &Pair) -> Result<(), Error> {
        self.0.store(Arc::new(certified(pair)?));
        Ok(())
    }
}

impl ResolvesServerCert for Serving {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

fn certified(pair: &Pair) -> Result<CertifiedKey, Error> {
    let chain = CertificateDer::pem_slice_iter(pair.certificate.as_bytes());
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(Error::Pem)?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).map_err(Error::Pem)?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).map_err(Error::Tls)
}

/// TLS settings: our certificate, and client certificates signed by `client_ca` if offered.
///
/// # Errors
/// When the CA is unusable.
pub fn tls(serving: Arc<Serving>, client_ca: &str) -> Result<ServerConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(client_ca.as_bytes()) {
        roots
            .add(certificate.map_err(Error::Pem)?)
            .map_err(Error::Tls)?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(Error::ClientCa)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(Error::Tls)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(serving);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Opens the socket.
///
/// # Errors
/// When the address cannot be used.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address)
        .await
        .map_err(|source| Error::Bind { address, source })
}

/// Accepts connections until `stop`, then lets requests in flight end. Beyond the limit an idle connection has to go for
/// a new one, or else the new one is closed at once.
pub async fn run(
    listener: TcpListener,
    tls: ServerConfig,
    service: Service,
    stop: CancellationToken,
) {
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let open = Arc::new(Connections::default());
    let connections_max = service.engine().limits.connections_max;
    let mut refusals = Refusals::default();
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors, or the client was gone already: neither is the end.
                    tracing::debug!(%error, "Accepting a connection failed");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
            },
            () = stop.cancelled() => break,
            // Takes what ended out of the set; what it reports was logged there.
            Some(_) = connections.join_next() => continue,
        };
        let Some(place) = open.enter(connections_max) else {
            refusals.count(connections_max);
            continue;
        };
        let (acceptor, service, stop) = (acceptor.clone(), service.clone(), stop.clone());
        connections.spawn(connect(stream, acceptor, service, place, stop));
    }
    let n_open = connections.len();
    let drained = timeout(DRAIN, async {
        while connections.join_next().await.is_some() {}
    })
    .await;
    if drained.is_err() {
        tracing::debug!(n_open, "Stopped before all requests ended");
        connections.shutdown().await;
    }
}

/// Connections that were turned away, told once a minute.
#[derive(Default)]
struct Refusals {
    n_since: usize,
    told: Option<Instant>,
}

impl Refusals {
    fn count(&mut self, connections_max: usize) {
        const EVERY: Duration = Duration::from_secs(60);
        self.n_since += 1;
        if self.told.is_some_and(|told| told.elapsed() < EVERY) {
            return;
        }
        tracing::warn!(
            connections_max,
            n_refused = self.n_since,
            "New connections are refused: as many as may be are open, and each has a request under way"
        );
        *self = Self {
            n_since: 0,
            told: Some(Instant::now()),
        };
    }
}

async fn connect(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    service: Service,
    place: Place,
    stop: CancellationToken,
) {
    // Without it, small writes of watches wait for acknowledgements of earlier ones.
    let _ = stream.set_nodelay(true);
    let head_deadline = service.engine().limits.head_deadline;
    let handshake = acceptor.accept_with(stream, |session| {
        session.set_buffer_limit(Some(TLS_BYTES_MAX));
    });
    let stream = match timeout(head_deadline, handshake).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%error, "TLS handshake failed");
            return;
        }
        Err(_) => return,
    };
    let peer = stream.get_ref().1.peer_certificates();
    // A certificate without a usable name identifies nobody; a token still may.
    let leaf = peer.and_then(|chain| chain.first());
    let identity = leaf.and_then(|leaf| certificate::identity(leaf).ok());
    let close = place.close();
    let service =
        hyper::service::service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
            if let Some(identity) = &identity {
                request.extensions_mut().insert(identity.clone());
            }
            let under_way = place.request();
            let answer = service.clone().call(request);
            async move { Ok::<_, Infallible>(answer.await?.map(|body| under_way.until_sent(body))) }
        });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(head_deadline)
        .max_buf_size(HEAD_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(15))
        .adaptive_window(true);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%error, "Connection ended");
            }
            return;
        }
        () = stop.cancelled() => {}
        () = close.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    // Watches end on the same signal, so this is short; the caller bounds it.
    let _ = connection.await;
}
