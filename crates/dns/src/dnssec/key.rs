//! Keys: ECDSA on P-256 with SHA-256, algorithm 13 (RFC 6605).
//!
//! One key per cluster signs everything, the key set included: with signatures made on the fly there is nothing that a second key
//! could be kept away from.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
    UnparsedPublicKey,
};

use crate::name::Name;

/// Number of ECDSAP256SHA256 (RFC 6605 §2).
pub(crate) const ALGORITHM: u8 = 13;
/// Octets of a signature.
pub(crate) const SIGNATURE_OCTETS: usize = 64;
/// Octets of DNSKEY data: flags, protocol, algorithm, point.
const RDATA_OCTETS: usize = 68;
/// Zone key that the parent may point to (RFC 4034 §2.1.1).
const FLAGS: u16 = 257;
/// Always 3 (RFC 4034 §2.1.2).
const PROTOCOL: u8 = 3;
/// Number of SHA-256 among DS digests (RFC 4509).
const DIGEST_SHA256: u8 = 2;
/// Octets of a DS record's data.
pub(crate) const DS_OCTETS: usize = 36;

const PEM_BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const PEM_END: &str = "-----END PRIVATE KEY-----";
/// Characters of a line of PEM (RFC 7468 §2).
const PEM_COLUMNS: usize = 64;

/// Why there is no key. Never says anything of the key itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is no private key in PEM.
    #[error("no PKCS #8 private key in PEM")]
    NotPem,
    /// The key is not one for ECDSA on P-256.
    #[error("not an ECDSA P-256 private key: {reason}")]
    NotP256 {
        /// What the cryptography library says.
        reason: String,
    },
    /// The system's source of random numbers failed.
    #[error("the system gives no random numbers")]
    Random,
}

/// A private key. Never printed.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    public: PublicKey,
    random: SystemRandom,
}

/// A public key as the data of its DNSKEY record. Ordered as RFC 4034 §6.3 wants it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; RDATA_OCTETS]);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.public).finish()
    }
}

impl SigningKey {
    /// A new key, and the text to keep it as: PKCS #8 in PEM, as `openssl pkey` reads it.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn generate() -> Result<(SigningKey, String), Error> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new())
            .map_err(|_| Error::Random)?;
        let text = STANDARD.encode(&document);
        let mut pem = format!("{PEM_BEGIN}\n");
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (line, tail) = rest.split_at(rest.len().min(PEM_COLUMNS));
            pem.push_str(line);
            pem.push('\n');
            rest = tail;
        }
        pem.push_str(PEM_END);
        pem.push('\n');
        Ok((SigningKey::from_pkcs8(document.as_ref())?, pem))
    }

    /// The key that [`SigningKey::generate`] or another program wrote.
    ///
    /// # Errors
    /// [`Error::NotPem`] and [`Error::NotP256`].
    pub fn from_pem(text: &str) -> Result<SigningKey, Error> {
        let (_, rest) = text.split_once(PEM_BEGIN).ok_or(Error::NotPem)?;
        let (body, _) = rest.split_once(PEM_END).ok_or(Error::NotPem)?;
        let body = body.split_whitespace().collect::<String>();
        let document = STANDARD.decode(body).map_err(|_| Error::NotPem)?;
        SigningKey::from_pkcs8(&document)
    }

    fn from_pkcs8(document: &[u8]) -> Result<SigningKey, Error> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document, &random)
            .map_err(|error| Error::NotP256 {
                reason: error.to_string(),
            })?;
        let mut rdata = [0; RDATA_OCTETS];
        rdata[..2].copy_from_slice(&FLAGS.to_be_bytes());
        rdata[2] = PROTOCOL;
        rdata[3] = ALGORITHM;
        // The point comes uncompressed, with a 4 in front that DNSKEY leaves out (RFC 6605 §4).
        rdata[4..].copy_from_slice(&pair.public_key().as_ref()[1..]);
        Ok(SigningKey {
            pair,
            public: PublicKey(rdata),
            random,
        })
    }

    /// Its public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Result<[u8; SIGNATURE_OCTETS], Error> {
        let signature = self.pair.sign(&self.random, message);
        let signature = signature.map_err(|_| Error::Random)?;
        signature.as_ref().try_into().map_err(|_| Error::Random)
    }
}

impl PublicKey {
    /// Reads DNSKEY data; only keys such as ours are taken: algorithm 13, with the flags of a key the parent points to.
    pub fn from_rdata(rdata: &[u8]) -> Option<PublicKey> {
        let rdata = <[u8; RDATA_OCTETS]>::try_from(rdata).ok()?;
        let head = [FLAGS.to_be_bytes(), [PROTOCOL, ALGORITHM]].concat();
        (rdata[..4] == head).then_some(PublicKey(rdata))
    }

    /// The data of its DNSKEY and CDNSKEY records.
    pub fn rdata(&self) -> &[u8] {
        &self.0
    }

    /// The number by which signatures name it (RFC 4034 appendix B).
    pub fn tag(&self) -> u16 {
        let pairs = self.0.chunks_exact(2);
        let sum = pairs
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum::<u32>();
        (sum + (sum >> 16)) as u16
    }

    /// The data of its DS and CDS records for `zone`.
    pub fn ds(&self, zone: &Name) -> [u8; DS_OCTETS] {
        let hash = digest(&SHA256, &[zone.wire(), &self.0].concat());
        let mut ds = [0; DS_OCTETS];
        ds[..2].copy_from_slice(&self.tag().to_be_bytes());
        ds[2] = ALGORITHM;
        ds[3] = DIGEST_SHA256;
        ds[4..].copy_from_slice(hash.as_ref());
        ds
    }

    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let point = [&[4], &self.0[4..]].concat();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
            .verify(message, signature)
            .is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {}", self.tag())
    }
}
