//! Transaction signatures with HMAC-SHA256 (RFC 8945).
//!
//! Pure: the time is an argument. Only what updates need is here: one signature over a whole message, the last record of
//! the additional section.

use ring::hmac;

use crate::message::{self, Cursor, HEADER_OCTETS};
use crate::name::Name;
use crate::record::Type;

/// Seconds by which the two clocks may differ (RFC 8945 §10).
const FUDGE_SECONDS: u16 = 300;
/// The algorithm's name in wire form.
const ALGORITHM: &[u8] = b"\x0bhmac-sha256\x00";
/// Class of the record.
const CLASS_ANY: u16 = 255;

/// A shared secret and its name.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Name both sides know it by.
    pub name: Name,
    /// The secret octets.
    pub secret: Vec<u8>,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Why a signature does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is none.
    #[error("the message is not signed")]
    Unsigned,
    /// The message cannot be read.
    #[error("the message is malformed")]
    Malformed(#[from] message::Error),
    /// Nobody here knows the key.
    #[error("unknown key {name}")]
    UnknownKey {
        /// Its name.
        name: Name,
    },
    /// Another algorithm than HMAC-SHA256.
    #[error("only hmac-sha256 is accepted")]
    Algorithm,
    /// The signature is of another message or another key.
    #[error("the signature does not match")]
    Mismatch,
    /// The clocks are too far apart.
    #[error("signed at {signed}, which is more than {FUDGE_SECONDS} s from {now}")]
    Time {
        /// Unix time of the signature.
        signed: u64,
        /// Our Unix time.
        now: u64,
    },
}

/// A message whose signature holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed<'a> {
    /// The message up to the signature. Its additional count still includes it.
    pub message: &'a [u8],
    /// The signature, for signing the reply.
    pub mac: Vec<u8>,
    /// Name of the key.
    pub key_name: Name,
}

/// Appends a signature to `message`; returns the MAC. `request_mac` is the one of the request when this is its reply.
pub fn sign(
    message: &mut Vec<u8>,
    key: &Key,
    request_mac: Option<&[u8]>,
    unix_seconds: u64,
) -> Vec<u8> {
    let time = &unix_seconds.to_be_bytes()[2..];
    let mac = digest(key, request_mac, message, time, FUDGE_SECONDS, 0, &[]);
    let id = [message[0], message[1]];
    message.extend(key.name.wire());
    message.extend(Type::TSIG.0.to_be_bytes());
    message.extend(CLASS_ANY.to_be_bytes());
    message.extend(0u32.to_be_bytes());
    let octets = ALGORITHM.len() + 6 + 2 + 2 + mac.len() + 2 + 2 + 2;
    message.extend((octets as u16).to_be_bytes());
    message.extend(ALGORITHM);
    message.extend(time);
    message.extend(FUDGE_SECONDS.to_be_bytes());
    message.extend((mac.len() as u16).to_be_bytes());
    message.extend(&mac);
    message.extend(id);
    message.extend([0; 4]);
    let n_additionals = u16::from_be_bytes([message[10], message[11]]).wrapping_add(1);
    message[10..HEADER_OCTETS].copy_from_slice(&n_additionals.to_be_bytes());
    mac
}

/// Checks the signature of `message` against `keys`. `request_mac` as in [`sign`].
///
/// # Errors
/// See [`Error`].
pub fn verify<'a>(
    message: &'a [u8],
    keys: &[Key],
    request_mac: Option<&[u8]>,
    unix_seconds: u64,
) -> Result<Signed<'a>, Error> {
    let start = last_additional(message)?.ok_or(Error::Unsigned)?;
    let mut cursor = Cursor::new(message);
    cursor.take(start)?;
    let name = cursor.name()?;
    if Type(cursor.u16()?) != Type::TSIG {
        return Err(Error::Unsigned);
    }
    let (class, ttl, octets) = (cursor.u16()?, cursor.u32()?, usize::from(cursor.u16()?));
    if class != CLASS_ANY || ttl != 0 || cursor.position() + octets != message.len() {
        return Err(message::Error::BadData.into());
    }
    let algorithm = cursor.name()?;
    if algorithm.wire() != ALGORITHM {
        return Err(Error::Algorithm);
    }
    let time = cursor.take(6)?;
    let fudge = cursor.u16()?;
    let mac_octets = usize::from(cursor.u16()?);
    let mac = cursor.take(mac_octets)?;
    let id = cursor.array::<2>()?;
    let error = cursor.u16()?;
    let other_octets = usize::from(cursor.u16()?);
    let other = cursor.take(other_octets)?;
    if cursor.position() != message.len() {
        return Err(message::Error::BadData.into());
    }
    let key = keys
        .iter()
        .find(|key| key.name == name)
        .ok_or(Error::UnknownKey { name })?;

    // What was signed had the original id and did not count the signature.
    let mut original = message[..start].to_vec();
    original[..2].copy_from_slice(&id);
    let n_additionals = u16::from_be_bytes([message[10], message[11]]).wrapping_sub(1);
    original[10..HEADER_OCTETS].copy_from_slice(&n_additionals.to_be_bytes());
    let input = input(key, request_mac, &original, time, fudge, error, other);
    let hmac_key = hmac::Key::new(hmac::HMAC_SHA256, &key.secret);
    hmac::verify(&hmac_key, &input, mac).map_err(|_| Error::Mismatch)?;

    let signed = time
        .iter()
        .fold(0u64, |sum, octet| sum << 8 | u64::from(*octet));
    if signed.abs_diff(unix_seconds) > u64::from(fudge.min(FUDGE_SECONDS)) {
        return Err(Error::Time {
            signed,
            now: unix_seconds,
        });
    }
    Ok(Signed {
        message: &message[..start],
        mac: mac.to_vec(),
        key_name: key.name.clone(),
    })
}

fn digest(
    key: &Key,
    request_mac: Option<&[u8]>,
    message: &[u8],
    time: &[u8],
    fudge: u16,
    error: u16,
    other: &[u8],
) -> Vec<u8> {
    let input = input(key, request_mac, message, time, fudge, error, other);
    let hmac_key = hmac::Key::new(hmac::HMAC_SHA256, &key.secret);
    hmac::sign(&hmac_key, &input).as_ref().to_vec()
}

/// The octets that are signed (RFC 8945 §4.3).
fn input(
    key: &Key,
    request_mac: Option<&[u8]>,
    message: &[u8],
    time: &[u8],
    fudge: u16,
    error: u16,
    other: &[u8],
) -> Vec<u8> {
    let mut input = Vec::with_capacity(message.len() + 128);
    if let Some(mac) = request_mac {
        input.extend((mac.len() as u16).to_be_bytes());
        input.extend(mac);
    }
    input.extend(message);
    input.extend(key.name.wire());
    input.extend(CLASS_ANY.to_be_bytes());
    input.extend(0u32.to_be_bytes());
    input.extend(ALGORITHM);
    input.extend(time);
    input.extend(fudge.to_be_bytes());
    input.extend(error.to_be_bytes());
    input.extend((other.len() as u16).to_be_bytes());
    input.extend(other);
    input
}

/// Where the last record of the additional section starts.
fn last_additional(message: &[u8]) -> Result<Option<usize>, message::Error> {
    let mut cursor = Cursor::new(message);
    cursor.take(4)?;
    let mut counts = [0u16; 4];
    for count in &mut counts {
        *count = cursor.u16()?;
    }
    let [n_questions, n_answers, n_authorities, n_additionals] = counts.map(u32::from);
    for _ in 0..n_questions {
        cursor.skip_name()?;
        cursor.take(4)?;
    }
    let mut last = None;
    for index in 0..n_answers + n_authorities + n_additionals {
        last = (index >= n_answers + n_authorities).then(|| cursor.position());
        cursor.skip_name()?;
        cursor.take(8)?;
        let octets = usize::from(cursor.u16()?);
        cursor.take(octets)?;
    }
    Ok(last)
}

#[cfg(test)]
mod tests;
