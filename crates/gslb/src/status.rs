//! The status of a Gslb: k8gb's fields from the decision, and one condition that says what is wrong.
//!
//! The condition `Ready` is true when the spec is valid and nothing is missing. `Witnessed` stands there when witnesses
//! of a fail-over are asked for, `Draining` while this cluster takes less than its share. Its transition time is kept while its
//! status is, so that equal decisions give equal objects and nothing is written twice.

use std::{collections::BTreeMap, net::IpAddr};

use flotilla_api::{
    Condition, GslbStatus,
    gslb::{LoadBalancer, Server},
};
use jiff::Timestamp;

use crate::{
    decide::Decision,
    problem::Problem,
    ramp::{Drain, FULL},
    select::{Reason, Strategy},
};

/// Characters of a condition's message, so that a thousand broken hosts stay readable.
const MESSAGE_CHARS_MAX: usize = 1024;

/// The type of the condition that says whose changes are pushed to us.
const PUSHED: &str = "Pushed";

/// The condition for these problems.
pub fn ready(
    problems: &[Problem],
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let (status, reason, mut message) = match problems.first() {
        None => ("True", "Published", "every host is published".to_owned()),
        Some(first) => {
            let all: Vec<String> = problems.iter().map(Problem::to_string).collect();
            ("False", first.kind.as_str(), all.join("; "))
        }
    };
    if let Some((at, _)) = message.char_indices().nth(MESSAGE_CHARS_MAX) {
        message.truncate(at);
        message.push('…');
    }
    condition(("Ready", status, reason, message), before, generation, now)
}

/// Type, status, reason and message as a condition; its transition time is kept while its status is.
fn condition(
    (kind, status, reason, message): (&str, &str, &str, String),
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let unchanged = before.iter().find(|c| c.kind == kind && c.status == status);
    Condition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        observed_generation: generation,
        last_transition_time: unchanged.map_or_else(
            || now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            |c| c.last_transition_time.clone(),
        ),
    }
}

/// The condition that names the clusters whose changes are pushed to us; the others are polled.
pub fn pushed(tags: &[String], now: Timestamp) -> Condition {
    let (status, reason) = match tags {
        [] => ("False", "Polling"),
        _ => ("True", "Pushing"),
    };
    Condition {
        kind: PUSHED.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: tags.join(", "),
        observed_generation: None,
        last_transition_time: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    }
}

/// The clusters that a [`pushed`] condition among these names.
pub fn pushed_tags(conditions: &[Condition]) -> Vec<String> {
    let found = conditions.iter().find(|condition| condition.kind == PUSHED);
    let tags = found.map_or("", |condition| condition.message.as_str());
    let tags = tags.split(", ").filter(|tag| !tag.is_empty());
    tags.map(str::to_owned).collect()
}

/// The status a decision asks for.
pub fn of_decision(
    decision: &Decision,
    geo_tag: &str,
    before: Option<&GslbStatus>,
    generation: i64,
    now: Timestamp,
) -> GslbStatus {
    let resolved = &decision.resolved;
    let conditions = before
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    let texts = |ips: &[IpAddr]| ips.iter().map(IpAddr::to_string).collect::<Vec<_>>();
    let healthy_records: BTreeMap<String, Vec<String>> = decision
        .hosts
        .iter()
        .map(|(host, decided)| {
            let ips: Vec<IpAddr> = decided
                .records
                .targets
                .values()
                .flatten()
                .copied()
                .collect();
            (host.to_string(), texts(&ips))
        })
        .filter(|(_, ips)| !ips.is_empty())
        .collect();
    let hosts: Vec<&str> = resolved
        .servers
        .iter()
        .map(|server| server.host.as_str())
        .collect();
    let mut all = vec![ready(&decision.problems, conditions, Some(generation), now)];
    for (kind, said) in [
        ("Witnessed", witnessed(decision, geo_tag)),
        ("Draining", draining(decision)),
    ] {
        if let Some((status, reason, message)) = said {
            let status = (kind, status, reason, message);
            all.push(condition(status, conditions, Some(generation), now));
        }
    }
    GslbStatus {
        conditions: all,
        geo_tag: geo_tag.to_owned(),
        healthy_records,
        hosts: hosts.join(", "),
        load_balancer: LoadBalancer {
            exposed_ips: texts(&resolved.addresses),
        },
        servers: servers(decision, before),
        service_health: decision
            .hosts
            .iter()
            .map(|(host, decided)| (host.to_string(), decided.health.as_str().to_owned()))
            .collect(),
    }
}

/// Whether a fail-over of this cluster has witnesses; nothing unless that is asked for.
fn witnessed(decision: &Decision, geo_tag: &str) -> Option<(&'static str, &'static str, String)> {
    let rules = decision.resolved.rules.as_ref()?;
    if !rules.options.witness || !matches!(rules.strategy, Strategy::Failover { .. }) {
        return None;
    }
    let kept = decision.hosts.values().find_map(|host| {
        host.why
            .values()
            .flatten()
            .find(|reason| matches!(reason, Reason::PeerUnwitnessed { .. }))
    });
    if let Some(reason) = kept {
        return Some(("False", "PrimaryKept", reason.to_string()));
    }
    let votes: Vec<_> = decision
        .hosts
        .values()
        .flat_map(|host| host.votes.values())
        .collect();
    if votes.is_empty() {
        let message = format!("{geo_tag} is first; it takes over from nobody");
        return Some(("True", "First", message));
    }
    Some(match votes.iter().map(|votes| votes.of).min() {
        None | Some(0) => (
            "False",
            "NoWitness",
            "no third cluster says whom it sees, so a silent primary is given up as without witnesses".to_owned(),
        ),
        Some(n) => ("True", "Witnesses", format!("{n} other clusters have a say")),
    })
}

/// How far a drain has come; nothing while the cluster takes its whole share.
fn draining(decision: &Decision) -> Option<(&'static str, &'static str, String)> {
    let options = decision.resolved.rules.as_ref()?.options;
    let share = decision.hosts.values().map(|host| host.share).min()?;
    match (options.drain, share) {
        (_, FULL) => None,
        (_, 0) => Some((
            "True",
            "Drained",
            "this cluster vouches for nothing".to_owned(),
        )),
        (Drain::Back(_), share) => Some((
            "True",
            "ComingBack",
            format!("this cluster takes {share} % of its share, and more with every step"),
        )),
        (_, share) => Some((
            "True",
            "Leaving",
            format!("this cluster takes {share} % of its share, and less with every step"),
        )),
    }
}

/// The servers found. While there are none because the reference is broken, the ones found before are kept: they are
/// what stays balanced.
fn servers(decision: &Decision, before: Option<&GslbStatus>) -> Vec<Server> {
    let found = &decision.resolved.servers;
    match before {
        Some(before) if found.iter().all(|server| server.services.is_empty()) => {
            let known = |host: &str| before.servers.iter().find(|server| server.host == host);
            found
                .iter()
                .map(|s| known(&s.host).cloned().unwrap_or_else(|| s.clone()))
                .collect()
        }
        _ => found.clone(),
    }
}
