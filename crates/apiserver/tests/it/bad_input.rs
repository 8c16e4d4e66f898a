//! What must not hurt: each row is one hostile or careless request and the exact answer.

use crate::support::{in_process, send};

const CMS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: (&str, &str) = ("content-type", "application/json");
const YAML: (&str, &str) = ("content-type", "application/yaml");

/// Method, target, header, body; then code and text of the answer.
type Row<'a> = (&'a str, &'a str, (&'a str, &'a str), Vec<u8>, u16, &'a str);

#[tokio::test]
async fn careless_requests_get_clear_answers() {
    let server = in_process().await;
    let big = format!(
        r#"{{"metadata":{{"name":"a"}},"data":{{"a":"{}"}}}}"#,
        "x".repeat(4 << 20)
    );
    let two_mib = format!(
        r#"{{"metadata":{{"name":"a"}},"data":{{"a":"{}"}}}}"#,
        "x".repeat(2 << 20)
    );
    let deep = "a: ".to_owned() + &"[".repeat(5000) + &"]".repeat(5000);
    let invalid: &[u8] = b"{\"metadata\":{\"name\":\"\xff\"}}";
    let unknown = r#"{"metadata":{"name":"a"},"nope":1}"#;
    let strict = "/api/v1/namespaces/default/configmaps?fieldValidation=Strict";
    let revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
    let revision = format!(
        r#"{{"metadata":{{"name":"a"}},"revision":1,"data":{{"a":"{}"}}}}"#,
        "x".repeat(2 << 20)
    );
    let rows: Vec<Row<'_>> = vec![
        (
            "POST",
            revisions,
            JSON,
            revision.into(),
            413,
            "limit is 1572864 bytes",
        ),
        (
            "POST",
            CMS,
            JSON,
            big.into(),
            413,
            "Request entity too large: limit is 3145728",
        ),
        (
            "POST",
            CMS,
            JSON,
            two_mib.into(),
            422,
            "data: Too long: may not be more than 1048576 bytes",
        ),
        (
            "POST",
            CMS,
            JSON,
            invalid.into(),
            400,
            "not valid UTF-8 (at byte 21)",
        ),
        (
            "POST",
            CMS,
            JSON,
            "".into(),
            400,
            "unexpected end of JSON input (<empty>)",
        ),
        (
            "POST",
            CMS,
            JSON,
            "null".into(),
            422,
            "name or generateName is required",
        ),
        ("POST", CMS, YAML, deep.into(), 400, "is unrecognized"),
        (
            "POST",
            strict,
            JSON,
            unknown.into(),
            400,
            "strict decoding error: unknown field \"nope\"",
        ),
        (
            "POST",
            CMS,
            ("content-type", "text/html"),
            "{}".into(),
            415,
            "in an unknown format",
        ),
        (
            "POST",
            CMS,
            JSON,
            "{}".into(),
            422,
            "name or generateName is required",
        ),
        (
            "GET",
            "/api/v1/namespaces/default/configmaps/a%2Fb",
            JSON,
            "".into(),
            404,
            "could not find",
        ),
        (
            "GET",
            "/api/v1/namespaces/default/configmaps/%zz",
            JSON,
            "".into(),
            400,
            "percent-encoded",
        ),
        (
            "GET",
            "/api/v1/namespaces/default/nothings",
            JSON,
            "".into(),
            404,
            "could not find",
        ),
        (
            "GET",
            "/apis/none.example/v1/things",
            JSON,
            "".into(),
            404,
            "404 page not found",
        ),
        (
            "PUT",
            "/api/v1/namespaces",
            JSON,
            "{}".into(),
            405,
            "does not allow this method",
        ),
        (
            "DELETE",
            "/api/v1/namespaces",
            JSON,
            "".into(),
            405,
            "does not allow this method",
        ),
        (
            "GET",
            "/api/v1/pods?labelSelector=a%3D%3D%3Db",
            JSON,
            "".into(),
            400,
            "unable to parse",
        ),
        (
            "GET",
            "/api/v1/pods?fieldSelector=spec.x%3Db",
            JSON,
            "".into(),
            400,
            "field label not supported: spec.x",
        ),
        (
            "GET",
            "/api/v1/pods?continue=x",
            JSON,
            "".into(),
            400,
            "continue key is not valid",
        ),
        (
            "GET",
            "/api/v1/pods?resourceVersion=999999",
            JSON,
            "".into(),
            504,
            "Too large resource version: 999999",
        ),
        (
            "GET",
            "/api/v1/pods?limit=many",
            JSON,
            "".into(),
            400,
            "parsing \"many\"",
        ),
    ];
    for (method, target, header, body, code, text) in rows {
        let reply = send(&server, method, target, &[header], body).await;
        assert_eq!(reply.code, code, "{method} {target}: {:?}", reply.bytes);
        // Paths of no group at all are answered in plain text.
        let shown = String::from_utf8_lossy(&reply.bytes);
        let message = match reply.bytes.starts_with(b"{") {
            true => reply.message(),
            false => shown.into_owned(),
        };
        assert!(message.contains(text), "{method} {target}: {message}");
    }
}

#[tokio::test]
async fn patches_are_bounded_and_typed() {
    let server = in_process().await;
    let created = r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#;
    assert_eq!(send(&server, "POST", CMS, &[JSON], created).await.code, 201);
    let one = "/api/v1/namespaces/default/configmaps/a";
    let op = r#"{"op":"add","path":"/data/x","value":"y"}"#;
    let many = format!("[{}]", vec![op; 10_001].join(","));
    let json_patch = ("content-type", "application/json-patch+json");
    let merge = ("content-type", "application/merge-patch+json");
    for (header, body, code, text) in [
        (json_patch, many.as_str(), 413, "10000"),
        (
            json_patch,
            r#"[{"op":"test","path":"/data/k","value":"w"}]"#,
            422,
            "rejected our request",
        ),
        (json_patch, "{}", 400, "cannot unmarshal object"),
        (merge, r#"{"metadata":{"name":"b"}}"#, 400, "does not match"),
        (
            merge,
            r#"{"kind":"Secret"}"#,
            400,
            "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
        (
            merge,
            r#"{"metadata":{"resourceVersion":"1"}}"#,
            409,
            "has been modified",
        ),
        (
            ("content-type", "application/json"),
            "{}",
            415,
            "415: Unsupported Media Type",
        ),
    ] {
        let reply = send(&server, "PATCH", one, &[header], body.to_owned()).await;
        assert_eq!(reply.code, code, "{body:.80}: {:?}", reply.bytes);
        assert!(
            reply.message().contains(text),
            "{body:.80}: {}",
            reply.message()
        );
    }
    let reply = send(
        &server,
        "PATCH",
        "/api/v1/namespaces/default/configmaps/none",
        &[merge],
        "{}",
    )
    .await;
    assert_eq!(reply.message(), "configmaps \"none\" not found");
}

#[tokio::test]
async fn unknown_fields_warn_by_default() {
    let server = in_process().await;
    let body = r#"{"metadata":{"name":"a"},"nope":1,"data":{"a":"b","a":"c"}}"#;
    let reply = send(&server, "POST", CMS, &[JSON], body).await;
    assert_eq!(reply.code, 201);
    let warnings: Vec<&str> = reply
        .headers
        .get_all("warning")
        .iter()
        .map(|w| w.to_str().unwrap())
        .collect();
    assert_eq!(
        warnings,
        [
            r#"299 - "duplicate field \"data.a\"""#,
            r#"299 - "unknown field \"nope\"""#
        ]
    );
    assert_eq!(reply.json()["data"]["a"], "c");
}
