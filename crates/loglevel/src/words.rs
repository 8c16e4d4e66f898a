//! Lines that begin with a letter: a level word, the name of a program, a key, or prose.

use crate::level::{is_weak, letter, word};
use crate::record::{Record, Source, Span};
use crate::scan::{digits_end, find, letters_end, shaped, skip_blanks, skip_spaces, word_end};
use crate::stamp::{Shape, stamp};
use crate::tokens::token;
use crate::{Format, Notes, dated, klog, logfmt, trace};

/// The record of a line that begins with a letter; `None` for prose.
pub(crate) fn classify(line: &[u8], depth: u8) -> Option<Record> {
    if line.get(1).is_some_and(u8::is_ascii_digit)
        && let Some(record) = klog::classify(line)
    {
        return Some(record);
    }
    let end = letters_end(line, 0);
    match line.get(end) {
        Some(b'=') => return logfmt::classify(line, 0, &mut ()),
        Some(b',') if end == 1 => return ruby(line),
        Some(b'_' | b'.' | b'-' | b'@' | b'0'..=b'9') => {
            return dotted(line);
        }
        _ => {}
    }
    if let Some(stamp) = stamp(line, 0) {
        return Some(dated::classify(
            line,
            dated::Head {
                at: 0,
                stamp,
                bracketed: false,
            },
            depth,
        ));
    }
    let name = &line[..end];
    let severity = word(name);
    if severity != 0
        && let Some(record) = leveled(line, end, severity)
    {
        return Some(record);
    }
    match name {
        b"npm" => npm(line),
        b"PHP" => php(line),
        _ => trace::classify(line),
    }
}

/// The record of a line that begins with a key of letters, as [`classify`] reads it, with its pairs noted.
pub(crate) fn pairs(line: &[u8], notes: &mut Notes) -> Option<Record> {
    let end = letters_end(line, 0);
    (line.get(end) == Some(&b'='))
        .then(|| logfmt::classify(line, 0, notes))
        .flatten()
}

/// Keys with dots, dashes and digits, and exceptions by their full name.
fn dotted(line: &[u8]) -> Option<Record> {
    let key_end = line
        .iter()
        .take(64)
        .position(|byte| matches!(byte, b'=' | b' ' | b':'))?;
    match line[key_end] {
        b'=' => logfmt::classify(line, 0, &mut ()),
        _ => trace::classify(line),
    }
}

/// A line whose first word, up to `end`, is a level.
fn leveled(line: &[u8], end: usize, severity: u8) -> Option<Record> {
    let capitals = line[..end].iter().all(u8::is_ascii_uppercase);
    let mut record = match line.get(end) {
        Some(b'[') if capitals => logrus_tty(line, end)?,
        Some(b':') => colon(line, end, capitals)?,
        Some(b' ' | b'\t') if capitals && (3..=8).contains(&end) && !is_weak(&line[..end]) => {
            spaced(line, end)
        }
        _ => return None,
    };
    record.set(
        severity,
        if record.confidence >= 90 {
            Source::Header
        } else {
            Source::Token
        },
        Span::new(0, end),
    );
    Some(record)
}

/// `WARN[0003] message  key=value`
fn logrus_tty(line: &[u8], end: usize) -> Option<Record> {
    let close = find(line, end, b']')?;
    let elapsed = digits_end(line, end + 1) == close || stamp(line, end + 1).is_some();
    let message = Span::new(skip_spaces(line, close + 1), line.len());
    elapsed.then(|| Record {
        timestamp: Span::new(end + 1, close),
        confidence: 95,
        rest: message,
        ..Record::plain(Format::LogrusTty, message)
    })
}

/// `WARNING:root:message`, `INFO:     message`, `info: Category[0]`, `ERROR: 2026/09/11 …`, `INFO: message`, `warn: …`.
fn colon(line: &[u8], end: usize, capitals: bool) -> Option<Record> {
    let start = skip_spaces(line, end + 1);
    let n_spaces = start - end - 1;
    let mut record = Record::plain(Format::WinstonSimple, Span::new(start, line.len()));
    record.confidence = 80;
    if let Some(stamp) = stamp(line, start).filter(|stamp| stamp.shape == Shape::Slash) {
        record.format = Format::GoPrefix;
        record.confidence = 95;
        record.timestamp = Span::new(start, stamp.end);
        record.message = Span::new(skip_spaces(line, stamp.end), line.len());
    } else if n_spaces == 0 && capitals {
        let logger_end = find(line, start, b':')?;
        record.format = Format::PythonBasic;
        record.confidence = 95;
        record.logger = Span::new(start, logger_end);
        record.message = Span::new(logger_end + 1, line.len());
    } else if n_spaces >= 4 && capitals {
        record.format = Format::Uvicorn;
        record.confidence = 90;
    } else if !capitals && end == 4 && is_dotnet(line, start) {
        record.format = Format::DotnetConsole;
        record.confidence = 90;
        record.logger = Span::new(start, line.len());
        record.message = Span::default();
    } else if capitals {
        record.format = Format::Jul;
    } else if is_weak(&line[..end]) || n_spaces == 0 || &line[..end] == b"panic" {
        return None;
    }
    Some(record)
}

/// `Microsoft.Hosting.Lifetime[14]`: one word that ends in a number in brackets.
fn is_dotnet(line: &[u8], at: usize) -> bool {
    let Some(name) = line.get(at..).and_then(|name| name.strip_suffix(b"]")) else {
        return false;
    };
    let digits = name
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    digits > 0
        && name.len() > digits
        && name[name.len() - digits - 1] == b'['
        && !name.contains(&b' ')
}

/// `INFO  [main] 2026-09-11 …` (Cassandra), `INFO [09-11|07:22:25.408] message` (geth), `INFO 2026-09-11 …`, `INFO text`.
fn spaced(line: &[u8], end: usize) -> Record {
    let start = skip_blanks(line, end);
    let mut record = Record::plain(Format::LevelWord, Span::new(start, line.len()));
    record.confidence = 70;
    if let Some(stamp) = stamp(line, start) {
        record.confidence = 80;
        record.timestamp = Span::new(start, stamp.end);
        record.message = Span::new(skip_blanks(line, stamp.end), line.len());
        return record;
    }
    let Some(first) = token(line, start).filter(|first| first.wrap == b'[') else {
        return record;
    };
    if let Some(stamp) = stamp(line, first.inner.start as usize)
        .filter(|stamp| stamp.end == first.inner.end as usize)
    {
        record.timestamp = first.inner;
        record.message = Span::new(skip_spaces(line, first.end), line.len());
        record.rest = record.message;
        record.confidence = 95;
        record.format = if stamp.shape == Shape::MonthDay {
            Format::Geth
        } else {
            Format::Bracketed
        };
        return record;
    }
    let time = skip_spaces(line, first.end);
    if let Some(stamp) = stamp(line, time) {
        record.format = Format::Cassandra;
        record.confidence = 95;
        record.thread = first.inner;
        record.timestamp = Span::new(time, stamp.end);
        record.caller = Span::new(
            skip_spaces(line, stamp.end),
            word_end(line, skip_spaces(line, stamp.end)),
        );
        let dash = skip_spaces(line, record.caller.end as usize);
        let message = if line.get(dash) == Some(&b'-') {
            skip_spaces(line, dash + 1)
        } else {
            dash
        };
        record.message = Span::new(message, line.len());
    } else {
        record.logger = first.inner;
        record.message = Span::new(time, line.len());
    }
    record
}

/// `I, [2026-09-11T07:22:25.408586 #1]  INFO -- : message`
fn ruby(line: &[u8]) -> Option<Record> {
    let severity = match line[0] {
        // Ruby's `unknown`.
        b'A' => 0,
        byte => letter(byte),
    };
    let stamp = stamp(line, 4).filter(|_| shaped(line, 1, b", ["))?;
    let close = find(line, stamp.end, b']')?;
    let raw = skip_spaces(line, close + 1);
    let raw_end = letters_end(line, raw);
    let mut record = Record {
        format: Format::RubyLogger,
        confidence: 100,
        ..Record::default()
    };
    let severity = if severity == 0 {
        0
    } else {
        word(&line[raw..raw_end])
    };
    record.set(severity, Source::Header, Span::new(raw, raw_end));
    record.timestamp = Span::new(4, stamp.end);
    let dashes = skip_spaces(line, raw_end);
    record.message = Span::new(dashes, line.len());
    if shaped(line, dashes, b"-- ")
        && let Some(colon) =
            memchr::memmem::find(&line[dashes..], b": ").map(|found| dashes + found)
    {
        let name = &line[dashes + 3..colon];
        record.logger = Span::new(dashes + 3, dashes + 3 + name.trim_ascii_end().len());
        record.message = Span::new(colon + 2, line.len());
    }
    Some(record)
}

/// `npm warn deprecated …`, `npm ERR! code …`
fn npm(line: &[u8]) -> Option<Record> {
    let end = letters_end(line, 4);
    let raw = Span::new(4.min(end), end);
    let severity = match raw.of(line) {
        b"ERR" | b"error" => 17,
        b"WARN" | b"warn" => 13,
        b"notice" => 10,
        b"info" | b"http" | b"timing" => 9,
        b"verb" | b"sill" => 5,
        _ => return None,
    };
    let after = end + usize::from(line.get(end) == Some(&b'!'));
    let mut record = Record::plain(Format::Npm, Span::new(skip_spaces(line, after), line.len()));
    record.confidence = 90;
    record.set(severity, Source::Header, raw);
    Some(record)
}

/// `PHP Warning:  message in file on line 1`, `PHP Fatal error:  Uncaught …`
fn php(line: &[u8]) -> Option<Record> {
    let colon = find(&line[..line.len().min(40)], 4, b':')?;
    let severity = match &line[4..colon] {
        b"Fatal error" | b"Core error" | b"Compile error" => 21,
        b"Parse error" | b"Recoverable fatal error" | b"Catchable fatal error" | b"User Error" => {
            17
        }
        b"Warning" | b"Core warning" | b"Compile warning" | b"User Warning" | b"Deprecated"
        | b"User Deprecated" => 13,
        b"Notice" | b"User Notice" | b"Strict Standards" => 10,
        _ => return None,
    };
    let mut record = Record::plain(
        Format::PhpError,
        Span::new(skip_spaces(line, colon + 1), line.len()),
    );
    record.confidence = 95;
    record.set(severity, Source::Header, Span::new(4, colon));
    Some(record)
}
