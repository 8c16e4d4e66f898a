//! The three classic patches: RFC 7386 merge, RFC 6902 JSON patch and Kubernetes' strategic merge.
//!
//! All work on JSON values and know nothing of requests; each error converts into the
//! [`Status`](crate::status::Status) that upstream answers. Server-side apply is a different
//! animal and lives in [`apply`](crate::apply).

use serde_json::Value;

pub mod json;
pub mod merge;
pub mod strategic;

/// How deeply objects and lists may nest, in patches and in what they make.
///
/// serde_json reads back no more than 127 levels, so anything deeper could be stored but never
/// loaded again.
pub const DEPTH_MAX: usize = 127;

/// How many objects and lists stand inside each other at the deepest place of `value`.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
