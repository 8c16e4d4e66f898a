//! Figures, collected and printed as one table.

use std::time::Duration;

/// What was measured.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    what: String,
    value: String,
    target: String,
}

impl Report {
    /// Adds a figure; `target` is empty when there is none.
    pub(crate) fn add(&mut self, what: impl Into<String>, value: String, target: &str) {
        let row = Row {
            what: what.into(),
            value,
            target: target.to_owned(),
        };
        eprintln!("  {}: {}", row.what, row.value);
        self.rows.push(row);
    }

    /// Says what the figures after it are about.
    pub(crate) fn heading(&mut self, text: &str) {
        self.add(text, String::new(), "");
    }

    /// Adds the median, the 99th percentile and the largest of some times.
    pub(crate) fn times(&mut self, what: &str, mut times: Vec<Duration>, target: &str) {
        times.sort();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let value = format!(
            "p50 {} p99 {} max {} (n {})",
            shown(at(0.5)),
            shown(at(0.99)),
            shown(at(1.0)),
            times.len()
        );
        self.add(what, value, target);
    }

    /// Prints the rows for another process to take over.
    pub(crate) fn print_rows(&self) {
        #[expect(clippy::print_stdout, reason = "the rows are the program's answer")]
        for row in &self.rows {
            println!("{}\t{}\t{}", row.what, row.value, row.target);
        }
    }

    /// Takes over what [`Report::print_rows`] of another process printed.
    pub(crate) fn take_rows(&mut self, text: &str) {
        for line in text.lines() {
            let mut parts = line.split('\t').map(str::to_owned);
            if let (Some(what), Some(value), Some(target)) =
                (parts.next(), parts.next(), parts.next())
            {
                self.rows.push(Row {
                    what,
                    value,
                    target,
                });
            }
        }
    }

    /// Prints the table as Markdown, ready for docs/performance.md.
    pub(crate) fn print(&self) {
        #[expect(clippy::print_stdout, reason = "the table is the program's answer")]
        {
            println!("| figure | value | target |\n|---|---|---|");
            for row in &self.rows {
                println!("| {} | {} | {} |", row.what, row.value, row.target);
            }
        }
    }
}

/// A time with three significant digits or so.
pub(crate) fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        m if m < 1e3 => format!("{m:.0} µs"),
        m if m < 1e6 => format!("{:.1} ms", m / 1e3),
        m => format!("{:.2} s", m / 1e6),
    }
}
