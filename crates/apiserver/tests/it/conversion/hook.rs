//! A conversion webhook over TLS that behaves as told.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use base64::Engine as _;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

/// What the webhook does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Converts.
    Honest,
    /// Never answers.
    Silent,
    /// Says that it failed.
    Refusing,
    /// Answers 500.
    Broken,
    /// Answers to another question.
    WrongUid,
    /// Leaves all objects out.
    Dropping,
    /// Returns another object.
    Renaming,
}

/// A running webhook; ends when dropped.
pub(super) struct Hook {
    address: SocketAddr,
    certificate: String,
    n_calls: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Hook {
    pub(super) async fn start(behaviour: Behaviour) -> Self {
        Self::start_as(behaviour, IsCa::NoCa).await
    }

    /// One that shows the certificate of an authority, as many operators make it.
    pub(super) async fn start_as_authority() -> Self {
        let constraints = BasicConstraints::Unconstrained;
        Self::start_as(Behaviour::Honest, IsCa::Ca(constraints)).await
    }

    async fn start_as(behaviour: Behaviour, is_ca: IsCa) -> Self {
        let names = ["127.0.0.1".to_owned(), "hook.default.svc".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        params.is_ca = is_ca;
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let n_calls = Arc::new(AtomicUsize::new(0));
        let counter = n_calls.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, counter) = (acceptor.clone(), counter.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service = service_fn(move |request| {
                        counter.fetch_add(1, Ordering::SeqCst);
                        answer(behaviour, request)
                    });
                    let http = hyper::server::conn::http1::Builder::new();
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self {
            address,
            certificate: certificate.pem(),
            n_calls,
            task,
        }
    }

    /// Where it is found from outside: endpoints must not be loopback addresses.
    pub(super) fn address(&self) -> SocketAddr {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        // Nothing is sent; the system only says which address it would send from.
        socket.connect("192.0.2.1:9").unwrap();
        SocketAddr::new(socket.local_addr().unwrap().ip(), self.address.port())
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}/convert", self.address)
    }

    /// The `clientConfig` that reaches it.
    pub(super) fn config(&self) -> Value {
        let bundle = base64::engine::general_purpose::STANDARD.encode(&self.certificate);
        json!({"url": self.url(), "caBundle": bundle})
    }

    pub(super) fn n_calls(&self) -> usize {
        self.n_calls.load(Ordering::SeqCst)
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    behaviour: Behaviour,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let asked = &review["request"];
    let desired = asked["desiredAPIVersion"].as_str().unwrap();
    let objects = asked["objects"].as_array().unwrap().iter();
    let mut objects: Vec<Value> = objects.map(|o| convert(o, desired)).collect();
    let mut uid = asked["uid"].clone();
    let mut result = json!({"status": "Success"});
    match behaviour {
        Behaviour::Honest => {}
        Behaviour::Silent => std::future::pending().await,
        Behaviour::Refusing => result = json!({"status": "Failed", "message": "not today"}),
        Behaviour::Broken => {
            let mut response = Response::new(Full::from("oops"));
            *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
            return Ok(response);
        }
        Behaviour::WrongUid => uid = json!("other"),
        Behaviour::Dropping => objects.clear(),
        Behaviour::Renaming => objects[0]["metadata"]["name"] = json!("b"),
    }
    let response = json!({"uid": uid, "result": result, "convertedObjects": objects});
    let review = json!({"apiVersion": review["apiVersion"], "kind": review["kind"],
        "response": response});
    Ok(Response::new(Full::from(review.to_string())))
}

/// `spec.host` of v1 is `spec.name:spec.port` of v2.
fn convert(object: &Value, desired: &str) -> Value {
    let mut object = object.clone();
    if object["apiVersion"] == desired {
        return object;
    }
    object["apiVersion"] = desired.into();
    let Some(spec) = object["spec"].as_object_mut() else {
        return object;
    };
    if desired.ends_with("/v1") {
        let name = spec.remove("name").unwrap_or_default();
        let port = spec.remove("port").unwrap_or_default();
        let host = format!("{}:{port}", name.as_str().unwrap_or(""));
        spec.insert("host".to_owned(), host.into());
    } else {
        let host = spec.remove("host").unwrap_or_default();
        if let Some((name, port)) = host.as_str().unwrap_or("").split_once(':') {
            spec.insert("name".to_owned(), name.into());
            spec.insert("port".to_owned(), json!(port.parse::<u64>().unwrap_or(0)));
        }
    }
    object
}
