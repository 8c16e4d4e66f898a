//! IPAddress objects: one for each cluster address of a service, named after it.
//!
//! The services themselves say which addresses are taken (see `strategy/addresses.rs`); these objects
//! show it to people and to clients that look addresses up. They follow the services in the order of
//! their changes, so their cost grows with change and not with the number of services.
//!
//! Source: Kubernetes v1.35, `pkg/registry/core/service/ipallocator/ipallocator.go`; KEP-1880.

use std::collections::BTreeSet;
use std::net::IpAddr;

use flotilla_machinery::status::Status;
use http::{Method, Request};
use serde_json::{Value, json};

use crate::{
    errand,
    service::Service,
    store::{Object, ObjectKey, ResourceKey, State},
};

/// Where addresses live.
const PATH: &str = "/apis/networking.k8s.io/v1/ipaddresses";
/// Says that an address is kept by this task.
const MANAGED_BY: &str = "ipaddress.kubernetes.io/managed-by";
/// Name of this task there.
const ALLOCATOR: &str = "ipallocator.k8s.io";

/// Runs until the server stops.
pub(crate) async fn run(service: Service) {
    let engine = service.engine().clone();
    let mut changes = engine.store.subscribe(&services());
    let mut cursor = 0;
    loop {
        let state = engine.store.state();
        let followed = match cursor >= state.compacted(&services()) && cursor > 0 {
            true => follow(&service, &state, cursor).await,
            false => sweep(&service, &state).await,
        };
        match followed {
            Ok(()) => cursor = state.rev,
            Err(error) => {
                // The store is closing, or an object changed in between; the next look decides.
                tracing::debug!(%error, "Addresses of services wait");
                cursor = 0;
            }
        }
        tokio::select! {
            () = engine.stop.cancelled() => return,
            rev = changes.changed() => if rev.is_none() { return },
        }
    }
}

fn services() -> ResourceKey {
    ResourceKey::new("", "services")
}

fn addresses() -> ResourceKey {
    ResourceKey::new("networking.k8s.io", "ipaddresses")
}

/// Makes everything as it should be: at the start, and when too much was missed.
async fn sweep(service: &Service, state: &State) -> Result<(), Status> {
    let mut wanted = BTreeSet::new();
    let stored = state.collection(&services());
    for object in stored.into_iter().flat_map(|c| c.list(None, None)) {
        for address in addresses_of(object) {
            ensure(service, state, address, &object.key).await?;
            wanted.insert(address.to_string());
        }
    }
    let existing = state.collection(&addresses());
    for object in existing.into_iter().flat_map(|c| c.list(None, None)) {
        let ours = object.meta.labels.get(MANAGED_BY) == Some(ALLOCATOR);
        if ours && !wanted.contains(&*object.key.name) {
            send(service, Method::DELETE, &object.key.name, &Value::Null).await?;
        }
    }
    Ok(())
}

/// Does what the changes after `cursor` ask for.
async fn follow(service: &Service, state: &State, cursor: u64) -> Result<(), Status> {
    let collection = state.collection(&services());
    for event in collection.into_iter().flat_map(|c| c.events_after(cursor)) {
        let key = &event.object.key;
        let live = state.get(&services(), key);
        let now: Vec<IpAddr> = live.map(|o| addresses_of(o)).unwrap_or_default();
        let before = event.previous.as_ref().unwrap_or(&event.object);
        for address in addresses_of(before)
            .into_iter()
            .filter(|a| !now.contains(a))
        {
            let name = ObjectKey::new("", &address.to_string());
            let object = state.get(&addresses(), &name);
            if object.is_some_and(|object| belongs_to(object, key)) {
                send(service, Method::DELETE, &name.name, &Value::Null).await?;
            }
        }
        for address in now {
            ensure(service, state, address, key).await?;
        }
    }
    Ok(())
}

/// Cluster addresses of a stored service.
fn addresses_of(object: &Object) -> Vec<IpAddr> {
    let service: Value = serde_json::from_slice(&object.body).unwrap_or_default();
    let list = service["spec"]["clusterIPs"]
        .as_array()
        .into_iter()
        .flatten();
    list.filter_map(|ip| ip.as_str()?.parse().ok()).collect()
}

fn belongs_to(object: &Object, service: &ObjectKey) -> bool {
    let object: Value = serde_json::from_slice(&object.body).unwrap_or_default();
    object["spec"]["parentRef"] == parent(service)
}

fn parent(service: &ObjectKey) -> Value {
    // The core group is not written, as everywhere.
    json!({"resource": "services", "namespace": *service.namespace, "name": *service.name})
}

/// Makes the object of an address unless it is there; one of another service is replaced.
async fn ensure(
    service: &Service,
    state: &State,
    address: IpAddr,
    owner: &ObjectKey,
) -> Result<(), Status> {
    let name = address.to_string();
    match state.get(&addresses(), &ObjectKey::new("", &name)) {
        Some(object) if belongs_to(object, owner) => return Ok(()),
        Some(_) => send(service, Method::DELETE, &name, &Value::Null).await?,
        None => {}
    }
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let object = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": name, "labels": {
            "ipaddress.kubernetes.io/ip-family": family, MANAGED_BY: ALLOCATOR}},
        "spec": {"parentRef": parent(owner)},
    });
    send(service, Method::POST, "", &object).await
}

async fn send(service: &Service, method: Method, name: &str, body: &Value) -> Result<(), Status> {
    let path = match name {
        "" => PATH.to_owned(),
        name => format!("{PATH}/{name}"),
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, "application/json");
    match errand::send(service, errand::SERVER, request, body).await {
        // Made or removed by somebody else already is as good.
        Err(status) if matches!(status.code, 404 | 409) => Ok(()),
        result => result,
    }
}
