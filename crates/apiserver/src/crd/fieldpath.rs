//! Paths into a schema as CRD authors write them: `.spec.foo['bar.baz']`.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `ValidFieldPath`.

use super::structural::{Additional, Node};

/// A place a path leads to.
#[derive(Debug)]
pub struct Found<'a> {
    /// The path as errors print it (`spec.foo[key]`).
    pub path: String,
    /// Its first part.
    pub root: String,
    /// What stands there; `None` inside a map of anything.
    pub node: Option<&'a Node>,
}

/// Follows `path` from `schema`.
///
/// # Errors
/// Why it leads nowhere, in upstream's words.
pub fn resolve<'a>(path: &str, schema: &'a Node) -> Result<Found<'a>, String> {
    walk(path, schema, true)
}

/// As [`resolve`], but only with dots.
///
/// # Errors
/// Why it leads nowhere, in upstream's words.
pub fn resolve_dotted<'a>(path: &str, schema: &'a Node) -> Result<Found<'a>, String> {
    walk(path, schema, false)
}

fn walk<'a>(path: &str, schema: &'a Node, brackets: bool) -> Result<Found<'a>, String> {
    let mut found = Found {
        path: String::new(),
        root: String::new(),
        node: Some(schema),
    };
    let mut rest = path;
    while !rest.is_empty() {
        let (name, is_named, after) = match rest.as_bytes()[0] {
            b'.' => {
                let after = &rest[1..];
                let end = after.find(['.', '[', ']']).unwrap_or(after.len());
                if end == 0 {
                    return Err(match after.is_empty() {
                        true => "unexpected end of JSON path".to_owned(),
                        false => "does not refer to a valid field".to_owned(),
                    });
                }
                (after[..end].to_owned(), true, &after[end..])
            }
            b'[' => {
                if !brackets {
                    return Err("array notation is not allowed".to_owned());
                }
                let (name, after) = quoted(&rest[1..])?;
                let is_named = found.node.is_some_and(|n| !n.properties.is_empty());
                (name, is_named, after)
            }
            _ => {
                let end = rest.find(['.', '[', ']']).unwrap_or(rest.len()).max(1);
                return Err(format!("expected [ or . but got: {}", &rest[..end]));
            }
        };
        step(&mut found, &name, is_named)?;
        rest = after;
    }
    Ok(found)
}

/// The text between `'` and `'` before a `]`, and what follows that.
fn quoted(rest: &str) -> Result<(String, &str), String> {
    if rest.is_empty() {
        return Err("unexpected end of JSON path".to_owned());
    }
    let Some(inner) = rest.strip_prefix('\'') else {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        return Err(format!(
            "expected single quoted string but got {}",
            &rest[..end]
        ));
    };
    let mut name = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => {
                let after = &inner[at + 1..];
                return match after.strip_prefix(']') {
                    Some(after) => Ok((name, after)),
                    None if after.is_empty() => Err("unexpected end of JSON path".to_owned()),
                    None => Err(format!(
                        "expected ] but got {}",
                        &after[..1.min(after.len())]
                    )),
                };
            }
            '\\' => match chars.next() {
                Some((_, 'a')) => name.push('\u{7}'),
                Some((_, 'b')) => name.push('\u{8}'),
                Some((_, 'f')) => name.push('\u{c}'),
                Some((_, 'n')) => name.push('\n'),
                Some((_, 'r')) => name.push('\r'),
                Some((_, 't')) => name.push('\t'),
                Some((_, 'v')) => name.push('\u{b}'),
                Some((_, c @ ('\'' | '\\'))) => name.push(c),
                Some((_, c)) => {
                    return Err(format!("invalid string literal: invalid escape char \\{c}"));
                }
                None => return Err("unexpected end of JSON path".to_owned()),
            },
            c => name.push(c),
        }
    }
    Err("unexpected end of JSON path".to_owned())
}

fn step(found: &mut Found<'_>, name: &str, is_named: bool) -> Result<(), String> {
    let invalid = || Err("does not refer to a valid field".to_owned());
    let Some(node) = found.node else {
        return invalid();
    };
    if found.root.is_empty() {
        found.root = name.to_owned();
    }
    if is_named {
        let Some(property) = node.property(name) else {
            return invalid();
        };
        found.node = Some(property);
        if !found.path.is_empty() {
            found.path.push('.');
        }
        found.path.push_str(name);
        return Ok(());
    }
    found.node = match &node.additional {
        Additional::Schema(values) => Some(values),
        Additional::Any => None,
        Additional::Absent | Additional::Closed => return invalid(),
    };
    found.path.push_str(&format!("[{name}]"));
    Ok(())
}

#[cfg(test)]
mod tests;
