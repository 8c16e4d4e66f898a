//! Environment variables and where their values come from.

use flotilla_machinery::names;

use super::{CONTAINERS, volumes::no_backsteps};
use crate::strategy::{field::Field, fill::list, resources::quantity};

/// Fields of a pod that may become a variable.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Fields of a pod that can be named at all.
const LABELS: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Resources of a container that can be named.
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Units in which bytes may be counted.
const BYTE_UNITS: [&str; 13] = [
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

/// Both lists of a container.
pub(super) fn check(container: &Field<'_, '_>) {
    for variable in container.at("env").items() {
        variable.at("name").named(names::env_var_name);
        value_from(&variable);
    }
    let sources = container.at("envFrom");
    for source in sources.items() {
        source.at("prefix").named_if_any(names::env_var_name);
        let mut n = 0;
        for key in ["configMapRef", "secretRef"] {
            if source.at(key).is_set() {
                n += 1;
                source.at(key).at("name").named(prefix_name);
            }
        }
        match n {
            0 => sources.invalid_as("", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => sources.invalid_as("", "may not have more than one field specified at a time"),
        }
    }
}

/// Upstream checks these names as if something were to follow.
fn prefix_name(name: &str) -> Vec<String> {
    names::dns1123_subdomain(&names::as_prefix(name))
}

/// A kind of source: its member, and its rule.
type Source = (&'static str, fn(&Field<'_, '_>));

fn value_from(variable: &Field<'_, '_>) {
    let from = variable.at("valueFrom");
    if !from.is_set() {
        return;
    }
    let rules: [Source; 5] = [
        ("fieldRef", |field| field_ref(field, &FIELDS)),
        ("resourceFieldRef", |field| resource_ref(field, false)),
        ("configMapKeyRef", key_ref),
        ("secretKeyRef", key_ref),
        ("fileKeyRef", file_key_ref),
    ];
    let mut n = 0;
    for (key, rule) in rules {
        let source = from.at(key);
        if source.is_set() {
            n += 1;
            rule(&source);
        }
    }
    if n == 0 {
        from.invalid_as("", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`");
    } else if !variable.at("value").text().is_empty() {
        from.invalid_as("", "may not be specified when `value` is not empty");
    } else if n > 1 {
        from.invalid_as("", "may not have more than one field specified at a time");
    }
}

/// A reference to a field of the pod, one of `allowed`.
pub(super) fn field_ref(field: &Field<'_, '_>, allowed: &[&str]) {
    let (version, path) = (field.at("apiVersion"), field.at("fieldPath"));
    if version.text().is_empty() {
        version.required("");
        return;
    }
    if path.text().is_empty() {
        path.required("");
        return;
    }
    let name = path.text();
    let refuse = |why: String| path.invalid(format!("error converting fieldPath: {why}"));
    if version.text() != "v1" {
        refuse(format!("unsupported pod version: {}", version.text()));
        return;
    }
    if let Some((base, key)) = subscript(name) {
        match base {
            "metadata.annotations" => complain(field, &key.to_lowercase()),
            "metadata.labels" => complain(field, key),
            _ => refuse(format!("field label does not support subscript: {name}")),
        }
        return;
    }
    let name = if name == "spec.host" {
        "spec.nodeName"
    } else {
        name
    };
    if !LABELS.contains(&name) {
        refuse(format!("field label not supported: {name}"));
    } else if !allowed.contains(&name) {
        let mut sorted = allowed.to_vec();
        sorted.sort_unstable();
        path.not_supported(&sorted);
    }
}

fn complain(field: &Field<'_, '_>, key: &str) {
    for complaint in names::qualified_name(key) {
        field.invalid_as(key, complaint);
    }
}

/// `metadata.labels['a']` as two.
fn subscript(path: &str) -> Option<(&str, &str)> {
    let (base, key) = path.strip_suffix("']")?.split_once("['")?;
    (!base.is_empty()).then_some((base, key))
}

/// A reference to an amount of a container.
pub(super) fn resource_ref(field: &Field<'_, '_>, in_volume: bool) {
    let (container, resource) = (field.at("containerName"), field.at("resource"));
    let name = resource.text();
    let is_huge_page = ["limits.hugepages-", "requests.hugepages-"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    if in_volume && container.text().is_empty() {
        container.required("");
    } else if name.is_empty() {
        resource.required("");
    } else if !RESOURCES.contains(&name) && !is_huge_page {
        resource.not_supported(&RESOURCES);
    }
    let divisor = field.at("divisor");
    let Some(amount) = quantity(divisor.value).filter(|amount| !amount.is_zero()) else {
        return;
    };
    let bytes = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
    let (units, list, what): (&[&str], &str, &str) = match name {
        "limits.cpu" | "requests.cpu" => (&["1m", "1"], "1m and 1", "cpu"),
        "limits.memory" | "requests.memory" => (&BYTE_UNITS, bytes, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            (&BYTE_UNITS, bytes, "local ephemeral storage")
        }
        _ if is_huge_page => (&BYTE_UNITS, bytes, "hugepages"),
        _ => return,
    };
    if !units.contains(&amount.to_string().as_str()) {
        let detail = format!("only divisor's values {list} are supported with the {what} resource");
        divisor.invalid_as(name, detail);
    }
}

fn key_ref(field: &Field<'_, '_>) {
    let name = field.at("name");
    name.complain(names::dns1123_subdomain(name.text()));
    field.at("key").named(names::config_map_key);
}

fn file_key_ref(field: &Field<'_, '_>) {
    field.at("key").named(names::env_var_name);
    field.at("volumeName").named(names::dns1123_label);
    let path = field.at("path");
    if path.text().is_empty() {
        path.required("");
    } else {
        no_backsteps(&path);
    }
}

/// Variables come from files of volumes that the pod fills itself.
pub(super) fn file_key_volumes(spec: &Field<'_, '_>) {
    for kind in CONTAINERS {
        for container in spec.at(kind).items() {
            for variable in container.at("env").items() {
                let source = variable.at("valueFrom.fileKeyRef");
                if !source.is_set() {
                    continue;
                }
                let name = source.at("volumeName");
                let mut volumes = list(spec.value, "volumes").iter();
                match volumes.find(|volume| volume["name"] == name.text()) {
                    None => name.not_found(""),
                    Some(volume) if volume["emptyDir"].is_null() => {
                        name.invalid("referenced volume must be of type emptyDir");
                    }
                    Some(_) => {}
                }
            }
        }
    }
}
