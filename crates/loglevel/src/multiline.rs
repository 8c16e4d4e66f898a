//! Which lines belong to one record: stack traces, indented blocks, klog's `key=<` values, two-line headers.
//!
//! [`Joiner::step`] looks at one classified line of a stream and says whether it joins the open record or starts a new
//! one. It holds no bytes: the caller keeps those. A record ends when a new head comes, when it has grown to its limits,
//! or when the stream has been silent for [`IDLE_MS`] (the caller asks [`Joiner::idle`]).
//!
//! A line joins when it is indented, when it begins like a stack frame or a cause, or when the open record expects it:
//! the lines of a `key=<` block up to ` >`, the frames of a goroutine dump, the last line of a traceback, the second line
//! of `java.util.logging` and of .NET's console logger. A line with a level of its own never joins.

use crate::{Format, Level, Record, Source};

/// Most lines of one record.
pub const LINES_MAX: u32 = 1000;
/// Most bytes of one record: 1 MiB.
pub const BYTES_MAX: usize = 1 << 20;
/// Silence after which a record is complete, in milliseconds.
pub const IDLE_MS: u64 = 500;

/// What to do with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It begins a new record; what was open is complete.
    Start,
    /// It belongs to the open record.
    Join,
}

/// The open record of one stream.
#[derive(Clone, Debug)]
pub struct Joiner {
    bytes_max: usize,
    open: Option<Open>,
}

impl Default for Joiner {
    fn default() -> Joiner {
        Joiner::new(BYTES_MAX)
    }
}

#[derive(Clone, Debug)]
struct Open {
    expects: Expects,
    format: Format,
    level: Level,
    source: Source,
    n_lines: u32,
    n_bytes: usize,
    last_ms: u64,
}

/// Lines without indentation that the open record takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expects {
    /// Only lines that show that they continue.
    Continuation,
    /// klog's `key=<` block, up to ` >`.
    Block,
    /// A goroutine dump: anything without a header.
    Goroutines,
    /// The line after the frames of a Python traceback: `ValueError: …`.
    PythonFrames,
    /// The second line of `java.util.logging`.
    JulLevel,
    /// The frames and causes of a Java, .NET or JavaScript exception.
    Frames,
}

impl Joiner {
    /// A joiner whose records have at most `bytes_max` bytes, and never more than [`BYTES_MAX`].
    pub fn new(bytes_max: usize) -> Joiner {
        Joiner {
            bytes_max: bytes_max.min(BYTES_MAX),
            open: None,
        }
    }

    /// Decides about the next line; `now_ms` is any clock that only this stream uses, in milliseconds.
    pub fn step(&mut self, line: &[u8], record: &Record, now_ms: u64) -> Step {
        let joins = self.open.as_ref().is_some_and(|open| {
            open.n_lines < LINES_MAX
                && open.n_bytes + line.len() < self.bytes_max
                && now_ms.saturating_sub(open.last_ms) <= IDLE_MS
                && open.takes(line, record)
        });
        if joins && let Some(open) = &mut self.open {
            open.n_lines += 1;
            open.n_bytes += line.len() + 1;
            open.last_ms = now_ms;
            open.learn(line, record);
            return Step::Join;
        }
        self.open = Some(Open {
            expects: expects(line, record),
            format: record.format,
            level: record.level,
            source: record.source,
            n_lines: 1,
            n_bytes: line.len(),
            last_ms: now_ms,
        });
        Step::Start
    }

    /// Whether the open record is complete because nothing came for [`IDLE_MS`].
    pub fn idle(&self, now_ms: u64) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| now_ms.saturating_sub(open.last_ms) > IDLE_MS)
    }

    /// Closes the open record: the next line starts a new one.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// How many lines the open record has.
    pub fn n_lines(&self) -> u32 {
        self.open.as_ref().map_or(0, |open| open.n_lines)
    }
}

impl Open {
    fn takes(&self, line: &[u8], record: &Record) -> bool {
        let header = matches!(
            record.source,
            Source::Header | Source::JsonKey | Source::Logfmt
        );
        match self.expects {
            Expects::Block => true,
            Expects::JulLevel if record.format == Format::Jul => true,
            // The runtime ends a dump by its own words, which no header opens.
            Expects::Goroutines => {
                !header && !matches!(record.format, Format::GoLog | Format::Dated)
            }
            Expects::PythonFrames if record.format == Format::Plain => true,
            // zap prints a stack trace below the line: names of functions, each with an indented file.
            _ if self.format == Format::ZapConsole && record.format == Format::Plain => {
                is_go_function(line)
            }
            Expects::Frames if record.format == Format::Plain => line.starts_with(b"Caused by"),
            _ if record.continues() => self.format != Format::Empty,
            _ => self.begins_trace(record),
        }
    }

    /// A trace without a header right after a record that has one: the logger printed the exception below its message.
    fn begins_trace(&self, record: &Record) -> bool {
        record.source == Source::Trace
            && matches!(
                record.format,
                Format::PythonTrace | Format::JavaTrace | Format::DotnetTrace
            )
            && matches!(self.source, Source::Header | Source::Token)
            && self.level >= Level::Warn
            && self.expects == Expects::Continuation
    }

    fn learn(&mut self, line: &[u8], record: &Record) {
        self.expects = match self.expects {
            Expects::Block if line.starts_with(b" >") => Expects::Continuation,
            Expects::Block => Expects::Block,
            Expects::PythonFrames if record.format == Format::Plain => Expects::Frames,
            Expects::JulLevel if record.format == Format::Jul => {
                self.level = record.level;
                self.source = Source::Header;
                Expects::Continuation
            }
            Expects::Goroutines => Expects::Goroutines,
            other if ends_in_block(line) => {
                if matches!(self.format, Format::Klog | Format::Glog) {
                    Expects::Block
                } else {
                    other
                }
            }
            other => match record.format {
                Format::PythonTrace => Expects::PythonFrames,
                Format::JavaTrace | Format::DotnetTrace | Format::NodeTrace => Expects::Frames,
                Format::GoPanic => Expects::Goroutines,
                _ => other,
            },
        };
    }
}

/// What a record that begins with this line may be followed by.
fn expects(line: &[u8], record: &Record) -> Expects {
    match record.format {
        Format::Klog | Format::Glog if ends_in_block(line) => Expects::Block,
        // klog's F lines are followed by a dump of all goroutines.
        Format::Klog | Format::Glog if record.level == Level::Critical => Expects::Goroutines,
        Format::GoPanic => Expects::Goroutines,
        Format::PythonTrace => Expects::PythonFrames,
        Format::Jul if record.severity == 0 => Expects::JulLevel,
        Format::JavaTrace | Format::DotnetTrace | Format::NodeTrace => Expects::Frames,
        _ => Expects::Continuation,
    }
}

/// `sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller[...]).Start.func2`
fn is_go_function(line: &[u8]) -> bool {
    line.contains(&b'.')
        && line.len() <= 512
        && line.first().is_some_and(u8::is_ascii_alphabetic)
        && line.iter().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'.' | b'/' | b'(' | b')' | b'*' | b'_' | b'-' | b'[' | b']'
                )
        })
}

/// klog opens a value of several lines with `key=<` at the end of the line.
fn ends_in_block(line: &[u8]) -> bool {
    line.strip_suffix(b"\r").unwrap_or(line).ends_with(b"=<")
}

#[cfg(test)]
mod tests;
