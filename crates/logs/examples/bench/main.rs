//! Prints how fast one core reads levels and writes JSON, on the labelled corpus, and how fast the agent ships.
//! Build with `--release`. An argument chooses one row: `klog`, `json`, `logfmt`, `mixed corpus` or `agent`.

mod agent;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::read::GzDecoder;
use flotilla_logs::bench::{Rate, classify_rate, json_rate};

/// Text of one round: beyond the second-level cache, yet short enough that some rounds run undisturbed.
const TEXT_BYTES: usize = 8 << 20;
const BUDGET: Duration = Duration::from_secs(2);

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let only = args.next();
    if only.as_deref() == Some("agent-child") {
        return agent::run(&args.next().unwrap_or_default());
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../loglevel/corpus");
    let mut files: Vec<PathBuf> = Vec::new();
    for kind in ["real", "written"] {
        for entry in fs::read_dir(corpus.join(kind))? {
            files.push(entry?.path());
        }
    }
    files.sort();
    let text = |keep: &dyn Fn(&str) -> bool| -> std::io::Result<Vec<u8>> {
        let mut lines = Vec::new();
        for path in &files {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            if keep(&name) {
                unpack(path, &mut lines)?;
            }
        }
        Ok(lines.repeat(TEXT_BYTES / lines.len() + 1))
    };
    // Heads of klog lines, without the short lines of value blocks.
    let mut klog = text(&|name| name.starts_with("klog") || name == "glog-go")?;
    klog = klog
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line[0].is_ascii_uppercase())
        .collect::<Vec<_>>()
        .concat();
    let json = text(&|name| {
        name.contains("json") || ["pino", "bunyan", "ecs", "gelf", "mongodb"].contains(&name)
    })?;
    let logfmt = text(&|name| {
        name.contains("logrus-text") || name.starts_with("go-kit") || name == "slog-text"
    })?;
    let mixed = text(&|_| true)?;
    let texts = [
        ("klog", klog),
        ("json", json),
        ("logfmt", logfmt),
        ("mixed corpus", mixed),
    ];
    for (name, text) in &texts {
        if only.as_ref().is_none_or(|only| only == name) {
            print("classify", &classify_rate(name, text, BUDGET));
            print("to JSON", &json_rate(name, text, BUDGET));
        }
    }
    if only.is_none_or(|only| only == "agent") {
        for (n_files, n_bytes) in [(1, 400_000_000), (10_000, 200_000_000)] {
            print_agent(n_files, &agent::measure(n_files, n_bytes)?);
        }
    }
    Ok(())
}

/// Appends the lines of a corpus file, without their labels.
fn unpack(path: &Path, lines: &mut Vec<u8>) -> std::io::Result<()> {
    let mut text = Vec::new();
    GzDecoder::new(fs::File::open(path)?).read_to_end(&mut text)?;
    for row in text.split_inclusive(|byte| *byte == b'\n') {
        let tab = row
            .iter()
            .position(|byte| *byte == b'\t')
            .map_or(0, |tab| tab + 1);
        lines.extend_from_slice(&row[tab..]);
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "this program prints its result")]
fn print(what: &str, rate: &Rate) {
    println!(
        "{what:9} {:14} {:8.0} MB/s {:8.2} M lines/s",
        rate.name,
        rate.bytes_per_second / 1e6,
        rate.lines_per_second / 1e6
    );
}

#[expect(clippy::print_stdout, reason = "this program prints its result")]
fn print_agent(n_files: u64, measured: &agent::Measured) {
    let megabytes = measured.n_bytes as f64 / 1e6;
    println!(
        "to OTLP   {n_files:6} files   {:8.0} MB/s, {:.0} MB per second of processor, {:.1} MiB resident",
        megabytes / measured.wall.as_secs_f64(),
        megabytes / measured.used.as_secs_f64(),
        measured.resident_kib_max as f64 / 1024.0
    );
}
