//! One stored object: its bytes as they go to clients, and the little that is kept parsed beside them.
//!
//! An object is immutable. Its body is the complete JSON of the storage version, written once by the commit thread, and
//! served by cloning a reference. What selectors, watches and deletion need without parsing lies in [`Meta`].

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{key::ObjectKey, pairs::Pairs};

/// A stored object at one revision.
#[derive(Debug)]
pub struct Object {
    /// Where it lives in its collection.
    pub key: ObjectKey,
    /// Revision of its last write; for the object of a [`Deleted`](super::EventKind::Deleted) event, of its deletion.
    pub rev: u64,
    /// Revision of the write that created it.
    pub create_rev: u64,
    /// Complete JSON including `resourceVersion`; begins with `kind` and `apiVersion`, in one order or the other.
    pub body: Bytes,
    /// Length of that beginning. `{` + `body[prefix_len..]` is the object without its type, as in lists of built-ins.
    pub prefix_len: u32,
    /// Offset of the first digit of `resourceVersion` in `body`.
    pub rev_at: u32,
    /// When it removes itself, in seconds since 1970; 0 for never.
    pub expires_seconds: u32,
    /// What is kept parsed.
    pub meta: Meta,
}

impl Object {
    /// The same object carrying another revision, as the event of its deletion shows it.
    pub(crate) fn at_revision(&self, rev: u64) -> Self {
        let rev_at = self.rev_at as usize;
        let rev_end = rev_at + decimal_len(self.rev);
        Self {
            key: self.key.clone(),
            rev,
            create_rev: self.create_rev,
            body: splice(&self.body[..rev_at], rev, &self.body[rev_end..]),
            prefix_len: self.prefix_len,
            rev_at: self.rev_at,
            expires_seconds: 0,
            meta: self.meta.clone(),
        }
    }

    /// Memory this object holds, for the limits of the event history. Bytes, approximate.
    pub(crate) fn weight(&self) -> usize {
        const FIXED: usize = 300; // headers, reference counts, the event and its slot
        self.body.len() + FIXED
    }
}

/// The parsed part of an object: what is asked on every list, watch or delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// `metadata.uid`, empty if it has none.
    pub uid: Box<str>,
    /// `metadata.labels`, sorted by key.
    pub labels: Pairs,
    /// Values of the resource's selectable fields beyond `metadata.name` and `metadata.namespace`, as the caller gave
    /// them, sorted by path. Those without a value are left out.
    pub fields: Pairs,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether any finalizer is left.
    pub finalizers: bool,
}

/// An object about to be written: everything but its revision.
///
/// The JSON is kept split around the value of `metadata.resourceVersion`, so that the commit thread only copies it once.
#[derive(Clone, Debug)]
pub struct Draft {
    json: Vec<u8>,
    prefix_len: u32,
    rev_at: u32,
    meta: Meta,
}

/// Which member of an object's type is written first. Upstream writes a built-in kind as its struct has it and a custom
/// resource as a map, by name; some clients' tests count the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeOrder {
    /// `kind`, `apiVersion`: built-in kinds.
    KindFirst,
    /// `apiVersion`, `kind`: custom resources.
    ByName,
}

impl TypeOrder {
    /// The two members in this order.
    pub(crate) fn members(self) -> [&'static str; 2] {
        match self {
            Self::KindFirst => ["kind", "apiVersion"],
            Self::ByName => ["apiVersion", "kind"],
        }
    }
}

/// Why a value cannot be stored as an object.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// A part that every object has is missing or of another type.
    #[error("object has no {0}")]
    Missing(&'static str),
    /// Longer than offsets can address (4 GiB).
    #[error("object of {0} bytes is too large to be stored")]
    TooLarge(usize),
    /// The value could not be rendered as JSON.
    #[error("rendering the object as JSON")]
    Json(#[from] serde_json::Error),
}

impl Draft {
    /// Renders `object` and extracts its [`Meta`]. `fields` are the values of the resource's selectable fields, as
    /// (path, value), in any order.
    ///
    /// Members are written as `kind`, `apiVersion`, `metadata`, then the rest sorted. A `resourceVersion` that `object`
    /// carries is ignored; the commit puts its own.
    ///
    /// # Errors
    /// `apiVersion`, `kind` and `metadata` must be there.
    pub fn new(object: &Value, fields: Vec<(String, String)>) -> Result<Self, DraftError> {
        Self::in_order(TypeOrder::KindFirst, object, fields)
    }

    /// [`new`](Self::new) with the type in this order.
    ///
    /// # Errors
    /// `apiVersion`, `kind` and `metadata` must be there.
    pub fn in_order(
        order: TypeOrder,
        object: &Value,
        fields: Vec<(String, String)>,
    ) -> Result<Self, DraftError> {
        let members = object.as_object().ok_or(DraftError::Missing("members"))?;
        let metadata = members
            .get("metadata")
            .and_then(Value::as_object)
            .ok_or(DraftError::Missing("metadata"))?;
        let mut json = Vec::with_capacity(1024);
        json.push(b'{');
        for name in order.members() {
            write_text(&mut json, members, name)?;
            json.push(b',');
        }
        let prefix_len = json.len();
        let rev_at = write_metadata(&mut json, metadata)?;
        for (name, value) in members {
            if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                json.push(b',');
                write_member(&mut json, name, value)?;
            }
        }
        json.push(b'}');
        if u32::try_from(json.len()).is_err() {
            return Err(DraftError::TooLarge(json.len()));
        }
        Ok(Self {
            json,
            prefix_len: prefix_len as u32,
            rev_at: rev_at as u32,
            meta: read_meta(metadata, fields),
        })
    }

    /// Length of the JSON without its revision, in bytes.
    pub fn len(&self) -> usize {
        self.json.len()
    }

    /// Never true: a draft has at least a type and metadata.
    pub fn is_empty(&self) -> bool {
        self.json.is_empty()
    }

    /// What will be kept parsed.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The object this becomes when written at `rev`, never expiring.
    ///
    /// Also what a dry run answers with, at the revision of the live object.
    pub fn object(self, key: ObjectKey, rev: u64, create_rev: u64) -> Object {
        let (head, tail) = self.json.split_at(self.rev_at as usize);
        Object {
            key,
            rev,
            create_rev,
            body: splice(head, rev, tail),
            prefix_len: self.prefix_len,
            rev_at: self.rev_at,
            expires_seconds: 0,
            meta: self.meta,
        }
    }
}

/// Seconds since 1970 as stored in [`Object::expires_seconds`]; saturates in 2106.
pub(crate) fn seconds(time: Timestamp) -> u32 {
    u32::try_from(time.as_second().max(0)).unwrap_or(u32::MAX)
}

fn write_text(
    out: &mut Vec<u8>,
    members: &Map<String, Value>,
    name: &'static str,
) -> Result<(), DraftError> {
    let value = members
        .get(name)
        .filter(|value| value.is_string())
        .ok_or(DraftError::Missing(name))?;
    write_member(out, name, value)
}

fn write_member(out: &mut Vec<u8>, name: &str, value: &Value) -> Result<(), DraftError> {
    serde_json::to_writer(&mut *out, name)?;
    out.push(b':');
    Ok(serde_json::to_writer(out, value)?)
}

/// Writes `"metadata":{…}` and returns where the revision belongs.
fn write_metadata(out: &mut Vec<u8>, metadata: &Map<String, Value>) -> Result<usize, DraftError> {
    const REVISION: &str = "resourceVersion";
    out.extend_from_slice(b"\"metadata\":{");
    let mut rev_at = None;
    for (name, value) in metadata.iter().filter(|(name, _)| *name != REVISION) {
        if rev_at.is_none() && name.as_str() > REVISION {
            rev_at = Some(write_revision(out));
            out.push(b',');
        }
        write_member(out, name, value)?;
        out.push(b',');
    }
    let rev_at = match rev_at {
        Some(rev_at) => {
            out.pop();
            rev_at
        }
        None => write_revision(out),
    };
    out.push(b'}');
    Ok(rev_at)
}

fn write_revision(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(b"\"resourceVersion\":\"");
    out.push(b'"');
    out.len() - 1
}

fn read_meta(metadata: &Map<String, Value>, fields: Vec<(String, String)>) -> Meta {
    let labels = metadata.get("labels").and_then(Value::as_object);
    Meta {
        uid: text(metadata.get("uid")).into(),
        labels: labels
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.as_str(), text(Some(value))))
            .collect(),
        fields: fields
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(path, value)| (path.as_str(), value.as_str()))
            .collect(),
        deleting: metadata
            .get("deletionTimestamp")
            .is_some_and(|time| !time.is_null()),
        finalizers: metadata
            .get("finalizers")
            .and_then(Value::as_array)
            .is_some_and(|names| !names.is_empty()),
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn splice(head: &[u8], rev: u64, tail: &[u8]) -> Bytes {
    let digits = rev.to_string();
    let mut body = Vec::with_capacity(head.len() + digits.len() + tail.len());
    body.extend_from_slice(head);
    body.extend_from_slice(digits.as_bytes());
    body.extend_from_slice(tail);
    body.into()
}

fn decimal_len(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}
