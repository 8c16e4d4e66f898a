//! The fields of a line beyond what the record already names, parsed one at a time as they are asked for.

use crate::json::{Kind, Members};
use crate::logfmt;
use crate::record::{Record, Span};
use crate::scan::{closing_quote, skip_blanks};

/// A field's value as it stands in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// Text without escapes.
    Text(&'a [u8]),
    /// The inside of a quoted string, with JSON-style escapes left in.
    Escaped(&'a [u8]),
    /// Any other JSON value, as written.
    Json(&'a [u8]),
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The key; inside JSON its escapes are left in.
    pub key: &'a [u8],
    /// The value.
    pub value: FieldValue<'a>,
}

/// Iterator over the fields of one line; see [`Record::fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    line: &'a [u8],
    known: [Span; 7],
    kind: Walk<'a>,
}

#[derive(Clone, Debug)]
enum Walk<'a> {
    Json(Members<'a>),
    Pairs(usize),
    None,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(record: &Record, line: &'a [u8]) -> Fields<'a> {
        let line = line.get(..record.rest.end as usize).unwrap_or(&[]);
        let start = record.rest.start as usize;
        let kind = match line.get(start) {
            Some(b'{') => Walk::Json(Members::new(line, start)),
            Some(_) if record.message == record.rest => Walk::Pairs(message_end(line, start)),
            Some(_) => Walk::Pairs(start),
            None => Walk::None,
        };
        let known = [
            record.level_raw,
            record.timestamp,
            record.logger,
            record.caller,
            record.thread,
            record.message,
            record.error,
        ];
        Fields { line, known, kind }
    }

    fn is_known(&self, value: Span) -> bool {
        !value.is_empty() && self.known.contains(&value)
    }
}

/// Where the pairs begin that a console writer puts behind free text: the first word from which on everything is pairs
/// is not worth finding, so it is the first word with a plausible key and an `=`.
fn message_end(line: &[u8], at: usize) -> usize {
    let mut start = at;
    while start < line.len() {
        if logfmt::pair(line, start).is_some_and(|pair| !pair.bare && is_key(pair.key.of(line))) {
            return start;
        }
        start = match line[start] {
            b'"' => closing_quote(line, start + 1).map_or(line.len(), |close| close + 1),
            _ => crate::scan::word_end(line, start),
        };
        start = skip_blanks(line, start);
    }
    start
}

fn is_key(key: &[u8]) -> bool {
    key.first().is_some_and(u8::is_ascii_alphabetic)
        && key
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        loop {
            let (key, span, value) = match &mut self.kind {
                Walk::None => return None,
                Walk::Json(members) => {
                    let (key, value) = members.next()?;
                    let text = value.span.of(self.line);
                    let field = match value.kind {
                        Kind::String => FieldValue::Escaped(text),
                        _ => FieldValue::Json(text),
                    };
                    (key, value.span, field)
                }
                Walk::Pairs(at) => {
                    let pair = next_pair(self.line, at)?;
                    let text = pair.value.of(self.line);
                    let field = match (pair.bare, pair.quoted) {
                        (true, _) => FieldValue::Json(b"true"),
                        (false, true) => FieldValue::Escaped(text),
                        (false, false) => FieldValue::Text(text),
                    };
                    (pair.key, pair.value, field)
                }
            };
            if !self.is_known(span) {
                return Some(Field {
                    key: key.of(self.line),
                    value,
                });
            }
        }
    }
}

fn next_pair(line: &[u8], at: &mut usize) -> Option<logfmt::Pair> {
    let mut pairs = logfmt::pairs(line, *at);
    let pair = pairs.next()?;
    *at = pair.next;
    Some(pair)
}

#[cfg(test)]
mod tests;
