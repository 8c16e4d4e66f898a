//! What was acknowledged survives kill -9, and what a kill interrupted is finished by the next start.
//!
//! Writers keep a log of what the server acknowledged, as clients do; a write without an answer may have happened or not.
//! `KILLS=100` kills more often than the default.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flotilla_testkit::{Flotilla, eventually};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use serde_json::{from_value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::binary;

/// Writers at a time.
const WRITERS: usize = 4;
/// For what controllers still have to do after a start.
const LIMIT: Duration = Duration::from_secs(60);

/// What the server has acknowledged.
#[derive(Debug, Default)]
struct Acknowledged {
    /// Uid and resourceVersion of each object made.
    made: BTreeMap<String, (String, String)>,
    deleted: BTreeSet<String>,
    /// What each writer wrote to its counter last.
    counters: BTreeMap<usize, u64>,
    service_ips: BTreeMap<String, String>,
    /// Objects whose owner's deletion was acknowledged.
    orphans: BTreeSet<String>,
    /// Namespaces whose deletion was.
    ended: BTreeSet<String>,
    newest_version: u64,
}

type Log = Arc<Mutex<Acknowledged>>;

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "how often to kill is said outside, and a kill comes at some time"
)]
fn what_was_acknowledged_survives_every_kill() {
    let kills: u64 = std::env::var("KILLS").map_or(6, |kills| kills.parse().expect("a number"));
    let folder = TempDir::new().expect("folder");
    let runtime = Runtime::new().expect("runtime");
    let log = Log::default();
    for round in 0..kills {
        let flotilla = Flotilla::up_in(binary(), folder.path(), &[]);
        let client = runtime.block_on(connect(&flotilla.kubeconfig()));
        runtime.block_on(check(&client, &log));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| runtime.spawn(write(client.clone(), round, writer, log.clone())))
            .collect();
        std::thread::sleep(Duration::from_millis(200 + 137 * round % 900));
        flotilla.kill();
        for writer in writers {
            runtime
                .block_on(writer)
                .expect("a writer fails by its log only");
        }
    }
    let flotilla = Flotilla::up_in(binary(), folder.path(), &[]);
    let client = runtime.block_on(connect(&flotilla.kubeconfig()));
    runtime.block_on(check(&client, &log));
    settled(&runtime, &client, &log);
    let log = log.lock().expect("no writer panicked");
    let n_written = log.made.len() + log.service_ips.len();
    assert!(
        n_written as u64 > kills,
        "{n_written} objects are too few to say anything"
    );
}

async fn connect(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("config")).expect("client")
}

/// Writes until the server is gone.
async fn write(client: Client, round: u64, writer: usize, log: Log) {
    let mut n = 0;
    while one_of_each(&client, &format!("{round}-{writer}-{n}"), writer, &log)
        .await
        .is_ok()
    {
        n += 1;
    }
}

/// One write of each kind; every acknowledgement is logged at once.
async fn one_of_each(client: &Client, id: &str, writer: usize, log: &Log) -> kube::Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let services: Api<Service> = Api::default_namespaced(client.clone());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let (create, delete) = (PostParams::default(), DeleteParams::default());
    let note = |note: &dyn Fn(&mut Acknowledged)| note(&mut log.lock().expect("no panic"));

    let kept = maps
        .create(&create, &config_map(&format!("kept-{id}"), None))
        .await?;
    note(&|log| log.made(&kept));
    let gone = maps
        .create(&create, &config_map(&format!("gone-{id}"), None))
        .await?;
    maps.delete(&gone.name_any(), &delete).await?;
    note(&|log| assert!(log.deleted.insert(gone.name_any())));

    let count = log
        .lock()
        .expect("no panic")
        .counters
        .get(&writer)
        .map_or(1, |count| count + 1);
    let counter =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"count": count.to_string()}});
    let apply = PatchParams::apply("durability");
    maps.patch(
        &format!("counter-{writer}"),
        &apply,
        &Patch::Apply(&counter),
    )
    .await?;
    note(&|log| log.counter(writer, count));

    let service: Service = from_value(json!({
        "metadata": {"name": format!("s-{id}")},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "nobody"}}
    }))
    .expect("a service");
    let service = services.create(&create, &service).await?;
    note(&|log| log.service(&service));

    let owner = maps
        .create(&create, &config_map(&format!("owner-{id}"), None))
        .await?;
    let owned = config_map(&format!("owned-{id}"), Some(&owner));
    let owned = maps.create(&create, &owned).await?;
    maps.delete(&owner.name_any(), &delete).await?;
    note(&|log| assert!(log.orphans.insert(owned.name_any())));

    let name = format!("n-{id}");
    let namespace = json!({"metadata": {"name": name}});
    namespaces
        .create(&create, &from_value(namespace).expect("a namespace"))
        .await?;
    let inside: Api<ConfigMap> = Api::namespaced(client.clone(), &name);
    inside.create(&create, &config_map("inside", None)).await?;
    namespaces.delete(&name, &delete).await?;
    note(&|log| assert!(log.ended.insert(name.clone())));
    Ok(())
}

fn config_map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.owner_references = owner.map(|owner| {
        vec![OwnerReference {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: owner.name_any(),
            uid: owner.uid().expect("the server gave one"),
            ..OwnerReference::default()
        }]
    });
    object
}

fn address(service: &Service) -> Option<String> {
    service.spec.as_ref()?.cluster_ip.clone()
}

impl Acknowledged {
    fn counter(&mut self, writer: usize, count: u64) {
        self.counters.insert(writer, count);
    }

    fn service(&mut self, object: &Service) {
        let ip = address(object).expect("the server gave one");
        self.service_ips.insert(object.name_any(), ip);
    }

    fn made(&mut self, object: &ConfigMap) {
        let version = object.resource_version().expect("the server gave one");
        self.newest_version = self.newest_version.max(version.parse().expect("a number"));
        let uid = object.uid().expect("the server gave one");
        self.made.insert(object.name_any(), (uid, version));
    }
}

/// What must hold at once after a start.
async fn check(client: &Client, log: &Log) {
    let all = ListParams::default();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let list = maps.list(&all).await.expect("list");
    let log = log.lock().expect("no writer panicked");
    let version: u64 = list
        .metadata
        .resource_version
        .expect("a list has one")
        .parse()
        .expect("a number");
    assert!(
        version >= log.newest_version,
        "time went back from {} to {version}",
        log.newest_version
    );
    let maps: BTreeMap<String, &ConfigMap> =
        list.items.iter().map(|map| (map.name_any(), map)).collect();
    for (name, acknowledged) in &log.made {
        let found = maps.get(name).map(|map| {
            (
                map.uid().unwrap_or_default(),
                map.resource_version().unwrap_or_default(),
            )
        });
        assert_eq!(found.as_ref(), Some(acknowledged), "{name}");
    }
    for name in &log.deleted {
        assert!(!maps.contains_key(name), "{name} is back");
    }
    for (writer, count) in &log.counters {
        let found = &maps[&format!("counter-{writer}")]
            .data
            .as_ref()
            .expect("data")["count"];
        let found: u64 = found.parse().expect("a number");
        // The write after the last acknowledged one may have happened.
        assert!(
            [*count, count + 1].contains(&found),
            "counter {writer}: {count} acknowledged, {found} found"
        );
    }
}

/// What controllers have to bring about in the end.
fn settled(runtime: &Runtime, client: &Client, log: &Log) {
    let all = ListParams::default();
    let log = log.lock().expect("no writer panicked");
    let names = |names: Vec<String>| names.into_iter().collect::<BTreeSet<_>>();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    eventually("the owners' objects are gone", LIMIT, &0, || {
        let list = runtime.block_on(maps.list_metadata(&all)).expect("list");
        let found = names(list.items.iter().map(ResourceExt::name_any).collect());
        found.intersection(&log.orphans).count()
    });
    let namespaces: Api<Namespace> = Api::all(client.clone());
    eventually("deleted namespaces are gone", LIMIT, &0, || {
        let list = runtime
            .block_on(namespaces.list_metadata(&all))
            .expect("list");
        let found = names(list.items.iter().map(ResourceExt::name_any).collect());
        found.intersection(&log.ended).count()
    });
    let services: Api<Service> = Api::default_namespaced(client.clone());
    let services = runtime.block_on(services.list(&all)).expect("list").items;
    let ips: BTreeMap<String, String> = services
        .iter()
        .filter_map(|service| Some((service.name_any(), address(service)?)))
        .collect();
    for (name, ip) in &log.service_ips {
        assert_eq!(ips.get(name), Some(ip), "{name} keeps its address");
    }
    assert_eq!(
        names(ips.values().cloned().collect()).len(),
        ips.len(),
        "an address belongs to one"
    );
    let accounts: Api<ServiceAccount> = Api::all(client.clone());
    let left = runtime
        .block_on(namespaces.list_metadata(&all))
        .expect("list")
        .items
        .len();
    eventually("every namespace has its account", LIMIT, &left, || {
        let accounts = runtime
            .block_on(accounts.list_metadata(&all))
            .expect("list")
            .items;
        accounts
            .iter()
            .filter(|account| account.name_any() == "default")
            .count()
    });
}
