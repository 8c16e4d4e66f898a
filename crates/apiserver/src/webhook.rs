//! Calling a webhook: HTTPS to a URL or to the endpoints of a service.
//!
//! A webhook has one client, made when it is first called and gone with the configuration it came
//! from. Connections are kept for the next call. What goes wrong is told in the words of Go's HTTP
//! client, which is what people search for.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/util/webhook`.

mod trust;

use std::{
    error::Error as StdError,
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll},
    time::Duration,
};

use base64::Engine as _;
use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo},
};
use serde_json::Value;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

use crate::{
    endpoints::{Destination, ServiceRef, resolve},
    store::Store,
};

/// Most bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// How long one endpoint may take to accept a connection before the next one is tried.
const CONNECT: Duration = Duration::from_secs(5);
/// How much of an unexpected answer a message quotes, in characters.
const QUOTED_CHARS_MAX: usize = 200;

/// One webhook.
pub struct Webhook {
    /// Where requests go, as messages show it, without the timeout.
    url: String,
    service: Option<ServiceRef>,
    /// PEM of the authorities that may have signed its certificate; `None` for those of the system.
    authorities: Option<Vec<u8>>,
    client: OnceLock<Result<HttpClient, String>>,
}

type HttpClient = Client<HttpsConnector<Dial>, Full<Bytes>>;

impl Webhook {
    /// The webhook of a `clientConfig`; its validity was checked when it was written.
    pub fn new(config: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let service = config["service"].as_object().map(|service| {
            let text = |name: &str| service.get(name).map(text).unwrap_or_default();
            let port = service.get("port").and_then(Value::as_u64);
            ServiceRef {
                namespace: text("namespace"),
                name: text("name"),
                port: port.and_then(|p| p.try_into().ok()).unwrap_or(443),
            }
        });
        let url = match &service {
            Some(ServiceRef {
                namespace,
                name,
                port,
            }) => {
                let path = text(&config["service"]["path"]);
                let path = path.trim_start_matches('/');
                format!("https://{name}.{namespace}.svc:{port}/{path}")
            }
            None => text(&config["url"]),
        };
        let bundle = text(&config["caBundle"]);
        let authorities = base64::engine::general_purpose::STANDARD.decode(bundle);
        Self {
            url,
            service,
            authorities: authorities.ok().filter(|pem| !pem.is_empty()),
            client: OnceLock::new(),
        }
    }

    /// Posts a JSON body and returns the body of the answer.
    ///
    /// # Errors
    /// What went wrong, with the URL.
    pub async fn post(
        &self,
        store: &Store,
        body: Bytes,
        deadline: Duration,
    ) -> Result<Bytes, String> {
        let url = format!("{}?timeout={}s", self.url, deadline.as_secs_f64());
        let failed = |why: String| format!("Post \"{url}\": {why}");
        let client = self.client.get_or_init(|| self.connector(store));
        let client = client.as_ref().map_err(|why| failed(why.clone()))?;
        let request = Request::post(&url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, */*")
            .header(header::USER_AGENT, "kube-apiserver-admission")
            .body(Full::new(body))
            .map_err(|error| failed(error.to_string()))?;
        let exchange = async {
            let response = client.request(request).await;
            let response = response.map_err(|error| failed(innermost(&error)))?;
            let code = response.status();
            let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
            let body = body.collect().await;
            let body = body.map_err(|error| failed(innermost(error.as_ref())))?;
            Ok::<_, String>((code, body.to_bytes()))
        };
        let answer = timeout(deadline, exchange).await;
        let (code, body) = answer.map_err(|_| failed("context deadline exceeded".to_owned()))??;
        if code.is_success() {
            return Ok(body);
        }
        Err(refused(code, &body))
    }

    fn connector(&self, store: &Store) -> Result<HttpClient, String> {
        let tls = trust::client_config(self.authorities.as_deref())?;
        let dial = Dial {
            store: store.clone(),
            service: self.service.clone(),
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_only()
            .enable_http1()
            .wrap_connector(dial);
        Ok(Client::builder(TokioExecutor::new()).build(connector))
    }
}

/// An answer that is no success, as Go's REST client puts it.
fn refused(code: http::StatusCode, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text: String = text.trim().chars().take(QUOTED_CHARS_MAX).collect();
    match code.as_u16() {
        404 => "the server could not find the requested resource".to_owned(),
        500.. => {
            format!("an error on the server ({text:?}) has prevented the request from succeeding")
        }
        code => format!(
            "the server responded with the status code {code} but did not return more information: \
             {text}"
        ),
    }
}

/// The first cause of an error; what stands around it only says who passed it on.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    trust::in_go_words(&at.to_string())
}

/// Opens connections for one webhook.
#[derive(Clone)]
struct Dial {
    store: Store,
    service: Option<ServiceRef>,
}

/// The future of a connection.
type Dialling = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, io::Error>> + Send>>;

impl tower::Service<Uri> for Dial {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Dialling;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Dialling {
        let Self { store, service } = self.clone();
        Box::pin(async move {
            let host = uri.host().unwrap_or("").trim_matches(['[', ']']).to_owned();
            let destinations = match &service {
                Some(service) => resolve(&store.state(), service).map_err(io::Error::other)?,
                None => vec![Destination::Host(host, uri.port_u16().unwrap_or(443))],
            };
            dial(destinations).await
        })
    }
}

/// The first destination that accepts.
async fn dial(destinations: Vec<Destination>) -> Result<TokioIo<TcpStream>, io::Error> {
    let mut last = None;
    for destination in destinations {
        let addresses: Vec<SocketAddr> = match destination {
            Destination::Address(address) => vec![address],
            Destination::Host(host, port) => match lookup_host((host.as_str(), port)).await {
                Ok(found) => found.collect(),
                Err(error) => {
                    last = Some(format!("dial tcp: lookup {host}: {error}"));
                    continue;
                }
            },
        };
        for address in addresses {
            let why = match timeout(CONNECT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // An answer that waits for an acknowledgement would be late for nothing.
                    let _ = stream.set_nodelay(true);
                    return Ok(TokioIo::new(stream));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    "connect: connection refused".to_owned()
                }
                Ok(Err(error)) => format!("connect: {error}"),
                Err(_) => "i/o timeout".to_owned(),
            };
            last = Some(format!("dial tcp {address}: {why}"));
        }
    }
    Err(io::Error::other(
        last.unwrap_or_else(|| "no address".to_owned()),
    ))
}

#[cfg(test)]
mod tests;
