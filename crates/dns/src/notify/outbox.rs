//! Whom to tell about which change, and when: the first change at once, a flood of them at most every [`GAP`], what is not
//! acknowledged again after a while.
//!
//! Nothing is queued per change: for each recipient it is only known which serial it acknowledged and which is the newest, so a
//! recipient that is away costs the same whatever happens meanwhile. After [`TRIES_MAX`] tries it is left alone until the next change;
//! those who keep a copy look by themselves now and then.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use crate::name::Name;

/// Least time between two messages to one recipient about one zone.
pub const GAP: Duration = Duration::from_millis(50);
/// How long an acknowledgement is waited for at first; twice as long each time. More than the way to the far side of the world and back.
const PATIENCE: Duration = Duration::from_millis(500);
/// Longest such wait.
const PATIENCE_MAX: Duration = Duration::from_secs(30);
/// Messages about one serial to one recipient.
pub const TRIES_MAX: u32 = 10;

/// Somebody to be told about changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// What it is called here; unique for a zone.
    pub id: String,
    /// Where it may listen; tried in turn until one acknowledges.
    pub addresses: Vec<SocketAddr>,
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// The zone that changed.
    pub zone: Name,
    /// The recipient's id.
    pub id: String,
    /// Where to send it.
    pub address: SocketAddr,
    /// The serial it announces.
    pub serial: u32,
}

/// What is known of one recipient.
#[derive(Debug)]
struct State {
    addresses: Vec<SocketAddr>,
    /// Which address is tried.
    turn: usize,
    /// The newest serial, while it is not acknowledged.
    news: Option<u32>,
    /// Messages about it so far.
    n_tries: u32,
    sent_at: Option<Duration>,
    /// When to send; none when everything is said.
    due: Option<Duration>,
}

/// Everything that is still to be said. Times are those since any fixed moment.
#[derive(Debug, Default)]
pub struct Outbox {
    states: BTreeMap<(Name, String), State>,
}

impl Outbox {
    /// Replaces the recipients of a zone. New ones are told about `serial`, others keep their place.
    pub fn set(&mut self, zone: &Name, recipients: &[Recipient], serial: u32, now: Duration) {
        self.states.retain(|(known, id), _| {
            known != zone || recipients.iter().any(|recipient| recipient.id == *id)
        });
        for Recipient { id, addresses } in recipients {
            let place = self.states.entry((zone.clone(), id.clone()));
            let state = place.or_insert_with(|| State {
                addresses: Vec::new(),
                turn: 0,
                news: Some(serial),
                n_tries: 0,
                sent_at: None,
                due: Some(now),
            });
            if state.addresses != *addresses {
                state.addresses.clone_from(addresses);
                state.turn = 0;
            }
        }
    }

    /// Forgets a zone.
    pub fn remove(&mut self, zone: &Name) {
        self.states.retain(|(known, _), _| known != zone);
    }

    /// A zone has a new serial.
    pub fn changed(&mut self, zone: &Name, serial: u32, now: Duration) {
        for ((_, _), state) in self
            .states
            .iter_mut()
            .filter(|((known, _), _)| known == zone)
        {
            state.news = Some(serial);
            state.n_tries = 0;
            let earliest = state.sent_at.map_or(now, |at| at + GAP);
            state.due = Some(earliest.max(now));
        }
    }

    /// A recipient acknowledged a serial.
    pub fn acknowledged(&mut self, zone: &Name, id: &str, serial: u32) {
        if let Some(state) = self.states.get_mut(&(zone.clone(), id.to_owned()))
            && state.news == Some(serial)
        {
            state.news = None;
            state.due = None;
        }
    }

    /// What is to be sent now; it counts as sent.
    pub fn take_due(&mut self, now: Duration) -> Vec<Sending> {
        let mut sendings = Vec::new();
        for ((zone, id), state) in &mut self.states {
            let Some(serial) = state
                .news
                .filter(|_| state.due.is_some_and(|due| due <= now))
            else {
                continue;
            };
            if state.n_tries > 0 {
                // The last one was not acknowledged; it may listen somewhere else.
                state.turn += 1;
            }
            let Some(address) = state
                .addresses
                .get(state.turn % state.addresses.len().max(1))
            else {
                state.due = None;
                continue;
            };
            sendings.push(Sending {
                zone: zone.clone(),
                id: id.clone(),
                address: *address,
                serial,
            });
            let patience = PATIENCE
                .saturating_mul(1 << state.n_tries.min(16))
                .min(PATIENCE_MAX);
            state.n_tries += 1;
            state.sent_at = Some(now);
            state.due = (state.n_tries < TRIES_MAX).then_some(now + patience);
        }
        sendings
    }

    /// When something is to be sent next.
    pub fn next_due(&self) -> Option<Duration> {
        self.states.values().filter_map(|state| state.due).min()
    }
}

#[cfg(test)]
mod tests;
