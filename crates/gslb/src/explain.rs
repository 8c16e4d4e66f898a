//! Why a host is answered the way it is, for people and programs.
//!
//! [`explain`] is pure: from what a cluster's objects say, what each peer answers and what the cluster's own DNS server
//! answers, it runs the same [`select`] as the controller and lays the facts out. [`ask`] gathers those facts from any
//! cluster with nothing but a client, so no part of the running controller has to be asked. [`what_if`] runs the same
//! decision for a fleet in which clusters are ill or cannot hear each other, and [`outlook::outlook`] starts from the state of now.

pub mod ask;
pub mod outlook;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
};

use jiff::Timestamp;
use serde::Serialize;

use crate::{
    health::Health,
    ramp::FULL,
    select::{Circumstances, Own, PeerAnswer, Reason, Selection, Strategy, select, select_in},
    sight::{Sighting, State, Votes},
    spec::Rules,
    view::{Answer, Family, Observation},
};

/// Everything an explanation is made of.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The host.
    pub host: String,
    /// Namespace and name of the Gslb that publishes it.
    pub gslb: String,
    /// The zone it lies in.
    pub zone: String,
    /// The clusters whose changes are pushed to this one.
    pub pushed: Vec<String>,
    /// Geo tag of the cluster that explains.
    pub geo_tag: String,
    /// The rules of the Gslb.
    pub rules: Rules,
    /// Health of the host in this cluster.
    pub health: Health,
    /// Addresses of this cluster.
    pub addresses: Vec<IpAddr>,
    /// What each peer answered just now, by tag and family.
    pub peers: BTreeMap<String, BTreeMap<Family, Observation>>,
    /// What this cluster's own DNS server answers for the host just now.
    pub served: BTreeMap<Family, Observation>,
    /// What each cluster says about whom it sees, this one included, by tag; only with options that need it.
    pub sights: BTreeMap<String, Sighting>,
    /// What the object's condition complains about; empty when it is fine.
    pub problem: String,
    /// Now.
    pub now: Timestamp,
}

/// Why a host is answered the way it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The host.
    pub host: String,
    /// Namespace and name of the Gslb.
    pub gslb: String,
    /// The zone.
    pub zone: String,
    /// The cluster that explains.
    pub geo_tag: String,
    /// roundRobin, failover or geoip.
    pub strategy: String,
    /// Clusters in order of preference, for failover.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// Health here: Healthy, Unhealthy or NotFound.
    pub health: String,
    /// Addresses of this cluster.
    pub addresses: Vec<IpAddr>,
    /// Every other cluster.
    pub peers: Vec<Peer>,
    /// What the annotations ask for beyond k8gb, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Whom each cluster says it sees.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sights: BTreeMap<String, String>,
    /// One entry per family that has any address.
    pub answers: Vec<Answered>,
    /// What the object's condition complains about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub problem: String,
}

/// What one peer said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Peer {
    /// Its tag.
    pub geo_tag: String,
    /// `vouches`, `has no targets` or `does not answer`.
    pub says: &'static str,
    /// The addresses it vouches for.
    pub addresses: Vec<IpAddr>,
    /// The address that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// When it was asked, RFC 3339.
    pub asked_at: String,
    /// How this cluster hears of its changes: `push` or `poll`.
    pub heard_by: &'static str,
}

/// What is answered in one family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// A or AAAA.
    pub record_type: &'static str,
    /// What the rules give with the facts of now.
    pub expected: Vec<IpAddr>,
    /// What this cluster's DNS server answers now; none when it does not answer.
    pub served: Option<Vec<IpAddr>>,
    /// TTL of the served answer in seconds.
    pub ttl_seconds: Option<u32>,
    /// How the rules came to it.
    pub why: Vec<String>,
}

/// Explains an answer.
pub fn explain(facts: &Facts) -> Explanation {
    let answers = Family::BOTH
        .into_iter()
        .map(|family| answered(facts, family))
        .filter(|a| !a.expected.is_empty() || a.served.as_ref().is_some_and(|s| !s.is_empty()))
        .collect();
    let order = match &facts.rules.strategy {
        Strategy::Failover { order } => order.clone(),
        _ => Vec::new(),
    };
    Explanation {
        host: facts.host.clone(),
        gslb: facts.gslb.clone(),
        zone: facts.zone.clone(),
        geo_tag: facts.geo_tag.clone(),
        strategy: facts.rules.strategy.as_str().to_owned(),
        order,
        health: facts.health.to_string(),
        addresses: facts.addresses.clone(),
        peers: facts
            .peers
            .iter()
            .filter_map(|(tag, said)| peer(tag, said, facts.pushed.contains(tag)))
            .collect(),
        options: options(facts),
        sights: facts
            .sights
            .iter()
            .map(|(tag, sighting)| (tag.clone(), sighting_text(sighting)))
            .collect(),
        answers,
        problem: facts.problem.clone(),
    }
}

fn answered(facts: &Facts, family: Family) -> Answered {
    let addresses = of_family(&facts.addresses, family);
    let own = Own {
        tag: &facts.geo_tag,
        health: facts.health,
        addresses: &addresses,
    };
    let peers = facts
        .peers
        .iter()
        .map(|(tag, said)| (tag.clone(), believed(said.get(&family))))
        .collect();
    let selection = select_in(&circumstances(facts), &facts.rules.strategy, own, &peers);
    let (served, ttl_seconds) = match facts.served.get(&family).map(|o| &o.answer) {
        Some(Answer::Targets {
            addresses,
            ttl_seconds,
        }) => (
            Some(addresses.to_vec()),
            Some(*ttl_seconds).filter(|_| !addresses.is_empty()),
        ),
        _ => (None, None),
    };
    Answered {
        record_type: family.record_type(),
        expected: sorted(selection.addresses()),
        served,
        ttl_seconds,
        why: selection.why.iter().map(Reason::to_string).collect(),
    }
}

/// What the controller remembers and an explanation cannot know by itself, as far as its own sight tells.
fn circumstances(facts: &Facts) -> Circumstances {
    let mut circumstances = Circumstances::default();
    let said = |tag: &str| match facts.sights.get(tag) {
        Some(Sighting::Said(sight)) => Some(sight),
        _ => None,
    };
    for (tag, state) in said(&facts.geo_tag)
        .into_iter()
        .flat_map(|own| &own.clusters)
    {
        if *state == State::Recovering {
            // When it ends is known to the controller alone; it is not over.
            let at_least = facts.now.saturating_add(facts.rules.options.hold);
            let until = at_least.unwrap_or(Timestamp::MAX);
            circumstances.recovering.insert(tag.clone(), until);
        }
    }
    for tag in facts.sights.keys() {
        if let Some(sight) = said(tag).filter(|sight| sight.share < FULL) {
            circumstances.shares.insert(tag.clone(), sight.share);
        }
    }
    circumstances
}

/// The options that are on, a sentence each.
fn options(facts: &Facts) -> Vec<String> {
    let options = &facts.rules.options;
    let mut texts = Vec::new();
    if options.witness {
        texts.push("a silent primary is given up when most other clusters lost it too".to_owned());
    }
    if !options.hold.is_zero() {
        let seconds = options.hold.as_secs();
        texts.push(format!(
            "a cluster that came back is watched for {seconds} s before it is used"
        ));
    }
    let share = options.drain.share(options.drain_period, facts.now);
    if share.percent < FULL {
        let until = share
            .until
            .map(|until| format!(" until {}", until.strftime("%Y-%m-%dT%H:%M:%SZ")));
        let until = until.unwrap_or_default();
        texts.push(format!(
            "{} is drained and takes {} % of its share{until}",
            facts.geo_tag, share.percent
        ));
    }
    if let Some(n) = options.answers {
        texts.push(format!("an answer has {n} of the addresses"));
    }
    texts
}

fn sighting_text(sighting: &Sighting) -> String {
    match sighting {
        Sighting::Said(sight) => sight.to_string(),
        Sighting::NotKept => "keeps none".to_owned(),
        Sighting::Silence => "does not answer".to_owned(),
    }
}

fn believed(observation: Option<&Observation>) -> PeerAnswer {
    match observation.map(|observation| &observation.answer) {
        Some(Answer::Targets { addresses, .. }) if addresses.is_empty() => PeerAnswer::NoTargets,
        Some(Answer::Targets { addresses, .. }) => PeerAnswer::Targets(addresses.to_vec()),
        Some(Answer::Silence) | None => PeerAnswer::Unknown,
    }
}

fn peer(tag: &str, said: &BTreeMap<Family, Observation>, pushed: bool) -> Option<Peer> {
    let mut addresses = Vec::new();
    let mut answered = false;
    for observation in said.values() {
        if let Answer::Targets {
            addresses: found, ..
        } = &observation.answer
        {
            answered = true;
            addresses.extend(found.iter());
        }
    }
    let says = match (answered, addresses.is_empty()) {
        (false, _) => "does not answer",
        (true, true) => "has no targets",
        (true, false) => "vouches",
    };
    let last = said.values().max_by_key(|observation| observation.at)?;
    Some(Peer {
        geo_tag: tag.to_owned(),
        says,
        addresses,
        server: said
            .values()
            .find_map(|o| o.server)
            .map(|server| server.to_string()),
        asked_at: last.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        heard_by: if pushed { "push" } else { "poll" },
    })
}

fn of_family(ips: &[IpAddr], family: Family) -> Vec<IpAddr> {
    ips.iter()
        .copied()
        .filter(|ip| Family::of(ip) == family)
        .collect()
}

fn sorted(mut ips: Vec<IpAddr>) -> Vec<IpAddr> {
    ips.sort();
    ips
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |ips: &[IpAddr]| match ips {
            [] => "nothing".to_owned(),
            ips => ips
                .iter()
                .map(IpAddr::to_string)
                .collect::<Vec<_>>()
                .join(", "),
        };
        writeln!(f, "{} as seen by {}", self.host, self.geo_tag)?;
        let order = if self.order.is_empty() {
            String::new()
        } else {
            format!(", order {}", self.order.join(" > "))
        };
        writeln!(
            f,
            "  Gslb {}, zone {}, strategy {}{order}",
            self.gslb, self.zone, self.strategy
        )?;
        if !self.problem.is_empty() {
            writeln!(f, "  problem: {}", self.problem)?;
        }
        writeln!(
            f,
            "  {} (this cluster): {}, {}",
            self.geo_tag,
            self.health,
            list(&self.addresses)
        )?;
        for peer in &self.peers {
            let server = peer
                .server
                .as_ref()
                .map(|s| format!(" from {s}"))
                .unwrap_or_default();
            let addresses = match peer.says {
                "vouches" => format!(" for {}", list(&peer.addresses)),
                _ => String::new(),
            };
            writeln!(
                f,
                "  {}: {}{addresses}{server} at {}, heard by {}",
                peer.geo_tag, peer.says, peer.asked_at, peer.heard_by
            )?;
        }
        for option in &self.options {
            writeln!(f, "  option: {option}")?;
        }
        for (tag, sight) in &self.sights {
            writeln!(f, "  view of {tag}: {sight}")?;
        }
        if self.answers.is_empty() {
            writeln!(f, "  answer: nothing (NXDOMAIN)")?;
        }
        for answer in &self.answers {
            let ttl = answer
                .ttl_seconds
                .map(|ttl| format!(", TTL {ttl} s"))
                .unwrap_or_default();
            let served = match &answer.served {
                Some(served) => list(served),
                None => "no reply from this cluster's DNS server".to_owned(),
            };
            writeln!(f, "  {} answer: {served}{ttl}", answer.record_type)?;
            if answer
                .served
                .as_ref()
                .is_some_and(|served| *served != answer.expected)
            {
                let expected = list(&answer.expected);
                writeln!(f, "    with what is known now it would be: {expected}")?;
            }
            for why in &answer.why {
                writeln!(f, "    - {why}")?;
            }
        }
        Ok(())
    }
}

/// A fleet as it might be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// Clusters in which the host is not healthy.
    pub unhealthy: BTreeSet<String>,
    /// Pairs of clusters that do not hear each other.
    pub partitions: BTreeSet<(String, String)>,
    /// Clusters whose fail-over needs witnesses; all have heard each other before.
    pub witnessed: bool,
}

/// What each cluster would answer in a scenario, by its tag.
///
/// `addresses` are those of every cluster of the fleet, of one family. Nothing is held from before: the outcome is the
/// lasting one, after `splitBrainThresholdSeconds`.
pub fn what_if(
    strategy: &Strategy,
    addresses: &BTreeMap<String, Vec<IpAddr>>,
    scenario: &Scenario,
) -> BTreeMap<String, Selection> {
    let health = |tag: &str| match scenario.unhealthy.contains(tag) {
        true => Health::Unhealthy,
        false => Health::Healthy,
    };
    let cut = |a: &String, b: &String| {
        [(a, b), (b, a)]
            .iter()
            .any(|(a, b)| scenario.partitions.contains(&((*a).clone(), (*b).clone())))
    };
    let order: &[String] = match strategy {
        Strategy::Failover { order } if scenario.witnessed => order,
        _ => &[],
    };
    let place = |tag: &String| order.iter().position(|listed| listed == tag);
    let silent = |observer: &String, tag: &String, ips: &[IpAddr]| {
        let takes_over = place(tag).is_some_and(|p| place(observer).is_none_or(|own| p < own));
        if !takes_over || ips.is_empty() {
            return PeerAnswer::Unknown;
        }
        let mut votes = Votes::default();
        for other in addresses
            .keys()
            .filter(|other| *other != tag && *other != observer)
        {
            votes.of += 1;
            let lost = cut(other, tag) || health(tag) != Health::Healthy;
            votes.lost += usize::from(lost && !cut(observer, other));
        }
        match votes.agree() {
            true => PeerAnswer::Unknown,
            false => PeerAnswer::Unwitnessed {
                targets: ips.to_vec(),
                votes,
            },
        }
    };
    addresses
        .iter()
        .map(|(observer, own)| {
            let peers = addresses
                .iter()
                .filter(|(tag, _)| *tag != observer)
                .map(|(tag, ips)| {
                    let answer = match (cut(observer, tag), health(tag)) {
                        (true, _) => silent(observer, tag, ips),
                        (false, Health::Healthy) if !ips.is_empty() => {
                            PeerAnswer::Targets(ips.clone())
                        }
                        _ => PeerAnswer::NoTargets,
                    };
                    (tag.clone(), answer)
                })
                .collect();
            let own = Own {
                tag: observer,
                health: health(observer),
                addresses: own,
            };
            (observer.clone(), select(strategy, own, &peers))
        })
        .collect()
}

#[cfg(test)]
mod tests;
