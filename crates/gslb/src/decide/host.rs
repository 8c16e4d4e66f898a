//! What one host is answered with: what is known of each cluster, turned into a selection per family.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::IpAddr,
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};

use super::{Context, HostDecision, Resolved};
use crate::{
    endpoints::HostRecords,
    health::Health,
    ramp::FULL,
    select::{Circumstances, Own, PeerAnswer, Selection, Strategy, select_in},
    sight::{self, Sight, Sighting, State, Votes},
    spec::Rules,
    view::{Answer, Family, HostView, Observation},
    world::World,
};

/// Polls after which what a cluster said it sees does not count any more.
const SIGHT_POLLS: u32 = 3;
/// Least time it counts, so that a short interval does not outrun the network.
const SIGHT_SECONDS_MIN: i64 = 5;
/// What counts as the interval when peers are never polled.
const INTERVAL_SECONDS: i64 = 30;

/// Whether the other clusters have to be asked whom they see, and how soon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asking {
    /// Nothing depends on it.
    #[default]
    No,
    /// Once per poll interval.
    Calmly,
    /// At once and every second: a fail-over waits for it.
    Urgently,
}

/// Decisions about hosts of one Gslb that are remembered for others of which the same is known. Hosts that differ mostly do so
/// because one peer's answers about them are still under way.
const ALIKE_MAX: usize = 16;

/// One host on its way to a decision.
struct Subject<'a> {
    zone: &'a Arc<str>,
    health: Health,
    rules: &'a Rules,
    addresses: &'a [IpAddr],
    /// What the peers said about it.
    view: &'a HostView,
}

/// A decision, what it was made from, and when time changes it.
struct Made<'a> {
    zone: &'a Arc<str>,
    health: Health,
    view: &'a HostView,
    decision: Arc<HostDecision>,
    until: Option<Timestamp>,
}

/// Decides the hosts of one Gslb. What is known of most of them is the same, and then so is the decision: it is made once.
pub(super) struct Alike<'a> {
    world: &'a World,
    rules: &'a Rules,
    addresses: &'a [IpAddr],
    ctx: Context<'a>,
    /// Whether a decision reads more of a view than the last answers.
    remembering: bool,
    /// The latest last.
    made: VecDeque<Made<'a>>,
}

impl<'a> Alike<'a> {
    pub(super) fn new(
        world: &'a World,
        rules: &'a Rules,
        addresses: &'a [IpAddr],
        ctx: Context<'a>,
    ) -> Alike<'a> {
        let options = &rules.options;
        let remembering =
            !rules.hold.is_zero() || !options.hold.is_zero() || options.needs_sights();
        Alike {
            world,
            rules,
            addresses,
            ctx,
            remembering,
            made: VecDeque::new(),
        }
    }

    /// The decision about a host, and when it has to be made again although nothing happens.
    pub(super) fn decide(
        &mut self,
        zone: &'a Arc<str>,
        health: Health,
        view: &'a HostView,
    ) -> (Arc<HostDecision>, Option<Timestamp>) {
        let fits = |made: &&Made<'_>| {
            made.health == health && made.zone == zone && made.view.is_alike(view, self.remembering)
        };
        if let Some(made) = self.made.iter().rev().find(fits) {
            return (made.decision.clone(), made.until);
        }
        let subject = Subject {
            zone,
            health,
            rules: self.rules,
            addresses: self.addresses,
            view,
        };
        let mut until = None;
        let decision = Arc::new(decide_host(self.world, &subject, self.ctx, &mut until));
        if self.made.len() == ALIKE_MAX {
            self.made.pop_front();
        }
        self.made.push_back(Made {
            zone,
            health,
            view,
            decision: decision.clone(),
            until,
        });
        (decision, until)
    }
}

/// The earlier of two instants.
pub(super) fn sooner(at: &mut Option<Timestamp>, other: Option<Timestamp>) {
    *at = match (*at, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
}

/// The tags of the other clusters that serve a zone.
pub(super) fn peers_of<'w>(world: &'w World, zone: &str, ctx: Context<'w>) -> BTreeSet<&'w str> {
    world
        .zones
        .values()
        .filter(|candidate| candidate.zone == zone)
        .flat_map(|zone| zone.peers(&ctx.config.prefix, &ctx.config.geo_tag))
        .map(|(tag, _)| tag)
        .collect()
}

/// What this cluster itself offers for each host, to be remembered: a cluster watches its own recoveries as it watches
/// those of others. Empty unless the Gslb asks for a hold-down.
pub fn own_looks(
    world: &World,
    resolved: &Resolved,
    now: Timestamp,
) -> Vec<(String, Family, Observation)> {
    let Some(rules) = &resolved.rules else {
        return Vec::new();
    };
    if rules.options.hold.is_zero() {
        return Vec::new();
    }
    let mut looks = Vec::new();
    for server in &resolved.servers {
        let backends = server.services.iter().map(|s| world.backend(s));
        let healthy = crate::health::of_host(rules.policy, backends) == Health::Healthy;
        let leaving = rules
            .options
            .drain
            .share(rules.options.drain_period, now)
            .percent
            == 0;
        for family in Family::BOTH {
            let offered = resolved.addresses.iter().copied();
            let addresses = offered
                .filter(|ip| Family::of(ip) == family && healthy && !leaving)
                .collect();
            let observation = Observation {
                answer: Answer::Targets {
                    addresses,
                    ttl_seconds: 0,
                },
                at: now,
                server: None,
            };
            looks.push((server.host.clone(), family, observation));
        }
    }
    looks
}

/// Decides one host.
fn decide_host(
    world: &World,
    subject: &Subject<'_>,
    ctx: Context<'_>,
    again_at: &mut Option<Timestamp>,
) -> HostDecision {
    let options = &subject.rules.options;
    let share = options.drain.share(options.drain_period, ctx.now);
    sooner(again_at, share.until);
    let offered = if share.percent == 0 {
        &[]
    } else {
        subject.addresses
    };
    let mut records = HostRecords::default();
    if subject.health == Health::Healthy {
        records.local = offered.to_vec();
    }
    let tags = peers_of(world, subject.zone, ctx);
    let sightings = Sightings::gather(subject, &tags, ctx, again_at);
    let mut circumstances = Circumstances {
        recovering: BTreeMap::new(),
        shares: sightings.shares(),
    };
    if share.percent < FULL {
        let own = ctx.config.geo_tag.clone();
        circumstances.shares.insert(own, share.percent);
    }
    let mut decided = HostDecision {
        zone: subject.zone.clone(),
        health: subject.health,
        records,
        waiting: false,
        why: BTreeMap::new(),
        share: share.percent,
        asking: Asking::No,
        votes: BTreeMap::new(),
        sight: None,
    };
    if options.needs_sights() && !tags.is_empty() {
        decided.asking = Asking::Calmly;
    }
    let mut seen: BTreeMap<String, State> = BTreeMap::new();
    for family in Family::BOTH {
        let addresses: Vec<_> = offered
            .iter()
            .copied()
            .filter(|ip| Family::of(ip) == family)
            .collect();
        let own = Own {
            tag: &ctx.config.geo_tag,
            health: subject.health,
            addresses: &addresses,
        };
        let mut peers: BTreeMap<String, PeerAnswer> = BTreeMap::new();
        for tag in &tags {
            let hold = subject.rules.hold;
            let (answer, until) = subject.view.answer(tag, family, ctx.now, hold);
            sooner(again_at, until);
            let answer = witnessed(subject, tag, family, answer, &sightings, ctx, &mut decided);
            peers.insert((*tag).to_owned(), answer);
        }
        circumstances.recovering = recovering(subject, family, &own, &peers, ctx, again_at);
        look(&mut seen, &own, &peers, &circumstances);
        let selection = select_in(&circumstances, &subject.rules.strategy, own, &peers);
        take(&mut decided, family, selection);
    }
    if options.tells() {
        decided.sight = Some(Sight {
            by: ctx.config.geo_tag.clone(),
            share: share.percent,
            clusters: seen,
        });
    }
    decided
}

fn take(decided: &mut HostDecision, family: Family, selection: Selection) {
    decided.waiting |= selection.waiting;
    for (tag, ips) in selection.targets {
        decided.records.targets.entry(tag).or_default().extend(ips);
    }
    decided.records.shares.extend(selection.shares);
    decided.why.insert(family, selection.why);
}

/// A silent cluster that others still hear stays what it was, when the Gslb asks for witnesses.
fn witnessed(
    subject: &Subject<'_>,
    tag: &str,
    family: Family,
    answer: PeerAnswer,
    sightings: &Sightings<'_>,
    ctx: Context<'_>,
    decided: &mut HostDecision,
) -> PeerAnswer {
    let Strategy::Failover { order } = &subject.rules.strategy else {
        return answer;
    };
    // Only whoever would take over from it needs witnesses.
    let own = order
        .iter()
        .position(|listed| *listed == ctx.config.geo_tag);
    let concerned = match (order.iter().position(|listed| listed == tag), own) {
        (Some(theirs), Some(own)) => theirs < own,
        (theirs, _) => theirs.is_some(),
    };
    if !subject.rules.options.witness || !concerned {
        return answer;
    }
    let votes = sightings.votes(tag);
    decided.votes.insert(tag.to_owned(), votes);
    let last = subject.view.last_good(tag, family);
    let (PeerAnswer::Unknown | PeerAnswer::Held { .. }, Some(last)) = (&answer, last) else {
        return answer;
    };
    decided.asking = Asking::Urgently;
    if answer != PeerAnswer::Unknown || votes.agree() {
        return answer;
    }
    PeerAnswer::Unwitnessed {
        targets: last.to_vec(),
        votes,
    }
}

/// Clusters that vouch again but are not used yet.
fn recovering(
    subject: &Subject<'_>,
    family: Family,
    own: &Own<'_>,
    peers: &BTreeMap<String, PeerAnswer>,
    ctx: Context<'_>,
    again_at: &mut Option<Timestamp>,
) -> BTreeMap<String, Timestamp> {
    let hold = subject.rules.options.hold;
    let vouching = peers
        .iter()
        .filter(|(_, answer)| matches!(answer, PeerAnswer::Targets(_)))
        .map(|(tag, _)| tag.as_str());
    let mut recovering = BTreeMap::new();
    for tag in vouching.chain([own.tag]) {
        let forgiven = subject.rules.hold;
        let until = subject
            .view
            .held_until(tag, family, hold, forgiven)
            .filter(|until| *until > ctx.now);
        if let Some(until) = until {
            recovering.insert(tag.to_owned(), until);
            sooner(again_at, Some(until));
        }
    }
    recovering
}

/// Adds what one family shows to whom we see: a cluster is as well as its best family.
fn look(
    seen: &mut BTreeMap<String, State>,
    own: &Own<'_>,
    peers: &BTreeMap<String, PeerAnswer>,
    circumstances: &Circumstances,
) {
    let healthy = |tag: &str| match circumstances.recovering.contains_key(tag) {
        true => State::Recovering,
        false => State::Healthy,
    };
    let mut add = |tag: &str, state: State| {
        let known = seen.entry(tag.to_owned()).or_insert(state);
        *known = best(*known, state);
    };
    let vouches = own.health == Health::Healthy && !own.addresses.is_empty();
    let state = match vouches {
        true => healthy(own.tag),
        false => State::None,
    };
    add(own.tag, state);
    for (tag, answer) in peers {
        let state = match answer {
            PeerAnswer::Targets(_) => healthy(tag),
            PeerAnswer::NoTargets => State::None,
            PeerAnswer::Unknown | PeerAnswer::Held { .. } | PeerAnswer::Unwitnessed { .. } => {
                State::Silent
            }
            PeerAnswer::Pending => State::Pending,
        };
        add(tag, state);
    }
}

fn best(a: State, b: State) -> State {
    let rank = |state: State| match state {
        State::Healthy => 0,
        State::Recovering => 1,
        State::Pending => 2,
        State::Silent => 3,
        State::None => 4,
    };
    if rank(a) <= rank(b) { a } else { b }
}

/// What the other clusters said lately about whom they see.
struct Sightings<'a>(BTreeMap<&'a str, Option<&'a Sighting>>);

impl<'a> Sightings<'a> {
    fn gather(
        subject: &Subject<'a>,
        tags: &BTreeSet<&'a str>,
        ctx: Context<'a>,
        again_at: &mut Option<Timestamp>,
    ) -> Sightings<'a> {
        if !subject.rules.options.needs_sights() {
            return Sightings(BTreeMap::new());
        }
        let poll = i64::try_from(ctx.config.poll_interval.as_secs()).unwrap_or(INTERVAL_SECONDS);
        let interval = if poll == 0 { INTERVAL_SECONDS } else { poll };
        let oldest = interval * i64::from(SIGHT_POLLS);
        let oldest = SignedDuration::from_secs(oldest.max(SIGHT_SECONDS_MIN));
        let mut all = BTreeMap::new();
        for tag in tags {
            let found = subject.view.sighting(tag, ctx.now, oldest);
            sooner(again_at, found.map(|(_, until)| until));
            all.insert(*tag, found.map(|(sighting, _)| sighting));
        }
        Sightings(all)
    }

    /// Who else lost the cluster `tag`.
    fn votes(&self, tag: &str) -> Votes {
        let others = self.0.iter().filter(|(other, _)| **other != tag);
        sight::votes(tag, others.map(|(_, sighting)| *sighting))
    }

    /// Clusters that take a part of their share.
    fn shares(&self) -> BTreeMap<String, u32> {
        let said = self.0.iter().filter_map(|(tag, sighting)| match sighting {
            Some(Sighting::Said(sight)) if sight.by == *tag => Some((tag, sight.share)),
            _ => None,
        });
        said.filter(|(_, share)| *share < FULL)
            .map(|(tag, share)| ((*tag).to_owned(), share))
            .collect()
    }
}
