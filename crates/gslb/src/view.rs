//! What each peer said about each host, and when.
//!
//! A view is the memory between polls: the last answer of a peer per host and address family, the last good one
//! before it, and their times. [`HostView::answer`] turns that into what [`crate::select`] wants to know at a given moment.

use std::{
    collections::HashMap,
    mem,
    net::{IpAddr, SocketAddr},
    sync::Arc,
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
        /// Sorted addresses; many hosts share them.
        addresses: Arc<[IpAddr]>,
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
#[derive(Clone, Debug)]
struct Seen {
    tag: Arc<str>,
    family: Family,
    /// The last answer.
    last: Observation,
    /// While that is silence, the last one that was not.
    kept: Option<Box<Observation>>,
    /// Its outages and recoveries.
    history: History,
}

impl Seen {
    /// The last answer that was not silence.
    fn last_good(&self) -> Option<&Observation> {
        match self.last.answer {
            Answer::Silence => self.kept.as_deref(),
            Answer::Targets { .. } => Some(&self.last),
        }
    }

    /// Takes in the next answer; tells whether it says something new.
    fn follow(&mut self, observation: Observation) -> bool {
        let news = self.last.answer != observation.answer;
        self.history
            .note(look(&observation.answer), observation.at, false);
        let silent = observation.answer == Answer::Silence;
        let last = mem::replace(&mut self.last, observation);
        match last.answer {
            _ if !silent => self.kept = None,
            Answer::Targets { .. } => self.kept = Some(Box::new(last)),
            Answer::Silence => {}
        }
        news
    }
}

fn look(answer: &Answer) -> Look {
    match answer {
        Answer::Silence => Look::Silent,
        Answer::Targets { addresses, .. } if addresses.is_empty() => Look::Ill,
        Answer::Targets { .. } => Look::Healthy,
    }
}

/// What every peer said about one host.
#[derive(Clone, Debug, Default)]
pub struct HostView {
    seen: Vec<Seen>,
    /// What each peer said it sees, and when.
    sightings: Vec<(Arc<str>, Sighting, Timestamp)>,
}

/// What is known of a host nobody said anything about.
static NOTHING: HostView = HostView {
    seen: Vec::new(),
    sightings: Vec::new(),
};

/// What every peer said.
#[derive(Clone, Debug, Default)]
pub struct View {
    hosts: HashMap<Arc<str>, HostView>,
    /// Every tag once.
    tags: Vec<Arc<str>>,
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
        let tag = self.tag(tag);
        let host = self.of(host);
        let is_it = |seen: &&mut Seen| seen.family == family && seen.tag == tag;
        if let Some(seen) = host.seen.iter_mut().find(is_it) {
            return seen.follow(observation);
        }
        let mut history = History::default();
        history.note(look(&observation.answer), observation.at, true);
        host.seen.push(Seen {
            tag,
            family,
            last: observation,
            kept: None,
            history,
        });
        // In one order, so that views compare.
        host.seen
            .sort_by(|a, b| (&a.tag, a.family).cmp(&(&b.tag, b.family)));
        true
    }

    /// Notes what a peer said it sees; tells whether that is new.
    pub fn note_sighting(
        &mut self,
        host: &str,
        tag: &str,
        sighting: Sighting,
        at: Timestamp,
    ) -> bool {
        let tag = self.tag(tag);
        let sightings = &mut self.of(host).sightings;
        match sightings.binary_search_by(|(known, ..)| known.cmp(&tag)) {
            Ok(place) => {
                let before = mem::replace(&mut sightings[place], (tag, sighting, at));
                before.1 != sightings[place].1
            }
            Err(place) => {
                sightings.insert(place, (tag, sighting, at));
                true
            }
        }
    }

    /// What is known of one host.
    pub fn host(&self, host: &str) -> &HostView {
        self.hosts.get(host).unwrap_or(&NOTHING)
    }

    /// Forgets a host that is not balanced any more.
    pub fn forget(&mut self, host: &str) {
        self.hosts.remove(host);
    }

    /// Number of hosts somebody said something about.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether nothing has been noted.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    fn of(&mut self, host: &str) -> &mut HostView {
        // The name is copied only when it is new.
        if !self.hosts.contains_key(host) {
            self.hosts.insert(host.into(), HostView::default());
        }
        self.hosts.get_mut(host).expect("it is there now")
    }

    fn tag(&mut self, tag: &str) -> Arc<str> {
        match self.tags.iter().find(|known| ***known == *tag) {
            Some(known) => known.clone(),
            None => {
                let new: Arc<str> = tag.into();
                self.tags.push(new.clone());
                new
            }
        }
    }
}

impl HostView {
    /// Whether both say the same; what is remembered from earlier counts only when `remembering`.
    pub(crate) fn is_alike(&self, other: &HostView, remembering: bool) -> bool {
        let seen = |(a, b): (&Seen, &Seen)| {
            a.tag == b.tag
                && a.family == b.family
                && a.last.answer == b.last.answer
                && (!remembering || a.kept == b.kept && a.history == b.history)
        };
        self.seen.len() == other.seen.len()
            && self.seen.iter().zip(&other.seen).all(seen)
            && (!remembering || self.sightings == other.sightings)
    }

    /// What a peer said it sees, unless that is older than `oldest`; and until when it counts.
    pub fn sighting(
        &self,
        tag: &str,
        now: Timestamp,
        oldest: SignedDuration,
    ) -> Option<(&Sighting, Timestamp)> {
        let found = self.sightings.iter().find(|(known, ..)| **known == *tag);
        let (_, sighting, at) = found?;
        let until = at.checked_add(oldest).ok()?;
        (now < until).then_some((sighting, until))
    }

    /// Until when a cluster that came back is not used; the instant may be over. See [`History::held_until`].
    pub fn held_until(
        &self,
        tag: &str,
        family: Family,
        hold: SignedDuration,
        forgiven: SignedDuration,
    ) -> Option<Timestamp> {
        if hold <= SignedDuration::ZERO {
            return None;
        }
        let seen = self.seen(tag, family)?;
        seen.history.held_until(hold, forgiven)
    }

    /// The last addresses a peer vouched for, however old, unless it took them back.
    pub fn last_good(&self, tag: &str, family: Family) -> Option<&[IpAddr]> {
        match &self.seen(tag, family)?.last_good()?.answer {
            Answer::Targets { addresses, .. } if !addresses.is_empty() => Some(addresses),
            _ => None,
        }
    }

    /// What to believe of a peer now, and until when if that changes by time alone.
    ///
    /// `hold` is how long a silent peer's last addresses are believed, counted from when they were given.
    pub fn answer(
        &self,
        tag: &str,
        family: Family,
        now: Timestamp,
        hold: SignedDuration,
    ) -> (PeerAnswer, Option<Timestamp>) {
        let Some(seen) = self.seen(tag, family) else {
            return (PeerAnswer::Pending, None);
        };
        match &seen.last.answer {
            Answer::Targets { addresses, .. } if addresses.is_empty() => {
                (PeerAnswer::NoTargets, None)
            }
            Answer::Targets { addresses, .. } => (PeerAnswer::Targets(addresses.to_vec()), None),
            Answer::Silence => held(seen.last_good(), now, hold),
        }
    }

    fn seen(&self, tag: &str, family: Family) -> Option<&Seen> {
        let is_it = |seen: &&Seen| seen.family == family && *seen.tag == *tag;
        self.seen.iter().find(is_it)
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
            targets: addresses.to_vec(),
            age_seconds,
        },
        at.checked_add(hold).ok(),
    )
}

#[cfg(test)]
mod tests;
