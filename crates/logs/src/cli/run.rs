//! Runs `flotilla logs`: reads, filters, writes.

use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result};
use flotilla_loglevel::Level;
use flotilla_loglevel::time::{Context, Nanos};
use tokio::signal::unix::{SignalKind, signal};

use super::{Args, Command, OutputKind, Show, StreamDefault, When};
use crate::agent::config::Config;
use crate::entry::Entry;
use crate::filter::{self, Condition, Levels};
use crate::formats::Detected;
use crate::input::{self, Follower, Read1};
use crate::output::{self, Output, Template};
use crate::stats::Stats;
use crate::stream::{Stream, Wrapper};

/// Bytes read at once.
const BLOCK_BYTES: usize = 256 << 10;
/// Output is written when this much has gathered, or when the input pauses.
const OUTPUT_BYTES: usize = 64 << 10;
/// How often a followed file is looked at.
const POLL: Duration = Duration::from_millis(200);

/// Runs the command. A closed pipe on standard output ends it quietly.
///
/// # Errors
/// Arguments that cannot be read, and files that cannot be opened or read; all of them are named.
pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.command {
        Some(Command::Formats { files }) => formats(files),
        Some(Command::Export { to }) => print(crate::export::render(*to).as_bytes()),
        Some(Command::Agent { config, check }) => agent(config, *check),
        None => show(&args.files, &args.show),
    }
}

fn print(text: &[u8]) -> Result<ExitCode> {
    match io::stdout().lock().write_all(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn formats(files: &[std::path::PathBuf]) -> Result<ExitCode> {
    let mut detected = Detected::default();
    for path in files {
        let mut stream = Stream::new(Wrapper::Detect, context(path));
        let clock = Clock::start();
        let mut reader = reader(path)?;
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let n_read = reader
                .read(&mut block)
                .with_context(|| format!("cannot read {}", path.display()))?;
            if n_read == 0 {
                break;
            }
            stream.push(&block[..n_read], clock.ms(), |entry| detected.count(entry));
        }
        stream.finish(clock.ms(), |entry| detected.count(entry));
    }
    print(detected.render().as_bytes())
}

/// Runs the agent until a terminating signal comes.
fn agent(path: &Path, check: bool) -> Result<ExitCode> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let config =
        Config::parse(&text).with_context(|| format!("{} is not right", path.display()))?;
    if check {
        return Ok(ExitCode::SUCCESS);
    }
    // Two threads: one reads, one delivers.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::spawn(async move {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            // Nobody listens any more when the agent has already ended.
            let _ = stop.send(true);
        });
        tokio::spawn(crate::agent::run(config, stopped))
            .await?
            .context("the agent has ended")
    })?;
    Ok(ExitCode::SUCCESS)
}

fn show(files: &[std::path::PathBuf], show: &Show) -> Result<ExitCode> {
    let mut printer = Printer::new(show)?;
    let done = if show.follow {
        follow(files, show, &mut printer)
    } else {
        once(files, show, &mut printer)
    };
    match done.and_then(|()| printer.end()) {
        Err(error) if is_closed_pipe(&error) => {}
        other => other?,
    }
    Ok(if printer.failed {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn once(files: &[std::path::PathBuf], show: &Show, printer: &mut Printer) -> Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    let clock = Clock::start();
    for path in files {
        let mut reader = reader(path)?;
        let mut stream = stream(path, show);
        loop {
            let n_read = match reader.read(&mut block) {
                Ok(n_read) => n_read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot read {}", path.display()));
                }
            };
            if n_read == 0 {
                break;
            }
            stream.push(&block[..n_read], clock.ms(), |entry| printer.take(entry));
            // A pipe that gave less than it could is waiting for its writer: show what there is.
            printer.write(n_read < BLOCK_BYTES && path == Path::new("-"))?;
        }
        stream.finish(clock.ms(), |entry| printer.take(entry));
        printer.write(false)?;
    }
    Ok(())
}

fn follow(files: &[std::path::PathBuf], show: &Show, printer: &mut Printer) -> Result<()> {
    let mut followed: Vec<_> = files
        .iter()
        .map(|path| (Follower::new(path.clone(), 0), stream(path, show)))
        .collect();
    let mut block = vec![0; BLOCK_BYTES];
    let clock = Clock::start();
    loop {
        let mut is_quiet = true;
        for (follower, stream) in &mut followed {
            let path = follower.path().to_owned();
            match follower
                .read(&mut block)
                .with_context(|| format!("cannot read {}", path.display()))?
            {
                Read1::Data(n_read) => {
                    is_quiet = false;
                    stream.push(&block[..n_read], clock.ms(), |entry| printer.take(entry));
                }
                Read1::Rotated => {
                    is_quiet = false;
                    stream.finish(clock.ms(), |entry| printer.take(entry));
                }
                Read1::Nothing => stream.idle(clock.ms(), |entry| printer.take(entry)),
            }
            printer.write(is_quiet)?;
        }
        if is_quiet {
            printer.write(true)?;
            std::thread::sleep(POLL);
        }
    }
}

fn stream(path: &Path, show: &Show) -> Stream {
    let stream = Stream::new(Wrapper::Detect, context(path)).with_notes();
    match show.default_level {
        StreamDefault::Unknown => stream,
        StreamDefault::Stream => stream.with_defaults(Level::Info, Level::Error),
    }
}

fn reader(path: &Path) -> Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    input::open(path).with_context(|| format!("cannot open {}", path.display()))
}

/// Timestamps without a year are near the file's last change, or near now; without a zone they are UTC.
fn context(path: &Path) -> Context {
    #[expect(
        clippy::disallowed_methods,
        reason = "a pipe's lines are from about now"
    )]
    let now = SystemTime::now();
    let changed = std::fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .unwrap_or(now);
    let nanos = changed
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
        .and_then(|since| Nanos::try_from(since.as_nanos()).ok());
    Context {
        observed: nanos,
        zone_seconds: Some(0),
    }
}

/// The steady clock behind multi-line joining.
struct Clock(Instant);

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "silence between lines is measured here"
    )]
    fn start() -> Clock {
        Clock(Instant::now())
    }

    fn ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}

/// Filters, counts and writes records.
struct Printer {
    levels: Levels,
    condition: Option<Condition>,
    fail_on: Option<Level>,
    output: Output,
    fields: Vec<String>,
    stats: Option<Stats>,
    out: Vec<u8>,
    failed: bool,
    eager: bool,
}

impl Printer {
    fn new(show: &Show) -> Result<Printer> {
        let terminal = io::stdout().is_terminal();
        let color = match show.color {
            When::Auto => terminal,
            When::Always => true,
            When::Never => false,
        };
        let kind = show.output.unwrap_or(if terminal {
            OutputKind::Pretty
        } else {
            OutputKind::Json
        });
        Ok(Printer {
            levels: show
                .level
                .as_deref()
                .map_or(Ok(Levels::ALL), Levels::parse)?,
            condition: show
                .condition
                .as_deref()
                .map(Condition::parse)
                .transpose()?,
            fail_on: show.fail_on.as_deref().map(filter::level).transpose()?,
            output: match kind {
                OutputKind::Json => Output::Json,
                OutputKind::Pretty => Output::Pretty { color },
                OutputKind::Raw => Output::Raw,
                OutputKind::Logfmt => Output::Logfmt,
                OutputKind::Template => Output::Template(Template::parse(
                    show.template.as_deref().unwrap_or_default(),
                )?),
            },
            fields: show.fields.clone(),
            stats: show.stats.then(Stats::default),
            out: Vec::with_capacity(2 * OUTPUT_BYTES),
            failed: false,
            eager: terminal,
        })
    }

    fn take(&mut self, entry: &Entry<'_>) {
        if !self.levels.contains(entry.record.level)
            || self
                .condition
                .as_ref()
                .is_some_and(|condition| !condition.matches(entry))
        {
            return;
        }
        self.failed |= self
            .fail_on
            .is_some_and(|level| entry.record.level >= level);
        match &mut self.stats {
            Some(stats) => stats.count(entry),
            None => output::write(entry, &self.output, &self.fields, &mut self.out),
        }
    }

    /// Writes what has gathered, when it is much or `now` or a person is watching.
    fn write(&mut self, now: bool) -> Result<()> {
        if !self.out.is_empty() && (now || self.eager || self.out.len() >= OUTPUT_BYTES) {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&self.out)?;
            stdout.flush()?;
            self.out.clear();
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if let Some(stats) = &self.stats {
            self.out.extend_from_slice(stats.render().as_bytes());
        }
        self.write(true)
    }
}
