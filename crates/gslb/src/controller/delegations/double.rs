//! A server that plays a provider's API: one reply per connection, over TCP or TLS.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

/// A request as it came.
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) head: String,
    pub(super) body: String,
}

/// Gives status and body of the reply.
pub(super) type Play = Box<dyn FnMut(&Asked) -> (u16, String) + Send>;

/// A running double.
pub(super) struct Double {
    pub(super) address: SocketAddr,
    /// Certificate to trust, in PEM; empty without TLS.
    pub(super) certificate: String,
}

impl Double {
    pub(super) async fn plain(play: Play) -> Double {
        Double::start(play, None, String::new()).await
    }

    pub(super) async fn tls(play: Play) -> Double {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key.into())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Double::start(play, Some(acceptor), cert.pem()).await
    }

    async fn start(play: Play, tls: Option<TlsAcceptor>, certificate: String) -> Double {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let play = Arc::new(Mutex::new(play));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (play, tls) = (play.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &play).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &play).await;
                            }
                        }
                    }
                });
            }
        });
        Double {
            address,
            certificate,
        }
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, play: &Mutex<Play>) {
    let mut octets = Vec::new();
    let mut chunk = [0; 4096];
    let (head, start) = loop {
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => octets.extend(&chunk[..n]),
            _ => return,
        }
        if let Some(end) = octets.windows(4).position(|w| w == b"\r\n\r\n") {
            break (
                String::from_utf8_lossy(&octets[..end]).into_owned(),
                end + 4,
            );
        }
    };
    let length = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.parse().unwrap());
    while octets.len() < start + length {
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => octets.extend(&chunk[..n]),
            _ => return,
        }
    }
    let mut first = head.lines().next().unwrap_or_default().split(' ');
    let asked = Asked {
        method: first.next().unwrap_or_default().to_owned(),
        target: first.next().unwrap_or_default().to_owned(),
        body: String::from_utf8_lossy(&octets[start..]).into_owned(),
        head: head.clone(),
    };
    let (status, body) = (play.lock().unwrap())(&asked);
    let reply = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(reply.as_bytes()).await;
    let _ = stream.shutdown().await;
}
