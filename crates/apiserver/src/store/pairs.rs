//! A small sorted text-to-text map in one allocation.
//!
//! A hundred thousand pods carry half a million labels and as many selectable fields; as separate strings they would weigh
//! more than the pods. Look-up is a scan, which for the handful of labels an object has is faster than hashing. The keys
//! that nearly every object has are numbers here.

use std::fmt;

/// An immutable map from text to text, sorted by key bytes. 16 bytes when empty, no allocation.
///
/// Key and value follow each other. A text is its length in a byte and the text itself; [`LONG`] stands before a length of
/// four bytes, little-endian; [`KNOWN`] before the number of a key of [`KEYS`].
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Pairs(Box<[u8]>);

const LONG: u8 = 0xff;
const KNOWN: u8 = 0xfe;

/// Selectable fields and labels that every cluster is full of, by number. Not kept on disk, so that it may change.
const KEYS: [&str; 32] = [
    "spec.hostNetwork",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.nominatedNodeName",
    "status.phase",
    "status.podIP",
    "involvedObject.apiVersion",
    "involvedObject.fieldPath",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.resourceVersion",
    "involvedObject.uid",
    "reason",
    "reportingComponent",
    "source",
    "type",
    "app",
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/version",
    "batch.kubernetes.io/job-name",
    "controller-revision-hash",
    "endpointslice.kubernetes.io/managed-by",
    "kubernetes.io/service-name",
    "pod-template-generation",
    "pod-template-hash",
];

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

    /// The form kept on disk: lengths of four bytes, little-endian, before keys and values.
    pub(crate) fn to_record(&self) -> Vec<u8> {
        let mut record = Vec::new();
        for part in self.iter().flat_map(|(key, value)| [key, value]) {
            record.extend_from_slice(&length(part).to_le_bytes());
            record.extend_from_slice(part.as_bytes());
        }
        record
    }

    /// Reads the form kept on disk; `None` if it is damaged.
    pub(crate) fn from_record(mut record: &[u8]) -> Option<Self> {
        let mut pairs = Vec::new();
        while !record.is_empty() {
            pairs.push((take_record(&mut record)?, take_record(&mut record)?));
        }
        Some(pairs.into_iter().collect())
    }
}

/// Sorts by key; of equal keys the last one stays.
impl<'a> FromIterator<(&'a str, &'a str)> for Pairs {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Self {
        let sorted: std::collections::BTreeMap<_, _> = pairs.into_iter().collect();
        let mut packed = Vec::new();
        for (key, value) in sorted {
            match KEYS.iter().position(|known| *known == key) {
                Some(number) => packed.extend([KNOWN, number as u8]),
                None => put(&mut packed, key),
            }
            put(&mut packed, value);
        }
        Self(packed.into())
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

fn length(text: &str) -> u32 {
    u32::try_from(text.len()).expect("parts of an object are below 4 GiB")
}

fn put(packed: &mut Vec<u8>, text: &str) {
    match u8::try_from(text.len()) {
        Ok(short) if short < KNOWN => packed.push(short),
        _ => {
            packed.push(LONG);
            packed.extend_from_slice(&length(text).to_le_bytes());
        }
    }
    packed.extend_from_slice(text.as_bytes());
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let (&first, after) = rest.split_first()?;
    match first {
        KNOWN => {
            let (&number, after) = after.split_first()?;
            *rest = after;
            KEYS.get(usize::from(number)).copied()
        }
        LONG => {
            *rest = after;
            take_record(rest)
        }
        short => {
            let (text, after) = after.split_at_checked(usize::from(short))?;
            *rest = after;
            std::str::from_utf8(text).ok()
        }
    }
}

fn take_record<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests;
