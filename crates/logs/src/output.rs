//! Records as text: JSON, logfmt, pretty, raw, or a template.
//!
//! Everything is appended to one buffer that the caller writes out, so no record allocates.

use std::io::Write;
use std::sync::LazyLock;

use flotilla_loglevel::{
    Field, FieldValue, Level, Record, SEVERITY_MAX, SOURCES, Span, ansi_sequence_end, time,
};

use crate::entry::{Entry, PartOf, rfc3339};
use crate::json::{self, Purity};

/// How records are written.
#[derive(Clone, Debug)]
pub enum Output {
    /// One JSON object per record.
    Json,
    /// One line for people; `color` paints the level.
    Pretty {
        /// Whether to use colours.
        color: bool,
    },
    /// The record as it was.
    Raw,
    /// `time=… level=… msg=…` and the fields.
    Logfmt,
    /// Text with `{name}` for parts and fields; `{{` is a brace.
    Template(Template),
}

/// A parsed template.
#[derive(Clone, Debug)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Name(String),
}

/// A template with a brace that is never closed.
#[derive(Debug, thiserror::Error)]
#[error("template: the brace at column {column} is not closed")]
pub struct TemplateError {
    /// Counted from 1.
    pub column: usize,
}

impl Template {
    /// Reads a template such as `{ts} {level} {msg}`.
    ///
    /// # Errors
    /// [`TemplateError`] when a brace stays open.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(open) = rest.find('{') {
            plain.push_str(&rest[..open]);
            rest = &rest[open + 1..];
            if let Some(after) = rest.strip_prefix('{') {
                plain.push('{');
                rest = after;
                continue;
            }
            let close = rest.find('}').ok_or(TemplateError {
                column: text.len() - rest.len(),
            })?;
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Name(rest[..close].trim().to_owned()));
            rest = &rest[close + 1..];
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        Ok(Template(pieces))
    }
}

/// Appends one record, with its newline; raw parts of a line have none between them. `fields` names the fields to keep; empty keeps all.
pub fn write(entry: &Entry<'_>, output: &Output, fields: &[String], out: &mut Vec<u8>) {
    match output {
        Output::Json => json(entry, fields, out),
        Output::Raw => {
            out.extend_from_slice(entry.bytes);
            // The rest of the line follows.
            if entry.part.is_some_and(|part| !part.is_last) {
                return;
            }
        }
        Output::Pretty { color } => pretty(entry, *color, fields, out),
        Output::Logfmt => logfmt(entry, fields, out),
        Output::Template(template) => {
            for piece in &template.0 {
                match piece {
                    Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                    Piece::Name(name) => {
                        out.extend_from_slice(entry.text(name).unwrap_or_default().as_bytes())
                    }
                }
            }
        }
    }
    out.push(b'\n');
}

fn is_wanted(field: &Field<'_>, fields: &[String]) -> bool {
    fields.is_empty() || fields.iter().any(|wanted| wanted.as_bytes() == field.key)
}

// === JSON ===

/// Bytes that a record's JSON takes beside the record itself, about.
const FRAME_BYTES: usize = 512;

/// A record on its way to JSON, with what its first line can go into strings with.
struct Pen<'a> {
    bytes: &'a [u8],
    purity: Purity,
    /// Up to where `purity` holds.
    head_end: usize,
}

impl Pen<'_> {
    /// The inside of a string from a part of the record that may hold quotes.
    #[inline]
    fn part(&self, span: Span, out: &mut Vec<u8>) {
        let text = span.of(self.bytes);
        if self.purity.is_bare && span.end as usize <= self.head_end {
            out.extend_from_slice(text);
        } else {
            json::copy_escaped(text, out);
        }
    }

    /// The inside of a string from text without escapes.
    #[inline]
    fn text(&self, text: &[u8], is_head: bool, out: &mut Vec<u8>) {
        if self.purity.is_bare && is_head {
            out.extend_from_slice(text);
        } else {
            json::escape(text, out);
        }
    }

    /// The inside of a string from the inside of a quoted string.
    #[inline]
    fn quoted(&self, text: &[u8], is_head: bool, out: &mut Vec<u8>) {
        if self.purity.is_plain && is_head {
            out.extend_from_slice(text);
        } else {
            json::copy_escaped(text, out);
        }
    }
}

fn json(entry: &Entry<'_>, fields: &[String], out: &mut Vec<u8>) {
    let record = entry.record;
    let pen = Pen {
        bytes: entry.bytes,
        purity: json::purity(entry.head()),
        head_end: entry.head_end,
    };
    out.reserve(2 * entry.bytes.len() + FRAME_BYTES);
    out.push(b'{');
    moments(entry, out);
    out.extend_from_slice(level(record).as_bytes());
    out.extend_from_slice(record.format.name().as_bytes());
    out.push(b'"');
    part(b",\"level_raw\":\"", record.level_raw, &pen, out);
    if let Some(stream) = entry.stream {
        text(b",\"stream\":\"", stream.name(), out);
        out.push(b'"');
    }
    part(b",\"logger\":\"", record.logger, &pen, out);
    part(b",\"caller\":\"", record.caller, &pen, out);
    part(b",\"thread\":\"", record.thread, &pen, out);
    out.extend_from_slice(b",\"msg\":\"");
    let is_head = record.message.end as usize <= entry.head_end;
    if record.quoted {
        pen.quoted(entry.message(), is_head, out);
    } else {
        pen.text(entry.message(), is_head, out);
    }
    out.push(b'"');
    part(b",\"err\":\"", record.error, &pen, out);
    json_fields(entry, fields, &pen, out);
    if !entry.more().is_empty() {
        out.extend_from_slice(b",\"multiline\":\"");
        json::escape(entry.more(), out);
        out.push(b'"');
    }
    if let Some(part) = entry.part {
        part_of(&part, out);
    }
    out.push(b'}');
}

/// Members that say which part of its line a record is, with the names that Docker's log drivers gave them. Source: moby
/// `daemon/logger/fluentd`.
pub(crate) fn part_of(part: &PartOf, out: &mut Vec<u8>) {
    // Writing into memory does not fail.
    let _ = write!(
        out,
        ",\"partial_message\":true,\"partial_id\":\"{:016x}\",\"partial_ordinal\":{},\"partial_last\":{}",
        part.id, part.number, part.is_last
    );
}

/// `ts` and `observed_ts`, as far as they are known.
fn moments(entry: &Entry<'_>, out: &mut Vec<u8>) {
    let own = entry.record.timestamp.of(entry.bytes);
    let bare_is_utc = entry.observed.is_empty() && entry.context.zone_seconds == Some(0);
    if let Some(text) = time::utc_as_written(own, bare_is_utc) {
        out.extend_from_slice(b"\"ts\":\"");
        out.extend_from_slice(&text);
        out.extend_from_slice(b"\",");
    } else if let Some(moment) = entry.moment() {
        out.extend_from_slice(b"\"ts\":\"");
        time::write_rfc3339(moment, out);
        out.extend_from_slice(b"\",");
    }
    if entry.observed.is_empty() {
        return;
    }
    if let Some(text) = time::utc_as_written(entry.observed, false) {
        out.extend_from_slice(b"\"observed_ts\":\"");
        out.extend_from_slice(&text);
        out.extend_from_slice(b"\",");
    } else if let Some(moment) = entry.observed_moment() {
        out.extend_from_slice(b"\"observed_ts\":\"");
        time::write_rfc3339(moment, out);
        out.extend_from_slice(b"\",");
    }
}

/// Everything from `level` up to the name of the format, which differs by severity and source only.
fn level(record: &Record) -> &'static str {
    static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let mut texts = Vec::new();
        for severity in 0..=SEVERITY_MAX {
            let level = Level::of_severity(severity);
            let syslog = level
                .syslog()
                .map_or(String::new(), |syslog| format!(",\"syslog\":{syslog}"));
            for source in SOURCES {
                texts.push(format!(
                    "\"level\":\"{}\",\"severity_number\":{severity}{syslog},\"level_source\":\"{}\",\"format\":\"",
                    level.name(),
                    source.name()
                ));
            }
        }
        texts
    });
    let severity = usize::from(record.severity.min(SEVERITY_MAX));
    &TEXTS[severity * SOURCES.len() + record.source as usize]
}

#[inline]
fn text(key: &[u8], value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(key);
    out.extend_from_slice(value.as_bytes());
}

#[inline]
fn part(key: &[u8], span: Span, pen: &Pen<'_>, out: &mut Vec<u8>) {
    if !span.is_empty() {
        out.extend_from_slice(key);
        // Parts are short and may come from inside a quoted string, whose escapes are kept.
        pen.part(span, out);
        out.push(b'"');
    }
}

fn escaped(value: &[u8], quoted: bool, out: &mut Vec<u8>) {
    if quoted {
        json::copy_escaped(value, out);
    } else {
        json::escape(value, out);
    }
}

fn json_fields(entry: &Entry<'_>, wanted: &[String], pen: &Pen<'_>, out: &mut Vec<u8>) {
    if entry.record.rest.is_empty() {
        return;
    }
    let mut n_fields = 0;
    for field in entry.fields() {
        if !is_wanted(&field, wanted) {
            continue;
        }
        out.extend_from_slice(if n_fields == 0 {
            b",\"fields\":{\"".as_slice()
        } else {
            b",\""
        });
        n_fields += 1;
        // Keys have no quotes, or only escaped ones.
        pen.quoted(field.key, true, out);
        out.extend_from_slice(b"\":");
        match field.value {
            FieldValue::Json(value) if is_json(value) => out.extend_from_slice(value),
            FieldValue::Text(value) | FieldValue::Json(value) => {
                out.push(b'"');
                pen.text(value, true, out);
                out.push(b'"');
            }
            FieldValue::Escaped(value) => {
                out.push(b'"');
                pen.quoted(value, true, out);
                out.push(b'"');
            }
        }
    }
    if n_fields > 0 {
        out.push(b'}');
    }
}

/// Whether a value that was cut out of a JSON line can be copied. Short scalars are checked by hand, the rest parsed.
fn is_json(value: &[u8]) -> bool {
    matches!(value, b"true" | b"false" | b"null")
        || is_plain_number(value)
        || serde_json::from_slice::<&serde_json::value::RawValue>(value).is_ok()
}

/// Digits, perhaps with a fraction, and no leading zero: what most numbers of logs are.
fn is_plain_number(value: &[u8]) -> bool {
    let digits = value
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let whole = digits > 0 && (digits == 1 || value[0] != b'0');
    let fraction = value.get(digits..).unwrap_or(&[]);
    whole
        && (fraction.is_empty()
            || fraction.len() > 1
                && fraction[0] == b'.'
                && fraction[1..].iter().all(u8::is_ascii_digit))
}

// === logfmt and pretty ===

fn logfmt(entry: &Entry<'_>, fields: &[String], out: &mut Vec<u8>) {
    let record = entry.record;
    if let Some(moment) = entry.moment() {
        out.extend_from_slice(b"time=");
        time::write_rfc3339(moment, out);
        out.push(b' ');
    }
    text(b"level=", record.level.name(), out);
    for (key, span) in [("logger", record.logger), ("caller", record.caller)] {
        if !span.is_empty() {
            pair(key.as_bytes(), FieldValue::Text(span.of(entry.bytes)), out);
        }
    }
    let message = entry.message();
    pair(
        b"msg",
        if record.quoted {
            FieldValue::Escaped(message)
        } else {
            FieldValue::Text(message)
        },
        out,
    );
    if !record.error.is_empty() {
        pair(
            b"err",
            FieldValue::Escaped(record.error.of(entry.bytes)),
            out,
        );
    }
    for field in entry.fields().filter(|field| is_wanted(field, fields)) {
        pair(field.key, field.value, out);
    }
    if !entry.more().is_empty() {
        pair(b"multiline", FieldValue::Text(entry.more()), out);
    }
}

fn pair(key: &[u8], value: FieldValue<'_>, out: &mut Vec<u8>) {
    out.push(b' ');
    out.extend(key.iter().map(|byte| {
        if matches!(byte, b' ' | b'=' | b'"') {
            b'_'
        } else {
            *byte
        }
    }));
    out.push(b'=');
    let (text, escaped) = match value {
        FieldValue::Text(text) | FieldValue::Json(text) => (text, false),
        FieldValue::Escaped(text) => (text, true),
    };
    let bare = !text.is_empty()
        && text
            .iter()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'=' | b'\\'));
    if bare {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    self::escaped(text, escaped, out);
    out.push(b'"');
}

fn pretty(entry: &Entry<'_>, color: bool, fields: &[String], out: &mut Vec<u8>) {
    let record = entry.record;
    if let Some(moment) = entry.moment() {
        let text = rfc3339(moment);
        dim(color, &text.as_bytes()[11..23], out);
        out.push(b' ');
    }
    let (paint, word) = badge(record.level);
    if color {
        out.extend_from_slice(paint);
    }
    out.extend_from_slice(word);
    if color {
        out.extend_from_slice(b"\x1b[0m");
    }
    out.push(b' ');
    if !record.logger.is_empty() {
        dim(color, record.logger.of(entry.bytes), out);
        out.extend_from_slice(b": ");
    }
    let mut message = Vec::new();
    if record.quoted {
        json::unescape(entry.message(), &mut message);
    } else {
        message.extend_from_slice(entry.message());
    }
    without_control(&message, out);
    if !record.error.is_empty() {
        pair(
            b"err",
            FieldValue::Escaped(record.error.of(entry.bytes)),
            out,
        );
    }
    for field in entry.fields().filter(|field| is_wanted(field, fields)) {
        pair(field.key, field.value, out);
    }
    if !record.caller.is_empty() {
        out.push(b' ');
        dim(color, record.caller.of(entry.bytes), out);
    }
    for line in entry
        .more()
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        out.extend_from_slice(b"\n    ");
        without_control(line, out);
    }
}

/// Colour and name of a level, five letters wide.
fn badge(level: Level) -> (&'static [u8], &'static [u8]) {
    match level {
        Level::Unknown => (b"\x1b[2m", b"-----"),
        Level::Trace => (b"\x1b[2m", b"TRACE"),
        Level::Debug => (b"\x1b[36m", b"DEBUG"),
        Level::Info => (b"\x1b[32m", b"INFO "),
        Level::Notice => (b"\x1b[32;1m", b"NOTE "),
        Level::Warn => (b"\x1b[33m", b"WARN "),
        Level::Error => (b"\x1b[31m", b"ERROR"),
        Level::Critical => (b"\x1b[31;1m", b"CRIT "),
        Level::Alert => (b"\x1b[31;1m", b"ALERT"),
        Level::Emergency => (b"\x1b[31;1;7m", b"EMERG"),
    }
}

fn dim(color: bool, text: &[u8], out: &mut Vec<u8>) {
    if color {
        out.extend_from_slice(b"\x1b[2m");
    }
    out.extend_from_slice(text);
    if color {
        out.extend_from_slice(b"\x1b[0m");
    }
}

/// Text for a terminal: a log line must not move somebody's cursor. Escape sequences are dropped, other control bytes
/// become spaces.
fn without_control(text: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while at < text.len() {
        if let Some(end) = ansi_sequence_end(text, at) {
            at = end;
            continue;
        }
        out.push(
            if text[at] < 0x20 && text[at] != b'\t' || text[at] == 0x7f {
                b' '
            } else {
                text[at]
            },
        );
        at += 1;
    }
}

#[cfg(test)]
mod tests;
