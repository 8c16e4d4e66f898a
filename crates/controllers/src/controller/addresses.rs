//! Gives Services of type LoadBalancer and Ingresses their addresses.

use std::{net::IpAddr, time::Duration};

use flotilla_operator::{Backoff, Outcome, Queue, QueueMetrics, Tasks};
use ipnet::IpNet;
use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
use kube::{Api, Client, runtime::watcher};
use serde_json::{Value, json};

use super::{Error, Shared, follow, patch_status};
use crate::{
    Key, Mirror,
    addresses::{Owner, Pool},
};

const WORKERS: usize = 2;

/// A reconcile that comes before the first lists are complete waits this long.
const NOT_YET: Duration = Duration::from_millis(50);

/// When the pool is empty, how long until it is looked at again.
const EMPTY: Duration = Duration::from_secs(10);

struct World {
    services: Mirror<Service>,
    ingresses: Mirror<Ingress>,
    pool: Pool,
    each: usize,
    claimed: bool,
}

pub(super) fn spawn(
    tasks: &mut Tasks,
    client: Client,
    networks: Vec<IpNet>,
    each: usize,
    metrics: QueueMetrics,
) {
    let world = Shared::new(World {
        services: Mirror::new(),
        ingresses: Mirror::new(),
        pool: Pool::new(networks, each),
        each,
        claimed: false,
    });
    let queue = Queue::new(Backoff::default());
    macro_rules! watch {
        ($field:ident, $owner:path) => {{
            let (world, queue, api) = (world.clone(), queue.clone(), Api::all(client.clone()));
            tasks.spawn(concat!("addresses: ", stringify!($field)), async move {
                let on = move |event| {
                    let changes = world.lock().$field.apply(event);
                    changes
                        .into_iter()
                        .for_each(|change| queue.add($owner(change.key)));
                };
                follow(api, watcher::Config::default(), on).await;
            });
        }};
    }
    watch!(services, Owner::Service);
    watch!(ingresses, Owner::Ingress);
    tasks.spawn("addresses", async move {
        let reconcile = move |owner| reconcile(client.clone(), world.clone(), owner);
        flotilla_operator::run("addresses", queue, WORKERS, metrics, reconcile).await;
    });
}

/// What an owner has and may have.
struct Wants {
    /// The addresses in its status.
    has: Vec<IpAddr>,
    /// What it asks for.
    wished: Option<IpAddr>,
    /// Whether it gets any.
    entitled: bool,
}

async fn reconcile(client: Client, world: Shared<World>, owner: Owner) -> Result<Outcome, Error> {
    let (has, gets, each) = {
        let mut world = world.lock();
        if !world.services.is_complete() || !world.ingresses.is_complete() {
            return Ok(Outcome::Again(NOT_YET));
        }
        world.claim_once();
        let Some(wants) = world.wants(&owner) else {
            world.pool.release(&owner);
            return Ok(Outcome::Wait);
        };
        let gets = if wants.entitled {
            world.pool.assign(&owner, wants.wished)
        } else {
            // Addresses that somebody else wrote into an object that is none of ours stay.
            if !world.pool.release(&owner) {
                return Ok(Outcome::Wait);
            }
            Vec::new()
        };
        let each = if wants.entitled { world.each } else { 0 };
        (wants.has, gets, each)
    };
    if has != gets {
        let status = status(&owner, &gets);
        match &owner {
            Owner::Service(key) => patch_status(&services(client, key), &key.name, status).await?,
            Owner::Ingress(key) => patch_status(&ingresses(client, key), &key.name, status).await?,
        }
    }
    if gets.len() < each {
        tracing::debug!(%owner, "The pool of addresses is empty");
        return Ok(Outcome::Again(EMPTY));
    }
    Ok(Outcome::Wait)
}

fn services(client: Client, key: &Key) -> Api<Service> {
    Api::namespaced(client, &key.namespace)
}

fn ingresses(client: Client, key: &Key) -> Api<Ingress> {
    Api::namespaced(client, &key.namespace)
}

fn status(owner: &Owner, addresses: &[IpAddr]) -> Value {
    let entries = addresses.iter().map(|address| match owner {
        Owner::Service(_) => json!({"ip": address, "ipMode": "VIP"}),
        Owner::Ingress(_) => json!({"ip": address}),
    });
    let entries: Vec<_> = entries.collect();
    let entries = if entries.is_empty() {
        Value::Null
    } else {
        entries.into()
    };
    json!({"status": {"loadBalancer": {"ingress": entries}}})
}

impl World {
    /// Notes all addresses that are in use, before the first new one is given out.
    fn claim_once(&mut self) {
        if std::mem::replace(&mut self.claimed, true) {
            return;
        }
        let services = self
            .services
            .iter()
            .map(|(key, _)| Owner::Service(key.clone()));
        let ingresses = self
            .ingresses
            .iter()
            .map(|(key, _)| Owner::Ingress(key.clone()));
        let owners: Vec<_> = services.chain(ingresses).collect();
        for owner in owners {
            if let Some(wants) = self.wants(&owner).filter(|wants| wants.entitled) {
                self.pool.claim(&owner, &wants.has);
            }
        }
    }

    fn wants(&self, owner: &Owner) -> Option<Wants> {
        let sorted = |addresses: &mut dyn Iterator<Item = &String>| {
            let mut addresses: Vec<_> = addresses
                .filter_map(|address| address.parse().ok())
                .collect();
            addresses.sort();
            addresses
        };
        match owner {
            Owner::Service(key) => {
                let service = self.services.get(key)?;
                let spec = service.spec.as_ref();
                let entries = service
                    .status
                    .as_ref()
                    .and_then(|status| status.load_balancer.as_ref());
                let entries = entries
                    .and_then(|balancer| balancer.ingress.as_ref())
                    .into_iter()
                    .flatten();
                let text = spec.and_then(|spec| spec.load_balancer_ip.as_deref());
                // A class names somebody else's load balancer.
                let foreign = spec.is_some_and(|spec| spec.load_balancer_class.is_some());
                let balanced = spec.and_then(|spec| spec.type_.as_deref()) == Some("LoadBalancer");
                Some(Wants {
                    has: sorted(&mut entries.filter_map(|entry| entry.ip.as_ref())),
                    wished: text.and_then(|text| text.parse().ok()),
                    entitled: balanced && !foreign,
                })
            }
            Owner::Ingress(key) => {
                let ingress = self.ingresses.get(key)?;
                let entries = ingress
                    .status
                    .as_ref()
                    .and_then(|status| status.load_balancer.as_ref());
                let entries = entries
                    .and_then(|balancer| balancer.ingress.as_ref())
                    .into_iter()
                    .flatten();
                Some(Wants {
                    has: sorted(&mut entries.filter_map(|entry| entry.ip.as_ref())),
                    wished: None,
                    entitled: true,
                })
            }
        }
    }
}
