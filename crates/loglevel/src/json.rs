//! JSON objects, scanned once without building anything.
//!
//! The scan walks the top-level keys and remembers where the interesting values stand and which key carries the level.
//! A line cut short is read as far as it goes. Nested objects are entered
//! only under the few keys where a logger puts a level, a time or a message (`log.level`, `syslog.severity`, loguru's
//! `record`, tracing's `fields`, MongoDB's `t`), never deeper: a `level` inside somebody's payload is not the line's.

mod keys;
mod marks;
mod shape;

use crate::level;
use crate::notes::{Form, Note, Noted};
use crate::record::{Record, Source, Span};
use crate::scan;
use keys::{Key, key};
use marks::Marks;
use shape::Shape;

/// A JSON value by its first byte; `span` is without quotes for strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) span: Span,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Number,
    Literal,
    Object,
    Array,
}

impl Value {
    /// The member with this key.
    #[inline(always)]
    pub(crate) fn noted(self, key: Span) -> Noted {
        let form = match self.kind {
            Kind::String => Form::Escaped,
            _ => Form::Json,
        };
        Noted {
            key,
            value: self.span,
            form,
        }
    }
}

/// A cursor over the members of one object.
#[derive(Clone, Debug)]
pub(crate) struct Members<'a> {
    line: &'a [u8],
    marks: Marks<'a>,
    at: usize,
    /// The object was closed properly.
    pub(crate) closed: bool,
}

impl<'a> Members<'a> {
    /// The members of the object whose `{` is at `at`.
    #[inline(always)]
    pub(crate) fn new(line: &'a [u8], at: usize) -> Members<'a> {
        Members {
            line,
            marks: Marks::new(line, at),
            at: at + 1,
            closed: false,
        }
    }

    #[inline(always)]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.line.get(self.at) {
            self.at += 1;
        }
    }

    /// The next key and value; `None` at the closing brace or where the text stops being JSON.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(Span, Value)> {
        Some((self.key()?, self.value()?))
    }

    /// The next key; afterwards its value must be read or stepped over.
    #[inline(always)]
    pub(crate) fn key(&mut self) -> Option<Span> {
        self.skip_space();
        if self.line.get(self.at) == Some(&b',') {
            self.at += 1;
            self.skip_space();
        }
        if *self.line.get(self.at)? != b'"' {
            self.closed = self.line[self.at] == b'}';
            self.at += usize::from(self.closed);
            return None;
        }
        let start = self.at + 1;
        let end = self.marks.quote(start)?;
        self.at = end + 1;
        self.skip_space();
        if *self.line.get(self.at)? != b':' {
            return None;
        }
        self.at += 1;
        self.skip_space();
        Some(Span::new(start, end))
    }

    /// Where the value begins that follows the key just read, behind its quote.
    #[inline(always)]
    pub(crate) fn value_start(&self) -> usize {
        self.at + usize::from(self.line.get(self.at) == Some(&b'"'))
    }

    /// Steps over the value just ahead, whose last byte stands before `end`; `false` when no value can end there.
    #[inline(always)]
    pub(crate) fn step_over(&mut self, end: usize) -> bool {
        let is_string = self.line.get(self.at) == Some(&b'"');
        let ends = match self.line.get(end) {
            Some(b'"') => is_string,
            Some(b',' | b'}' | b' ') => !is_string,
            _ => false,
        };
        if ends {
            self.at = end + usize::from(is_string);
        }
        ends
    }

    /// The value that follows the key just read.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> Option<Value> {
        let start = self.at;
        let kind = match *self.line.get(start)? {
            b'"' => {
                let end = self.marks.quote(start + 1);
                self.at = end.map_or(self.line.len(), |end| end + 1);
                let span = Span::new(start + 1, end.unwrap_or(self.line.len()));
                return Some(Value {
                    span,
                    kind: Kind::String,
                });
            }
            b'{' => {
                self.skip_nested();
                Kind::Object
            }
            b'[' => {
                self.skip_nested();
                Kind::Array
            }
            b'-' | b'0'..=b'9' => {
                self.skip_scalar();
                Kind::Number
            }
            b't' | b'f' | b'n' => {
                self.skip_scalar();
                Kind::Literal
            }
            _ => return None,
        };
        Some(Value {
            span: Span::new(start, self.at),
            kind,
        })
    }

    #[inline(always)]
    fn skip_scalar(&mut self) {
        self.at = scan::scalar_end(self.line, self.at);
    }

    /// Steps over an object or array of any depth, by counting; strings are stepped over whole.
    fn skip_nested(&mut self) {
        let mut depth = 0usize;
        while let Some(byte) = self.line.get(self.at) {
            self.at += 1;
            match NESTING[usize::from(*byte)] {
                0 => {}
                QUOTE => {
                    let close = self.marks.quote(self.at);
                    self.at = close.map_or(self.line.len(), |close| close + 1);
                }
                OPEN => depth += 1,
                _ => {
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
            }
        }
    }
}

const QUOTE: u8 = 1;
const OPEN: u8 = 2;
const CLOSE: u8 = 3;

/// What a byte means to whoever steps over nested values; 0 for most.
static NESTING: [u8; 256] = {
    let mut table = [0; 256];
    table[b'"' as usize] = QUOTE;
    table[b'{' as usize] = OPEN;
    table[b'[' as usize] = OPEN;
    table[b'}' as usize] = CLOSE;
    table[b']' as usize] = CLOSE;
    table
};

/// The level found so far: the rank of its key (lower is better) and what it says.
struct Best {
    rank: u8,
    severity: u8,
    raw: Span,
    numeric: bool,
}

/// No key carried a level.
const NO_RANK: u8 = u8::MAX;

/// The record of a line that begins with `{`.
pub(crate) fn classify<N: Note>(line: &[u8], notes: &mut N) -> Option<Record> {
    let mut members = Members::new(line, 0);
    let mut record = Record {
        rest: Span::new(0, line.len()),
        ..Record::default()
    };
    let mut best = Best {
        rank: NO_RANK,
        severity: 0,
        raw: Span::default(),
        numeric: false,
    };
    let mut shape = Shape::default();
    let mut n_members = 0;
    while let Some((name, value)) = members.next() {
        n_members += 1;
        notes.note(value.noted(name));
        let key = key(name.of(line));
        if key == Key::Other {
            continue;
        }
        shape.see(key, value.kind);
        assign(line, (name, key), value, &mut record, &mut best, &mut shape);
    }
    if n_members == 0 && !members.closed {
        return None;
    }
    record.set(best.severity, Source::JsonKey, best.raw);
    shape.finish(line, best.numeric, &mut record);
    Some(record)
}

fn assign(
    line: &[u8],
    (name, key): (Span, Key),
    value: Value,
    record: &mut Record,
    best: &mut Best,
    shape: &mut Shape,
) {
    match key {
        Key::Level(rank) => consider(line, rank, value, best),
        Key::Time => {
            if record.timestamp.is_empty() {
                shape.time = name;
                record.timestamp = match value.kind {
                    Kind::Object => {
                        nested(line, value, b"$date").map_or(Span::default(), |date| date.span)
                    }
                    _ => value.span,
                };
            }
        }
        Key::Message => set_message(name, value, record, shape),
        Key::Logger => set_logger(name, value, record, shape),
        Key::Caller => first(&mut record.caller, value),
        Key::Thread => first(&mut record.thread, value),
        Key::Error => first(&mut record.error, value),
        Key::Nested => enter(line, value, record, best, shape),
        Key::V | Key::Pid | Key::Hostname | Key::Target | Key::Version | Key::Other => {}
    }
}

fn first(slot: &mut Span, value: Value) {
    if slot.is_empty() {
        *slot = value.span;
    }
}

fn set_logger(name: Span, value: Value, record: &mut Record, shape: &mut Shape) {
    if record.logger.is_empty() {
        record.logger = value.span;
        shape.logger = name;
    }
}

fn set_message(name: Span, value: Value, record: &mut Record, shape: &mut Shape) {
    if record.message.is_empty() && value.kind != Kind::Object {
        record.message = value.span;
        record.quoted = value.kind == Kind::String;
        shape.message = name;
    }
}

/// Takes the value as level when its key ranks higher than what we have.
fn consider(line: &[u8], rank: u8, value: Value, best: &mut Best) {
    if rank >= best.rank {
        return;
    }
    let text = value.span.of(line);
    let (severity, raw) = match value.kind {
        Kind::String => (keys::string_severity(rank, text), value.span),
        Kind::Number => (keys::number_severity(rank, text), value.span),
        // loguru: {"level": {"icon": "…", "name": "INFO", "no": 20}}
        Kind::Object => match nested(line, value, b"name") {
            Some(name) => (level::value(name.span.of(line)), name.span),
            None => (0, value.span),
        },
        Kind::Literal | Kind::Array => (0, value.span),
    };
    if severity != 0 {
        *best = Best {
            rank,
            severity,
            raw,
            numeric: value.kind == Kind::Number,
        };
    }
}

/// The member `name` of an object.
fn nested(line: &[u8], object: Value, name: &[u8]) -> Option<Value> {
    let mut members = Members::new(line, object.span.start as usize);
    while let Some((key, value)) = members.next() {
        if key.of(line) == name {
            return Some(value);
        }
    }
    None
}

/// Reads the second level under `log`, `syslog`, `record` and `fields`.
fn enter(line: &[u8], object: Value, record: &mut Record, best: &mut Best, shape: &mut Shape) {
    if object.kind != Kind::Object {
        return;
    }
    let mut members = Members::new(line, object.span.start as usize);
    while let Some((name, value)) = members.next() {
        match name.of(line) {
            b"level" => {
                shape.nested_level = true;
                consider(line, keys::NESTED_RANK, value, best);
            }
            b"severity" => consider(line, keys::SYSLOG_RANK, value, best),
            b"message" => set_message(name, value, record, shape),
            b"logger" | b"name" => set_logger(name, value, record, shape),
            _ => {}
        }
    }
}
