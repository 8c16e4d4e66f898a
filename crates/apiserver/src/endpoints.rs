//! Where a webhook behind a service is reached.
//!
//! The server may run where nobody routes cluster addresses, so it goes to the endpoints
//! themselves: those that are ready, in the slices of the service.
//!
//! Source of the texts: Kubernetes v1.35, apiserver `pkg/util/proxy`.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

use crate::store::{Object, ObjectKey, ResourceKey, State};

/// A port of a service, as a webhook configuration names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRef {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Port of the service; 443 when the configuration does not say.
    pub port: u16,
}

/// What to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// An endpoint.
    Address(SocketAddr),
    /// The name behind a service of type ExternalName, to be looked up.
    Host(String, u16),
}

/// The destinations behind a service, in the order of its slices; at least one.
///
/// # Errors
/// Which part of the way is missing, in upstream's words.
pub fn resolve(state: &State, service: &ServiceRef) -> Result<Vec<Destination>, String> {
    let name = &service.name;
    let key = ObjectKey::new(&service.namespace, name);
    let object = state
        .get(&ResourceKey::new("", "services"), &key)
        .ok_or_else(|| format!("service {name:?} not found"))?;
    let object = parse(object);
    let ports = object["spec"]["ports"].as_array();
    let port = ports
        .into_iter()
        .flatten()
        .find(|p| p["port"].as_u64() == Some(service.port.into()))
        .ok_or_else(|| {
            format!(
                "no service port {} found for service {name:?}",
                service.port
            )
        })?;
    if object["spec"]["type"] == "ExternalName" {
        let host = object["spec"]["externalName"].as_str().unwrap_or("");
        return Ok(vec![Destination::Host(host.to_owned(), service.port)]);
    }
    let slices = state.collection(&ResourceKey::new("discovery.k8s.io", "endpointslices"));
    let slices = slices
        .into_iter()
        .flat_map(|slices| slices.list(Some(&service.namespace), None))
        .filter(|slice| slice.meta.labels.get("kubernetes.io/service-name") == Some(name));
    let port_name = port["name"].as_str().unwrap_or("");
    let found: Vec<Destination> = slices
        .flat_map(|slice| ready(&parse(slice), port_name))
        .map(Destination::Address)
        .collect();
    if found.is_empty() {
        return Err(format!("no endpoints available for service {name:?}"));
    }
    Ok(found)
}

/// The ready endpoints of a slice at the port of this name.
fn ready(slice: &Value, port_name: &str) -> Vec<SocketAddr> {
    let list = |name: &str| slice[name].as_array().into_iter().flatten();
    let port = list("ports")
        .find(|p| p["name"].as_str().unwrap_or("") == port_name)
        .and_then(|p| p["port"].as_u64()?.try_into().ok());
    let Some(port) = port else { return Vec::new() };
    list("endpoints")
        .filter(|e| e["conditions"]["ready"] != false)
        .filter_map(|e| e["addresses"][0].as_str()?.parse::<IpAddr>().ok())
        .map(|ip| SocketAddr::new(ip, port))
        .collect()
}

fn parse(object: &Object) -> Value {
    serde_json::from_slice(&object.body).unwrap_or_default()
}
