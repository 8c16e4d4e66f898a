//! DNS over TCP (RFC 7766): length-prefixed messages, many per connection, answered in order.
//!
//! A connection holds what has arrived of one query and the reply to it, nothing more; a length is a claim and the buffer grows only
//! as octets come in. Idle and slow clients are cut off, connections beyond the limit wait in the kernel's queue.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::metrics::{Counters, increment};

/// Pause after `accept` failed, which it does while file descriptors are short.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
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
    /// The reply to `query`; `None` closes the connection.
    fn respond(&self, query: &[u8], client: IpAddr)
    -> impl Future<Output = Option<Vec<u8>>> + Send;
}

/// Serves `listener` until `stopping`; connections then finish the query they are at.
pub(crate) async fn serve(
    listener: TcpListener,
    limits: Limits,
    responder: Arc<impl Respond>,
    counters: Arc<Counters>,
    stopping: CancellationToken,
) {
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
        let Ok((stream, _)) = accepted else {
            increment(&counters.socket_errors);
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        increment(&counters.tcp_connections);
        let (limits, responder, stopping) =
            (limits.clone(), Arc::clone(&responder), stopping.clone());
        connections.spawn(async move {
            let _place = place;
            // How a connection ends is the client's business.
            let _ = converse(stream, &limits, &*responder, &stopping).await;
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn converse(
    stream: TcpStream,
    limits: &Limits,
    responder: &impl Respond,
    stopping: &CancellationToken,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let client = stream.peer_addr()?.ip();
    let (reader, mut writer) = stream.into_split();
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
        let Some(reply) = responder.respond(&query, client).await else {
            return Ok(());
        };
        let mut framed = Vec::with_capacity(reply.len() + 2);
        framed.extend((reply.len() as u16).to_be_bytes());
        framed.extend(reply);
        timeout(limits.message, writer.write_all(&framed)).await??;
        // A long query was an exception; do not keep its buffer for the next.
        query.shrink_to(READ_AHEAD_OCTETS);
    }
}
