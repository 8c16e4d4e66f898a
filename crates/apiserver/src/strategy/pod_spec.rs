//! Defaults of pod specs, in pods and in every template.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/v1/defaults.go`.

use serde_json::{Value, json};

use super::fill::{at, at_mut, fill, is_unset, items, text};

/// Permissions of files from ConfigMaps, Secrets and the like: 0644.
const FILE_MODE: i32 = 0o644;

/// Every container of a pod spec, of all three lists.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Fills in a pod spec.
pub(super) fn fill_pod_spec(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "restartPolicy", "Always");
    fill(spec, "schedulerName", "default-scheduler");
    fill(spec, "securityContext", json!({}));
    fill(spec, "terminationGracePeriodSeconds", 30);
    // The old name of the field mirrors the new one.
    let account = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount"),
        account => account,
    }
    .to_owned();
    if !account.is_empty() {
        spec["serviceAccountName"] = account.clone().into();
        spec["serviceAccount"] = account.into();
    }
    let on_host = spec["hostNetwork"] == true;
    for list in CONTAINERS {
        for container in items(spec, list) {
            fill_container(container);
            if on_host && list != "ephemeralContainers" {
                for port in items(container, "ports") {
                    if port["hostPort"].as_i64().unwrap_or(0) == 0 {
                        port["hostPort"] = port["containerPort"].clone();
                    }
                }
            }
        }
    }
    for volume in items(spec, "volumes") {
        fill_volume(volume);
    }
}

/// Fills in a pod template, which Go always has a spec for.
pub(super) fn fill_template(template: &mut Value) {
    fill(template, "spec", json!({}));
    if let Some(spec) = at_mut(template, "spec") {
        fill_pod_spec(spec);
    }
}

/// What only pods get, not templates: requests follow limits, service links are on.
pub(super) fn fill_pod(pod: &mut Value) {
    fill(pod, "spec", json!({}));
    let Some(spec) = at_mut(pod, "spec") else {
        return;
    };
    fill_pod_spec(spec);
    fill(spec, "enableServiceLinks", true);
    for list in ["initContainers", "containers"] {
        for container in items(spec, list) {
            follow_limits(container);
        }
    }
}

/// A limit without a request is also the request.
pub(super) fn follow_limits(container: &mut Value) {
    let limits = at(container, "resources.limits").as_object().cloned();
    for (name, limit) in limits.into_iter().flatten() {
        fill(&mut container["resources"], "requests", json!({}));
        fill(&mut container["resources"]["requests"], &name, limit);
    }
}

fn fill_container(container: &mut Value) {
    if !container.is_object() {
        return;
    }
    let policy = pull_policy(text(container, "image"));
    fill(container, "imagePullPolicy", policy);
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    fill(container, "resources", json!({}));
    for port in items(container, "ports") {
        fill(port, "protocol", "TCP");
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = at_mut(container, probe) {
            fill_probe(probe);
        }
    }
    for hook in ["lifecycle.postStart.httpGet", "lifecycle.preStop.httpGet"] {
        if let Some(get) = at_mut(container, hook) {
            fill_http_get(get);
        }
    }
    for env in items(container, "env") {
        if let Some(field) = at_mut(env, "valueFrom.fieldRef") {
            fill(field, "apiVersion", "v1");
        }
    }
}

/// `Always` for images without a tag or with `latest`, since those change.
fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or_default();
    let is_latest = match (name.contains('@'), name.split_once(':')) {
        (true, _) => false,
        (false, Some((_, tag))) => tag == "latest",
        (false, None) => true,
    };
    if is_latest { "Always" } else { "IfNotPresent" }
}

fn fill_probe(probe: &mut Value) {
    let zero = |probe: &Value, key: &str| probe[key].as_i64().unwrap_or(0) == 0;
    let numbers = [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ];
    for (key, value) in numbers {
        if probe.is_object() && zero(probe, key) {
            probe[key] = value.into();
        }
    }
    if let Some(get) = at_mut(probe, "httpGet") {
        fill_http_get(get);
    }
    if let Some(grpc) = at_mut(probe, "grpc")
        && grpc.get("service").is_none_or(Value::is_null)
    {
        grpc["service"] = "".into();
    }
}

fn fill_http_get(get: &mut Value) {
    fill(get, "path", "/");
    fill(get, "scheme", "HTTP");
}

fn fill_volume(volume: &mut Value) {
    let Value::Object(map) = &mut *volume else {
        return;
    };
    if !map
        .iter()
        .any(|(key, value)| key != "name" && !is_unset(Some(value)))
    {
        map.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = at_mut(volume, source) {
            fill(source, "defaultMode", FILE_MODE);
        }
    }
    if let Some(host) = at_mut(volume, "hostPath")
        && host.get("type").is_none_or(Value::is_null)
    {
        host["type"] = "".into();
    }
    let field_versions = |holder: &mut Value| {
        for item in items(holder, "items") {
            if let Some(field) = at_mut(item, "fieldRef") {
                fill(field, "apiVersion", "v1");
            }
        }
    };
    if let Some(downward) = at_mut(volume, "downwardAPI") {
        field_versions(downward);
    }
    if let Some(projected) = at_mut(volume, "projected") {
        for source in items(projected, "sources") {
            if let Some(token) = at_mut(source, "serviceAccountToken") {
                fill(token, "expirationSeconds", 3600);
            }
            if let Some(downward) = at_mut(source, "downwardAPI") {
                field_versions(downward);
            }
        }
    }
    if let Some(claim) = at_mut(volume, "ephemeral.volumeClaimTemplate.spec") {
        fill(claim, "volumeMode", "Filesystem");
    }
}
