//! What level a log line itself declares.
//!
//! Go programs write every line to stderr, and log back ends that trust the stream show all of them as errors, although
//! the line says `I0911 …` or `level=info`. This crate reads what the line says: [`classify`] takes the bytes of one
//! line and returns its [`Level`], where the level stood, the format, and the byte ranges of timestamp, logger, caller
//! and message. Nothing is allocated or copied.
//!
//! **How it decides.** The first byte picks a probe (`{` JSON, a digit a timestamp, `I0` klog, `[`, `<`, a letter). A probe
//! checks fixed positions before it scans anything, and a header walk stops at the first word of prose. The evidence, in
//! this order: a JSON key, the header of a known format, a `level=` pair anywhere in a logfmt line, a level word in
//! brackets or in front, the signature of a panic or traceback, the record this line continues, the default of the
//! stream. **A message is never searched for words**: `0 errors found` is no error, and a line that does not say its
//! level is [`Level::Unknown`], never "stderr, so error".
//!
//! Around it: [`lines`] cuts chunks into lines, [`cri`] unwraps what container runtimes add, [`multiline`] says which
//! lines belong together, [`time`] turns written timestamps into moments (klog leaves out year and zone), and
//! [`Record::fields`] walks key and value pairs when asked.
//!
//! ```
//! use flotilla_loglevel::{Format, Hint, Level, classify};
//!
//! let line = br#"I0911 07:22:25.408586       1 cni_writer.go:930] Synced, 0 errors"#;
//! let record = classify(line, &Hint::default());
//! assert_eq!((record.level, record.format), (Level::Info, Format::Klog));
//! assert_eq!(record.caller.of(line), b"cni_writer.go:930");
//! assert_eq!(record.message.of(line), b"Synced, 0 errors");
//! ```

mod format;
mod level;
mod record;

mod ansi;
mod bracket;
pub mod cri;
mod dated;
mod fields;
pub mod fuzz;
mod json;
mod klog;
pub mod lines;
mod logfmt;
pub mod multiline;
mod notes;
mod parts;
mod scan;
mod stamp;
mod syslog;
pub mod time;
mod tokens;
mod trace;
mod words;

pub use ansi::sequence_end as ansi_sequence_end;
pub use fields::{Field, FieldValue, Fields};
pub use format::{FORMATS, Format};
pub use level::{LEVELS, Level, SEVERITY_MAX, letter, value, word};
pub use notes::Notes;
pub use parts::Part;
pub use record::{Hint, Record, SOURCES, Source, Span};

/// What this line says, without its newline; `hint` is what earlier lines of the same stream have taught.
///
/// A trailing carriage return is not part of the message. Cost: one pass over the header, over the top-level members of
/// a JSON object, or over the pairs of a logfmt line.
#[inline]
pub fn classify(line: &[u8], hint: &Hint) -> Record {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut record = classify_inner(line, 0);
    if record.severity == 0 {
        settle(line, hint, &mut record);
    }
    record
}

/// [`classify`], which also notes the pairs of a logfmt line and the members of a JSON line for [`Record::fields_noted`].
pub fn classify_noting(line: &[u8], hint: &Hint, notes: &mut Notes) -> Record {
    notes.clear();
    let text = line.strip_suffix(b"\r").unwrap_or(line);
    let noted = match text.first() {
        Some(b'{') => json::classify(text, notes),
        Some(b'A'..=b'Z' | b'a'..=b'z') => words::pairs(text, notes),
        _ => None,
    };
    match noted {
        // A line without a level may turn out to be something else.
        Some(record) if record.severity != 0 => {
            notes.finish();
            record
        }
        _ => classify(line, hint),
    }
}

/// How many lines may be wrapped in one another: a klog line behind `kubectl logs --timestamps` in a syslog message.
/// Bounds the recursion of [`classify_inner`].
const DEPTH_MAX: u8 = 2;

/// Dispatch on the first byte. `depth` counts the wrappers already taken off.
#[inline]
fn classify_inner(line: &[u8], depth: u8) -> Record {
    if depth > DEPTH_MAX {
        return Record::plain(Format::Plain, Span::new(0, line.len()));
    }
    let Some(first) = line.first() else {
        return Record::plain(Format::Empty, Span::default());
    };
    let record = match first {
        b'{' => json::classify(line, &mut ()),
        b'0'..=b'9' => numbers(line, depth),
        b'A'..=b'Z' | b'a'..=b'z' => words::classify(line, depth),
        b'[' => bracket::classify(line, depth),
        b'<' => syslog::classify(line, depth),
        b' ' | b'\t' => indented(line, depth),
        b'@' => logfmt::classify(line, 0, &mut ()),
        b'=' => erlang(line),
        b':' | b'-' => access_log(line),
        _ => None,
    };
    record.unwrap_or_else(|| Record::plain(Format::Plain, Span::new(0, line.len())))
}

/// What is left to try for a line that says no level: junk in front, colours, then the stream.
#[inline(never)]
fn settle(line: &[u8], hint: &Hint, record: &mut Record) {
    if matches!(
        record.format,
        Format::Plain | Format::Dated | Format::GoLog | Format::Continuation | Format::Json
    ) {
        let junk = leading_junk(line);
        if junk > 0 {
            *record = classify_inner(&line[junk..], 0).shifted(junk);
        } else if let Some(coloured) = ansi::classify(line) {
            *record = coloured;
        }
    }
    if record.severity != 0 {
        return;
    }
    if let (true, Some((_, severity, _))) = (record.continues(), hint.last()) {
        record.set(severity, Source::Inherited, Span::default());
    } else if hint.default_level != Level::Unknown {
        record.set(
            hint.default_level.severity(),
            Source::Stream,
            Span::default(),
        );
    }
}

/// A byte order mark, and the NUL bytes that copying truncation leaves at the head of a file.
fn leading_junk(line: &[u8]) -> usize {
    let marks = if line.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    marks + line[marks..].iter().take_while(|byte| **byte == 0).count()
}

/// A timestamp, Redis' process and role, or an access log's address.
fn numbers(line: &[u8], depth: u8) -> Option<Record> {
    if let Some(stamp) = stamp::stamp(line, 0).or_else(|| stamp::exponent_epoch(line, 0)) {
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
    redis(line).or_else(|| access_log(line))
}

/// `1:M 11 Sep 2026 07:22:25.408 * message`: role M, S, C or X; `.` debug, `-` verbose, `*` notice, `#` warning.
fn redis(line: &[u8]) -> Option<Record> {
    let pid = scan::digits_end(line, 0);
    if line.get(pid) != Some(&b':')
        || !line.get(pid + 1)?.is_ascii_uppercase()
        || line.get(pid + 2) != Some(&b' ')
    {
        return None;
    }
    let stamp = stamp::stamp(line, pid + 3)?;
    let at = stamp.end + 1;
    let severity = match line.get(at)? {
        b'.' | b'-' => 5,
        b'*' => 10,
        b'#' => 13,
        _ => return None,
    };
    let mut record = Record {
        format: Format::Redis,
        confidence: 100,
        ..Record::default()
    };
    record.set(severity, Source::Header, Span::new(at, at + 1));
    record.timestamp = Span::new(pid + 3, stamp.end);
    record.thread = Span::new(0, pid);
    record.message = Span::new(scan::skip_spaces(line, at + 1), line.len());
    Some(record)
}

/// `10.0.0.1 - - [11/Sep/2026:07:22:25 +0000] "GET / HTTP/1.1" 200 2`: no level, whatever the status code says.
fn access_log(line: &[u8]) -> Option<Record> {
    let open = memchr::memchr(b'[', &line[..line.len().min(120)])?;
    if !scan::shaped(line, open + 1, b"00/") || !scan::shaped(line, open + 7, b"/0000:00:00:00 ") {
        return None;
    }
    let close = scan::find(line, open, b']')?;
    let message = Span::new(scan::skip_spaces(line, close + 1), line.len());
    Some(Record {
        confidence: 95,
        timestamp: Span::new(open + 1, close),
        ..Record::plain(Format::AccessLog, message)
    })
}

/// An indented line continues the one before, except where a right-aligned level pads with one space.
fn indented(line: &[u8], depth: u8) -> Option<Record> {
    if line[0] == b' ' && line.get(1).is_some_and(u8::is_ascii_uppercase) {
        let record = words::classify(&line[1..], depth).map(|record| record.shifted(1));
        if record.is_some_and(|record| record.severity != 0 && record.source != Source::Trace) {
            return record;
        }
    }
    let start = scan::skip_blanks(line, 0);
    // tracing's uptime is padded: `   0.000162091s  INFO target: message`.
    let seconds = scan::digits_end(line, start);
    if seconds > start && line.get(seconds) == Some(&b'.') {
        let end = scan::digits_end(line, seconds + 1);
        if scan::shaped(line, end, b"s ") {
            return bracket::since_start(line, Span::new(start, end), end + 1);
        }
    }
    if start == line.len() {
        return Some(Record::plain(Format::Empty, Span::default()));
    }
    Some(Record {
        confidence: 60,
        ..Record::plain(Format::Continuation, Span::new(0, line.len()))
    })
}

/// `=INFO REPORT==== 11-Sep-2026::07:22:25.408586 ===`
fn erlang(line: &[u8]) -> Option<Record> {
    let end = scan::letters_end(line, 1);
    let mut record = Record::plain(Format::ErlangReport, Span::default());
    record.confidence = 95;
    record.set(word(&line[1..end]), Source::Header, Span::new(1, end));
    (record.severity != 0 && line[end..].starts_with(b" REPORT====")).then_some(record)
}

#[cfg(test)]
mod tests;
