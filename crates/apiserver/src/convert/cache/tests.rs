use std::sync::Arc;

use serde_json::json;

use super::{Cache, Key};
use crate::registry::tests::row;
use crate::store::{Draft, Object, ObjectKey};

fn object(name: &str, rev: u64) -> Arc<Object> {
    let value = json!({"apiVersion": "e/v1", "kind": "Tab", "metadata": {"name": name}});
    let draft = Draft::new(&value, Vec::new()).expect("complete");
    Arc::new(draft.object(ObjectKey::new("", name), rev, 1))
}

#[test]
fn what_is_used_stays_and_what_is_not_goes() {
    let row = row("e", "tabs", "Tab", false);
    let weight = object("a", 1).weight();
    let cache = Cache::new(2 * weight);
    let put = |name: &str| cache.put(Key::new(&row, &object(name, 1)), object(name, 1));
    let has = |name: &str| cache.get(&Key::new(&row, &object(name, 1))).is_some();
    put("a");
    put("b");
    put("c");
    assert!(
        has("a"),
        "the old generation is still there, and `a` young again"
    );
    put("d");
    assert!(has("a") && has("c") && has("d"));
    assert!(!has("b"), "nobody asked for it in the meantime");
}

#[test]
fn another_revision_is_another_object() {
    let row = row("e", "tabs", "Tab", false);
    let cache = Cache::default();
    cache.put(Key::new(&row, &object("a", 1)), object("a", 1));
    assert!(cache.get(&Key::new(&row, &object("a", 2))).is_none());
}
