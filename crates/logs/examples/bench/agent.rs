//! From files to an OTLP sink: this program again as the agent, measured from outside.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use rustix::process::{Pid, Signal, kill_process};

/// What the sink may take at most for all files; longer means that something is broken.
const PATIENCE: Duration = Duration::from_secs(120);
/// Kernel ticks in a second, as /proc/PID/stat counts them.
const TICKS: f64 = 100.0;

const LINE: &str = "2026-09-11T07:22:25.408586123Z stderr F I0911 07:22:25.408586       1 controller.go:930] \
    \"Successfully synced\" namespace=\"default\" name=\"web-0\" generation=4 duration=\"12.3ms\"\n";

/// Is the agent, until told to end.
pub(crate) fn run(config: &str) -> io::Result<()> {
    let args = flotilla_logs::cli::Args::parse_from(["logs", "agent", "--config", config]);
    flotilla_logs::cli::run(&args)
        .map(drop)
        .map_err(io::Error::other)
}

/// What an agent took for its work.
pub(crate) struct Measured {
    pub(crate) n_bytes: u64,
    pub(crate) wall: Duration,
    /// Processor time of the agent alone.
    pub(crate) used: Duration,
    pub(crate) resident_kib_max: u64,
}

/// Ships `n_bytes` of klog lines from `n_files` files, with an agent as a child.
#[expect(clippy::disallowed_methods, reason = "measuring is what this is for")]
pub(crate) fn measure(n_files: u64, n_bytes: u64) -> io::Result<Measured> {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    let n_lines = (n_bytes / n_files / LINE.len() as u64).max(1);
    let text = LINE.repeat(n_lines as usize);
    for n in 0..n_files {
        let logs = root.join(format!("pods/default_web-{n}_uid-{n}/main"));
        fs::create_dir_all(&logs)?;
        fs::write(logs.join("0.log"), &text)?;
    }
    let (port, n_taken) = sink()?;
    let config = root.join("agent.yaml");
    let text = format!(
        "directories: [{0}/pods]\ncheckpoint: {0}/at.json\nsink:\n  otlp: {{endpoint: 'http://127.0.0.1:{port}'}}\n",
        root.display()
    );
    fs::write(&config, text)?;
    let start = Instant::now();
    let mut child = Command::new(std::env::current_exe()?)
        .arg("agent-child")
        .arg(&config)
        .stdin(Stdio::null())
        .spawn()?;
    let mut resident_kib_max = 0;
    while n_taken.load(Ordering::Relaxed) < n_files * n_lines && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
        resident_kib_max = resident_kib_max.max(resident_kib(&child));
    }
    let wall = start.elapsed();
    let used = processor_time(&child);
    kill_process(Pid::from_child(&child), Signal::TERM)?;
    child.wait()?;
    Ok(Measured {
        n_bytes: n_taken.load(Ordering::Relaxed) * LINE.len() as u64,
        wall,
        used,
        resident_kib_max,
    })
}

fn proc(child: &Child, file: &str) -> String {
    fs::read_to_string(Path::new("/proc").join(child.id().to_string()).join(file))
        .unwrap_or_default()
}

fn resident_kib(child: &Child) -> u64 {
    let text = proc(child, "statm");
    text.split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0)
        * 4
}

fn processor_time(child: &Child) -> Duration {
    let text = proc(child, "stat");
    let ticks: f64 = text
        .split(' ')
        .skip(13)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum();
    Duration::from_secs_f64(ticks / TICKS)
}

/// A sink that takes everything and counts the records it gets.
fn sink() -> io::Result<(u16, Arc<AtomicU64>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let n_taken = Arc::new(AtomicU64::new(0));
    let counter = n_taken.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let counter = counter.clone();
            std::thread::spawn(move || take(stream?, &counter));
        }
    });
    Ok((port, n_taken))
}

fn take(stream: TcpStream, counter: &AtomicU64) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(256 << 10, stream.try_clone()?);
    let mut writer = stream;
    let mut body = Vec::new();
    let message = memchr::memmem::Finder::new("Successfully synced");
    loop {
        let (mut line, mut n_bytes) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let header = line.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                n_bytes = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        body.resize(n_bytes, 0);
        reader.read_exact(&mut body)?;
        counter.fetch_add(message.find_iter(&body).count() as u64, Ordering::Relaxed);
        writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
    }
}
