//! Objects through `kube`: create, read, list in pages, change, delete.

use std::collections::BTreeMap;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace},
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, PropagationPolicy},
};
use serde_json::json;

use crate::support::{in_process, over_the_wire, send};

fn config_map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.labels = Some(BTreeMap::from([("app".to_owned(), "x".to_owned())]));
    map.data = Some(BTreeMap::from([("k".to_owned(), "v".to_owned())]));
    map
}

async fn life_of_an_object(client: Client) {
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let made = api
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    assert!(made.metadata.uid.is_some() && made.metadata.creation_timestamp.is_some());
    let again = api
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap_err();
    assert!(
        again
            .to_string()
            .contains("configmaps \"a\" already exists"),
        "{again}"
    );

    let mut changed = made.clone();
    changed.data = Some(BTreeMap::from([("k".to_owned(), "w".to_owned())]));
    let put = api
        .replace("a", &PostParams::default(), &changed)
        .await
        .unwrap();
    assert_ne!(
        put.metadata.resource_version,
        made.metadata.resource_version
    );
    let stale = api
        .replace("a", &PostParams::default(), &changed)
        .await
        .unwrap_err();
    assert!(
        stale.to_string().contains("the object has been modified"),
        "{stale}"
    );

    let same = api
        .replace("a", &PostParams::default(), &put)
        .await
        .unwrap();
    assert_eq!(
        same.metadata.resource_version, put.metadata.resource_version,
        "nothing changed"
    );

    let merge = Patch::Merge(json!({"data": {"k": null, "l": "m"}}));
    let patched = api
        .patch("a", &PatchParams::default(), &merge)
        .await
        .unwrap();
    assert_eq!(
        patched.data,
        Some(BTreeMap::from([("l".to_owned(), "m".to_owned())]))
    );

    let selected = api
        .list(&ListParams::default().labels("app=x"))
        .await
        .unwrap();
    assert_eq!(selected.items.len(), 1);
    let none = api
        .list(&ListParams::default().labels("app!=x,app"))
        .await
        .unwrap();
    assert!(none.items.is_empty());

    let gone = api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(gone.right().unwrap().details.unwrap().name, "a");
    assert!(api.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn an_object_lives_in_process() {
    let server = in_process().await;
    life_of_an_object(server.client("test")).await;
    server.stop().await;
}

#[tokio::test]
async fn fields_belong_to_the_client_that_set_them() {
    let server = in_process().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("kube-controller-manager"));
    let made = api.create(&PostParams::default(), &config_map("a")).await;
    let entries = made.unwrap().metadata.managed_fields.unwrap();
    let managers: Vec<_> = entries
        .iter()
        .map(|entry| entry.manager.as_deref())
        .collect();
    assert_eq!(managers, [Some("kube-controller-manager")]);
    let named = PostParams {
        field_manager: Some("ann".into()),
        ..PostParams::default()
    };
    let made = api.create(&named, &config_map("b")).await;
    let entries = made.unwrap().metadata.managed_fields.unwrap();
    assert_eq!(entries[0].manager.as_deref(), Some("ann"));
    server.stop().await;
}

#[tokio::test]
async fn an_object_lives_over_the_wire() {
    let (server, client) = over_the_wire().await;
    life_of_an_object(client).await;
    server.stop().await;
}

#[tokio::test]
async fn lists_come_in_pages_of_one_state() {
    let server = in_process().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("test"));
    for at in 0..7 {
        api.create(&PostParams::default(), &config_map(&format!("c{at}")))
            .await
            .unwrap();
    }
    let first = api.list(&ListParams::default().limit(3)).await.unwrap();
    assert_eq!(
        (first.items.len(), first.metadata.remaining_item_count),
        (3, Some(4))
    );
    // What happens between two pages is not seen by the second.
    api.delete("c5", &DeleteParams::default()).await.unwrap();
    api.create(&PostParams::default(), &config_map("c9"))
        .await
        .unwrap();
    let token = first.metadata.continue_.clone().unwrap();
    let second = api
        .list(&ListParams::default().limit(9).continue_token(&token))
        .await
        .unwrap();
    let names: Vec<_> = second
        .items
        .iter()
        .filter_map(|c| c.metadata.name.clone())
        .collect();
    assert_eq!(names, ["c3", "c4", "c5", "c6"]);
    assert_eq!(
        second.metadata.resource_version,
        first.metadata.resource_version
    );
    assert_eq!(second.metadata.continue_, None);
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let server = in_process().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("test"));
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let made = api.create(&dry, &config_map("a")).await.unwrap();
    assert!(made.metadata.uid.is_some());
    assert!(api.get_opt("a").await.unwrap().is_none());
    api.create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    let merge = Patch::Merge(json!({"data": {"k": "w"}}));
    let seen = api
        .patch("a", &PatchParams::default().dry_run(), &merge)
        .await
        .unwrap();
    assert_eq!(seen.data.unwrap()["k"], "w");
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["k"], "v");
    api.delete("a", &DeleteParams::default().dry_run())
        .await
        .unwrap();
    assert!(api.get_opt("a").await.unwrap().is_some());
}

#[tokio::test]
async fn finalizers_and_foreground_keep_an_object_until_they_are_gone() {
    let server = in_process().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("test"));
    api.create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    let foreground = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Foreground),
        ..DeleteParams::default()
    };
    let waiting = api.delete("a", &foreground).await.unwrap().left().unwrap();
    assert_eq!(waiting.metadata.finalizers.unwrap(), ["foregroundDeletion"]);
    assert!(waiting.metadata.deletion_timestamp.is_some());
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("a", &PatchParams::default(), &free)
        .await
        .unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn namespaces_guard_their_content() {
    let server = in_process().await;
    let client = server.client("test");
    let nowhere: Api<ConfigMap> = Api::namespaced(client.clone(), "nowhere");
    let error = nowhere
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("namespaces \"nowhere\" not found"),
        "{error}"
    );
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let error = namespaces
        .delete("default", &DeleteParams::default())
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("this namespace may not be deleted"),
        "{error}"
    );
    let made: Namespace = serde_json::from_value(json!({"metadata": {"name": "going"}})).unwrap();
    namespaces
        .create(&PostParams::default(), &made)
        .await
        .unwrap();
    let going = namespaces
        .delete("going", &DeleteParams::default())
        .await
        .unwrap()
        .left()
        .unwrap();
    assert_eq!(going.status.unwrap().phase.as_deref(), Some("Terminating"));
    let api: Api<ConfigMap> = Api::namespaced(client, "going");
    let error = api
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("because it is being terminated"),
        "{error}"
    );
    let finalize = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"},
        "spec": {"finalizers": []}});
    let reply = send(
        &server,
        "PUT",
        "/api/v1/namespaces/going/finalize",
        &[("content-type", "application/json")],
        finalize.to_string(),
    )
    .await;
    assert_eq!(reply.code, 200, "{:?}", reply.bytes);
    assert!(namespaces.get_opt("going").await.unwrap().is_none());
}

#[tokio::test]
async fn status_and_scale_are_their_own_endpoints() {
    let server = in_process().await;
    let api: Api<Deployment> = Api::default_namespaced(server.client("test"));
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
        "status": {"replicas": 9},
    }))
    .unwrap();
    let made = api
        .create(&PostParams::default(), &deployment)
        .await
        .unwrap();
    assert_eq!(
        (
            made.metadata.generation,
            made.status.and_then(|s| s.replicas)
        ),
        (Some(1), None)
    );
    let status = Patch::Merge(json!({"status": {"replicas": 1}, "spec": {"replicas": 7}}));
    let after = api
        .patch_status("web", &PatchParams::default(), &status)
        .await
        .unwrap();
    assert_eq!(after.spec.unwrap().replicas, Some(2));
    assert_eq!(
        (after.metadata.generation, after.status.unwrap().replicas),
        (Some(1), Some(1))
    );
    let scale = api.get_scale("web").await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(2));
    assert_eq!(scale.status.unwrap().selector.as_deref(), Some("app=web"));
    let five = Patch::Merge(json!({"spec": {"replicas": 5}}));
    let scaled = api
        .patch_scale("web", &PatchParams::default(), &five)
        .await
        .unwrap();
    assert_eq!(scaled.spec.unwrap().replicas, Some(5));
    let after = api.get("web").await.unwrap();
    assert_eq!(
        (after.metadata.generation, after.spec.unwrap().replicas),
        (Some(2), Some(5))
    );
}

#[tokio::test]
async fn metadata_and_tables_are_other_views_of_the_same_objects() {
    let server = in_process().await;
    let client = server.client("test");
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    let metadata = api.list_metadata(&ListParams::default()).await.unwrap();
    assert_eq!(metadata.items[0].metadata.name.as_deref(), Some("a"));
    let accept = (
        "accept",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    );
    let path = "/api/v1/namespaces/default/configmaps";
    let table = send(&server, "GET", path, &[accept], "").await.json();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["rows"][0]["cells"][0], "a");
    assert_eq!(table["columnDefinitions"][0]["name"], "Name");
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let yaml = send(&server, "GET", path, &[("accept", "application/yaml")], "").await;
    assert!(
        yaml.bytes.starts_with(b"kind: ConfigMapList\n"),
        "{:?}",
        yaml.bytes
    );
}

#[tokio::test]
async fn a_data_directory_survives_a_restart_and_names_its_troubles() {
    use flotilla_apiserver::{ApiServer, Config};
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        listen: None,
        data_dir: Some(dir.path().to_owned()),
        ..Config::default()
    };
    let server = ApiServer::start(config.clone()).await.unwrap();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("test"));
    let made = api
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    let twice = ApiServer::start(config.clone()).await.err().unwrap();
    assert!(
        std::error::Error::source(&twice)
            .unwrap()
            .to_string()
            .contains("in use by another")
    );
    server.stop().await;
    let server = ApiServer::start(config).await.unwrap();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("test"));
    let found = api.get("a").await.unwrap();
    assert_eq!(found.metadata.uid, made.metadata.uid);
    let (busy, _) = over_the_wire().await;
    let config = Config {
        listen: busy.address(),
        ..Config::default()
    };
    let error = ApiServer::start(config).await.err().unwrap();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.starts_with("cannot listen on 127.0.0.1:"), "{cause}");
}

#[tokio::test(flavor = "multi_thread")]
async fn services_made_at_once_get_addresses_of_their_own() {
    use k8s_openapi::api::core::v1::Service;
    let server = in_process().await;
    let api: Api<Service> = Api::default_namespaced(server.client("test"));
    let params = PostParams::default();
    let making = (0..40).map(|at| {
        let service = json!({"metadata": {"name": format!("s{at}")},
            "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
        let service: Service = serde_json::from_value(service).unwrap();
        let (api, params) = (api.clone(), params.clone());
        tokio::spawn(async move { api.create(&params, &service).await.unwrap() })
    });
    let mut seen = std::collections::BTreeSet::new();
    for made in futures::future::join_all(making).await {
        let spec = made.unwrap().spec.unwrap();
        assert!(seen.insert(spec.cluster_ip.unwrap()));
        assert!(seen.insert(spec.ports.unwrap()[0].node_port.unwrap().to_string()));
    }
}

#[tokio::test]
async fn applied_fields_have_owners_and_conflicts_are_told() {
    let server = in_process().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("test"));
    let config = |value: &str| {
        Patch::Apply(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"k": value}}),
        )
    };
    let ours = PatchParams::apply("ours");
    let made = api.patch("a", &ours, &config("1")).await.unwrap();
    let managed = made.metadata.managed_fields.clone().unwrap();
    assert_eq!(managed[0].manager.as_deref(), Some("ours"));
    assert_eq!(managed[0].operation.as_deref(), Some("Apply"));
    let same = api.patch("a", &ours, &config("1")).await.unwrap();
    assert_eq!(
        same.metadata.resource_version,
        made.metadata.resource_version
    );
    let theirs = PatchParams::apply("theirs");
    let error = api
        .patch("a", &theirs, &config("2"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("Apply failed with 1 conflict: conflict with \"ours\": .data.k"),
        "{error}"
    );
    api.patch("a", &theirs.clone().force(), &config("2"))
        .await
        .unwrap();
    // What nobody applies any more goes away.
    let nothing = Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a"}}));
    let after = api.patch("a", &theirs, &nothing).await.unwrap();
    assert_eq!(after.data.unwrap_or_default().get("k"), None);
    let nobody = send(
        &server,
        "PATCH",
        "/api/v1/namespaces/default/configmaps/a",
        &[("content-type", "application/apply-patch+yaml")],
        "{}",
    )
    .await;
    assert!(
        nobody
            .message()
            .contains("fieldManager: Required value: is required for apply patch")
    );
}

#[tokio::test]
async fn large_replies_are_compressed_for_those_who_ask() {
    let server = in_process().await;
    let target = "/api/v1/namespaces/default/configmaps";
    for n in 0..3 {
        let name = format!("m{n}");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"text": "0123456789".repeat(6000)}});
        send(&server, "POST", target, &[], object.to_string()).await;
    }
    let gzip = [("accept-encoding", "gzip")];
    let packed = send(&server, "GET", target, &gzip, "").await;
    assert_eq!(packed.headers["content-encoding"], "gzip");
    assert_eq!(packed.headers["vary"], "Accept-Encoding");
    let mut unpacked = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&packed.bytes[..]);
    std::io::Read::read_to_end(&mut decoder, &mut unpacked).unwrap();
    let plain = send(&server, "GET", target, &[], "").await;
    assert!(plain.headers.get("content-encoding").is_none());
    // The list's own version may have moved on in between.
    let unpacked: serde_json::Value = serde_json::from_slice(&unpacked).unwrap();
    assert_eq!(plain.json()["items"], unpacked["items"]);
    let small = send(&server, "GET", &format!("{target}/m0"), &gzip, "").await;
    assert!(small.headers.get("content-encoding").is_none());
    let watch = format!("{target}?watch=true&timeoutSeconds=1");
    let watch = send(&server, "GET", &watch, &gzip, "").await;
    assert!(watch.headers.get("content-encoding").is_none());
}
