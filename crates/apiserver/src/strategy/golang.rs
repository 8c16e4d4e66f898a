//! How Go's JSON shows values of types that have no JSON names.
//!
//! Some of upstream's messages show a whole value, and they show it in the internal form: members
//! have Go's names and order, and all of them are there.

pub(crate) mod shapes;

use std::borrow::Cow;

use flotilla_machinery::status::{FieldError, FieldErrorKind};
use serde_json::Value;

/// A member of a Go struct.
pub(crate) struct Member {
    /// Its name in Go.
    go: &'static str,
    /// Its name in JSON where that does not follow from the one in Go.
    json: Option<&'static str>,
    /// Its type.
    shape: Shape,
}

/// What Go shows for a member.
#[derive(Clone, Copy)]
enum Shape {
    /// What JSON says, or null: pointers, lists of scalars, maps, and types with JSON names.
    Plain,
    /// Text, empty when absent.
    Text,
    /// A number, 0 when absent.
    Number,
    /// Yes or no, no when absent.
    Flag,
    /// Metadata, whose members stand beside those around it.
    Meta,
    /// A struct, there even when absent.
    Record(&'static [Member]),
    /// A struct, or null.
    Pointer(&'static [Member]),
    /// A list of structs, or null.
    List(&'static [Member]),
}

/// What Go shows of metadata, in its order; absent members are left out.
const OBJECT_META: [&str; 7] = [
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
];

impl Member {
    /// The name in JSON; by default the one in Go with its first word in lower case.
    fn json(&self) -> Cow<'static, str> {
        if let Some(json) = self.json {
            return json.into();
        }
        let capitals = self.go.bytes().take_while(u8::is_ascii_uppercase).count();
        let is_whole = capitals == self.go.len();
        let first = if capitals > 1 && !is_whole {
            capitals - 1
        } else {
            capitals
        };
        let (first, rest) = self.go.split_at(first);
        format!("{}{rest}", first.to_ascii_lowercase()).into()
    }
}

/// The value of a struct.
pub(crate) fn record(value: &Value, members: &[Member]) -> String {
    let mut shown: Vec<String> = Vec::new();
    for member in members {
        let inner = value.get(&*member.json()).unwrap_or(&Value::Null);
        if let Shape::Meta = member.shape {
            let present = OBJECT_META
                .iter()
                .filter_map(|name| Some((name, inner.get(name)?)));
            shown.extend(present.map(|(name, value)| format!("\"{name}\":{}", plain(value))));
        } else {
            shown.push(format!("\"{}\":{}", member.go, show(inner, member.shape)));
        }
    }
    format!("{{{}}}", shown.join(","))
}

fn show(value: &Value, shape: Shape) -> String {
    match (shape, value) {
        (Shape::Text, Value::Null) => "\"\"".to_owned(),
        (Shape::Number, Value::Null) => "0".to_owned(),
        (Shape::Flag, Value::Null) => "false".to_owned(),
        (Shape::Record(members), _) => record(value, members),
        (Shape::Pointer(members), Value::Object(_)) => record(value, members),
        (Shape::List(members), Value::Array(items)) => {
            let items: Vec<String> = items.iter().map(|item| record(item, members)).collect();
            format!("[{}]", items.join(","))
        }
        (Shape::Pointer(_) | Shape::List(_), _) => "null".to_owned(),
        _ => plain(value),
    }
}

/// What JSON says, with the escapes of Go.
fn plain(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&']) {
        return text;
    }
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// A wrong value that was made into text as Go shows it.
pub(crate) fn invalid(path: impl Into<String>, shown: &str, detail: &str) -> FieldError {
    FieldError {
        kind: FieldErrorKind::Invalid,
        path: path.into(),
        value: None,
        detail: format!("{shown}: {detail}"),
    }
}

/// A label selector, which has JSON names, in the order of its Go members.
pub(super) fn selector(value: &Value) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let expression = |expression: &Value| members(expression, &["key", "operator", "values"]);
    let mut parts = Vec::new();
    let is_empty = |value: &Value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    if !is_empty(&value["matchLabels"]) {
        parts.push(format!("\"matchLabels\":{}", plain(&value["matchLabels"])));
    }
    if let Some(items) = value["matchExpressions"]
        .as_array()
        .filter(|i| !i.is_empty())
    {
        let items: Vec<String> = items.iter().map(expression).collect();
        parts.push(format!("\"matchExpressions\":[{}]", items.join(",")));
    }
    format!("{{{}}}", parts.join(","))
}

/// These members, in this order, without absent ones.
fn members(value: &Value, names: &[&str]) -> String {
    let present = names
        .iter()
        .filter_map(|name| Some((name, value.get(name)?)));
    let members: Vec<String> = present
        .map(|(name, value)| format!("\"{name}\":{}", plain(value)))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// What changed from one JSON text to another, as upstream shows it: both written one member a
/// line, and the lines that differ with three around them.
pub(super) fn diff(old: &str, new: &str) -> String {
    let (old, new) = (indented(old), indented(new));
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let steps = steps(&old, &new);
    let mut out = String::new();
    let mut rest = steps.as_slice();
    let mut at = [0, 0];
    while let Some(first) = rest.iter().position(|step| step.sign != ' ') {
        let start = first.saturating_sub(CONTEXT);
        at = after(at, &rest[..start]);
        rest = &rest[start..];
        let end = hunk_end(rest);
        let hunk = &rest[..end];
        let [old_at, new_at] = at;
        let [old_end, new_end] = after(at, hunk);
        out.push_str(&format!(
            "@@ -{} +{} @@\n",
            range(old_at, old_end),
            range(new_at, new_end)
        ));
        for step in hunk {
            out.push(step.sign);
            out.push_str(step.line);
            out.push('\n');
        }
        at = [old_end, new_end];
        rest = &rest[end..];
    }
    out
}

/// Lines around a change.
const CONTEXT: usize = 3;

/// A line of both texts, or of one.
struct Step<'t> {
    sign: char,
    line: &'t str,
}

/// Where a hunk ends: three lines behind its last change, if no other follows soon.
fn hunk_end(steps: &[Step<'_>]) -> usize {
    let mut end = 0;
    for (at, _) in steps
        .iter()
        .enumerate()
        .filter(|(_, step)| step.sign != ' ')
    {
        if end > 0 && at > end + CONTEXT {
            break;
        }
        end = at + 1 + CONTEXT;
    }
    end.min(steps.len())
}

fn after([old, new]: [usize; 2], steps: &[Step<'_>]) -> [usize; 2] {
    let count = |sign: char| steps.iter().filter(|step| step.sign != sign).count();
    [old + count('+'), new + count('-')]
}

/// First line and number of lines, as patches say it.
fn range(from: usize, to: usize) -> String {
    match to - from {
        1 => format!("{}", from + 1),
        0 => format!("{from},0"),
        n => format!("{},{n}", from + 1),
    }
}

/// The shortest way from one list of lines to the other.
fn steps<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Step<'t>> {
    // Lengths of the longest common ends.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            common[i][j] = if a == b {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    while i < old.len() || j < new.len() {
        let both = i < old.len() && j < new.len() && old[i] == new[j];
        let sign = match both {
            true => ' ',
            false if j == new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] => '-',
            false => '+',
        };
        let line = if sign == '+' { new[j] } else { old[i] };
        steps.push(Step { sign, line });
        i += usize::from(sign != '+');
        j += usize::from(sign != '-');
    }
    steps
}

/// JSON with one member a line, each level one space further in.
fn indented(json: &str) -> String {
    let (mut out, mut depth, mut is_text, mut is_escaped) = (String::new(), 0, false, false);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', depth));
    };
    let mut letters = json.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            _ if is_text => out.push(c),
            '{' | '[' => {
                out.push(c);
                let is_empty = matches!(letters.peek(), Some('}' | ']'));
                if is_empty {
                    out.extend(letters.next());
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth -= 1;
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push(c),
        }
        if c == '"' && !is_escaped {
            is_text = !is_text;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    out
}

#[cfg(test)]
mod tests;
