//! DNS over TCP (RFC 7766) and TLS (RFC 7858): length-prefixed messages, many per connection, answered in order.
//!
//! A connection holds what has arrived of one query and the reply to it, nothing more; a length is a claim and the buffer grows only
//! as octets come in. Idle and slow clients are cut off, connections beyond the limit wait in the kernel's queue.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::metrics::{Counters, increment};

/// Pause after `accept` failed, which it does while file descriptors are short.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Octets read ahead per connection.
const READ_AHEAD_OCTETS: usize = 1024;

/// What a listener allows.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) connections_max: usize,
    pub(crate) idle: Duration,
    pub(crate) message: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 512,
            idle: Duration::from_secs(10),
            message: Duration::from_secs(5),
        }
    }
}

/// Something that answers queries.
pub(crate) trait Respond: Send + Sync + 'static {
    /// Where connections are counted.
    fn counters(&self) -> &Counters;

    /// The replies to `query`; `None` closes the connection.
    fn respond(&self, query: &[u8], client: IpAddr)
    -> impl Future<Output = Option<Replies>> + Send;
}

/// What one query gets.
pub(crate) enum Replies {
    /// One message.
    One(Vec<u8>),
    /// One message after the other, made as they are sent.
    Many(Box<dyn Iterator<Item = Vec<u8>> + Send>),
}

impl Replies {
    fn next(&mut self) -> Option<Vec<u8>> {
        match self {
            Replies::One(message) => Some(std::mem::take(message)).filter(|m| !m.is_empty()),
            Replies::Many(messages) => messages.next(),
        }
    }
}

/// Serves `listener` until `stopping`; connections then finish the query they are at. With `tls` each starts with a handshake.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    responder: Arc<impl Respond>,
    stopping: CancellationToken,
) {
    let counters = responder.counters();
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let mut connections = JoinSet::new();
    loop {
        let accept = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = stopping.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = accept => accepted,
        };
        let Ok((stream, client)) = accepted else {
            increment(&counters.socket_errors);
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        increment(&counters.tcp_connections);
        let conversation = Conversation {
            client: client.ip(),
            limits: limits.clone(),
            responder: Arc::clone(&responder),
            stopping: stopping.clone(),
        };
        let tls = tls.clone();
        connections.spawn(async move {
            let _place = place;
            // How a connection ends is the client's business.
            let _ = conversation.start(stream, tls).await;
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// One client's connection.
struct Conversation<R> {
    client: IpAddr,
    limits: Limits,
    responder: Arc<R>,
    stopping: CancellationToken,
}

impl<R: Respond> Conversation<R> {
    async fn start(self, stream: TcpStream, tls: Option<TlsAcceptor>) -> io::Result<()> {
        stream.set_nodelay(true)?;
        match tls {
            None => self.converse(stream).await,
            Some(tls) => {
                let stream = timeout(self.limits.message, tls.accept(stream)).await??;
                self.converse(stream).await
            }
        }
    }

    async fn converse(self, stream: impl AsyncRead + AsyncWrite) -> io::Result<()> {
        let Conversation {
            client,
            limits,
            responder,
            stopping,
        } = self;
        let (reader, mut writer) = tokio::io::split(stream);
        let mut reader = BufReader::with_capacity(READ_AHEAD_OCTETS, reader);
        let mut query = Vec::new();
        loop {
            let octets = tokio::select! {
                () = stopping.cancelled() => return Ok(()),
                octets = timeout(limits.idle, reader.read_u16()) => u64::from(octets??),
            };
            query.clear();
            let mut body = (&mut reader).take(octets);
            let n_read = timeout(limits.message, body.read_to_end(&mut query)).await??;
            if n_read as u64 != octets {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some(mut replies) = responder.respond(&query, client).await else {
                return Ok(());
            };
            while let Some(reply) = replies.next() {
                let mut framed = Vec::with_capacity(reply.len() + 2);
                framed.extend((reply.len() as u16).to_be_bytes());
                framed.extend(reply);
                timeout(limits.message, write(&mut writer, &framed)).await??;
            }
            // A long query was an exception; do not keep its buffer for the next.
            query.shrink_to(READ_AHEAD_OCTETS);
        }
    }
}

/// TLS holds octets back until they are flushed.
async fn write(writer: &mut (impl AsyncWrite + Unpin), octets: &[u8]) -> io::Result<()> {
    writer.write_all(octets).await?;
    writer.flush().await
}
