//! What is wrong with a pod spec, in pods and in every template.
//!
//! The mistakes people make, with upstream's paths and words; not every rule of upstream.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeSet;

use flotilla_machinery::{names, status::FieldError};
use serde_json::Value;

use super::{
    fill::{at, is_unset, list, text},
    limits::check_resources,
    placing::check_placing,
    rules::{Errors, complain, named, not_negative, one_of},
    security::check_security,
};

/// Protocols of ports.
pub(super) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Checks the spec at `path` (`spec` or `spec.template.spec`).
pub(super) fn check_pod_spec(spec: &Value, path: &str, errors: &mut Errors) {
    let volumes = check_volumes(spec, path, errors);
    let mut seen = BTreeSet::new();
    if list(spec, "containers").is_empty() {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    for kind in ["containers", "initContainers"] {
        for (at, container) in list(spec, kind).iter().enumerate() {
            let path = format!("{path}.{kind}[{at}]");
            check_container(container, &path, &volumes, errors);
            let name = text(container, "name");
            if !name.is_empty() && !seen.insert(name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            }
        }
    }
    let policy = |key: &str| (at(spec, key), format!("{path}.{key}"));
    let (value, at_path) = policy("restartPolicy");
    one_of(value, &at_path, &["Always", "OnFailure", "Never"], errors);
    let (value, at_path) = policy("dnsPolicy");
    one_of(
        value,
        &at_path,
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
        errors,
    );
    for key in ["serviceAccountName", "nodeName"] {
        let name = text(spec, key);
        if !name.is_empty() {
            complain(
                &format!("{path}.{key}"),
                name,
                names::dns1123_subdomain(name),
                errors,
            );
        }
    }
    for key in ["hostname", "subdomain"] {
        let name = text(spec, key);
        if !name.is_empty() {
            complain(
                &format!("{path}.{key}"),
                name,
                names::dns1123_label(name),
                errors,
            );
        }
    }
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64()
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        let detail = names::in_range(seconds, 1, i64::from(i32::MAX)).join("; ");
        errors.push(FieldError::invalid(
            format!("{path}.activeDeadlineSeconds"),
            seconds,
            detail,
        ));
    }
    if let Some(seconds) = spec["terminationGracePeriodSeconds"].as_i64()
        && seconds < 0
    {
        let path = format!("{path}.terminationGracePeriodSeconds");
        errors.push(FieldError::invalid(
            path,
            seconds,
            "must be greater than or equal to 0",
        ));
    }
    check_placing(spec, path, errors);
    check_security(spec, path, errors);
}

/// Checks the volumes and answers with their names.
fn check_volumes<'s>(spec: &'s Value, path: &str, errors: &mut Errors) -> BTreeSet<&'s str> {
    let mut seen = BTreeSet::new();
    for (at, volume) in list(spec, "volumes").iter().enumerate() {
        let path = format!("{path}.volumes[{at}]");
        named(
            &volume["name"],
            &format!("{path}.name"),
            names::dns1123_label,
            errors,
        );
        let name = text(volume, "name");
        if !name.is_empty() && !seen.insert(name) {
            errors.push(FieldError::duplicate(format!("{path}.name"), name));
        }
        let sources = volume.as_object().into_iter().flatten();
        let mut sources = sources.filter(|(key, value)| *key != "name" && !is_unset(Some(value)));
        match (sources.next(), sources.next()) {
            (None, _) => errors.push(FieldError::required(path, "must specify a volume type")),
            (_, Some((second, _))) => {
                let detail = "may not specify more than 1 volume type";
                errors.push(FieldError::forbidden(format!("{path}.{second}"), detail));
            }
            (Some((key, source)), None) => {
                let needed = match key.as_str() {
                    "hostPath" => "path",
                    "persistentVolumeClaim" => "claimName",
                    "secret" => "secretName",
                    "configMap" => "name",
                    _ => continue,
                };
                if text(source, needed).is_empty() {
                    errors.push(FieldError::required(format!("{path}.{key}.{needed}"), ""));
                }
            }
        }
    }
    seen
}

fn check_container(container: &Value, path: &str, volumes: &BTreeSet<&str>, errors: &mut Errors) {
    named(
        &container["name"],
        &format!("{path}.name"),
        names::dns1123_label,
        errors,
    );
    let image = text(container, "image");
    if image.is_empty() {
        errors.push(FieldError::required(format!("{path}.image"), ""));
    } else if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(format!("{path}.image"), image, detail));
    }
    let policies = ["Always", "IfNotPresent", "Never"];
    one_of(
        &container["imagePullPolicy"],
        &format!("{path}.imagePullPolicy"),
        &policies,
        errors,
    );
    check_ports(container, path, errors);
    check_resources(container, path, errors);
    for (at, env) in list(container, "env").iter().enumerate() {
        let path = format!("{path}.env[{at}]");
        named(
            &env["name"],
            &format!("{path}.name"),
            names::env_var_name,
            errors,
        );
        if !text(env, "value").is_empty() && env["valueFrom"].is_object() {
            let detail = "may not be specified when `value` is not empty";
            errors.push(FieldError::invalid(format!("{path}.valueFrom"), "", detail));
        }
    }
    let mut paths = BTreeSet::new();
    for (at, mount) in list(container, "volumeMounts").iter().enumerate() {
        let path = format!("{path}.volumeMounts[{at}]");
        let (name, mount_path) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else if !volumes.contains(name) {
            errors.push(FieldError::not_found(format!("{path}.name"), name));
        }
        if mount_path.is_empty() {
            errors.push(FieldError::required(format!("{path}.mountPath"), ""));
        } else if !paths.insert(mount_path) {
            errors.push(FieldError::invalid(
                format!("{path}.mountPath"),
                mount_path,
                "must be unique",
            ));
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        check_probe(&container[probe], &format!("{path}.{probe}"), errors);
    }
}

fn check_ports(container: &Value, path: &str, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (at, port) in list(container, "ports").iter().enumerate() {
        let path = format!("{path}.ports[{at}]");
        let name = text(port, "name");
        if !name.is_empty() {
            complain(
                &format!("{path}.name"),
                name,
                names::port_name(name),
                errors,
            );
            if !seen.insert(name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            }
        }
        match port["containerPort"].as_i64().unwrap_or(0) {
            0 => errors.push(FieldError::required(format!("{path}.containerPort"), "")),
            number => check_port(number, &format!("{path}.containerPort"), errors),
        }
        match port["hostPort"].as_i64().unwrap_or(0) {
            0 => {}
            number => check_port(number, &format!("{path}.hostPort"), errors),
        }
        one_of(
            &port["protocol"],
            &format!("{path}.protocol"),
            &PROTOCOLS,
            errors,
        );
    }
}

fn check_probe(probe: &Value, path: &str, errors: &mut Errors) {
    if !probe.is_object() {
        return;
    }
    let handlers = ["exec", "httpGet", "tcpSocket", "grpc"];
    if !handlers.iter().any(|handler| probe[handler].is_object()) {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
    let numbers = [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ];
    for key in numbers {
        let mut found = Errors::new();
        not_negative(probe, key, &mut found);
        errors.extend(found.into_iter().map(|mut error| {
            error.path = format!("{path}.{key}");
            error
        }));
    }
}

/// A port number in range.
pub(super) fn check_port(number: i64, path: &str, errors: &mut Errors) {
    errors.extend(
        names::port_number(number)
            .into_iter()
            .map(|text| FieldError::invalid(path, number, text)),
    );
}
