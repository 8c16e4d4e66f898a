//! What is wrong with endpoints, old and new.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation` (ValidateEndpoints),
//! `pkg/apis/discovery/validation/validation.go`.

use std::collections::BTreeSet;

use flotilla_machinery::names;
use serde_json::Value;

use super::{
    field::{Field, check},
    ip,
    pod_check::PROTOCOLS,
    rules::Errors,
    service_check::app_protocol,
};

/// Endpoints of one slice.
const ENDPOINTS_MAX: usize = 1000;
/// Addresses of one endpoint.
const ADDRESSES_MAX: usize = 100;
/// Ports of one slice.
const PORTS_MAX: usize = 20_000;
/// Labels of the old topology.
const TOPOLOGY_MAX: usize = 16;
/// Zones or nodes that an endpoint should be used in.
const HINTS_MAX: usize = 8;

/// Checks endpoints of the old kind.
pub(super) fn endpoints(object: &Value, errors: &mut Errors) {
    let is_own = is_own(object);
    check(object, "", errors, |object| {
        for subset in object.at("subsets").items() {
            let lists = [subset.at("addresses"), subset.at("notReadyAddresses")];
            if lists.iter().all(|list| list.list().is_empty()) {
                subset.required("must specify `addresses` or `notReadyAddresses`");
            }
            for list in &lists {
                for address in list.items() {
                    old_address(&address, is_own);
                }
            }
            let ports = subset.at("ports");
            for port in ports.items() {
                let name = port.at("name");
                if name.text().is_empty() && ports.list().len() > 1 {
                    name.required("");
                }
                name.named_if_any(names::dns1123_label);
                port.at("port").port();
                port.at("protocol").one_of(&PROTOCOLS);
                app_protocol(&port.at("appProtocol"));
            }
        }
    });
}

/// Whether these are the server's own endpoints. A server that listens on loopback alone is there,
/// and nowhere else; see docs/differences.md.
fn is_own(object: &Value) -> bool {
    let metadata = &object["metadata"];
    metadata["namespace"] == "default" && metadata["name"] == "kubernetes"
}

fn old_address(address: &Field<'_, '_>, is_own: bool) {
    let ip = address.at("ip");
    let parsed = ip::check_sloppy(&ip);
    address.at("hostname").named_if_any(names::dns1123_label);
    let node = address.at("nodeName");
    if node.is_set() {
        node.complain(names::dns1123_subdomain(node.text()));
    }
    match parsed {
        Some(parsed) if is_own && parsed.is_loopback() => {}
        Some(parsed) => ip::check_special(&ip, parsed),
        None => ip.invalid_text("must be a valid IP address"),
    }
}

/// Checks a slice.
pub(super) fn slice(object: &Value, errors: &mut Errors) {
    let is_own = is_own(object);
    check(object, "", errors, |object| {
        let kind = object.at("addressType");
        kind.one_of(&["FQDN", "IPv4", "IPv6"]);
        ports(&object.at("ports"));
        let endpoints = object.at("endpoints");
        if endpoints.list().len() > ENDPOINTS_MAX {
            endpoints.too_many(ENDPOINTS_MAX);
            return;
        }
        for endpoint in endpoints.items() {
            self::endpoint(&endpoint, kind.text(), is_own);
        }
    });
}

fn ports(ports: &Field<'_, '_>) {
    if ports.list().len() > PORTS_MAX {
        ports.too_many(PORTS_MAX);
        return;
    }
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let name = port.at("name");
        name.named_if_any(names::dns1123_label);
        if !seen.insert(name.text().to_owned()) {
            name.duplicate();
        }
        port.at("protocol").one_of(&PROTOCOLS);
        app_protocol(&port.at("appProtocol"));
    }
}

fn endpoint(endpoint: &Field<'_, '_>, kind: &str, is_own: bool) {
    let addresses = endpoint.at("addresses");
    match addresses.list().len() {
        0 => addresses.required("must contain at least 1 address"),
        n if n > ADDRESSES_MAX => addresses.too_many(ADDRESSES_MAX),
        _ => {}
    }
    for address in addresses.items() {
        match kind {
            "FQDN" => domain(&address),
            "IPv4" | "IPv6" if is_own && is_loopback(&address) => {}
            "IPv4" | "IPv6" => self::address(&addresses, &address, kind),
            _ => {}
        }
    }
    let node = endpoint.at("nodeName");
    if node.is_set() {
        node.complain(names::dns1123_subdomain(node.text()));
    }
    let topology = endpoint.at("deprecatedTopology");
    if topology.entries().count() > TOPOLOGY_MAX {
        topology.too_many(TOPOLOGY_MAX);
    }
    topology.labels();
    let host = endpoint.at("hostname");
    if host.is_set() {
        host.complain(names::dns1123_label(host.text()));
    }
    let hints = endpoint.at("hints");
    if self::hints(&hints.at("forZones"), names::label_value) {
        self::hints(&hints.at("forNodes"), names::dns1123_subdomain);
    }
}

fn is_loopback(address: &Field<'_, '_>) -> bool {
    ip::sloppy(address.text()).is_some_and(|address| address.is_loopback())
}

fn address(addresses: &Field<'_, '_>, address: &Field<'_, '_>, kind: &str) {
    let n = address.n_mistakes();
    let parsed = if kind == "IPv4" {
        ip::check_sloppy(address)
    } else {
        ip::check_strict(address)
    };
    if let Some(parsed) = parsed.filter(|_| address.is_fine_since(n)) {
        if parsed.is_ipv4() != (kind == "IPv4") {
            // Upstream leaves the index out.
            addresses.invalid_as(address.text(), format!("must be an {kind} address"));
        }
        ip::check_special(address, parsed);
    }
}

/// A name of two labels at least.
fn domain(name: &Field<'_, '_>) {
    let text = name.text();
    if text.is_empty() {
        name.required("");
        return;
    }
    let text = text.strip_suffix('.').unwrap_or(text);
    let complaints = names::dns1123_subdomain(text);
    if !complaints.is_empty() {
        name.invalid_as(text, complaints.join(","));
        return;
    }
    if !text.contains('.') {
        name.invalid_as(
            text,
            "should be a domain with at least two segments separated by dots",
        );
        return;
    }
    let labels = text
        .split('.')
        .map(|label| (label, names::dns1123_label(label)));
    if let Some((label, complaints)) = labels.into_iter().find(|(_, c)| !c.is_empty()) {
        name.invalid_as(label, complaints.join(","));
    }
}

/// Answers whether there are few enough.
fn hints(hints: &Field<'_, '_>, rule: fn(&str) -> Vec<String>) -> bool {
    if hints.list().len() > HINTS_MAX {
        hints.too_many(HINTS_MAX);
        return false;
    }
    let mut seen = BTreeSet::new();
    for hint in hints.items() {
        let name = hint.at("name");
        if !seen.insert(name.text().to_owned()) {
            name.duplicate();
        }
        name.complain(rule(name.text()));
    }
    true
}
