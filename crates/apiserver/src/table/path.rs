//! The JSON paths of printer columns: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`.
//!
//! A path is compiled once for a table. What a path does not find is no error, it gives no value.
//!
//! Source: client-go v0.35 `util/jsonpath`, as far as CustomResourceDefinitions use it; recursive
//! descent and unions are not supported and give no value.

use serde_json::Value;

/// A compiled path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// A member of an object.
    Member(String),
    /// An item of a list; negative numbers count from the end.
    Item(i64),
    /// All members or items.
    All,
    /// Items that satisfy a comparison.
    Where {
        path: Path,
        test: Option<(Test, Value)>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Equal,
    NotEqual,
    LessOrEqual,
    GreaterOrEqual,
    Less,
    Greater,
}

/// Longer operators first, because `<` begins `<=`.
const TESTS: [(&str, Test); 6] = [
    ("==", Test::Equal),
    ("!=", Test::NotEqual),
    ("<=", Test::LessOrEqual),
    (">=", Test::GreaterOrEqual),
    ("<", Test::Less),
    (">", Test::Greater),
];

impl Path {
    /// Reads a path; `None` when it is malformed or uses what is not supported.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            if let Some(inside) = rest.strip_prefix('[') {
                let end = closing(inside)?;
                steps.push(bracket(inside[..end].trim())?);
                rest = &inside[end + 1..];
            } else {
                let (name, after) = name(rest.strip_prefix('.')?);
                match name.as_str() {
                    // A dot alone means the whole object; two dots would mean any depth.
                    "" if after.is_empty() && steps.is_empty() => {}
                    "" if after.starts_with('[') => {}
                    "" => return None,
                    "*" => steps.push(Step::All),
                    _ => steps.push(Step::Member(name)),
                }
                rest = after;
            }
        }
        Some(Self { steps })
    }

    /// The first value the path finds.
    pub(super) fn first<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        let mut found = vec![value];
        for step in &self.steps {
            found = found
                .into_iter()
                .flat_map(|value| step.apply(value))
                .collect();
        }
        found.into_iter().next()
    }
}

impl Step {
    fn apply<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        match (self, value) {
            (Self::Member(name), _) => value.get(name).into_iter().collect(),
            (Self::Item(index), Value::Array(items)) => {
                let from_end = usize::try_from(-index).ok().filter(|_| *index < 0);
                let at = match from_end {
                    Some(back) => items.len().checked_sub(back),
                    None => usize::try_from(*index).ok(),
                };
                at.and_then(|at| items.get(at)).into_iter().collect()
            }
            (Self::All | Self::Where { .. }, Value::Array(items)) => {
                items.iter().filter(|item| self.takes(item)).collect()
            }
            (Self::All, Value::Object(map)) => map.values().collect(),
            _ => Vec::new(),
        }
    }

    fn takes(&self, item: &Value) -> bool {
        let Self::Where { path, test } = self else {
            return true;
        };
        let found = path.first(item);
        let Some((test, wanted)) = test else {
            return found.is_some();
        };
        let Some(found) = found else { return false };
        match (test, found.as_f64(), wanted.as_f64()) {
            (Test::Equal, ..) => found == wanted,
            (Test::NotEqual, ..) => found != wanted,
            (Test::Less, Some(found), Some(wanted)) => found < wanted,
            (Test::Greater, Some(found), Some(wanted)) => found > wanted,
            (Test::LessOrEqual, Some(found), Some(wanted)) => found <= wanted,
            (Test::GreaterOrEqual, Some(found), Some(wanted)) => found >= wanted,
            _ => false,
        }
    }
}

/// A name up to the next unescaped dot or bracket, and what follows.
fn name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => {
                name.push(letter);
                escaped = false;
            }
            '\\' => escaped = true,
            '.' | '[' => return (name, &text[at..]),
            _ => name.push(letter),
        }
    }
    (name, "")
}

/// Where the bracket that was opened before `text` closes, quotes and inner brackets aside.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if quote == Some(letter) => quote = None,
            _ if quote.is_some() => {}
            '"' | '\'' => quote = Some(letter),
            '[' => depth += 1,
            ']' if depth == 0 => return Some(at),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::All);
    }
    if let Some(name) = quoted(inside) {
        return Some(Step::Member(name.to_owned()));
    }
    if let Some(filter) = inside
        .strip_prefix("?(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        let filter = filter.trim();
        let split = TESTS.iter().find_map(|(word, test)| {
            let (left, right) = filter.split_once(word)?;
            Some((left, *test, right))
        });
        let (left, test) = match split {
            Some((left, test, right)) => (left, Some((test, literal(right.trim())?))),
            None => (filter, None),
        };
        let path = Path::parse(left.trim().strip_prefix('@')?)?;
        return Some(Step::Where { path, test });
    }
    inside.parse().ok().map(Step::Item)
}

fn quoted(text: &str) -> Option<&str> {
    ['"', '\'']
        .into_iter()
        .find_map(|q| text.strip_prefix(q)?.strip_suffix(q))
}

fn literal(text: &str) -> Option<Value> {
    match quoted(text) {
        Some(text) => Some(text.into()),
        None => serde_json::from_str(text).ok(),
    }
}
