//! Paths to fields, and sets of them: who owns what inside an object.
//!
//! A [`Path`] such as `.spec.containers[name="a"].image` names a field, a list item by its keys or
//! value, or a list position. A [`Set`] holds many paths as a tree and has the algebra that
//! server-side apply is made of. Sets travel in `managedFields` as JSON ("FieldsV1").
//!
//! Source: structured-merge-diff v6.3, `fieldpath`.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};
use smol_str::SmolStr;

use crate::quote::{json, quote};

pub(crate) use self::set::Node;
pub use self::set::Set;

mod set;

/// One step from a value into it.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of an object.
    Field(SmolStr),
    /// The list item that has these values in its key fields; sorted by field name.
    Key(Box<[(SmolStr, Value)]>),
    /// The list item that is this scalar.
    Value(Value),
    /// The list item at this position.
    Index(i64),
}

/// Steps from the root of an object; the empty path is the object itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<PathElement>);

/// Why a text is not a path element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Less than a letter and a colon.
    #[error("key must be 2 characters long:")]
    TooShort,
    /// No colon in the second place.
    #[error("missing colon: {0}")]
    NoColon(String),
    /// The JSON behind the colon does not parse, or the position is no number.
    #[error("cannot read the path element {0}")]
    Malformed(String),
    /// A field set that is not made of objects.
    #[error("a field set must be an object, not {0}")]
    NotAnObject(String),
}

// === impl PathElement ===

impl PathElement {
    /// The field called `name`.
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// The list item with these key fields, in any order.
    pub fn key<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let mut fields: Vec<(SmolStr, Value)> = fields
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Self::Key(fields.into())
    }

    /// Reads the form in which elements stand in `managedFields`: `f:name`, `k:{…}`, `v:…`, `i:0`.
    ///
    /// `None` for letters that nobody knows, which readers skip.
    pub fn parse(text: &str) -> Result<Option<Self>, Error> {
        if text.len() < 2 {
            return Err(Error::TooShort);
        }
        if text.as_bytes()[1] != b':' {
            return Err(Error::NoColon(text.to_owned()));
        }
        let malformed = || Error::Malformed(text.to_owned());
        let rest = &text[2..];
        Ok(Some(match text.as_bytes()[0] {
            b'f' => Self::field(rest),
            b'v' => Self::Value(serde_json::from_str(rest).map_err(|_| malformed())?),
            b'k' => {
                let fields: Map<String, Value> =
                    serde_json::from_str(rest).map_err(|_| malformed())?;
                Self::Key(fields.into_iter().map(|(k, v)| (k.into(), v)).collect())
            }
            b'i' => Self::Index(rest.parse().map_err(|_| malformed())?),
            _ => return Ok(None),
        }))
    }

    /// The form in which the element stands in `managedFields`.
    pub fn encode(&self) -> String {
        match self {
            Self::Field(name) => ["f:", name].concat(),
            Self::Value(value) => format!("v:{}", json(value)),
            Self::Index(index) => format!("i:{index}"),
            Self::Key(fields) => {
                let map = fields
                    .iter()
                    .map(|(k, v)| (k.to_string(), v.clone()))
                    .collect();
                format!("k:{}", json(&Value::Object(map)))
            }
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                for ((name_a, a), (name_b, b)) in a.iter().zip(b) {
                    let order = name_a.cmp(name_b).then_with(|| compare_values(a, b));
                    if order != Ordering::Equal {
                        return order;
                    }
                }
                a.len().cmp(&b.len())
            }
            (Self::Value(a), Self::Value(b)) => compare_values(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Value| match value {
            Value::String(text) => quote(text),
            other => other.to_string(),
        };
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={}]", text(value)),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={}", text(value)))
                    .collect();
                write!(f, "[{}]", fields.join(","))
            }
        }
    }
}

// === impl Path ===

impl Path {
    /// A path of field names only.
    pub fn fields(names: &[&str]) -> Self {
        Self(names.iter().map(|name| PathElement::field(name)).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

/// A total order of JSON values: numbers, strings, booleans, lists, objects, null.
///
/// Whole numbers and floats compare by amount, so that `1` and `1.0` are one key.
pub(crate) fn compare_values(a: &Value, b: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a
                .as_f64()
                .unwrap_or(0.0)
                .total_cmp(&b.as_f64().unwrap_or(0.0)),
        },
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let items = a.iter().zip(b).map(|(a, b)| compare_values(a, b));
            items
                .fold(Ordering::Equal, Ordering::then)
                .then(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let entries = a
                .iter()
                .zip(b)
                .map(|((ka, a), (kb, b))| ka.cmp(kb).then_with(|| compare_values(a, b)));
            entries
                .fold(Ordering::Equal, Ordering::then)
                .then(a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Whether two values are the same, `1` and `1.0` included.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            x == y || (x.is_f64() != y.is_f64() && compare_values(a, b) == Ordering::Equal)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|((ka, a), (kb, b))| ka == kb && same(a, b))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests;
