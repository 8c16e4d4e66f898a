//! Asking another cluster for its key.
//!
//! Over TCP, so that nobody who is not on the way between the clusters can answer in its place. Whoever is on the way could give us a
//! key of his own; where that is a fear, the way between clusters needs protection of its own (docs/gslb.md says which).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::key::PublicKey;
use super::peers::own_key;
use crate::message::{self, FLAG_QR, Message, Question, UDP_OCTETS_MAX, encode_query};
use crate::name::Name;
use crate::record::{Rcode, Type};
use crate::update::exchange;

/// Longest wait for a key.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Why a peer's key could not be learned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The network refused.
    #[error("the server cannot be reached")]
    Io(#[from] std::io::Error),
    /// No reply in time.
    #[error("no reply in time")]
    Timeout,
    /// The reply is no DNS message or not the reply to our question.
    #[error("the reply is malformed")]
    Malformed(#[from] message::Error),
    /// The server does not answer for the zone.
    #[error("the server answers {0}")]
    Refused(Rcode),
    /// There is no key, as with a cluster that does not sign, or no signature of it that holds.
    #[error("the server shows no key that signs the key set")]
    NoKey,
}

/// The key with which `server` signs `zone`.
///
/// # Errors
/// When it does not show one that has signed its key set and holds at `unix_seconds`.
pub async fn peer_key(
    server: SocketAddr,
    source: Option<IpAddr>,
    zone: &Name,
    unix_seconds: u64,
) -> Result<PublicKey, Error> {
    let id = rand::random();
    let query = question(id, zone);
    let reply = tokio::time::timeout(TIMEOUT, exchange(server, source, &query))
        .await
        .map_err(|_| Error::Timeout)?;
    let reply = Message::parse(&reply?)?;
    let asked = Question {
        name: zone.clone(),
        rtype: Type::DNSKEY,
    };
    if reply.id != id || !reply.has(FLAG_QR) || reply.question != Some(asked) {
        return Err(message::Error::BadData.into());
    }
    if reply.rcode != Rcode::NOERROR {
        return Err(Error::Refused(reply.rcode));
    }
    own_key(&reply, zone, unix_seconds as u32).ok_or(Error::NoKey)
}

/// A question for the keys of a zone with their signatures.
pub(super) fn question(id: u16, zone: &Name) -> Vec<u8> {
    let question = Question {
        name: zone.clone(),
        rtype: Type::DNSKEY,
    };
    let mut query = encode_query(id, 0, &question, Some(UDP_OCTETS_MAX as u16));
    // The DO bit, four octets from the end of an OPT record without options (RFC 6891 §6.1.3).
    let flags = query.len() - 4;
    query[flags] |= 0x80;
    query
}
