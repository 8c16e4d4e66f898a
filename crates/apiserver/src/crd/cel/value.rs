//! JSON values as CEL sees them.
//!
//! The schema decides: fields of objects are renamed so that CEL can name them (`foo-bar` is
//! `foo__dash__bar`), keys of maps are not; `date`, `date-time`, `duration` and `byte` strings
//! become timestamps, durations and bytes; a `number` is always a double.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/cel/{escaping,common/values}.go`.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use kube_cel::cel::common::ast::{CallExpr, Expr, LiteralValue};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, IdedExpr, Value};
use serde_json::Value as Json;

use super::engine::Bound;
use crate::crd::formats::{Format, duration_nanos};
use crate::crd::structural::{JsonType, Node};

/// Words CEL keeps for itself.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Converts a value by its schema; without one every string is a string.
pub fn bind(value: &Json, schema: Option<&Node>) -> Bound {
    Bound(convert(value, schema))
}

/// The name CEL knows a field by, or `None` when it cannot be named.
pub fn escape(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len() + 8);
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match c {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            _ => return None,
        }
        rest = &rest[c.len_utf8()..];
    }
    (!out.is_empty() && !out.starts_with(|c: char| c.is_ascii_digit())).then_some(out)
}

fn convert(value: &Json, schema: Option<&Node>) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => {
            let is_double = schema.is_some_and(|s| s.ty == Some(JsonType::Number));
            match (n.as_i64(), n.as_f64()) {
                (Some(whole), _) if !is_double => Value::Int(whole),
                (_, Some(float)) => {
                    let is_integer = schema.is_some_and(|s| s.ty == Some(JsonType::Integer));
                    #[expect(clippy::cast_possible_truncation, reason = "checked to fit")]
                    if is_integer && float.fract() == 0.0 && float.abs() < 9.2e18 {
                        Value::Int(float as i64)
                    } else {
                        Value::Float(float)
                    }
                }
                _ => Value::Null,
            }
        }
        Json::String(text) => {
            let format = schema
                .and_then(|s| s.checks.as_ref())
                .and_then(|c| c.format);
            string(text, format)
        }
        Json::Array(list) => {
            let items = schema.and_then(|s| s.items.as_deref());
            Value::List(Arc::new(list.iter().map(|v| convert(v, items)).collect()))
        }
        Json::Object(fields) => object(fields, schema),
    }
}

fn object(fields: &serde_json::Map<String, Json>, schema: Option<&Node>) -> Value {
    let is_map = schema.is_none_or(|s| s.properties.is_empty() && !s.embedded);
    let mut map = HashMap::with_capacity(fields.len());
    for (name, value) in fields {
        let inner = schema.and_then(|s| s.field(name)).map(AsRef::as_ref);
        let key = if is_map {
            Some(name.clone())
        } else {
            escape(name)
        };
        if let Some(key) = key {
            map.insert(Key::String(Arc::new(key)), convert(value, inner));
        }
    }
    Value::Map(Map { map: Arc::new(map) })
}

fn string(text: &str, format: Option<Format>) -> Value {
    let plain = || Value::String(Arc::new(text.to_owned()));
    match format {
        Some(Format::Byte) => base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_or_else(|_| plain(), |bytes| Value::Bytes(Arc::new(bytes))),
        Some(Format::Date) => {
            parsed("timestamp", &format!("{text}T00:00:00Z")).unwrap_or_else(plain)
        }
        Some(Format::DateTime) => parsed("timestamp", text).unwrap_or_else(plain),
        Some(Format::Duration) => duration_nanos(text)
            .and_then(|nanos| parsed("duration", &format!("{nanos}ns")))
            .unwrap_or_else(plain),
        _ => plain(),
    }
}

/// The evaluator's own value of a timestamp or duration.
fn parsed(function: &str, text: &str) -> Option<Value> {
    let literal = Expr::Literal(LiteralValue::String(text.into()));
    let args = vec![IdedExpr {
        id: 0,
        expr: literal,
    }];
    let call = CallExpr {
        func_name: function.to_owned(),
        target: None,
        args,
    };
    let call = IdedExpr {
        id: 0,
        expr: Expr::Call(call),
    };
    Value::resolve(&call, &Context::default()).ok()
}
