use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{handshake, lines};

#[test]
fn a_line_is_a_frame() {
    let frames = |chunk: &'static str| -> Vec<String> {
        let chunk = Bytes::from_static(chunk.as_bytes());
        lines(&chunk).map(|line| line.to_string()).collect()
    };
    assert_eq!(
        frames("{\"a\":1}\n{\"b\":2}\n"),
        ["{\"a\":1}\n", "{\"b\":2}\n"]
    );
    assert_eq!(frames("x"), ["x"]);
    assert!(frames("").is_empty());
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| {
            let name = http::HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        })
        .collect()
}

const ASKED: [(&str, &str); 4] = [
    ("connection", "keep-alive, Upgrade"),
    ("upgrade", "WebSocket"),
    ("sec-websocket-version", "13"),
    // The example of RFC 6455 §1.3.
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

#[test]
fn the_handshake_is_that_of_the_standard() {
    let mut asked = headers(&ASKED);
    assert!(handshake::is_asked(&asked));
    asked.insert(
        "sec-websocket-protocol",
        HeaderValue::from_static(
            "base64url.bearer.authorization.k8s.io.c2VjcmV0, base64.binary.k8s.io",
        ),
    );
    assert_eq!(handshake::token(&asked), Ok(Some("secret".to_owned())));
    let response = handshake::accept(&asked).expect("complete");
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let header = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
    assert_eq!(
        header("sec-websocket-accept"),
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    );
    assert_eq!(header("sec-websocket-protocol"), "base64.binary.k8s.io");
    assert_eq!(header("upgrade"), "websocket");
    assert_eq!(header("connection"), "Upgrade");
}

#[test]
fn what_is_no_websocket_is_not_taken_for_one() {
    assert!(!handshake::is_asked(&headers(&[("upgrade", "websocket")])));
    assert!(!handshake::is_asked(&headers(&[
        ("connection", "Upgrade"),
        ("upgrade", "SPDY/3.1")
    ])));
    let mut old = headers(&ASKED);
    old.insert("sec-websocket-version", HeaderValue::from_static("8"));
    let refused = handshake::accept(&old).expect_err("an old version");
    assert_eq!(refused.message, "missing or bad WebSocket Version");
    assert_eq!(handshake::token(&headers(&ASKED)), Ok(None));
    let mut alone = headers(&ASKED);
    alone.insert(
        "sec-websocket-protocol",
        HeaderValue::from_static("base64url.bearer.authorization.k8s.io.c2VjcmV0"),
    );
    assert!(
        handshake::token(&alone).is_err(),
        "a browser could not go on"
    );
}
