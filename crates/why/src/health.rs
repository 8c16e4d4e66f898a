//! What keeps an object from doing its work: definitions that are not established, services that
//! lead nowhere.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::facts::{Facts, list, place, text};

/// Pods named in a finding; the rest is counted.
const NAMED_MAX: usize = 3;

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// A word for programs.
    pub reason: String,
    /// What is wrong, and what would help.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.message)
    }
}

/// What is wrong with an object of a kind we know the needs of.
pub(crate) fn findings(facts: &Facts) -> Vec<Finding> {
    match (facts.group.as_str(), facts.plural.as_str()) {
        ("apiextensions.k8s.io", "customresourcedefinitions") => definition(&facts.object),
        ("", "services") => service(facts),
        _ => Vec::new(),
    }
}

fn finding(reason: &str, message: impl Into<String>) -> Finding {
    Finding {
        reason: reason.to_owned(),
        message: message.into(),
    }
}

/// Conditions of a definition that are not as they should be.
fn definition(object: &Value) -> Vec<Finding> {
    const WANTED: [(&str, &str); 5] = [
        ("NamesAccepted", "True"),
        ("Established", "True"),
        ("NonStructuralSchema", "False"),
        ("KubernetesAPIApprovalPolicyConformant", "True"),
        ("Terminating", "False"),
    ];
    let conditions = list(object, "/status/conditions");
    let mut out = Vec::new();
    for (ty, wanted) in WANTED {
        match conditions.iter().find(|c| c["type"] == ty) {
            Some(c) if c["status"] != wanted => {
                let (reason, message) = (text(c, "/reason"), text(c, "/message"));
                let status = text(c, "/status");
                out.push(finding(reason, format!("{ty} is {status}: {message}")));
            }
            None if ty == "Established" => {
                out.push(finding(
                    "NotEstablished",
                    "no controller has looked at it yet",
                ));
            }
            _ => {}
        }
    }
    let stored = list(object, "/status/storedVersions").iter();
    let versions = list(object, "/spec/versions");
    for name in stored.filter_map(Value::as_str) {
        let version = versions.iter().find(|v| v["name"] == name);
        if version.is_some_and(|v| v["storage"] != true) {
            out.push(finding(
                "OldStorageVersion",
                format!(
                    "objects may still be stored as {name}; write each of them once, then take it \
                     out of status.storedVersions"
                ),
            ));
        }
    }
    out
}

/// Why a service has no endpoint that answers.
fn service(facts: &Facts) -> Vec<Finding> {
    let service = &facts.object;
    if text(service, "/spec/type") == "ExternalName" {
        return Vec::new();
    }
    let endpoints = facts.slices.iter().flat_map(|s| list(s, "/endpoints"));
    let (ready, waiting): (Vec<&Value>, Vec<&Value>) =
        endpoints.partition(|e| e["conditions"]["ready"] != false);
    let mut out = Vec::new();
    if !ready.is_empty() {
        out.extend(ports(facts));
        return out;
    }
    let selector = service["spec"]["selector"].as_object();
    let Some(selector) = selector.filter(|s| !s.is_empty()) else {
        out.push(finding(
            "NoSelector",
            "it has no selector, so somebody has to write its EndpointSlices, and nobody has",
        ));
        return out;
    };
    let pairs = selector
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")));
    let selector = pairs.collect::<Vec<_>>().join(",");
    if facts.pods.is_empty() {
        let message = format!("no pod of the namespace has the labels {selector}");
        out.push(finding("NoPods", message));
        return out;
    }
    let unready = facts.pods.iter().take(NAMED_MAX).map(unready);
    let mut message = format!(
        "{} pods have the labels {selector}, none of them is ready: {}",
        facts.pods.len(),
        unready.collect::<Vec<_>>().join("; ")
    );
    if facts.pods.len() > NAMED_MAX {
        message.push_str("; …");
    }
    out.push(finding("NoReadyPods", message));
    if waiting.is_empty() && facts.slices.is_empty() {
        out.push(finding(
            "NoEndpointSlices",
            "no EndpointSlice exists; is the endpoint controller running?",
        ));
    }
    out.extend(ports(facts));
    out
}

/// Named target ports that no selected pod has.
fn ports(facts: &Facts) -> Vec<Finding> {
    let containers = || facts.pods.iter().flat_map(|p| list(p, "/spec/containers"));
    let has = |name: &str| {
        let mut ports = containers().flat_map(|c| list(c, "/ports"));
        ports.any(|p| p["name"] == name)
    };
    let ports = list(&facts.object, "/spec/ports").iter();
    let named = ports.filter_map(|p| p["targetPort"].as_str());
    named
        .filter(|name| !facts.pods.is_empty() && !has(name))
        .map(|name| {
            let message = format!("no container of the selected pods has a port named {name:?}");
            finding("NoSuchPort", message)
        })
        .collect()
}

/// Why a pod is not ready.
fn unready(pod: &Value) -> String {
    let name = place(pod);
    let statuses = list(pod, "/status/containerStatuses").iter();
    let waiting = statuses.filter_map(|s| {
        let reason = text(s, "/state/waiting/reason");
        (!reason.is_empty()).then(|| format!("{} {reason}", text(s, "/name")))
    });
    let waiting: Vec<String> = waiting.collect();
    if !waiting.is_empty() {
        return format!("{name} ({})", waiting.join(", "));
    }
    let conditions = list(pod, "/status/conditions").iter();
    let mut failing = conditions.filter(|c| c["status"] == "False");
    match failing.next() {
        Some(c) if !text(c, "/message").is_empty() => format!("{name} ({})", text(c, "/message")),
        Some(c) => format!("{name} ({} is False)", text(c, "/type")),
        None => format!("{name} ({})", text(pod, "/status/phase")),
    }
}
