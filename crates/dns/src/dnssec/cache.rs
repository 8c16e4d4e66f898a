//! Signatures made so far, by what they sign.
//!
//! Bounded: each shard has a young and an old half. What is found in the old half moves to the young one; when that is full, the old
//! half is dropped and the young one becomes it. So what is asked for stays, and a flood of names that are asked for once drives out
//! nothing that is in use. A shard is locked for one look-up; signing happens outside.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::key::SIGNATURE_OCTETS;
use crate::zone::NameHasher;

/// SHA-256 of everything that is signed: two sets never share one.
pub(crate) type Content = [u8; 32];
type Signature = [u8; SIGNATURE_OCTETS];
type Half = HashMap<Content, Signature, BuildHasherDefault<NameHasher>>;

/// So many that threads rarely meet.
const N_SHARDS: usize = 64;
/// Signatures in one half of a shard: 131,072 in all halves together, at most some 20 MiB.
const HALF_MAX: usize = 1024;

/// The signatures.
#[derive(Debug)]
pub(crate) struct Cache {
    shards: [Mutex<Shard>; N_SHARDS],
    n_made: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    young: Half,
    old: Half,
}

impl Default for Cache {
    fn default() -> Cache {
        Cache {
            shards: std::array::from_fn(|_| Mutex::default()),
            n_made: AtomicU64::new(0),
        }
    }
}

impl Cache {
    /// The signature of `content`, made when it is not there.
    pub(crate) fn get_or_make<E>(
        &self,
        content: &Content,
        make: impl FnOnce() -> Result<Signature, E>,
    ) -> Result<Signature, E> {
        let shard = &self.shards[usize::from(content[0]) % N_SHARDS];
        // A shard left by a panic holds whole signatures; at worst one is missing.
        let lock = || shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().get(content) {
            return Ok(found);
        }
        let made = make()?;
        self.n_made.fetch_add(1, Ordering::Relaxed);
        lock().put(*content, made);
        Ok(made)
    }

    /// How many were made.
    pub(crate) fn n_made(&self) -> u64 {
        self.n_made.load(Ordering::Relaxed)
    }
}

impl Shard {
    fn get(&mut self, content: &Content) -> Option<Signature> {
        if let Some(found) = self.young.get(content) {
            return Some(*found);
        }
        let found = self.old.remove(content)?;
        self.put(*content, found);
        Some(found)
    }

    fn put(&mut self, content: Content, signature: Signature) {
        if self.young.len() >= HALF_MAX {
            // The allocation of the old half serves the new young one.
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(content, signature);
    }
}

#[cfg(test)]
mod tests;
