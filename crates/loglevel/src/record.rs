//! What we say about one line: the [`Record`], and the [`Hint`] that a stream carries from line to line.

use crate::{Fields, Format, Level, Notes};

/// A range of bytes inside a line; empty when the part is absent.
///
/// Positions are 32 bits, so that a record stays small. Lines longer than 4 GiB are cut by every reader long before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From `start` up to, but not including, `end`.
    #[inline(always)]
    pub fn new(start: usize, end: usize) -> Span {
        Span {
            start: start as u32,
            end: end as u32,
        }
    }

    /// Whether the part is absent or has no bytes.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The bytes of this part of `line`; empty when the span does not belong to it.
    pub fn of(self, line: &[u8]) -> &[u8] {
        line.get(self.start as usize..self.end as usize)
            .unwrap_or(&[])
    }

    /// The same part `by` bytes further right; an absent part stays absent.
    pub(crate) fn shifted(self, by: usize) -> Span {
        if self.is_empty() {
            self
        } else {
            Span {
                start: self.start + by as u32,
                end: self.end + by as u32,
            }
        }
    }
}

/// Which evidence a level rests on, in falling order of trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A rule of the user's.
    Rule,
    /// A key of a JSON object.
    JsonKey,
    /// The fixed header of the format.
    Header,
    /// A `level=` pair of a logfmt line.
    Logfmt,
    /// A level word in brackets or in front, within the first bytes, of a format we do not know further.
    Token,
    /// The signature of a panic, traceback or exception.
    Trace,
    /// The record this line continues.
    Inherited,
    /// The default the user chose for the stream.
    Stream,
    /// There is none.
    #[default]
    None,
}

/// Every source, in the order of their declaration.
pub const SOURCES: [Source; 9] = [
    Source::Rule,
    Source::JsonKey,
    Source::Header,
    Source::Logfmt,
    Source::Token,
    Source::Trace,
    Source::Inherited,
    Source::Stream,
    Source::None,
];

impl Source {
    /// The word used in output and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Source::Rule => "rule",
            Source::JsonKey => "json-key",
            Source::Header => "header",
            Source::Logfmt => "logfmt",
            Source::Token => "token",
            Source::Trace => "trace",
            Source::Inherited => "inherited",
            Source::Stream => "stream",
            Source::None => "none",
        }
    }
}

/// What one line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The declared level.
    pub level: Level,
    /// OpenTelemetry severity number 1 to 24, finer than `level`; 0 when unknown.
    pub severity: u8,
    /// What `level` rests on.
    pub source: Source,
    /// The layout of the line.
    pub format: Format,
    /// How sure we are of `format` and `level`, 0 to 100. 100 is a header checked byte by byte; 50 and less are
    /// readings that another format could also explain.
    pub confidence: u8,
    /// The level as written.
    pub level_raw: Span,
    /// The timestamp as written, without quotes or brackets.
    pub timestamp: Span,
    /// The logger, module, category or tag.
    pub logger: Span,
    /// File and line of the call.
    pub caller: Span,
    /// Thread or process.
    pub thread: Span,
    /// The message. Inside JSON and quoted logfmt it is still escaped, and `quoted` is set.
    pub message: Span,
    /// The error, where the format names one.
    pub error: Span,
    /// The part of the line that holds fields, for [`Record::fields`].
    pub rest: Span,
    /// Whether `message` has JSON-style escapes.
    pub quoted: bool,
}

impl Record {
    pub(crate) fn plain(format: Format, message: Span) -> Record {
        Record {
            format,
            message,
            ..Record::default()
        }
    }

    /// Sets the level from an OpenTelemetry severity number; 0 leaves the record without a level.
    #[inline(always)]
    pub(crate) fn set(&mut self, severity: u8, source: Source, raw: Span) {
        if severity != 0 {
            self.severity = severity;
            self.level = Level::of_severity(severity);
            self.source = source;
            self.level_raw = raw;
        }
    }

    /// Whether this line cannot stand alone: it continues the record before it.
    pub fn continues(&self) -> bool {
        self.format == Format::Continuation
    }

    /// The fields beyond level, time, logger, caller and message, parsed as they are asked for.
    pub fn fields<'a>(&self, line: &'a [u8]) -> Fields<'a> {
        Fields::of(self, line, None)
    }

    /// [`Record::fields`] of a line whose pairs [`crate::classify_noting`] has noted.
    pub fn fields_noted<'a>(&self, line: &'a [u8], notes: &'a Notes) -> Fields<'a> {
        Fields::of(self, line, Some(notes))
    }

    pub(crate) fn shifted(mut self, by: usize) -> Record {
        for span in [
            &mut self.level_raw,
            &mut self.timestamp,
            &mut self.logger,
            &mut self.caller,
            &mut self.thread,
            &mut self.message,
            &mut self.error,
            &mut self.rest,
        ] {
            *span = span.shifted(by);
        }
        self
    }
}

/// What earlier lines of the same container and stream have taught us.
///
/// A hint never overrides what a line declares. It lets a line without a level inherit the level of the record it
/// continues, applies the stream's default, and settles how sure we are. Its size is fixed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    pub(crate) default_level: Level,
    recent: [(Format, u32); HINT_FORMATS],
    last: Option<(Level, u8, Format)>,
}

/// How many formats a stream remembers: klog, zap and a panic in one stream are normal, more than four are not.
const HINT_FORMATS: usize = 4;

impl Hint {
    /// A hint for a stream whose lines get `level` when they say nothing and continue nothing.
    ///
    /// `Unknown` is our default; `Info` for stdout and `Error` for stderr imitate Datadog.
    pub fn with_default(level: Level) -> Hint {
        Hint {
            default_level: level,
            ..Hint::default()
        }
    }

    /// Remembers a classified line.
    pub fn learn(&mut self, record: &Record) {
        if record.continues() || matches!(record.format, Format::Empty | Format::Plain) {
            return;
        }
        self.last = Some((record.level, record.severity, record.format));
        let at = match self
            .recent
            .iter()
            .position(|(format, _)| *format == record.format)
        {
            Some(at) => at,
            None => {
                let at = self.rarest();
                self.recent[at] = (record.format, 0);
                at
            }
        };
        self.recent[at].1 = self.recent[at].1.saturating_add(1);
        if at > 0 && self.recent[at].1 > self.recent[at - 1].1 {
            self.recent.swap(at, at - 1);
        }
    }

    /// Forgets the open record, as after a rotation or a long silence.
    pub fn close(&mut self) {
        self.last = None;
    }

    /// The format seen most often, with the number of its lines since it entered the memory.
    pub fn usual(&self) -> Option<(Format, u32)> {
        Some(self.recent[0]).filter(|(_, n_lines)| *n_lines > 0)
    }

    /// How many lines of `format` this stream remembers.
    pub fn seen(&self, format: Format) -> u32 {
        self.recent
            .iter()
            .find(|(known, _)| *known == format)
            .map_or(0, |(_, n_lines)| *n_lines)
    }

    /// The last record that began here.
    pub(crate) fn last(&self) -> Option<(Level, u8, Format)> {
        self.last
    }

    fn rarest(&self) -> usize {
        (0..HINT_FORMATS)
            .rev()
            .min_by_key(|at| self.recent[*at].1)
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
