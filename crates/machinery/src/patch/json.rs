//! RFC 6902 JSON patch, with the liberties of the library that upstream uses.
//!
//! `replace` creates a missing object key, negative indices count from the end, `copy` of a
//! missing key copies null, a missing `value` is null, and `test` takes null and absence for the
//! same. Nothing of a failed patch is kept.
//!
//! Source: evanphx/json-patch v4.13, apiserver `endpoints/handlers/patch.go` v1.35.

use serde_json::{Map, Value};

use super::{DEPTH_MAX, depth};
use crate::quote::quote;
use crate::status::{Details, Reason, Status};

/// Most operations of one patch.
pub const OPERATIONS_MAX: usize = 10_000;
/// Most bytes of JSON that the `copy` operations of one patch may add.
pub const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Why a JSON patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The patch is not a list of objects (400).
    #[error("json: cannot unmarshal {0} into Go value of type jsonpatch.{1}")]
    Malformed(&'static str, &'static str),
    /// More than [`OPERATIONS_MAX`] operations (413).
    #[error("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {0}")]
    TooMany(usize),
    /// An operation failed (422).
    #[error("{0}")]
    Failed(String),
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::Malformed(..) => Self::bad_request(error.to_string()),
            Error::TooMany(_) => Self::too_large(error),
            // Upstream keeps the reason to itself; so clients compare this text.
            Error::Failed(_) => {
                let text = "the server rejected our request due to an error in our request";
                Self::new(422, Reason::Invalid, text).with_details(Details::default())
            }
        }
    }
}

/// `live` after all operations of `patch`.
pub fn apply(live: Value, patch: &Value) -> Result<Value, Error> {
    let operations = match patch {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => return Err(Error::Malformed(go_kind(other), "Patch")),
    };
    if operations.len() > OPERATIONS_MAX {
        return Err(Error::TooMany(operations.len()));
    }
    if let Some(wrong) = operations.iter().find(|o| !o.is_object() && !o.is_null()) {
        return Err(Error::Malformed(go_kind(wrong), "Operation"));
    }
    let mut run = Run {
        depth_bound: depth(&live),
        document: live,
        copied_bytes: 0,
    };
    let empty = Map::new();
    for operation in operations {
        run.step(operation.as_object().unwrap_or(&empty))
            .map_err(Error::Failed)?;
    }
    if depth(&run.document) > DEPTH_MAX {
        return Err(Error::Failed(too_deep()));
    }
    Ok(run.document)
}

struct Run {
    document: Value,
    /// JSON bytes added by `copy` so far.
    copied_bytes: usize,
    /// The document is at most this deep. Kept without measuring, because measuring after each of
    /// ten thousand operations would cost more than they do.
    depth_bound: usize,
}

impl Run {
    fn step(&mut self, operation: &Map<String, Value>) -> Result<(), String> {
        let text = |name| operation.get(name).and_then(Value::as_str);
        let value = || operation.get("value").cloned().unwrap_or(Value::Null);
        let op = text("op").unwrap_or("unknown");
        let path = text("path");
        match (op, path) {
            ("add" | "remove" | "replace" | "test", None) => Err(format!(
                "{op} operation failed to decode path: missing value"
            )),
            ("add", Some(path)) => self.add(path, value()),
            ("remove", Some(path)) => self.remove(path),
            ("replace", Some(path)) => self.replace(path, value()),
            ("test", Some(path)) => self.test(path, operation.get("value").unwrap_or(&Value::Null)),
            ("move" | "copy", _) => match text("from") {
                Some(from) => self.carry(op == "move", from, path),
                None => Err(format!(
                    "{op} operation failed to decode from: operation, missing from field: missing \
                     value"
                )),
            },
            _ => Err(format!("Unexpected kind: {op}")),
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Result<(), String> {
        self.note_depth(path, depth(&value))?;
        let (container, key) = self.find(path).ok_or_else(|| {
            format!("add operation does not apply: doc is missing path: \"{path}\": missing value")
        })?;
        add_at(container, &key, value).map_err(|e| format!("error in add for path: '{path}': {e}"))
    }

    fn remove(&mut self, path: &str) -> Result<(), String> {
        let (container, key) = self.find(path).ok_or_else(|| {
            format!(
                "remove operation does not apply: doc is missing path: \"{path}\": missing value"
            )
        })?;
        let removed = remove_at(container, &key);
        removed
            .map(drop)
            .map_err(|e| format!("error in remove for path: '{path}': {e}"))
    }

    fn replace(&mut self, path: &str, value: Value) -> Result<(), String> {
        if path.is_empty() {
            if !value.is_object() && !value.is_array() {
                return Err("replace operation value must be object or array".into());
            }
            self.depth_bound = depth(&value);
            self.document = value;
            return Ok(());
        }
        self.note_depth(path, depth(&value))?;
        let (container, key) = self.find(path).ok_or_else(|| {
            format!("replace operation does not apply: doc is missing path: {path}: missing value")
        })?;
        match container {
            Value::Array(items) => {
                let at = position(&key, items.len()).map_err(|_| {
                    format!(
                        "replace operation does not apply: doc is missing key: {path}: missing \
                         value"
                    )
                })?;
                items[at] = value;
            }
            Value::Object(map) => {
                map.insert(key, value);
            }
            _ => {}
        }
        Ok(())
    }

    fn test(&mut self, path: &str, expected: &Value) -> Result<(), String> {
        let failed = || format!("testing value {path} failed: test failed");
        if path.is_empty() {
            return if self.document == *expected {
                Ok(())
            } else {
                Err(failed())
            };
        }
        let (container, key) = self.find(path).ok_or_else(|| {
            format!("test operation does not apply: is missing path: {path}: missing value")
        })?;
        let found = value_at(container, &key)
            .map_err(|e| format!("error in test for path: '{path}': {e}"))?;
        if found.unwrap_or(&Value::Null) == expected {
            Ok(())
        } else {
            Err(failed())
        }
    }

    /// `move` or `copy`.
    fn carry(&mut self, moves: bool, from: &str, path: Option<&str>) -> Result<(), String> {
        let op = if moves { "move" } else { "copy" };
        let (container, key) = self.find(from).ok_or_else(|| {
            format!(
                "{op} operation does not apply: doc is missing from path: {from}: missing value"
            )
        })?;
        let found = value_at(container, &key);
        let value = if moves {
            let fail = |e| format!("error in move for path: '{key}': {e}");
            found.map_err(fail)?;
            remove_at(container, &key).map_err(fail)?
        } else {
            let found = found.map_err(|e| format!("error in copy for from: '{from}': {e}"))?;
            found.cloned().unwrap_or(Value::Null)
        };
        let path = match path {
            Some(path) => path,
            None if moves => return Err(no_path(op)),
            None => {
                return Err(format!(
                    "{op} operation failed to decode path: missing value"
                ));
            }
        };
        // What is carried lay below `from`, so it cannot be deeper than what was left there.
        let value_bound = self.depth_bound.saturating_sub(segments(from));
        if self.note_depth(path, value_bound).is_err() {
            self.note_depth(path, depth(&value))?;
        }
        if !moves {
            self.copied_bytes += value.to_string().len();
            if self.copied_bytes > COPIED_BYTES_MAX {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {}, \
                     exceeding the limit {COPIED_BYTES_MAX}",
                    self.copied_bytes
                ));
            }
        }
        let (container, key) = self.find(path).ok_or_else(|| {
            format!(
                "{op} operation does not apply: doc is missing destination path: {path}: missing \
                 value"
            )
        })?;
        add_at(container, &key, value).map_err(|e| match moves {
            true => format!("error in move for path: '{path}': {e}"),
            false => format!("error while adding value during copy: {e}"),
        })
    }

    /// The container that holds the last segment of `path`, and that segment.
    fn find(&mut self, path: &str) -> Option<(&mut Value, String)> {
        let (parents, key) = path.rsplit_once('/')?;
        let mut at = &mut self.document;
        for part in parents.split('/').skip(1) {
            let part = decode(part);
            at = match at {
                Value::Object(map) => map.get_mut(&part)?,
                Value::Array(items) => {
                    let n = items.len();
                    &mut items[position(&part, n).ok()?]
                }
                _ => return None,
            };
        }
        (at.is_object() || at.is_array()).then(|| (at, decode(key)))
    }

    /// Accounts for a value of at most `value_depth` levels that will stand at `path`.
    ///
    /// Refuses what could be far deeper than the limit at once, because walking that might exhaust
    /// the stack; the exact limit is checked at the end.
    fn note_depth(&mut self, path: &str, value_depth: usize) -> Result<(), String> {
        let bound_max = 8 * DEPTH_MAX;
        let at_path = segments(path) + value_depth;
        if self.depth_bound.max(at_path) > bound_max {
            self.depth_bound = depth(&self.document);
        }
        if self.depth_bound.max(at_path) > bound_max {
            return Err(too_deep());
        }
        self.depth_bound = self.depth_bound.max(at_path);
        Ok(())
    }
}

fn no_path(op: &str) -> String {
    format!("{op} operation failed to decode path: operation missing path field: missing value")
}

fn too_deep() -> String {
    format!("the document would nest deeper than {DEPTH_MAX} levels")
}

fn segments(path: &str) -> usize {
    path.bytes().filter(|&b| b == b'/').count()
}

fn decode(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

fn value_at<'a>(container: &'a Value, key: &str) -> Result<Option<&'a Value>, String> {
    match container {
        Value::Array(items) => Ok(items.get(position(key, items.len())?)),
        _ => Ok(container.get(key)),
    }
}

fn add_at(container: &mut Value, key: &str, value: Value) -> Result<(), String> {
    match container {
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let n = items.len() + 1;
            let at = position(key, n).map_err(|e| match e.starts_with("strconv") {
                true => format!("value was not a proper array index: '{key}': {e}"),
                false => e,
            })?;
            items.insert(at, value);
        }
        Value::Object(map) => {
            map.insert(key.to_owned(), value);
        }
        _ => {}
    }
    Ok(())
}

fn remove_at(container: &mut Value, key: &str) -> Result<Value, String> {
    match container {
        Value::Array(items) => Ok(items.remove(position(key, items.len())?)),
        Value::Object(map) => map
            .remove(key)
            .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value")),
        _ => Err(format!(
            "Unable to remove nonexistent key: {key}: missing value"
        )),
    }
}

/// The index that `key` means in a list of `len` places; -1 is the last one.
fn position(key: &str, len: usize) -> Result<usize, String> {
    let index: i64 = key
        .parse()
        .map_err(|_| format!("strconv.Atoi: parsing {}: invalid syntax", quote(key)))?;
    let from_end = usize::try_from(index.unsigned_abs()).ok();
    let at = match index {
        0.. => usize::try_from(index).ok().filter(|&i| i < len),
        _ => from_end.and_then(|back| len.checked_sub(back)),
    };
    at.ok_or_else(|| format!("Unable to access invalid index: {index}: invalid index referenced"))
}

/// What Go's JSON decoder calls the kind of `value`.
/// What Go's JSON reader calls the kind of a value in its errors.
pub fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests;
