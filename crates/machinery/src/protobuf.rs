//! Kubernetes protobuf: built-in objects to and from JSON values, by table.
//!
//! Typed Go clients send `application/vnd.kubernetes.protobuf` for built-in kinds and do not fall
//! back to JSON. A body is the magic `k8s\0` and a `runtime.Unknown` envelope
//! (`{1: {1: apiVersion, 2: kind}, 2: raw, 3: contentEncoding, 4: contentType}`) around the message of
//! the kind. Field numbers and pointers come from [`crate::builtin`]; there is no code per kind.
//!
//! Two traps of gogo's encoding shape the decoder. Go writes zero values of fields that are not
//! pointers, so on such a field zero means "not set", unless the published schema requires the
//! field. And structs that JSON inlines (`VolumeSource` in `Volume`) are messages of their own.
//!
//! Foreign bytes meet explicit [`Limits`], and nothing here panics on them.
//!
//! Source: apimachinery v0.35, `pkg/runtime/serializer/protobuf` and the `generated.proto` files.

mod decode;
mod encode;
mod wire;

use serde_json::Value;
use thiserror::Error;

pub use self::wire::Writer;

use crate::builtin;
use crate::schema::TypeId;

/// The first four bytes of every body.
pub const MAGIC: [u8; 4] = *b"k8s\0";

/// Content type of bodies in this encoding.
pub const CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What a body may cost; its length in bytes is bounded by whoever reads it from the network.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Messages inside messages. The deepest built-in kind without recursion needs about 20;
    /// schemas of custom resources nest two messages per level.
    pub depth: usize,
    /// Values produced in total (fields, list items, map entries). A value costs about 60 bytes of
    /// memory but as little as two on the wire.
    pub values: usize,
}

/// Why bytes are not an object, or an object has no encoding.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The body does not begin with [`MAGIC`].
    #[error("the body does not begin with the magic of Kubernetes protobuf")]
    Magic,
    /// The envelope names a kind without a table.
    #[error("no kind {kind:?} is registered for version {api_version:?} in protobuf")]
    UnknownKind {
        /// From the envelope.
        api_version: String,
        /// From the envelope.
        kind: String,
    },
    /// The envelope says the message is compressed or otherwise wrapped.
    #[error("unsupported content encoding {0:?} in the protobuf envelope")]
    ContentEncoding(String),
    /// Something inside is wrong.
    #[error("{path}: {problem}")]
    At {
        /// Path from the object's root, such as `spec.containers[0].ports`.
        path: String,
        /// What is wrong there.
        problem: Problem,
    },
}

/// What is wrong at one place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// The bytes end inside a value.
    #[error("unexpected end of message")]
    Truncated,
    /// A variable-length number has more than 64 bits, or a tag is zero.
    #[error("malformed number or tag")]
    Number,
    /// A value is encoded as another wire type than its field's.
    #[error("wire type {0} does not fit the field")]
    WireType(u8),
    /// Text is not UTF-8.
    #[error("text is not valid UTF-8")]
    Utf8,
    /// An embedded JSON document does not parse.
    #[error("embedded JSON does not parse")]
    Json,
    /// A time is outside of the years that RFC 3339 can write.
    #[error("time is out of range")]
    Time,
    /// See [`Limits::depth`].
    #[error("nested too deeply")]
    TooDeep,
    /// See [`Limits::values`].
    #[error("too many values")]
    TooMany,
    /// A JSON value does not have its field's type (when encoding).
    #[error("value does not have the field's type")]
    Mismatch,
}

/// The object in a body, with `apiVersion` and `kind`.
///
/// # Errors
/// When the bytes are malformed, exceed a limit, or name a kind that is not built in.
pub fn decode(body: &[u8], limits: Limits) -> Result<Value, Error> {
    decode::body(body, limits)
}

/// A body for an object of a built-in kind. Fields without a protobuf position are left out.
///
/// # Errors
/// When `apiVersion` and `kind` are not those of a built-in kind, or a value does not fit its field.
pub fn encode(object: &Value) -> Result<Vec<u8>, Error> {
    encode::body(object)
}

/// Whether a kind has a table, so that its bodies can be read.
pub fn knows(api_version: &str, kind: &str) -> bool {
    type_of(api_version, kind).is_some()
}

fn type_of(api_version: &str, kind: &str) -> Option<TypeId> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    builtin::kind(group, version, kind)
}

// === impl Error ===

impl Error {
    /// Places a problem below `segment`.
    fn within(self, segment: &str) -> Self {
        match self {
            Self::At { path, problem } => {
                let dot = if path.is_empty() || path.starts_with('[') {
                    ""
                } else {
                    "."
                };
                Self::At {
                    path: format!("{segment}{dot}{path}"),
                    problem,
                }
            }
            other => other,
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::At {
            path: String::new(),
            problem,
        }
    }
}

#[cfg(test)]
mod tests;
