//! A fleet of three with ten thousand hosts behind one Service, but for the hosts of one Gslb, which have one of their own.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use flotilla_testkit::Flotilla;
use futures::{StreamExt, TryStreamExt};
use kube::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::delay::address;
use crate::dns::{addresses, query};

pub(crate) const N_HOSTS: usize = 10_000;
/// Hosts of one Ingress and its Gslb.
pub(crate) const HOSTS_EACH: usize = 100;
/// The Service of the first Gslb's hosts.
const FIRST: &str = "first";
const N_OBJECTS: usize = N_HOSTS / HOSTS_EACH;
/// Longest wait for the fleet to come up and for any agreement.
const LIMIT: Duration = Duration::from_secs(120);
/// Questions under way at once while all hosts are looked at.
const IN_FLIGHT: usize = 64;
pub(crate) const TAGS: [&str; 3] = ["eu", "us", "za"];
/// Kinds that the controller writes, or could.
const KINDS: [(&str, &str, &str); 4] = [
    ("k8gb.io/v1beta1", "Gslb", "gslbs"),
    ("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "dnsendpoints"),
    ("networking.k8s.io/v1", "Ingress", "ingresses"),
    ("k8gb.io/v1beta1", "ZoneDelegation", "zonedelegations"),
];

/// The running fleet.
pub(crate) struct Many {
    pub(crate) flotilla: Flotilla,
    pub(crate) clients: Vec<Client>,
}

impl Many {
    /// Starts the fleet and waits until every server answers every host with the primary, eu.
    pub(crate) async fn up(binary: &Path, arguments: &[&str]) -> Result<Many> {
        let mut all = vec![
            "--log",
            "error",
            "--data-dir",
            ":memory:",
            "--fleet",
            "eu,us,za",
        ];
        all.extend(arguments);
        let flotilla = Flotilla::up(binary, &all);
        let mut clients = Vec::new();
        for tag in TAGS {
            let client = crate::api::client(&flotilla.kubeconfig(), Some(tag)).await?;
            fill(&client).await?;
            clients.push(client);
        }
        let many = Many { flotilla, clients };
        many.agreement(&[1, 2, 3], &[1])?;
        Ok(many)
    }

    /// Makes the endpoints of eu, behind all hosts, ready or not; returns when that is acknowledged.
    pub(crate) async fn set_ready(&self, ready: bool) -> Result<Instant> {
        self.set_first_ready(ready).await?;
        self.set_slice("app-1", ready).await
    }

    /// As [`Many::set_ready`] for the hosts of the first Gslb.
    pub(crate) async fn set_first_ready(&self, ready: bool) -> Result<Instant> {
        self.set_slice("first-1", ready).await
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    async fn set_slice(&self, name: &str, ready: bool) -> Result<Instant> {
        let slices = api(
            &self.clients[0],
            "discovery.k8s.io/v1",
            "EndpointSlice",
            "endpointslices",
        );
        let patch =
            json!({"endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": ready}}]});
        slices
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .context("flip the endpoint")?;
        Ok(Instant::now())
    }

    /// Waits until these servers answer every host with addresses of exactly these clusters.
    pub(crate) fn agreement(&self, servers: &[u8], expected: &[u8]) -> Result<()> {
        self.agreement_on(N_HOSTS, servers, expected)
    }

    /// As [`Many::agreement`] for the first hosts, so many.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    pub(crate) fn agreement_on(
        &self,
        n_hosts: usize,
        servers: &[u8],
        expected: &[u8],
    ) -> Result<()> {
        let start = Instant::now();
        for server in servers {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.connect((address(*server), self.flotilla.dns_port))?;
            socket.set_read_timeout(Some(Duration::from_millis(500)))?;
            let mut left: Vec<usize> = (0..n_hosts).rev().collect();
            while let Some(host) = left.last() {
                // One host tells when the change is here; then everyone is looked at.
                if !agreed(&socket, &[*host], expected)?.contains(host) {
                    ensure!(start.elapsed() < LIMIT, "no agreement within {LIMIT:?}");
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                }
                let mut still = Vec::new();
                for hosts in left.chunks(IN_FLIGHT) {
                    let done = agreed(&socket, hosts, expected)?;
                    still.extend(hosts.iter().filter(|host| !done.contains(host)));
                }
                left = still;
            }
        }
        Ok(())
    }

    /// Versions of all objects the controllers write, by cluster, kind and name.
    pub(crate) async fn versions(&self) -> Result<BTreeSet<String>> {
        let mut versions = BTreeSet::new();
        for (tag, client) in TAGS.iter().zip(&self.clients) {
            for (group, kind, plural) in KINDS {
                let objects = resource(group, kind, plural);
                let api: Api<DynamicObject> = Api::all_with(client.clone(), &objects);
                for object in api.list(&Default::default()).await?.items {
                    let version = object.resource_version().unwrap_or_default();
                    versions.insert(format!("{tag} {kind} {} {version}", object.name_any()));
                }
            }
        }
        Ok(versions)
    }
}

/// Which of these hosts are answered as expected; the question's id is the place in the list.
fn agreed(socket: &UdpSocket, hosts: &[usize], expected: &[u8]) -> Result<BTreeSet<usize>> {
    let mut questions = Vec::new();
    for (id, host) in hosts.iter().enumerate() {
        let mut question = query(&host_name(*host), 1);
        question[..2].copy_from_slice(&(id as u16).to_be_bytes());
        socket.send(&question)?;
        questions.push(question);
    }
    let mut done = BTreeSet::new();
    let mut buffer = [0; 1500];
    for _ in hosts {
        // What is lost is asked again with the next round.
        let Ok(octets) = socket.recv(&mut buffer) else {
            break;
        };
        let id = usize::from(u16::from_be_bytes([buffer[0], buffer[1]]));
        let Some(question) = questions.get(id) else {
            continue;
        };
        let found = addresses(question, &buffer[..octets]);
        let mut clusters: Vec<u8> = found.iter().map(|address| address[2]).collect();
        clusters.dedup();
        if clusters == expected {
            done.insert(hosts[id]);
        }
    }
    Ok(done)
}

fn host_name(number: usize) -> String {
    format!("host-{number:05}.cloud.example.com")
}

fn resource(group_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = group_version
        .rsplit_once('/')
        .unwrap_or(("", group_version));
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

pub(crate) fn api(client: &Client, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), "default", &resource(group, kind, plural))
}

/// Two Services with one endpoint each, and Ingresses and Gslbs with all hosts.
async fn fill(client: &Client) -> Result<()> {
    let mut objects = Vec::new();
    for service in [FIRST, "app"] {
        let name = format!("{service}-1");
        objects.extend([
            (
                "services",
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": service},
                "spec": {"ports": [{"name": "http", "port": 80}]}}),
            ),
            (
                "endpointslices",
                json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}},
                "addressType": "IPv4", "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
                "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": true}}]}),
            ),
        ]);
    }
    for number in 0..N_OBJECTS {
        let name = format!("app-{number:03}");
        let service = if number == 0 { FIRST } else { "app" };
        let rules: Vec<Value> = (number * HOSTS_EACH..(number + 1) * HOSTS_EACH)
            .map(|host| {
                json!({"host": host_name(host), "http": {"paths": [{"path": "/", "pathType": "Prefix",
                    "backend": {"service": {"name": service, "port": {"name": "http"}}}}]}})
            })
            .collect();
        let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": name}, "spec": {"rules": rules}});
        let gslb = json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "metadata": {"name": name},
            "spec": {"strategy": {"type": "failover", "primaryGeoTag": "eu", "dnsTtlSeconds": 5},
                "resourceRef": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": name}}});
        objects.extend([("ingresses", ingress), ("gslbs", gslb)]);
    }
    let creates = futures::stream::iter(objects).map(|(plural, object)| async move {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let api = api(client, &text("apiVersion"), &text("kind"), plural);
        let object: DynamicObject = serde_json::from_value(object)?;
        api.create(&PostParams::default(), &object).await?;
        anyhow::Ok(())
    });
    creates
        .buffer_unordered(16)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(())
}
