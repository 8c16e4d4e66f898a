//! A small sorted text-to-text map in one allocation.
//!
//! A hundred thousand pods carry half a million labels; as separate strings they would weigh more than the pods. Look-up
//! is a scan, which for the handful of labels an object has is faster than hashing.

use std::fmt;

/// An immutable map from text to text, sorted by key bytes. 16 bytes when empty, no allocation.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Pairs(Box<[u8]>);

impl Pairs {
    /// The value of `key`. Linear in the number of pairs.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter()
            .find_map(|(found, value)| (found == key).then_some(value))
    }

    /// All pairs, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let key = take(&mut rest)?;
            let value = take(&mut rest)?;
            Some((key, value))
        })
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The packed form, as kept on disk.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads the packed form; `None` if it is damaged.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        while !rest.is_empty() {
            take(&mut rest)?;
            take(&mut rest)?;
        }
        Some(Self(bytes.into()))
    }
}

/// Sorts by key; of equal keys the last one stays.
impl<'a> FromIterator<(&'a str, &'a str)> for Pairs {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Self {
        let sorted: std::collections::BTreeMap<_, _> = pairs.into_iter().collect();
        let mut packed = Vec::new();
        for (key, value) in sorted {
            for part in [key, value] {
                let length = u32::try_from(part.len()).expect("parts of an object are below 4 GiB");
                packed.extend_from_slice(&length.to_le_bytes());
                packed.extend_from_slice(part.as_bytes());
            }
        }
        Self(packed.into())
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    std::str::from_utf8(part).ok()
}
