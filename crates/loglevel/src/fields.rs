//! The fields of a line beyond what the record already names, parsed one at a time as they are asked for.

use crate::Notes;
use crate::json::Members;
use crate::logfmt;
use crate::notes::{Form, Noted};
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
    known: Known,
    kind: Walk<'a>,
}

#[derive(Clone, Debug)]
enum Walk<'a> {
    Json(Members<'a>),
    Pairs(usize),
    Noted(std::slice::Iter<'a, Noted>),
    None,
}

/// Where the values stand that the record names, so that they are neither shown twice nor read again.
#[derive(Clone, Debug)]
struct Known([Span; KNOWN]);

/// Level, timestamp, logger, caller, thread, message and error.
const KNOWN: usize = 7;

impl Known {
    fn of(record: &Record) -> Known {
        let spans = [
            record.level_raw,
            record.timestamp,
            record.logger,
            record.caller,
            record.thread,
            record.message,
            record.error,
        ];
        // An absent part must not be found at any place.
        Known(spans.map(|span| {
            if span.is_empty() {
                Span {
                    start: u32::MAX,
                    end: 0,
                }
            } else {
                span
            }
        }))
    }

    /// The end of the known value that begins at `start`.
    #[inline(always)]
    fn end_of(&self, start: usize) -> Option<usize> {
        let found = self.0.iter().find(|span| span.start as usize == start)?;
        Some(found.end as usize)
    }

    /// Whether this is a known value. No early end: seven comparisons without a branch are cheaper than one that is
    /// guessed wrongly.
    #[inline(always)]
    fn has(&self, value: Span) -> bool {
        self.0
            .iter()
            .fold(false, |has, span| has | (*span == value))
    }

    /// The end of the pair of this key, when its value is known and ends like one.
    #[inline(always)]
    fn pair_end(&self, line: &[u8], key: Span) -> Option<usize> {
        let value = key.end as usize + 1;
        let quoted = line.get(value) == Some(&b'"');
        let end = self.end_of(value + usize::from(quoted))?;
        match line.get(end) {
            Some(b'"') if quoted => Some(end + 1),
            None | Some(b' ' | b'\t') if !quoted => Some(end),
            _ => None,
        }
    }
}

impl<'a> Fields<'a> {
    pub(crate) fn of(record: &Record, line: &'a [u8], notes: Option<&'a Notes>) -> Fields<'a> {
        let line = line.get(..record.rest.end as usize).unwrap_or(&[]);
        let start = record.rest.start as usize;
        let kind = match line.get(start) {
            _ if let Some(pairs) = notes.and_then(Notes::pairs) => Walk::Noted(pairs.iter()),
            Some(b'{') => Walk::Json(Members::new(line, start)),
            Some(_) if record.message == record.rest => Walk::Pairs(message_end(line, start)),
            Some(_) => Walk::Pairs(start),
            None => Walk::None,
        };
        Fields {
            line,
            known: Known::of(record),
            kind,
        }
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
            let noted = match &mut self.kind {
                Walk::None => return None,
                Walk::Noted(pairs) => *pairs.next()?,
                Walk::Json(members) => {
                    let key = members.key()?;
                    let known = self.known.end_of(members.value_start());
                    if known.is_some_and(|end| members.step_over(end)) {
                        continue;
                    }
                    members.value()?.noted(key)
                }
                Walk::Pairs(at) => {
                    let key = logfmt::next_key(self.line, *at)?;
                    if let Some(next) = self.known.pair_end(self.line, key) {
                        *at = next;
                        continue;
                    }
                    let pair = logfmt::pair_of(self.line, key);
                    *at = pair.next;
                    pair.noted()
                }
            };
            if !self.known.has(noted.value) {
                let text = noted.value.of(self.line);
                return Some(Field {
                    key: noted.key.of(self.line),
                    value: match noted.form {
                        Form::Text => FieldValue::Text(text),
                        Form::Escaped => FieldValue::Escaped(text),
                        Form::Json => FieldValue::Json(text),
                        Form::Absent => FieldValue::Json(b"true"),
                    },
                });
            }
        }
    }
}

#[cfg(test)]
mod tests;
