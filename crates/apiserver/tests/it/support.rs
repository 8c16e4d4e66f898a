//! A server for each test, and raw requests to it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use flotilla_apiserver::{
    ApiServer, Config, Handle, access::Identity, body::Body, kubeconfig, pki::Pair, store::History,
};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};
use tower::Service as _;

/// A server in memory that only this process reaches.
pub(crate) async fn in_process() -> Handle {
    let config = Config {
        listen: None,
        ..Config::default()
    };
    ApiServer::start(config).await.unwrap()
}

/// A server that listens, and a client that reaches it over TLS with the admin's certificate.
pub(crate) async fn over_the_wire() -> (Handle, kube::Client) {
    let listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let server = ApiServer::start(Config {
        listen,
        ..Config::default()
    })
    .await
    .unwrap();
    let text = kubeconfig::render(&[server.kubeconfig("test").unwrap()]);
    let config = Kubeconfig::from_yaml(&text).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(config, &options)
        .await
        .unwrap();
    let client = kube::Client::try_from(config).unwrap();
    (server, client)
}

/// A server in memory that forgets its history at once.
pub(crate) async fn forgetful() -> Handle {
    let history = History {
        age: Duration::ZERO,
        events_min: 0,
        events_max: 0,
        ..History::default()
    };
    ApiServer::start(Config {
        listen: None,
        history,
        ..Config::default()
    })
    .await
    .unwrap()
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    #[track_caller]
    pub(crate) fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or("").to_owned()
    }
}

/// A GET as the administrator whose body is still to come.
pub(crate) async fn request(server: &Handle, target: &str) -> http::Response<Body> {
    let request = Request::get(target).body(Full::new(Bytes::new())).unwrap();
    let mut service = server.client_service(Identity::internal("admin"));
    service.call(request).await.unwrap()
}

/// One request as the administrator.
pub(crate) async fn send(
    server: &Handle,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Reply {
    let mut request = Request::builder()
        .method(method.parse::<Method>().unwrap())
        .uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body.into())).unwrap();
    let mut service = server.client_service(Identity::internal("admin"));
    let response = service.call(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Reply {
        code: parts.status.as_u16(),
        headers: parts.headers,
        bytes,
    }
}

/// A TLS connection with a client certificate, for requests that no HTTP client makes.
pub(crate) async fn tls(
    address: SocketAddr,
    ca: &str,
    pair: &Pair,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let chain = CertificateDer::pem_slice_iter(pair.certificate.as_bytes());
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::IpAddress(address.ip().into());
    connector.connect(name, stream).await
}
