//! Endpoints, ingresses, network policies and service addresses as objects.
//!
//! Source: Kubernetes v1.35, `pkg/apis/{core,discovery,networking}` defaults and validation.

use std::net::IpAddr;

use flotilla_machinery::builtin::ResourceRow;
use serde_json::{Value, json};

use super::{
    classes, endpoint_check,
    field::check,
    fill::{at_mut, fill, items, list},
    ingress_check, ip,
    rules::{Errors, Rules, immutable},
};

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
            check: endpoint_check::endpoints,
            ..rules
        },
        ("discovery.k8s.io", "endpointslices") => Rules {
            defaults: |object| {
                items(object, "endpoints").for_each(own_zone);
                for port in items(object, "ports") {
                    fill(port, "protocol", "TCP");
                    if port.get("name").is_none_or(Value::is_null) {
                        port["name"] = "".into();
                    }
                }
            },
            check: endpoint_check::slice,
            check_change: |new, old, errors| immutable(new, old, "addressType", errors),
            also_counts: |new, old| new["metadata"]["labels"] != old["metadata"]["labels"],
            ..rules
        },
        ("networking.k8s.io", "ingresses") => Rules {
            admit: classes::ingress_class,
            check: ingress_check::ingress,
            check_new: ingress_check::new_ingress,
            check_status: ingress_check::ingress_status,
            ..rules
        },
        ("networking.k8s.io", "ingressclasses") => Rules {
            defaults: |object| {
                if let Some(parameters) = at_mut(object, "spec.parameters") {
                    fill(parameters, "scope", "Cluster");
                }
            },
            check: ingress_check::class,
            check_change: |new, old, errors| immutable(new, old, "spec.controller", errors),
            ..rules
        },
        ("networking.k8s.io", "networkpolicies") => Rules {
            defaults: fill_network_policy,
            check: ingress_check::policy,
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
            check: check_service_cidr,
            check_change: |new, old, errors| immutable(new, old, "spec.cidrs", errors),
            ..rules
        },
        _ => return None,
    })
}

/// The zone has a field of its own; it is no part of the topology any more.
fn own_zone(endpoint: &mut Value) {
    let Some(topology) = at_mut(endpoint, "deprecatedTopology").and_then(Value::as_object_mut)
    else {
        return;
    };
    topology.remove("topology.kubernetes.io/zone");
    if topology.is_empty()
        && let Some(endpoint) = endpoint.as_object_mut()
    {
        endpoint.remove("deprecatedTopology");
    }
}

fn check_service_cidr(object: &Value, errors: &mut Errors) {
    check(&object["spec"]["cidrs"], "spec.cidrs", errors, |cidrs| {
        if cidrs.list().is_empty() {
            cidrs.required("at least one CIDR required");
        }
        if cidrs.list().len() > 2 {
            cidrs.invalid("may only hold up to 2 values");
        }
        let parsed: Vec<_> = cidrs
            .items()
            .map(|cidr| ip::check_strict_network(&cidr))
            .collect();
        if let [Some((first, _)), Some((second, _))] = parsed[..]
            && first.is_ipv4() == second.is_ipv4()
        {
            let detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
            cidrs.invalid(detail);
        }
    });
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
