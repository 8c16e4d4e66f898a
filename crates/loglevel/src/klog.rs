//! klog, glog and CockroachDB headers: one letter, a packed date, the time to the microsecond, thread, file and line.
//!
//! `I0911 07:22:25.408586       1 cni_writer.go:930] message`. The fixed offsets make this the cheapest format of all.
//! klog's structured calls quote the message and append `key="value"` pairs; a value of several lines opens a block with
//! `key=<` (see `multiline`). Source: klog v2.130 `internal/buffer`, `internal/serialize`; glog's log line prefix.

use memchr::memchr;

use crate::Format;
use crate::level::letter;
use crate::logfmt;
use crate::record::{Record, Source, Span};
use crate::scan::{closing_quote, digits_end, find, shaped, skip_spaces};

/// How far into the line the header may reach; deeper paths are not file names.
const HEADER_BYTES_MAX: usize = 512;

/// The record of a line that begins with a letter and a digit.
pub(crate) fn classify(line: &[u8]) -> Option<Record> {
    let (format, clock) = match line.get(5)? {
        b' ' => (Format::Klog, 6),
        _ => match (line.get(7)?, line.get(9)) {
            (b' ', _) => (Format::Cockroach, 8),
            (_, Some(b' ')) => (Format::Glog, 10),
            _ => return None,
        },
    };
    let severity = letter(line[0]);
    if severity == 0
        || !shaped(line, clock, b"00:00:00.000000")
        || !date_is_plausible(&line[1..clock - 1])
    {
        return None;
    }
    let thread = skip_spaces(line, clock + 15);
    let thread_end = digits_end(line, thread);
    if thread_end == thread || line.get(thread_end) != Some(&b' ') {
        return None;
    }
    let caller = thread_end + 1;
    let mut record = Record {
        format,
        confidence: 100,
        ..Record::default()
    };
    record.set(severity, Source::Header, Span::new(0, 1));
    record.timestamp = Span::new(1, clock + 15);
    record.thread = Span::new(thread, thread_end);
    if format == Format::Cockroach {
        let caller_end = find(line, caller, b' ').unwrap_or(line.len());
        record.caller = Span::new(caller, caller_end);
        record.message = Span::new(skip_spaces(line, caller_end), line.len());
        return Some(record);
    }
    let caller_end = caller_end(line, caller)?;
    record.caller = Span::new(caller, caller_end);
    let message = caller_end + 1;
    structured(
        line,
        message + usize::from(line.get(message) == Some(&b' ')),
        &mut record,
    );
    Some(record)
}

/// Month and day of the last four digits exist; everything else before them is digits.
fn date_is_plausible(date: &[u8]) -> bool {
    let Some([m1, m2, d1, d2]) = date.last_chunk() else {
        return false;
    };
    let month = matches!((m1, m2), (b'0', b'1'..=b'9') | (b'1', b'0'..=b'2'));
    let day = matches!((d1, d2), (b'0'..=b'2', b'0'..=b'9') | (b'3', b'0'..=b'1'));
    month && day && date[..date.len() - 4].iter().all(u8::is_ascii_digit)
}

/// The `]` that closes the header: the first one right after `:` and digits, since a path may hold brackets.
pub(crate) fn caller_end(line: &[u8], caller: usize) -> Option<usize> {
    let limit = line.len().min(caller + HEADER_BYTES_MAX);
    let mut at = caller;
    loop {
        at += memchr(b']', line.get(at..limit)?)?;
        let digits = line[caller..at]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits > 0 && at > caller + digits && line[at - digits - 1] == b':' {
            return Some(at);
        }
        at += 1;
    }
}

/// Message and pairs of a structured call, or the plain rest of the line.
fn structured(line: &[u8], at: usize, record: &mut Record) {
    record.message = Span::new(at, line.len());
    if line.get(at) != Some(&b'"') {
        return;
    }
    let Some(end) = closing_quote(line, at + 1) else {
        return;
    };
    if end + 1 == line.len() {
        record.message = Span::new(at + 1, end);
        record.quoted = true;
    } else if line[end + 1] == b' ' && logfmt::pair(line, end + 2).is_some_and(|pair| !pair.bare) {
        record.message = Span::new(at + 1, end);
        record.quoted = true;
        record.rest = Span::new(end + 2, line.len());
    }
}
