//! ConfigMaps, Secrets, service accounts, events and other plain data.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation` and `pkg/apis/core/v1/{conversion,defaults}.go`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flotilla_machinery::{
    builtin::ResourceRow, json_syntax, names, patch::json::go_kind, status::FieldError,
};
use serde_json::{Value, json};

use super::{
    admin::path_segment,
    convert,
    field::check,
    fill::{at, fill, is_unset, items, map_at, text},
    nodes, quota_check,
    rules::{Errors, Rules, immutable, not_negative},
};

/// Bytes of all values of a ConfigMap or Secret together.
const DATA_BYTES_MAX: usize = 1 << 20;

/// What events can be selected by.
const CORE_EVENT_FIELDS: [&str; 11] = [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

/// The rules of one of these kinds, `None` for other resources.
pub(super) fn of(row: &ResourceRow) -> Option<Rules> {
    let rules = Rules::of(row);
    Some(match (row.group, row.plural) {
        ("", "configmaps") => Rules {
            check: check_config_map,
            check_change: config_map_kept,
            ..rules
        },
        ("", "secrets") => Rules {
            defaults: fill_secret,
            check: check_secret,
            warnings: secret_warnings,
            check_change: secret_kept,
            ..rules
        }
        .with_fields(&["type"]),
        ("", "events") => {
            let mut rules = rules.with_fields(&CORE_EVENT_FIELDS);
            event_source(&mut rules, "source.component");
            Rules {
                check: check_event,
                name: path_segment,
                ..rules
            }
        }
        ("events.k8s.io", "events") => {
            let mut rules = rules.with_fields(&[
                "regarding.kind",
                "regarding.namespace",
                "regarding.name",
                "regarding.uid",
                "regarding.apiVersion",
                "regarding.resourceVersion",
                "regarding.fieldPath",
                "reason",
                "reportingController",
                "type",
            ]);
            rules.conversion = Some((convert::event_from_core, convert::event_to_core));
            rules
        }
        ("", "limitranges") => Rules {
            defaults: fill_limit_range,
            names_itself: true,
            check: quota_check::limit_range,
            ..rules
        },
        ("", "resourcequotas") => Rules {
            check: quota_check::quota,
            check_change: quota_check::quota_kept,
            check_status: quota_check::quota_status,
            ..rules
        },
        ("", "nodes") => {
            let mut rules = rules.with_fields(&["spec.unschedulable"]);
            rules.fields[0].default = "false".into();
            Rules {
                defaults: nodes::fill,
                on_create: nodes::not_ready,
                check_new: nodes::new,
                check_change: nodes::changed,
                check_status: nodes::status,
                ..rules
            }
        }
        ("coordination.k8s.io", "leases") => Rules {
            on_create: uncoordinated,
            on_update: |lease, _| uncoordinated(lease),
            check: check_lease,
            ..rules
        },
        _ => return None,
    })
}

/// The label `source` means the component.
fn event_source(rules: &mut Rules, path: &str) {
    for field in rules
        .fields
        .iter_mut()
        .filter(|field| &*field.label == "source")
    {
        field.path = path.into();
    }
}

fn check_event(object: &Value, errors: &mut Errors) {
    let namespace = text(object, "metadata.namespace");
    let involved = text(object, "involvedObject.namespace");
    let fits = match involved {
        "" => matches!(namespace, "default" | "kube-system"),
        involved => involved == namespace,
    };
    if !fits {
        let detail = "does not match event.namespace";
        errors.push(FieldError::invalid(
            "involvedObject.namespace",
            involved,
            detail,
        ));
    }
}

fn check_keys(object: &Value, fields: &[&str], errors: &mut Errors) {
    let mut bytes = 0;
    for field in fields {
        for (key, value) in object[*field].as_object().into_iter().flatten() {
            let complaints = names::config_map_key(key);
            let path = format!("{field}[{key}]");
            errors.extend(
                complaints
                    .into_iter()
                    .map(|c| FieldError::invalid(&path, key.as_str(), c)),
            );
            bytes += value.as_str().map_or(0, str::len);
        }
    }
    if bytes > DATA_BYTES_MAX {
        errors.push(FieldError::too_long("data", DATA_BYTES_MAX));
    }
}

fn check_config_map(object: &Value, errors: &mut Errors) {
    check_keys(object, &["data", "binaryData"], errors);
    let binary = at(object, "binaryData");
    for key in at(object, "data")
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
    {
        if binary.get(key).is_some() {
            let detail = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(
                format!("data[{key}]"),
                key.as_str(),
                detail,
            ));
        }
    }
}

/// An immutable object keeps its data and stays immutable.
fn frozen(new: &Value, old: &Value, fields: &[&str], errors: &mut Errors) {
    if old["immutable"] != true {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if new["immutable"] != true {
        errors.push(FieldError::forbidden("immutable", detail));
    }
    for field in fields
        .iter()
        .filter(|field| new.get(**field) != old.get(**field))
    {
        errors.push(FieldError::forbidden(*field, detail));
    }
}

fn config_map_kept(new: &Value, old: &Value, errors: &mut Errors) {
    frozen(new, old, &["data", "binaryData"], errors);
}

fn fill_secret(object: &mut Value) {
    fill(object, "type", "Opaque");
    // `stringData` is for writing only: plain text that wins over `data`.
    let plain = object
        .as_object_mut()
        .and_then(|map| map.remove("stringData"));
    let Some(Value::Object(plain)) = plain else {
        return;
    };
    let Some(data) = map_at(object, "data") else {
        return;
    };
    for (key, value) in plain {
        if let Value::String(text) = value {
            data.insert(key, STANDARD.encode(text).into());
        }
    }
}

fn check_secret(object: &Value, errors: &mut Errors) {
    check_keys(object, &["data"], errors);
    let needs: &[&str] = match text(object, "type") {
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/basic-auth" => {
            let has = |key: &str| at(object, "data").get(key).is_some();
            if !has("username") && !has("password") {
                errors.push(FieldError::required("data[username]", ""));
                errors.push(FieldError::required("data[password]", ""));
            }
            &[]
        }
        "kubernetes.io/service-account-token" => {
            let annotation = "kubernetes.io/service-account.name";
            if is_unset(at(object, "metadata.annotations").get(annotation)) {
                let path = format!("metadata.annotations[{annotation}]");
                errors.push(FieldError::required(path, ""));
            }
            &[]
        }
        _ => &[],
    };
    for key in needs.iter().filter(|key| key.starts_with(".docker")) {
        check_docker_config(object, key, errors);
    }
    for key in needs
        .iter()
        .filter(|key| at(object, "data").get(**key).is_none())
    {
        errors.push(FieldError::required(format!("data[{key}]"), ""));
    }
}

/// What a Docker configuration holds must be a JSON object; its values are secret, so errors do not show them.
fn check_docker_config(object: &Value, key: &str, errors: &mut Errors) {
    let Some(text) = at(object, "data").get(key).and_then(Value::as_str) else {
        return;
    };
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let why = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => {
            let found = go_kind(&other);
            format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )
        }
        Err(error) => json_syntax::mistake(&bytes).unwrap_or_else(|| error.to_string()),
    };
    let path = format!("data[{key}]");
    errors.push(FieldError::invalid(path, "<secret contents redacted>", why));
}

/// Warns of a TLS secret without a certificate or key in PEM. Upstream also warns of a key that does not fit.
fn secret_warnings(object: &Value) -> Vec<String> {
    if text(object, "type") != "kubernetes.io/tls" {
        return Vec::new();
    }
    let has_pem = |key: &str| {
        let text = at(object, "data").get(key).and_then(Value::as_str);
        let bytes = STANDARD
            .decode(text.unwrap_or_default())
            .unwrap_or_default();
        String::from_utf8_lossy(&bytes)
            .lines()
            .any(|line| line.starts_with("-----BEGIN ") && line.trim_end().ends_with("-----"))
    };
    let missing = [("tls.crt", "certificate"), ("tls.key", "key")];
    let missing = missing.iter().find(|(key, _)| !has_pem(key));
    missing
        .map(|(_, what)| format!("tls: failed to find any PEM data in {what} input"))
        .into_iter()
        .collect()
}

fn secret_kept(new: &Value, old: &Value, errors: &mut Errors) {
    immutable(new, old, "type", errors);
    frozen(new, old, &["data"], errors);
}

/// A container's default limit is its maximum, its default request the default limit, else the
/// minimum.
fn fill_limit_range(object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else {
        return;
    };
    for item in items(spec, "limits").filter(|item| item["type"] == "Container") {
        for (target, source) in [
            ("default", "max"),
            ("defaultRequest", "default"),
            ("defaultRequest", "min"),
        ] {
            let amounts = item[source].as_object().cloned().unwrap_or_default();
            if amounts.is_empty() {
                continue;
            }
            fill(item, target, json!({}));
            for (name, amount) in amounts {
                fill(&mut item[target], &name, amount);
            }
        }
    }
}

/// Coordinated elections are off by default upstream, and their fields are dropped.
fn uncoordinated(lease: &mut Value) {
    if let Some(spec) = lease["spec"].as_object_mut() {
        spec.remove("strategy");
        spec.remove("preferredHolder");
    }
}

fn check_lease(object: &Value, errors: &mut Errors) {
    let duration = at(object, "spec.leaseDurationSeconds");
    if duration.as_i64().is_some_and(|seconds| seconds <= 0) {
        let detail = "must be greater than 0";
        errors.push(FieldError::invalid(
            "spec.leaseDurationSeconds",
            duration.clone(),
            detail,
        ));
    }
    not_negative(object, "spec.leaseTransitions", errors);
    check(&object["spec"], "spec", errors, |spec| {
        let strategy = spec.at("strategy");
        // Upstream says the name twice.
        let place = strategy.with("strategy", strategy.value);
        if strategy.text().contains('/') {
            place.complain(names::qualified_name(strategy.text()));
        } else {
            place.supported_if_set(&["OldestEmulationVersion"]);
        }
        let holder = spec.at("preferredHolder");
        if !holder.text().is_empty() && strategy.text().is_empty() {
            holder.forbidden("may only be specified if `strategy` is defined");
        }
    });
}
