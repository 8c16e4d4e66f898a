//! Field selectors: which objects a query means, by a few fields of their own.
//!
//! `metadata.name=a,status.phase!=Failed` is a conjunction of (in)equalities. Which fields may be
//! named depends on the resource and is the caller's business ([`Selector::map`]). In values,
//! `\`, `,` and `=` are written with a backslash in front.
//!
//! Source: Kubernetes v1.35, apimachinery `fields/selector.go`.

use std::fmt;
use std::str::FromStr;

/// A conjunction of terms; the default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    terms: Vec<Term>,
}

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Path of the field, such as `spec.nodeName`.
    pub field: String,
    /// Value to compare with; a field that is absent counts as empty.
    pub value: String,
    /// Whether the field must differ (`!=`) rather than be equal.
    pub negated: bool,
}

/// A field selector that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No operator in a term.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    NoOperator {
        /// The whole selector.
        selector: String,
        /// The term at fault.
        term: String,
    },
    /// A backslash in front of something that needs none.
    #[error("invalid field selector: invalid escape sequence: {0}")]
    Escape(String),
    /// A comma or equals sign without a backslash, printed as its code as upstream does.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.0))]
    Unescaped(char),
}

// === impl Selector ===

impl Selector {
    /// A selector from these terms.
    pub fn new(terms: Vec<Term>) -> Self {
        Self { terms }
    }

    /// Reads the text form, as in `?fieldSelector=`; empty terms are skipped.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|p| !p.is_empty()) {
            let (field, negated, value) = split_term(part).ok_or_else(|| Error::NoOperator {
                selector: text.to_owned(),
                term: part.to_owned(),
            })?;
            terms.push(Term {
                field: field.to_owned(),
                value: unescape(value)?,
                negated,
            });
        }
        Ok(Self { terms })
    }

    /// Passes every term through `change`, which may rename it, drop it (`None`) or refuse it.
    pub fn map<E>(self, change: impl FnMut(Term) -> Result<Option<Term>, E>) -> Result<Self, E> {
        let terms = self
            .terms
            .into_iter()
            .map(change)
            .filter_map(Result::transpose);
        Ok(Self {
            terms: terms.collect::<Result<_, E>>()?,
        })
    }

    /// Whether the fields that `lookup` finds satisfy every term.
    pub fn matches<'a>(&self, lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
        let holds = |term: &Term| (lookup(&term.field).unwrap_or("") == term.value) != term.negated;
        self.terms.iter().all(holds)
    }

    /// Whether every object is selected.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms, sorted as text.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The value that `field` must have, if the selector pins it.
    pub fn exact(&self, field: &str) -> Option<&str> {
        let pin = self.terms.iter().find(|t| !t.negated && t.field == field)?;
        Some(&pin.value)
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            let operator = if term.negated { "!=" } else { "=" };
            write!(f, "{}{operator}{}", term.field, escape(&term.value))?;
        }
        Ok(())
    }
}

/// `value` with a backslash in front of `\`, `,` and `=`.
pub fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | ',' | '=') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn unescape(value: &str) -> Result<String, Error> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(Error::Escape(format!("\\{c}"))),
                None => return Err(Error::Escape("\\".into())),
            },
            ',' | '=' => return Err(Error::Unescaped(c)),
            c => out.push(c),
        }
    }
    Ok(out)
}

/// The parts between commas that have no backslash in front.
fn split_terms(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                out.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    out.push(&text[start..]);
    out
}

/// Field, whether the operator is `!=`, and the value as written, around the first operator.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.char_indices().map(|(i, _)| i).find(|&i| {
        let rest = &term[i..];
        rest.starts_with('=') || rest.starts_with("!=")
    })?;
    let (field, rest) = term.split_at(at);
    match rest.strip_prefix("!=") {
        Some(value) => Some((field, true, value)),
        None => {
            let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='));
            Some((field, false, value.unwrap_or_default()))
        }
    }
}

#[cfg(test)]
mod tests;
