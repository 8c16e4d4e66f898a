//! What is wrong with a service, and with a change of one.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation` (ValidateServiceCreate,
//! ValidateServiceUpdate, ValidateServiceClusterIPsRelatedFields, ValidateLoadBalancerStatus).

use std::{collections::BTreeSet, net::IpAddr};

use flotilla_machinery::names;
use serde_json::{Value, json};

use super::{
    field::Field,
    fill::{list, text},
    golang::{record, shapes},
    ip,
    pod_check::PROTOCOLS,
    services::{is_reached_from_outside, is_zero, needs_health_port},
};

/// Longest time that a client keeps its endpoint: a day.
const AFFINITY_SECONDS_MAX: i64 = 86_400;

const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";

const BALANCERS_ONLY: &str = "may only be used when `type` is 'LoadBalancer'";

/// Checks a service, new or changed.
pub(super) fn check(service: &Field<'_, '_>, old: Option<&Value>) {
    let notes = service.at("metadata.annotations");
    let (hints, mode) = (notes.key(HINTS), notes.key(MODE));
    if hints.is_set() && mode.is_set() && hints.value != mode.value {
        let detail = format!("must match annotations[{HINTS}] when both are specified");
        mode.invalid(detail);
    }
    let spec = service.at("spec");
    of_type(&spec);
    ports(&spec);
    spec.at("selector").labels();
    affinity(&spec);
    cluster_addresses(&spec, old);
    external_addresses(&spec, old);
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    spec.at("type").one_of(&types);
    port_numbers(&spec);
    source_ranges(&spec, &notes);
    balancer(&spec);
    traffic(&spec);
}

fn is_headless(spec: &Value) -> bool {
    matches!(list(spec, "clusterIPs"), [only] if only == "None")
}

/// What the type of a service asks for.
fn of_type(spec: &Field<'_, '_>) {
    let kind = spec.at("type").text();
    let is_headless = is_headless(spec.value);
    if spec.at("ports").list().is_empty() && !is_headless && kind != "ExternalName" {
        spec.at("ports").required("");
    }
    if matches!(kind, "LoadBalancer" | "NodePort") && is_headless {
        let detail = format!("may not be set to 'None' for {kind} services");
        spec.at("clusterIPs").item(0).invalid(detail);
    }
    if kind != "ExternalName" {
        return;
    }
    for key in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !spec.at(key).is_empty() {
            spec.at(key)
                .forbidden("may not be set for ExternalName services");
        }
    }
    let name = spec.at("externalName");
    match name.text().strip_suffix('.').unwrap_or(name.text()) {
        "" => name.required(""),
        host => {
            for complaint in names::dns1123_subdomain(host) {
                name.invalid_as(host, complaint);
            }
        }
    }
}

fn ports(spec: &Field<'_, '_>) {
    let ports = spec.at("ports");
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let name = port.at("name");
        if !name.text().is_empty() {
            name.complain(names::dns1123_label(name.text()));
            if !seen.insert(name.text()) {
                name.duplicate();
            }
        } else if ports.list().len() > 1 {
            name.required("");
        }
        port.at("port").port();
        port.at("protocol").one_of(&PROTOCOLS);
        port.at("targetPort").port_or_name();
        app_protocol(&port.at("appProtocol"));
    }
}

/// What is spoken at a port.
pub(super) fn app_protocol(protocol: &Field<'_, '_>) {
    if protocol.is_set() {
        protocol.complain(names::qualified_name(protocol.text()));
    }
}

fn affinity(spec: &Field<'_, '_>) {
    let (kind, config) = (spec.at("sessionAffinity"), spec.at("sessionAffinityConfig"));
    kind.one_of(&["ClientIP", "None"]);
    match kind.text() {
        "ClientIP" => {
            let detail = "when session affinity type is ClientIP";
            let seconds = config.at("clientIP.timeoutSeconds");
            for place in [&config, &config.at("clientIP"), &seconds] {
                if !place.is_set() {
                    place.required(detail);
                    return;
                }
            }
            if !(1..=AFFINITY_SECONDS_MAX).contains(&seconds.count()) {
                seconds.invalid(format!(
                    "must be greater than 0 and less than {AFFINITY_SECONDS_MAX}"
                ));
            }
        }
        "None" if config.is_set() => {
            config.forbidden("must not be set when session affinity is None");
        }
        _ => {}
    }
}

/// Addresses of the cluster and their families. Also checked before any address is given out.
pub(super) fn cluster_addresses(spec: &Field<'_, '_>, old: Option<&Value>) {
    if spec.at("type").text() == "ExternalName" {
        return;
    }
    let (one, all) = (spec.at("clusterIP").text(), spec.at("clusterIPs"));
    let shown = json!(all.list());
    match (one.is_empty(), all.list().first()) {
        (false, None) => all.required(""),
        (false, Some(first)) if first != one => {
            all.invalid_as(shown.clone(), "first value must match `clusterIP`");
        }
        (true, Some(_)) => {
            all.invalid_as(
                shown.clone(),
                "must be empty when `clusterIP` is not specified",
            );
        }
        _ => {}
    }
    families(spec);
    let n = spec.n_mistakes();
    for (index, address) in all.items().enumerate() {
        if index == 0 && address.text() == "None" {
            if all.list().len() > 1 {
                all.invalid_as(shown.clone(), "'None' must be the first and only value");
            }
            continue;
        }
        let is_old = old.is_some_and(|old| list(old, "spec.clusterIPs").contains(address.value));
        if !is_old {
            ip::check_sloppy(&address);
        }
    }
    let is_valid = spec.is_fine_since(n);
    if all.list().len() > 2 {
        all.invalid_as(shown.clone(), "may only hold up to 2 values");
    }
    if is_valid {
        address_families(spec, &shown);
    }
}

fn families(spec: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for family in spec.at("ipFamilies").items() {
        family.supported(&["IPv4", "IPv6"]);
        if !seen.insert(family.text()) {
            family.duplicate();
        }
    }
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    spec.at("ipFamilyPolicy").supported_if_set(&policies);
}

/// Addresses are of the families that are named, and of two when there are two.
fn address_families(spec: &Field<'_, '_>, shown: &Value) {
    let (all, families) = (spec.at("clusterIPs"), spec.at("ipFamilies"));
    let addresses: Vec<Option<IpAddr>> = all
        .items()
        .map(|address| ip::sloppy(address.text()))
        .collect();
    if let [Some(first), Some(second), ..] = addresses[..]
        && first.is_ipv4() == second.is_ipv4()
    {
        let detail = "may specify no more than one IP for each IP family";
        all.invalid_as(shown.clone(), detail);
    }
    for (index, (address, family)) in addresses.iter().zip(families.list()).enumerate() {
        let Some(address) = address else { continue };
        let fits = match family.as_str() {
            Some("IPv4") => address.is_ipv4(),
            Some("IPv6") => address.is_ipv6(),
            _ => true,
        };
        if !fits {
            let family = family.as_str().unwrap_or_default();
            let detail =
                format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            all.item(index).invalid(detail);
        }
    }
}

fn external_addresses(spec: &Field<'_, '_>, old: Option<&Value>) {
    for address in spec.at("externalIPs").items() {
        let is_old = old.is_some_and(|old| list(old, "spec.externalIPs").contains(address.value));
        let parsed = if is_old {
            ip::sloppy(address.text())
        } else {
            ip::check_sloppy(&address)
        };
        if let Some(parsed) = parsed {
            ip::check_special(&address, parsed);
        }
    }
}

/// Ports of nodes and of the service are there once for each protocol.
fn port_numbers(spec: &Field<'_, '_>) {
    let ports = spec.at("ports");
    if spec.at("type").text() == "ClusterIP" {
        for port in ports
            .items()
            .filter(|port| !is_zero(&port.value["nodePort"]))
        {
            let detail = "may not be used when `type` is 'ClusterIP'";
            port.at("nodePort").forbidden(detail);
        }
    }
    let protocol = |port: &Field<'_, '_>| port.at("protocol").text().to_owned();
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let node = port.at("nodePort");
        if node.count() != 0 && !seen.insert((protocol(&port), node.count())) {
            node.duplicate();
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let number = port.at("port").count();
        if !seen.insert((protocol(&port), number)) {
            let key = json!({"protocol": port.value["protocol"], "port": number});
            port.duplicate_shown(record(&key, shapes::ServicePort));
        }
    }
}

fn source_ranges(spec: &Field<'_, '_>, notes: &Field<'_, '_>) {
    let is_balancer = spec.at("type").text() == "LoadBalancer";
    let ranges = spec.with(
        "LoadBalancerSourceRanges",
        &spec.value["loadBalancerSourceRanges"],
    );
    let note = notes.key(RANGES);
    if !ranges.list().is_empty() {
        if !is_balancer {
            ranges.forbidden(BALANCERS_ONLY);
        }
        for range in ranges.items() {
            trimmed_network(&range, range.text());
        }
    } else if note.is_set() {
        if !is_balancer {
            note.forbidden(BALANCERS_ONLY);
        }
        let text = note.text().trim();
        for range in text.split(',').filter(|_| !text.is_empty()) {
            trimmed_network(&note, range);
        }
    }
}

/// White space around these is allowed for old times' sake.
fn trimmed_network(place: &Field<'_, '_>, network: &str) {
    let value = Value::from(network.trim());
    ip::check_sloppy_network(&place.with("", &value));
}

fn balancer(spec: &Field<'_, '_>) {
    let is_balancer = spec.at("type").text() == "LoadBalancer";
    let ports = spec.at("allocateLoadBalancerNodePorts");
    if ports.is_set() && !is_balancer {
        ports.forbidden(BALANCERS_ONLY);
    }
    balancer_class(spec);
}

fn balancer_class(spec: &Field<'_, '_>) {
    let class = spec.at("loadBalancerClass");
    if !class.is_set() {
    } else if spec.at("type").text() == "LoadBalancer" {
        class.complain(names::qualified_name(class.text()));
    } else {
        class.forbidden(BALANCERS_ONLY);
    }
}

fn traffic(spec: &Field<'_, '_>) {
    let external = spec.at("externalTrafficPolicy");
    if is_reached_from_outside(spec.value) {
        external.one_of(&["Cluster", "Local"]);
    } else if !external.is_empty() {
        external.invalid("may only be set for externally-accessible services");
    }
    let health = spec.at("healthCheckNodePort");
    if !needs_health_port(spec.value) {
        if health.count() != 0 {
            health.invalid("may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
        }
    } else if health.count() == 0 {
        health.required("");
    } else {
        health.port();
    }
    let internal = spec.at("internalTrafficPolicy");
    let needs = matches!(
        spec.at("type").text(),
        "NodePort" | "LoadBalancer" | "ClusterIP"
    );
    if needs && !internal.is_set() {
        internal.required("");
    }
    internal.supported_if_set(&["Cluster", "Local"]);
    let distribution = spec.at("trafficDistribution");
    distribution.supported_if_set(&["PreferClose", "PreferSameZone", "PreferSameNode"]);
}

/// Checks what a change may not touch; comes before the checks of the new service.
pub(super) fn check_change(service: &Field<'_, '_>, old: &Value) {
    let spec = service.at("spec");
    let old = &old["spec"];
    let has_none = |spec: &Value| text(spec, "type") == "ExternalName";
    if !has_none(spec.value) && !has_none(old) {
        addresses_kept(&spec, old);
        families_kept(&spec, old);
    }
    let class = spec.at("loadBalancerClass");
    let is_balancer = |spec: &Value| text(spec, "type") == "LoadBalancer";
    if is_balancer(spec.value) && is_balancer(old) && *class.value != old["loadBalancerClass"] {
        class.invalid("may not change once set");
    }
    balancer_class(&spec);
    let health = spec.at("healthCheckNodePort");
    let was = &old["healthCheckNodePort"];
    if needs_health_port(old) && needs_health_port(spec.value) && health.value != was {
        health.forbidden("field is immutable");
    }
}

fn addresses_kept(spec: &Field<'_, '_>, old: &Value) {
    if is_headless(spec.value) && is_headless(old) {
        return;
    }
    let all = spec.at("clusterIPs");
    let (now, was) = (all.list(), list(old, "clusterIPs"));
    let shown = || json!(now);
    let changed = "may not change once set";
    if now.len() == was.len() {
        for (index, _) in now.iter().zip(was).enumerate().filter(|(_, (a, b))| a != b) {
            all.item(index).invalid_as(shown(), changed);
        }
        return;
    }
    let first = all.item(0);
    if now.is_empty() {
        first.invalid_as(shown(), "primary clusterIP can not be unset");
    } else if !was.is_empty() && now[0] != was[0] {
        first.invalid_as(shown(), changed);
    }
    let policy = spec.at("ipFamilyPolicy");
    if was.len() > 1 && now.len() == 1 && policy.text() != "SingleStack" {
        policy.invalid("must be set to 'SingleStack' when releasing the secondary clusterIP");
    }
}

fn families_kept(spec: &Field<'_, '_>, old: &Value) {
    if is_headless(spec.value) || is_headless(old) {
        return;
    }
    let all = spec.at("ipFamilies");
    let (now, was) = (all.list(), list(old, "ipFamilies"));
    let first = all.item(0);
    let changed = "may not change once set";
    if now.len() == was.len() {
        for _ in now.iter().zip(was).filter(|(a, b)| a != b) {
            first.invalid_as(json!(now), changed);
        }
        return;
    }
    if let (Some(a), Some(b)) = (now.first(), was.first())
        && a != b
    {
        first.invalid_as(json!(spec.at("clusterIPs").list()), changed);
    }
    let policy = spec.at("ipFamilyPolicy");
    if was.len() > 1 && now.len() == 1 && policy.text() != "SingleStack" {
        policy.invalid("must be set to 'SingleStack' when releasing the secondary ipFamily");
    }
}

/// Where a balancer is; for services (with their type) and ingresses.
pub(super) fn balancer_status(status: &Field<'_, '_>, old: &Value, kind: &str) {
    let entries = status.at("ingress");
    if kind != "LoadBalancer" {
        if !entries.list().is_empty() {
            entries.forbidden("may only be used when `spec.type` is 'LoadBalancer'");
        }
        return;
    }
    for entry in entries.items() {
        let (address, mode) = (entry.at("ip"), entry.at("ipMode"));
        balancer_address(&address, old);
        if !mode.is_set() {
            if !address.text().is_empty() {
                mode.required("must be specified when `ip` is set");
            }
        } else if address.text().is_empty() {
            mode.forbidden("may not be specified when `ip` is not set");
        } else {
            mode.supported(&["Proxy", "VIP"]);
        }
        balancer_host(&entry.at("hostname"));
    }
}

/// An address of a balancer; those that were there before may stay.
pub(super) fn balancer_address(address: &Field<'_, '_>, old: &Value) {
    let was = list(old, "ingress")
        .iter()
        .any(|entry| entry["ip"] == *address.value);
    if !address.text().is_empty() && !was {
        ip::check_sloppy(address);
    }
}

/// A name of a balancer.
pub(super) fn balancer_host(host: &Field<'_, '_>) {
    if host.text().is_empty() {
        return;
    }
    host.complain(names::dns1123_subdomain(host.text()));
    if ip::sloppy(host.text()).is_some() {
        host.invalid("must be a DNS name, not an IP address");
    }
}

/// Remarks that do not stop a service.
pub(super) fn warnings(service: &Value) -> Vec<String> {
    let spec = &service["spec"];
    let kind = text(spec, "type");
    let mut found = Vec::new();
    if !service["metadata"]["annotations"][HINTS].is_null() {
        found.push(format!(
            "annotation {HINTS} is deprecated, please use {MODE} instead"
        ));
    }
    if kind == "ClusterIP" && text(spec, "clusterIP") == "None" {
        for (key, shown) in [
            ("loadBalancerIP", "loadBalancerIP"),
            ("externalIPs", "externalIPs"),
            ("sessionAffinity", "SessionAffinity"),
        ] {
            let is_used = match key {
                "sessionAffinity" => text(spec, key) != "None",
                "externalIPs" => !list(spec, key).is_empty(),
                _ => !text(spec, key).is_empty(),
            };
            if is_used {
                found.push(format!("spec.{shown} is ignored for headless services"));
            }
        }
    }
    let external = list(spec, "externalIPs");
    let place = |index: usize| format!("spec.externalIPs[{index}]");
    for (index, address) in external.iter().enumerate() {
        found.extend(ip::odd_address(
            &place(index),
            address.as_str().unwrap_or_default(),
        ));
    }
    let address = text(spec, "loadBalancerIP");
    if !address.is_empty() {
        found.extend(ip::odd_address("spec.loadBalancerIP", address));
    }
    if kind == "ExternalName" && !external.is_empty() {
        found.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if kind != "ExternalName" && !text(spec, "externalName").is_empty() {
        found
            .push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        found.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
                .to_owned(),
        );
    }
    found
}
