use serde_json::json;

use super::*;

#[test]
fn what_is_equal_stays_equal() {
    let mut mask = Mask::default();
    let object = |version: &str| {
        json!({
            "kind": "Service",
            "metadata": {
                "name": "web-x7k2p", "generateName": "web-", "resourceVersion": version,
                "uid": "0a1b2c3d-0000-1111-2222-333344445555", "creationTimestamp": "2026-01-02T03:04:05Z",
            },
            "spec": {"clusterIP": "10.96.3.4", "clusterIPs": ["10.96.3.4"], "ports": [{"port": 80, "nodePort": 30001}]},
        })
    };
    let masked = |version: &str| {
        json!({
            "kind": "Service",
            "metadata": {
                "name": "web-SUFFIX", "generateName": "web-", "resourceVersion": version,
                "uid": "UID", "creationTimestamp": "TIME",
            },
            "spec": {"clusterIP": "IP1", "clusterIPs": ["IP1"], "ports": [{"port": 80, "nodePort": "PORT1"}]},
        })
    };
    assert_eq!(mask.body(object("12")), masked("RV1"));
    assert_eq!(mask.body(object("15")), masked("RV2"));
    assert_eq!(mask.body(object("12")), masked("RV1"));
}

#[test]
fn lists_tables_and_texts() {
    let mut mask = Mask::default();
    let table = json!({
        "kind": "Table", "metadata": {"resourceVersion": "7", "continue": "abc"},
        "rows": [{"cells": ["a", "2m3s", 3]}],
    });
    let want = json!({
        "kind": "Table", "metadata": {"resourceVersion": "HERE", "continue": "TOKEN"},
        "rows": [{"cells": ["a", "AGE", 3]}],
    });
    assert_eq!(mask.body(table), want);
    assert_eq!(
        mask.body(json!({"items": [], "metadata": {"resourceVersion": "9"}}))["metadata"],
        json!({"resourceVersion": "HERE"})
    );
    let rules = json!({"incomplete": false, "resourceRules": [{"verbs": ["b"]}, {"verbs": ["a"]}]});
    assert_eq!(
        mask.body(rules)["resourceRules"],
        json!([{"verbs": ["a"]}, {"verbs": ["b"]}])
    );
    for (text, want) in [
        ("at 2026-01-02T03:04:05.000006Z", "at TIME"),
        ("token eyJhbGciOiJ9.eyJhdWQi.c2ln_x", "token TOKEN"),
        (
            "volume kube-api-access-zx81q",
            "volume kube-api-access-SUFFIX",
        ),
        ("IP 10.96.3.4", "IP IP1"),
        ("at 192.0.2.1:6443", "at ADDRESS"),
        ("in the precondition (123)", "in the precondition (NUMBER)"),
        ("too large, current: 12", "too large, current: NUMBER"),
        (
            "ResourceVersion in precondition: 12, ResourceVersion in object meta: 345",
            "ResourceVersion in precondition: NUMBER, ResourceVersion in object meta: NUMBER",
        ),
        ("\"UPPERq5x0b\" is invalid", "\"UPPERSUFFIX\" is invalid"),
        (
            r#"{\"managedFields\":[{\"a\":[1]}],\"name\":\"a\",\"resourceVersion\":\"12\"}"#,
            r#"{\"managedFields\":MANAGERS,\"name\":\"a\",\"resourceVersion\":\"VERSION\"}"#,
        ),
    ] {
        assert_eq!(mask.text(text), want);
    }
}
