//! Counts of what was read.

use std::collections::BTreeMap;
use std::fmt::Write;

use flotilla_loglevel::cri::Stream;
use flotilla_loglevel::{FORMATS, Format, LEVELS, Level, Source};

use crate::entry::Entry;

/// Counts per level, format and source. Fixed size: every label comes from a closed set.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    counts: BTreeMap<(Format, Level, Source), u64>,
    n_records: u64,
    n_bytes: u64,
    n_multiline: u64,
    n_parts: u64,
    n_stderr: u64,
    n_misread: u64,
    n_quiet: u64,
}

impl Stats {
    /// Counts one record.
    pub fn count(&mut self, entry: &Entry<'_>) {
        let record = entry.record;
        *self
            .counts
            .entry((record.format, record.level, record.source))
            .or_default() += 1;
        self.n_records += 1;
        self.n_bytes += entry.bytes.len() as u64;
        self.n_multiline += u64::from(entry.bytes.len() > entry.head_end);
        self.n_parts += u64::from(entry.part.is_some());
        self.n_stderr += u64::from(entry.stream == Some(Stream::Stderr));
        self.n_misread += u64::from(entry.is_misread());
        self.n_quiet +=
            u64::from(entry.stream == Some(Stream::Stdout) && record.level >= Level::Warn);
    }

    /// How many records were counted.
    pub fn n_records(&self) -> u64 {
        self.n_records
    }

    /// The counts by format, most lines first.
    pub fn by_format(&self) -> Vec<(Format, u64)> {
        let mut list: Vec<_> = FORMATS
            .iter()
            .map(|format| (*format, self.sum(|(known, ..)| known == format)))
            .collect();
        list.retain(|(_, n)| *n > 0);
        list.sort_by_key(|(format, n)| (std::cmp::Reverse(*n), *format));
        list
    }

    fn sum(&self, keep: impl Fn(&(Format, Level, Source)) -> bool) -> u64 {
        self.counts
            .iter()
            .filter(|(key, _)| keep(key))
            .map(|(_, n)| n)
            .sum()
    }

    /// The table of `--stats`.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let share = |n: u64| 100.0 * n as f64 / self.n_records.max(1) as f64;
        let mut row = |kind: &str, name: &str, n: u64| {
            if n > 0 {
                let _ = writeln!(out, "{kind:8} {name:18} {n:>12} {:6.2} %", share(n));
            }
        };
        for level in LEVELS {
            row(
                "level",
                level.name(),
                self.sum(|(_, known, _)| *known == level),
            );
        }
        for (format, n) in self.by_format() {
            row("format", format.name(), n);
        }
        let sources = [
            Source::JsonKey,
            Source::Header,
            Source::Logfmt,
            Source::Token,
            Source::Trace,
            Source::Inherited,
            Source::Stream,
            Source::None,
        ];
        for source in sources {
            row(
                "source",
                source.name(),
                self.sum(|(.., known)| *known == source),
            );
        }
        let _ = writeln!(
            out,
            "{} records, {} bytes, {} of several lines, {} parts of longer lines",
            self.n_records, self.n_bytes, self.n_multiline, self.n_parts
        );
        if self.n_stderr > 0 {
            let _ = writeln!(
                out,
                "{} of {} records from stderr are no errors: a reader that trusts the stream shows them as errors",
                self.n_misread, self.n_stderr
            );
            let _ = writeln!(
                out,
                "{} warnings or worse from stdout would be shown as info",
                self.n_quiet
            );
        } else {
            let below = self.sum(|(_, level, _)| *level != Level::Unknown && *level < Level::Error);
            let _ = writeln!(
                out,
                "if all this came from stderr, {below} records would wrongly be shown as errors"
            );
        }
        out
    }
}
