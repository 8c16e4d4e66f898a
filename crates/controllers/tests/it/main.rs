//! All controllers at work on an API server in this process.

#![expect(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

use std::{fmt::Debug, time::Duration};

use flotilla_apiserver::{ApiServer, Config as ServerConfig, Handle};
use flotilla_controllers::{Config, Metrics, run};
use k8s_openapi::api::{
    core::v1::{
        ConfigMap, Endpoints, Namespace, PersistentVolumeClaim, Pod, Secret, Service,
        ServiceAccount,
    },
    discovery::v1::EndpointSlice,
    events::v1::Event,
    networking::v1::Ingress,
    rbac::v1::ClusterRole,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
    runtime::wait::{Condition, await_condition},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A server with its controllers.
struct Cluster {
    handle: Handle,
    client: Client,
    stop: CancellationToken,
    controllers: tokio::task::JoinHandle<()>,
}

impl Cluster {
    async fn start() -> Self {
        let config = ServerConfig {
            listen: None,
            ..ServerConfig::default()
        };
        let handle = ApiServer::start(config).await.unwrap();
        let client = handle.client("test");
        let config = Config {
            root_ca: "CERTIFICATE".into(),
            pool: vec!["192.0.2.0/28".parse().unwrap()],
            addresses_each: 2,
        };
        let stop = CancellationToken::new();
        let controllers = run(
            handle.client("controllers"),
            config,
            Metrics::default(),
            stop.clone(),
        );
        let controllers = tokio::spawn(controllers);
        Self {
            handle,
            client,
            stop,
            controllers,
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.controllers.await.unwrap();
        self.handle.stop().await;
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn create<K>(&self, object: Value) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        let object = serde_json::from_value(object).unwrap();
        self.api()
            .create(&PostParams::default(), &object)
            .await
            .unwrap()
    }

    async fn set_status<K>(&self, name: &str, status: Value)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        let patch = Patch::Merge(json!({"status": status}));
        self.api::<K>()
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

/// Waits until an object fulfils a condition and returns it.
async fn until<K>(api: Api<K>, name: &str, condition: impl Condition<K>) -> Option<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    K::DynamicType: Default + Eq + std::hash::Hash + Clone,
{
    let waiting = await_condition(api, name, condition);
    let found = tokio::time::timeout(Duration::from_secs(20), waiting).await;
    found
        .unwrap_or_else(|_| panic!("{name} does not get there"))
        .unwrap()
}

/// Waits until a list fulfils a condition and returns it.
async fn until_list<K>(api: &Api<K>, params: ListParams, condition: impl Fn(&[K]) -> bool) -> Vec<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut last = Vec::new();
    for _ in 0..1000 {
        last = api.list(&params).await.unwrap().items;
        if condition(&last) {
            return last;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the list does not get there: {last:?}");
}

fn owned_by<K: Resource<DynamicType = ()>>(owner: &K, blocks: bool) -> Value {
    json!([{
        "apiVersion": K::api_version(&()), "kind": K::kind(&()), "blockOwnerDeletion": blocks,
        "name": owner.name_any(), "uid": owner.uid().unwrap(),
    }])
}

#[tokio::test]
async fn a_namespace_gets_what_it_needs_and_goes_with_what_it_holds() {
    let cluster = Cluster::start().await;
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), "a");
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "a");
    until(
        accounts.clone(),
        "default",
        |account: Option<&ServiceAccount>| account.is_some(),
    )
    .await;
    let is_right = |map: Option<&ConfigMap>| {
        map.and_then(|map| map.data.as_ref())
            .is_some_and(|data| data["ca.crt"] == "CERTIFICATE")
    };
    until(maps.clone(), "kube-root-ca.crt", is_right).await;
    maps.delete("kube-root-ca.crt", &DeleteParams::default())
        .await
        .unwrap();
    until(maps.clone(), "kube-root-ca.crt", is_right).await;

    let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    maps.create(
        &PostParams::default(),
        &serde_json::from_value(held).unwrap(),
    )
    .await
    .unwrap();
    namespaces
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    let remains = |namespace: Option<&Namespace>| {
        let status = namespace.and_then(|namespace| namespace.status.as_ref());
        let conditions = status.and_then(|status| status.conditions.as_ref());
        conditions.into_iter().flatten().any(|condition| {
            condition.type_ == "NamespaceFinalizersRemaining" && condition.status == "True"
        })
    };
    until(namespaces.clone(), "a", remains).await;
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("held", &PatchParams::default(), &release)
        .await
        .unwrap();
    until(namespaces, "a", |namespace: Option<&Namespace>| {
        namespace.is_none()
    })
    .await;
    cluster.stop().await;
}

#[tokio::test]
async fn ready_pods_become_endpoints() {
    let cluster = Cluster::start().await;
    cluster
        .create::<Service>(json!({
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]},
        }))
        .await;
    let slices: Api<EndpointSlice> = cluster.api();
    let of_web = || ListParams::default().labels("kubernetes.io/service-name=web");
    until_list(&slices, of_web(), |slices| {
        slices.len() == 1 && slices[0].endpoints.is_empty()
    })
    .await;
    for n in 1..=3 {
        let name = format!("web-{n}");
        cluster
            .create::<Pod>(json!({
                "metadata": {"name": name, "labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"name": "http", "containerPort": 8080}]}]},
            }))
            .await;
        let ready = json!({"type": "Ready", "status": if n < 3 { "True" } else { "False" }});
        let address = format!("10.0.0.{n}");
        let status = json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [ready]});
        cluster.set_status::<Pod>(&name, status).await;
    }
    let ready = |slice: &EndpointSlice| {
        let ready = slice.endpoints.iter().filter(|endpoint| {
            endpoint
                .conditions
                .as_ref()
                .is_some_and(|conditions| conditions.ready == Some(true))
        });
        ready
            .map(|endpoint| endpoint.addresses[0].clone())
            .collect::<Vec<_>>()
    };
    let found = until_list(&slices, of_web(), |slices| {
        slices.len() == 1
            && slices[0].endpoints.len() == 3
            && ready(&slices[0]) == ["10.0.0.1", "10.0.0.2"]
    })
    .await;
    assert_eq!(found[0].ports.as_ref().unwrap()[0].port, Some(8080));
    until(
        cluster.api::<Endpoints>(),
        "web",
        |endpoints: Option<&Endpoints>| {
            let subsets = endpoints.and_then(|endpoints| endpoints.subsets.as_ref());
            subsets.is_some_and(|subsets| {
                subsets[0]
                    .addresses
                    .as_ref()
                    .is_some_and(|ready| ready.len() == 2)
            })
        },
    )
    .await;

    cluster
        .api::<Pod>()
        .delete("web-1", &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    until_list(&slices, of_web(), |slices| {
        slices.len() == 1 && ready(&slices[0]) == ["10.0.0.2"]
    })
    .await;
    cluster
        .api::<Service>()
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    until_list(&slices, of_web(), <[_]>::is_empty).await;
    until(
        cluster.api::<Endpoints>(),
        "web",
        |endpoints: Option<&Endpoints>| endpoints.is_none(),
    )
    .await;
    cluster.stop().await;
}

#[tokio::test]
async fn hand_written_endpoints_are_mirrored() {
    let cluster = Cluster::start().await;
    cluster
        .create::<Service>(json!({"metadata": {"name": "db"}, "spec": {"ports": [{"port": 5432}]}}))
        .await;
    cluster
        .create::<Endpoints>(json!({
            "metadata": {"name": "db"},
            "subsets": [{"addresses": [{"ip": "192.0.2.9"}], "ports": [{"port": 5432}]}],
        }))
        .await;
    let slices: Api<EndpointSlice> = cluster.api();
    let of_db = ListParams::default().labels("kubernetes.io/service-name=db");
    let found = until_list(&slices, of_db, |slices| slices.len() == 1).await;
    assert_eq!(found[0].endpoints[0].addresses, ["192.0.2.9"]);
    assert_eq!(
        found[0].labels()["endpointslice.kubernetes.io/managed-by"],
        "endpointslicemirroring-controller.k8s.io"
    );
    cluster.stop().await;
}

#[tokio::test]
async fn dependents_follow_their_owner_or_stay_when_asked_to() {
    let cluster = Cluster::start().await;
    let maps: Api<ConfigMap> = cluster.api();
    let gone = |object: Option<&ConfigMap>| object.is_none();
    for (name, how) in [
        ("one", DeleteParams::background()),
        ("two", DeleteParams::foreground()),
    ] {
        let owner: Secret = cluster.create(json!({"metadata": {"name": name}})).await;
        let dependent = format!("{name}-child");
        let metadata = json!({"name": dependent, "ownerReferences": owned_by(&owner, true)});
        let child: ConfigMap = cluster.create(json!({"metadata": metadata})).await;
        let metadata = json!({"name": format!("{name}-grandchild"), "ownerReferences": owned_by(&child, false)});
        cluster
            .create::<ConfigMap>(json!({"metadata": metadata}))
            .await;
        cluster.api::<Secret>().delete(name, &how).await.unwrap();
        until(maps.clone(), &dependent, gone).await;
        until(maps.clone(), &format!("{name}-grandchild"), gone).await;
        until(cluster.api(), name, |owner: Option<&Secret>| {
            owner.is_none()
        })
        .await;
    }
    let owner: Secret = cluster.create(json!({"metadata": {"name": "three"}})).await;
    let metadata = json!({"name": "three-child", "ownerReferences": owned_by(&owner, true)});
    cluster
        .create::<ConfigMap>(json!({"metadata": metadata}))
        .await;
    cluster
        .api::<Secret>()
        .delete("three", &DeleteParams::orphan())
        .await
        .unwrap();
    until(cluster.api(), "three", |owner: Option<&Secret>| {
        owner.is_none()
    })
    .await;
    until(maps, "three-child", |child: Option<&ConfigMap>| {
        child.is_some_and(|child| child.owner_references().is_empty())
    })
    .await;
    cluster.stop().await;
}

#[tokio::test]
async fn load_balancers_and_ingresses_get_addresses_and_give_them_back() {
    let cluster = Cluster::start().await;
    let balanced = json!({"type": "LoadBalancer", "ports": [{"port": 80}]});
    cluster
        .create::<Service>(json!({"metadata": {"name": "web"}, "spec": balanced}))
        .await;
    let addresses = |service: Option<&Service>| -> Vec<String> {
        let status = service.and_then(|service| service.status.as_ref());
        let entries = status.and_then(|status| status.load_balancer.as_ref()?.ingress.as_ref());
        entries
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ip.clone())
            .collect()
    };
    until(cluster.api(), "web", move |service: Option<&Service>| {
        addresses(service) == ["192.0.2.1", "192.0.2.2"]
    })
    .await;
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    cluster
        .create::<Ingress>(
            json!({"metadata": {"name": "web"}, "spec": {"defaultBackend": backend}}),
        )
        .await;
    until(cluster.api(), "web", |ingress: Option<&Ingress>| {
        let status = ingress.and_then(|ingress| ingress.status.as_ref());
        let entries = status.and_then(|status| status.load_balancer.as_ref()?.ingress.as_ref());
        entries.is_some_and(|entries| {
            entries.len() == 2 && entries[0].ip.as_deref() == Some("192.0.2.3")
        })
    })
    .await;
    cluster
        .api::<Service>()
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    until(cluster.api(), "web", |service: Option<&Service>| {
        service.is_none()
    })
    .await;
    cluster
        .create::<Service>(json!({"metadata": {"name": "next"}, "spec": balanced}))
        .await;
    until(cluster.api(), "next", move |service: Option<&Service>| {
        addresses(service) == ["192.0.2.1", "192.0.2.2"]
    })
    .await;
    cluster.stop().await;
}

#[tokio::test]
async fn aggregated_roles_show_the_rules_they_collect() {
    let cluster = Cluster::start().await;
    let roles: Api<ClusterRole> = Api::all(cluster.client.clone());
    let has = |resource: &'static str| {
        move |role: Option<&ClusterRole>| {
            let rules = role
                .and_then(|role| role.rules.as_ref())
                .into_iter()
                .flatten();
            rules
                .filter_map(|rule| rule.resources.as_ref())
                .flatten()
                .any(|found| found == resource)
        }
    };
    until(roles.clone(), "admin", has("rolebindings")).await;
    let role = json!({
        "metadata": {"name": "more", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [{"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]}],
    });
    roles
        .create(
            &PostParams::default(),
            &serde_json::from_value(role).unwrap(),
        )
        .await
        .unwrap();
    until(roles.clone(), "view", has("things")).await;
    // view goes into edit, and edit into admin.
    until(roles, "admin", has("things")).await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_cluster_scoped_object_with_a_namespaced_owner_stays_and_says_why() {
    let cluster = Cluster::start().await;
    let owner: Secret = cluster.create(json!({"metadata": {"name": "owner"}})).await;
    let role = json!({"metadata": {"name": "owned", "ownerReferences": owned_by(&owner, false)}});
    let roles: Api<ClusterRole> = Api::all(cluster.client.clone());
    roles
        .create(
            &PostParams::default(),
            &serde_json::from_value(role).unwrap(),
        )
        .await
        .unwrap();
    let events: Api<Event> = Api::all(cluster.client.clone());
    let about = |events: &[Event]| {
        events.iter().any(|event| {
            event
                .regarding
                .as_ref()
                .is_some_and(|object| object.name.as_deref() == Some("owned"))
        })
    };
    let found = until_list(&events, ListParams::default(), about).await;
    assert_eq!(found[0].reason.as_deref(), Some("OwnerRefInvalidNamespace"));
    assert!(roles.get_opt("owned").await.unwrap().is_some());
    cluster.stop().await;
}

#[tokio::test]
async fn a_deleted_claim_waits_for_the_pod_that_uses_it() {
    let cluster = Cluster::start().await;
    cluster
        .create::<PersistentVolumeClaim>(json!({
            "metadata": {"name": "c"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }))
        .await;
    cluster
        .create::<Pod>(json!({
            "metadata": {"name": "p"},
            "spec": {
                "nodeName": "n",
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
            },
        }))
        .await;
    let claims: Api<PersistentVolumeClaim> = cluster.api();
    claims.delete("c", &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(claims.get_opt("c").await.unwrap().is_some());
    let pods: Api<Pod> = cluster.api();
    let at_once = DeleteParams::default().grace_period(0);
    pods.delete("p", &at_once).await.unwrap();
    until(claims, "c", |claim: Option<&PersistentVolumeClaim>| {
        claim.is_none()
    })
    .await;
    cluster.stop().await;
}
