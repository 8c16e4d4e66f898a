//! How fast one core reads levels and writes JSON; `cargo xtask bench logs` prints it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use flotilla_loglevel::time::Context;
use flotilla_loglevel::{Hint, classify};

use crate::output::{self, Output};
use crate::stream::{Stream, Wrapper};

/// One measurement.
#[derive(Clone, Debug)]
pub struct Rate {
    /// What was measured.
    pub name: String,
    /// Input bytes per second.
    pub bytes_per_second: f64,
    /// Input lines per second.
    pub lines_per_second: f64,
}

/// Measures cutting and classifying lines, for about `budget`.
pub fn classify_rate(name: &str, text: &[u8], budget: Duration) -> Rate {
    measure(name, text, budget, || {
        let mut hint = Hint::default();
        let mut sum = 0u64;
        for line in lines(text) {
            let record = classify(line, &hint);
            hint.learn(&record);
            sum += u64::from(record.severity) + u64::from(record.message.end);
        }
        black_box(sum);
    })
}

/// Measures the whole way from bytes to JSON records, for about `budget`.
pub fn json_rate(name: &str, text: &[u8], budget: Duration) -> Rate {
    let mut out = Vec::with_capacity(1 << 20);
    measure(name, text, budget, || {
        let context = Context {
            observed: Some(1_789_111_345_000_000_000),
            zone_seconds: Some(0),
        };
        let mut stream = Stream::new(Wrapper::Detect, context).with_notes();
        for block in text.chunks(256 << 10) {
            out.clear();
            stream.push(block, 0, |entry| {
                output::write(entry, &Output::Json, &[], &mut out)
            });
            black_box(&out);
        }
        out.clear();
        stream.finish(0, |entry| {
            output::write(entry, &Output::Json, &[], &mut out)
        });
    })
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest)?;
        let line = &rest[..end];
        rest = &rest[end + 1..];
        Some(line)
    })
}

#[expect(clippy::disallowed_methods, reason = "measuring is what this is for")]
fn measure(name: &str, text: &[u8], budget: Duration, mut once: impl FnMut()) -> Rate {
    once();
    let start = Instant::now();
    let mut rounds = Vec::new();
    while rounds.is_empty() || start.elapsed() < budget {
        // Time on the processor, so that a busy machine does not look like a slow program.
        let before = cpu_time();
        once();
        rounds.push(cpu_time() - before);
    }
    // The round in the middle: what others do to the caches slows some rounds down, and none up.
    rounds.sort();
    let seconds = rounds[rounds.len() / 2].as_secs_f64();
    Rate {
        name: name.to_owned(),
        bytes_per_second: text.len() as f64 / seconds,
        lines_per_second: lines(text).count() as f64 / seconds,
    }
}

/// Time this thread has spent on a processor, to the nanosecond: what /proc says is only brought up to date by the timer,
/// every few milliseconds, which is as long as a round.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests;
