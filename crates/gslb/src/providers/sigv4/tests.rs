use super::{Request, query, sign};
use crate::providers::credentials::{Keys, Secret};

fn keys() -> Keys {
    Keys {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into()),
        session_token: None,
    }
}

/// Source: AWS' signature test suite, `get-vanilla` and `get-vanilla-query-order-key-case`.
#[test]
fn the_published_vectors_hold() {
    let request = Request {
        method: "GET",
        host: "example.amazonaws.com",
        path: "/",
        query: &[],
        body: b"",
        region: "us-east-1",
        service: "service",
    };
    let now = "2015-08-30T12:36:00Z".parse().unwrap();
    let signature = |request: &Request<'_>| {
        let headers = sign(request, &keys(), now);
        let (name, value) = headers.last().unwrap().clone();
        assert_eq!(name, "authorization");
        value
    };
    assert_eq!(
        signature(&request),
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
         SignedHeaders=host;x-amz-date, \
         Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
    );
    let ordered = Request {
        query: &[("Param2", "value2"), ("Param1", "value1")],
        ..request
    };
    assert!(
        signature(&ordered)
            .ends_with("b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500")
    );
}

#[test]
fn a_session_token_is_signed_and_sent() {
    let request = Request {
        method: "POST",
        host: "h",
        path: "/x",
        query: &[],
        body: b"body",
        region: "us-east-1",
        service: "route53",
    };
    let keys = Keys {
        session_token: Some(Secret("token".into())),
        ..keys()
    };
    let headers = sign(&request, &keys, "2026-01-01T00:00:00Z".parse().unwrap());
    assert!(headers.contains(&("x-amz-security-token", "token".into())));
    let authorization = &headers.last().unwrap().1;
    assert!(authorization.contains("SignedHeaders=host;x-amz-date;x-amz-security-token,"));
    assert_eq!(
        query(&[("b", "x y"), ("a", "ü/é")]),
        "a=%C3%BC%2F%C3%A9&b=x%20y"
    );
}
