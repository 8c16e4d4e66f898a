//! When to ask the owner of a zone for changes.
//!
//! ```text
//!            due, or a notice           the whole zone
//!   Waiting ────────────────► Pulling ────────────────► Live ──┐
//!      ▲                        ▲  │                     │     │ a notice, or the keep-alive is due:
//!      └───── anything broke ───┘──┘◄────────────────────┴─────┘ pull what changed
//! ```
//! A session that is live proves itself once per keep-alive by a pull that finds nothing, which costs one short question for the whole
//! zone. Anything that goes wrong ends it: whoever uses it falls back to other means at once, and the next session starts from
//! nothing, because what was held may be of another time.

use std::time::Duration;

use crate::zone::is_later;

/// Least time between the starts of two pulls, whatever notices say.
pub const PULL_GAP: Duration = Duration::from_millis(10);
/// First wait after a failure; it doubles up to [`RETRY_MAX`].
pub const RETRY_MIN: Duration = Duration::from_secs(1);
/// Longest wait after a failure: what it costs to find out that a peer has learned to push.
pub const RETRY_MAX: Duration = Duration::from_secs(60);

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Connect and pull everything.
    Open,
    /// Pull what changed over the open connection.
    Pull,
    /// Wait for something to happen, or for this moment.
    Wait(Option<Duration>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting { until: Duration },
    Pulling { is_first: bool },
    Live { check_at: Duration },
}

/// A session with one owner of one zone. Times are those since any fixed moment.
#[derive(Debug)]
pub struct Session {
    state: State,
    keep_alive: Duration,
    n_failures: u32,
    /// When the last pull or failure was.
    last_at: Option<Duration>,
    /// Somebody says that there is news: of this serial, or of any.
    news: Option<Option<u32>>,
    serial: Option<u32>,
}

impl Session {
    /// A session that wants to open at once and proves itself every `keep_alive`.
    pub fn new(keep_alive: Duration, now: Duration) -> Session {
        Session {
            state: State::Waiting { until: now },
            keep_alive,
            n_failures: 0,
            last_at: None,
            news: None,
            serial: None,
        }
    }

    /// Whether the copy is complete and proven.
    pub fn is_live(&self) -> bool {
        matches!(
            self.state,
            State::Live { .. } | State::Pulling { is_first: false }
        )
    }

    /// What to do; a step other than waiting counts as begun.
    pub fn step(&mut self, now: Duration) -> Step {
        let due = match self.state {
            State::Pulling { .. } => return Step::Wait(None),
            State::Waiting { until } => match self.news {
                // A peer that has news is there again.
                Some(_) => until.min(self.after(RETRY_MIN)),
                None => until,
            },
            State::Live { check_at } => match self.news {
                Some(_) => check_at.min(self.after(PULL_GAP)),
                None => check_at,
            },
        };
        if due > now {
            return Step::Wait(Some(due));
        }
        let is_first = matches!(self.state, State::Waiting { .. });
        self.state = State::Pulling { is_first };
        self.last_at = Some(now);
        self.news = None;
        if is_first { Step::Open } else { Step::Pull }
    }

    /// The owner says that its zone changed.
    pub fn noticed(&mut self, serial: Option<u32>) {
        if self.is_old(serial) {
            return;
        }
        self.news = match (self.news, serial) {
            (Some(Some(known)), Some(serial)) if is_later(known, serial) => Some(Some(known)),
            (Some(None), _) => Some(None),
            _ => Some(serial),
        };
    }

    /// A pull is complete and its version is this.
    pub fn pulled(&mut self, serial: Option<u32>, now: Duration) {
        self.serial = serial;
        self.n_failures = 0;
        self.news = self.news.filter(|news| !self.is_old(*news));
        self.state = State::Live {
            check_at: now + self.keep_alive,
        };
    }

    /// The connection or a pull broke; tells whether the session was live.
    pub fn broke(&mut self, now: Duration) -> bool {
        let was_live = self.is_live();
        let wait = RETRY_MIN
            .saturating_mul(1 << self.n_failures.min(16))
            .min(RETRY_MAX);
        self.n_failures = self.n_failures.saturating_add(1);
        self.serial = None;
        self.news = None;
        self.last_at = Some(now);
        self.state = State::Waiting { until: now + wait };
        was_live
    }

    /// Whether news is of a version we have.
    fn is_old(&self, serial: Option<u32>) -> bool {
        match (serial, self.serial) {
            (Some(serial), Some(known)) => !is_later(serial, known),
            _ => false,
        }
    }

    fn after(&self, wait: Duration) -> Duration {
        self.last_at.map_or(Duration::ZERO, |at| at + wait)
    }
}

#[cfg(test)]
mod tests;
