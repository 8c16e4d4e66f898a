//! Starting and stopping the server: from a configuration to a running handle.

use std::{
    fs::DirBuilder,
    net::{IpAddr, SocketAddr},
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use http::HeaderValue;
use http::header::USER_AGENT;
use ipnet::IpNet;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    access::Identity,
    address_objects,
    auth::{jws::Key, service_account::Issuer, token_file::TokenFile},
    bootstrap,
    crd::cleanup,
    engine::{Engine, Limits},
    flow, kubeconfig,
    pki::{self, Pki},
    serve,
    service::Service,
    store::{Fsync, History, Store, StoreConfig, StoreError},
    strategy::DEFAULT_CIDR,
};

/// How to run a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where data and keys live. `None` keeps everything in memory. Default `None`.
    pub data_dir: Option<PathBuf>,
    /// When writes reach the disk. Default: before they are acknowledged.
    pub fsync: Fsync,
    /// How much history watches and old reads can use. Default: five minutes, as upstream.
    pub history: History,
    /// Where to listen; port 0 lets the system choose. `None` serves only this process. Default
    /// `127.0.0.1:6443`.
    pub listen: Option<SocketAddr>,
    /// Further names and addresses for the serving certificate.
    pub names: Vec<String>,
    /// Ranges of cluster addresses: one, or one of each family. The first address of the first one is
    /// the `kubernetes` service. A range that is stored already stays. Default `10.96.0.0/16`.
    pub service_cidrs: Vec<IpNet>,
    /// Bearer tokens of the administrator's choosing. Default: none.
    pub tokens: TokenFile,
    /// `iss` of service account tokens. Default `https://kubernetes.default.svc.cluster.local`.
    pub issuer: String,
    /// Limits.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data_dir: None,
            fsync: Fsync::Batch,
            history: History::default(),
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 6443))),
            names: Vec::new(),
            service_cidrs: vec![DEFAULT_CIDR],
            tokens: TokenFile::default(),
            issuer: "https://kubernetes.default.svc.cluster.local".to_owned(),
            limits: Limits::default(),
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store.
    #[error("the store does not open")]
    Store(#[from] StoreError),
    /// The keys.
    #[error("the keys are not usable")]
    Pki(#[from] pki::Error),
    /// The key of service account tokens.
    #[error(
        "a key of service account tokens (pki/sa.key or pki/sa-*.key) is not an ECDSA P-256 key"
    )]
    TokenKey,
    /// The network.
    #[error("the server cannot listen")]
    Serve(#[from] serve::Error),
    /// The first objects.
    #[error("the first objects cannot be written: {0}")]
    Bootstrap(String),
}

/// The server.
pub struct ApiServer;

/// A running server. Dropping it stops the server at once; [`Handle::stop`] does it in order.
pub struct Handle {
    service: Service,
    pki: Pki,
    address: Option<SocketAddr>,
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl ApiServer {
    /// Opens the store, makes keys, writes the first objects and listens. When this returns, the
    /// server is ready.
    ///
    /// # Errors
    /// See [`Error`]; nothing keeps running then.
    pub async fn start(config: Config) -> Result<Handle, Error> {
        let now = now();
        let listener = match config.listen {
            Some(address) => Some(serve::bind(address).await?),
            None => None,
        };
        let address = listener.as_ref().and_then(|l| l.local_addr().ok());
        let opening = {
            let config = config.clone();
            tokio::task::spawn_blocking(move || open_store(&config, now))
        };
        let firsts = config
            .service_cidrs
            .iter()
            .filter_map(|cidr| cidr.hosts().next());
        let mut addresses: Vec<IpAddr> = firsts.collect();
        addresses.extend(address.map(|a| a.ip()));
        let names = pki::serving_names(&addresses, &config.names);
        let pki_dir = config.data_dir.as_ref().map(|dir| dir.join("pki"));
        let pki = Pki::open(pki_dir.as_deref(), &names, now)?;
        let store = match opening.await {
            Ok(store) => store?,
            Err(error) => return Err(Error::Bootstrap(error.to_string())),
        };
        let issuer = Arc::new(issuer(&config, &pki)?);
        let engine = Engine::new(
            store.clone(),
            config.tokens.clone(),
            issuer,
            config.limits.clone(),
        );
        let service = Service::new(Arc::new(engine));
        bootstrap::run(
            &service,
            &config.service_cidrs,
            address,
            &pki.ca.certificate,
        )
        .await
        .map_err(|status| Error::Bootstrap(status.to_string()))?;
        let stop = service.engine().stop.clone();
        let mut tasks = vec![
            tokio::spawn(tick(service.engine().clone())),
            tokio::spawn(cleanup::run(service.clone())),
            tokio::spawn(address_objects::run(service.clone())),
            tokio::spawn(flow::run(service.clone())),
        ];
        if let Some(listener) = listener {
            let serving = Arc::new(serve::Serving::new(&pki.serving)?);
            let tls = serve::tls(serving.clone(), &pki.ca.certificate)?;
            let engine = service.engine().clone();
            tasks.push(tokio::spawn(renew(engine, pki.clone(), serving)));
            tasks.push(tokio::spawn(serve::run(
                listener,
                tls,
                service.clone(),
                stop.clone(),
            )));
        }
        Ok(Handle {
            service,
            pki,
            address,
            stop,
            tasks,
        })
    }
}

impl Handle {
    /// The server as a `tower` service. Requests need an [`Identity`] in their extensions, or a
    /// bearer token; see [`Handle::client_service`].
    pub fn service(&self) -> Service {
        self.service.clone()
    }

    /// The server as this identity sees it, for `kube::Client::new`.
    pub fn client_service(&self, identity: Identity) -> Identified {
        Identified {
            service: self.service.clone(),
            identity,
            agent: None,
        }
    }

    /// A client in this process with all rights, named `name` in managed fields and audit; a name that no header can carry is
    /// `unknown` in managed fields.
    pub fn client(&self, name: &str) -> kube::Client {
        let service = Identified {
            agent: HeaderValue::from_str(name).ok(),
            ..self.client_service(Identity::internal(name))
        };
        kube::Client::new(service, "default")
    }

    /// Where the server listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Says whether controllers run beside the server, for `kubectl get componentstatuses`. At first none do.
    pub fn set_controllers_run(&self, run: bool) {
        let engine = self.service.engine();
        engine.controllers_run.store(run, Ordering::Relaxed);
    }

    /// Keys and certificates.
    pub fn pki(&self) -> &Pki {
        &self.pki
    }

    /// What a kubeconfig says about this server; `None` when it does not listen.
    pub fn kubeconfig(&self, name: &str) -> Option<kubeconfig::Context> {
        let address = self.address?;
        let address = if address.ip().is_unspecified() {
            SocketAddr::from(([127, 0, 0, 1], address.port()))
        } else {
            address
        };
        Some(kubeconfig::Context {
            name: name.to_owned(),
            server: format!("https://{address}"),
            ca: self.pki.ca.certificate.clone(),
            client: self.pki.admin.clone(),
        })
    }

    /// Ends watches, lets requests in flight finish, and closes the store.
    pub async fn stop(mut self) {
        self.stop.cancel();
        for task in self.tasks.drain(..) {
            // A panic there was reported when it happened.
            let _ = task.await;
        }
        let sockets = &self.service.engine().tasks;
        sockets.close();
        sockets.wait().await;
        self.service.engine().store.close().await;
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The service with an identity for every request.
#[derive(Clone)]
pub struct Identified {
    service: Service,
    identity: Identity,
    /// The user agent of requests that name none.
    agent: Option<HeaderValue>,
}

impl<B> tower::Service<http::Request<B>> for Identified
where
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    type Response = http::Response<crate::body::Body>;
    type Error = std::convert::Infallible;
    type Future = crate::service::Responding;

    fn poll_ready(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        tower::Service::<http::Request<B>>::poll_ready(&mut self.service, cx)
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        request.extensions_mut().insert(self.identity.clone());
        if let Some(agent) = &self.agent {
            let headers = request.headers_mut();
            headers.entry(USER_AGENT).or_insert_with(|| agent.clone());
        }
        self.service.call(request)
    }
}

fn open_store(config: &Config, now: Timestamp) -> Result<Store, StoreError> {
    let path = match &config.data_dir {
        Some(dir) => {
            let path = dir.join("state.redb");
            // Secrets are in there.
            let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
            if let Err(source) = made {
                return Err(StoreError::Io { path, source });
            }
            Some(path)
        }
        None => None,
    };
    let mut store = StoreConfig::new(path);
    store.fsync = config.fsync;
    store.history = config.history.clone();
    Store::open(store, now)
}

/// What signs tokens, from the key in the data directory.
fn issuer(config: &Config, pki: &Pki) -> Result<Issuer, Error> {
    let key = |pem: &String| {
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes());
        let key = key.map_err(|_| Error::TokenKey)?;
        let key = Key::from_pkcs8(key.secret_pkcs8_der(), &SystemRandom::new());
        key.map_err(|_| Error::TokenKey)
    };
    let url = config.issuer.clone();
    let older = pki.older_service_account_keys.iter().map(key);
    Ok(Issuer {
        audiences: vec![url.clone()],
        url,
        key: key(&pki.service_account_key)?,
        older: older.collect::<Result<_, _>>()?,
    })
}

/// Once an hour: a serving certificate that runs out soon is replaced, without a restart and without
/// ending connections.
async fn renew(engine: Arc<Engine>, mut pki: Pki, serving: Arc<serve::Serving>) {
    const EVERY: Duration = Duration::from_secs(3600);
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = engine.stop.cancelled() => return,
        }
        let now = engine.now();
        let renewed = tokio::task::spawn_blocking(move || {
            let pair = pki.renew_serving(now).map(|pair| pair.cloned());
            (pki, pair)
        });
        let Ok((kept, pair)) = renewed.await else {
            return;
        };
        pki = kept;
        let replaced = match pair {
            Ok(None) => continue,
            Ok(Some(pair)) => serving.replace(&pair).map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match replaced {
            Ok(()) => tracing::info!("Serving certificate renewed"),
            Err(error) => tracing::warn!(%error, "The serving certificate cannot be renewed"),
        }
    }
}

/// Once a second: events expire, history is trimmed, documents that nobody reads are forgotten. When the server stops:
/// watches end.
async fn tick(engine: Arc<Engine>) {
    tokio::select! {
        () = tick_for_ever(&engine) => {}
        () = engine.stop.cancelled() => {}
    }
    engine.stop.cancelled().await;
    engine.store.end_subscriptions();
}

/// Ends only when the store takes no more writes.
async fn tick_for_ever(engine: &Engine) {
    const EVERY: Duration = Duration::from_secs(1);
    loop {
        tokio::time::sleep(EVERY).await;
        engine.open_api.drop_idle(engine.now());
        if let Err(error) = engine.store.tick(engine.now()).await {
            tracing::debug!(%error, "The store takes no more writes");
            return;
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the shell that starts the server reads the clock"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
