//! Istio VirtualServices and the Gateways they hang on.

use std::collections::{BTreeMap, BTreeSet};

use flotilla_api::gslb::Server;
use serde_json::Value;

use super::{Referent, Via, invalid, items, merge, reference, string_map, text};
use crate::{key::Key, problem::Problem};

/// Reads a VirtualService.
///
/// Destinations name Services of its own namespace, as in k8gb; a fully qualified destination
/// (`name.namespace.svc…`) is understood too.
pub(super) fn virtual_service(object: &Value, namespace: &str) -> Referent {
    let mut problems = Vec::new();
    let spec = &object["spec"];
    let mut services = BTreeSet::new();
    for protocol in ["http", "tls", "tcp"] {
        for route in items(&spec[protocol])
            .iter()
            .flat_map(|rule| items(&rule["route"]))
        {
            let host = text(&route["destination"]["host"]);
            let parts: Vec<&str> = host.split('.').collect();
            match parts.as_slice() {
                [name, own, "svc", ..] => services.insert(reference(name, own)),
                _ => services.insert(reference(host, namespace)),
            };
        }
    }
    let mut servers: Vec<Server> = Vec::new();
    for host in items(&spec["hosts"]) {
        merge(&mut servers, text(host), services.clone());
    }
    let via = gateway(spec, namespace, &mut problems);
    Referent {
        labels: BTreeMap::new(),
        servers,
        hostless: Vec::new(),
        via,
        problems,
    }
}

/// The one gateway besides `mesh`; without a namespace it is one of the VirtualService's own.
fn gateway(spec: &Value, namespace: &str, problems: &mut Vec<Problem>) -> Via {
    let gateways: BTreeSet<Key> = items(&spec["gateways"])
        .iter()
        .map(text)
        .filter(|name| !name.is_empty() && *name != "mesh")
        .map(|name| match name.split_once('/') {
            Some((own, name)) => Key::new(own, name),
            None => Key::new(namespace, name),
        })
        .collect();
    match gateways.len() {
        1 => gateways
            .into_iter()
            .next()
            .map_or(Via::Nowhere, Via::IstioGateway),
        n => {
            let message = format!("exactly 1 Gateway expected but {n} were found");
            problems.push(invalid("spec.gateways", message));
            Via::Nowhere
        }
    }
}

/// The labels by which an Istio Gateway selects the Service that carries its traffic.
pub fn gateway_selector(object: &Value) -> BTreeMap<String, String> {
    string_map(&object["spec"]["selector"])
}
