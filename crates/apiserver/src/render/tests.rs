use super::*;

#[test]
fn the_first_object_ends_at_its_own_brace() {
    assert_eq!(
        first_object(br#"{"a":"}\"{","b":[{}]},"c":1}"#),
        br#"{"a":"}\"{","b":[{}]}"#
    );
    assert_eq!(first_object(b"{"), b"{}");
}

#[test]
fn members_come_in_the_order_people_expect() {
    let value = json!({"data": {}, "apiVersion": "v1", "metadata": {"z": 1, "a": 2}, "kind": "X"});
    assert_eq!(
        to_bytes(&value).as_ref(),
        br#"{"kind":"X","apiVersion":"v1","metadata":{"a":2,"z":1},"data":{}}"#
    );
}
