//! What each peer said about each host, and when.
//!
//! A view is the memory between polls: the last answer of a peer per host and address family, the last good one
//! before it, and their times. [`View::answer`] turns that into what [`crate::select`] wants to know at a given moment.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    select::PeerAnswer,
    sight::Sighting,
    steady::{History, Look},
};

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4, A records.
    V4,
    /// IPv6, AAAA records.
    V6,
}

impl Family {
    /// Both families, IPv4 first.
    pub const BOTH: [Family; 2] = [Family::V4, Family::V6];

    /// The family of an address.
    pub fn of(ip: &IpAddr) -> Family {
        if ip.is_ipv4() { Family::V4 } else { Family::V6 }
    }

    /// The record type that holds addresses of this family.
    pub fn record_type(self) -> &'static str {
        match self {
            Family::V4 => "A",
            Family::V6 => "AAAA",
        }
    }
}

/// One answer of one peer to the question for a host's local targets in one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It vouches for these addresses, which may be none.
    Targets {
        /// Sorted addresses.
        addresses: Vec<IpAddr>,
        /// Time to live the peer gave, in seconds.
        ttl_seconds: u32,
    },
    /// It did not answer usefully: nothing, or an error of the server.
    Silence,
}

/// One answer, when it came and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The answer.
    pub answer: Answer,
    /// When it was complete.
    pub at: Timestamp,
    /// The address that answered; none for silence.
    pub server: Option<SocketAddr>,
}

/// What a peer said about a host in one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The last answer.
    pub last: Observation,
    /// The last one that was not silence; equal to `last` unless that is silence.
    pub last_good: Option<Observation>,
    /// Its outages and recoveries.
    pub history: History,
}

/// Host, tag and family.
type Topic = (String, String, Family);

/// What every peer said.
#[derive(Clone, Debug, Default)]
pub struct View {
    seen: BTreeMap<Topic, Seen>,
    /// What each peer said it sees of each host, by host and tag.
    sightings: BTreeMap<(String, String), (Sighting, Timestamp)>,
}

impl View {
    /// Notes an answer; tells whether it says something new.
    pub fn note(
        &mut self,
        host: &str,
        tag: &str,
        family: Family,
        observation: Observation,
    ) -> bool {
        let topic = (host.to_owned(), tag.to_owned(), family);
        let before = self.seen.get(&topic);
        let news = before.is_none_or(|seen| seen.last.answer != observation.answer);
        let last_good = match observation.answer {
            Answer::Silence => before.and_then(|seen| seen.last_good.clone()),
            Answer::Targets { .. } => Some(observation.clone()),
        };
        let mut history = before.map(|seen| seen.history.clone()).unwrap_or_default();
        let look = match &observation.answer {
            Answer::Silence => Look::Silent,
            Answer::Targets { addresses, .. } if addresses.is_empty() => Look::Ill,
            Answer::Targets { .. } => Look::Healthy,
        };
        history.note(look, observation.at, before.is_none());
        self.seen.insert(
            topic,
            Seen {
                last: observation,
                last_good,
                history,
            },
        );
        news
    }

    /// Notes what a peer said it sees; tells whether that is new.
    pub fn note_sighting(
        &mut self,
        host: &str,
        tag: &str,
        sighting: Sighting,
        at: Timestamp,
    ) -> bool {
        let topic = (host.to_owned(), tag.to_owned());
        let before = self.sightings.insert(topic, (sighting.clone(), at));
        before.is_none_or(|(before, _)| before != sighting)
    }

    /// What a peer said it sees, unless that is older than `oldest`; and until when it counts.
    pub fn sighting(
        &self,
        host: &str,
        tag: &str,
        now: Timestamp,
        oldest: SignedDuration,
    ) -> Option<(&Sighting, Timestamp)> {
        let (sighting, at) = self.sightings.get(&(host.to_owned(), tag.to_owned()))?;
        let until = at.checked_add(oldest).ok()?;
        (now < until).then_some((sighting, until))
    }

    /// Until when a cluster that came back is not used; the instant may be over. See [`History::held_until`].
    pub fn held_until(
        &self,
        host: &str,
        tag: &str,
        family: Family,
        hold: SignedDuration,
        forgiven: SignedDuration,
    ) -> Option<Timestamp> {
        if hold <= SignedDuration::ZERO {
            return None;
        }
        let seen = self.seen(host, tag, family)?;
        seen.history.held_until(hold, forgiven)
    }

    /// The last addresses a peer vouched for, however old, unless it took them back.
    pub fn last_good(&self, host: &str, tag: &str, family: Family) -> Option<&[IpAddr]> {
        match &self.seen(host, tag, family)?.last_good.as_ref()?.answer {
            Answer::Targets { addresses, .. } if !addresses.is_empty() => Some(addresses),
            _ => None,
        }
    }

    /// The last answer of a peer about a host.
    pub fn seen(&self, host: &str, tag: &str, family: Family) -> Option<&Seen> {
        self.seen.get(&(host.to_owned(), tag.to_owned(), family))
    }

    /// What to believe of a peer now, and until when if that changes by time alone.
    ///
    /// `hold` is how long a silent peer's last addresses are believed, counted from when they were given.
    pub fn answer(
        &self,
        host: &str,
        tag: &str,
        family: Family,
        now: Timestamp,
        hold: SignedDuration,
    ) -> (PeerAnswer, Option<Timestamp>) {
        let Some(seen) = self.seen(host, tag, family) else {
            return (PeerAnswer::Pending, None);
        };
        match &seen.last.answer {
            Answer::Targets { addresses, .. } if addresses.is_empty() => {
                (PeerAnswer::NoTargets, None)
            }
            Answer::Targets { addresses, .. } => (PeerAnswer::Targets(addresses.clone()), None),
            Answer::Silence => held(seen.last_good.as_ref(), now, hold),
        }
    }

    /// Forgets a host that is not balanced any more.
    pub fn forget(&mut self, host: &str) {
        let from = (host.to_owned(), String::new(), Family::V4);
        let topics: Vec<Topic> = self
            .seen
            .range(from..)
            .map(|(t, _)| t)
            .take_while(|t| t.0 == host)
            .cloned()
            .collect();
        for topic in topics {
            self.seen.remove(&topic);
        }
        let from = (host.to_owned(), String::new());
        let topics: Vec<(String, String)> = self
            .sightings
            .range(from..)
            .map(|(topic, _)| topic)
            .take_while(|topic| topic.0 == host)
            .cloned()
            .collect();
        for topic in topics {
            self.sightings.remove(&topic);
        }
    }

    /// Number of topics held.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether nothing has been noted.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }
}

fn held(
    good: Option<&Observation>,
    now: Timestamp,
    hold: SignedDuration,
) -> (PeerAnswer, Option<Timestamp>) {
    let Some(Observation {
        answer: Answer::Targets { addresses, .. },
        at,
        ..
    }) = good
    else {
        return (PeerAnswer::Unknown, None);
    };
    let age = now.duration_since(*at);
    if addresses.is_empty() || age >= hold {
        return (PeerAnswer::Unknown, None);
    }
    let age_seconds = u32::try_from(age.as_secs().max(0)).unwrap_or(u32::MAX);
    (
        PeerAnswer::Held {
            targets: addresses.clone(),
            age_seconds,
        },
        at.checked_add(hold).ok(),
    )
}

#[cfg(test)]
mod tests;
