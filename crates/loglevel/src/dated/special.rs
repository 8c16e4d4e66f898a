//! Dated lines whose level is a letter, a sign or a word in a fixed place.

use super::Head;
use crate::level::{letter, word};
use crate::logfmt;
use crate::record::{Record, Source, Span};
use crate::scan::{digits_end, find, letters_end, shaped, skip_spaces, word_end};
use crate::stamp::Shape;
use crate::tokens::token;
use crate::{Format, classify_inner, klog};

/// The record, except for its timestamp, of a line in one of these formats.
pub(super) fn classify(line: &[u8], head: &Head, depth: u8) -> Option<Record> {
    let Head {
        at,
        stamp,
        bracketed,
    } = *head;
    let end = stamp.end;
    match (stamp.shape, bracketed) {
        (Shape::IsoSpace, false) if line.get(end) == Some(&b':') => {
            tensorflow(line, end).or_else(|| celery(line, end))
        }
        (Shape::IsoSpace, true) if line.get(end) == Some(&b':') => celery(line, end),
        (Shape::IsoSpace, false) if shaped(line, end + 2, b" | ") => capnslog(line, end),
        (Shape::IsoSpace, false) if line[end..].starts_with(b" | ") && stamp.zoned => {
            datadog_agent(line, end)
        }
        (Shape::IsoSpace, false) => postgres(line, end),
        (Shape::IsoT, false) if shaped(line, end + 2, b"! ") => telegraf(line, end),
        (Shape::MonthDay, false) => logcat(line, end),
        (Shape::MonthName, false) if at == 0 => syslog(line, end, depth),
        (Shape::MonthNameYear, false) => Some(Record {
            confidence: 80,
            logger: Span::new(
                skip_spaces(line, end),
                word_end(line, skip_spaces(line, end)),
            ),
            ..Record::plain(Format::Jul, Span::default())
        }),
        (Shape::Slash, false) if at == 0 => go_with_pairs(line, end),
        _ => None,
    }
}

fn lettered(format: Format, severity: u8, at: usize) -> Option<Record> {
    let mut record = Record {
        format,
        confidence: 95,
        ..Record::default()
    };
    record.set(severity, Source::Header, Span::new(at, at + 1));
    (severity != 0).then_some(record)
}

/// `: I path/file.cc:42] message`
fn tensorflow(line: &[u8], end: usize) -> Option<Record> {
    if !shaped(line, end, b": ") || line.get(end + 3) != Some(&b' ') {
        return None;
    }
    let mut record = lettered(Format::TensorFlow, letter(*line.get(end + 2)?), end + 2)?;
    let caller_end = klog::caller_end(line, end + 4)?;
    record.caller = Span::new(end + 4, caller_end);
    record.message = Span::new(skip_spaces(line, caller_end + 1), line.len());
    Some(record)
}

/// `: INFO/MainProcess] message`
fn celery(line: &[u8], end: usize) -> Option<Record> {
    let raw = end + 2;
    let raw_end = letters_end(line, raw);
    let close = find(line, raw_end, b']')?;
    let severity = word(&line[raw..raw_end]);
    if severity == 0 || line.get(raw_end) != Some(&b'/') {
        return None;
    }
    let mut record = Record {
        format: Format::Celery,
        confidence: 95,
        ..Record::default()
    };
    record.set(severity, Source::Header, Span::new(raw, raw_end));
    record.thread = Span::new(raw_end + 1, close);
    record.message = Span::new(skip_spaces(line, close + 1), line.len());
    Some(record)
}

/// ` I | etcdserver: message`
fn capnslog(line: &[u8], end: usize) -> Option<Record> {
    let mut record = lettered(Format::Capnslog, letter(*line.get(end + 1)?), end + 1)?;
    let logger = end + 5;
    let colon = find(line, logger, b':')?;
    record.logger = Span::new(logger, colon);
    record.message = Span::new(skip_spaces(line, colon + 1), line.len());
    Some(record)
}

/// ` | TRACE | WARN | (pkg/file.go:1 in F) | message`: the process comes first, and may be called like a level.
fn datadog_agent(line: &[u8], end: usize) -> Option<Record> {
    let process = token(line, end)?;
    let level = token(line, process.end).filter(|level| level.wrap == b'|')?;
    let caller = token(line, level.end).filter(|caller| caller.wrap == b'|')?;
    let mut record = Record {
        format: Format::DatadogAgent,
        confidence: 95,
        ..Record::default()
    };
    record.set(word(level.inner.of(line)), Source::Header, level.inner);
    record.logger = process.inner;
    record.caller = caller.inner;
    record.message = Span::new(skip_spaces(line, caller.end + 1), line.len());
    (record.severity != 0).then_some(record)
}

/// ` I! [agent] message`
fn telegraf(line: &[u8], end: usize) -> Option<Record> {
    let mut record = lettered(Format::Telegraf, letter(*line.get(end + 1)?), end + 1)?;
    record.message = Span::new(skip_spaces(line, end + 3), line.len());
    Some(record)
}

/// `  1234  5678 I ActivityManager: message`
fn logcat(line: &[u8], end: usize) -> Option<Record> {
    let process = skip_spaces(line, end);
    let process_end = digits_end(line, process);
    let thread = skip_spaces(line, process_end);
    let thread_end = digits_end(line, thread);
    let at = thread_end + 1;
    if process_end == process || thread_end == thread || line.get(at + 1) != Some(&b' ') {
        return None;
    }
    let mut record = lettered(Format::Logcat, letter(*line.get(at)?), at)?;
    let colon = find(line, at + 2, b':')?;
    record.thread = Span::new(thread, thread_end);
    record.logger = Span::new(at + 2, colon);
    record.message = Span::new(skip_spaces(line, colon + 1), line.len());
    Some(record)
}

/// ` [1] user@db LOG:  message`, and the lines that add to the one before: `DETAIL:`, `HINT:`, `STATEMENT:` …
fn postgres(line: &[u8], end: usize) -> Option<Record> {
    if !shaped(line, end, b" [0") {
        return None;
    }
    let pid_end = digits_end(line, end + 2);
    let mut close = pid_end;
    if line.get(close) == Some(&b'-') {
        close = digits_end(line, close + 1);
    }
    if line.get(close) != Some(&b']') {
        return None;
    }
    // The prefix may name user, database and application: at most two words before the severity.
    let mut at = skip_spaces(line, close + 1);
    for _ in 0..3 {
        let word_stop = letters_end(line, at);
        let raw_end = digits_end(line, word_stop);
        if line.get(raw_end..raw_end + 3) == Some(b":  ") {
            return postgres_named(line, at, raw_end, Span::new(end + 2, pid_end));
        }
        at = skip_spaces(line, word_end(line, at));
    }
    None
}

fn postgres_named(line: &[u8], raw: usize, raw_end: usize, pid: Span) -> Option<Record> {
    let severity = match &line[raw..raw_end] {
        b"LOG" | b"INFO" => 9,
        b"WARNING" => 13,
        b"ERROR" => 17,
        b"FATAL" | b"PANIC" => 21,
        b"NOTICE" => 10,
        b"DETAIL" | b"HINT" | b"STATEMENT" | b"CONTEXT" | b"QUERY" | b"LOCATION" | b"BACKTRACE" => {
            0
        }
        name if name.starts_with(b"DEBUG") => 5,
        _ => return None,
    };
    let mut record = Record {
        confidence: 95,
        thread: pid,
        ..Record::default()
    };
    record.format = if severity == 0 {
        Format::Continuation
    } else {
        Format::Postgres
    };
    record.set(severity, Source::Header, Span::new(raw, raw_end));
    record.message = Span::new(raw_end + 3, line.len());
    Some(record)
}

/// ` host tag[1]: message` without a priority; the message may carry a header of its own, as kubelet's does.
fn syslog(line: &[u8], end: usize, depth: u8) -> Option<Record> {
    let host = skip_spaces(line, end);
    let host_end = word_end(line, host);
    // slog-term writes the level where the host stands.
    if word(&line[host..host_end]) != 0 && line[host].is_ascii_uppercase() {
        return None;
    }
    tagged(line, host_end, depth)
}

/// The tag and message of a BSD syslog line whose host ends at `host_end`.
pub(crate) fn tagged(line: &[u8], host_end: usize, depth: u8) -> Option<Record> {
    let tag = skip_spaces(line, host_end);
    let tag_end = line[tag..]
        .iter()
        .take(64)
        .position(|byte| matches!(byte, b':' | b'[' | b' '))?
        + tag;
    let colon = match line[tag_end] {
        b':' => tag_end,
        b'[' => find(line, tag_end, b']').filter(|close| line.get(close + 1) == Some(&b':'))? + 1,
        _ => return None,
    };
    let message = skip_spaces(line, colon + 1);
    let inner = classify_inner(&line[message..], depth + 1);
    let mut record = if inner.source == Source::Header && inner.confidence == 100
        || inner.source == Source::JsonKey
        || inner.source == Source::Logfmt
    {
        inner.shifted(message)
    } else {
        Record {
            confidence: 85,
            ..Record::plain(Format::Rfc3164, Span::new(message, line.len()))
        }
    };
    if record.logger.is_empty() {
        record.logger = Span::new(tag, tag_end);
    }
    Some(record)
}

/// Go's `log` in front of `level=… msg=…`.
fn go_with_pairs(line: &[u8], end: usize) -> Option<Record> {
    let start = skip_spaces(line, end);
    line.get(start).filter(|byte| byte.is_ascii_lowercase())?;
    logfmt::classify(line, start, &mut ()).filter(|record| record.severity != 0)
}
