use serde_json::json;

use super::*;

/// Recorded answers of upstream; see the file's first line.
const VECTORS: &str = include_str!("../../../testdata/json_patches.json");

#[test]
fn patches_apply_and_fail_as_upstream() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for row in vectors["json"].as_array().unwrap() {
        let (live, patch) = (&row[0], &row[1]);
        match apply(live.clone(), patch) {
            Ok(result) => assert_eq!(result, row[2], "{live} {patch}"),
            Err(error) => {
                let expect = row[3].as_str().unwrap().trim_end_matches(": %!w(<nil>)");
                assert_eq!(error.to_string(), expect, "{live} {patch}");
            }
        }
    }
}

#[test]
fn failures_become_upstreams_status() {
    let status = |patch: Value| Status::from(apply(json!({"a": 1}), &patch).unwrap_err());
    let failed = status(json!([{"op": "test", "path": "/a", "value": 2}]));
    assert_eq!((failed.code, failed.reason), (422, Reason::Invalid));
    assert_eq!(
        failed.message,
        "the server rejected our request due to an error in our request"
    );
    assert_eq!(status(json!({})).code, 400);
    let many = vec![json!({"op": "test", "path": "/a", "value": 1}); OPERATIONS_MAX + 1];
    let many = status(json!(many));
    assert_eq!(many.code, 413);
    assert_eq!(
        many.message,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got \
         10001"
    );
}

#[test]
fn copies_cannot_blow_up_the_object() {
    let copy = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let error = apply(json!({"a": [1]}), &json!(vec![copy; 40])).unwrap_err();
    assert!(
        error.to_string().contains("exceeding the limit 3145728"),
        "{error}"
    );
    let nest = json!({"op": "copy", "from": "/a", "path": "/a/a"});
    assert!(apply(json!({"a": {}}), &json!(vec![nest; 200])).is_err());
    let deeper = json!({"op": "move", "from": "/a", "path": "/b/c"});
    let back = json!({"op": "move", "from": "/b", "path": "/a"});
    let fresh = json!({"op": "add", "path": "/b", "value": {}});
    let steps: Vec<Value> = (0..3000)
        .flat_map(|_| [&fresh, &deeper, &back])
        .cloned()
        .collect();
    assert!(apply(json!({"a": {}}), &json!(steps)).is_err());
}

#[test]
fn many_harmless_moves_are_no_nesting() {
    let there = json!({"op": "move", "from": "/a", "path": "/b/c"});
    let back = json!({"op": "move", "from": "/b/c", "path": "/a"});
    let steps: Vec<Value> = (0..4000).flat_map(|_| [&there, &back]).cloned().collect();
    let live = json!({"a": {"x": 1}, "b": {}});
    assert_eq!(apply(live.clone(), &json!(steps)), Ok(live));
}
