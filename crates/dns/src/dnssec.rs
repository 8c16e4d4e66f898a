//! DNSSEC: answers signed as they are given (RFC 4034, RFC 4035), by several clusters with a key each (RFC 8901, model 2).
//!
//! Every cluster signs what it answers with its own key and publishes the keys of all: whichever cluster a validating resolver asked
//! for the keys, it can check an answer of any other. Answers differ between clusters and between queries, so nothing is signed ahead;
//! a signature is made when a set of records is given for the first time and then kept ([`cache`]), by content.
//!
//! | question | what is signed |
//! |---|---|
//! | records, aliases | each set as it stands in the reply, whichever records were drawn |
//! | a wildcard's records | as records of the name asked for; nobody needs to know of the wildcard |
//! | no such records | SOA, and an NSEC at the name with the types that are there |
//! | no such name | SOA, and NSEC records around the name and around the wildcard that would have answered (RFC 4470): they deny nothing else, so the zone cannot be walked |
//! | a delegation | its DS records, or an NSEC that says there are none |
//! | DNSKEY, CDS, CDNSKEY at the apex | the keys of all clusters, for resolvers and for the parent zone (RFC 8078) |
//!
//! Only queries with the DO bit cost anything. Signatures hold from an hour before the day to a week after it, whatever the second
//! they were made in, so servers with clocks minutes apart agree and a set has one signature a day.

pub mod key;

pub mod peers;

pub mod ask;

pub mod store;

pub(crate) mod cache;
pub(crate) mod denial;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use ring::digest::{self, SHA256};

use crate::message::CLASS_IN;
use crate::name::{self, Name};
use crate::record::Type;
use cache::Cache;
use key::{ALGORITHM, Error, PublicKey, SIGNATURE_OCTETS, SigningKey};

/// TTL of DNSKEY, CDS and CDNSKEY records, in seconds. Short, because it is how long a cluster that joins must wait before resolvers
/// know its key.
pub const KEY_TTL_SECONDS: u32 = 60;
/// Most keys of other clusters taken for a zone.
pub const PEER_KEYS_MAX: usize = 64;
/// Signatures begin so long before the day they are made on, for clocks that are behind.
const SKEW_SECONDS: u32 = 3600;
const DAY_SECONDS: u32 = 86_400;
/// Days a signature holds, the one it is made on included. Records may be cached for so long after it was made.
const VALID_DAYS: u32 = 8;
/// Octets of RRSIG data before the signer's name (RFC 4034 §3.1).
const HEAD_OCTETS: usize = 18;
/// Room for the data of one RRSIG.
const RRSIG_OCTETS_MAX: usize = HEAD_OCTETS + name::NAME_OCTETS_MAX + SIGNATURE_OCTETS;

/// The key of this cluster, what it knows of the others', and the signatures made so far.
pub struct Signer {
    key: SigningKey,
    peers: ArcSwap<BTreeMap<Name, Vec<PublicKey>>>,
    cache: Cache,
}

/// A set of records as it stands in a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signable<'a> {
    /// Apex of the zone, in wire form.
    pub(crate) zone: &'a [u8],
    /// Owner, lower-case, as up to two pieces of wire form that are read one after the other.
    pub(crate) owner: [&'a [u8]; 2],
    pub(crate) rtype: Type,
    pub(crate) ttl_seconds: u32,
    /// The record data, uncompressed, in canonical order (RFC 4034 §6.3).
    pub(crate) rdata: &'a [&'a [u8]],
}

/// Data of an RRSIG record.
pub(crate) struct Rrsig {
    octets: [u8; RRSIG_OCTETS_MAX],
    len: usize,
}

impl fmt::Debug for Signer {
    /// The key stays out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("tag", &self.key.public().tag())
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// Signs with `key`.
    pub fn new(key: SigningKey) -> Signer {
        Signer {
            key,
            peers: ArcSwap::default(),
            cache: Cache::default(),
        }
    }

    /// This cluster's key.
    pub fn public(&self) -> &PublicKey {
        self.key.public()
    }

    /// The keys of the other clusters that serve `zone`, from now on.
    pub fn set_peer_keys(&self, zone: &Name, mut keys: Vec<PublicKey>) {
        keys.truncate(PEER_KEYS_MAX);
        self.peers.rcu(|peers| {
            let mut peers = BTreeMap::clone(peers);
            peers.insert(zone.clone(), keys.clone());
            peers
        });
    }

    /// The keys resolvers may meet in `zone`: ours and those of the other clusters, in canonical order.
    pub fn keys(&self, zone: &Name) -> Vec<PublicKey> {
        let peers = self.peers.load();
        let mut keys = vec![self.key.public().clone()];
        keys.extend(peers.get(zone).into_iter().flatten().cloned());
        keys.sort();
        keys.dedup();
        keys
    }

    /// Signatures made so far; what came from the cache is not counted.
    pub fn n_signed(&self) -> u64 {
        self.cache.n_made()
    }

    /// The signature of a set. `now_seconds` is Unix time modulo 2³².
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub(crate) fn sign(&self, set: &Signable<'_>, now_seconds: u32) -> Result<Rrsig, Error> {
        let day = now_seconds - now_seconds % DAY_SECONDS;
        let head = self.head(set, day);
        let signature = self.cache.get_or_make(&content(&head, set), || {
            self.key.sign(&canonical(&head, set))
        })?;
        let mut rrsig = Rrsig {
            octets: [0; RRSIG_OCTETS_MAX],
            len: 0,
        };
        for part in [&head[..], set.zone, &signature[..]] {
            rrsig.octets[rrsig.len..rrsig.len + part.len()].copy_from_slice(part);
            rrsig.len += part.len();
        }
        Ok(rrsig)
    }

    /// The fields before the signer's name.
    fn head(&self, set: &Signable<'_>, day: u32) -> [u8; HEAD_OCTETS] {
        let [first, rest] = set.owner;
        let n_labels = name::count_labels(first) + name::count_labels(rest);
        let mut head = [0; HEAD_OCTETS];
        head[..2].copy_from_slice(&set.rtype.0.to_be_bytes());
        head[2] = ALGORITHM;
        // A wildcard asked for by its own name is the one owner whose asterisk counts (RFC 4034 §3.1.3).
        let is_wildcard = first.starts_with(b"\x01*");
        head[3] = (n_labels - usize::from(is_wildcard)) as u8;
        head[4..8].copy_from_slice(&set.ttl_seconds.to_be_bytes());
        let until = day.wrapping_add(VALID_DAYS * DAY_SECONDS);
        head[8..12].copy_from_slice(&until.to_be_bytes());
        head[12..16].copy_from_slice(&day.wrapping_sub(SKEW_SECONDS).to_be_bytes());
        head[16..18].copy_from_slice(&self.key.public().tag().to_be_bytes());
        head
    }
}

impl Rrsig {
    pub(crate) fn rdata(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}

/// The fixed part every record of the set has in front of its data.
fn fixed(set: &Signable<'_>) -> [u8; 8] {
    let mut fixed = [0; 8];
    fixed[..2].copy_from_slice(&set.rtype.0.to_be_bytes());
    fixed[2..4].copy_from_slice(&CLASS_IN.to_be_bytes());
    fixed[4..].copy_from_slice(&set.ttl_seconds.to_be_bytes());
    fixed
}

/// What tells one signature from another: everything that is signed, hashed.
fn content(head: &[u8], set: &Signable<'_>) -> cache::Content {
    let mut hash = digest::Context::new(&SHA256);
    hash.update(head);
    hash.update(set.zone);
    for piece in set.owner {
        hash.update(piece);
    }
    for rdata in set.rdata {
        hash.update(&(rdata.len() as u16).to_be_bytes());
        hash.update(rdata);
    }
    let mut content = cache::Content::default();
    content.copy_from_slice(hash.finish().as_ref());
    content
}

/// The octets a signature is made of (RFC 4034 §3.1.8.1).
fn canonical(head: &[u8], set: &Signable<'_>) -> Vec<u8> {
    let mut out = [head, set.zone].concat();
    let fixed = fixed(set);
    for rdata in set.rdata {
        for piece in set.owner {
            out.extend(piece);
        }
        out.extend(fixed);
        out.extend((rdata.len() as u16).to_be_bytes());
        out.extend(*rdata);
    }
    out
}

/// Whether `rrsig` is a signature of the set by `key` that holds at `now_seconds`. For keys learned from other clusters.
pub(crate) fn verify(set: &Signable<'_>, rrsig: &[u8], key: &PublicKey, now_seconds: u32) -> bool {
    let Some((head, rest)) = rrsig.split_at_checked(HEAD_OCTETS) else {
        return false;
    };
    let Some(signature) = rest.strip_prefix(set.zone) else {
        return false;
    };
    let number =
        |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    // RFC 1982 arithmetic: not before the beginning, not after the end.
    let holds = (now_seconds.wrapping_sub(number(12)) as i32) >= 0
        && (number(8).wrapping_sub(now_seconds) as i32) >= 0;
    let names = head[..2] == set.rtype.0.to_be_bytes()
        && head[2] == ALGORITHM
        && number(4) == set.ttl_seconds
        && head[16..18] == key.tag().to_be_bytes();
    holds && names && key.verify(&canonical(head, set), signature)
}

/// A [`Signer`] shared by everything that answers for a cluster.
pub type SharedSigner = Arc<Signer>;

#[cfg(test)]
mod tests;
