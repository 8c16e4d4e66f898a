//! Dynamic updates (RFC 2136), signed (RFC 8945): how clusters add themselves to the parent zone.
//!
//! Adding one NS record is additive by nature, so several clusters share a delegation without an owner: each adds and
//! removes what is its own. [`send`] speaks to any server; [`Updates`] makes a server of ours accept updates for a zone,
//! from each key what its [`Grant`] allows. What was added lives in memory: a server that starts again is told again, because clusters
//! look whether they are still known.
//!
//! Prerequisites are answered with NOTIMP: nobody here needs them, and pretending to check them would be worse.

mod grant;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::catalog::{Change, Publish, Zones};
use crate::message::{self, CLASS_IN, Cursor, FLAG_QR, HEADER_OCTETS, OPCODE_MASK};
use crate::name::Name;
use crate::record::{Data, Rcode, Type};
use crate::tsig;
use crate::zone::{Entry, RecordSet, TTL_SECONDS_MAX};

pub use self::grant::Grant;
use self::grant::permits;
pub use crate::tsig::Key;

/// The operation code UPDATE within the flags (RFC 2136 §1.3).
const OPCODE_UPDATE: u16 = 5 << 11;
/// "Any class": deletes sets (RFC 2136 §2.5.2).
const CLASS_ANY: u16 = 255;
/// "No class": deletes one record (RFC 2136 §2.5.4).
const CLASS_NONE: u16 = 254;
/// Records of one update.
pub const RECORDS_MAX: usize = 256;
/// Names that may hold updated records; further ones are refused.
pub const NAMES_MAX: usize = 10_000;
/// Records of one type at one name; further ones are refused.
pub const RECORDS_PER_SET_MAX: usize = 64;
/// Longest wait for a server that takes an update.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// One line of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Adds a record.
    Add {
        /// Its name.
        name: Name,
        /// Its TTL in seconds.
        ttl_seconds: u32,
        /// Its data.
        data: Data,
    },
    /// Deletes one record.
    Delete {
        /// Its name.
        name: Name,
        /// Its data.
        data: Data,
    },
    /// Deletes all records of a type; with [`Type::ANY`] of every type.
    DeleteSet {
        /// Their name.
        name: Name,
        /// Their type.
        rtype: Type,
    },
}

/// Why an update failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The network refused.
    #[error("the server cannot be reached")]
    Io(#[from] std::io::Error),
    /// No reply in time.
    #[error("no reply in time")]
    Timeout,
    /// The reply is no DNS message or not the reply to our update.
    #[error("the reply is malformed")]
    Malformed(#[from] message::Error),
    /// The reply does not carry the right signature.
    #[error("the reply is not signed as it should be")]
    Tsig(#[from] tsig::Error),
    /// The server refused.
    #[error("the server refused: {0}")]
    Refused(Rcode),
    /// A record cannot be written.
    #[error("a record cannot be written")]
    Record(#[from] crate::record::Error),
}

/// The update message without signature.
///
/// # Errors
/// When a record cannot be written.
pub fn encode(id: u16, zone: &Name, lines: &[Line]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let n_lines = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    for field in [id, OPCODE_UPDATE, 1, 0, n_lines, 0] {
        out.extend(field.to_be_bytes());
    }
    out.extend(zone.wire());
    out.extend(Type::SOA.0.to_be_bytes());
    out.extend(CLASS_IN.to_be_bytes());
    for line in lines.iter().take(usize::from(n_lines)) {
        let (name, rtype, class, ttl, data) = match line {
            Line::Add {
                name,
                ttl_seconds,
                data,
            } => (name, data.rtype(), CLASS_IN, *ttl_seconds, Some(data)),
            Line::Delete { name, data } => (name, data.rtype(), CLASS_NONE, 0, Some(data)),
            Line::DeleteSet { name, rtype } => (name, *rtype, CLASS_ANY, 0, None),
        };
        let mut rdata = Vec::new();
        if let Some(data) = data {
            data.encode(&mut rdata)?;
        }
        out.extend(name.wire());
        out.extend(rtype.0.to_be_bytes());
        out.extend(class.to_be_bytes());
        out.extend(ttl.to_be_bytes());
        out.extend(u16::try_from(rdata.len()).unwrap_or(u16::MAX).to_be_bytes());
        out.extend(rdata);
    }
    Ok(out)
}

/// Sends an update to `server` over TCP, from `source` if given, and waits for its consent.
///
/// # Errors
/// When the server cannot be reached, refuses, or answers without a valid signature.
pub async fn send(
    server: SocketAddr,
    source: Option<IpAddr>,
    zone: &Name,
    lines: &[Line],
    key: &Key,
    unix_seconds: u64,
) -> Result<(), Error> {
    let id = rand::random();
    let mut request = encode(id, zone, lines)?;
    let mut chain = key.sign_request(&mut request, unix_seconds);
    let reply = tokio::time::timeout(SEND_TIMEOUT, exchange(server, source, &request))
        .await
        .map_err(|_| Error::Timeout)??;
    let rcode = Rcode(u16::from(reply.get(3).ok_or(message::Error::Short)? & 0xf));
    if reply.get(..2) != request.get(..2) {
        return Err(message::Error::BadData.into());
    }
    if rcode != Rcode::NOERROR {
        return Err(Error::Refused(rcode));
    }
    chain.verify(&reply, unix_seconds)?;
    Ok(())
}

/// One message to `server` over TCP, and its reply.
pub(crate) async fn exchange(
    server: SocketAddr,
    source: Option<IpAddr>,
    request: &[u8],
) -> std::io::Result<Vec<u8>> {
    let socket = if server.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    if let Some(source) = source.filter(|ip| ip.is_ipv4() == server.is_ipv4()) {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    let mut stream = socket.connect(server).await?;
    let mut framed = Vec::with_capacity(request.len() + 2);
    framed.extend(
        u16::try_from(request.len())
            .unwrap_or(u16::MAX)
            .to_be_bytes(),
    );
    framed.extend(request);
    stream.write_all(&framed).await?;
    let octets = stream.read_u16().await?;
    let mut reply = vec![0; usize::from(octets)];
    stream.read_exact(&mut reply).await?;
    Ok(reply)
}

/// Seconds since 1970, for signatures.
pub fn unix_now() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "signatures carry the wall clock")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Whether a message is an update and not a query.
pub(crate) fn is_update(message: &[u8]) -> bool {
    let flags = message
        .get(2..4)
        .map_or(0, |f| u16::from_be_bytes([f[0], f[1]]));
    message.len() >= HEADER_OCTETS && flags & OPCODE_MASK == OPCODE_UPDATE && flags & FLAG_QR == 0
}

/// Sets of records by type, each with its TTL.
type Sets = BTreeMap<Type, (u32, Vec<Data>)>;

/// Makes a server accept updates for one zone.
pub struct Updates {
    zones: Arc<Zones>,
    apex: Name,
    keys: Vec<Key>,
    grants: Vec<Grant>,
    names: Mutex<BTreeMap<Name, Sets>>,
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates")
            .field("apex", &self.apex)
            .finish_non_exhaustive()
    }
}

impl Updates {
    /// Updates for the zone `apex` of `zones`, from each of `grants` about what is its own.
    ///
    /// The zone's own records must not be at names that are updated: an updated name holds what updates say and nothing
    /// else.
    pub fn new(zones: Arc<Zones>, apex: Name, grants: Vec<Grant>) -> Updates {
        Updates {
            zones,
            apex,
            keys: grants.iter().map(|grant| grant.key.clone()).collect(),
            grants,
            names: Mutex::default(),
        }
    }

    /// The reply to an update, made and visible when this returns.
    pub fn respond(&self, request: &[u8], unix_seconds: u64) -> Vec<u8> {
        let mut chain = match tsig::verify_request(&self.keys, request, unix_seconds) {
            Ok(chain) => chain,
            Err(error) => {
                tracing::debug!(%error, "An update was refused");
                let mut reply = reply(request, Rcode::NOTAUTH);
                tsig::append_error(&mut reply, request, error, unix_seconds);
                return reply;
            }
        };
        let rcode = self
            .take(request, chain.key())
            .err()
            .unwrap_or(Rcode::NOERROR);
        let mut reply = reply(request, rcode);
        chain.sign(&mut reply, unix_seconds);
        reply
    }

    /// Checks every line before the first is carried out (RFC 2136 §3.4).
    fn take(&self, message: &[u8], key: &Key) -> Result<(), Rcode> {
        let lines = self.read(message)?;
        let grant = self.grants.iter().find(|g| g.key.name() == key.name());
        let permits = |line| grant.is_some_and(|g| permits(&self.grants, g, &self.apex, line));
        if let Some(line) = lines.iter().find(|line| !permits(line)) {
            tracing::warn!(key = %key.name(), ?line, "An update is about somebody else's records");
            return Err(Rcode::REFUSED);
        }
        // Whoever panicked while holding it had not changed it by half: it is replaced as a whole.
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = names.clone();
        let mut touched = Vec::new();
        for line in lines {
            touched.push(apply(&mut next, line)?);
        }
        if next.len() > NAMES_MAX {
            return Err(Rcode::REFUSED);
        }
        touched.sort();
        touched.dedup();
        let changes = touched
            .into_iter()
            .map(|name| self.change(&next, name))
            .collect();
        let errors = self.zones.publish(changes);
        if let Some(error) = errors.first() {
            tracing::warn!(%error, "An update does not fit the zone");
            return Err(Rcode::REFUSED);
        }
        *names = next;
        Ok(())
    }

    fn read(&self, message: &[u8]) -> Result<Vec<Line>, Rcode> {
        let malformed = |_| Rcode::FORMERR;
        let mut cursor = Cursor::new(message);
        cursor.take(4).map_err(malformed)?;
        let mut counts = [0u16; 4];
        for count in &mut counts {
            *count = cursor.u16().map_err(malformed)?;
        }
        let [n_zones, n_prerequisites, n_lines, _] = counts;
        if n_zones != 1 {
            return Err(Rcode::FORMERR);
        }
        let zone = cursor.name().map_err(malformed)?;
        let (rtype, class) = (
            cursor.u16().map_err(malformed)?,
            cursor.u16().map_err(malformed)?,
        );
        if rtype != Type::SOA.0 {
            return Err(Rcode::FORMERR);
        }
        if zone != self.apex || class != CLASS_IN {
            return Err(Rcode::NOTAUTH);
        }
        if n_prerequisites > 0 {
            return Err(Rcode::NOTIMP);
        }
        if usize::from(n_lines) > RECORDS_MAX {
            return Err(Rcode::REFUSED);
        }
        (0..n_lines).map(|_| self.read_line(&mut cursor)).collect()
    }

    fn read_line(&self, cursor: &mut Cursor<'_>) -> Result<Line, Rcode> {
        let malformed = |_| Rcode::FORMERR;
        let name = cursor.name().map_err(malformed)?;
        let rtype = Type(cursor.u16().map_err(malformed)?);
        let class = cursor.u16().map_err(malformed)?;
        let ttl_seconds = cursor.u32().map_err(malformed)?;
        let octets = usize::from(cursor.u16().map_err(malformed)?);
        // The apex belongs to the zone's settings.
        if !name.is_within(&self.apex) || name == self.apex {
            return Err(Rcode::REFUSED);
        }
        let data = |cursor: &mut Cursor<'_>| {
            let usable = !rtype.is_meta() && rtype != Type::SOA;
            let data = Data::decode(rtype, cursor, octets).map_err(|_| Rcode::FORMERR)?;
            if usable {
                Ok(data)
            } else {
                Err(Rcode::FORMERR)
            }
        };
        match class {
            CLASS_IN => {
                let ttl_seconds = ttl_seconds.min(TTL_SECONDS_MAX);
                Ok(Line::Add {
                    name,
                    ttl_seconds,
                    data: data(cursor)?,
                })
            }
            CLASS_NONE => Ok(Line::Delete {
                name,
                data: data(cursor)?,
            }),
            CLASS_ANY if octets == 0 => Ok(Line::DeleteSet { name, rtype }),
            _ => Err(Rcode::FORMERR),
        }
    }

    fn change(&self, names: &BTreeMap<Name, Sets>, name: Name) -> Change {
        let zone = self.apex.clone();
        match names.get(&name) {
            None => Change::Remove { zone, name },
            Some(sets) => {
                let sets = sets
                    .values()
                    .map(|(ttl, data)| RecordSet::fixed(*ttl, data.clone()));
                Change::Set {
                    zone,
                    name,
                    entry: Arc::new(Entry {
                        sets: sets.collect(),
                        why: None,
                    }),
                }
            }
        }
    }
}

/// Carries one line out; returns the name it is about.
fn apply(names: &mut BTreeMap<Name, Sets>, line: Line) -> Result<Name, Rcode> {
    let name = match line {
        Line::Add {
            name,
            ttl_seconds,
            data,
        } => {
            let (ttl, set) = names
                .entry(name.clone())
                .or_default()
                .entry(data.rtype())
                .or_default();
            *ttl = ttl_seconds;
            if !set.contains(&data) {
                if set.len() >= RECORDS_PER_SET_MAX {
                    return Err(Rcode::REFUSED);
                }
                set.push(data);
                // In the order of their text, so that the same servers give the same set.
                set.sort_by_key(Data::to_string);
            }
            name
        }
        Line::Delete { name, data } => {
            if let Some((_, set)) = names
                .get_mut(&name)
                .and_then(|sets| sets.get_mut(&data.rtype()))
            {
                set.retain(|known| *known != data);
            }
            name
        }
        Line::DeleteSet { name, rtype } => {
            if let Some(sets) = names.get_mut(&name) {
                sets.retain(|known, _| rtype != Type::ANY && *known != rtype);
            }
            name
        }
    };
    if let Some(sets) = names.get_mut(&name) {
        sets.retain(|_, (_, set)| !set.is_empty());
        if sets.is_empty() {
            names.remove(&name);
        }
    }
    Ok(name)
}

/// A reply that carries nothing but a code: header and no sections (RFC 2136 §3.8).
fn reply(request: &[u8], rcode: Rcode) -> Vec<u8> {
    let mut out = vec![0; HEADER_OCTETS];
    if let Some(id) = request.get(..2) {
        out[..2].copy_from_slice(id);
    }
    out[2..4].copy_from_slice(&(FLAG_QR | OPCODE_UPDATE | rcode.0).to_be_bytes());
    out
}

#[cfg(test)]
mod tests;
