//! The HTTP client of providers: TLS that is verified, a time limit, and replies of bounded size.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, header::HOST};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer};

/// Octets of a reply that are read.
const REPLY_OCTETS_MAX: usize = 4 * 1024 * 1024;

/// Why a request got no reply.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The certificates to trust cannot be used.
    #[error("the certificates to trust cannot be read")]
    Certificates(#[from] std::io::Error),
    /// None of them is one.
    #[error("the file with certificates to trust has none")]
    NoCertificate,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    /// The request cannot be made.
    #[error("the request cannot be made")]
    Request(#[from] http::Error),
    /// The server cannot be reached.
    #[error("{host} cannot be reached")]
    Connect {
        /// The server.
        host: String,
        /// Why.
        source: hyper_util::client::legacy::Error,
    },
    /// The reply broke off, or is too long.
    #[error("the reply of {host} cannot be read: {why}")]
    Body {
        /// The server.
        host: String,
        /// Why.
        why: String,
    },
    /// It took too long.
    #[error("{host} did not answer within {seconds} s")]
    Timeout {
        /// The server.
        host: String,
        /// The limit.
        seconds: u64,
    },
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// A client.
#[derive(Clone)]
pub(crate) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: Duration,
}

impl Http {
    /// A client that trusts the system's certificates, or only those in the PEM text `trusted`.
    pub(crate) fn new(
        trusted: Option<&[u8]>,
        timeout: Duration,
        n_connections: usize,
    ) -> Result<Http, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let tls = match trusted {
            None => tls.with_native_roots()?,
            Some(pem) => tls.with_root_certificates(roots(pem)?),
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls.with_no_client_auth())
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(n_connections)
            .build(connector);
        Ok(Http { client, timeout })
    }

    /// Sends a request.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Reply, Error> {
        let host = request.uri().authority().map(ToString::to_string);
        let host = host
            .or_else(|| Some(request.headers().get(HOST)?.to_str().ok()?.to_owned()))
            .unwrap_or_default();
        let exchange = async {
            let reply = self.client.request(request).await;
            let reply = reply.map_err(|source| Error::Connect {
                host: host.clone(),
                source,
            })?;
            let status = reply.status().as_u16();
            let body = Limited::new(reply.into_body(), REPLY_OCTETS_MAX)
                .collect()
                .await;
            let body = body.map_err(|why| Error::Body {
                host: host.clone(),
                why: why.to_string(),
            })?;
            let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
            Ok(Reply { status, body })
        };
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(reply) => reply,
            Err(_) => Err(Error::Timeout {
                host: host.clone(),
                seconds: self.timeout.as_secs(),
            }),
        }
    }
}

fn roots(pem: &[u8]) -> Result<RootCertStore, Error> {
    let mut store = RootCertStore::empty();
    let certificates: Vec<CertificateDer<'static>> =
        rustls_pemfile::certs(&mut &*pem).collect::<Result<_, _>>()?;
    for certificate in certificates {
        store.add(certificate)?;
    }
    if store.is_empty() {
        return Err(Error::NoCertificate);
    }
    Ok(store)
}
