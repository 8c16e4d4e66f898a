use serde_json::{Value, json};

use super::{Webhook, refused};
use crate::endpoints::ServiceRef;

fn url(config: &Value) -> String {
    Webhook::new(config).url
}

#[test]
fn the_address_comes_from_the_configuration() {
    assert_eq!(
        url(&json!({"url": "https://x.example:8443/c"})),
        "https://x.example:8443/c"
    );
    let service = json!({"service": {"name": "s", "namespace": "n", "path": "/c"}});
    assert_eq!(url(&service), "https://s.n.svc:443/c");
    let service = json!({"service": {"name": "s", "namespace": "n", "port": 9443}});
    assert_eq!(url(&service), "https://s.n.svc:9443/");
    let expected = ServiceRef {
        namespace: "n".into(),
        name: "s".into(),
        port: 9443,
    };
    assert_eq!(Webhook::new(&service).service, Some(expected));
}

#[test]
fn refusals_read_like_those_of_other_clients() {
    let said = |code: u16, body: &str| {
        let code = http::StatusCode::from_u16(code).expect("a code");
        refused(code, body.as_bytes())
    };
    assert_eq!(
        said(404, "x"),
        "the server could not find the requested resource"
    );
    assert_eq!(
        said(503, "down\n"),
        "an error on the server (\"down\") has prevented the request from succeeding"
    );
    assert_eq!(
        said(400, "bad"),
        "the server responded with the status code 400 but did not return more information: bad"
    );
}
