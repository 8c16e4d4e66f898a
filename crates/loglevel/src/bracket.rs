//! Lines that begin with `[`: a level, an uptime, a process number or a thread in brackets.
//!
//! A timestamp in brackets belongs to `dated`.

use crate::dated;
use crate::level::{letter, word};
use crate::record::{Record, Source, Span};
use crate::scan::{digits_end, find, letters_end, shaped, skip_spaces, word_end};
use crate::stamp::{Shape, stamp};
use crate::tokens::{Bare, find_level, token};
use crate::{Format, classify_inner};

/// The record of a line that begins with `[`, when its first bracket says something.
pub(crate) fn classify(line: &[u8], depth: u8) -> Option<Record> {
    let inner = skip_spaces(line, 1);
    if let Some(stamp) = stamp(line, inner) {
        return Some(dated::classify(
            line,
            dated::Head {
                at: inner,
                stamp,
                bracketed: true,
            },
            depth,
        ));
    }
    match line.get(inner)? {
        b'0'..=b'9' => numbered(line, inner, depth),
        b'A'..=b'Z' | b'a'..=b'z' => worded(line, inner, depth),
        _ => None,
    }
}

/// `[0.012s][info][gc]`, `[     0.001234s]  INFO `, `[    0.000000] `, `[1] 2026/09/11 …`, Chromium's header.
fn numbered(line: &[u8], inner: usize, depth: u8) -> Option<Record> {
    let digits = digits_end(line, inner);
    match line.get(digits)? {
        b']' => {
            let start = skip_spaces(line, digits + 1);
            let stamp = stamp(line, start)?;
            let mut record = dated::classify(
                line,
                dated::Head {
                    at: start,
                    stamp,
                    bracketed: false,
                },
                depth,
            );
            record.thread = Span::new(inner, digits);
            Some(record)
        }
        b'.' => uptime(line, inner, digits_end(line, digits + 1)),
        b':' => chromium(line, inner),
        _ => None,
    }
}

fn uptime(line: &[u8], inner: usize, digits: usize) -> Option<Record> {
    let seconds = line.get(digits) == Some(&b's');
    let close = digits + usize::from(seconds);
    if line.get(close) != Some(&b']') {
        return None;
    }
    let time = Span::new(inner, digits);
    if !seconds {
        let message = Span::new(skip_spaces(line, close + 1), line.len());
        return Some(Record {
            timestamp: time,
            confidence: 80,
            ..Record::plain(Format::Dmesg, message)
        });
    }
    since_start(line, time, close + 1)
}

/// A level after the seconds since the program's start, with or without brackets around the time.
pub(crate) fn since_start(line: &[u8], time: Span, after: usize) -> Option<Record> {
    let found = find_level(line, after, Bare::Capitals)?;
    let glued = found.token.wrap == b'[';
    let format = if glued {
        Format::JvmGc
    } else {
        Format::TracingUptime
    };
    let mut record = Record {
        format,
        confidence: 95,
        timestamp: time,
        ..Record::default()
    };
    record.set(found.severity, Source::Header, found.raw);
    let mut start = skip_spaces(line, found.token.end);
    if let Some(tag) = token(line, found.token.end).filter(|tag| glued && tag.wrap == b'[') {
        record.logger = tag.inner;
        start = skip_spaces(line, tag.end);
    }
    record.message = Span::new(start, line.len());
    Some(record)
}

/// `1234:5678:0911/072225.408586:ERROR:file.cc(123)] message`
fn chromium(line: &[u8], inner: usize) -> Option<Record> {
    let close = find(&line[..line.len().min(256)], inner, b']')?;
    let clock = (inner..close.min(inner + 24)).find(|at| shaped(line, *at, b"0000/000000"))?;
    let raw = find(line, clock + 11, b':')? + 1;
    let raw_end = letters_end(line, raw);
    let mut record = Record {
        format: Format::Chromium,
        confidence: 95,
        ..Record::default()
    };
    record.set(
        word(line.get(raw..raw_end)?),
        Source::Header,
        Span::new(raw, raw_end),
    );
    record.timestamp = Span::new(clock, raw - 1);
    record.caller = Span::new((raw_end + 1).min(close), close);
    record.message = Span::new(skip_spaces(line, close + 1), line.len());
    Some(record)
}

/// `[INFO] …`, `[main] INFO logger - message`, `[Nest] …`, `[I 2026-… App]`, kubectl's `[pod/name/container] `.
fn worded(line: &[u8], inner: usize, depth: u8) -> Option<Record> {
    let first = token(line, 0).filter(|token| token.wrap == b'[')?;
    let name = first.inner.of(line);
    if name.starts_with(b"pod/") {
        let start = skip_spaces(line, first.end);
        return Some(classify_inner(&line[start..], depth + 1).shifted(start));
    }
    if line.get(inner + 1) == Some(&b' ') {
        return tornado(line, inner, first.end);
    }
    if name == b"Nest" {
        return nest(line, first.end);
    }
    let found = find_level(line, 0, Bare::Capitals)?;
    let mut record = Record {
        confidence: 80,
        ..Record::default()
    };
    record.set(found.severity, Source::Token, found.raw);
    record.message = Span::new(skip_spaces(line, found.token.end), line.len());
    record.format = if found.index > 0 {
        Format::Logback
    } else {
        by_what_follows(line, first.end, &mut record)
    };
    if record.format != Format::Bracketed {
        record.source = Source::Header;
        record.confidence = 90;
    }
    if found.index > 0 {
        record.thread = first.inner;
    }
    Some(record)
}

fn by_what_follows(line: &[u8], after: usize, record: &mut Record) -> Format {
    let start = skip_spaces(line, after);
    match line.get(after) {
        Some(b'\t') => {
            if let Some(stamp) = stamp(line, after + 1) {
                record.timestamp = Span::new(after + 1, stamp.end);
                return Format::Lambda;
            }
            Format::Bracketed
        }
        _ if start >= after + 3 && line.get(start) == Some(&b'(') || haproxy_date(line, start) => {
            Format::Haproxy
        }
        Some(b' ')
            if line[..after]
                .iter()
                .all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'[' | b']')) =>
        {
            if let Some(stamp) = stamp(line, start) {
                record.timestamp = Span::new(start, stamp.end);
                record.message = Span::new(skip_spaces(line, stamp.end), line.len());
                return Format::Bracketed;
            }
            Format::Coredns
        }
        _ => Format::Bracketed,
    }
}

/// HAProxy's older day-of-year stamp: `253/072225 `.
fn haproxy_date(line: &[u8], at: usize) -> bool {
    shaped(line, at, b"000/000000 ")
}

/// `[I 2026-09-11 07:22:25.408 ServerApp] message`, `[I 260911 07:22:25 web:2246] message`
fn tornado(line: &[u8], inner: usize, close: usize) -> Option<Record> {
    let start = inner + 2;
    let stamp_end = match stamp(line, start) {
        Some(stamp) => stamp.end,
        None if shaped(line, start, b"000000 00:00:00") => start + 15,
        None => return None,
    };
    let severity = letter(line[inner]);
    if severity == 0 || close <= stamp_end {
        return None;
    }
    let mut record = Record {
        format: Format::Tornado,
        confidence: 95,
        ..Record::default()
    };
    record.set(severity, Source::Header, Span::new(inner, inner + 1));
    record.timestamp = Span::new(start, stamp_end);
    record.logger = Span::new(skip_spaces(line, stamp_end), close - 1);
    record.message = Span::new(skip_spaces(line, close), line.len());
    Some(record)
}

/// `[Nest] 1  - 09/11/2026, 7:22:25 AM     LOG [NestFactory] message`
fn nest(line: &[u8], after: usize) -> Option<Record> {
    let pid = skip_spaces(line, after);
    let dash = skip_spaces(line, digits_end(line, pid));
    if line.get(dash) != Some(&b'-') {
        return None;
    }
    let time = skip_spaces(line, dash + 1);
    let stamp =
        stamp(line, time).filter(|stamp| matches!(stamp.shape, Shape::American | Shape::IsoT))?;
    let raw = skip_spaces(line, stamp.end);
    let raw_end = letters_end(line, raw);
    let mut record = Record {
        format: Format::Nestjs,
        confidence: 95,
        ..Record::default()
    };
    record.set(
        word(&line[raw..raw_end]),
        Source::Header,
        Span::new(raw, raw_end),
    );
    record.timestamp = Span::new(time, stamp.end);
    record.thread = Span::new(pid, digits_end(line, pid));
    record.message = Span::new(skip_spaces(line, raw_end), line.len());
    if let Some(logger) = token(line, raw_end).filter(|token| token.wrap == b'[') {
        record.logger = logger.inner;
        record.message = Span::new(skip_spaces(line, logger.end), line.len());
    }
    (record.severity != 0 && raw_end <= word_end(line, raw)).then_some(record)
}
