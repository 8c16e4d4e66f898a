//! RFC 7386 JSON merge patch: objects merge, null deletes, everything else replaces.
//!
//! Differs from the RFC as upstream's library does: nulls are also dropped from objects inside a
//! list that the patch brings along.
//!
//! Source: evanphx/json-patch v4.13.

use serde_json::{Map, Value};

use super::{DEPTH_MAX, depth};
use crate::status::Status;

/// Why a merge patch cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The patch is neither an object nor a list.
    #[error("Invalid JSON Patch")]
    NotAnObject,
    /// The patch nests deeper than [`DEPTH_MAX`].
    #[error("patch nests deeper than {DEPTH_MAX} levels")]
    TooDeep,
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        Self::bad_request(error.to_string())
    }
}

/// `live` with `patch` merged in.
pub fn apply(live: Value, patch: Value) -> Result<Value, Error> {
    if depth(&patch) > DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    match (live, patch) {
        (Value::Object(mut live), Value::Object(patch)) => {
            merge(&mut live, patch);
            Ok(Value::Object(live))
        }
        (_, mut patch @ (Value::Object(_) | Value::Array(_))) => {
            drop_nulls(&mut patch);
            Ok(patch)
        }
        _ => Err(Error::NotAnObject),
    }
}

fn merge(live: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (key, value) in patch {
        match (live.get_mut(&key), value) {
            (_, Value::Null) => {
                live.remove(&key);
            }
            (Some(Value::Object(live)), Value::Object(patch)) => merge(live, patch),
            // What replaces a scalar or fills a gap loses its nulls; what replaces an object as a
            // list or scalar has none to lose but those inside lists, which upstream keeps.
            (Some(Value::Object(_)), patch) => {
                live.insert(key, patch);
            }
            (_, mut patch) => {
                drop_nulls(&mut patch);
                live.insert(key, patch);
            }
        }
    }
}

/// Removes keys whose value is null, at every depth; null items of lists stay.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
