use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::builtin;
use crate::schema::{Field, ListMerge, Scalar};

/// Recorded answers of upstream; see the first line of each file.
const MERGE_ITEMS: &str = include_str!("../../../testdata/strategic_merge_items.json");
const BUILT_IN: &str = include_str!("../../../testdata/strategic_builtin.json");

/// The schema of the type that upstream's own tests use.
fn merge_item() -> (Schema, TypeId) {
    let mut schema = Schema::new();
    let text = schema.add(Type::Scalar(Scalar::String));
    let number = schema.add(Type::Scalar(Scalar::Int64));
    let any = schema.add(Type::Any);
    let texts = schema.add(Type::Map {
        value: text,
        atomic: false,
    });
    let item = schema.reserve();
    let items = schema.add(Type::List {
        item,
        merge: ListMerge::Atomic,
    });
    let numbers = schema.add(Type::List {
        item: number,
        merge: ListMerge::Atomic,
    });
    schema.name("MergeItem", item);
    let merge = Patch {
        merge: true,
        ..Patch::default()
    };
    let keyed = Patch {
        merge_key: Some("name".into()),
        ..merge.clone()
    };
    let retain = Patch {
        retain_keys: true,
        ..Patch::default()
    };
    let field = |name: &str, ty, patch: &Patch| Field {
        patch: patch.clone(),
        ..Field::new(name, ty)
    };
    let plain = Patch::default();
    let mut fields = vec![
        field("name", text, &plain),
        field("value", text, &plain),
        field("other", text, &plain),
        field("mergingList", items, &keyed),
        field("nonMergingList", items, &plain),
        field("mergingIntList", numbers, &merge),
        field("simpleMap", texts, &plain),
    ];
    let retained = schema.add(Type::Struct(Struct::with_fields(fields.clone())));
    schema.name("RetainKeysMergeItem", retained);
    fields.extend([
        field("nonMergingIntList", numbers, &plain),
        field("mergeItemPtr", items, &keyed),
        field(
            "replacingItem",
            any,
            &Patch {
                replace: true,
                ..Patch::default()
            },
        ),
        field("jsonItem", any, &plain),
        field("retainKeysMap", retained, &retain),
        field(
            "retainKeysMergingList",
            items,
            &Patch {
                retain_keys: true,
                ..keyed.clone()
            },
        ),
    ]);
    schema.set(item, Type::Struct(Struct::with_fields(fields)));
    (schema, item)
}

fn check(vectors: &str, schema: &Schema) {
    let vectors: Value = serde_json::from_str(vectors).unwrap();
    for row in vectors["cases"].as_array().unwrap() {
        let ty = schema.find(row[0].as_str().unwrap()).unwrap();
        let (live, patch) = (&row[1], &row[2]);
        match apply(live.clone(), patch.clone(), schema, ty) {
            Ok(result) => assert_eq!(result, row[3], "{live}\n{patch}\n{}", row[4]),
            Err(error) => assert_eq!(json!(error.to_string()), row[4], "{live}\n{patch}"),
        }
    }
}

#[test]
fn patches_of_upstreams_tests_give_upstreams_results() {
    check(MERGE_ITEMS, &merge_item().0);
}

#[test]
fn patches_of_built_in_kinds_give_upstreams_results() {
    check(BUILT_IN, builtin::schema());
}

#[test]
fn service_ports_keep_upstreams_wart_of_one_key() {
    // k8s#39188: the merge key is `port` alone, so one of two protocols is hit.
    let live = json!({"spec": {"ports": [
        {"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"},
    ]}});
    let patch = json!({"spec": {"ports": [{"port": 53, "name": "dns"}]}});
    let ty = builtin::schema()
        .find("io.k8s.api.core.v1.Service")
        .unwrap();
    assert_eq!(
        apply(live, patch, builtin::schema(), ty).unwrap()["spec"]["ports"],
        json!([
            {"port": 53, "protocol": "UDP", "name": "dns"}, {"port": 53, "protocol": "TCP"},
        ])
    );
}

#[test]
fn errors_become_upstreams_status() {
    let ty = builtin::schema().find("io.k8s.api.core.v1.Pod").unwrap();
    let code = |patch: Value| {
        let live = json!({"metadata": {"name": "a", "finalizers": ["x"]}});
        Status::from(apply(live, patch, builtin::schema(), ty).unwrap_err()).code
    };
    assert_eq!(code(json!([])), 400);
    assert_eq!(code(json!({"metadata": {"$retainKeys": "x"}})), 400);
    assert_eq!(code(json!({"metadata": {"$patch": "x"}})), 500);
    assert_eq!(code(json!({"metadata": {"finalizers": [["x"]]}})), 500);
}

#[test]
fn deep_patches_are_refused() {
    let mut patch = json!({});
    for _ in 0..DEPTH_MAX {
        patch = json!({"a": patch});
    }
    let (schema, ty) = merge_item();
    assert_eq!(apply(json!({}), patch, &schema, ty), Err(Error::TooDeep));
}

#[test]
fn long_lists_merge_in_linear_time() {
    let list = |n: i64, value: &str| -> Vec<Value> {
        (0..n)
            .map(|i| json!({"name": i.to_string(), "value": value}))
            .collect()
    };
    let (schema, ty) = merge_item();
    let live = json!({"mergingList": list(5000, "old")});
    let patch = json!({"mergingList": list(6000, "new")});
    let merged = apply(live, patch, &schema, ty).unwrap();
    assert_eq!(merged["mergingList"], json!(list(6000, "new")));
}

fn items() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-e]", (0..3u8, 0..3u8), 0..5).prop_flat_map(|map| {
        let list: Vec<Value> = map
            .into_iter()
            .map(|(name, (value, other))| {
                json!({"name": name, "value": value.to_string(), "other": other.to_string()})
            })
            .collect();
        Just(list)
            .prop_shuffle()
            .prop_map(|list| json!({"mergingList": list}))
    })
}

proptest! {
    #[test]
    fn patching_twice_is_patching_once(live in items(), patch in items()) {
        let (schema, ty) = merge_item();
        let once = apply(live, patch.clone(), &schema, ty).unwrap();
        let twice = apply(once.clone(), patch, &schema, ty).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn an_asked_order_is_the_order(live in items(), patch in items()) {
        let (schema, ty) = merge_item();
        let list = patch["mergingList"].as_array().unwrap();
        let order: Vec<Value> = list.iter().map(|item| json!({"name": item["name"]})).collect();
        prop_assume!(!order.is_empty());
        let mut ordered = patch.clone();
        ordered["$setElementOrder/mergingList"] = json!(order);
        let merged = apply(live, ordered, &schema, ty).unwrap();
        let merged: Vec<&Value> = merged["mergingList"].as_array().unwrap().iter()
            .map(|item| &item["name"])
            .filter(|name| list.iter().any(|item| &&item["name"] == name))
            .collect();
        let order: Vec<&Value> = order.iter().map(|item| &item["name"]).collect();
        prop_assert_eq!(merged, order);
    }
}
