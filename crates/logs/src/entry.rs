//! One record as the outputs see it.

use std::borrow::Cow;

use flotilla_loglevel::cri::Stream;
use flotilla_loglevel::time::{self, Context, Nanos};
use flotilla_loglevel::{FieldValue, Fields, Level, Notes, Record};

use crate::json;

/// One record: its bytes, what they say, and what the surroundings know about them.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// All lines, without the last newline.
    pub bytes: &'a [u8],
    /// What the record says; its spans point into `bytes`.
    pub record: &'a Record,
    /// Where the first line of the record ends.
    pub head_end: usize,
    /// When the container runtime read it, as the runtime wrote it; empty without a runtime.
    pub observed: &'a [u8],
    /// Which output it came from, where that is known.
    pub stream: Option<Stream>,
    /// What to assume for timestamps that lack a year or a zone.
    pub context: Context,
    /// Which part of its line the record is, when the line is longer than a record may be.
    pub part: Option<PartOf>,
    /// The pairs of the first line, where the stream keeps them.
    pub notes: Option<&'a Notes>,
}

/// A part of a line. Whoever wants the line puts the parts of one id together, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartOf {
    /// The same for all parts of a line, also when they are read again.
    pub id: u64,
    /// Counted from 1.
    pub number: u32,
    /// No more parts follow.
    pub is_last: bool,
}

impl<'a> Entry<'a> {
    /// The first line.
    pub fn head(&self) -> &'a [u8] {
        &self.bytes[..self.head_end]
    }

    /// The message as written, possibly with escapes (see `record.quoted`).
    pub fn message(&self) -> &'a [u8] {
        self.record.message.of(self.bytes)
    }

    /// The fields of the first line beyond what the record names.
    pub fn fields(&self) -> Fields<'a> {
        match self.notes {
            Some(notes) => self.record.fields_noted(self.head(), notes),
            None => self.record.fields(self.head()),
        }
    }

    /// The lines after the one with the message.
    pub fn more(&self) -> &'a [u8] {
        let message_end = (self.record.message.end as usize).max(self.head_end);
        self.bytes.get(message_end + 1..).unwrap_or(&[])
    }

    /// The moment of the record: its own timestamp, else the runtime's.
    pub fn moment(&self) -> Option<Nanos> {
        self.moments().0
    }

    /// The moment of the record and when the runtime read it.
    pub fn moments(&self) -> (Option<Nanos>, Option<Nanos>) {
        let observed = self.observed_moment();
        let context = match observed {
            Some(_) => Context {
                observed,
                zone_seconds: None,
            },
            None => self.context,
        };
        let own = time::parse(self.record.timestamp.of(self.bytes), &context);
        (own.or(observed), observed)
    }

    /// When the runtime read the record.
    pub fn observed_moment(&self) -> Option<Nanos> {
        if self.observed.is_empty() {
            None
        } else {
            time::parse(self.observed, &Context::default())
        }
    }

    /// Whether a reader that trusts the stream would have shown this record as an error although it is none.
    pub fn is_misread(&self) -> bool {
        self.stream == Some(Stream::Stderr)
            && self.record.level != Level::Unknown
            && self.record.level < Level::Error
    }

    /// The text of a named part or field, unescaped, for conditions and templates.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let span = |span: flotilla_loglevel::Span| {
            Some(lossy(span.of(self.bytes))).filter(|text| !text.is_empty())
        };
        match name {
            "level" => Some(self.record.level.name().into()),
            "format" => Some(self.record.format.name().into()),
            "source" | "level_source" => Some(self.record.source.name().into()),
            "stream" => self.stream.map(|stream| stream.name().into()),
            "logger" => span(self.record.logger),
            "caller" => span(self.record.caller),
            "thread" => span(self.record.thread),
            "err" => span(self.record.error),
            "raw" => Some(lossy(self.bytes)),
            "msg" => Some(unescaped(self.message(), self.record.quoted)),
            "ts" => self.moment().map(|moment| rfc3339(moment).into()),
            name => self.field(name),
        }
    }

    fn field(&self, name: &str) -> Option<Cow<'a, str>> {
        let name = name.strip_prefix("fields.").unwrap_or(name);
        let field = self.fields().find(|field| field.key == name.as_bytes())?;
        Some(match field.value {
            FieldValue::Text(text) | FieldValue::Json(text) => lossy(text),
            FieldValue::Escaped(text) => unescaped(text, true),
        })
    }
}

fn lossy(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}

fn unescaped(text: &[u8], quoted: bool) -> Cow<'_, str> {
    if !quoted || !text.contains(&b'\\') {
        return lossy(text);
    }
    let mut out = Vec::with_capacity(text.len());
    json::unescape(text, &mut out);
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// A moment as RFC 3339 with nanoseconds.
pub(crate) fn rfc3339(moment: Nanos) -> String {
    let mut out = Vec::with_capacity(30);
    time::write_rfc3339(moment, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
