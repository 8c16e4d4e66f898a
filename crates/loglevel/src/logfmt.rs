//! `key=value` lines: logrus, slog's text handler, go-kit, Grafana, log15 and everything that imitates them.
//!
//! Quotes are honoured, so `level=` inside a message is never a level. The first of two equal keys wins. A key without
//! `=` is allowed (its value is `true`), but a line counts as logfmt only when pairs stand at its head: prose that
//! happens to contain an `=` stays prose.

use crate::Format;
use crate::level;
use crate::record::{Record, Source, Span};
use crate::scan::{closing_quote, skip_blanks};

/// One pair, as byte positions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) key: Span,
    /// Without quotes.
    pub(crate) value: Span,
    pub(crate) quoted: bool,
    /// The key stands alone, without `=`.
    pub(crate) bare: bool,
    /// Where to look for the next pair.
    pub(crate) next: usize,
}

/// Longest key; longer runs of letters are not keys.
const KEY_BYTES_MAX: usize = 128;

/// The pair at `at`, after blanks. `None` at the end of the line and where no key can begin.
#[inline]
pub(crate) fn pair(line: &[u8], at: usize) -> Option<Pair> {
    let start = skip_blanks(line, at);
    let mut end = start;
    while let Some(byte) = line.get(end) {
        if matches!(byte, b'=' | b' ' | b'\t' | b'"') {
            break;
        }
        end += 1;
    }
    if end == start || end - start > KEY_BYTES_MAX {
        return None;
    }
    let key = Span::new(start, end);
    if line.get(end) != Some(&b'=') {
        return Some(Pair {
            key,
            value: Span::default(),
            quoted: false,
            bare: true,
            next: end.max(start + 1),
        });
    }
    let value = end + 1;
    if line.get(value) == Some(&b'"')
        && let Some(close) = closing_quote(line, value + 1)
    {
        return Some(Pair {
            key,
            value: Span::new(value + 1, close),
            quoted: true,
            bare: false,
            next: close + 1,
        });
    }
    let mut close = value;
    while let Some(byte) = line.get(close) {
        if matches!(byte, b' ' | b'\t') {
            break;
        }
        close += 1;
    }
    Some(Pair {
        key,
        value: Span::new(value, close),
        quoted: false,
        bare: false,
        next: close,
    })
}

/// All pairs from `at`; what is not a pair (a lone quoted string) is stepped over.
pub(crate) fn pairs(line: &[u8], at: usize) -> impl Iterator<Item = Pair> + '_ {
    let mut at = at;
    std::iter::from_fn(move || {
        loop {
            at = skip_blanks(line, at);
            if at >= line.len() {
                return None;
            }
            if let Some(pair) = pair(line, at) {
                at = pair.next;
                return Some(pair);
            }
            at = match line[at] {
                b'"' => closing_quote(line, at + 1).map_or(line.len(), |close| close + 1),
                _ => line[at..]
                    .iter()
                    .position(|byte| *byte == b' ')
                    .map_or(line.len(), |found| at + found),
            };
            at += usize::from(line.get(at) == Some(&b'='));
        }
    })
}

/// Whether pairs stand at the head of the text from `at`: a plausible first key, and two pairs among the first four
/// tokens unless the line holds a single pair.
fn begins_with_pairs(line: &[u8], at: usize) -> bool {
    let mut n_pairs = 0;
    let mut n_tokens = 0;
    for pair in pairs(line, at).take(4) {
        n_tokens += 1;
        let key = pair.key.of(line);
        let plausible = key.iter().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'@' | b'/')
        });
        if !pair.bare && plausible {
            n_pairs += 1;
        } else if n_tokens == 1 {
            return false;
        }
        if n_pairs == 2 {
            return true;
        }
    }
    n_pairs == 1 && n_tokens == 1
}

/// The record of a line whose pairs begin at `at`.
pub(crate) fn classify(line: &[u8], at: usize) -> Option<Record> {
    if !begins_with_pairs(line, at) {
        return None;
    }
    let mut record = Record {
        confidence: 90,
        rest: Span::new(at, line.len()),
        ..Record::default()
    };
    let mut seen = Seen::default();
    for pair in pairs(line, at) {
        assign(line, &pair, &mut record, &mut seen);
    }
    record.format = seen.format(line, &record);
    Some(record)
}

/// Which spellings of the common keys a line used; enough to tell the loggers apart.
#[derive(Default)]
struct Seen {
    time: bool,
    time_quoted: bool,
    ts: bool,
    t: bool,
    level: bool,
    lvl: bool,
    msg: bool,
    logger_first: bool,
    caller: bool,
}

impl Seen {
    fn format(&self, line: &[u8], record: &Record) -> Format {
        let capital = record
            .level_raw
            .of(line)
            .first()
            .is_some_and(u8::is_ascii_uppercase);
        if self.t && self.lvl {
            Format::Log15
        } else if self.t && self.logger_first {
            Format::Grafana
        } else if self.time && self.level && self.msg {
            if capital && !self.time_quoted {
                Format::SlogText
            } else {
                Format::LogrusText
            }
        } else if self.ts && self.level && (self.caller || self.msg) {
            Format::GoKit
        } else if self.level && self.msg && !capital && !self.ts && !self.t {
            Format::LogrusText
        } else {
            Format::Logfmt
        }
    }
}

fn assign(line: &[u8], pair: &Pair, record: &mut Record, seen: &mut Seen) {
    if pair.bare {
        return;
    }
    let value = pair.value;
    let first = |slot: &mut Span| {
        if slot.is_empty() {
            *slot = value;
        }
    };
    match pair.key.of(line) {
        b"level" => {
            seen.level = true;
            set_level(line, pair, record);
        }
        b"lvl" => {
            seen.lvl = true;
            set_level(line, pair, record);
        }
        b"severity" | b"loglevel" | b"log.level" | b"log_level" | b"levelname"
        | b"severity_text" | b"@level" => {
            set_level(line, pair, record);
        }
        b"time" => {
            seen.time = true;
            seen.time_quoted = pair.quoted;
            first(&mut record.timestamp);
        }
        b"ts" => {
            seen.ts = true;
            first(&mut record.timestamp);
        }
        b"t" => {
            seen.t = true;
            first(&mut record.timestamp);
        }
        b"timestamp" | b"@timestamp" => first(&mut record.timestamp),
        b"msg" | b"message" | b"event" => {
            seen.msg = true;
            if record.message.is_empty() {
                record.message = value;
                record.quoted = pair.quoted;
            }
        }
        b"logger" => {
            seen.logger_first |= pair.key.start == record.rest.start;
            first(&mut record.logger);
        }
        b"caller" | b"source" => {
            seen.caller = true;
            first(&mut record.caller);
        }
        b"err" | b"error" => first(&mut record.error),
        _ => {}
    }
}

fn set_level(line: &[u8], pair: &Pair, record: &mut Record) {
    if record.severity == 0 {
        record.set(
            level::value(pair.value.of(line)),
            Source::Logfmt,
            pair.value,
        );
    }
}
