//! How much of its share a cluster keeps while it is drained over a period, or comes back over one.
//!
//! A drain that takes a period goes down in ten equal steps and ends at nothing; the way back goes up in the same
//! steps. The share is a function of the instant at which it began, which stands in an annotation, so a controller that
//! starts again in the middle goes on where the other one stopped. Other clusters learn the share from
//! [`crate::sight`]; until they do, the cluster counts in full, and at the end it stops vouching, which everybody sees.

use jiff::{SignedDuration, Timestamp};

/// Steps from everything to nothing.
const STEPS: i64 = 10;
/// The whole share, in percent.
pub const FULL: u32 = 100;

/// Whether a cluster takes itself out, and since when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drain {
    /// It serves.
    #[default]
    Off,
    /// It leaves, since that instant; without one it has left.
    Out(Option<Timestamp>),
    /// It comes back since that instant.
    Back(Timestamp),
}

/// What a cluster's part in the answers is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Percent of what it has otherwise, 0 to 100. At 0 it does not vouch.
    pub percent: u32,
    /// When it changes next by time alone.
    pub until: Option<Timestamp>,
}

impl Drain {
    /// The share at `now` of a drain that takes `period`.
    pub fn share(self, period: SignedDuration, now: Timestamp) -> Share {
        let done = |percent| Share {
            percent,
            until: None,
        };
        match self {
            Drain::Off => done(FULL),
            Drain::Out(None) => done(0),
            // A drain may be ordered for later.
            Drain::Out(Some(since)) if now < since => Share {
                percent: FULL,
                until: Some(since),
            },
            Drain::Out(Some(since)) => match step(since, period, now) {
                Some((step, until)) => Share {
                    percent: FULL - percent(step),
                    until,
                },
                None => done(0),
            },
            Drain::Back(since) => match step(since, period, now) {
                Some((step, until)) => Share {
                    percent: percent(step + 1),
                    until,
                },
                None => done(FULL),
            },
        }
    }
}

/// Which step it is, from 0, and when the next one begins; none when all are over.
fn step(
    since: Timestamp,
    period: SignedDuration,
    now: Timestamp,
) -> Option<(i64, Option<Timestamp>)> {
    let period = period.as_secs();
    let elapsed = now.duration_since(since).as_secs().max(0);
    if period <= 0 || elapsed >= period {
        return None;
    }
    let step = elapsed.saturating_mul(STEPS) / period;
    // Rounded up, so that the step has begun when its time has come.
    let next = (period.saturating_mul(step + 1) + STEPS - 1) / STEPS;
    let until = since.checked_add(SignedDuration::from_secs(next)).ok();
    Some((step, until))
}

fn percent(steps: i64) -> u32 {
    u32::try_from(steps * i64::from(FULL) / STEPS).unwrap_or(FULL)
}

#[cfg(test)]
mod tests;
