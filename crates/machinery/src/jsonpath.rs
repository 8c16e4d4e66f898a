//! Kubernetes' JSONPath: printer columns, selectable fields, scale paths, `kubectl -o jsonpath`.
//!
//! A [`JsonPath`] is one path such as `.status.conditions[?(@.type=="Ready")].status`, compiled
//! once and evaluated often. It knows dots, brackets with quotes, wildcards, recursive descent,
//! slices, unions and filters. Templates around paths (`{range}`, text) are the client's business.
//!
//! Source: Kubernetes v1.35, client-go `util/jsonpath`.

use std::borrow::Cow;

use serde_json::Value;

use crate::quote::json;

mod eval;
mod parse;

/// Longest expression.
pub const EXPRESSION_BYTES_MAX: usize = 4096;
/// Most values that an evaluation may hold at any step; recursive descents multiply.
pub const RESULTS_MAX: usize = 100_000;

/// A compiled path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    nodes: Vec<Node>,
}

/// What a field that does not exist means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No value.
    Skip,
    /// An error.
    Fail,
}

/// Why a text is no path, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);

/// Why a path cannot be followed in a value, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EvalError(String);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Field(String),
    Slice(Slice),
    Filter(Box<Filter>),
    Union(Vec<Vec<Node>>),
    Wildcard,
    Recursive,
    /// Text, number or boolean.
    Literal(Value),
    /// A word that is none of these; fails when it is evaluated.
    Identifier(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Slice {
    from: Option<i64>,
    to: To,
    step: Option<i64>,
}

/// Where a slice ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum To {
    /// `[a]`: right behind its start.
    OneItem,
    /// `[a:]`: at the end.
    End,
    /// `[a:b]`: in front of this position.
    At(i64),
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Vec<Node>,
    right: Vec<Node>,
    /// `exists`, or a row of `!<>=`.
    operator: String,
}

impl JsonPath {
    /// Compiles `.a.b`, with or without braces around.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.len() > EXPRESSION_BYTES_MAX {
            return Err(ParseError(format!(
                "longer than {EXPRESSION_BYTES_MAX} bytes"
            )));
        }
        let inner = text
            .strip_prefix('{')
            .and_then(|t| t.strip_suffix('}'))
            .unwrap_or(text);
        parse::parse(inner, 0)
            .map(|nodes| Self { nodes })
            .map_err(ParseError)
    }

    /// All values the path leads to, in document order.
    pub fn find<'v>(
        &self,
        value: &'v Value,
        missing: Missing,
    ) -> Result<Vec<Cow<'v, Value>>, EvalError> {
        eval::list(&self.nodes, vec![Cow::Borrowed(value)], missing).map_err(EvalError)
    }

    /// The first value the path leads to, if it can be followed at all.
    pub fn first<'v>(&self, value: &'v Value) -> Option<Cow<'v, Value>> {
        self.find(value, Missing::Skip).ok()?.into_iter().next()
    }

    /// The names of a path that is nothing but fields, as selectable fields and scale paths must
    /// be.
    pub fn as_fields(&self) -> Option<Vec<&str>> {
        let names = self.nodes.iter().map(|node| match node {
            Node::Field(name) => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }
}

/// A value as `kubectl` prints a result: text as it is, lists and objects as JSON.
pub fn to_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "null".into(),
        other => json(other),
    }
}

#[cfg(test)]
mod tests;
