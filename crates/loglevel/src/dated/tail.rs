//! Where logger, caller, thread and message stand after the level.

use super::Head;
use super::name::is_caller;
use crate::Format;
use crate::record::{Record, Span};
use crate::scan::{find, skip_blanks, skip_spaces, word_end};
use crate::stamp::Stamp;
use crate::tokens::{Found, token};

/// Fills in what the format says about the rest of the line; the message is already everything after the level.
pub(super) fn tail(line: &[u8], head: &Head, found: &Found, record: &mut Record) {
    let at = found.token.end;
    match record.format {
        Format::ZapConsole => zap(line, at, record),
        Format::Tracing
        | Format::Log4j
        | Format::Odoo
        | Format::Tomcat
        | Format::Spark
        | Format::Sidekiq => {
            colon(line, at, record);
        }
        Format::Hclog | Format::Jenkins => colon(line, at, record),
        Format::SpringBoot => spring(line, at, record),
        Format::Logback => dash(line, at, record),
        Format::PythonDash => {
            record.logger = found.first.inner;
            after_dash(line, at, record);
        }
        Format::Loguru | Format::Airflow => {
            if let (Format::Airflow, Some(token)) = (record.format, found.before) {
                record.caller = token.inner;
            }
            dash(line, at + usize::from(line.get(at) == Some(&b'|')), record);
        }
        Format::Elasticsearch | Format::Envoy | Format::Jboss | Format::FluentBit => {
            bracket(line, at, record)
        }
        Format::EnvLogger | Format::SerilogText if head.bracketed => {
            inside(line, &head.stamp, at, record)
        }
        Format::Gunicorn => record.thread = found.first.inner,
        Format::Nlog | Format::Ovs | Format::DatadogAgent => pipes(line, at, found, record),
        Format::SlogDefault | Format::ZerologConsole | Format::StructlogConsole => {
            record.rest = record.message;
        }
        _ => {}
    }
}

/// zap: logger, caller, message, fields; separated by tabs, or by single spaces where tabs were replaced.
fn zap(line: &[u8], at: usize, record: &mut Record) {
    let mut start = at + 1;
    let tabs = line.get(at) == Some(&b'\t');
    for _ in 0..2 {
        let end = if tabs {
            find(line, start, b'\t').unwrap_or(line.len())
        } else {
            word_end(line, start)
        };
        // A single field before the object is the message, not the logger.
        if end >= line.len() || line[end + 1..].starts_with(b"{") && line.ends_with(b"}") {
            break;
        }
        if is_caller(line, start) && word_end(line, start) == end {
            record.caller = Span::new(start, end);
        } else if tabs
            && record.caller.is_empty()
            && record.logger.is_empty()
            && is_name(&line[start..end])
        {
            record.logger = Span::new(start, end);
        } else {
            break;
        }
        start = end + 1;
    }
    let start = start.min(line.len());
    record.message = Span::new(start, line.len());
    if line.last() == Some(&b'}') {
        let brace = if tabs {
            memchr::memmem::find(&line[start..], b"\t{").map(|found| start + found)
        } else {
            memchr::memmem::find(&line[start..], b" {\"").map(|found| start + found)
        };
        if let Some(brace) = brace {
            record.message = Span::new(start, brace);
            record.rest = Span::new(brace + 1, line.len());
        }
    }
    // Only a logger was cut off and nothing else is left: then it was the message.
    if record.message.is_empty() && !record.logger.is_empty() {
        record.message = std::mem::take(&mut record.logger);
    }
}

/// A logger name has no spaces and is followed by more.
fn is_name(text: &[u8]) -> bool {
    !text.is_empty()
        && text.len() <= 128
        && text
            .iter()
            .all(|byte| byte.is_ascii_graphic() && *byte != b'{')
}

/// `logger: message`, perhaps behind `[thread]`.
fn colon(line: &[u8], at: usize, record: &mut Record) {
    let mut start = skip_blanks(line, at);
    if line.get(start) == Some(&b'[')
        && let Some(thread) = token(line, start)
    {
        record.thread = thread.inner;
        start = skip_blanks(line, thread.end);
        record.message = Span::new(start, line.len());
    }
    let end = word_end(line, start);
    if end > start + 1 && line[end - 1] == b':' {
        record.logger = Span::new(start, end - 1);
        record.message = Span::new(skip_blanks(line, end), line.len());
    }
}

/// Spring: `1 --- [main] c.e.App                  : message`, newer versions with more brackets.
fn spring(line: &[u8], at: usize, record: &mut Record) {
    let Some(open) = find(line, at, b'[') else {
        return;
    };
    let Some(thread) = token(line, open) else {
        return;
    };
    record.thread = thread.inner;
    let start = skip_blanks(line, thread.end);
    if let Some(colon) = memchr::memmem::find(&line[start..], b" : ").map(|found| start + found) {
        record.logger = Span::new(start, word_end(line, start));
        record.message = Span::new(colon + 3, line.len());
    }
}

/// `logger - message`.
fn dash(line: &[u8], at: usize, record: &mut Record) {
    let start = skip_spaces(line, at);
    if line.get(start..start + 2) == Some(b"- ") {
        record.message = Span::new(start + 2, line.len());
        return;
    }
    let end = word_end(line, start);
    let after = skip_spaces(line, end);
    if line.get(after..after + 2) == Some(b"- ") {
        record.logger = Span::new(start, end);
        record.message = Span::new(after + 2, line.len());
    }
}

fn after_dash(line: &[u8], at: usize, record: &mut Record) {
    let start = skip_spaces(line, at);
    if line.get(start..start + 2) == Some(b"- ") {
        record.message = Span::new(start + 2, line.len());
    }
}

/// `[logger] message`.
fn bracket(line: &[u8], at: usize, record: &mut Record) {
    if let Some(logger) = token(line, at).filter(|token| token.wrap == b'[') {
        record.logger = logger.inner;
        record.message = Span::new(skip_spaces(line, logger.end), line.len());
    }
}

/// `[time LEVEL module] message`: the level stands inside the bracket.
fn inside(line: &[u8], stamp: &Stamp, at: usize, record: &mut Record) {
    let Some(close) = find(line, stamp.end, b']').filter(|close| *close >= at - 1) else {
        return;
    };
    let start = skip_spaces(line, at);
    if start < close {
        record.logger = Span::new(start, close);
    }
    record.message = Span::new(skip_spaces(line, close + 1), line.len());
}

/// `time|LEVEL|logger|message`, `time|00001|logger|LEVEL|message`, `time | CORE | INFO | (caller) | message`.
fn pipes(line: &[u8], at: usize, found: &Found, record: &mut Record) {
    let Some(next) = token(line, at).filter(|token| token.wrap == b'|') else {
        record.message = Span::new(skip_spaces(line, at + 1), line.len());
        if let Some(before) = found.before {
            record.logger = before.inner;
        }
        return;
    };
    match record.format {
        Format::DatadogAgent => record.caller = next.inner,
        Format::Nlog => record.logger = next.inner,
        _ => {
            record.message = Span::new(skip_spaces(line, at + 1), line.len());
            return;
        }
    }
    record.message = Span::new(skip_spaces(line, next.end + 1), line.len());
}
