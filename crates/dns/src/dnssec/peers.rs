//! What is known of the other clusters' keys, and when each was last heard of. Pure.
//!
//! Keys are kept as last known: a peer that cannot be asked for a while still has signatures in resolvers' caches, and other resolvers
//! still ask it. A key is forgotten when its cluster has not shown it for [`FORGET_SECONDS`], by which time no signature of it holds.
//! Of a peer's key set only the peer's own key counts, the one that signs the set: otherwise clusters would tell each other for ever
//! about a key that nobody has any more.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::key::PublicKey;
use super::{PEER_KEYS_MAX, Signable, verify};
use crate::message::Message;
use crate::name::Name;
use crate::record::{Data, Type};

/// A key not shown for so long is forgotten: as long as signatures hold.
pub const FORGET_SECONDS: u64 = 8 * 86_400;
/// Zones and clusters noted, all together.
const KNOWN_MAX: usize = 4096;

/// Keys by zone and cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerKeys(BTreeMap<(Name, String), Known>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    key: PublicKey,
    seen_unix_seconds: u64,
}

impl PeerKeys {
    /// Reads what [`PeerKeys::to_text`] wrote. Lines that cannot be read are left out.
    pub fn parse(text: &str) -> PeerKeys {
        let line = |line: &str| {
            let words = line.split(' ').collect::<Vec<_>>();
            let [zone, tag, seen, key] = words[..] else {
                return None;
            };
            let known = Known {
                key: PublicKey::from_rdata(&from_hex(key)?)?,
                seen_unix_seconds: seen.parse().ok()?,
            };
            Some(((Name::parse(zone).ok()?, tag.to_owned()), known))
        };
        PeerKeys(text.lines().filter_map(line).take(KNOWN_MAX).collect())
    }

    /// One line per key: zone, cluster, when it was seen last (Unix time in seconds), DNSKEY data in hexadecimal.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for ((zone, tag), known) in &self.0 {
            let _ = write!(text, "{zone} {tag} {} ", known.seen_unix_seconds);
            for octet in known.key.rdata() {
                let _ = write!(text, "{octet:02x}");
            }
            text.push('\n');
        }
        text
    }

    /// Notes the key a cluster has shown; whether that is news.
    pub fn note(&mut self, zone: &Name, tag: &str, key: PublicKey, unix_seconds: u64) -> bool {
        let id = (zone.clone(), tag.to_owned());
        if self.0.len() >= KNOWN_MAX && !self.0.contains_key(&id) {
            return false;
        }
        let known = Known {
            key,
            seen_unix_seconds: unix_seconds,
        };
        let before = self.0.insert(id, known.clone());
        before.is_none_or(|before| before.key != known.key)
    }

    /// Whether the cluster's key is known.
    pub fn knows(&self, zone: &Name, tag: &str) -> bool {
        self.0.contains_key(&(zone.clone(), tag.to_owned()))
    }

    /// Forgets keys that were not shown for long; whether there were any.
    pub fn forget(&mut self, unix_seconds: u64) -> bool {
        let before = self.0.len();
        self.0.retain(|_, known| {
            unix_seconds.saturating_sub(known.seen_unix_seconds) <= FORGET_SECONDS
        });
        self.0.len() != before
    }

    /// The keys of each zone.
    pub fn by_zone(&self) -> BTreeMap<Name, Vec<PublicKey>> {
        let mut zones = BTreeMap::<Name, Vec<PublicKey>>::new();
        for ((zone, _), known) in &self.0 {
            let keys = zones.entry(zone.clone()).or_default();
            if keys.len() < PEER_KEYS_MAX {
                keys.push(known.key.clone());
            }
        }
        zones
    }
}

/// The key of whoever sent this reply to a DNSKEY question: the one of the set that signed the set.
pub(crate) fn own_key(reply: &Message, zone: &Name, now_seconds: u32) -> Option<PublicKey> {
    let of_type = |rtype: Type| {
        let records = reply.answers.iter().filter(move |r| r.name == *zone);
        records.filter_map(move |record| match &record.data {
            Data::Other {
                rtype: found,
                rdata,
            } if *found == rtype => Some((record.ttl_seconds, &rdata[..])),
            _ => None,
        })
    };
    let mut rdata = of_type(Type::DNSKEY).map(|(_, d)| d).collect::<Vec<_>>();
    rdata.sort_unstable();
    let ttl_seconds = of_type(Type::DNSKEY).map(|(ttl, _)| ttl).min()?;
    let set = Signable {
        zone: zone.wire(),
        owner: [zone.wire(), &[]],
        rtype: Type::DNSKEY,
        ttl_seconds,
        rdata: &rdata,
    };
    let mut keys = rdata.iter().filter_map(|data| PublicKey::from_rdata(data));
    keys.find(|key| of_type(Type::RRSIG).any(|(_, rrsig)| verify(&set, rrsig, key, now_seconds)))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let octet = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let whole = digits.len().is_multiple_of(2) && digits.is_ascii();
    digits
        .chunks(2)
        .map(octet)
        .collect::<Option<_>>()
        .filter(|_| whole)
}

#[cfg(test)]
mod tests;
