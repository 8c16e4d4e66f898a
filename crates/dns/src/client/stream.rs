//! A kept TCP connection over which a copy of a zone follows its owner.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{error::Elapsed, timeout};

use crate::name::{Name, Pick};
use crate::secondary::{self, Incoming, Progress, Update};
use crate::tsig::Key;
use crate::update::unix_now;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the next message may take. A live owner answers in a round trip; whoever stalls is left.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a transfer may take altogether.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(60);

/// Why a pull failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection cannot be made or broke.
    #[error("the connection broke")]
    Io(#[from] io::Error),
    /// Nothing came in time.
    #[error("no reply in time")]
    Timeout(#[from] Elapsed),
    /// What came is not believed.
    #[error("the transfer is not believed")]
    Transfer(#[from] secondary::Error),
}

/// What to pull, and with which key.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The zone.
    pub zone: Name,
    /// The key the owner knows.
    pub key: Key,
    /// Names to keep.
    pub keep: Pick,
}

/// An open connection to a zone's owner.
#[derive(Debug)]
pub struct Stream {
    server: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Stream {
    /// Connects to `server`, from `source` if that is given and of its family.
    ///
    /// # Errors
    /// When the server cannot be reached within a second.
    pub async fn connect(server: SocketAddr, source: Option<IpAddr>) -> Result<Stream, Error> {
        let socket = if server.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        if let Some(source) = source.filter(|ip| ip.is_ipv4() == server.is_ipv4()) {
            socket.bind(SocketAddr::new(source, 0))?;
        }
        let stream = timeout(CONNECT_TIMEOUT, socket.connect(server)).await??;
        stream.set_nodelay(true)?;
        let stream = BufReader::new(stream);
        Ok(Stream { server, stream })
    }

    /// Whom the connection is to.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// Asks what is different from the version `known`, or for everything.
    ///
    /// # Errors
    /// When the owner is silent, refuses or lies. The connection is then of no use any more.
    pub async fn pull(&mut self, wanted: &Wanted, known: Option<u32>) -> Result<Update, Error> {
        let Wanted { zone, key, keep } = wanted;
        let id = rand::random();
        let (request, mut incoming) = Incoming::ask(id, zone, known, key, *keep, unix_now());
        let mut framed = Vec::with_capacity(request.len() + 2);
        let octets = u16::try_from(request.len()).unwrap_or(u16::MAX);
        framed.extend(octets.to_be_bytes());
        framed.extend(request);
        let work = async {
            timeout(MESSAGE_TIMEOUT, self.stream.write_all(&framed)).await??;
            loop {
                let message = timeout(MESSAGE_TIMEOUT, self.receive()).await??;
                if let Progress::Done(update) = incoming.take(&message, unix_now())? {
                    return Ok(update);
                }
            }
        };
        timeout(TRANSFER_TIMEOUT, work).await?
    }

    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let octets = self.stream.read_u16().await?;
        let mut message = vec![0; usize::from(octets)];
        self.stream.read_exact(&mut message).await?;
        Ok(message)
    }
}

#[cfg(test)]
mod tests;
