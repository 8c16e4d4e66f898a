//! What is wrong with one field.

use std::collections::HashSet;
use std::fmt;

use serde_json::Value;

use super::Cause;
use crate::quote::{json, quote};

/// What is wrong with one field; prints as `spec.replicas: Invalid value: -1: must be …`.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What kind of mistake.
    pub kind: FieldErrorKind,
    /// Path such as `spec.containers[0].name`; an empty path prints as `<nil>`.
    pub path: String,
    /// The value at fault; `None` leaves it out of the text.
    pub value: Option<Value>,
    /// What is wrong with it.
    pub detail: String,
}

/// Kinds of mistakes (`field.ErrorType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldErrorKind {
    /// Something the value refers to does not exist.
    NotFound,
    /// The value is missing.
    Required,
    /// The value must be unique and is not.
    Duplicate,
    /// The value is malformed.
    Invalid,
    /// The value is not one of a fixed set.
    NotSupported,
    /// The value is fine but not allowed here.
    Forbidden,
    /// Too many bytes.
    TooLong,
    /// Too many items.
    TooMany,
    /// Not the user's fault.
    Internal,
    /// The value has the wrong JSON type.
    TypeInvalid,
}

/// All errors as one text: a single one as it is, several as `[a, b]`, without repetitions.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut seen = HashSet::new();
    let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.retain(|text| seen.insert(text.clone()));
    match texts.len() {
        1 => texts.remove(0),
        _ => format!("[{}]", texts.join(", ")),
    }
}

// === impl FieldError ===

impl FieldError {
    /// The value is missing.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, path, None, detail)
    }

    /// The value is malformed.
    pub fn invalid(
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(FieldErrorKind::Invalid, path, Some(value.into()), detail)
    }

    /// The value has the wrong JSON type.
    pub fn type_invalid(
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(
            FieldErrorKind::TypeInvalid,
            path,
            Some(value.into()),
            detail,
        )
    }

    /// The value is not among `supported`, which is printed in the order given.
    pub fn not_supported<S: AsRef<str>>(
        path: impl Into<String>,
        value: impl Into<Value>,
        supported: &[S],
    ) -> Self {
        let mut detail = String::new();
        if !supported.is_empty() {
            let quoted: Vec<String> = supported.iter().map(|s| quote(s.as_ref())).collect();
            detail = format!("supported values: {}", quoted.join(", "));
        }
        Self::new(
            FieldErrorKind::NotSupported,
            path,
            Some(value.into()),
            detail,
        )
    }

    /// Something the value refers to does not exist.
    pub fn not_found(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::NotFound, path, Some(value.into()), "")
    }

    /// The value must be unique and is not.
    pub fn duplicate(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::Duplicate, path, Some(value.into()), "")
    }

    /// The value is fine but not allowed here.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, path, None, detail)
    }

    /// More than `bytes_max` bytes.
    pub fn too_long(path: impl Into<String>, bytes_max: usize) -> Self {
        let unit = if bytes_max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {bytes_max} {unit}");
        Self::new(FieldErrorKind::TooLong, path, None, detail)
    }

    /// `actual` items where `items_max` are allowed.
    pub fn too_many(path: impl Into<String>, actual: usize, items_max: usize) -> Self {
        let unit = if items_max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {items_max} {unit}");
        Self::new(FieldErrorKind::TooMany, path, Some(actual.into()), detail)
    }

    /// Not the user's fault.
    pub fn internal(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Internal, path, None, detail)
    }

    /// The text without the path, as a cause's message.
    pub fn body(&self) -> String {
        let mut text = self.kind.title().to_owned();
        if self.kind.shows_value()
            && let Some(value) = &self.value
        {
            text.push_str(": ");
            match value {
                Value::String(s) => text.push_str(&quote(s)),
                other => text.push_str(&json(other)),
            }
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    /// The entry for `details.causes`.
    pub fn to_cause(&self) -> Cause {
        Cause {
            reason: self.kind.as_str().into(),
            message: self.body(),
            field: self.shown_path().into(),
        }
    }

    fn new(
        kind: FieldErrorKind,
        path: impl Into<String>,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            path: path.into(),
            value,
            detail: detail.into(),
        }
    }

    fn shown_path(&self) -> &str {
        if self.path.is_empty() {
            "<nil>"
        } else {
            &self.path
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.shown_path(), self.body())
    }
}

impl std::error::Error for FieldError {}

// === impl FieldErrorKind ===

impl FieldErrorKind {
    /// The cause type on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(
            self,
            Self::Required | Self::Forbidden | Self::TooLong | Self::Internal
        )
    }
}
