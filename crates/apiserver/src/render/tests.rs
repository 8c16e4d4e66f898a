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

#[test]
fn an_error_is_written_in_the_order_of_upstreams_struct() {
    let resource = flotilla_machinery::group::GroupResource {
        group: "apps".into(),
        resource: "deployments".into(),
    };
    let error = Status::already_exists(&resource, "web");
    assert_eq!(
        to_bytes(&error.to_value()).as_ref(),
        br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \"web\" already exists","reason":"AlreadyExists","details":{"name":"web","group":"apps","kind":"deployments"},"code":409}"#
    );
    let value = json!({"kind": "Status", "details": {"causes": [{"field": "f", "message": "m", "reason": "r"}], "uid": "u"}});
    assert_eq!(
        to_bytes(&value).as_ref(),
        br#"{"kind":"Status","details":{"uid":"u","causes":[{"reason":"r","message":"m","field":"f"}]}}"#
    );
}
