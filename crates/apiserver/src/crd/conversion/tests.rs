use serde_json::{Value, json};

use super::{Review, describe, review_version};

const REVIEW: Review<'static> = Review {
    version: "v1",
    uid: "u1",
    desired: "example.com/v2",
};

fn sent() -> Vec<Value> {
    let metadata = json!({"name": "a", "namespace": "n", "uid": "x", "generation": 3,
        "labels": {"l": "1"}, "annotations": {"a": "1"}});
    vec![json!({"apiVersion": "example.com/v1", "kind": "Tab", "metadata": metadata, "port": 1})]
}

fn converted() -> Value {
    json!({"apiVersion": "example.com/v2", "kind": "Tab", "ports": [1],
        "metadata": {"name": "a", "namespace": "n", "uid": "x"}})
}

fn answer(objects: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "response": {"uid": "u1", "result": {"status": "Success"}, "convertedObjects": objects}})
}

#[test]
fn the_request_has_upstreams_shape() {
    let expected = json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": "u1", "desiredAPIVersion": "example.com/v2", "objects": sent()}});
    assert_eq!(REVIEW.request(&sent()), expected);
    assert_eq!(describe(&sent()[0]), "example.com/v1, Kind=Tab");
}

#[test]
fn the_first_version_that_is_understood_is_used() {
    let of = |versions: Value| {
        let webhook = json!({"conversionReviewVersions": versions});
        let definition = json!({"spec": {"conversion": {"webhook": webhook}}});
        review_version(&definition).map(str::to_owned)
    };
    assert_eq!(of(json!(["v2", "v1beta1", "v1"])), Some("v1beta1".into()));
    assert_eq!(of(json!(["v1", "v1beta1"])), Some("v1".into()));
    assert_eq!(of(json!(["v7"])), None);
}

#[test]
fn only_labels_and_annotations_of_the_metadata_may_change() {
    let mut object = converted();
    object["metadata"]["labels"] = json!({"new": "2"});
    object["metadata"]["generation"] = json!(99);
    object["metadata"]["finalizers"] = json!(["example.com/added"]);
    let got = REVIEW.accept(&sent(), answer(&json!([object])).to_string().as_bytes());
    let metadata = json!({"name": "a", "namespace": "n", "uid": "x", "generation": 3,
        "labels": {"new": "2"}});
    let expected = json!({"apiVersion": "example.com/v2", "kind": "Tab", "ports": [1],
        "metadata": metadata});
    assert_eq!(got, Ok(vec![expected]));
}

#[test]
fn the_older_version_is_asked_for_neither_type_nor_uid() {
    let review = Review {
        version: "v1beta1",
        ..REVIEW
    };
    let answer = json!({"response": {"result": {"status": "Success"},
        "convertedObjects": [converted()]}});
    assert!(
        review
            .accept(&sent(), answer.to_string().as_bytes())
            .is_ok()
    );
    assert_eq!(
        review.request(&[])["apiVersion"],
        "apiextensions.k8s.io/v1beta1"
    );
}

/// Changes one place of a good answer and says how it is refused.
fn refusal(pointer: &str, value: Value) -> String {
    let mut answer = answer(&json!([converted()]));
    *answer.pointer_mut(pointer).expect("the place exists") = value;
    REVIEW
        .accept(&sent(), answer.to_string().as_bytes())
        .expect_err("a wrong answer")
}

#[test]
fn wrong_answers_are_refused_in_upstreams_words() {
    let object = "/response/convertedObjects/0";
    let failed = "conversion webhook for example.com/v1, Kind=Tab failed:";
    let invalid = "conversion for example.com/v1, Kind=Tab returned invalid";
    let cases = [
        (
            "/kind",
            json!("Pod"),
            format!(
                "{failed} expected webhook response of apiextensions.k8s.io/v1, \
                 Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=Pod"
            ),
        ),
        (
            "/response",
            Value::Null,
            format!("{failed} no response provided"),
        ),
        (
            "/response/uid",
            json!("u2"),
            format!("{failed} expected response.uid=\"u1\", got \"u2\""),
        ),
        (
            "/response/result",
            json!({"status": "Failed", "message": "no idea"}),
            format!("{failed} no idea"),
        ),
        (
            "/response/result",
            json!({"status": "Failed"}),
            format!("{failed} response.result.status was 'Failed', not 'Success'"),
        ),
        (
            "/response/convertedObjects",
            json!([]),
            "conversion for example.com/v1, Kind=Tab returned 0 objects, expected 1".to_owned(),
        ),
        (
            &format!("{object}/apiVersion"),
            json!("example.com/v3"),
            format!(
                "{invalid} converted object at index 1: invalid groupVersion (expected \
                 example.com/v2, received example.com/v3)"
            ),
        ),
        (
            &format!("{object}/kind"),
            json!("Other"),
            format!(
                "{invalid} converted object at index 1: invalid kind (expected Tab, received Other)"
            ),
        ),
        (
            &format!("{object}/metadata/name"),
            json!("b"),
            format!("{invalid} converted object at index 1: must have the same name: a != b"),
        ),
        (
            &format!("{object}/metadata/uid"),
            json!("y"),
            format!("{invalid} converted object at index 1: must have the same UID: x != y"),
        ),
        (
            &format!("{object}/metadata"),
            json!({"name": "a", "namespace": "n", "uid": "x", "labels": {"l": 1}}),
            format!(
                "{invalid} metadata in object at index 1: metadata.labels[l] must be a string, but \
                 is int64 in converted object"
            ),
        ),
        (
            &format!("{object}/metadata"),
            json!({"name": "a", "namespace": "n", "uid": "x", "annotations": []}),
            format!(
                "{invalid} metadata in object at index 1: invalid metadata.annotations of type \
                 []interface {{}} in converted object"
            ),
        ),
    ];
    for (pointer, value, expected) in cases {
        assert_eq!(refusal(pointer, value), expected);
    }
    let got = REVIEW.accept(&sent(), b"<html>").expect_err("no JSON");
    assert!(got.starts_with(&format!("{failed} the answer is not JSON")));
}

#[test]
fn labels_that_the_webhook_adds_must_be_valid() {
    let got = refusal(
        "/response/convertedObjects/0/metadata",
        json!({"name": "a", "namespace": "n", "uid": "x", "labels": {"l": "not valid"}}),
    );
    assert!(
        got.contains(
            "metadata in object at index 1: metadata.labels: Invalid value: \"not valid\""
        ),
        "{got}"
    );
}
