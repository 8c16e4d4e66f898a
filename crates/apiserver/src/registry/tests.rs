use serde_json::{Value, json};

use super::*;
use crate::{access::Identity, store::State};

/// A row for tests; `status` gives it a status endpoint.
pub(crate) fn row(group: &str, plural: &str, kind: &str, status: bool) -> Resource {
    let mut schema = Schema::new();
    let root = schema.add(flotilla_machinery::schema::Type::Any);
    let subresources = status.then(|| Subresource {
        name: "status".into(),
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
        verbs: Verbs::of(&[Verb::Get, Verb::Patch, Verb::Update]),
    });
    Resource {
        group: group.into(),
        version: "v1".into(),
        plural: plural.into(),
        singular: kind.to_lowercase().into(),
        kind: kind.into(),
        list_kind: format!("{kind}List").into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: Verbs::ALL,
        subresources: subresources.into_iter().collect(),
        shape: Shape {
            schema: SchemaRef::Shared(Arc::new(schema)),
            root,
        },
        storage: ResourceKey::new(group, plural),
        storage_api_version: "v1".into(),
        conversion: Conversion::None,
        storage_version_hash: "".into(),
        tracks_generation: true,
        has_status: status,
        strategy: Arc::new(Generic),
        deprecation: None,
        custom: None,
        defaults: None,
        webhook: None,
    }
}

fn with<T>(resource: &Resource, subresource: &str, f: impl FnOnce(&Context<'_>) -> T) -> T {
    let user = Identity::internal("test");
    let state = State::new(1);
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    f(&Context {
        resource,
        subresource,
        now,
        entropy: 0,
        dry_run: false,
        user: &user,
        state: &state,
    })
}

#[test]
fn rows_are_found_by_path_and_by_kind() {
    let registry = Registry::new([
        Arc::new(row("", "pods", "Pod", true)),
        Arc::new(row("apps", "deployments", "Deployment", true)),
    ]);
    assert_eq!(
        registry
            .get("apps", "v1", "deployments")
            .unwrap()
            .qualified(),
        "deployments.apps"
    );
    assert_eq!(registry.kind("", "v1", "Pod").unwrap().api_version(), "v1");
    assert!(registry.get("apps", "v1", "pods").is_none());
    assert!(registry.serves("apps", "v1") && !registry.serves("apps", "v2"));
}

#[test]
fn a_definition_never_shadows_a_built_in_kind() {
    let built_in = Registry::new([Arc::new(row("", "pods", "Pod", true))]);
    let mut fake = row("", "pods", "Fake", false);
    fake.custom = Some(Custom::default());
    let mut widget = row("example.com", "widgets", "Widget", false);
    widget.custom = Some(Custom::default());
    let registry = built_in.with_custom([Arc::new(fake), Arc::new(widget)], 7);
    assert_eq!(registry.get("", "v1", "pods").unwrap().kind.as_ref(), "Pod");
    assert!(registry.get("example.com", "v1", "widgets").is_some());
    assert_eq!(registry.custom_rev(), 7);
    let later = registry.with_custom([], 8);
    assert!(later.get("example.com", "v1", "widgets").is_none());
}

#[test]
fn creation_drops_status_and_starts_at_generation_one() {
    let mut object = json!({"metadata": {"generation": 9}, "spec": {}, "status": {"ok": true}});
    with(&row("", "pods", "Pod", true), "", |cx| {
        Generic.prepare_create(cx, &mut object)
    });
    assert_eq!(object, json!({"metadata": {"generation": 1}, "spec": {}}));
}

#[track_caller]
fn update(subresource: &str, old: &Value, mut new: Value) -> Value {
    with(&row("", "pods", "Pod", true), subresource, |cx| {
        Generic.prepare_update(cx, &mut new, old);
    });
    new
}

#[test]
fn each_endpoint_writes_its_own_half() {
    let old = json!({"metadata": {"generation": 3}, "spec": {"a": 1}, "status": {"b": 1}});
    let new = json!({"metadata": {"labels": {"x": "y"}}, "spec": {"a": 2}, "status": {"b": 2}});
    assert_eq!(
        update("", &old, new.clone()),
        json!({"metadata": {"generation": 4, "labels": {"x": "y"}}, "spec": {"a": 2},
               "status": {"b": 1}})
    );
    assert_eq!(
        update("status", &old, new),
        json!({"metadata": {"generation": 3, "labels": {"x": "y"}}, "spec": {"a": 1},
               "status": {"b": 2}})
    );
}

#[test]
fn labels_alone_do_not_count_the_generation_up() {
    let old = json!({"metadata": {"generation": 3}, "spec": {"a": 1}});
    let new = json!({"metadata": {"labels": {"x": "y"}}, "spec": {"a": 1}});
    assert_eq!(update("", &old, new)["metadata"]["generation"], 3);
}

#[test]
fn built_in_rows_know_their_storage() {
    let registry = Registry::new(built_in());
    let events = registry.get("events.k8s.io", "v1", "events").unwrap();
    assert_eq!(
        (events.storage.to_string(), events.conversion),
        ("events".into(), Conversion::Rewrite)
    );
    let old = registry
        .get("autoscaling", "v1", "horizontalpodautoscalers")
        .unwrap();
    assert_eq!(old.storage_api_version.as_ref(), "autoscaling/v2");
    assert!(
        registry
            .get("apps", "v1", "deployments")
            .unwrap()
            .has_status
    );
    assert_eq!(
        registry
            .get("", "v1", "pods")
            .unwrap()
            .subresource("eviction")
            .unwrap()
            .group
            .as_ref(),
        "policy"
    );
}

#[test]
fn what_a_kind_takes_for_the_same_is_found_in_one_walk() {
    use super::strategy::generic::same_desire;

    let nested =
        |innermost: Value| (0..100).fold(innermost, |inner, _| json!({"properties": {"a": inner}}));
    let none = nested(json!({}));
    let empty = nested(json!({"required": []}));
    assert!(same_desire(&none, &empty) && same_desire(&empty, &none));
    let other = nested(json!({"required": ["b"]}));
    assert!(!same_desire(&none, &other) && !same_desire(&other, &none));
}
