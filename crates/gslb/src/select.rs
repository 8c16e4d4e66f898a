//! Which clusters a host is answered with, and why.
//!
//! The whole strategy is one walk over *tiers*: a list of groups of clusters, best first. The first tier in which
//! somebody has addresses wins, and everybody in it is returned.
//!
//! | strategy | tiers |
//! |---|---|
//! | roundRobin, geoip | everybody |
//! | failover | the primary, then everybody else |
//! | failover with an order | one tier per cluster of the order, then everybody else |
//!
//! That gives k8gb's published behaviour: an unhealthy primary is replaced by *all* healthy secondaries together, and a
//! healthy secondary still prefers the primary. The walk runs once per address family, so a family in which the
//! primary has no address fails over on its own.
//!
//! A peer that says "nothing here" ([`PeerAnswer::NoTargets`]) and one that says nothing at all
//! ([`PeerAnswer::Unknown`]) are kept apart: k8gb treats both alike, which is the source of false fail-overs; here a
//! silent peer's last good answer can be held for `splitBrainThresholdSeconds` ([`PeerAnswer::Held`]).
//!
//! Two things bend the walk, both off unless asked for ([`Circumstances`]): a cluster that came back lately is passed over
//! while others can serve, and one that is being drained shares with those who would serve without it.
//!
//! Source: k8gb v0.21 `controllers/applicationDNSEndpoint.go`; research §3.2.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
};

use jiff::Timestamp;

use crate::{health::Health, ramp::FULL, sight::Votes};

/// How the clusters share a host, validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Every healthy cluster, in turn.
    RoundRobin,
    /// Every healthy cluster; the DNS server picks the nearest for each client.
    GeoIp,
    /// The first cluster of the list that is healthy, then everybody else. The first entry is the primary.
    Failover {
        /// Clusters in order of preference, at least one.
        order: Vec<String>,
    },
}

impl Strategy {
    /// The word in `spec.strategy.type`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Strategy::RoundRobin => "roundRobin",
            Strategy::GeoIp => "geoip",
            Strategy::Failover { .. } => "failover",
        }
    }
}

/// What is known of one peer for one host and one address family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerAnswer {
    /// The peer vouches for these addresses, sorted and not empty.
    Targets(Vec<IpAddr>),
    /// The peer answered that it has none: unhealthy there, or no such host.
    NoTargets,
    /// The peer did not answer, and nothing is held.
    Unknown,
    /// The peer does not answer; these are the addresses it vouched for `age_seconds` ago.
    Held {
        /// The last addresses, not empty.
        targets: Vec<IpAddr>,
        /// How old they are.
        age_seconds: u32,
    },
    /// The peer does not answer, but too few other clusters lost it too, so it is taken to be well where clients are.
    Unwitnessed {
        /// The last addresses it vouched for, not empty.
        targets: Vec<IpAddr>,
        /// Who lost it.
        votes: Votes,
    },
    /// The peer has not been asked yet.
    Pending,
}

/// What is known of clusters beyond who vouches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Clusters that came back only lately, and until when they are not used while others can serve.
    pub recovering: BTreeMap<String, Timestamp>,
    /// Percent of its share that a cluster takes while it is drained or comes back; one that is absent takes all of it.
    pub shares: BTreeMap<String, u32>,
}

/// What this cluster can offer for one host and one address family.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    /// Our geo tag.
    pub tag: &'a str,
    /// Health of the host here.
    pub health: Health,
    /// Our addresses of the family, sorted.
    pub addresses: &'a [IpAddr],
}

/// The rule that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// roundRobin or geoip: every healthy cluster.
    EveryHealthy,
    /// failover: the primary is healthy.
    Primary,
    /// failover with an order: a cluster further down the list.
    Next,
    /// failover: nobody on the list is healthy, so every healthy other cluster.
    Secondaries,
    /// failover: the cluster that serves is being drained, or comes back, and shares with those that would serve
    /// without it.
    Handover,
    /// Nobody is healthy.
    Nobody,
}

/// One fact that led to a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// This cluster can serve.
    OwnHealthy {
        /// Our tag.
        tag: String,
    },
    /// This cluster cannot serve.
    OwnUnhealthy {
        /// Our tag.
        tag: String,
        /// What the health check said.
        health: Health,
    },
    /// This cluster is healthy but has no address of this family.
    OwnWithoutAddress {
        /// Our tag.
        tag: String,
    },
    /// A peer vouches for addresses.
    PeerHealthy {
        /// Its tag.
        tag: String,
    },
    /// A peer said that it has nothing.
    PeerWithoutTargets {
        /// Its tag.
        tag: String,
    },
    /// A peer did not answer.
    PeerUnknown {
        /// Its tag.
        tag: String,
    },
    /// A silent peer's last answer is still believed.
    PeerHeld {
        /// Its tag.
        tag: String,
        /// Age of the answer.
        age_seconds: u32,
    },
    /// A silent peer is kept because too few other clusters lost it too.
    PeerUnwitnessed {
        /// Its tag.
        tag: String,
        /// Who lost it.
        votes: Votes,
    },
    /// A peer has not been asked yet, and its answer could change the outcome.
    PeerPending {
        /// Its tag.
        tag: String,
    },
    /// A cluster is healthy again and not used yet.
    Recovering {
        /// Its tag.
        tag: String,
        /// Until when, unless nobody else can serve.
        until: Timestamp,
    },
    /// A cluster takes only a part of its share.
    Share {
        /// Its tag.
        tag: String,
        /// The part, in percent.
        percent: u32,
    },
    /// The rule that decided, over the clusters it picked.
    Chose {
        /// The rule.
        rule: Rule,
        /// The clusters.
        tags: Vec<String>,
    },
}

/// The outcome for one host and one address family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Addresses by the cluster they belong to; no cluster without addresses.
    pub targets: BTreeMap<String, Vec<IpAddr>>,
    /// Relative shares of the clusters; empty when each has what its weight says.
    pub shares: BTreeMap<String, u32>,
    /// The rule that decided.
    pub rule: Rule,
    /// Whether a peer that was not asked yet could change the outcome; then keep what was published before.
    pub waiting: bool,
    /// How it came about: own health, each peer in order of tags, then the rule.
    pub why: Vec<Reason>,
}

impl Selection {
    /// All addresses, in order of tags, each once.
    ///
    /// Two clusters behind one NAT address are one target to a client.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let mut seen = BTreeSet::new();
        self.targets
            .values()
            .flatten()
            .copied()
            .filter(|ip| seen.insert(*ip))
            .collect()
    }
}

/// Selects the clusters a host is answered with, when nothing special is known of any.
pub fn select(
    strategy: &Strategy,
    own: Own<'_>,
    peers: &BTreeMap<String, PeerAnswer>,
) -> Selection {
    select_in(&Circumstances::default(), strategy, own, peers)
}

/// Selects the clusters a host is answered with.
pub fn select_in(
    circumstances: &Circumstances,
    strategy: &Strategy,
    own: Own<'_>,
    peers: &BTreeMap<String, PeerAnswer>,
) -> Selection {
    let mut why = vec![own_reason(own)];
    let mut available: Available<'_> = BTreeMap::new();
    if own.health == Health::Healthy && !own.addresses.is_empty() {
        available.insert(own.tag, own.addresses);
    }
    for (tag, answer) in peers {
        why.push(peer_reason(tag, answer));
        if let PeerAnswer::Targets(targets)
        | PeerAnswer::Held { targets, .. }
        | PeerAnswer::Unwitnessed { targets, .. } = answer
        {
            available.insert(tag, targets);
        }
    }
    let order: &[String] = match strategy {
        Strategy::Failover { order } => order,
        Strategy::RoundRobin | Strategy::GeoIp => &[],
    };
    let steady: Available<'_> = available
        .iter()
        .filter(|(tag, _)| !circumstances.recovering.contains_key(**tag))
        .map(|(tag, targets)| (*tag, *targets))
        .collect();
    let mut waiting = false;
    if steady.is_empty() && !available.is_empty() {
        // Whoever is left is used at once; somebody not asked yet might have been steady.
        waiting = peers.values().any(|answer| *answer == PeerAnswer::Pending);
    } else {
        for (tag, until) in &circumstances.recovering {
            if available.remove(tag.as_str()).is_some() {
                why.push(Reason::Recovering {
                    tag: tag.clone(),
                    until: *until,
                });
            }
        }
    }
    let mut selection = walk(order, &available, peers);
    selection.waiting |= waiting;
    hand_over(
        &circumstances.shares,
        order,
        &available,
        peers,
        &mut selection,
        &mut why,
    );
    why.push(Reason::Chose {
        rule: selection.rule,
        tags: selection.targets.keys().cloned().collect(),
    });
    selection.why = why;
    selection
}

/// Addresses by the cluster they belong to.
type Available<'a> = BTreeMap<&'a str, &'a [IpAddr]>;

/// The first tier in which somebody has addresses.
fn walk(
    order: &[String],
    available: &Available<'_>,
    peers: &BTreeMap<String, PeerAnswer>,
) -> Selection {
    let pending = |tag: &str| peers.get(tag) == Some(&PeerAnswer::Pending);
    let found = |targets, rule, waiting| Selection {
        targets,
        shares: BTreeMap::new(),
        rule,
        waiting,
        why: Vec::new(),
    };
    let mut waiting = false;
    for (position, tag) in order.iter().enumerate() {
        waiting |= pending(tag);
        if let Some(targets) = available.get(tag.as_str()) {
            let rule = if position == 0 {
                Rule::Primary
            } else {
                Rule::Next
            };
            return found([(tag.clone(), targets.to_vec())].into(), rule, waiting);
        }
    }
    let rest = |tag: &str| !order.iter().any(|listed| listed == tag);
    waiting |= peers.keys().any(|tag| rest(tag) && pending(tag));
    let targets: BTreeMap<String, Vec<IpAddr>> = available
        .iter()
        .filter(|(tag, _)| rest(tag))
        .map(|(tag, targets)| ((*tag).to_owned(), targets.to_vec()))
        .collect();
    let rule = match (targets.is_empty(), order.is_empty()) {
        (true, _) => Rule::Nobody,
        (false, true) => Rule::EveryHealthy,
        (false, false) => Rule::Secondaries,
    };
    found(targets, rule, waiting)
}

/// Gives clusters that take a part of their share only that part. In a fail-over the rest goes to those who would serve
/// without it; where nobody would, the cluster keeps everything until it stops vouching.
fn hand_over(
    shares: &BTreeMap<String, u32>,
    order: &[String],
    available: &Available<'_>,
    peers: &BTreeMap<String, PeerAnswer>,
    selection: &mut Selection,
    why: &mut Vec<Reason>,
) {
    let partial = |tag: &String| shares.get(tag).copied().filter(|percent| *percent < FULL);
    let parts: Vec<(String, u32)> = selection
        .targets
        .keys()
        .filter_map(|tag| Some((tag.clone(), partial(tag)?)))
        .collect();
    if parts.is_empty() {
        return;
    }
    if matches!(selection.rule, Rule::Primary | Rule::Next) {
        let leaving = &parts[0];
        let mut others = available.clone();
        others.remove(leaving.0.as_str());
        let next = walk(order, &others, peers);
        let n_others = u32::try_from(next.targets.len()).unwrap_or(u32::MAX);
        if n_others == 0 {
            return;
        }
        let each = ((FULL - leaving.1) / n_others).max(1);
        selection.shares = next.targets.keys().map(|tag| (tag.clone(), each)).collect();
        selection.shares.insert(leaving.0.clone(), leaving.1);
        selection.targets.extend(next.targets);
        selection.waiting |= next.waiting;
        selection.rule = Rule::Handover;
    } else if selection.targets.len() > 1 {
        let part = |tag: &String| partial(tag).unwrap_or(FULL);
        let all = selection.targets.keys();
        selection.shares = all.map(|tag| (tag.clone(), part(tag))).collect();
    }
    why.extend(
        parts
            .into_iter()
            .map(|(tag, percent)| Reason::Share { tag, percent }),
    );
}

fn own_reason(own: Own<'_>) -> Reason {
    let tag = own.tag.to_owned();
    match own.health {
        Health::Healthy if own.addresses.is_empty() => Reason::OwnWithoutAddress { tag },
        Health::Healthy => Reason::OwnHealthy { tag },
        health => Reason::OwnUnhealthy { tag, health },
    }
}

fn peer_reason(tag: &str, answer: &PeerAnswer) -> Reason {
    let tag = tag.to_owned();
    match answer {
        PeerAnswer::Targets(_) => Reason::PeerHealthy { tag },
        PeerAnswer::NoTargets => Reason::PeerWithoutTargets { tag },
        PeerAnswer::Unknown => Reason::PeerUnknown { tag },
        PeerAnswer::Held { age_seconds, .. } => Reason::PeerHeld {
            tag,
            age_seconds: *age_seconds,
        },
        PeerAnswer::Unwitnessed { votes, .. } => Reason::PeerUnwitnessed { tag, votes: *votes },
        PeerAnswer::Pending => Reason::PeerPending { tag },
    }
}

// === impl Reason ===

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::EveryHealthy => "every healthy cluster serves",
            Rule::Primary => "the primary serves",
            Rule::Next => "the next cluster of the order serves",
            Rule::Secondaries => "the primary cannot serve, every other healthy cluster does",
            Rule::Handover => "the cluster that serves hands over step by step",
            Rule::Nobody => "no cluster is known to be healthy",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::OwnHealthy { tag } => write!(f, "{tag} (this cluster) is healthy"),
            Reason::OwnUnhealthy { tag, health } => write!(f, "{tag} (this cluster) is {health}"),
            Reason::OwnWithoutAddress { tag } => {
                write!(
                    f,
                    "{tag} (this cluster) is healthy but has no address of this family"
                )
            }
            Reason::PeerHealthy { tag } => write!(f, "{tag} vouches for its addresses"),
            Reason::PeerWithoutTargets { tag } => write!(f, "{tag} answered that it has none"),
            Reason::PeerUnknown { tag } => write!(f, "{tag} did not answer"),
            Reason::PeerHeld { tag, age_seconds } => {
                write!(
                    f,
                    "{tag} does not answer, its answer of {age_seconds} s ago is held"
                )
            }
            Reason::PeerUnwitnessed { tag, votes } => {
                let Votes { lost, of } = votes;
                write!(
                    f,
                    "{tag} does not answer, but only {lost} of {of} other clusters lost it too; it stays"
                )
            }
            Reason::Recovering { tag, until } => {
                let until = until.strftime("%Y-%m-%dT%H:%M:%SZ");
                write!(
                    f,
                    "{tag} is back and is used from {until} on, or when nobody else can serve"
                )
            }
            Reason::Share { tag, percent } => write!(f, "{tag} takes {percent} % of its share"),
            Reason::PeerPending { tag } => write!(f, "{tag} has not been asked yet"),
            Reason::Chose { rule, tags } if tags.is_empty() => write!(f, "{rule}"),
            Reason::Chose { rule, tags } => write!(f, "{rule}: {}", tags.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests;
