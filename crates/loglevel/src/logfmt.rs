//! `key=value` lines: logrus, slog's text handler, go-kit, Grafana, log15 and everything that imitates them.
//!
//! Quotes are honoured, so `level=` inside a message is never a level. The first of two equal keys wins. A key without
//! `=` is allowed (its value is `true`), but a line counts as logfmt only when pairs stand at its head: prose that
//! happens to contain an `=` stays prose.

use crate::Format;
use crate::level;
use crate::notes::{Form, Note, Noted};
use crate::record::{Record, Source, Span};
use crate::scan::{closing_quote, key_end, skip_blanks, word_end};

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

impl Pair {
    #[inline(always)]
    pub(crate) fn noted(&self) -> Noted {
        let form = match (self.bare, self.quoted) {
            (true, _) => Form::Absent,
            (false, true) => Form::Escaped,
            (false, false) => Form::Text,
        };
        Noted {
            key: self.key,
            value: self.value,
            form,
        }
    }
}

/// Longest key; longer runs of letters are not keys.
const KEY_BYTES_MAX: usize = 128;

/// The key at `at`, after blanks. `None` at the end of the line and where no key can begin.
#[inline(always)]
pub(crate) fn key(line: &[u8], at: usize) -> Option<Span> {
    let start = skip_blanks(line, at);
    let end = key_end(line, start);
    (end > start && end - start <= KEY_BYTES_MAX).then(|| Span::new(start, end))
}

/// The pair of a key.
#[inline(always)]
pub(crate) fn pair_of(line: &[u8], key: Span) -> Pair {
    let end = key.end as usize;
    if line.get(end) != Some(&b'=') {
        return Pair {
            key,
            value: Span::default(),
            quoted: false,
            bare: true,
            next: end,
        };
    }
    let value = end + 1;
    if line.get(value) == Some(&b'"')
        && let Some(close) = closing_quote(line, value + 1)
    {
        return Pair {
            key,
            value: Span::new(value + 1, close),
            quoted: true,
            bare: false,
            next: close + 1,
        };
    }
    let close = word_end(line, value);
    Pair {
        key,
        value: Span::new(value, close),
        quoted: false,
        bare: false,
        next: close,
    }
}

/// The pair at `at`, after blanks. `None` at the end of the line and where no key can begin.
#[inline]
pub(crate) fn pair(line: &[u8], at: usize) -> Option<Pair> {
    Some(pair_of(line, key(line, at)?))
}

/// The next key at or after `at`; what is not a pair (a lone quoted string) is stepped over.
#[inline]
pub(crate) fn next_key(line: &[u8], mut at: usize) -> Option<Span> {
    loop {
        if let Some(key) = key(line, at) {
            return Some(key);
        }
        at = skip_blanks(line, at);
        at = match *line.get(at)? {
            b'"' => closing_quote(line, at + 1).map_or(line.len(), |close| close + 1),
            _ => memchr::memchr(b' ', &line[at..]).map_or(line.len(), |found| at + found),
        };
        at += usize::from(line.get(at) == Some(&b'='));
    }
}

/// Tokens at the head among which two pairs must stand.
const HEAD_TOKENS: u32 = 4;

/// Counts what stands at the head of the text, to tell pairs from prose.
#[derive(Default)]
struct Opening {
    n_tokens: u32,
    n_pairs: u32,
}

impl Opening {
    /// Looks at the next token; `false` once the text cannot be logfmt any more: it must begin with a plausible key, and
    /// have two pairs among its first tokens.
    #[inline]
    fn goes_on(&mut self, line: &[u8], pair: &Pair) -> bool {
        if self.n_pairs >= 2 {
            return true;
        }
        self.n_tokens += 1;
        self.n_pairs += u32::from(!pair.bare && is_plausible(pair.key.of(line)));
        self.n_pairs >= 2 || self.n_pairs == 1 && self.n_tokens < HEAD_TOKENS
    }

    /// Whether the text was logfmt: two pairs, or a single one and nothing else.
    fn is_logfmt(&self) -> bool {
        self.n_pairs >= 2 || self.n_pairs == 1 && self.n_tokens == 1
    }
}

fn is_plausible(key: &[u8]) -> bool {
    key.iter().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'@' | b'/')
    })
}

/// The record of a line whose pairs begin at `at`.
pub(crate) fn classify<N: Note>(line: &[u8], at: usize, notes: &mut N) -> Option<Record> {
    let mut record = Record {
        confidence: 90,
        rest: Span::new(at, line.len()),
        ..Record::default()
    };
    let (mut opening, mut seen) = (Opening::default(), Seen::default());
    let mut next = at;
    while let Some(key) = next_key(line, next) {
        let pair = pair_of(line, key);
        next = pair.next;
        if !opening.goes_on(line, &pair) {
            return None;
        }
        notes.note(pair.noted());
        assign(line, &pair, &mut record, &mut seen);
    }
    if !opening.is_logfmt() {
        return None;
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

#[inline(always)]
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
