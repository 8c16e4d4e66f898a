//! The status of a Gslb: k8gb's fields from the decision, and one condition that says what is wrong.
//!
//! The condition `Ready` is true when the spec is valid and nothing is missing. Its transition time is kept while its
//! status is, so that equal decisions give equal objects and nothing is written twice.

use std::{collections::BTreeMap, net::IpAddr};

use flotilla_api::{
    Condition, GslbStatus,
    gslb::{LoadBalancer, Server},
};
use jiff::Timestamp;

use crate::{decide::Decision, problem::Problem};

/// Characters of a condition's message, so that a thousand broken hosts stay readable.
const MESSAGE_CHARS_MAX: usize = 1024;

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
    let unchanged = before
        .iter()
        .find(|c| c.kind == "Ready" && c.status == status);
    Condition {
        kind: "Ready".to_owned(),
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
            (host.clone(), texts(&ips))
        })
        .filter(|(_, ips)| !ips.is_empty())
        .collect();
    let hosts: Vec<&str> = resolved
        .servers
        .iter()
        .map(|server| server.host.as_str())
        .collect();
    GslbStatus {
        conditions: vec![ready(&resolved.problems, conditions, Some(generation), now)],
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
            .map(|(host, decided)| (host.clone(), decided.health.as_str().to_owned()))
            .collect(),
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
