//! Compact signed tokens (RFC 7515, RFC 7519) with ES256, the one algorithm this server signs with.
//!
//! Elliptic keys are made in a millisecond, and every client library verifies them. A token that names another algorithm
//! (including `none`) or another key is not ours.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use ring::{
    digest,
    rand::SecureRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
        UnparsedPublicKey,
    },
};
use serde_json::{Value, json};

/// Longest token that is looked at. Ours have below 2 KiB.
const TOKEN_BYTES_MAX: usize = 16 << 10;

/// A private key that signs tokens, with its public half.
pub struct Key {
    pair: EcdsaKeyPair,
    id: String,
}

/// What is wrong with a key or a token.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not a PKCS #8 document with a P-256 key.
    #[error("the key that signs tokens is not a P-256 key in PKCS #8")]
    Key,
    /// The source of randomness failed.
    #[error("no randomness to sign with")]
    Random,
    /// Not three parts of base64 with JSON inside, or too long.
    #[error("the token is malformed")]
    Malformed,
    /// Another algorithm or key.
    #[error("the token was signed with another key")]
    OtherKey,
    /// The signature does not fit.
    #[error("the signature of the token is invalid")]
    Signature,
}

impl Key {
    /// A new private key as a PKCS #8 document (DER).
    ///
    /// # Errors
    /// When `random` fails.
    pub fn generate(random: &dyn SecureRandom) -> Result<Vec<u8>, Error> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, random);
        Ok(document.map_err(|_| Error::Random)?.as_ref().to_vec())
    }

    /// The key in a PKCS #8 document (DER).
    ///
    /// # Errors
    /// When it is something else.
    pub fn from_pkcs8(der: &[u8], random: &dyn SecureRandom) -> Result<Self, Error> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, random);
        let pair = pair.map_err(|_| Error::Key)?;
        let id = BASE64.encode(digest::digest(&digest::SHA256, pair.public_key().as_ref()));
        Ok(Self { pair, id })
    }

    /// Signs `claims`.
    ///
    /// # Errors
    /// When `random` fails.
    pub fn sign(&self, claims: &Value, random: &dyn SecureRandom) -> Result<String, Error> {
        let header = json!({"alg": "ES256", "kid": self.id, "typ": "JWT"});
        let part = |value: &Value| BASE64.encode(value.to_string());
        let mut token = format!("{}.{}", part(&header), part(claims));
        let signature = self
            .pair
            .sign(random, token.as_bytes())
            .map_err(|_| Error::Random)?;
        token.push('.');
        token.push_str(&BASE64.encode(signature));
        Ok(token)
    }

    /// The claims of `token` if this key signed it. Nothing about their content is checked.
    ///
    /// # Errors
    /// When it is no token or this key did not sign it.
    pub fn verify(&self, token: &str) -> Result<Value, Error> {
        let (signed, signature) = token.rsplit_once('.').ok_or(Error::Malformed)?;
        let (header, _) = signed.split_once('.').ok_or(Error::Malformed)?;
        let header: Value = decode(header, token)?;
        let names_us = header.get("kid").and_then(Value::as_str) == Some(&self.id);
        if header.get("alg").and_then(Value::as_str) != Some("ES256") || !names_us {
            return Err(Error::OtherKey);
        }
        let signature = BASE64.decode(signature).map_err(|_| Error::Malformed)?;
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key())
            .verify(signed.as_bytes(), &signature)
            .map_err(|_| Error::Signature)?;
        unverified(token)
    }

    /// The public key as a JSON Web Key (RFC 7517).
    pub fn public(&self) -> Value {
        // An uncompressed point: one byte of type, then both coordinates.
        let point = &self.pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(point.len() / 2);
        json!({
            "alg": "ES256", "crv": "P-256", "kid": self.id, "kty": "EC", "use": "sig",
            "x": BASE64.encode(x), "y": BASE64.encode(y),
        })
    }
}

/// The claims of `token` without any check; only to see whose it claims to be.
///
/// # Errors
/// When it is no token.
pub fn unverified(token: &str) -> Result<Value, Error> {
    let mut parts = token.split('.');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(claims), Some(_), None) => decode(claims, token),
        _ => Err(Error::Malformed),
    }
}

fn decode(part: &str, token: &str) -> Result<Value, Error> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(Error::Malformed);
    }
    let json = BASE64.decode(part).map_err(|_| Error::Malformed)?;
    serde_json::from_slice(&json).map_err(|_| Error::Malformed)
}

#[cfg(test)]
mod tests;
