//! Service parameters in the form people write them (RFC 9460 §2.1): `1 . alpn=h2,h3 port=8443 ipv4hint=192.0.2.1`.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Binding;
use crate::name::Name;

/// Names of the parameters by number (RFC 9460 §14.3.2).
const KEYS: [&str; 7] = [
    "mandatory",
    "alpn",
    "no-default-alpn",
    "port",
    "ipv4hint",
    "ech",
    "ipv6hint",
];
const MANDATORY: u16 = 0;

/// Why a text is no service binding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Priority and target do not both begin the text.
    #[error("give a priority and a target, such as \"1 .\"")]
    Head,
    /// A parameter that nobody knows. Others can be given as `key<number>=<value>`.
    #[error("unknown service parameter {key:?}")]
    UnknownKey {
        /// The parameter as given.
        key: String,
    },
    /// A value that does not fit its parameter.
    #[error("{value:?} does not fit the service parameter {key:?}")]
    Value {
        /// The parameter.
        key: String,
        /// The value as given.
        value: String,
    },
    /// A parameter given twice, or parameters beside priority 0, which makes an alias.
    #[error("service parameter {key:?} is given twice, beside an alias, or mandatory and missing")]
    Misplaced {
        /// The parameter.
        key: String,
    },
}

impl Binding {
    /// Reads priority, target and parameters, in any order; values may stand in double quotes.
    ///
    /// # Errors
    /// When a part is missing, unknown, given twice or does not fit, naming it.
    pub fn parse(text: &str) -> Result<Binding, Error> {
        let mut words = text.split_whitespace();
        let priority = words.next().and_then(|word| word.parse().ok());
        let target = words.next().and_then(|word| Name::parse(word).ok());
        let (priority, target) = priority.zip(target).ok_or(Error::Head)?;
        let mut params = Vec::new();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let value = value
                .strip_prefix('"')
                .and_then(|value| value.strip_suffix('"'))
                .unwrap_or(value);
            let number = key_number(key).ok_or_else(|| Error::UnknownKey {
                key: key.to_owned(),
            })?;
            let encoded = encode(number, value).ok_or_else(|| Error::Value {
                key: key.to_owned(),
                value: value.to_owned(),
            })?;
            params.push((number, encoded));
        }
        params.sort();
        check(priority, &params)?;
        Ok(Binding {
            priority,
            target,
            params,
        })
    }
}

/// Each key once, none beside an alias, and those that are mandatory there (RFC 9460 §2.4.2, §8).
fn check(priority: u16, params: &[(u16, Vec<u8>)]) -> Result<(), Error> {
    let misplaced = |key: u16| Err(Error::Misplaced { key: key_name(key) });
    if let Some(pair) = params.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return misplaced(pair[0].0);
    }
    if let (0, Some((key, _))) = (priority, params.first()) {
        return misplaced(*key);
    }
    let mandatory = params.iter().find(|(key, _)| *key == MANDATORY);
    for key in mandatory
        .into_iter()
        .flat_map(|(_, keys)| keys.chunks_exact(2))
    {
        let key = u16::from_be_bytes([key[0], key[1]]);
        if key == MANDATORY || !params.iter().any(|(known, _)| *known == key) {
            return misplaced(key);
        }
    }
    Ok(())
}

fn key_number(key: &str) -> Option<u16> {
    let known = KEYS.iter().position(|known| *known == key);
    known
        .map(|at| at as u16)
        .or_else(|| key.strip_prefix("key")?.parse().ok())
}

fn key_name(key: u16) -> String {
    let known = KEYS.get(usize::from(key)).copied();
    known.map_or_else(|| format!("key{key}"), str::to_owned)
}

fn encode(key: u16, value: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let items = || value.split(',');
    match KEYS.get(usize::from(key)).copied() {
        Some("mandatory") => {
            let mut keys = items().map(key_number).collect::<Option<Vec<_>>>()?;
            keys.sort_unstable();
            keys.iter().for_each(|key| out.extend(key.to_be_bytes()));
        }
        Some("alpn") => {
            for id in items() {
                let octets = u8::try_from(id.len()).ok().filter(|octets| *octets > 0)?;
                out.push(octets);
                out.extend(id.bytes());
            }
        }
        Some("no-default-alpn") => return value.is_empty().then_some(out),
        Some("port") => out.extend(value.parse::<u16>().ok()?.to_be_bytes()),
        Some("ipv4hint") => {
            for ip in items() {
                out.extend(ip.parse::<Ipv4Addr>().ok()?.octets());
            }
        }
        Some("ipv6hint") => {
            for ip in items() {
                out.extend(ip.parse::<Ipv6Addr>().ok()?.octets());
            }
        }
        Some("ech") => out = STANDARD.decode(value).ok().filter(|ech| !ech.is_empty())?,
        _ => out.extend(value.bytes()),
    }
    Some(out)
}

#[cfg(test)]
mod tests;
