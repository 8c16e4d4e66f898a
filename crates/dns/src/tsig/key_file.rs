//! Keys from a file, in the form that `tsig-keygen` prints and BIND, Knot and dig read:
//!
//! ```text
//! key "fleet" {
//!     algorithm hmac-sha256;
//!     secret "c2VjcmV0";
//! };
//! ```
//! Comments (`#`, `//`, `/* */`) are skipped.

use super::{Algorithm, Key};
use crate::name::Name;

/// Why a file has no usable keys. Secrets are never part of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Something else than a key, or a key cut short.
    #[error(
        "expected {expected} in key number {key_number}; `tsig-keygen NAME` prints a usable file"
    )]
    Expected {
        /// What should have stood there.
        expected: &'static str,
        /// Which key of the file, counted from 1.
        key_number: usize,
    },
    /// A name that is no name.
    #[error("{name:?} cannot name a key")]
    Name {
        /// What stands there.
        name: String,
    },
    /// An algorithm that is not offered.
    #[error(
        "key {name} has the algorithm {algorithm:?}; hmac-sha256, hmac-sha384 and hmac-sha512 can be used"
    )]
    Algorithm {
        /// The key.
        name: Name,
        /// What stands there.
        algorithm: String,
    },
    /// A secret that is no base64, or empty.
    #[error("the secret of key {name} is not in base64")]
    Secret {
        /// The key.
        name: Name,
    },
    /// No key at all.
    #[error("there is no key in it; `tsig-keygen NAME` prints one")]
    Empty,
}

/// Reads all keys of a file.
///
/// # Errors
/// When anything in it is not a key that can be used.
pub fn parse(text: &str) -> Result<Vec<Key>, Error> {
    let tokens = tokens(text);
    let mut tokens = tokens.iter().map(String::as_str).peekable();
    let mut keys = Vec::new();
    while tokens.peek().is_some() {
        keys.push(parse_key(&mut tokens, keys.len() + 1)?);
    }
    if keys.is_empty() {
        return Err(Error::Empty);
    }
    Ok(keys)
}

fn parse_key<'a>(
    tokens: &mut impl Iterator<Item = &'a str>,
    key_number: usize,
) -> Result<Key, Error> {
    let missing = |expected| Error::Expected {
        expected,
        key_number,
    };
    let mut expect = |token: &'static str| match tokens.next() {
        Some(found) if token.is_empty() || found == token => Ok(found),
        _ => Err(missing(if token.is_empty() { "a word" } else { token })),
    };
    expect("key")?;
    let name = expect("")?;
    let name = Name::parse(name).map_err(|_| Error::Name { name: name.into() })?;
    expect("{")?;
    let (mut algorithm, mut secret) = (None, None);
    loop {
        let place = match expect("")? {
            "algorithm" => &mut algorithm,
            "secret" => &mut secret,
            "}" => break,
            _ => return Err(missing("`algorithm`, `secret` or `}`")),
        };
        *place = Some(expect("")?);
        expect(";")?;
    }
    expect(";")?;
    let algorithm = algorithm.ok_or(missing("`algorithm`"))?;
    let algorithm = match algorithm
        .trim_end_matches('.')
        .to_ascii_lowercase()
        .as_str()
    {
        "hmac-sha256" => Algorithm::HmacSha256,
        "hmac-sha384" => Algorithm::HmacSha384,
        "hmac-sha512" => Algorithm::HmacSha512,
        other => {
            let algorithm = other.to_owned();
            return Err(Error::Algorithm { name, algorithm });
        }
    };
    let secret = base64(secret.ok_or(missing("`secret`"))?).filter(|secret| !secret.is_empty());
    match secret {
        Some(secret) => Ok(Key::new(name, algorithm, &secret)),
        None => Err(Error::Secret { name }),
    }
}

/// Words, quoted words without their quotes, and the marks `{`, `}` and `;`.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '"' => {
                let word = rest[1..].split('"').next().unwrap_or_default();
                tokens.push(word.to_owned());
                (word.len() + 2).min(rest.len())
            }
            '{' | '}' | ';' => {
                tokens.push(first.to_string());
                1
            }
            _ => {
                let is_end = |c: char| c.is_whitespace() || "{};\"".contains(c);
                let end = rest.find(is_end).unwrap_or(rest.len());
                tokens.push(rest[..end].to_owned());
                end
            }
        };
        rest = rest[end..].trim_start();
    }
    tokens
}

/// Standard base64 with padding (RFC 4648 §4).
pub fn base64(text: &str) -> Option<Vec<u8>> {
    let symbols = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - symbols.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut n_bits) = (0u32, 0);
    for symbol in symbols.bytes() {
        let value = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
