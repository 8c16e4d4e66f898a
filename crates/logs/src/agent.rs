//! `flotilla logs agent`: tails a node's pod logs and ships them with their true level.
//!
//! One loop reads: it walks the open files, gathers records into a batch, and hands full batches to a task that delivers
//! them. While a batch is on its way one more is gathered, then reading waits: a slow sink slows the reading down, and
//! memory stays at two batches plus the open records. The positions of a batch are written to the checkpoint only after
//! the sink has taken it, so a kill at any moment repeats records but never loses one.
//!
//! Every file is known by its inode. Rotation gives the old file a new name and a new file the old name; the old one is
//! read to its end through the handle we hold, and both are tailed meanwhile.

mod checkpoint;
pub mod config;
mod events;
mod metrics;
mod sink;
mod tail;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

use checkpoint::{Checkpoint, Place};
use config::Config;
use metrics::{Metrics, Tally};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use sink::{Batch, Encoder, SendError, Sender};
use tail::{Origin, Tail};

/// Bytes read from one file before the next gets its turn.
const READ_BYTES: usize = 64 << 10;
/// Pause when no file had anything.
const QUIET_PAUSE: Duration = Duration::from_millis(50);
/// How often the checkpoint is written: a small one more often, so that a kill repeats little.
const SAVE_EVERY: Duration = Duration::from_millis(500);
const SAVE_SMALL_EVERY: Duration = Duration::from_millis(50);
/// Files whose places make a small checkpoint.
const SMALL_FILES_MAX: usize = 256;
/// Reads without a byte after which a retired file is complete.
const RETIRED_READS: u32 = 3;
/// First and longest pause between attempts to deliver.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));
/// How often a refused batch is tried before it is put aside.
const REFUSALS_MAX: u32 = 3;

/// Why the agent could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The checkpoint cannot be read or written.
    #[error("cannot use checkpoint {path}")]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What the file system says.
        #[source]
        cause: io::Error,
    },
    /// The sink cannot be opened.
    #[error("cannot open the sink")]
    Sink(#[source] io::Error),
}

/// A batch on its way, with what its acceptance acknowledges.
struct Flight {
    task: JoinHandle<Delivery>,
    places: Vec<(u64, Place)>,
    n_records: u64,
}

/// The way to the sink.
struct Delivery {
    sender: Sender,
    /// Why the sink did not take records, as it was said; `None` while it does.
    complaint: Option<String>,
    /// Memory of the last batch, for the next one.
    room: Vec<u8>,
}

impl Delivery {
    /// Notes a reason; says whether it is news.
    fn is_news(&mut self, reason: &str) -> bool {
        let is_news = self.complaint.as_deref() != Some(reason);
        self.complaint = Some(reason.to_owned());
        is_news
    }
}

struct Agent {
    config: Config,
    metrics: Arc<Metrics>,
    checkpoint: Checkpoint,
    /// Boxed, because a tree node keeps room for eleven of them.
    tails: BTreeMap<u64, Box<Tail>>,
    /// Files whose trouble was said.
    troubled: BTreeSet<u64>,
    /// Files that were read or handed out records since the last batch was shipped.
    touched: BTreeSet<u64>,
    /// Whether it was said that no more files can be opened.
    is_exhausted: bool,
    open_files_max: u64,
    encoder: Encoder,
    /// What is read of one file at once.
    buffer: Vec<u8>,
    delivery: Option<Delivery>,
    flight: Option<Flight>,
    n_gathered: u64,
    turn: u64,
    gathered_at: Option<Instant>,
    saved_at: Instant,
    start: Instant,
    seed: u64,
}

/// Runs until `stop` says true, then delivers what has been read and ends.
///
/// # Errors
/// See [`Error`]. A sink that fails is not an error: it is tried again for as long as it takes.
#[expect(
    clippy::disallowed_methods,
    reason = "a shell that measures silence, age and pauses"
)]
pub async fn run(config: Config, mut stop: watch::Receiver<bool>) -> Result<(), Error> {
    let path = config.checkpoint.clone();
    let checkpoint = Checkpoint::load(&path).map_err(|cause| Error::Checkpoint { path, cause })?;
    let metrics = Arc::new(Metrics::new());
    let page = config.metrics.map(|address| {
        let metrics = metrics.clone();
        tokio::spawn(async move {
            if let Err(error) = metrics::serve(metrics, address).await {
                events::MetricsNotServed { address, error }.emit();
            }
        })
    });
    let open_files_max = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    events::Started { open_files_max }.emit();
    let nanos = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(1, |since| since.as_nanos() as u64);
    let mut agent = Agent {
        encoder: Encoder::new(&config.sink),
        delivery: Some(Delivery {
            sender: Sender::new(&config.sink).map_err(Error::Sink)?,
            complaint: None,
            room: Vec::new(),
        }),
        buffer: vec![0; READ_BYTES],
        config,
        metrics,
        checkpoint,
        tails: BTreeMap::new(),
        troubled: BTreeSet::new(),
        touched: BTreeSet::new(),
        is_exhausted: false,
        open_files_max,
        flight: None,
        n_gathered: 0,
        turn: 0,
        gathered_at: None,
        saved_at: Instant::now(),
        start: Instant::now(),
        seed: nanos | 1,
    };
    let mut scanned_at: Option<Instant> = None;
    while !*stop.borrow_and_update() {
        let interval = Duration::from_millis(agent.config.scan_interval_ms);
        if scanned_at.is_none_or(|at| at.elapsed() >= interval) {
            agent.scan();
            scanned_at = Some(Instant::now());
        }
        let n_read = agent.read_all(Some(&mut stop)).await?;
        if agent.is_due() {
            agent.ship(Some(&mut stop)).await?;
        }
        agent.land().await?;
        if n_read == 0 {
            tokio::select! {
                _ = tokio::time::sleep(QUIET_PAUSE) => {}
                _ = stop.changed() => {}
            }
        }
    }
    agent.end().await?;
    if let Some(page) = page {
        page.abort();
    }
    Ok(())
}

impl Agent {
    fn now_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    /// Opens files that are new and notes which are gone or renamed.
    fn scan(&mut self) {
        let mut named = BTreeMap::new();
        let mut is_exhausted = false;
        for directory in self.config.directories.clone() {
            each_file(&directory, &mut |path, inode, origin| {
                named.insert(inode, path.to_owned());
                let checkpoint = &self.checkpoint;
                // After the first refusal the kernel need not be asked for every other file.
                if is_exhausted
                    || self.tails.contains_key(&inode)
                    || is_rotated(path) && checkpoint.is_complete(inode, path)
                {
                    return;
                }
                let opened = Tail::open(
                    path,
                    Arc::new(origin),
                    self.config.default_level,
                    self.config.sink.record_bytes_max(),
                    |inode, head| checkpoint.offset(inode, head),
                );
                match opened {
                    Ok(tail) => {
                        self.troubled.remove(&inode);
                        self.tails.insert(tail.inode, Box::new(tail));
                    }
                    Err(error) if Errno::from_io_error(&error) == Some(Errno::MFILE) => {
                        is_exhausted = true;
                    }
                    // Deleted since the directory was listed.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => {
                        if self.troubled.insert(inode) {
                            events::NotOpened { path, error }.emit();
                        }
                    }
                }
            });
        }
        if is_exhausted && !self.is_exhausted {
            events::FilesExhausted {
                n_open: self.tails.len(),
                open_files_max: self.open_files_max,
            }
            .emit();
        }
        self.is_exhausted = is_exhausted;
        self.troubled.retain(|inode| named.contains_key(inode));
        for (inode, tail) in &mut self.tails {
            tail.is_retired = named.get(inode).is_none_or(|path| is_rotated(path));
        }
        self.retire();
        self.checkpoint
            .retain(|inode| named.contains_key(&inode) || self.tails.contains_key(&inode));
        self.metrics.files.set(self.tails.len() as i64);
        self.metrics
            .lag_bytes
            .set(self.tails.values().map(|tail| tail.lag()).sum::<u64>() as i64);
    }

    /// Reads every file once; ships whenever a batch is full.
    async fn read_all(
        &mut self,
        mut stop: Option<&mut watch::Receiver<bool>>,
    ) -> Result<usize, Error> {
        let mut n_total = 0;
        // Of very many quiet files only some are asked each time.
        let stride = (self.tails.len() as u64 / 256)
            .next_power_of_two()
            .clamp(1, 16);
        self.turn += 1;
        for inode in self.tails.keys().copied().collect::<Vec<_>>() {
            let now_ms = self.now_ms();
            let Some(tail) = self.tails.get_mut(&inode) else {
                continue;
            };
            if tail.n_quiet > RETIRED_READS + 1
                && !tail.is_open()
                && !(inode ^ self.turn).is_multiple_of(stride)
            {
                continue;
            }
            let (encoder, metrics, origin) =
                (&mut self.encoder, &self.metrics, tail.origin.clone());
            let mut tally = Tally::default();
            let mut each = |entry: &crate::entry::Entry<'_>| {
                tally.count(entry, metrics);
                encoder.add(&origin, entry);
            };
            let mut is_touched = false;
            match tail.read(&mut self.buffer, now_ms, &mut each) {
                Ok(n_read) => {
                    is_touched = n_read > 0;
                    n_total += n_read;
                }
                Err(error) => {
                    if self.troubled.insert(inode) {
                        events::NotRead {
                            path: &tail.path,
                            error,
                        }
                        .emit();
                    }
                }
            }
            if tail.is_retired && tail.n_quiet == RETIRED_READS {
                tail.finish(now_ms, &mut each);
            }
            let (n_records, n_parts) = tally.settle(metrics);
            if n_parts > 0 {
                events::InParts {
                    path: &tail.path,
                    is_first: !std::mem::replace(&mut tail.has_parts, true),
                    n_parts,
                }
                .emit(&self.metrics);
            }
            if is_touched || n_records > 0 {
                self.touched.insert(inode);
            }
            self.gathered(n_records);
            if self.encoder.n_bytes() >= self.config.batch_bytes {
                self.ship(stop.as_deref_mut()).await?;
            }
            if stop.as_ref().is_some_and(|stop| *stop.borrow()) {
                break;
            }
        }
        Ok(n_total)
    }

    #[expect(clippy::disallowed_methods, reason = "the age of a batch")]
    fn gathered(&mut self, n_records: u64) {
        if n_records > 0 {
            self.n_gathered += n_records;
            self.gathered_at.get_or_insert_with(Instant::now);
        }
        self.metrics.lag.set(
            self.gathered_at
                .map_or(0.0, |at| at.elapsed().as_secs_f64()),
        );
    }

    /// Whether what has gathered should go, or positions moved without records.
    fn is_due(&self) -> bool {
        let wait = Duration::from_millis(self.config.batch_wait_ms);
        self.gathered_at.is_some_and(|at| at.elapsed() >= wait)
    }

    /// Sends what has gathered, after the batch before it has landed.
    async fn ship(&mut self, stop: Option<&mut watch::Receiver<bool>>) -> Result<(), Error> {
        if !self.arrival(stop).await {
            return Ok(());
        }
        self.save().await?;
        let Some(mut delivery) = self.delivery.take() else {
            return Ok(());
        };
        let batch = self.encoder.take(std::mem::take(&mut delivery.room));
        // Only of what has moved: the cost of a batch must not grow with the number of quiet files.
        let places = std::mem::take(&mut self.touched)
            .into_iter()
            .filter_map(|inode| Some((inode, self.tails.get_mut(&inode)?.place())))
            .collect();
        let n_records = std::mem::take(&mut self.n_gathered);
        self.gathered_at = None;
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let refused = self.config.checkpoint.with_extension("refused");
        let task = tokio::spawn(deliver(
            delivery,
            batch,
            self.metrics.clone(),
            self.seed,
            refused,
        ));
        self.flight = Some(Flight {
            task,
            places,
            n_records,
        });
        Ok(())
    }

    /// Waits until the batch on its way has been taken, and acknowledges it; `false` when told to stop before.
    async fn arrival(&mut self, stop: Option<&mut watch::Receiver<bool>>) -> bool {
        let Some(mut flight) = self.flight.take() else {
            return true;
        };
        let delivery = match stop {
            // Stopping must not wait for a sink that is down; what was not acknowledged is read again next time.
            Some(stop) => tokio::select! {
                biased;
                delivery = &mut flight.task => delivery,
                _ = stop.wait_for(|is_set| *is_set) => {
                    self.flight = Some(flight);
                    return false;
                }
            },
            None => (&mut flight.task).await,
        };
        self.landed(flight, delivery);
        true
    }

    /// Acknowledges the batch on its way if it has been taken.
    async fn land(&mut self) -> Result<(), Error> {
        if let Some(mut flight) = self.flight.take_if(|flight| flight.task.is_finished()) {
            let delivery = (&mut flight.task).await;
            self.landed(flight, delivery);
        }
        self.save().await
    }

    /// Acknowledges a batch that has been taken.
    fn landed(&mut self, flight: Flight, delivery: Result<Delivery, JoinError>) {
        // The task ends only after delivery; a panic in it is ours and must not pass for one.
        self.delivery = Some(delivery.expect("the delivery does not panic"));
        self.metrics.sent.inc_by(flight.n_records);
        for (inode, place) in flight.places {
            self.checkpoint.set(inode, place);
        }
    }

    /// Closes files that were rotated or deleted, once they are read to their end and acknowledged.
    fn retire(&mut self) {
        let checkpoint = &self.checkpoint;
        self.tails.retain(|inode, tail| {
            let is_read = tail.is_retired && tail.n_quiet > RETIRED_READS && tail.lag() == 0;
            let mut is_done = || match (checkpoint.place(*inode), tail.place()) {
                (Some(acknowledged), place) => acknowledged == place,
                // Nothing was ever in it.
                (None, place) => place.offset == 0,
            };
            !(is_read && is_done())
        });
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the checkpoint is written at a pace"
    )]
    async fn save(&mut self) -> Result<(), Error> {
        let pace = if self.checkpoint.len() <= SMALL_FILES_MAX {
            SAVE_SMALL_EVERY
        } else {
            SAVE_EVERY
        };
        if self.saved_at.elapsed() >= pace {
            self.saved_at = Instant::now();
            let saved = self.checkpoint.save_beside().await;
            saved.map_err(|cause| self.not_saved(cause))?;
        }
        Ok(())
    }

    fn not_saved(&self, cause: io::Error) -> Error {
        Error::Checkpoint {
            path: self.config.checkpoint.clone(),
            cause,
        }
    }

    /// Delivers what has been read, for a few seconds at most.
    async fn end(&mut self) -> Result<(), Error> {
        let last = async {
            self.ship(None).await?;
            self.arrival(None).await;
            Ok(())
        };
        match tokio::time::timeout(Duration::from_secs(5), last).await {
            Ok(done) => done?,
            Err(_) => events::LeftForNextStart.emit(),
        }
        let saved = self.checkpoint.save().await;
        saved.map_err(|cause| self.not_saved(cause))
    }
}

/// Whether the name is that of a file that was rotated away: `0.log.20260911-072225`.
fn is_rotated(path: &Path) -> bool {
    path.extension().is_none_or(|end| end != "log")
}

/// Delivers a batch, for as long as it takes. A reason for failing is said once, and so is that it is over.
async fn deliver(
    mut delivery: Delivery,
    batch: Batch,
    metrics: Arc<Metrics>,
    seed: u64,
    refused: PathBuf,
) -> Delivery {
    if batch.n_records == 0 {
        return delivery;
    }
    let (mut pause, mut n_refusals) = (BACKOFF.0, 0);
    loop {
        let after = match delivery.sender.send(&batch).await {
            Ok(()) => break,
            Err(SendError::Refused(reason)) if n_refusals + 1 >= REFUSALS_MAX => {
                let is_news = delivery.is_news(&reason);
                set_aside(&refused, &batch, &reason, is_news, &metrics);
                return delivery;
            }
            Err(SendError::Refused(_)) => {
                // Said when it is certain.
                metrics.retry.inc();
                n_refusals += 1;
                None
            }
            Err(SendError::Retry { reason, after }) => {
                let is_news = delivery.is_news(&reason);
                events::NotTaken {
                    reason: &reason,
                    is_news,
                }
                .emit(&metrics);
                after
            }
        };
        // A tenth of jitter, so that the agents of a cluster do not come back all at once.
        let jitter = pause.mul_f64((seed >> 40) as f64 / (1u64 << 24) as f64 / 10.0);
        tokio::time::sleep(after.unwrap_or(pause + jitter).min(BACKOFF.1)).await;
        pause = (pause * 2).min(BACKOFF.1);
    }
    if delivery.complaint.take().is_some() {
        events::TakenAgain.emit();
    }
    delivery.room = batch.into_room();
    delivery
}

/// Keeps a batch that the sink will never take, and says so.
fn set_aside(path: &Path, batch: &Batch, reason: &str, is_news: bool, metrics: &Metrics) {
    let n_records = batch.n_records;
    match append(path, batch) {
        Ok(()) => events::Refused {
            n_records,
            path,
            reason,
            is_news,
        }
        .emit(metrics),
        Err(error) => events::Lost {
            n_records,
            reason,
            error,
        }
        .emit(metrics),
    }
}

/// Appends a refused batch, as it was sent, to a file beside the checkpoint.
fn append(path: &Path, batch: &Batch) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    file.write_all(&batch.body)?;
    file.write_all(b"\n")?;
    file.sync_data()
}

/// Visits the log files below a directory laid out as `/var/log/pods`, packed ones excepted.
fn each_file(directory: &Path, visit: &mut dyn FnMut(&Path, u64, Origin)) {
    let list = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    for pod in list(directory) {
        for container in list(&pod.path()) {
            let names = (
                pod.file_name().into_string(),
                container.file_name().into_string(),
            );
            let (Ok(pod_name), Ok(container_name)) = names else {
                continue;
            };
            let Some(origin) = Origin::parse(&pod_name, &container_name) else {
                continue;
            };
            for file in list(&container.path()) {
                let name = file.file_name();
                let name = name.to_string_lossy();
                let is_log =
                    name.ends_with(".log") || (name.contains(".log.") && !name.ends_with(".gz"));
                if is_log && file.file_type().is_ok_and(|kind| kind.is_file()) {
                    visit(&file.path(), file.ino(), origin.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
