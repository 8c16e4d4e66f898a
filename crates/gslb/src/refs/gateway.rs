//! Gateway API routes and Gateways.

use std::collections::{BTreeMap, BTreeSet};

use flotilla_api::gslb::Server;
use serde_json::Value;

use super::{Referent, Via, invalid, items, merge, reference, text};
use crate::{expose::Address, key::Key, kinds::Kind, problem::Problem};

/// Reads a route of any of the five kinds.
pub(super) fn route(kind: Kind, object: &Value, namespace: &str) -> Referent {
    let mut problems = Vec::new();
    let spec = &object["spec"];
    let mut services = BTreeSet::new();
    for rule in items(&spec["rules"]) {
        for backend in items(&rule["backendRefs"]) {
            let kind = text(&backend["kind"]);
            if !kind.is_empty() && kind != "Service" {
                let message =
                    format!("a backend of kind {kind} has no known health; it is skipped");
                problems.push(invalid("spec.rules[*].backendRefs", message));
                continue;
            }
            let own = text(&backend["namespace"]);
            let namespace = if own.is_empty() { namespace } else { own };
            services.insert(reference(text(&backend["name"]), namespace));
        }
    }
    let mut servers: Vec<Server> = Vec::new();
    let mut hostless = Vec::new();
    if matches!(kind, Kind::TcpRoute | Kind::UdpRoute) {
        hostless = services.into_iter().collect();
    } else {
        for host in items(&spec["hostnames"]) {
            merge(&mut servers, text(host), services.clone());
        }
        if servers.is_empty() {
            let message = "the route names no host; the hosts of its listeners are not used";
            problems.push(invalid("spec.hostnames", message));
        }
    }
    let via = parent(spec, namespace, &mut problems);
    Referent {
        labels: BTreeMap::new(),
        servers,
        hostless,
        via,
        problems,
    }
}

/// The one Gateway of a route. Several references to the same Gateway, by listener, are one (k8gb refuses them).
fn parent(spec: &Value, namespace: &str, problems: &mut Vec<Problem>) -> Via {
    let mut gateways = BTreeSet::new();
    for parent in items(&spec["parentRefs"]) {
        let kind = text(&parent["kind"]);
        if !kind.is_empty() && kind != "Gateway" {
            let message = format!("a parent of kind {kind} has no addresses; it is skipped");
            problems.push(invalid("spec.parentRefs", message));
            continue;
        }
        let own = text(&parent["namespace"]);
        let namespace = if own.is_empty() { namespace } else { own };
        gateways.insert(Key::new(namespace, text(&parent["name"])));
    }
    match (gateways.len(), gateways.pop_first()) {
        (1, Some(gateway)) => Via::Gateway(gateway),
        (n, _) => {
            let message = format!("exactly 1 Gateway expected but {n} were found");
            problems.push(invalid("spec.parentRefs", message));
            Via::Nowhere
        }
    }
}

/// The addresses in the status of a Gateway.
pub fn gateway_addresses(object: &Value) -> (Vec<Address>, Vec<Problem>) {
    let mut addresses = BTreeSet::new();
    let mut problems = Vec::new();
    for entry in items(&object["status"]["addresses"]) {
        let value = text(&entry["value"]);
        match text(&entry["type"]) {
            "" | "IPAddress" => match value.parse() {
                Ok(ip) => {
                    addresses.insert(Address::Ip(ip));
                }
                Err(_) => problems.push(invalid(
                    "status.addresses of the Gateway",
                    format!("{value:?} is not an IP address"),
                )),
            },
            "Hostname" => {
                addresses.insert(Address::Hostname(value.to_owned()));
            }
            other => problems.push(invalid(
                "status.addresses of the Gateway",
                format!("addresses of type {other:?} are not understood"),
            )),
        }
    }
    (addresses.into_iter().collect(), problems)
}

/// Why a Gateway serves nobody, if its own conditions say so (k8gb#1754). What they do not say is no reason: a controller
/// that sets no conditions has none to be wrong.
pub fn gateway_down(object: &Value) -> Option<String> {
    let conditions = items(&object["status"]["conditions"]);
    let broken = conditions.iter().find(|condition| {
        matches!(text(&condition["type"]), "Accepted" | "Programmed")
            && text(&condition["status"]) == "False"
    })?;
    let (kind, reason) = (text(&broken["type"]), text(&broken["reason"]));
    let message = text(&broken["message"]);
    let separator = if message.is_empty() { "" } else { ": " };
    Some(format!(
        "the condition {kind} is False ({reason}){separator}{message}; this cluster is left out until it is True"
    ))
}
