//! Runs Rust's loggers and keeps what they wrote.

use std::fs;
use std::io::{self, Write};
use std::process::Command;
use std::sync::{Arc, Mutex};

const N: usize = 600;

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn save(folder: &str, name: &str, labels: &[&str], sink: &Sink, mut call: impl FnMut(usize, usize)) {
    let mut out = String::new();
    for i in 0..N {
        call(i, i % labels.len());
        let text = String::from_utf8(std::mem::take(&mut *sink.0.lock().unwrap())).unwrap();
        for line in text.trim_end_matches('\n').split('\n') {
            out += &format!("{}\t{line}\n", labels[i % labels.len()]);
        }
    }
    let path = format!("{folder}/{name}");
    fs::write(&path, out).unwrap();
    assert!(Command::new("gzip").args(["-9nf", &path]).status().unwrap().success());
}

const LABELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

fn event(k: usize, i: usize, text: &str) {
    let _span = (i % 3 == 0).then(|| tracing::info_span!("request", id = i, kind = "error").entered());
    match k {
        0 => tracing::trace!(n = i, "{text}"),
        1 => tracing::debug!("{text}"),
        2 => tracing::info!(status = "error", "{text}"),
        3 => tracing::warn!("{text}"),
        _ => tracing::error!(error = "level=info", "{text}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let messages: Vec<String> = fs::read_to_string(&arguments[1]).unwrap().trim().lines().map(str::to_owned).collect();
    let folder = &arguments[2];
    let message = |i: usize| messages[i * 7 % messages.len()].clone();

    for (name, kind) in [("tracing", 0), ("tracing-color", 1), ("tracing-json", 2), ("tracing-uptime", 3)] {
        let sink = Sink::default();
        let writer = sink.clone();
        let base = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone());
        let run = || save(folder, name, &LABELS, &sink, |i, k| event(k, i, &message(i)));
        match kind {
            0 => tracing::subscriber::with_default(base.with_ansi(false).finish(), run),
            1 => tracing::subscriber::with_default(base.with_ansi(true).finish(), run),
            2 => tracing::subscriber::with_default(base.json().finish(), run),
            _ => {
                let uptime = tracing_subscriber::fmt::time::uptime();
                tracing::subscriber::with_default(base.with_ansi(false).with_timer(uptime).finish(), run);
            }
        }
    }

    let sink = Sink::default();
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Trace)
        .target(env_logger::Target::Pipe(Box::new(sink.clone())))
        .init();
    let levels = [log::Level::Trace, log::Level::Debug, log::Level::Info, log::Level::Warn, log::Level::Error];
    save(folder, "env-logger", &LABELS, &sink, |i, k| log::log!(levels[k], "{}", message(i)));

    let sink = Sink::default();
    let drain = slog_term::FullFormat::new(slog_term::PlainSyncDecorator::new(sink.clone())).build();
    let root = slog::Logger::root(slog::Fuse(drain), slog::o!("app" => "error"));
    let labels = ["debug", "info", "warn", "error", "critical"];
    save(folder, "slog-rs", &labels, &sink, |i, k| match k {
        0 => slog::debug!(root, "{}", message(i); "n" => i),
        1 => slog::info!(root, "{}", message(i)),
        2 => slog::warn!(root, "{}", message(i)),
        3 => slog::error!(root, "{}", message(i)),
        _ => slog::crit!(root, "{}", message(i)),
    });
}
