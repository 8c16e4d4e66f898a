//! Keeps the published zones on disk, so that a restart answers before anybody has published.
//!
//! [`Keeper::start`] reads the file and serves what it says, marked as remembered; from then on it stands between a controller and
//! the [`Zones`]: changes take effect at once and are on disk a moment later, many of them together. A remembered zone is replaced
//! when the controller publishes it, goes when the controller says which zones there are, and goes by itself once it is older than
//! [`AGE_MAX`]. A file that cannot be read costs one log line and nothing else.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use crate::catalog::{Catalog, Change, Error as Refused, Publish, Zones};
use crate::snapshot::{self, OCTETS_MAX};

/// How old remembered zones may become. A secondary server gives its copy up after SOA's expire time; k8gb's is the same day.
pub const AGE_MAX: Duration = Duration::from_secs(86_400);
/// Changes within so long of the first are written together.
const GATHER: Duration = Duration::from_millis(100);
/// After a write, so many times as long as it took nothing is written: at most a twentieth of a core goes into snapshots.
const REST_FACTOR: u32 = 20;
/// Without changes the file is written again so often, because its age is how long ago we were here.
const REFRESH: Duration = Duration::from_secs(3600);
/// How often the age of remembered zones is looked at.
const EXPIRY_CHECK: Duration = Duration::from_secs(60);

/// Why a file is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// The content is not ours, or too large.
    #[error("{} cannot be used", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: snapshot::Error,
    },
}

/// A [`Publish`] that remembers. Dropping it writes what is outstanding.
#[derive(Debug)]
pub struct Keeper {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    zones: Arc<Zones>,
    path: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// There are changes that are not on disk.
    dirty: bool,
    stopping: bool,
}

impl Keeper {
    /// Puts the zones of the file at `path` into `zones`, where nobody has published yet, and writes them there from now on.
    pub fn start(path: PathBuf, zones: Arc<Zones>) -> Keeper {
        recall(&path, &zones, unix_seconds());
        let shared = Arc::new(Shared {
            zones,
            path,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let its = Arc::clone(&shared);
        let writer = thread::Builder::new()
            .name("dns snapshot".into())
            .spawn(move || its.write_until_stopped());
        let writer = writer
            .inspect_err(|error| tracing::error!(%error, "DNS zones will not be kept on disk"))
            .ok();
        Keeper { shared, writer }
    }
}

impl Publish for Keeper {
    fn publish(&self, changes: Vec<Change>) -> Vec<Refused> {
        let refused = self.shared.zones.publish(changes);
        self.shared.lock().dirty = true;
        self.shared.changed.notify_one();
        refused
    }

    fn served(&self) -> Arc<Catalog> {
        self.shared.zones.snapshot()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.changed.notify_one();
        if self.writer.take().is_some_and(|w| w.join().is_err()) {
            tracing::error!("The thread that keeps DNS zones on disk panicked; please report this");
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Two flags cannot be left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_until_stopped(&self) {
        let mut failing = false;
        let mut refresh_at = now() + REFRESH;
        let mut rest_until = now();
        while !self.wait(rest_until, refresh_at) {
            let start = now();
            self.write(&mut failing);
            rest_until = now() + start.elapsed() * REST_FACTOR;
            refresh_at = now() + REFRESH;
        }
        if std::mem::take(&mut self.lock().dirty) {
            self.write(&mut failing);
        }
    }

    /// Waits until something is to be written; says whether to stop instead.
    fn wait(&self, rest_until: Instant, refresh_at: Instant) -> bool {
        let mut state = self.lock();
        while !state.dirty && !state.stopping && now() < refresh_at {
            state = self.sleep(state, EXPIRY_CHECK);
            drop(state);
            self.expire(unix_seconds());
            state = self.lock();
        }
        let write_at = rest_until.max(now() + GATHER);
        while !state.stopping && now() < write_at {
            state = self.sleep(state, write_at.saturating_duration_since(now()));
        }
        if !state.stopping {
            state.dirty = false;
        }
        state.stopping
    }

    fn sleep<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        let slept = self.changed.wait_timeout(state, time);
        slept.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Takes remembered zones back that are too old.
    fn expire(&self, unix_seconds: u64) {
        let expired = |good_at: u64| is_expired(good_at, unix_seconds);
        let catalog = self.zones.snapshot();
        for zone in catalog.zones() {
            if zone.remembered_from().is_some_and(expired) {
                tracing::warn!(zone = %zone.apex(), "A remembered zone is too old to be served any longer");
                self.zones.rewrite(|now| now.without_remembered(expired));
            }
        }
    }

    /// Writes the current zones; the first failure of a row and its end are logged.
    fn write(&self, failing: &mut bool) {
        let catalog = self.zones.snapshot();
        let written = snapshot::encode(&catalog, unix_seconds())
            .map_err(|source| Error::Content {
                path: self.path.clone(),
                source,
            })
            .and_then(|file| replace(&self.path, &file));
        match (&written, *failing) {
            (Err(error), false) => {
                let error = chain(error);
                tracing::warn!(%error, "DNS zones cannot be kept on disk; a restart will start without them");
            }
            (Ok(()), true) => tracing::info!("DNS zones are kept on disk again"),
            _ => {}
        }
        *failing = written.is_err();
    }
}

/// Serves what the file says.
fn recall(path: &Path, zones: &Zones, unix_seconds: u64) {
    let found = match read(path) {
        Ok(Some(found)) => found,
        Ok(None) => return,
        Err(error) => {
            let error = chain(&error);
            tracing::warn!(%error, "Remembered DNS zones are not used; starting without them");
            return;
        }
    };
    let (old, good): (Vec<_>, Vec<_>) = found.into_iter().partition(|zone| {
        zone.remembered_from()
            .is_none_or(|at| is_expired(at, unix_seconds))
    });
    if !old.is_empty() {
        tracing::warn!(
            n_zones = old.len(),
            "Remembered DNS zones are too old and are not used"
        );
    }
    if !good.is_empty() {
        let n_names = good.iter().map(crate::zone::Zone::n_names).sum::<usize>();
        tracing::info!(
            n_zones = good.len(),
            n_names,
            "Answering from remembered DNS zones until they are published anew"
        );
        zones.rewrite(|now| now.with_zones(good));
    }
}

fn is_expired(good_at: u64, unix_seconds: u64) -> bool {
    // A clock that was set back makes zones of the future; they are no older than new.
    unix_seconds.saturating_sub(good_at) > AGE_MAX.as_secs()
}

fn read(path: &Path) -> Result<Option<Vec<crate::zone::Zone>>, Error> {
    let io = |source| Error::Io {
        action: "cannot read",
        path: path.to_owned(),
        source,
    };
    let content = |source| Error::Content {
        path: path.to_owned(),
        source,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let mut bytes = Vec::new();
    // One octet more than allowed shows that there are too many.
    file.take(OCTETS_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() > OCTETS_MAX {
        let octets = bytes.len();
        return Err(content(snapshot::Error::TooLarge { octets }));
    }
    snapshot::decode(&bytes).map(Some).map_err(content)
}

/// Puts `bytes` in the place of the file: whole and durable, or the old file stays.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let io = |action| {
        move |source| Error::Io {
            action,
            path: path.to_owned(),
            source,
        }
    };
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(io("cannot make the folder of"))?;
    let temporary = path.with_extension("new");
    let mut file = File::create(&temporary).map_err(io("cannot write beside"))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(io("cannot write beside"))?;
    fs::rename(&temporary, path).map_err(io("cannot replace"))?;
    // Without this the rename itself may be lost with the power.
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(io("cannot make durable"))
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[expect(clippy::disallowed_methods, reason = "this shell paces its own writes")]
fn now() -> Instant {
    Instant::now()
}

fn unix_seconds() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the age of a file is told by the wall clock"
    )]
    let now = SystemTime::now();
    now.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
