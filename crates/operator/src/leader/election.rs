//! The rules of the election, without clock and network.

use std::time::Duration;

use tokio::time::Instant;

use super::Settings;

/// What a Lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Who has it; empty when it was given up.
    pub holder: String,
    /// When it was renewed, as text; only ever compared.
    pub renewed: String,
    /// How long it is taken for.
    pub lease: Duration,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Somebody else leads.
    Wait,
    /// Renew what is ours.
    Renew,
    /// Take what is free.
    Take,
}

/// One replica's part in an election.
#[derive(Debug)]
pub struct Election {
    settings: Settings,
    /// The Lease as it was seen last, and when it was first seen like that.
    seen: Option<(Held, Instant)>,
    /// Until when we lead unless we renew.
    leads_until: Option<Instant>,
}

impl Election {
    /// A replica that has seen nothing.
    pub fn new(settings: Settings) -> Election {
        Election {
            settings,
            seen: None,
            leads_until: None,
        }
    }

    /// Notes what the Lease says and decides what to do.
    pub fn look(&mut self, held: Option<&Held>, now: Instant) -> Step {
        let Some(held) = held else {
            self.seen = None;
            return Step::Take;
        };
        if self.seen.as_ref().is_none_or(|(before, _)| before != held) {
            self.seen = Some((held.clone(), now));
        }
        if held.holder == self.settings.identity {
            return Step::Renew;
        }
        self.leads_until = None;
        let since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        let over = now.saturating_duration_since(since) >= held.lease;
        if held.holder.is_empty() || over {
            Step::Take
        } else {
            Step::Wait
        }
    }

    /// The Lease was written as ours; the write began at `begin`.
    pub fn took(&mut self, held: &Held, begin: Instant) {
        self.seen = Some((held.clone(), begin));
        // Counted from before the write, so that it ends before anybody else's count.
        self.leads_until = Some(begin + self.settings.deadline);
    }

    /// Somebody else wrote in between.
    pub fn lost(&mut self) {
        self.seen = None;
    }

    /// Whether we lead.
    pub fn leads(&self, now: Instant) -> bool {
        self.leads_until.is_some_and(|until| now < until)
    }

    /// How long to wait before the next look: the retry period, or less when our time to lead runs out.
    pub fn wait(&self, now: Instant) -> Duration {
        let left = self
            .leads_until
            .map(|until| until.saturating_duration_since(now));
        match left {
            Some(left) if !left.is_zero() => left.min(self.settings.retry),
            _ => self.settings.retry,
        }
    }
}

#[cfg(test)]
mod tests;
