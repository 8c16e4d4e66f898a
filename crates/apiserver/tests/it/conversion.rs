//! Custom resources whose versions only a webhook can translate.

mod hook;

use std::time::Duration;

use flotilla_apiserver::{ApiServer, Config, Handle, engine::Limits};
use futures::StreamExt;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use self::hook::{Behaviour, Hook};
use crate::support::{Reply, request, send};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const V1: &str = "/apis/net.example.com/v1/namespaces/default/gates";
const V2: &str = "/apis/net.example.com/v2/namespaces/default/gates";

/// Gates have `spec.host` ("name:port") in v1, and `spec.name` and `spec.port` in v2.
fn definition(client: &Value, storage: &str) -> Value {
    let version = |name: &str, spec: Value, selectable: &str| {
        json!({"name": name, "served": true, "storage": name == storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": spec},
                "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}},
            "selectableFields": [{"jsonPath": selectable}],
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas"}},
            "additionalPrinterColumns": [
                {"name": "Place", "type": "string", "jsonPath": selectable}]})
    };
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gates.net.example.com"},
        "spec": {
            "group": "net.example.com", "scope": "Namespaced",
            "names": {"plural": "gates", "kind": "Gate"},
            "conversion": {"strategy": "Webhook", "webhook": {
                "clientConfig": client, "conversionReviewVersions": ["v1", "v1beta1"]}},
            "versions": [
                version("v1", json!({"host": text, "replicas": number}), ".spec.host"),
                version("v2", json!({"name": text, "port": number, "replicas": number,
                    "tier": {"type": "string", "default": "gold"}}), ".spec.name"),
            ]
        }
    })
}

async fn server(hook: &Hook, storage: &str) -> Handle {
    let limits = Limits {
        webhook_deadline: Duration::from_millis(300),
        ..Limits::default()
    };
    let server = ApiServer::start(Config {
        listen: None,
        limits,
        ..Config::default()
    })
    .await
    .unwrap();
    let reply = send(
        &server,
        "POST",
        CRDS,
        &[],
        definition(&hook.config(), storage).to_string(),
    );
    let reply = reply.await;
    assert_eq!(reply.code, 201, "{}", reply.message());
    assert!(reply.headers.get("warning").is_none());
    server
}

fn gate(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("net.example.com/{version}"), "kind": "Gate",
        "metadata": {"name": name, "labels": {"app": name}}, "spec": spec})
}

async fn post(server: &Handle, path: &str, body: &Value) -> Reply {
    send(server, "POST", path, &[], body.to_string()).await
}

async fn get(server: &Handle, path: &str) -> Reply {
    send(server, "GET", path, &[], "").await
}

async fn patch(server: &Handle, path: &str, body: &Value) -> Reply {
    let media = [("content-type", "application/merge-patch+json")];
    send(server, "PATCH", path, &media, body.to_string()).await
}

async fn apply(server: &Handle, path: &str, body: &Value) -> Reply {
    let media = [("content-type", "application/apply-patch+yaml")];
    send(server, "PATCH", path, &media, body.to_string()).await
}

#[tokio::test]
async fn every_version_reads_and_writes_the_same_object() {
    let hook = Hook::start(Behaviour::Honest).await;
    let server = server(&hook, "v2").await;
    let reply = post(&server, V1, &gate("v1", "a", json!({"host": "x:80"}))).await;
    assert_eq!(reply.code, 201, "{}", reply.message());
    let created = reply.json();
    assert_eq!(created["apiVersion"], "net.example.com/v1");
    assert_eq!(created["spec"]["host"], "x:80");
    assert_eq!(created["metadata"]["generation"], 1);
    let seen = get(&server, &format!("{V2}/a")).await.json();
    assert_eq!(seen["apiVersion"], "net.example.com/v2");
    // The default of the storage version is there, and lost in the version that has no such field.
    assert_eq!(
        seen["spec"],
        json!({"name": "x", "port": 80, "tier": "gold"})
    );
    assert_eq!(seen["metadata"]["uid"], created["metadata"]["uid"]);
    let reply = patch(
        &server,
        &format!("{V1}/a"),
        &json!({"spec": {"host": "y:81"}}),
    )
    .await;
    assert_eq!(reply.code, 200, "{}", reply.message());
    assert_eq!(reply.json()["metadata"]["generation"], 2);
    let seen = get(&server, &format!("{V2}/a")).await.json();
    assert_eq!(seen["spec"]["name"], "y");
    let mut put = get(&server, &format!("{V1}/a")).await.json();
    put["spec"]["host"] = json!("z:82");
    let reply = send(&server, "PUT", &format!("{V1}/a"), &[], put.to_string()).await;
    assert_eq!(reply.json()["spec"]["host"], "z:82", "{}", reply.message());
    let again = send(&server, "PUT", &format!("{V1}/a"), &[], reply.bytes.clone()).await;
    assert_eq!(
        again.json()["metadata"]["resourceVersion"],
        reply.json()["metadata"]["resourceVersion"],
        "nothing changed, so nothing is written"
    );
}

#[tokio::test]
async fn status_scale_and_dry_run_go_through_the_webhook() {
    let hook = Hook::start(Behaviour::Honest).await;
    let server = server(&hook, "v2").await;
    let dry = format!("{V1}?dryRun=All");
    let reply = post(&server, &dry, &gate("v1", "a", json!({"host": "x:80"}))).await;
    assert_eq!(reply.json()["spec"]["host"], "x:80", "{}", reply.message());
    assert_eq!(get(&server, &format!("{V1}/a")).await.code, 404);
    post(
        &server,
        V1,
        &gate("v1", "a", json!({"host": "x:80", "replicas": 2})),
    )
    .await;
    let status = format!("{V1}/a/status");
    let reply = patch(&server, &status, &json!({"status": {"replicas": 2}})).await;
    assert_eq!(reply.json()["status"]["replicas"], 2, "{}", reply.message());
    let scale = format!("{V1}/a/scale");
    assert_eq!(get(&server, &scale).await.json()["spec"]["replicas"], 2);
    let reply = patch(&server, &scale, &json!({"spec": {"replicas": 5}})).await;
    assert_eq!(reply.json()["spec"]["replicas"], 5, "{}", reply.message());
    let seen = get(&server, &format!("{V2}/a")).await.json();
    assert_eq!(seen["spec"]["replicas"], 5);
}

#[tokio::test]
async fn lists_are_converted_in_batches_and_answers_are_kept() {
    let hook = Hook::start(Behaviour::Honest).await;
    let server = server(&hook, "v2").await;
    for n in 0..5 {
        let spec = json!({"name": format!("h{}", n % 2), "port": n});
        post(&server, V2, &gate("v2", &format!("g{n}"), spec)).await;
    }
    assert_eq!(
        hook.n_calls(),
        0,
        "objects in the storage version need none"
    );
    let list = get(&server, V1).await.json();
    let hosts: Vec<&str> = list["items"].as_array().unwrap().iter().map(host).collect();
    assert_eq!(hosts, ["h0:0", "h1:1", "h0:2", "h1:3", "h0:4"]);
    assert_eq!(hook.n_calls(), 1);
    get(&server, V1).await;
    get(&server, &format!("{V1}/g1")).await;
    assert_eq!(hook.n_calls(), 1, "answers are kept");
    let page = get(&server, &format!("{V1}?limit=2")).await.json();
    assert_eq!(page["metadata"]["remainingItemCount"], 3);
    let token = page["metadata"]["continue"].as_str().unwrap();
    let page = get(&server, &format!("{V1}?limit=9&continue={token}"))
        .await
        .json();
    assert_eq!(page["items"].as_array().unwrap().len(), 3);
    let selected = |path: String| {
        let server = &server;
        async move {
            let list = get(server, &path).await.json();
            let items = list["items"].as_array().unwrap().clone();
            let names = items.iter().map(|i| i["metadata"]["name"].clone());
            names.collect::<Vec<_>>()
        }
    };
    assert_eq!(
        selected(format!("{V1}?fieldSelector=spec.host%3Dh1:3")).await,
        ["g3"]
    );
    assert_eq!(
        selected(format!("{V2}?fieldSelector=spec.name%3Dh1")).await,
        ["g1", "g3"]
    );
    assert_eq!(
        selected(format!("{V1}?labelSelector=app%3Dg2")).await,
        ["g2"]
    );
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = send(&server, "GET", V1, &accept, "").await.json();
    assert_eq!(table["rows"][3]["cells"][1], "h1:3");
}

fn host(object: &Value) -> &str {
    object["spec"]["host"].as_str().unwrap()
}

/// The first `n` lines of a watch.
async fn lines(server: &Handle, path: &str, n: usize) -> Vec<Value> {
    let mut body = request(server, path).await.into_body().into_data_stream();
    let mut text = Vec::new();
    while text.iter().filter(|b| **b == b'\n').count() < n {
        match tokio::time::timeout(Duration::from_secs(10), body.next())
            .await
            .unwrap()
        {
            Some(chunk) => text.extend_from_slice(&chunk.unwrap()),
            None => break,
        }
    }
    text.split(|b| *b == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[tokio::test]
async fn watches_show_the_version_that_was_asked_for() {
    let hook = Hook::start(Behaviour::Honest).await;
    let server = server(&hook, "v2").await;
    let created = post(
        &server,
        V2,
        &gate("v2", "a", json!({"name": "x", "port": 1})),
    )
    .await;
    let rev = created.json()["metadata"]["resourceVersion"].clone();
    let rev = rev.as_str().unwrap();
    patch(&server, &format!("{V2}/a"), &json!({"spec": {"port": 2}})).await;
    patch(&server, &format!("{V2}/a"), &json!({"spec": {"name": "y"}})).await;
    send(&server, "DELETE", &format!("{V2}/a"), &[], "").await;
    let seen = lines(&server, &format!("{V1}?watch=1&resourceVersion={rev}"), 3).await;
    let shown: Vec<_> = seen
        .iter()
        .map(|event| (event["type"].as_str().unwrap(), host(&event["object"])))
        .collect();
    assert_eq!(
        shown,
        [("MODIFIED", "x:2"), ("MODIFIED", "y:2"), ("DELETED", "y:2")]
    );
    // A selection by a field of this version: leaving it looks like a deletion.
    let selected = format!("{V1}?watch=1&resourceVersion={rev}&fieldSelector=spec.host%3Dx:2");
    let seen = lines(&server, &selected, 2).await;
    let shown: Vec<_> = seen
        .iter()
        .map(|event| (event["type"].as_str().unwrap(), host(&event["object"])))
        .collect();
    assert_eq!(shown, [("ADDED", "x:2"), ("DELETED", "x:2")]);
    post(
        &server,
        V2,
        &gate("v2", "b", json!({"name": "n", "port": 1})),
    )
    .await;
    let seen = lines(&server, &format!("{V1}?watch=1"), 1).await;
    assert_eq!(
        (&seen[0]["type"], host(&seen[0]["object"])),
        (&json!("ADDED"), "n:1")
    );
}

#[tokio::test]
async fn apply_knows_owners_in_their_own_version() {
    let hook = Hook::start(Behaviour::Honest).await;
    let server = server(&hook, "v2").await;
    let own = |version: &str, spec: Value| gate(version, "a", spec);
    let one = format!("{V2}/a?fieldManager=one");
    let reply = apply(&server, &one, &own("v2", json!({"name": "x", "port": 1}))).await;
    assert_eq!(reply.code, 201, "{}", reply.message());
    // Another manager, in the other version, wants the same value: nothing to quarrel about.
    let two = format!("{V1}/a?fieldManager=two");
    let reply = apply(&server, &two, &own("v1", json!({"host": "x:1"}))).await;
    assert_eq!(reply.code, 200, "{}", reply.message());
    let managers = reply.json()["metadata"]["managedFields"].clone();
    let mut versions: Vec<_> = managers
        .as_array()
        .unwrap()
        .iter()
        .map(|m| {
            (
                m["manager"].as_str().unwrap(),
                m["apiVersion"].as_str().unwrap(),
            )
        })
        .collect();
    versions.sort_unstable();
    assert_eq!(
        versions,
        [("one", "net.example.com/v2"), ("two", "net.example.com/v1")]
    );
    let reply = apply(&server, &two, &own("v1", json!({"host": "y:1"}))).await;
    assert_eq!(
        (reply.code, reply.message().as_str()),
        (
            409,
            "Apply failed with 1 conflict: conflict with \"one\": .spec.name"
        )
    );
    let forced = format!("{two}&force=true");
    let reply = apply(&server, &forced, &own("v1", json!({"host": "y:1"}))).await;
    assert_eq!(reply.code, 200, "{}", reply.message());
    let seen = get(&server, &format!("{V2}/a")).await.json();
    assert_eq!(seen["spec"]["name"], "y");
    let managers = seen["metadata"]["managedFields"].as_array().unwrap();
    let one = managers.iter().find(|m| m["manager"] == "one").unwrap();
    let fields = one["fieldsV1"]["f:spec"].clone();
    assert_eq!(fields, json!({"f:port": {}}), "`one` lost the name");
}

#[tokio::test]
async fn a_webhook_that_fails_is_named_and_stops_nobody_else() {
    let cases = [
        (
            Behaviour::Silent,
            "conversion webhook for net.example.com/v2, Kind=Gate failed: Post \"URL?timeout=0.3s\": \
             context deadline exceeded",
        ),
        (
            Behaviour::Refusing,
            "conversion webhook for net.example.com/v2, Kind=Gate failed: not today",
        ),
        (
            Behaviour::Broken,
            "conversion webhook for net.example.com/v2, Kind=Gate failed: an error on the server \
             (\"oops\") has prevented the request from succeeding",
        ),
        (
            Behaviour::WrongUid,
            "conversion webhook for net.example.com/v2, Kind=Gate failed: expected response.uid=",
        ),
        (
            Behaviour::Dropping,
            "conversion for net.example.com/v2, Kind=Gate returned 0 objects, expected 1",
        ),
        (
            Behaviour::Renaming,
            "conversion for net.example.com/v2, Kind=Gate returned invalid converted object at \
             index 1: must have the same name: a != b",
        ),
    ];
    for (behaviour, expected) in cases {
        let hook = Hook::start(behaviour).await;
        let server = server(&hook, "v2").await;
        let expected = expected.replace("URL", &hook.url());
        post(
            &server,
            V2,
            &gate("v2", "a", json!({"name": "x", "port": 1})),
        )
        .await;
        for path in [V1.to_owned(), format!("{V1}/a")] {
            let reply = get(&server, &path).await;
            assert_eq!(reply.code, 500);
            let got = reply.message();
            assert!(got.starts_with(&expected), "{behaviour:?}: {got}");
        }
        let seen = lines(&server, &format!("{V1}?watch=1"), 1).await;
        assert_eq!(
            (&seen[0]["type"], &seen[0]["object"]["code"]),
            (&json!("ERROR"), &json!(500))
        );
        let reply = post(&server, V1, &gate("v1", "c", json!({"host": "x:80"}))).await;
        assert_eq!(reply.code, 500);
        // Readers of metadata and of the storage version, and deletion, do not need it.
        assert_eq!(get(&server, V2).await.code, 200);
        let accept = [(
            "accept",
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        )];
        let list = send(&server, "GET", V1, &accept, "").await.json();
        assert_eq!(list["items"][0]["metadata"]["name"], "a");
        let reply = send(&server, "DELETE", &format!("{V1}/a"), &[], "").await;
        assert_eq!(reply.code, 200);
        assert_eq!(get(&server, &format!("{V2}/a")).await.code, 404);
    }
}

#[tokio::test]
async fn trust_and_addresses_that_do_not_work_are_explained() {
    let hook = Hook::start(Behaviour::Honest).await;
    let stranger = Hook::start(Behaviour::Honest).await;
    let mut client = hook.config();
    client["caBundle"] = stranger.config()["caBundle"].clone();
    let service = |port: u16| {
        json!({"service": {"namespace": "default", "name": "hook", "port": port, "path": "/c"},
            "caBundle": hook.config()["caBundle"]})
    };
    let cases = [
        (
            client,
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        ),
        (
            service(443),
            "Post \"https://hook.default.svc:443/c?timeout=0.3s\": service \"hook\" not found",
        ),
    ];
    for (client, expected) in cases {
        let server = server(&hook, "v2").await;
        let path = format!("{CRDS}/gates.net.example.com");
        call_another(&server, &path, &client).await;
        post(
            &server,
            V2,
            &gate("v2", "a", json!({"name": "x", "port": 1})),
        )
        .await;
        let got = get(&server, V1).await.message();
        assert!(got.ends_with(expected), "{got}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_its_own_authority_is_trusted() {
    let hook = Hook::start_as_authority().await;
    let server = server(&hook, "v2").await;
    post(
        &server,
        V2,
        &gate("v2", "a", json!({"name": "x", "port": 1})),
    )
    .await;
    let seen = get(&server, &format!("{V1}/a")).await.json();
    assert_eq!(seen["spec"]["host"], "x:1", "{seen}");
}

/// Replaces the client configuration of a definition.
async fn call_another(server: &Handle, path: &str, client: &Value) {
    let mut crd = get(server, path).await.json();
    crd["spec"]["conversion"]["webhook"]["clientConfig"] = client.clone();
    let reply = send(server, "PUT", path, &[], crd.to_string()).await;
    assert_eq!(reply.code, 200, "{}", reply.message());
}

#[tokio::test]
async fn a_service_is_reached_through_its_ready_endpoints() {
    let hook = Hook::start(Behaviour::Honest).await;
    let server = server(&hook, "v2").await;
    let crd = format!("{CRDS}/gates.net.example.com");
    let client = json!({"service": {"namespace": "default", "name": "hook", "port": 8443},
        "caBundle": hook.config()["caBundle"]});
    call_another(&server, &crd, &client).await;
    post(
        &server,
        V2,
        &gate("v2", "a", json!({"name": "x", "port": 1})),
    )
    .await;
    let failure = async || get(&server, &format!("{V1}/a")).await.message();
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"},
        "spec": {"ports": [{"name": "https", "port": 443, "targetPort": 9443}]}});
    post(&server, "/api/v1/namespaces/default/services", &service).await;
    assert!(
        failure()
            .await
            .ends_with("no service port 8443 found for service \"hook\"")
    );
    let ports = json!({"spec": {"ports": [{"name": "https", "port": 8443, "targetPort": 9443}]}});
    patch(&server, "/api/v1/namespaces/default/services/hook", &ports).await;
    assert!(
        failure()
            .await
            .ends_with("no endpoints available for service \"hook\"")
    );
    let address = hook.address();
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}},
        "addressType": "IPv4", "ports": [{"name": "https", "port": address.port()}],
        "endpoints": [
            {"addresses": ["192.0.2.9"], "conditions": {"ready": false}},
            {"addresses": [address.ip().to_string()], "conditions": {"ready": true}}]});
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    let reply = post(&server, slices, &slice).await;
    assert_eq!(reply.code, 201, "{}", reply.message());
    let seen = get(&server, &format!("{V1}/a")).await.json();
    assert_eq!(seen["spec"]["host"], "x:1", "{seen}");
}

#[tokio::test]
async fn objects_of_an_older_storage_version_are_converted_too() {
    let hook = Hook::start(Behaviour::Honest).await;
    let server = server(&hook, "v1").await;
    post(&server, V1, &gate("v1", "a", json!({"host": "x:1"}))).await;
    let path = format!("{CRDS}/gates.net.example.com");
    let mut crd = get(&server, &path).await.json();
    crd["spec"]["versions"][0]["storage"] = json!(false);
    crd["spec"]["versions"][1]["storage"] = json!(true);
    let reply = send(&server, "PUT", &path, &[], crd.to_string()).await;
    assert_eq!(reply.code, 200, "{}", reply.message());
    let seen = get(&server, &format!("{V2}/a")).await.json();
    assert_eq!(
        seen["spec"],
        json!({"name": "x", "port": 1, "tier": "gold"})
    );
    assert_eq!(
        get(&server, &format!("{V1}/a")).await.json()["spec"]["host"],
        "x:1"
    );
    let reply = patch(&server, &format!("{V2}/a"), &json!({"spec": {"port": 2}})).await;
    assert_eq!(reply.json()["spec"]["port"], 2, "{}", reply.message());
    assert_eq!(
        get(&server, &format!("{V1}/a")).await.json()["spec"]["host"],
        "x:2"
    );
}
