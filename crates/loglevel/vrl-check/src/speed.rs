//! VRL and ours over the same lines, on one core: from a line to its level, which is what both are asked for.
//!
//! In the first rows VRL gets the parser of the format and takes the level out of what it returns as it stands, so it need not find
//! out which format a line has, nor what the level means; ours always does. The rows with `found` and the last one ask VRL the
//! same: it runs the exported program.

use std::hint::black_box;
use std::time::{Duration, Instant};

use flotilla_logs::bench::{classify_rate, json_rate};
use flotilla_logs::export::{Target, render};

use crate::corpus::File;
use crate::rules::{Vrl, event};

const BUDGET: Duration = Duration::from_secs(2);
/// Lines of one round.
const LINES: usize = 20_000;

/// Prints a row for each parser.
pub(crate) fn print(files: &[File]) {
    let klog = |name: &str| name.starts_with("klog") || name == "glog-go";
    let json = |name: &str| {
        name.contains("json") || ["pino", "bunyan", "ecs", "gelf", "mongodb"].contains(&name)
    };
    let logfmt = |name: &str| {
        name.contains("logrus-text") || name.starts_with("go-kit") || name == "slog-text"
    };
    let is_klog = |line: &str| line.starts_with(['I', 'W', 'E', 'F']);
    println!(
        "{:13} {:>11} {:>13} {:>8} {:>10} {:>8}",
        "", "VRL", "classify", "", "to JSON", ""
    );
    let exported = render(Target::Vector);
    let [klog, json, logfmt] = [
        lines(files, klog, is_klog),
        lines(files, json, |line| line.starts_with('{')),
        lines(files, logfmt, |_| true),
    ];
    row("klog", ".level = parse_klog!(.message).level", &klog);
    row(
        "json",
        "parsed = parse_json!(.message); .level = parsed.level",
        &json,
    );
    row("logfmt", ".level = parse_logfmt!(.message).level", &logfmt);
    row("klog, found", &exported, &klog);
    row("json, found", &exported, &json);
    row("logfmt, found", &exported, &logfmt);
    // Some lines of every format.
    let all: Vec<_> = files
        .iter()
        .flat_map(|file| file.lines.iter().take(LINES / files.len()))
        .map(String::as_str)
        .collect();
    row("all", &exported, &all);
}

fn lines<'a>(
    files: &'a [File],
    keep: impl Fn(&str) -> bool,
    is_head: impl Fn(&str) -> bool,
) -> Vec<&'a str> {
    let lines: Vec<_> = files
        .iter()
        .filter(|file| keep(&file.name))
        .flat_map(|file| &file.lines)
        .map(String::as_str)
        .filter(|line| is_head(line))
        .collect();
    lines.iter().copied().cycle().take(LINES).collect()
}

fn row(name: &str, source: &str, lines: &[&str]) {
    let text: String = lines.iter().flat_map(|line| [*line, "\n"]).collect();
    let theirs = vrl_rate(source, lines, text.len());
    let classified = classify_rate(name, text.as_bytes(), BUDGET).bytes_per_second;
    let written = json_rate(name, text.as_bytes(), BUDGET).bytes_per_second;
    println!(
        "{name:13} {:6.2} MB/s {:8.0} MB/s {:6.0} × {:5.0} MB/s {:6.1} ×",
        theirs / 1e6,
        classified / 1e6,
        classified / theirs,
        written / 1e6,
        written / theirs
    );
}

/// Bytes per second of a VRL expression; the events stand ready, only the expression is measured.
fn vrl_rate(source: &str, lines: &[&str], n_bytes: usize) -> f64 {
    let program = Vrl::new(source);
    let mut events: Vec<_> = lines.iter().map(|line| event(line)).collect();
    let (start, used) = (Instant::now(), processor_time());
    let mut n_rounds = 0;
    while n_rounds == 0 || start.elapsed() < BUDGET {
        for event in &mut events {
            black_box(program.run(event));
        }
        n_rounds += 1;
    }
    let seconds = (processor_time() - used).as_secs_f64();
    n_bytes as f64 * f64::from(n_rounds) / seconds
}

/// Time this thread has spent on a processor, so that a busy machine does not look like a slow program.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("a number comes first"))
}
