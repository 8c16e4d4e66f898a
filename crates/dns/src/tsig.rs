//! Signing and checking whole messages with shared keys (TSIG, RFC 8945).
//!
//! The hash functions are ring's; what stands here is which octets are hashed. A reply's hash covers the request's, and each further
//! message of a transfer covers the one before, so nothing can be left out or put in between.

pub mod key_file;

use ring::hmac;

use crate::message::{Cursor, Error as MessageError, HEADER_OCTETS};
use crate::name::Name;
use crate::record::{Rcode, Type};

/// Seconds two clocks may differ (RFC 8945 §10 recommends 300).
const FUDGE_SECONDS: u16 = 300;
/// The class ANY, which TSIG records have.
const CLASS_ANY: u16 = 255;

/// How messages are hashed. SHA-1 and MD5 are not offered (RFC 8945 §6 discourages them).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// `hmac-sha256`, which everybody has.
    HmacSha256,
    /// `hmac-sha384`.
    HmacSha384,
    /// `hmac-sha512`.
    HmacSha512,
}

impl Algorithm {
    /// The algorithm's name in wire form.
    fn wire(self) -> &'static [u8] {
        match self {
            Algorithm::HmacSha256 => b"\x0bhmac-sha256\x00",
            Algorithm::HmacSha384 => b"\x0bhmac-sha384\x00",
            Algorithm::HmacSha512 => b"\x0bhmac-sha512\x00",
        }
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Algorithm::HmacSha256 => hmac::HMAC_SHA256,
            Algorithm::HmacSha384 => hmac::HMAC_SHA384,
            Algorithm::HmacSha512 => hmac::HMAC_SHA512,
        }
    }
}

/// A shared key. Its secret is never printed.
#[derive(Debug, Clone)]
pub struct Key {
    name: Name,
    algorithm: Algorithm,
    hmac: hmac::Key,
}

impl Key {
    /// A key by the name both sides know it under.
    pub fn new(name: Name, algorithm: Algorithm, secret: &[u8]) -> Key {
        Key {
            name,
            algorithm,
            hmac: hmac::Key::new(algorithm.hmac(), secret),
        }
    }

    /// The name it is known by.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Whether messages name both alike.
    pub(crate) fn is_named_as(&self, other: &Key) -> bool {
        self.name == other.name && self.algorithm.wire() == other.algorithm.wire()
    }

    /// Signs a request and returns what checks or signs the messages that follow.
    pub fn sign_request(&self, message: &mut Vec<u8>, now_seconds: u64) -> Chain {
        let mut chain = Chain {
            key: self.clone(),
            previous: Vec::new(),
            is_first: true,
        };
        chain.sign(message, now_seconds);
        chain.is_first = true;
        chain
    }
}

/// Why a signed message is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no signature.
    #[error("message is not signed")]
    Unsigned,
    /// The message or its signature cannot be read.
    #[error("malformed message")]
    Malformed(#[from] MessageError),
    /// Nobody here knows the key under that name and algorithm.
    #[error("unknown key")]
    BadKey,
    /// The hash is wrong.
    #[error("wrong signature")]
    BadSignature,
    /// The clocks differ by more than five minutes.
    #[error("signed at {signed_seconds}, too far from {now_seconds}")]
    BadTime {
        /// Unix time of the signature in seconds.
        signed_seconds: u64,
        /// Unix time here in seconds.
        now_seconds: u64,
    },
}

impl Error {
    /// The number a TSIG record reports this by (RFC 8945 §3).
    fn code(self) -> u16 {
        match self {
            Error::BadSignature => 16,
            Error::BadKey => 17,
            Error::BadTime { .. } => 18,
            Error::Unsigned | Error::Malformed(_) => Rcode::FORMERR.0,
        }
    }
}

/// Messages that belong together, each hashed with the one before.
#[derive(Debug, Clone)]
pub struct Chain {
    key: Key,
    /// The hash before; empty in front of a request.
    previous: Vec<u8>,
    /// Whether the next reply is the first, which covers the record's fields and not only its times.
    is_first: bool,
}

/// A TSIG record at the end of a message.
struct Signature<'a> {
    /// Where it starts.
    at: usize,
    key: Name,
    algorithm: Name,
    signed_seconds: u64,
    fudge_seconds: u16,
    hash: &'a [u8],
    original_id: [u8; 2],
    error: u16,
    other: &'a [u8],
}

/// Checks a request against the known keys and returns the chain its replies continue.
///
/// # Errors
/// When the request is unsigned, unreadable, signed with an unknown key, wrongly, or at another time.
pub fn verify_request<'k>(
    keys: impl IntoIterator<Item = &'k Key>,
    message: &[u8],
    now_seconds: u64,
) -> Result<Chain, Error> {
    let signature = find(message)?.ok_or(Error::Unsigned)?;
    let known = |key: &&Key| {
        key.name == signature.key && key.algorithm.wire() == signature.algorithm.wire()
    };
    let key = keys.into_iter().find(known).ok_or(Error::BadKey)?;
    let mut chain = Chain {
        key: key.clone(),
        previous: Vec::new(),
        is_first: true,
    };
    chain.check(&signature, message, now_seconds)?;
    chain.is_first = true;
    Ok(chain)
}

/// A TSIG record that only reports an error, for an unsigned reply (RFC 8945 §5.2).
pub(crate) fn append_error(message: &mut Vec<u8>, request: &[u8], error: Error, now_seconds: u64) {
    let Ok(Some(signature)) = find(request) else {
        return;
    };
    let parts = Parts {
        key: &signature.key,
        algorithm: signature.algorithm.wire(),
        signed_seconds: now_seconds,
        hash: &[],
        error: error.code(),
    };
    append(message, &parts);
}

impl Chain {
    /// The key the messages are signed with.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Signs the next message.
    pub fn sign(&mut self, message: &mut Vec<u8>, now_seconds: u64) {
        let algorithm = self.key.algorithm.wire();
        let fields = Fields {
            signed_seconds: now_seconds,
            fudge_seconds: FUDGE_SECONDS,
            error: 0,
            other: &[],
        };
        let hash = self.context(message, algorithm, &fields).sign();
        let hash = hash.as_ref().to_vec();
        let parts = Parts {
            key: &self.key.name,
            algorithm,
            signed_seconds: now_seconds,
            hash: &hash,
            error: 0,
        };
        append(message, &parts);
        self.previous = hash;
        self.is_first = false;
    }

    /// Checks the next message of the other side.
    ///
    /// # Errors
    /// As [`verify_request`].
    pub fn verify(&mut self, message: &[u8], now_seconds: u64) -> Result<(), Error> {
        let signature = find(message)?.ok_or(Error::Unsigned)?;
        let algorithm = self.key.algorithm.wire();
        if signature.key != self.key.name || signature.algorithm.wire() != algorithm {
            return Err(Error::BadKey);
        }
        self.check(&signature, message, now_seconds)
    }

    fn check(
        &mut self,
        signature: &Signature<'_>,
        message: &[u8],
        now_seconds: u64,
    ) -> Result<(), Error> {
        let mut plain = message[..signature.at].to_vec();
        plain[..2].copy_from_slice(&signature.original_id);
        // A signature in another section is none (RFC 8945 §5.1).
        let n_additionals = u16::from_be_bytes([plain[10], plain[11]])
            .checked_sub(1)
            .ok_or(MessageError::BadData)?;
        plain[10..12].copy_from_slice(&n_additionals.to_be_bytes());
        let Signature {
            signed_seconds,
            fudge_seconds,
            error,
            other,
            ..
        } = *signature;
        let fields = Fields {
            signed_seconds,
            fudge_seconds,
            error,
            other,
        };
        self.context(&plain, signature.algorithm.wire(), &fields)
            .verify(signature.hash)?;
        if now_seconds.abs_diff(signed_seconds) > u64::from(fudge_seconds.min(FUDGE_SECONDS)) {
            return Err(Error::BadTime {
                signed_seconds,
                now_seconds,
            });
        }
        self.previous = signature.hash.to_vec();
        self.is_first = false;
        Ok(())
    }

    /// Gathers what is hashed (RFC 8945 §4.3 and §5.3.1).
    fn context(&self, message: &[u8], algorithm: &[u8], fields: &Fields<'_>) -> Hashed<'_> {
        let mut octets = Vec::with_capacity(message.len() + 256);
        if !self.previous.is_empty() {
            octets.extend((self.previous.len() as u16).to_be_bytes());
            octets.extend(&self.previous);
        }
        octets.extend(message);
        if self.is_first {
            octets.extend(self.key.name.wire());
            octets.extend(CLASS_ANY.to_be_bytes());
            octets.extend([0; 4]);
            octets.extend(algorithm);
        }
        octets.extend(&fields.signed_seconds.to_be_bytes()[2..]);
        octets.extend(fields.fudge_seconds.to_be_bytes());
        if self.is_first {
            octets.extend(fields.error.to_be_bytes());
            octets.extend((fields.other.len() as u16).to_be_bytes());
            octets.extend(fields.other);
        }
        Hashed {
            key: &self.key.hmac,
            octets,
        }
    }
}

/// Fields of a TSIG record that are hashed.
struct Fields<'a> {
    signed_seconds: u64,
    fudge_seconds: u16,
    error: u16,
    other: &'a [u8],
}

/// Octets under a key.
struct Hashed<'k> {
    key: &'k hmac::Key,
    octets: Vec<u8>,
}

impl Hashed<'_> {
    fn sign(&self) -> hmac::Tag {
        hmac::sign(self.key, &self.octets)
    }

    /// Whole hashes only: shortened ones (RFC 8945 §5.2.2.1) are not needed by anyone we talk to.
    fn verify(&self, hash: &[u8]) -> Result<(), Error> {
        hmac::verify(self.key, &self.octets, hash).map_err(|_| Error::BadSignature)
    }
}

/// The TSIG record of a message: the last record of all.
fn find(message: &[u8]) -> Result<Option<Signature<'_>>, MessageError> {
    let mut cursor = Cursor::new(message);
    cursor.take(4)?;
    let n_questions = cursor.u16()?;
    let n_records = (0..3).try_fold(0, |sum, _| Ok(sum + u32::from(cursor.u16()?)))?;
    for _ in 0..n_questions {
        cursor.skip_name()?;
        cursor.take(4)?;
    }
    for record_index in 0..n_records {
        let at = cursor.position();
        let mut owner = cursor.clone();
        cursor.skip_name()?;
        let (rtype, class) = (Type(cursor.u16()?), cursor.u16()?);
        let ttl = cursor.u32()?;
        let octets = usize::from(cursor.u16()?);
        let end = cursor.position() + octets;
        if rtype != Type::TSIG {
            cursor.take(octets)?;
            continue;
        }
        if record_index + 1 != n_records || class != CLASS_ANY || ttl != 0 {
            return Err(MessageError::BadData);
        }
        let key = owner.name()?;
        let algorithm = cursor.name()?;
        let [high, low] = [u64::from(cursor.u16()?), u64::from(cursor.u32()?)];
        let fudge_seconds = cursor.u16()?;
        let hash_octets = usize::from(cursor.u16()?);
        let hash = cursor.take(hash_octets)?;
        let original_id = cursor.array()?;
        let error = cursor.u16()?;
        let other_octets = usize::from(cursor.u16()?);
        let other = cursor.take(other_octets)?;
        if cursor.position() != end {
            return Err(MessageError::BadData);
        }
        let signed_seconds = high << 32 | low;
        return Ok(Some(Signature {
            at,
            key,
            algorithm,
            signed_seconds,
            fudge_seconds,
            hash,
            original_id,
            error,
            other,
        }));
    }
    Ok(None)
}

/// What a TSIG record of ours says.
struct Parts<'a> {
    key: &'a Name,
    algorithm: &'a [u8],
    signed_seconds: u64,
    hash: &'a [u8],
    error: u16,
}

/// Appends the record and counts it.
fn append(message: &mut Vec<u8>, parts: &Parts<'_>) {
    assert!(message.len() >= HEADER_OCTETS, "a message has a header");
    let original_id = [message[0], message[1]];
    message.extend(parts.key.wire());
    message.extend(Type::TSIG.0.to_be_bytes());
    message.extend(CLASS_ANY.to_be_bytes());
    message.extend([0; 4]);
    let rdata_octets = parts.algorithm.len() + 16 + parts.hash.len();
    message.extend((rdata_octets as u16).to_be_bytes());
    message.extend(parts.algorithm);
    message.extend(&parts.signed_seconds.to_be_bytes()[2..]);
    message.extend(FUDGE_SECONDS.to_be_bytes());
    message.extend((parts.hash.len() as u16).to_be_bytes());
    message.extend(parts.hash);
    message.extend(original_id);
    message.extend(parts.error.to_be_bytes());
    message.extend([0, 0]);
    let n_additionals = u16::from_be_bytes([message[10], message[11]]) + 1;
    message[10..12].copy_from_slice(&n_additionals.to_be_bytes());
}

#[cfg(test)]
mod tests;
