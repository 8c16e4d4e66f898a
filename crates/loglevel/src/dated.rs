//! Lines that begin with a timestamp, bare or in brackets.
//!
//! The timestamp is followed by header tokens; the first that says a level decides it. Which format it is follows from
//! the shape of the timestamp and of the tokens around the level (`dated/name.rs`), and from the format where logger,
//! caller and message stand (`dated/tail.rs`).

mod name;
mod special;
mod tail;

use crate::record::{Record, Source, Span};
use crate::scan::skip_blanks;
use crate::stamp::{Shape, Stamp};
use crate::tokens::{Bare, Found, find_level};
use crate::{Format, classify_inner, logfmt};

pub(crate) use special::tagged;

/// The timestamp a line begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Where it begins.
    pub(crate) at: usize,
    pub(crate) stamp: Stamp,
    /// A `[` stands before it.
    pub(crate) bracketed: bool,
}

/// The record of a line with this timestamp.
pub(crate) fn classify(line: &[u8], head: Head, depth: u8) -> Record {
    let Head {
        at,
        stamp,
        bracketed,
    } = head;
    if let Some(record) = special::classify(line, &head, depth) {
        return Record {
            timestamp: Span::new(at, stamp.end),
            ..record
        };
    }
    let closed = bracketed && line.get(stamp.end) == Some(&b']');
    let header = stamp.end + usize::from(closed);
    let lower = matches!(stamp.shape, Shape::IsoT | Shape::Epoch) && stamp.zoned && !bracketed
        || line.get(header) == Some(&b'\t');
    let bare = match stamp.shape {
        _ if lower => Bare::AlsoLower,
        Shape::DayMonthName => Bare::AlsoWeak,
        _ => Bare::Capitals,
    };
    let mut record = match find_level(line, header, bare) {
        Some(found) => leveled(line, &head, &found),
        None => without_level(line, header, &head, depth),
    };
    record.timestamp = Span::new(at, stamp.end);
    record
}

fn leveled(line: &[u8], head: &Head, found: &Found) -> Record {
    let format = name::name(line, head, found);
    let generic = matches!(format, Format::Bracketed | Format::Leveled);
    let lower_bare = found.token.wrap == 0
        && line[found.raw.start as usize].is_ascii_lowercase()
        && line.get(found.token.end) == Some(&b' ');
    let mut record = Record {
        format,
        confidence: if generic { 75 } else { 95 },
        message: Span::new(skip_blanks(line, found.token.end), line.len()),
        ..Record::default()
    };
    if lower_bare && format == Format::ZapConsole {
        record.confidence = 60;
    }
    record.set(
        found.severity,
        if generic {
            Source::Token
        } else {
            Source::Header
        },
        found.raw,
    );
    tail::tail(line, head, found, &mut record);
    record
}

/// A timestamp and no level: Go's `log`, `kubectl logs --timestamps` around another format, or just prose.
fn without_level(line: &[u8], header: usize, head: &Head, depth: u8) -> Record {
    let start = skip_blanks(line, header);
    let mut record = Record::plain(Format::Dated, Span::new(start, line.len()));
    record.confidence = 60;
    if head.stamp.shape == Shape::Slash && !head.bracketed && !head.stamp.zoned {
        record.format = Format::GoLog;
        record.confidence = 90;
    }
    // What follows may be a whole line of its own: a klog header, JSON or pairs behind somebody's timestamp.
    match line.get(start) {
        Some(b'{') if record.format == Format::GoLog => record,
        Some(b'I' | b'W' | b'E' | b'F' | b'{') => {
            let inner = classify_inner(&line[start..], depth + 1);
            if inner.confidence >= 90 || inner.source == Source::JsonKey {
                inner.shifted(start)
            } else {
                record
            }
        }
        Some(b'a'..=b'z') => logfmt::classify(line, start, &mut ())
            .filter(|inner| inner.severity != 0)
            .unwrap_or(record),
        _ => record,
    }
}
