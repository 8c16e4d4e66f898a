//! Lines that begin with a syslog priority: `<PRI>` where the severity is `PRI & 7`.
//!
//! A message that carries a header of its own (kubelet behind journald) knows better than the transport, so its level
//! wins; journald, for one, gives every line of a service's output the same priority.

use crate::dated::tagged;
use crate::record::{Record, Source, Span};
use crate::scan::{digits_end, shaped, skip_spaces, word_end};
use crate::stamp::stamp;
use crate::{Format, Level, classify_inner};

/// Highest priority: facility 23, severity 7. Source: RFC 5424 §6.2.1.
const PRIORITY_MAX: u16 = 191;

/// The record of a line that begins with `<`.
pub(crate) fn classify(line: &[u8], depth: u8) -> Option<Record> {
    let digits = digits_end(line, 1);
    if digits == 1 || digits > 4 || line.get(digits) != Some(&b'>') {
        return None;
    }
    let priority = line[1..digits]
        .iter()
        .fold(0u16, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    if priority > PRIORITY_MAX {
        return None;
    }
    let start = digits + 1;
    let mut record = if shaped(line, start, b"0 ") {
        structured(line, start + 2, depth)
    } else {
        bsd(line, start, depth).unwrap_or_else(|| bare(line, start, depth))
    };
    if record.severity == 0 {
        let severity = Level::of_syslog((priority & 7) as u8).severity();
        record.set(severity, Source::Header, Span::new(1, digits));
    }
    record.confidence = 100;
    Some(record)
}

/// RFC 5424: version, time, host, application, process, message id, structured data, message.
fn structured(line: &[u8], at: usize, depth: u8) -> Record {
    let mut ends = [(0usize, 0usize); 5];
    let mut next = at;
    for slot in &mut ends {
        let end = word_end(line, next);
        *slot = (next, end);
        next = (end + 1).min(line.len());
    }
    let data_end = structured_data_end(line, next);
    let message = skip_spaces(line, data_end);
    let message = if line[message..].starts_with(b"\xef\xbb\xbf") {
        message + 3
    } else {
        message
    };
    let inner = classify_inner(&line[message..], depth + 1);
    let mut record = if inner.confidence == 100 && inner.source == Source::Header {
        inner.shifted(message)
    } else {
        Record::plain(Format::Rfc5424, Span::new(message, line.len()))
    };
    record.timestamp = Span::new(ends[0].0, ends[0].1);
    record.logger = Span::new(ends[2].0, ends[2].1);
    record.thread = Span::new(ends[3].0, ends[3].1);
    record
}

/// `-`, or `[id k="v"][id …]` where values may hold escaped brackets.
fn structured_data_end(line: &[u8], at: usize) -> usize {
    let mut next = at;
    if line.get(next) == Some(&b'-') {
        return next + 1;
    }
    while line.get(next) == Some(&b'[') {
        let mut quoted = false;
        while let Some(byte) = line.get(next) {
            next += 1;
            match byte {
                b'"' => quoted = !quoted,
                b'\\' if quoted => next += 1,
                b']' if !quoted => break,
                _ => {}
            }
        }
    }
    next.min(line.len())
}

/// `Sep 11 07:22:25 host tag[1]: message`
fn bsd(line: &[u8], at: usize, depth: u8) -> Option<Record> {
    let stamp = stamp(line, at)?;
    let host = skip_spaces(line, stamp.end);
    let host_end = word_end(line, host);
    // Programs that write to /dev/log leave the host out.
    let mut record = if line.get(host_end.wrapping_sub(1)) == Some(&b':') {
        tagged(line, host, depth)
    } else {
        tagged(line, host_end, depth)
    }?;
    record.timestamp = Span::new(at, stamp.end);
    Some(record)
}

/// systemd's and the kernel's `<3>message`.
fn bare(line: &[u8], at: usize, depth: u8) -> Record {
    let inner = classify_inner(&line[at..], depth + 1);
    if inner.confidence == 100 && inner.source == Source::Header && inner.format != Format::Kernel {
        return inner.shifted(at);
    }
    Record::plain(Format::Kernel, Span::new(at, line.len()))
}
