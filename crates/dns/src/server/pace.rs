//! Whether a worker lets queries gather before it takes the next ones.
//!
//! Once a worker keeps up, the kernel wakes it for every query or two, and the wake-up costs more than everything else about the
//! query. So while queries come faster than one per [`GAP_MAX`] and a batch was small all the same, the worker pauses for [`PAUSE`]
//! after it has sent its replies; what comes meanwhile shares one wake-up. At lower rates there is nothing to share and it never
//! pauses; at higher ones batches fill by themselves.

use std::time::Duration;

/// Added to the answer time of a query at most, besides what the kernel's timers are late (up to 50 µs): well below what a client
/// notices or a resolver measures.
pub(super) const PAUSE: Duration = Duration::from_micros(50);
/// Mean time between queries up to which pausing pays: at least two come during a pause.
const GAP_MAX: Duration = Duration::from_micros(25);
/// Longest time between batches that counts, so that the first burst after a quiet hour is noticed as fast as after a second.
const SILENCE: Duration = Duration::from_millis(1);
/// Batches over which the mean is taken.
const N_MEAN: u32 = 16;

/// How fast queries come to one worker.
pub(super) struct Pace {
    gap: Duration,
    received_at: Duration,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace {
            gap: SILENCE,
            received_at: Duration::ZERO,
        }
    }

    /// Takes note of a batch of `n_queries` out of at most `n_slots` received at `now`, which counts from any fixed time; says how long
    /// to pause once it is answered.
    pub(super) fn received(
        &mut self,
        n_queries: usize,
        n_slots: usize,
        now: Duration,
    ) -> Option<Duration> {
        let elapsed = now.saturating_sub(self.received_at).min(SILENCE);
        self.received_at = now;
        let n = u32::try_from(n_queries).unwrap_or(u32::MAX).max(1);
        self.gap = (self.gap * (N_MEAN - 1) + elapsed / n) / N_MEAN;
        // Where the system has no batches, there is one slot and nothing gathers.
        let small = n_queries <= n_slots / 4;
        (small && self.gap < GAP_MAX).then_some(PAUSE)
    }
}

#[cfg(test)]
mod tests;
