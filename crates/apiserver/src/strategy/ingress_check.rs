//! What is wrong with ingresses, their classes, and network policies.
//!
//! Source: Kubernetes v1.35, `pkg/apis/networking/validation/validation.go`.

use flotilla_machinery::names;
use serde_json::Value;

use super::{
    field::{Field, check},
    ip,
    rules::Errors,
    service_check::{balancer_address, balancer_host},
};

/// The annotation that named the class before there was a field.
const CLASS: &str = "kubernetes.io/ingress.class";
/// Longest name of a controller.
const CONTROLLER_BYTES_MAX: usize = 250;

/// What no path may hold, and what none may end with.
const NO_SEQUENCES: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const NO_ENDS: [&str; 2] = ["/..", "/."];

/// Checks an ingress.
pub(super) fn ingress(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        let (backend, rules) = (spec.at("defaultBackend"), spec.at("rules"));
        if rules.list().is_empty() && !backend.is_set() {
            let detail = "either `defaultBackend` or `rules` must be specified";
            spec.invalid_as(rules.value.clone(), detail);
        }
        if backend.is_set() {
            self::backend(&backend);
        }
        for rule in rules.items() {
            host(&rule.at("host"), true);
            let paths = rule.at("http.paths");
            if rule.at("http").is_set() && paths.list().is_empty() {
                paths.required("");
            }
            for path in paths.items() {
                self::path(&path);
            }
        }
        for tls in spec.at("tls").items() {
            for host in tls.at("hosts").items() {
                self::host(&host, false);
            }
            tls.at("secretName").named_if_any(names::dns1123_subdomain);
        }
        let class = spec.at("ingressClassName");
        if class.is_set() {
            class.complain(names::dns1123_subdomain(class.text()));
        }
    });
}

/// A new ingress does not name two classes.
pub(super) fn new_ingress(object: &Value, errors: &mut Errors) {
    check(object, "", errors, |object| {
        let noted = object.at("metadata.annotations");
        let noted = noted.key(CLASS);
        let class = object.at("spec.ingressClassName");
        if noted.is_set() && class.is_set() && noted.value != class.value {
            let shown = object.with("annotations", noted.value);
            let shown = shown.with(CLASS, noted.value);
            shown.invalid("must match `ingressClassName` when both are specified");
        }
    });
}

/// Where the balancer of an ingress is.
pub(super) fn ingress_status(new: &Value, old: &Value, errors: &mut Errors) {
    let status = &new["status"]["loadBalancer"];
    check(status, "status.loadBalancer", errors, |status| {
        for entry in status.at("ingress").items() {
            balancer_address(&entry.at("ip"), &old["status"]["loadBalancer"]);
            balancer_host(&entry.at("hostname"));
        }
    });
}

fn host(host: &Field<'_, '_>, is_rule: bool) {
    let text = host.text();
    if is_rule && text.is_empty() {
        return;
    }
    if is_rule && ip::sloppy(text).is_some() {
        host.invalid("must be a DNS name, not an IP address");
    }
    if text.contains('*') {
        host.complain(names::wildcard_subdomain(text));
    } else {
        host.complain(names::dns1123_subdomain(text));
    }
}

fn path(entry: &Field<'_, '_>) {
    let (kind, path) = (entry.at("pathType"), entry.at("path"));
    let text = path.text();
    match kind.text() {
        "" if !kind.is_set() => {
            kind.required("pathType must be specified");
            return;
        }
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                path.invalid_text("must be an absolute path");
            }
            for sequence in NO_SEQUENCES.iter().filter(|s| text.contains(**s)) {
                path.invalid(format!("must not contain '{sequence}'"));
            }
            for end in NO_ENDS.iter().filter(|end| text.ends_with(**end)) {
                path.invalid(format!("cannot end with '{end}'"));
            }
        }
        "ImplementationSpecific" => {
            if !text.is_empty() && !text.starts_with('/') {
                path.invalid("must be an absolute path");
            }
        }
        _ => kind.not_supported(&["Exact", "ImplementationSpecific", "Prefix"]),
    }
    backend(&entry.at("backend"));
}

fn backend(backend: &Field<'_, '_>) {
    let (service, resource) = (backend.at("service"), backend.at("resource"));
    match (service.is_set(), resource.is_set()) {
        (true, true) => {
            backend.invalid_as("", "cannot set both resource and service backends");
        }
        (false, true) => reference(&resource),
        (true, false) => {
            service.at("name").named(names::dns1035_label);
            let (name, number) = (service.at("port.name"), service.at("port.number"));
            match (name.text().is_empty(), number.count()) {
                (true, 0) => backend.required("port name or number is required"),
                (true, _) => number.port(),
                (false, 0) => name.complain(names::port_name(name.text())),
                (false, _) => backend.invalid_as("", "cannot set both port name & port number"),
            }
        }
        (false, false) => backend.invalid_as("", "resource or service backend is required"),
    }
}

/// Another object: its group if it has one, kind and name.
fn reference(reference: &Field<'_, '_>) {
    let group = reference.at("apiGroup");
    if group.is_set() {
        group.complain(names::dns1123_subdomain(group.text()));
    }
    reference.at("kind").named(names::path_segment);
    reference.at("name").named(names::path_segment);
}

/// Checks a class.
pub(super) fn class(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        let controller = spec.at("controller");
        if controller.text().len() > CONTROLLER_BYTES_MAX {
            controller.too_long(CONTROLLER_BYTES_MAX);
        }
        super::job_check::domain_path(&controller);
        let parameters = spec.at("parameters");
        if !parameters.is_set() {
            return;
        }
        reference(&parameters);
        let (scope, namespace) = (parameters.at("scope"), parameters.at("namespace"));
        match (scope.text(), namespace.is_set()) {
            ("Namespace", false) => {
                namespace.required("`parameters.scope` is set to 'Namespace'");
            }
            ("Namespace", true) => namespace.complain(names::dns1123_label(namespace.text())),
            ("Cluster", true) => namespace.forbidden("`parameters.scope` is set to 'Cluster'"),
            ("Cluster", false) => {}
            _ if !scope.is_set() => scope.required(""),
            _ => scope.not_supported(&["Cluster", "Namespace"]),
        }
    });
}

/// Checks a network policy.
pub(super) fn policy(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        spec.at("podSelector").selector();
        for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
            for rule in spec.at(direction).items() {
                for port in rule.at("ports").items() {
                    self::port(&port);
                }
                for peer in rule.at(peers).items() {
                    self::peer(&peer);
                }
            }
        }
        let types = spec.at("policyTypes");
        if types.list().len() > 2 {
            types.invalid("may not specify more than two policyTypes");
            return;
        }
        for kind in types.items() {
            kind.supported(&["Ingress", "Egress"]);
        }
    });
}

fn port(port: &Field<'_, '_>) {
    port.at("protocol")
        .supported_if_set(&["TCP", "UDP", "SCTP"]);
    let (first, last) = (port.at("port"), port.at("endPort"));
    match first.value {
        Value::Null if last.is_set() => {
            last.invalid("may not be specified when `port` is not specified");
        }
        Value::Null => {}
        Value::String(name) => {
            if last.is_set() {
                last.invalid("may not be specified when `port` is non-numeric");
            }
            first.complain(names::port_name(name));
        }
        _ => {
            first.port();
            if last.is_set() {
                if last.count() < first.count() {
                    // Upstream shows the other number here.
                    last.invalid_as(first.count(), "must be greater than or equal to `port`");
                }
                last.port();
            }
        }
    }
}

fn peer(peer: &Field<'_, '_>) {
    let (pods, namespaces) = (peer.at("podSelector"), peer.at("namespaceSelector"));
    let block = peer.at("ipBlock");
    pods.selector();
    namespaces.selector();
    if block.is_set() {
        ip_block(&block);
    }
    let has_selector = pods.is_set() || namespaces.is_set();
    if !has_selector && !block.is_set() {
        peer.required("must specify a peer");
    } else if has_selector && block.is_set() {
        peer.forbidden("may not specify both ipBlock and another peer");
    }
}

fn ip_block(block: &Field<'_, '_>) {
    let whole = block.at("cidr");
    if whole.text().is_empty() {
        whole.required("");
        return;
    }
    let Some(network) = ip::check_sloppy_network(&whole) else {
        return;
    };
    for except in block.at("except").items() {
        if let Some(part) = ip::check_sloppy_network(&except)
            && !ip::is_strictly_inside(part, network)
        {
            except.invalid("must be a strict subset of `cidr`");
        }
    }
}
