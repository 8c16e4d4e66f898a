//! `flotilla logs formats FILE`: what was detected, how surely, and one example line of each.

use std::collections::BTreeMap;
use std::fmt::Write;

use flotilla_loglevel::Format;

use crate::entry::Entry;

/// What is known about one format of an input.
#[derive(Clone, Debug, Default)]
struct Seen {
    n_records: u64,
    confidence: u64,
    levels: BTreeMap<&'static str, u64>,
    example: String,
}

/// The formats of one input.
#[derive(Clone, Debug, Default)]
pub struct Detected {
    seen: BTreeMap<Format, Seen>,
    n_records: u64,
}

/// Longest example; the rest of the line is cut.
const EXAMPLE_CHARS: usize = 120;

impl Detected {
    /// Counts one record.
    pub fn count(&mut self, entry: &Entry<'_>) {
        let record = entry.record;
        let seen = self.seen.entry(record.format).or_default();
        seen.n_records += 1;
        seen.confidence += u64::from(record.confidence);
        *seen.levels.entry(record.level.name()).or_default() += 1;
        if seen.example.is_empty() {
            let text = String::from_utf8_lossy(entry.head());
            seen.example = text
                .chars()
                .map(|char| if char.is_control() { ' ' } else { char })
                .take(EXAMPLE_CHARS)
                .collect();
        }
        self.n_records += 1;
    }

    /// The table, most records first.
    pub fn render(&self) -> String {
        let mut list: Vec<_> = self.seen.iter().collect();
        list.sort_by_key(|(format, seen)| (std::cmp::Reverse(seen.n_records), **format));
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{:18} {:>10} {:>8} {:>10}  levels",
            "format", "records", "share", "confidence"
        );
        for (format, seen) in list {
            let levels: Vec<_> = seen
                .levels
                .iter()
                .map(|(level, n)| format!("{level} {n}"))
                .collect();
            let share = 100.0 * seen.n_records as f64 / self.n_records.max(1) as f64;
            let confidence = seen.confidence / seen.n_records;
            let _ = writeln!(
                out,
                "{:18} {:>10} {share:>6.2} % {confidence:>8} %  {}",
                format.name(),
                seen.n_records,
                levels.join(", ")
            );
            let _ = writeln!(out, "    {}", seen.example);
        }
        out
    }
}
