//! Signatures of panics, tracebacks and exceptions that stand without a log header.
//!
//! These are fixed texts that runtimes print, matched at the start of the line only.

use crate::Format;
use crate::record::{Record, Source, Span};

/// First texts of a dump, with their format and severity.
const HEADS: &[(&[u8], Format, u8)] = &[
    (b"panic: ", Format::GoPanic, 21),
    (b"fatal error: ", Format::GoPanic, 21),
    (b"goroutine ", Format::GoPanic, 21),
    (b"unexpected fault address ", Format::GoPanic, 21),
    (b"SIGSEGV: segmentation violation", Format::GoPanic, 21),
    (b"SIGQUIT: quit", Format::GoPanic, 21),
    (
        b"Traceback (most recent call last):",
        Format::PythonTrace,
        17,
    ),
    (b"Exception in thread ", Format::JavaTrace, 17),
    (
        b"Exception Group Traceback (most recent call last):",
        Format::PythonTrace,
        17,
    ),
    (b"Fatal Python error: ", Format::PythonTrace, 21),
    (b"Unhandled exception", Format::DotnetTrace, 21),
    (b"Unhandled Exception:", Format::DotnetTrace, 21),
    (b"Uncaught ", Format::NodeTrace, 17),
    (b"UnhandledPromiseRejection", Format::NodeTrace, 17),
    (b"node:internal/", Format::NodeTrace, 17),
    (b"Segmentation fault", Format::GoPanic, 21),
];

/// First texts of lines that only continue a dump.
const CONTINUES: &[&[u8]] = &[
    b"Caused by: ",
    b"at ",
    b"created by ",
    b"Suppressed: ",
    b"exit status ",
    b"During handling of the above exception, another exception occurred:",
    b"The above exception was the direct cause of the following exception:",
    b"--- End of ",
    b"stack backtrace:",
];

/// The record of a line that begins like a dump; `None` for anything else.
pub(crate) fn classify(line: &[u8]) -> Option<Record> {
    let first = *line.first()?;
    let head = HEADS
        .iter()
        .find(|(text, ..)| text[0] == first && line.starts_with(text));
    if let Some((text, format, severity)) = head {
        if *text == b"goroutine " && !is_goroutine(line) {
            return None;
        }
        return Some(signature(line, *format, *severity));
    }
    if CONTINUES
        .iter()
        .any(|text| text[0] == first && line.starts_with(text))
        && (first != b'a' || is_frame(line))
    {
        return Some(Record {
            confidence: 60,
            ..Record::plain(Format::Continuation, Span::new(0, line.len()))
        });
    }
    if is_rust_panic(line) {
        return Some(signature(line, Format::RustPanic, 21));
    }
    exception(line)
}

fn signature(line: &[u8], format: Format, severity: u8) -> Record {
    let mut record = Record {
        confidence: 85,
        ..Record::plain(format, Span::new(0, line.len()))
    };
    record.set(severity, Source::Trace, Span::default());
    record
}

/// `goroutine 1 [running]:`
fn is_goroutine(line: &[u8]) -> bool {
    let digits = crate::scan::digits_end(line, 10);
    digits > 10 && line.get(digits..digits + 2) == Some(b" [")
}

/// `at com.example.Main.run(Main.java:12)`, not `at least once`.
fn is_frame(line: &[u8]) -> bool {
    line.ends_with(b")") && line.contains(&b'(')
        || line.contains(&b':') && !line[3..].contains(&b' ')
}

/// `thread 'main' panicked at src/main.rs:1:2:`, since Rust 1.90 with a number behind the name.
fn is_rust_panic(line: &[u8]) -> bool {
    line.starts_with(b"thread '")
        && memchr::memmem::find(&line[..line.len().min(160)], b" panicked at ").is_some()
}

/// `java.lang.IllegalStateException: message`: a dotted name whose last part begins with a capital and ends in
/// `Exception`, `Error` or `Throwable`.
fn exception(line: &[u8]) -> Option<Record> {
    let end = line
        .iter()
        .take(200)
        .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$')))
        .unwrap_or(line.len().min(200));
    if !matches!(line.get(end), None | Some(b':')) {
        return None;
    }
    let name = &line[..end];
    let dot = name.iter().rposition(|byte| *byte == b'.')?;
    let class = &name[dot + 1..];
    let is_class = class.first().is_some_and(u8::is_ascii_uppercase)
        && [b"Exception".as_slice(), b"Error", b"Throwable"]
            .iter()
            .any(|suffix| class.ends_with(suffix));
    let format = if name.starts_with(b"System.") {
        Format::DotnetTrace
    } else {
        Format::JavaTrace
    };
    is_class.then(|| signature(line, format, 17))
}
