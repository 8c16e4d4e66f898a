//! Issuing and checking, against worlds where things disappear.

use ring::rand::SystemRandom;

use super::*;
use crate::auth::tests::{NOW, issuer, now, state, yaml};

const WORLD: &str = r#"
apiVersion: v1
kind: ServiceAccount
metadata: {name: sa, namespace: ns, uid: sa-uid}
---
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: ns, uid: pod-uid}
spec: {serviceAccountName: sa, nodeName: node}
---
apiVersion: v1
kind: Pod
metadata: {name: foreign, namespace: ns, uid: foreign-uid}
spec: {serviceAccountName: other}
---
apiVersion: v1
kind: Secret
metadata: {name: secret, namespace: ns, uid: secret-uid}
---
apiVersion: v1
kind: Node
metadata: {name: node, uid: node-uid}
"#;

fn ask(issuer: &Issuer, state: &State, body: Value) -> Result<Value, Status> {
    let request = Request {
        namespace: "ns",
        name: "sa",
        body,
        now: now(),
        id: "the-id",
    };
    issue(issuer, state, request, &SystemRandom::new())
}

fn token(issuer: &Issuer, state: &State, bound: Value) -> String {
    let body = json!({"metadata": {}, "spec": {"boundObjectRef": bound}});
    let answer = ask(issuer, state, body).unwrap();
    answer["status"]["token"].as_str().unwrap().into()
}

#[test]
fn a_token_without_wishes_is_for_this_server_and_an_hour() {
    let (issuer, state) = (issuer(), state(&yaml(WORLD)));
    let answer = ask(
        &issuer,
        &state,
        json!({"kind": "TokenRequest", "metadata": {}, "spec": {}}),
    )
    .unwrap();
    let claims = issuer
        .key
        .verify(answer["status"]["token"].as_str().unwrap())
        .unwrap();
    expect_test::expect![[r#"{"aud":["https://kubernetes.default.svc.cluster.local"],"exp":1700003600,"iat":1700000000,"iss":"https://kubernetes.default.svc.cluster.local","jti":"the-id","kubernetes.io":{"namespace":"ns","serviceaccount":{"name":"sa","uid":"sa-uid"}},"nbf":1700000000,"sub":"system:serviceaccount:ns:sa"}"#]]
    .assert_eq(&claims.to_string());
    let mut shown = answer.clone();
    shown["status"]["token"] = "…".into();
    expect_test::expect![[r#"{"kind":"TokenRequest","metadata":{"creationTimestamp":"2023-11-14T22:13:20Z","name":"sa","namespace":"ns","uid":"sa-uid"},"spec":{"audiences":["https://kubernetes.default.svc.cluster.local"],"expirationSeconds":3600},"status":{"expirationTimestamp":"2023-11-14T23:13:20Z","token":"…"}}"#]]
    .assert_eq(&shown.to_string());
}

#[test]
fn a_projected_token_of_a_pod_lives_longer_and_says_when_it_should_be_replaced() {
    let (issuer, state) = (issuer(), state(&yaml(WORLD)));
    let bound = json!({"apiVersion": "v1", "kind": "Pod", "name": "pod"});
    let body =
        json!({"metadata": {}, "spec": {"boundObjectRef": bound, "expirationSeconds": 3607}});
    let answer = ask(&issuer, &state, body).unwrap();
    let claims = issuer
        .key
        .verify(answer["status"]["token"].as_str().unwrap())
        .unwrap();
    assert_eq!(claims["exp"], NOW + EXTENDED_SECONDS);
    expect_test::expect![[r#"{"namespace":"ns","node":{"name":"node","uid":"node-uid"},"pod":{"name":"pod","uid":"pod-uid"},"serviceaccount":{"name":"sa","uid":"sa-uid"},"warnafter":1700003607}"#]]
    .assert_eq(&claims["kubernetes.io"].to_string());
    assert_eq!(
        answer["status"]["expirationTimestamp"],
        "2023-11-14T23:13:27Z"
    );
}

#[test]
fn requests_that_make_no_sense_are_refused_in_upstreams_words() {
    let (issuer, state) = (issuer(), state(&yaml(WORLD)));
    let bound = |kind: &str, name: &str, uid: &str| {
        let version = if kind == "Job" { "batch/v1" } else { "v1" };
        json!({"spec": {"boundObjectRef": {"apiVersion": version, "kind": kind, "name": name, "uid": uid}}})
    };
    let cases = [
        (
            json!({"metadata": {"name": "x"}}),
            422,
            r#"TokenRequest.authentication.k8s.io "sa" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified"#,
        ),
        (
            json!({"metadata": {"uid": "x"}}),
            409,
            r#"Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "sa": the UID in the token request (x) does not match the UID of the service account (sa-uid)"#,
        ),
        (
            json!({"spec": {"expirationSeconds": 599}}),
            422,
            r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"#,
        ),
        (
            json!({"spec": {"expirationSeconds": 4294967297_i64}}),
            422,
            r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"#,
        ),
        (bound("Pod", "gone", ""), 404, r#"pods "gone" not found"#),
        (
            bound("Pod", "foreign", ""),
            400,
            r#"cannot bind token for serviceaccount "sa" to pod running with different serviceaccount name."#,
        ),
        (
            bound("Secret", "secret", "x"),
            409,
            r#"Operation cannot be fulfilled on Secret "secret": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated"#,
        ),
        (
            bound("Job", "x", ""),
            400,
            "cannot bind token to object of type batch/v1, Kind=Job",
        ),
    ];
    for (body, code, message) in cases {
        let status = ask(&issuer, &state, body).unwrap_err();
        assert_eq!(status.to_value()["message"], message);
        assert_eq!(status.code(), code);
    }
}

#[test]
fn a_good_token_gives_the_account_its_groups_and_what_it_is_bound_to() {
    let (issuer, state) = (issuer(), state(&yaml(WORLD)));
    let bound = json!({"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "pod-uid"});
    let token = token(&issuer, &state, bound);
    let found = verify(&issuer, &state, &token, &[], now())
        .unwrap()
        .unwrap();
    expect_test::expect![[r#"
        Verified {
            identity: Identity {
                name: "system:serviceaccount:ns:sa",
                uid: "sa-uid",
                groups: [
                    "system:serviceaccounts",
                    "system:serviceaccounts:ns",
                    "system:authenticated",
                ],
                extra: {
                    "authentication.kubernetes.io/credential-id": [
                        "JTI=the-id",
                    ],
                    "authentication.kubernetes.io/node-name": [
                        "node",
                    ],
                    "authentication.kubernetes.io/node-uid": [
                        "node-uid",
                    ],
                    "authentication.kubernetes.io/pod-name": [
                        "pod",
                    ],
                    "authentication.kubernetes.io/pod-uid": [
                        "pod-uid",
                    ],
                },
            },
            audiences: [
                "https://kubernetes.default.svc.cluster.local",
            ],
        }
    "#]]
    .assert_debug_eq(&found);
}

#[test]
fn a_token_ends_with_its_time_its_account_and_what_it_is_bound_to() {
    let issuer = issuer();
    let whole = state(&yaml(WORLD));
    let bound = |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "name": name});
    let check = |token: &str, world: &str, seconds: i64| {
        let at = now() + SignedDuration::from_secs(seconds);
        match verify(&issuer, &state(&yaml(world)), token, &[], at) {
            Ok(found) => format!("{}", found.is_some()),
            Err(error) => error.to_string(),
        }
    };
    let free = token(&issuer, &whole, Value::Null);
    assert_eq!(check(&free, WORLD, 3660), "true");
    assert_eq!(
        check(&free, WORLD, 3661),
        "service account token has expired"
    );
    assert_eq!(
        check(&free, WORLD, -61),
        "service account token is not valid yet"
    );
    assert_eq!(
        check(&free, "", 0),
        "service account ns/sa has been deleted"
    );
    assert_eq!(
        check(&free, &WORLD.replace("sa-uid", "new"), 0),
        "service account ns/sa has been deleted"
    );

    let invalid = "service account token has been invalidated";
    for (kind, name) in [("Pod", "pod"), ("Secret", "secret"), ("Node", "node")] {
        let token = token(&issuer, &whole, bound(kind, name));
        assert_eq!(check(&token, WORLD, 0), "true");
        assert_eq!(
            check(&token, &WORLD.replace(&format!("{name}-uid"), "new"), 0),
            invalid,
            "{kind}"
        );
        let uid = format!("uid: {name}-uid");
        let deleting = format!("{uid}, deletionTimestamp: \"2023-11-14T22:13:20Z\"");
        let world = WORLD.replace(&uid, &deleting);
        assert_eq!(check(&token, &world, 60), "true", "{kind} is being deleted");
        assert_eq!(
            check(&token, &world, 61),
            invalid,
            "{kind} is being deleted"
        );
    }
    let token = token(&issuer, &whole, bound("Pod", "pod"));
    assert_eq!(
        check(&token, &WORLD.replace("node-uid", "new"), 0),
        "true",
        "the pod decides"
    );
}

#[test]
fn tokens_of_others_are_nobodys_and_audiences_must_meet() {
    let (issuer, state) = (issuer(), state(&yaml(WORLD)));
    let other = Issuer {
        url: "https://other".into(),
        ..std::sync::Arc::into_inner(crate::auth::tests::issuer()).unwrap()
    };
    let theirs = token(&other, &state, Value::Null);
    assert_eq!(verify(&issuer, &state, &theirs, &[], now()), Ok(None));
    assert_eq!(verify(&issuer, &state, "opaque", &[], now()), Ok(None));
    let forged = token(
        &Issuer {
            url: issuer.url.clone(),
            ..other
        },
        &state,
        Value::Null,
    );
    assert_eq!(
        verify(&issuer, &state, &forged, &[], now()),
        Err(Error::Jws(jws::Error::OtherKey))
    );

    let body = json!({"metadata": {}, "spec": {"audiences": ["vault", "ca"]}});
    let answer = ask(&issuer, &state, body).unwrap();
    let token = answer["status"]["token"].as_str().unwrap();
    assert!(matches!(
        verify(&issuer, &state, token, &[], now()),
        Err(Error::Audience(..))
    ));
    let asked = ["x".to_owned(), "vault".to_owned()];
    let found = verify(&issuer, &state, token, &asked, now())
        .unwrap()
        .unwrap();
    assert_eq!(found.audiences, ["vault"]);
}

#[test]
fn the_published_documents_are_what_clients_of_openid_expect() {
    let issuer = issuer();
    expect_test::expect![[r#"{"id_token_signing_alg_values_supported":["ES256"],"issuer":"https://kubernetes.default.svc.cluster.local","jwks_uri":"https://kubernetes.default.svc.cluster.local/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"]}"#]]
    .assert_eq(&discovery(&issuer).to_string());
    let keys = jwks(&issuer);
    assert_eq!(keys["keys"][0]["kty"], "EC");
}

#[test]
fn tokens_of_an_older_key_stay_good_and_both_keys_are_published() {
    let random = SystemRandom::new();
    let old = Key::generate(&random).unwrap();
    let new = Key::generate(&random).unwrap();
    let issuer = |key: &[u8], older: &[&[u8]]| {
        let key_of = |der: &[u8]| Key::from_pkcs8(der, &random).unwrap();
        let url = "https://issuer.example".to_owned();
        Issuer {
            audiences: vec![url.clone()],
            url,
            key: key_of(key),
            older: older.iter().map(|der| key_of(der)).collect(),
        }
    };
    let state = state(&yaml(WORLD));
    let token = token(&issuer(&old, &[]), &state, Value::Null);
    let rotated = issuer(&new, &[&old]);
    let judged = verify(&rotated, &state, &token, &[], now()).unwrap();
    assert_eq!(judged.unwrap().identity.name, "system:serviceaccount:ns:sa");
    let forgotten = verify(&issuer(&new, &[]), &state, &token, &[], now());
    assert_eq!(forgotten, Err(Error::Jws(jws::Error::OtherKey)));
    assert_eq!(jwks(&rotated)["keys"].as_array().unwrap().len(), 2);
}
