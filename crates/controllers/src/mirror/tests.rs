//! Events in, changes out.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::*;

fn object(name: &str, version: &str) -> ConfigMap {
    let object = json!({"metadata": {"namespace": "a", "name": name, "resourceVersion": version}});
    serde_json::from_value(object).unwrap()
}

fn play(events: Vec<Event<ConfigMap>>) -> (Mirror<ConfigMap>, Vec<String>) {
    let mut mirror = Mirror::new();
    let mut changes = Vec::new();
    for event in events {
        changes.extend(mirror.apply(event));
    }
    let version = |object: &Option<Arc<ConfigMap>>| {
        object
            .as_ref()
            .and_then(|object| object.resource_version())
            .unwrap_or("-".into())
    };
    let shown = changes.iter().map(|change| {
        format!(
            "{} {}→{}",
            change.key,
            version(&change.old),
            version(&change.new)
        )
    });
    let shown = shown.collect();
    (mirror, shown)
}

#[test]
fn a_watch_tells_old_and_new() {
    let (mirror, changes) = play(vec![
        Event::Init,
        Event::InitApply(object("x", "1")),
        Event::InitDone,
        Event::Apply(object("y", "2")),
        Event::Apply(object("x", "3")),
        Event::Apply(object("x", "3")),
        Event::Apply(object("x", "2")),
        Event::Delete(object("y", "4")),
        Event::Delete(object("unknown", "5")),
    ]);
    assert_eq!(changes, ["a/x -→1", "a/y -→2", "a/x 1→3", "a/y 4→-"]);
    assert!(mirror.is_complete());
    assert_eq!(mirror.in_namespace("a").count(), 1);
    assert_eq!(mirror.in_namespace("b").count(), 0);
}

#[test]
fn a_new_list_tells_only_what_changed_and_what_vanished() {
    let (mirror, changes) = play(vec![
        Event::Init,
        Event::InitApply(object("same", "1")),
        Event::InitApply(object("changed", "2")),
        Event::InitApply(object("gone", "3")),
        Event::InitDone,
        Event::Init,
        Event::InitApply(object("same", "1")),
        Event::InitApply(object("changed", "4")),
        Event::InitApply(object("new", "5")),
        Event::InitDone,
    ]);
    assert_eq!(changes[3..], ["a/changed 2→4", "a/new -→5", "a/gone 3→-"]);
    assert!(mirror.get(&Key::new("a", "gone")).is_none());
}
