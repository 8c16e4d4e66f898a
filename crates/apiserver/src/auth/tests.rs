//! Worlds for the tests below, and the authorizer and authenticator over a store.

use std::sync::Arc;

use jiff::Timestamp;
use ring::rand::SystemRandom;
use serde_json::{Value, json};

use super::{
    Access, Tokens,
    jws::Key,
    service_account::{self, Issuer},
    token_file::TokenFile,
};
use crate::{
    access::{Attributes, Authenticator, Authorizer, Decision, Identity, ResourceAttributes},
    store::{Draft, Expect, ObjectKey, Op, ResourceKey, State, Store, StoreConfig, Write},
};

pub(super) const NOW: i64 = 1_700_000_000;

pub(super) fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

/// Writes objects; kinds become resources by appending `s`.
pub(super) fn put(store: &Store, objects: &[Value]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for object in objects {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or("")
        };
        let version = text("/apiVersion");
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let plural = format!("{}s", text("/kind").to_lowercase());
        let (resource, key) = (
            ResourceKey::new(group, &plural),
            ObjectKey::new(text("/metadata/namespace"), text("/metadata/name")),
        );
        let found = store.state().get(&resource, &key).map(|found| found.rev);
        let write = Write {
            expect: found.map_or(Expect::Absent, Expect::Rev),
            op: Op::Put(Draft::new(object, Vec::new()).unwrap()),
            resource,
            key,
        };
        runtime.block_on(store.commit(write)).unwrap();
    }
}

pub(super) fn store(objects: &[Value]) -> Store {
    let store = Store::open(StoreConfig::new(None), now()).unwrap();
    put(&store, objects);
    store
}

pub(super) fn state(objects: &[Value]) -> Arc<State> {
    store(objects).state()
}

/// Reads a list of YAML documents.
pub(super) fn yaml(text: &str) -> Vec<Value> {
    let documents = text
        .split("\n---\n")
        .filter(|document| !document.trim().is_empty());
    documents
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

pub(super) fn user(name: &str, groups: &[&str]) -> Identity {
    Identity::user(name, groups.iter().map(ToString::to_string))
}

/// `verb [namespace/]resource[/sub][.group] [name]`, or `verb /path`.
pub(super) fn asks(text: &str) -> Attributes {
    let mut words = text.split(' ');
    let verb = words.next().unwrap().to_owned();
    let what = words.next().unwrap();
    if what.starts_with('/') {
        return Attributes::Path {
            path: what.into(),
            verb,
        };
    }
    let (namespace, what) = what.split_once(':').unwrap_or(("", what));
    let (what, group) = what.split_once('.').unwrap_or((what, ""));
    let (resource, subresource) = what.split_once('/').unwrap_or((what, ""));
    Attributes::Resource(ResourceAttributes {
        verb,
        group: group.into(),
        version: "v1".into(),
        resource: resource.into(),
        subresource: subresource.into(),
        namespace: namespace.into(),
        name: words.next().unwrap_or("").into(),
    })
}

pub(super) fn issuer() -> Arc<Issuer> {
    let random = SystemRandom::new();
    let key = Key::from_pkcs8(&Key::generate(&random).unwrap(), &random).unwrap();
    let url = "https://kubernetes.default.svc.cluster.local".to_owned();
    Arc::new(Issuer {
        audiences: vec![url.clone()],
        url,
        key,
        older: Vec::new(),
    })
}

#[test]
fn access_follows_the_store_at_once_and_masters_need_no_rule() {
    let store = store(&[]);
    let access = Access::new(store.clone());
    let root = user("root", &["system:masters"]);
    let bob = user("bob", &[]);
    let question = asks("get a:pods");
    assert_eq!(
        access.authorize(&root, &question),
        Decision::Allow(String::new())
    );
    assert_eq!(
        access.authorize(&bob, &question),
        Decision::NoOpinion(String::new())
    );
    put(
        &store,
        &yaml(
            r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
"#,
        ),
    );
    let reason =
        r#"RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to User "bob""#;
    assert_eq!(
        access.authorize(&bob, &question),
        Decision::Allow(reason.into())
    );
    let index = access.index();
    put(
        &store,
        &yaml("apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}"),
    );
    assert!(
        Arc::ptr_eq(&index, &access.index()),
        "other writes do not compile it anew"
    );
}

#[test]
fn tokens_are_looked_up_in_the_file_and_then_checked_as_ours() {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa", "namespace": "ns", "uid": "u1"},
    });
    let store = store(&[account]);
    let issuer = issuer();
    let file = TokenFile::parse("secret,admin,1,system:masters").unwrap();
    let tokens = Tokens::new(store.clone(), file, issuer.clone());
    let named = |token: &str| {
        let identity = tokens.token(token, &[], now()).unwrap();
        identity.map(|identity| identity.name)
    };
    assert_eq!(named("secret").as_deref(), Some("admin"));
    assert_eq!(named("other"), None);
    let elsewhere = ["https://elsewhere".to_owned()];
    assert_eq!(tokens.token("secret", &elsewhere, now()), Ok(None));
    let request = service_account::Request {
        namespace: "ns",
        name: "sa",
        body: json!({"metadata": {}, "spec": {}}),
        now: now(),
        id: "id",
    };
    let answer =
        service_account::issue(&issuer, &store.state(), request, &SystemRandom::new()).unwrap();
    let token = answer["status"]["token"].as_str().unwrap();
    assert_eq!(named(token).as_deref(), Some("system:serviceaccount:ns:sa"));
    let error = tokens.token(token, &elsewhere, now()).unwrap_err();
    assert!(error.starts_with("token audiences "), "{error}");
}
