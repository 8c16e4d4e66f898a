//! Whether a cluster that came back is used again already.
//!
//! A cluster that recovers is often not well yet: caches are cold, or it will fail again at once. With a hold-down it
//! has to be seen healthy without a break for that long before it is used, while somebody else can serve; when nobody
//! else can, it is used at once. One that keeps falling over has to wait longer each time: the hold-down doubles with
//! every recovery that followed another one within sixteen hold-downs, up to eight times the first.
//!
//! The first look at a cluster is no recovery, so a controller that starts trusts what it finds. An outage that was
//! only silence, and shorter than silence is forgiven (`splitBrainThresholdSeconds`), is none either.

use jiff::{SignedDuration, Timestamp};

/// Recoveries that are remembered; with them the hold-down is eight times the first at most.
pub const RECOVERIES_MAX: usize = 4;
/// How many hold-downs apart two recoveries may be to count as one illness.
const ILLNESS: i32 = 16;

/// A cluster was seen healthy again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// When.
    pub at: Timestamp,
    /// How long it had been silent, if it never said that it was ill.
    pub silent_for: Option<SignedDuration>,
}

/// An outage that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Since when.
    pub since: Timestamp,
    /// Whether it is only silence.
    pub silent: bool,
}

/// The outages and recoveries of one cluster, for one host and family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    outage: Option<Outage>,
    recoveries: Vec<Recovery>,
}

/// What a look at a cluster showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It vouches for addresses.
    Healthy,
    /// It says that it has none.
    Ill,
    /// It says nothing.
    Silent,
}

impl History {
    /// Notes a look; `first` says that there was none before.
    pub fn note(&mut self, look: Look, at: Timestamp, first: bool) {
        match (look, self.outage) {
            (Look::Healthy, Some(outage)) => {
                let silent_for = outage.silent.then(|| at.duration_since(outage.since));
                if self.recoveries.len() == RECOVERIES_MAX {
                    self.recoveries.remove(0);
                }
                self.recoveries.push(Recovery { at, silent_for });
                self.outage = None;
            }
            (Look::Ill, Some(outage)) => {
                let silent = false;
                self.outage = Some(Outage { silent, ..outage });
            }
            (Look::Ill, None) => {
                let silent = false;
                self.outage = Some(Outage { since: at, silent });
            }
            // Nobody is known to be there yet.
            (Look::Silent, None) if first => {}
            (Look::Silent, None) => {
                let silent = true;
                self.outage = Some(Outage { since: at, silent });
            }
            (Look::Healthy, None) | (Look::Silent, Some(_)) => {}
        }
    }

    /// Until when the cluster is not used although it is healthy; the instant may be over.
    ///
    /// `forgiven` is how long silence is no outage.
    pub fn held_until(&self, hold: SignedDuration, forgiven: SignedDuration) -> Option<Timestamp> {
        if hold <= SignedDuration::ZERO {
            return None;
        }
        let real = |r: &&Recovery| r.silent_for.is_none_or(|silent| silent > forgiven);
        let last = self.recoveries.iter().rev().find(real)?;
        let illness = hold.saturating_mul(ILLNESS);
        let n_relapses = self
            .recoveries
            .iter()
            .filter(real)
            .filter(|r| r.at < last.at && last.at.duration_since(r.at) <= illness)
            .count();
        let factor = 1i32 << n_relapses.min(RECOVERIES_MAX - 1);
        last.at.checked_add(hold.saturating_mul(factor)).ok()
    }
}

#[cfg(test)]
mod tests;
