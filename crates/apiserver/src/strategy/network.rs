//! Endpoints, ingresses, network policies and service addresses as objects.
//!
//! Source: Kubernetes v1.35, `pkg/apis/{core,discovery,networking}` defaults and validation.

use std::net::IpAddr;

use flotilla_machinery::{
    builtin::ResourceRow, labels::validate_label_selector, names, status::FieldError,
};
use serde_json::{Value, json};

use super::{
    classes,
    fill::{at, at_mut, fill, is_unset, items, list, text},
    pod_check::PROTOCOLS,
    rules::{Errors, Rules, complain, immutable, one_of},
};

/// Endpoints of one slice.
const ENDPOINTS_MAX: usize = 1000;

/// The rules of one of these kinds, `None` for other resources.
pub(super) fn of(row: &ResourceRow) -> Option<Rules> {
    let rules = Rules::of(row);
    Some(match (row.group, row.plural) {
        ("", "endpoints") => Rules {
            defaults: |object| {
                for subset in items(object, "subsets") {
                    for port in items(subset, "ports") {
                        fill(port, "protocol", "TCP");
                    }
                }
            },
            check: check_endpoints,
            creates_on_update: true,
            ..rules
        },
        ("discovery.k8s.io", "endpointslices") => Rules {
            defaults: |object| {
                for port in items(object, "ports") {
                    fill(port, "protocol", "TCP");
                    if port.get("name").is_none_or(Value::is_null) {
                        port["name"] = "".into();
                    }
                }
            },
            check: check_endpoint_slice,
            check_change: |new, old, errors| immutable(new, old, "addressType", errors),
            ..rules
        },
        ("networking.k8s.io", "ingresses") => Rules {
            admit: classes::ingress_class,
            check: check_ingress,
            ..rules
        },
        ("networking.k8s.io", "ingressclasses") => Rules {
            defaults: |object| {
                if let Some(parameters) = at_mut(object, "spec.parameters") {
                    fill(parameters, "scope", "Cluster");
                }
            },
            check_change: |new, old, errors| immutable(new, old, "spec.controller", errors),
            ..rules
        },
        ("networking.k8s.io", "networkpolicies") => Rules {
            defaults: fill_network_policy,
            check: check_network_policy,
            ..rules
        },
        ("networking.k8s.io", "ipaddresses") => Rules {
            name: |name, _| match name.parse::<IpAddr>() {
                Ok(address) if address.to_string() == name => Vec::new(),
                _ => vec!["must be a valid IP address in canonical form".to_owned()],
            },
            check_change: |new, old, errors| immutable(new, old, "spec.parentRef", errors),
            ..rules
        }
        .with_fields(&[]),
        ("networking.k8s.io", "servicecidrs") => Rules {
            check_change: |new, old, errors| immutable(new, old, "spec.cidrs", errors),
            ..rules
        },
        _ => return None,
    })
}

fn check_endpoints(object: &Value, errors: &mut Errors) {
    for (at, subset) in list(object, "subsets").iter().enumerate() {
        let path = format!("subsets[{at}]");
        let n = list(subset, "addresses").len() + list(subset, "notReadyAddresses").len();
        if n == 0 {
            let detail = "must specify `addresses` or `notReadyAddresses`";
            errors.push(FieldError::required(&*path, detail));
        }
        for key in ["addresses", "notReadyAddresses"] {
            for (at, address) in list(subset, key).iter().enumerate() {
                check_ip(
                    text(address, "ip"),
                    &format!("{path}.{key}[{at}].ip"),
                    errors,
                );
            }
        }
        let ports = list(subset, "ports");
        for (at, port) in ports.iter().enumerate() {
            let path = format!("{path}.ports[{at}]");
            if ports.len() > 1 && text(port, "name").is_empty() {
                errors.push(FieldError::required(format!("{path}.name"), ""));
            }
            super::pod_check::check_port(
                port["port"].as_i64().unwrap_or(0),
                &format!("{path}.port"),
                errors,
            );
            one_of(
                &port["protocol"],
                &format!("{path}.protocol"),
                &PROTOCOLS,
                errors,
            );
        }
    }
}

fn check_ip(address: &str, path: &str, errors: &mut Errors) {
    if address.parse::<IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.push(FieldError::invalid(path, address, detail));
    }
}

fn check_endpoint_slice(object: &Value, errors: &mut Errors) {
    let kinds = ["FQDN", "IPv4", "IPv6"];
    one_of(&object["addressType"], "addressType", &kinds, errors);
    let endpoints = list(object, "endpoints");
    if endpoints.len() > ENDPOINTS_MAX {
        errors.push(FieldError::too_many(
            "endpoints",
            endpoints.len(),
            ENDPOINTS_MAX,
        ));
        return;
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = format!("endpoints[{index}].addresses");
        let addresses = list(endpoint, "addresses");
        if addresses.is_empty() {
            errors.push(FieldError::required(
                path,
                "must contain at least 1 address",
            ));
            continue;
        }
        for (at, address) in addresses.iter().enumerate() {
            let address = address.as_str().unwrap_or_default();
            let path = format!("{path}[{at}]");
            let parsed = address.parse::<IpAddr>();
            match (text(object, "addressType"), parsed) {
                ("IPv4", Ok(IpAddr::V4(_))) | ("IPv6", Ok(IpAddr::V6(_))) => {}
                ("FQDN", _) => complain(&path, address, names::dns1123_subdomain(address), errors),
                ("IPv4", _) => {
                    errors.push(FieldError::invalid(
                        path,
                        address,
                        "must be an IPv4 address",
                    ));
                }
                ("IPv6", _) => {
                    errors.push(FieldError::invalid(
                        path,
                        address,
                        "must be an IPv6 address",
                    ));
                }
                _ => {}
            }
        }
    }
}

fn check_ingress(object: &Value, errors: &mut Errors) {
    let rules = list(object, "spec.rules");
    let backend = at(object, "spec.defaultBackend");
    if rules.is_empty() && backend.is_null() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid("spec", json!({}), detail));
    }
    if !backend.is_null() {
        check_backend(backend, "spec.defaultBackend", errors);
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("spec.rules[{index}]");
        let host = text(rule, "host");
        if host.parse::<IpAddr>().is_ok() {
            let detail = "must be a DNS name, not an IP address";
            errors.push(FieldError::invalid(format!("{path}.host"), host, detail));
        } else if host.contains('*') {
            complain(
                &format!("{path}.host"),
                host,
                names::wildcard_subdomain(host),
                errors,
            );
        } else if !host.is_empty() {
            complain(
                &format!("{path}.host"),
                host,
                names::dns1123_subdomain(host),
                errors,
            );
        }
        let http = &rule["http"];
        if http.is_object() && list(http, "paths").is_empty() {
            errors.push(FieldError::required(format!("{path}.http.paths"), ""));
        }
        for (at, entry) in list(http, "paths").iter().enumerate() {
            check_path(entry, &format!("{path}.http.paths[{at}]"), errors);
        }
    }
}

fn check_path(entry: &Value, path: &str, errors: &mut Errors) {
    let kind = text(entry, "pathType");
    let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
    let at_type = format!("{path}.pathType");
    if kind.is_empty() {
        errors.push(FieldError::required(at_type, "pathType must be specified"));
    } else {
        one_of(&entry["pathType"], &at_type, &kinds, errors);
    }
    let value = text(entry, "path");
    let needs_slash = matches!(kind, "Exact" | "Prefix") || !value.is_empty();
    if needs_slash && !value.starts_with('/') {
        let detail = "must be an absolute path";
        errors.push(FieldError::invalid(format!("{path}.path"), value, detail));
    }
    check_backend(&entry["backend"], &format!("{path}.backend"), errors);
}

fn check_backend(backend: &Value, path: &str, errors: &mut Errors) {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    match (service.is_object(), resource.is_object()) {
        (true, true) => {
            let detail = "cannot set both resource and service backends";
            errors.push(FieldError::invalid(path, "", detail));
        }
        (false, true) => {}
        _ => {
            let name = text(service, "name");
            let port = &service["port"];
            if name.is_empty() {
                errors.push(FieldError::required(format!("{path}.service.name"), ""));
            } else {
                let path = format!("{path}.service.name");
                complain(&path, name, names::dns1035_label(name), errors);
            }
            let has_number = port["number"].as_i64().unwrap_or(0) != 0;
            if !has_number && is_unset(port.get("name")) {
                let detail = "port name or number is required";
                errors.push(FieldError::required(format!("{path}.service.port"), detail));
            }
        }
    }
}

fn fill_network_policy(object: &mut Value) {
    let Some(spec) = at_mut(object, "spec").filter(|spec| spec.is_object()) else {
        return;
    };
    fill(spec, "podSelector", json!({}));
    for direction in ["ingress", "egress"] {
        for rule in items(spec, direction) {
            for port in items(rule, "ports") {
                fill(port, "protocol", "TCP");
            }
        }
    }
    if list(spec, "policyTypes").is_empty() {
        let has_egress = !list(spec, "egress").is_empty();
        spec["policyTypes"] = if has_egress {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
    }
}

fn check_network_policy(object: &Value, errors: &mut Errors) {
    let spec = at(object, "spec");
    errors.extend(validate_label_selector(
        &spec["podSelector"],
        "spec.podSelector",
    ));
    for (index, kind) in list(spec, "policyTypes").iter().enumerate() {
        let path = format!("spec.policyTypes[{index}]");
        one_of(kind, &path, &["Egress", "Ingress"], errors);
    }
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in list(spec, direction).iter().enumerate() {
            for (at_peer, peer) in list(rule, peers).iter().enumerate() {
                let path = format!("spec.{direction}[{index}].{peers}[{at_peer}]");
                let is_empty = peer.as_object().is_none_or(|peer| peer.is_empty());
                if is_empty {
                    errors.push(FieldError::required(&*path, "must specify a peer"));
                }
                let has_selector =
                    peer["podSelector"].is_object() || peer["namespaceSelector"].is_object();
                if peer["ipBlock"].is_object() && has_selector {
                    let detail = "may not specify both ipBlock and another peer";
                    errors.push(FieldError::forbidden(path, detail));
                }
            }
        }
    }
}
