//! Mutates the fuzz seeds for a number of seconds on a stable compiler: `cargo run --release --example fuzz -- 900`.
//!
//! Blind where cargo-fuzz is guided by coverage, but it runs everywhere. A failure prints the input.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use flotilla_loglevel::fuzz;

/// A small generator; the seed is printed, so a run can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

#[expect(clippy::disallowed_methods, reason = "a run is limited in time")]
#[expect(clippy::print_stdout, reason = "this program prints its result")]
fn main() -> ExitCode {
    let number = |index: usize, default: u64| {
        std::env::args()
            .nth(index)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let (seconds, seed) = (number(1, 10), number(2, 0x5eed));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let mut seeds: Vec<Vec<u8>> = fs::read_dir(folder)
        .expect("the seeds are part of the repository")
        .filter_map(|entry| fs::read(entry.ok()?.path()).ok())
        .collect();
    seeds.sort();
    type Body = (&'static str, fn(&[u8]));
    let bodies: [Body; 4] = [
        ("classify", fuzz::classify_any),
        ("multiline", fuzz::multiline_any),
        ("cri", fuzz::cri_any),
        ("chunks", fuzz::chunks_any),
    ];
    let (mut random, start, mut n_runs) = (Random(seed | 1), Instant::now(), 0u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        let data = mutated(&seeds, &mut random);
        for (name, body) in bodies {
            if catch_unwind(|| body(&data)).is_err() {
                println!("{name} fails on {:?}", data.escape_ascii().to_string());
                return ExitCode::FAILURE;
            }
            n_runs += 1;
        }
    }
    println!("{n_runs} runs in {seconds} s, seed {seed}: clean");
    ExitCode::SUCCESS
}

fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    const TOKENS: [&[u8]; 12] = [
        b"\n",
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b"=",
        b"\x1b[",
        b"I0911 07:22:25.408586 1 ",
        b"2026-09-11T07:22:25Z ",
        b"\0",
    ];
    let mut data = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(8) {
        let at = random.below(data.len() + 1);
        match random.below(6) {
            0 => data.truncate(at),
            1 => data.insert(at, random.below(256) as u8),
            2 if at < data.len() => data[at] ^= 1 << random.below(8),
            3 => {
                let token = TOKENS[random.below(TOKENS.len())];
                data.splice(at..at, token.iter().copied());
            }
            4 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let end = (from + random.below(60)).min(other.len());
                data.splice(at..at, other[from..end].iter().copied());
            }
            _ => {
                let end = (at + random.below(20)).min(data.len());
                data.drain(at..end);
            }
        }
    }
    data
}
