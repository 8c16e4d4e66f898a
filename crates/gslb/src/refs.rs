//! What a referenced object says: hosts, the Services behind them, and where its addresses are found.
//!
//! One function per kind turns the object's JSON into a [`Referent`], so the rest of the crate knows one shape and an
//! object of a kind we cannot decode fully costs only what is missing. Objects are read as JSON on purpose: several of
//! the kinds come from definitions a cluster may not have.
//!
//! Source: k8gb v0.21 `controllers/refresolver`; research §3.4.

mod gateway;
mod istio;

use std::collections::{BTreeMap, BTreeSet};

use flotilla_api::gslb::{NamespacedName, ResourceRef, Server};
use serde_json::Value;

use crate::{
    expose::Address,
    key::Key,
    kinds::Kind,
    problem::{self, Problem},
};

pub use self::{
    gateway::{gateway_addresses, gateway_down},
    istio::gateway_selector,
};

/// Annotation of a Gslb that names the host for kinds that have none.
pub const HOSTNAME: &str = "k8gb.io/hostname";

/// Where the addresses of a referenced object are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    /// In its own status.
    Status(Vec<Address>),
    /// In the status of a Gateway.
    Gateway(Key),
    /// In the status of the Service an Istio Gateway selects.
    IstioGateway(Key),
    /// Nowhere; a problem says why.
    Nowhere,
}

/// What a referenced object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referent {
    /// Labels, for references by label.
    pub labels: BTreeMap<String, String>,
    /// Hosts and the Services behind them, in the object's order.
    pub servers: Vec<Server>,
    /// Services of a kind without hosts; the Gslb's annotation names the host.
    pub hostless: Vec<NamespacedName>,
    /// Where the addresses are found.
    pub via: Via,
    /// What could not be understood.
    pub problems: Vec<Problem>,
}

impl Referent {
    /// The servers, with the host of the Gslb's annotation where the kind has none.
    ///
    /// # Errors
    /// When the kind needs the annotation and it is not there.
    pub fn servers(&self, hostname: Option<&String>) -> Result<Vec<Server>, Problem> {
        if self.hostless.is_empty() {
            return Ok(self.servers.clone());
        }
        match hostname.filter(|host| !host.is_empty()) {
            Some(host) => Ok(vec![Server {
                host: host.clone(),
                services: self.hostless.clone(),
            }]),
            None => Err(Problem::new(
                problem::Kind::InvalidSpec,
                format!("metadata.annotations[{HOSTNAME}]"),
                "the referenced kind has no host; name it in this annotation of the Gslb",
            )),
        }
    }
}

/// Reads an object of a referable kind.
pub fn referent(kind: Kind, object: &Value) -> Referent {
    let namespace = text(&object["metadata"]["namespace"]);
    let mut referent = match kind {
        Kind::Ingress => ingress(object, namespace),
        Kind::Service => service(object, namespace),
        Kind::VirtualService => istio::virtual_service(object, namespace),
        _ => gateway::route(kind, object, namespace),
    };
    referent.labels = string_map(&object["metadata"]["labels"]);
    referent
}

/// Whether labels meet a reference's conditions. A reference without conditions meets nothing.
pub fn matches(reference: &ResourceRef, labels: &BTreeMap<String, String>) -> bool {
    let by_labels = reference
        .match_labels
        .iter()
        .all(|(k, v)| labels.get(k) == Some(v));
    let by_expressions = reference.match_expressions.iter().all(|requirement| {
        let value = labels.get(&requirement.key);
        let listed = value.is_some_and(|v| requirement.values.contains(v));
        match requirement.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    });
    let any = !reference.match_labels.is_empty() || !reference.match_expressions.is_empty();
    any && by_labels && by_expressions
}

fn ingress(object: &Value, namespace: &str) -> Referent {
    let mut problems = Vec::new();
    let mut servers: Vec<Server> = Vec::new();
    for (index, rule) in items(&object["spec"]["rules"]).iter().enumerate() {
        let host = text(&rule["host"]);
        let field = format!("spec.rules[{index}]");
        if host.is_empty() {
            let message = "a rule without host cannot be balanced by name; it is skipped";
            problems.push(invalid(format!("{field}.host"), message));
            continue;
        }
        let mut services = BTreeSet::new();
        for path in items(&rule["http"]["paths"]) {
            let name = text(&path["backend"]["service"]["name"]);
            if name.is_empty() {
                let message = "a backend that is no Service has no known health; it is skipped";
                problems.push(invalid(format!("{field}.http.paths"), message));
            } else {
                services.insert(reference(name, namespace));
            }
        }
        merge(&mut servers, host, services);
    }
    Referent {
        labels: BTreeMap::new(),
        servers,
        hostless: Vec::new(),
        via: Via::Status(load_balancer(&object["status"])),
        problems,
    }
}

fn service(object: &Value, namespace: &str) -> Referent {
    let mut problems = Vec::new();
    let kind = text(&object["spec"]["type"]);
    let via = if kind == "LoadBalancer" {
        Via::Status(load_balancer(&object["status"]))
    } else {
        let kind = if kind.is_empty() { "ClusterIP" } else { kind };
        let message = format!("a Service of type {kind} has no outside address; use LoadBalancer");
        problems.push(invalid("spec.type", message));
        Via::Nowhere
    };
    Referent {
        labels: BTreeMap::new(),
        servers: Vec::new(),
        hostless: vec![reference(text(&object["metadata"]["name"]), namespace)],
        via,
        problems,
    }
}

/// The entries of a `status.loadBalancer`.
pub fn load_balancer(status: &Value) -> Vec<Address> {
    let entries = items(&status["loadBalancer"]["ingress"]);
    let mut addresses = BTreeSet::new();
    for entry in entries {
        if let Ok(ip) = text(&entry["ip"]).parse() {
            addresses.insert(Address::Ip(ip));
        }
        if !text(&entry["hostname"]).is_empty() {
            addresses.insert(Address::Hostname(text(&entry["hostname"]).to_owned()));
        }
    }
    addresses.into_iter().collect()
}

/// Adds Services to the server of a host, keeping the order in which hosts came.
fn merge(servers: &mut Vec<Server>, host: &str, services: BTreeSet<NamespacedName>) {
    if let Some(server) = servers.iter_mut().find(|server| server.host == host) {
        let all: BTreeSet<_> = server.services.drain(..).chain(services).collect();
        server.services = all.into_iter().collect();
    } else {
        let services = services.into_iter().collect();
        servers.push(Server {
            host: host.to_owned(),
            services,
        });
    }
}

fn invalid(field: impl Into<String>, message: impl Into<String>) -> Problem {
    Problem::new(problem::Kind::InvalidReference, field, message)
}

fn reference(name: &str, namespace: &str) -> NamespacedName {
    NamespacedName {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A map of strings; entries of other types are left out.
pub fn string_map(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests;
