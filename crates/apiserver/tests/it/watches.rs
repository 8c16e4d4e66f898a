//! Watches: through kube-runtime in both of its ways, and event by event.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use flotilla_apiserver::Handle;
use futures::{SinkExt, StreamExt, TryStreamExt};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    runtime::watcher,
};
use serde_json::{Value, json};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use crate::support::{forgetful, in_process, over_the_wire, send, tls};

fn config_map(name: &str, app: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.labels = Some(BTreeMap::from([("app".to_owned(), app.to_owned())]));
    map
}

async fn informer_sees_everything(client: Client, config: watcher::Config) {
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("a", "x"))
        .await
        .unwrap();
    let mut events = pin!(watcher(api.clone(), config));
    let mut seen = Vec::new();
    let mut next = async || -> String {
        let event = tokio::time::timeout(Duration::from_secs(10), events.next()).await;
        match event.unwrap().unwrap().unwrap() {
            watcher::Event::Init => "init".to_owned(),
            watcher::Event::InitApply(o) => format!("first {}", o.metadata.name.unwrap()),
            watcher::Event::InitDone => "ready".to_owned(),
            watcher::Event::Apply(o) => format!("apply {}", o.metadata.name.unwrap()),
            watcher::Event::Delete(o) => format!("delete {}", o.metadata.name.unwrap()),
        }
    };
    for _ in 0..3 {
        seen.push(next().await);
    }
    assert_eq!(seen, ["init", "first a", "ready"]);
    api.create(&PostParams::default(), &config_map("b", "x"))
        .await
        .unwrap();
    assert_eq!(next().await, "apply b");
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(next().await, "delete a");
}

#[tokio::test]
async fn list_and_watch_in_process() {
    let server = in_process().await;
    informer_sees_everything(server.client("test"), watcher::Config::default()).await;
}

#[tokio::test]
async fn streaming_list_in_process() {
    let server = in_process().await;
    let config = watcher::Config::default().streaming_lists();
    informer_sees_everything(server.client("test"), config).await;
}

#[tokio::test]
async fn list_and_watch_over_the_wire() {
    let (server, client) = over_the_wire().await;
    informer_sees_everything(client, watcher::Config::default()).await;
    server.stop().await;
}

#[tokio::test]
async fn streaming_list_over_the_wire() {
    let (server, client) = over_the_wire().await;
    informer_sees_everything(client, watcher::Config::default().streaming_lists()).await;
    server.stop().await;
}

#[tokio::test]
async fn selection_changes_look_like_births_and_deaths() {
    let server = in_process().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("test"));
    let start = api
        .list(&Default::default())
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    api.create(&PostParams::default(), &config_map("a", "y"))
        .await
        .unwrap();
    for app in ["x", "x", "y"] {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"app": app}}, "data": {"n": app}}));
        api.patch("a", &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
    let touch = Patch::Merge(json!({"metadata": {"labels": {"app": "x"}}, "data": {"n": "z"}}));
    api.patch("a", &PatchParams::default(), &touch)
        .await
        .unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let params = WatchParams::default().labels("app=x").timeout(1);
    let events = api.watch(&params, &start).await.unwrap();
    let seen: Vec<String> = events
        .map_ok(|event| match event {
            WatchEvent::Added(o) => format!("added {}", o.data.unwrap()["n"]),
            WatchEvent::Modified(o) => format!("modified {}", o.data.unwrap()["n"]),
            WatchEvent::Deleted(o) => format!("deleted {}", o.data.unwrap()["n"]),
            WatchEvent::Bookmark(_) => "bookmark".to_owned(),
            WatchEvent::Error(status) => status.message,
        })
        .try_collect()
        .await
        .unwrap();
    let seen: Vec<&str> = seen
        .iter()
        .map(String::as_str)
        .filter(|s| *s != "bookmark")
        .collect();
    assert_eq!(seen, ["added x", "deleted x", "added z", "deleted z"]);
}

#[tokio::test]
async fn an_empty_watch_list_still_says_that_it_is_complete() {
    let server = in_process().await;
    let target = "/api/v1/namespaces/default/pods?watch=true&allowWatchBookmarks=true\
                  &sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1";
    let reply = send(&server, "GET", target, &[], "").await;
    let first: Value =
        serde_json::from_slice(reply.bytes.split(|b| *b == b'\n').next().unwrap()).unwrap();
    assert_eq!(first["type"], "BOOKMARK");
    assert_eq!(
        first["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(first["object"]["kind"], "Pod");
}

#[tokio::test]
async fn table_watches_send_columns_once() {
    let server = in_process().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("test"));
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &config_map(name, "x"))
            .await
            .unwrap();
    }
    let accept = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let target = "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1";
    let reply = send(&server, "GET", target, &[accept], "").await;
    let lines: Vec<Value> = reply
        .bytes
        .split(|b| *b == b'\n')
        .filter(|l| !l.is_empty())
        .map(|l| serde_json::from_slice(l).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert!(
        !lines[0]["object"]["columnDefinitions"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let second = lines[1]["object"]["columnDefinitions"].as_array();
    assert!(second.is_none_or(Vec::is_empty));
    assert_eq!(lines[1]["object"]["rows"][0]["cells"][0], "b");
}

#[tokio::test]
async fn a_watch_from_the_future_is_refused_and_one_ends_with_the_server() {
    let server = in_process().await;
    let target = "/api/v1/pods?watch=true&resourceVersion=99999";
    let reply = send(&server, "GET", target, &[], "").await;
    assert_eq!(reply.code, 504);
    let client = server.client("test");
    let api: Api<Pod> = Api::all(client);
    let events = api.watch(&WatchParams::default(), "0").await.unwrap();
    server.stop().await;
    let events = tokio::time::timeout(Duration::from_secs(5), events.collect::<Vec<_>>()).await;
    assert!(events.unwrap().is_empty());
}

#[tokio::test]
async fn a_watch_from_before_history_says_so_in_its_stream() {
    let server = forgetful().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("test"));
    let made = api
        .create(&PostParams::default(), &config_map("a", "x"))
        .await
        .unwrap();
    let before = made.metadata.resource_version.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let target = format!(
        "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=2&resourceVersion={before}"
    );
    let reply = send(&server, "GET", &target, &[], "").await;
    assert_eq!(reply.code, 200);
    let event: Value = serde_json::from_slice(&reply.bytes).unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    assert_eq!(event["object"]["reason"], "Expired");
}

#[tokio::test]
async fn a_page_from_before_history_comes_with_a_way_on() {
    let server = forgetful().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("test"));
    for name in ["a", "b", "c"] {
        api.create(&PostParams::default(), &config_map(name, "x"))
            .await
            .unwrap();
    }
    let path = "/api/v1/namespaces/default/configmaps";
    let first = send(&server, "GET", &format!("{path}?limit=1"), &[], "")
        .await
        .json();
    let token = first["metadata"]["continue"].as_str().unwrap().to_owned();
    api.delete("c", &DeleteParams::default()).await.unwrap();
    let expired = send(
        &server,
        "GET",
        &format!("{path}?limit=1&continue={token}"),
        &[],
        "",
    )
    .await;
    assert_eq!(expired.code, 410);
    let token = expired.json()["metadata"]["continue"]
        .as_str()
        .unwrap()
        .to_owned();
    let second = send(
        &server,
        "GET",
        &format!("{path}?limit=1&continue={token}"),
        &[],
        "",
    )
    .await;
    assert_eq!(second.json()["items"][0]["metadata"]["name"], "b");
}

/// The frames of a watch over WebSocket, read to its end.
async fn frames(server: &Handle, target: &str, protocols: &str) -> (String, Vec<Value>) {
    let address = server.address().unwrap();
    let pair = &server.pki().admin;
    let stream = tls(address, &server.pki().ca.certificate, pair)
        .await
        .unwrap();
    let io = TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    let request = http::Request::get(target)
        .header("host", "localhost")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", protocols)
        .body(http_body_util::Empty::<bytes::Bytes>::new())
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 101);
    let protocol = response.headers()["sec-websocket-protocol"]
        .to_str()
        .unwrap();
    let protocol = protocol.to_owned();
    let upgraded = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    let mut socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, None).await;
    socket
        .send(Message::Ping("still there?".into()))
        .await
        .unwrap();
    let mut events = Vec::new();
    let mut answered = false;
    while let Some(Ok(message)) = socket.next().await {
        match message {
            Message::Text(text) => events.push(serde_json::from_str(&text).unwrap()),
            Message::Pong(text) => answered = &text[..] == b"still there?",
            other => assert!(matches!(other, Message::Close(_)), "{other:?}"),
        }
    }
    assert!(answered, "a ping is answered");
    (protocol, events)
}

#[tokio::test]
async fn a_websocket_gets_an_event_in_each_frame() {
    let (server, client) = over_the_wire().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &config_map(name, "x"))
            .await
            .unwrap();
    }
    let target = "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1";
    let (protocol, events) = frames(&server, target, "base64.binary.k8s.io").await;
    assert_eq!(protocol, "base64.binary.k8s.io");
    let seen: Vec<_> = events
        .iter()
        .map(|e| {
            (
                e["type"].as_str().unwrap(),
                e["object"]["metadata"]["name"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(seen, [("ADDED", "a"), ("ADDED", "b")]);
    server.stop().await;
}
