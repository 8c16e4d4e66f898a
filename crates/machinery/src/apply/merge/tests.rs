use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::builtin;
use crate::schema::{ListKey, ListMerge};

/// Items as of a pod's environment; a name may come twice, as in a live list it may.
fn items() -> impl Strategy<Value = Vec<Value>> {
    let item = ("[a-d]", 0..2u8, any::<bool>());
    let item = item.prop_map(|(name, value, is_bare)| match is_bare {
        true => json!({"name": name}),
        false => json!({"name": name, "value": value}),
    });
    prop::collection::vec(item, 1..5)
}

proptest! {
    #[test]
    fn lists_in_the_same_order_merge_as_all_others_do(old in items(), new in items()) {
        let merge = ListMerge::Map { keys: vec![ListKey { name: "name".into(), default: None }] };
        let list = ListShape { item: Ty::Any, merge: &merge };
        let schema = builtin::schema();
        let shape = Shape { schema, root: schema.find("io.k8s.api.core.v1.Pod").unwrap() };
        if let Some(places) = places(list, &old, &new) {
            let in_place = shape.merge_in_place(list, &old, &new, &places);
            let merged = shape.merge_items(list, &old, &new);
            prop_assert_eq!(in_place.is_none(), merged == old);
            prop_assert_eq!(in_place.unwrap_or(Value::Array(old)), Value::Array(merged));
        }
    }
}

#[test]
fn what_says_nothing_new_is_not_built() {
    let schema = builtin::schema();
    let shape = Shape {
        schema,
        root: schema.find("io.k8s.api.core.v1.Pod").unwrap(),
    };
    let live = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {
        "containers": [{"name": "x", "image": "i", "env": [{"name": "A", "value": "1"}]}, {"name": "y"}],
        "tolerations": [{"key": "k"}],
    }});
    let containers = |items: Value| json!({"spec": {"containers": items}});
    let rows = [
        (json!({"metadata": {"labels": {"b": "2"}}}), true),
        (json!({"metadata": {"labels": null}}), true),
        (json!({"metadata": {"labels": {"b": "3"}}}), false),
        (containers(json!([{"name": "y"}])), true),
        (
            containers(json!([{"name": "x", "env": [{"name": "A"}]}, {"name": "y"}])),
            true,
        ),
        (
            containers(json!([{"name": "x", "env": [{"name": "B"}]}])),
            false,
        ),
        (containers(json!([{"name": "y"}, {"name": "x"}])), false),
        (json!({"spec": {"tolerations": [{"key": "k"}]}}), true),
        (json!({"spec": {"tolerations": []}}), false),
    ];
    for (config, is_nothing) in rows {
        assert_eq!(
            merge(shape, &live, &config).is_none(),
            is_nothing,
            "{config}"
        );
    }
}
