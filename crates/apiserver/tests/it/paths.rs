//! Health, version, metrics, the index, and who may see what.

use flotilla_apiserver::{
    ApiServer, Config, Handle, access::Identity, auth::token_file::TokenFile, engine::Limits,
};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::Service as _;

use crate::support::{in_process, send};

/// A request without an identity of the connection, perhaps with a token.
async fn stranger(server: &Handle, path: &str, token: Option<&str>) -> (u16, Value) {
    let mut request = Request::builder().uri(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Full::new(bytes::Bytes::new())).unwrap();
    let response = server.service().call(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn health_is_for_everybody_and_names_its_checks() {
    let server = in_process().await;
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping", "/version"] {
        assert_eq!(stranger(&server, path, None).await.0, 200, "{path}");
    }
    let verbose = send(&server, "GET", "/readyz?verbose&exclude=etcd", &[], "").await;
    assert_eq!(
        std::str::from_utf8(&verbose.bytes).unwrap(),
        "[+]ping ok\n[+]etcd excluded: ok\n[+]shutdown ok\nreadyz check passed\n"
    );
    assert_eq!(
        send(&server, "GET", "/readyz/nothing", &[], "").await.code,
        404
    );
    let version = stranger(&server, "/version", None).await.1;
    assert!(
        version["gitVersion"]
            .as_str()
            .unwrap()
            .starts_with("v1.35.4+flotilla.")
    );
}

#[tokio::test]
async fn strangers_are_turned_away_and_tokens_are_known() {
    let mut tokens = TokenFile::default();
    tokens.insert("secret", Identity::user("jane", []));
    let config = Config {
        listen: None,
        tokens,
        ..Config::default()
    };
    let server = ApiServer::start(config).await.unwrap();
    let (code, status) = stranger(&server, "/api/v1/pods", None).await;
    assert_eq!(
        (code, status["message"].as_str().unwrap()),
        (
            403,
            "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \
             \"\" at the cluster scope"
        )
    );
    let (code, status) = stranger(&server, "/api", None).await;
    assert_eq!(
        (code, status["message"].as_str().unwrap()),
        (
            403,
            "forbidden: User \"system:anonymous\" cannot get path \"/api\""
        )
    );
    let (code, status) = stranger(&server, "/api/v1/pods", Some("wrong")).await;
    assert_eq!(
        (code, status["message"].as_str().unwrap()),
        (401, "Unauthorized")
    );
    let (code, status) = stranger(&server, "/api/v1/pods", Some("secret")).await;
    assert_eq!(code, 403);
    assert_eq!(
        status["message"],
        "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" at the \
         cluster scope"
    );
    assert_eq!(
        stranger(&server, "/api", Some("secret")).await.0,
        200,
        "discovery is for users"
    );
    assert_eq!(stranger(&server, "/metrics", Some("secret")).await.0, 403);
}

#[tokio::test]
async fn acting_as_somebody_else_means_having_their_rights() {
    let server = in_process().await;
    let jane = [("impersonate-user", "jane")];
    let reply = send(&server, "GET", "/api/v1/nodes", &jane, "").await;
    assert_eq!(reply.code, 403);
    let nobody = [("impersonate-group", "g")];
    assert_eq!(
        send(&server, "GET", "/api/v1/nodes", &nobody, "")
            .await
            .code,
        400
    );
}

#[tokio::test]
async fn too_much_at_once_is_refused() {
    let limits = Limits {
        reads_max: 0,
        writes_max: 0,
        watches_max: 0,
        ..Limits::default()
    };
    let error = ApiServer::start(Config {
        listen: None,
        limits,
        ..Config::default()
    })
    .await;
    // With no place for writes not even the first objects can be made.
    assert!(
        error
            .err()
            .unwrap()
            .to_string()
            .contains("Too many requests")
    );
}

#[tokio::test]
async fn metrics_count_requests_and_objects() {
    let server = in_process().await;
    send(&server, "GET", "/api/v1/namespaces", &[], "").await;
    send(&server, "GET", "/apis/made/up/things", &[], "").await;
    // Refused before anybody looks whether it exists.
    assert_eq!(
        stranger(&server, "/apis/made/up/secretthings", None)
            .await
            .0,
        403
    );
    let text = send(&server, "GET", "/metrics", &[], "").await.bytes;
    let text = std::str::from_utf8(&text).unwrap();
    for part in [
        "apiserver_request_total{verb=\"LIST\",group=\"\",version=\"v1\",resource=\"namespaces\"",
        "apiserver_request_duration_seconds_bucket",
        "apiserver_storage_objects{resource=\"namespaces\"} 4",
        "apiserver_current_inflight_requests{request_kind=\"readOnly\"}",
    ] {
        assert!(text.contains(part), "{part} is missing");
    }
    assert!(
        !text.contains("things"),
        "paths that are not served must not become labels"
    );
    assert!(text.contains("# TYPE apiserver_request_total counter\n"));
    let accept = [("accept", "application/openmetrics-text;version=1.0.0")];
    let open = send(&server, "GET", "/metrics", &accept, "").await;
    assert!(open.bytes.ends_with(b"# EOF\n"));
    let media = open.headers["content-type"].to_str().unwrap();
    assert!(media.starts_with("application/openmetrics-text"));
}

#[tokio::test]
async fn built_in_kinds_begin_with_their_kind_and_custom_ones_by_name() {
    let server = in_process().await;
    let namespace = send(&server, "GET", "/api/v1/namespaces/default", &[], "").await;
    let text = String::from_utf8(namespace.bytes.to_vec()).unwrap();
    assert!(
        text.starts_with("{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{"),
        "{text}"
    );
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let versions = ["v1", "v2"].map(|version| {
        json!({"name": version, "served": true, "storage": version == "v1",
               "schema": {"openAPIV3Schema": {"type": "object"}}})
    });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "tabs.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "versions": versions,
                 "names": {"plural": "tabs", "kind": "Tab"}},
    });
    let json = [("content-type", "application/json")];
    let made = send(&server, "POST", crds, &json, definition.to_string()).await;
    assert_eq!(made.code, 201, "{}", made.message());
    let tab = json!({"kind": "Tab", "apiVersion": "example.com/v1", "metadata": {"name": "a"}});
    let made = send(
        &server,
        "POST",
        "/apis/example.com/v1/tabs",
        &json,
        tab.to_string(),
    )
    .await;
    assert_eq!(made.code, 201, "{}", made.message());
    for version in ["v1", "v2"] {
        let path = format!("/apis/example.com/{version}/tabs/a");
        let shown = send(&server, "GET", &path, &[], "").await;
        let text = String::from_utf8(shown.bytes.to_vec()).unwrap();
        let head = format!("{{\"apiVersion\":\"example.com/{version}\",\"kind\":\"Tab\",");
        assert!(text.starts_with(&head), "{text}");
    }
}

#[tokio::test]
async fn components_are_reported_and_paged() {
    let server = in_process().await;
    let path = "/api/v1/componentstatuses";
    let scheduler = send(&server, "GET", &format!("{path}/scheduler"), &[], "").await;
    let condition = &scheduler.json()["conditions"][0];
    assert_eq!(
        (scheduler.code, &condition["status"]),
        (200, &json!("Unknown"))
    );
    let (mut names, mut token) = (Vec::new(), String::new());
    loop {
        let page = format!("{path}?limit=1&continue={token}");
        let page = send(&server, "GET", &page, &[], "").await.json();
        names.push(
            page["items"][0]["metadata"]["name"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
        match page["metadata"]["continue"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(names, ["controller-manager", "etcd-0", "scheduler"]);
    let absent = send(&server, "GET", &format!("{path}/kubelet"), &[], "").await;
    assert_eq!(absent.message(), "componentstatuses \"kubelet\" not found");
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = send(&server, "GET", &format!("{path}/etcd-0"), &table, "")
        .await
        .json();
    assert_eq!(
        table["rows"][0]["cells"],
        json!(["etcd-0", "Healthy", "ok", ""])
    );
    for (run, status) in [(false, "Unknown"), (true, "True"), (false, "Unknown")] {
        server.set_controllers_run(run);
        let manager = format!("{path}/controller-manager");
        let manager = send(&server, "GET", &manager, &[], "").await.json();
        assert_eq!(manager["conditions"][0]["status"], status);
    }
}

#[tokio::test]
async fn the_index_lists_paths_and_people_get_indented_json() {
    let server = in_process().await;
    let index = send(&server, "GET", "/", &[], "").await.json();
    assert!(
        index["paths"]
            .as_array()
            .unwrap()
            .iter()
            .any(|p| p == "/apis/apps/v1")
    );
    let curl = [("user-agent", "curl/8.5")];
    let pretty = send(&server, "GET", "/api/v1/namespaces/default", &curl, "").await;
    assert!(
        pretty
            .bytes
            .starts_with(b"{\n  \"kind\": \"Namespace\",\n  \"apiVersion\": \"v1\",")
    );
    assert!(pretty.headers.contains_key("audit-id"));
    assert_eq!(pretty.headers["cache-control"], "no-cache, private");
}
