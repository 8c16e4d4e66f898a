//! What can happen to the agent. Emitting an event writes its log line and moves its metrics; nothing else here logs.
//!
//! A cause that persists is said once: the callers keep whether it was.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use tracing::{error, info, warn};

use super::metrics::Metrics;

/// The agent begins to read.
pub(super) struct Started {
    /// How many files may be open, after raising the limit.
    pub(super) open_files_max: u64,
}

impl Started {
    pub(super) fn emit(self) {
        info!(open_files_max = self.open_files_max, "Log agent started");
    }
}

/// Metrics were asked for and cannot be served.
pub(super) struct MetricsNotServed {
    pub(super) address: SocketAddr,
    pub(super) error: io::Error,
}

impl MetricsNotServed {
    pub(super) fn emit(self) {
        error!(address = %self.address, error = %self.error, "Metrics cannot be served");
    }
}

/// A log file cannot be opened.
pub(super) struct NotOpened<'a> {
    pub(super) path: &'a Path,
    pub(super) error: io::Error,
}

impl NotOpened<'_> {
    pub(super) fn emit(self) {
        warn!(path = %self.path.display(), error = %self.error, "Log file cannot be opened");
    }
}

/// No more files can be opened; those that are left wait.
pub(super) struct FilesExhausted {
    pub(super) n_open: usize,
    pub(super) open_files_max: u64,
}

impl FilesExhausted {
    pub(super) fn emit(self) {
        error!(
            n_open = self.n_open,
            open_files_max = self.open_files_max,
            "Log files wait because the limit of open files is reached, raise LimitNOFILE or ulimit -Hn"
        );
    }
}

/// An open log file cannot be read.
pub(super) struct NotRead<'a> {
    pub(super) path: &'a Path,
    pub(super) error: io::Error,
}

impl NotRead<'_> {
    pub(super) fn emit(self) {
        warn!(path = %self.path.display(), error = %self.error, "Log file cannot be read");
    }
}

/// A file holds lines beyond the limit of a record, which are shipped in parts.
pub(super) struct InParts<'a> {
    pub(super) path: &'a Path,
    /// The first of them in this file, the only one that is said.
    pub(super) is_first: bool,
    pub(super) n_parts: u64,
}

impl InParts<'_> {
    pub(super) fn emit(self, metrics: &Metrics) {
        metrics.parts.inc_by(self.n_parts);
        if self.is_first {
            warn!(path = %self.path.display(), "Lines are longer than a record may be and are shipped in parts");
        }
    }
}

/// An attempt to deliver has failed and will be repeated.
pub(super) struct NotTaken<'a> {
    pub(super) reason: &'a str,
    /// Not the reason that was said last.
    pub(super) is_news: bool,
}

impl NotTaken<'_> {
    pub(super) fn emit(self, metrics: &Metrics) {
        metrics.retry.inc();
        if self.is_news {
            warn!(
                reason = self.reason,
                "Sink does not take records, trying again"
            );
        }
    }
}

/// The sink takes records again.
pub(super) struct TakenAgain;

impl TakenAgain {
    pub(super) fn emit(self) {
        info!("Sink takes records again");
    }
}

/// The sink will never take a batch; it was kept in a file.
pub(super) struct Refused<'a> {
    pub(super) n_records: u64,
    pub(super) path: &'a Path,
    pub(super) reason: &'a str,
    /// Not the reason that was said last.
    pub(super) is_news: bool,
}

impl Refused<'_> {
    pub(super) fn emit(self, metrics: &Metrics) {
        metrics.dropped.inc_by(self.n_records);
        if self.is_news {
            error!(
                kept_in = %self.path.display(),
                reason = self.reason,
                "Sink refuses records"
            );
        }
    }
}

/// The sink will never take a batch, and it could not be kept either.
pub(super) struct Lost<'a> {
    pub(super) n_records: u64,
    pub(super) reason: &'a str,
    pub(super) error: io::Error,
}

impl Lost<'_> {
    pub(super) fn emit(self, metrics: &Metrics) {
        metrics.dropped.inc_by(self.n_records);
        error!(
            n_records = self.n_records,
            reason = self.reason,
            error = %self.error,
            "Records are lost: the sink refuses them and they cannot be kept"
        );
    }
}

/// The agent ends while the sink does not take the last batch.
pub(super) struct LeftForNextStart;

impl LeftForNextStart {
    pub(super) fn emit(self) {
        warn!("Last records were not taken, they are read again at the next start");
    }
}
