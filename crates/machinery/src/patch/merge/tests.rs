use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Recorded answers of upstream; see the file's first line.
const VECTORS: &str = include_str!("../../../testdata/json_patches.json");

#[test]
fn patches_apply_and_fail_as_upstream() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for row in vectors["merge"].as_array().unwrap() {
        let (live, patch) = (&row[0], &row[1]);
        match apply(live.clone(), patch.clone()) {
            Ok(result) => assert_eq!(result, row[2], "{live} {patch}"),
            Err(error) => assert_eq!(json!(error.to_string()), row[3], "{live} {patch}"),
        }
    }
}

/// The smallest patch that makes `new` of `old`; neither may hold nulls.
fn diff(old: &Value, new: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return new.clone();
    };
    let mut patch = Map::new();
    for key in old.keys().filter(|k| !new.contains_key(*k)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        match old.get(key) {
            Some(same) if same == value => {}
            Some(other) => {
                patch.insert(key.clone(), diff(other, value));
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0..3).prop_map(Value::from)
    ];
    let value = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..3)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[abc]", value, 0..3)
        .prop_map(|m| Value::Object(m.into_iter().collect()))
}

proptest! {
    #[test]
    fn applying_a_difference_gives_the_new_object(old in object(), new in object()) {
        let patch = diff(&old, &new);
        let patched = apply(old, patch.clone()).unwrap();
        prop_assert_eq!(&patched, &new);
        prop_assert_eq!(apply(patched, patch).unwrap(), new);
    }
}
