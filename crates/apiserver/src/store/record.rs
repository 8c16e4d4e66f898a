//! How an object looks on disk: a key that sorts by resource and place, and a record.
//!
//! All numbers are little-endian. Record: crc32 of the row key and of the rest (4), revision (8), create revision (8), expiry
//! seconds (4), prefix length (4), offset of the revision (4), then [`Meta`] as flags (1) and length-prefixed parts, then
//! the body. The parsed part is kept so that a start parses no JSON.

use std::sync::Arc;

use bytes::Bytes;
use flate2::Crc;

use super::{
    key::{ObjectKey, ResourceKey},
    object::{Meta, Object},
    pairs::Pairs,
};

const DELETING: u8 = 1;
const FINALIZERS: u8 = 2;

/// `group/plural/namespace/name`. Only the name, which comes last, could contain a slash.
pub(crate) fn encode_key(resource: &ResourceKey, key: &ObjectKey) -> Vec<u8> {
    let parts = [
        &*resource.group,
        &resource.plural,
        &key.namespace,
        &key.name,
    ];
    parts.join("/").into_bytes()
}

/// The reverse of [`encode_key`]; `None` if it is damaged.
pub(crate) fn decode_key(bytes: &[u8]) -> Option<(&str, &str, &str, &str)> {
    let mut parts = std::str::from_utf8(bytes).ok()?.splitn(4, '/');
    Some((parts.next()?, parts.next()?, parts.next()?, parts.next()?))
}

/// The record of an object in the row at `row_key`.
pub(crate) fn encode(row_key: &[u8], object: &Object) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.body.len() + 256);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&object.rev.to_le_bytes());
    out.extend_from_slice(&object.create_rev.to_le_bytes());
    for number in [object.expires_seconds, object.prefix_len, object.rev_at] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let meta = &object.meta;
    let flag = |set, bit| if set { bit } else { 0 };
    out.push(flag(meta.deleting, DELETING) | flag(meta.finalizers, FINALIZERS));
    put(&mut out, meta.uid.as_bytes());
    put(&mut out, &meta.labels.to_record());
    put(&mut out, &meta.fields.to_record());
    // Here stood the number of owners, and their uids.
    put_length(&mut out, 0);
    out.extend_from_slice(&object.body);
    let crc = checksum(row_key, &out[4..]);
    out[..4].copy_from_slice(&crc.to_le_bytes());
    out
}

/// The object of a record; `None` if it is damaged or belongs into another row.
pub(crate) fn decode(row_key: &[u8], key: ObjectKey, record: &[u8]) -> Option<Object> {
    let (crc, rest) = record.split_first_chunk::<4>()?;
    if checksum(row_key, rest) != u32::from_le_bytes(*crc) {
        return None;
    }
    let mut reader = Reader(rest);
    let rev = reader.u64()?;
    let create_rev = reader.u64()?;
    let (expires_seconds, prefix_len, rev_at) = (reader.u32()?, reader.u32()?, reader.u32()?);
    let meta = reader.meta()?;
    let body = Bytes::copy_from_slice(reader.0);
    let fits = (prefix_len as usize) < body.len() && (rev_at as usize) < body.len();
    fits.then_some(Object {
        key,
        rev,
        create_rev,
        body,
        prefix_len,
        rev_at,
        expires_seconds,
        meta,
    })
}

/// Shares the texts that neighbouring keys have in common, so that a namespace is held once.
#[derive(Default)]
pub(crate) struct SharedText(Arc<str>);

impl SharedText {
    /// `text`, in the allocation of the last call if that was the same.
    pub(crate) fn share(&mut self, text: &str) -> Arc<str> {
        if *self.0 != *text {
            self.0 = text.into();
        }
        self.0.clone()
    }
}

fn checksum(row_key: &[u8], rest: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(row_key);
    crc.update(rest);
    crc.sum()
}

fn put(out: &mut Vec<u8>, part: &[u8]) {
    put_length(out, part.len());
    out.extend_from_slice(part);
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("parts of an object are below 4 GiB");
    out.extend_from_slice(&length.to_le_bytes());
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (found, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*found)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn part(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }

    fn text(&mut self) -> Option<Box<str>> {
        std::str::from_utf8(self.part()?).ok().map(Into::into)
    }

    fn meta(&mut self) -> Option<Meta> {
        let [flags] = self.array()?;
        let uid = self.text()?;
        let labels = Pairs::from_record(self.part()?)?;
        let fields = Pairs::from_record(self.part()?)?;
        for _ in 0..self.u32()? {
            self.part()?;
        }
        Some(Meta {
            uid,
            labels,
            fields,
            deleting: flags & DELETING != 0,
            finalizers: flags & FINALIZERS != 0,
        })
    }
}
