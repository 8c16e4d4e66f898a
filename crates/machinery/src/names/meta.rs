//! Checks of whole metadata fields: labels, annotations, finalizers, the field manager.

use serde_json::{Map, Value};

use super::{label_value, qualified_name};
use crate::quote::is_print;
use crate::status::FieldError;

/// Keys and values of all annotations together.
pub const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;
/// Longest field manager.
pub const FIELD_MANAGER_BYTES_MAX: usize = 128;

/// Complaints about labels (or a selector's matchLabels) at `path`.
pub fn validate_labels(labels: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let mut out = Vec::new();
    for (key, value) in labels {
        let bad_key = qualified_name(key).into_iter();
        out.extend(bad_key.map(|m| FieldError::invalid(path, key.as_str(), m)));
        if let Value::String(value) = value {
            let bad_value = label_value(value).into_iter();
            out.extend(bad_value.map(|m| FieldError::invalid(path, value.as_str(), m)));
        }
    }
    out
}

/// Complaints about annotations at `path`: bad keys (case does not matter), or more than 256 KiB.
pub fn validate_annotations(annotations: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let mut out = Vec::new();
    let mut bytes = 0;
    for (key, value) in annotations {
        bytes += key.len() + value.as_str().map_or(0, str::len);
        let complaints = qualified_name(&key.to_ascii_lowercase()).into_iter();
        out.extend(complaints.map(|m| FieldError::invalid(path, key.as_str(), m)));
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        out.push(FieldError::too_long(path, ANNOTATIONS_BYTES_MAX));
    }
    out
}

/// Complaints about finalizers at `path`: bad names, or two deletion policies at once.
pub fn validate_finalizers(finalizers: &[&str], path: &str) -> Vec<FieldError> {
    let mut out = Vec::new();
    for name in finalizers {
        let complaints = qualified_name(name).into_iter();
        out.extend(complaints.map(|m| FieldError::invalid(path, *name, m)));
    }
    if finalizers.contains(&"orphan") && finalizers.contains(&"foregroundDeletion") {
        out.push(FieldError::invalid(
            path,
            finalizers.to_vec(),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    out
}

/// Complaints about the name of a field manager: at most 128 bytes, printable.
pub fn validate_field_manager(manager: &str, path: &str) -> Vec<FieldError> {
    let mut out = Vec::new();
    if manager.len() > FIELD_MANAGER_BYTES_MAX {
        out.push(FieldError::too_long(path, FIELD_MANAGER_BYTES_MAX));
    }
    for (at, c) in manager.char_indices().filter(|&(_, c)| !is_print(c)) {
        let detail = format!(
            "invalid character U+{:04X} (at position {at})",
            u32::from(c)
        );
        out.push(FieldError::invalid(path, manager, detail));
    }
    out
}
