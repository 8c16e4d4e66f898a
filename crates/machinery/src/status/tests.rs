use serde_json::{Value, json};

use super::*;

fn deployments() -> GroupResource {
    GroupResource::new("apps", "deployments")
}

#[test]
fn messages_are_upstreams() {
    let pods = GroupResource::new("", "pods");
    let quota = "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1";
    let table: Vec<(Status, u16, &str, &str)> = vec![
        (
            Status::not_found(&pods, "a"),
            404,
            "NotFound",
            r#"pods "a" not found"#,
        ),
        (
            Status::not_found(&deployments(), "a"),
            404,
            "NotFound",
            r#"deployments.apps "a" not found"#,
        ),
        (
            Status::already_exists(&pods, "a"),
            409,
            "AlreadyExists",
            r#"pods "a" already exists"#,
        ),
        (
            Status::modified(&deployments(), "a"),
            409,
            "Conflict",
            "Operation cannot be fulfilled on deployments.apps \"a\": the object has been modified; \
             please apply your changes to the latest version and try again",
        ),
        (
            Status::forbidden(&pods, "a", quota),
            403,
            "Forbidden",
            "pods \"a\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: \
             pods=1",
        ),
        (
            Status::forbidden(&pods, "", "no"),
            403,
            "Forbidden",
            "pods is forbidden: no",
        ),
        (Status::unauthorized(), 401, "Unauthorized", "Unauthorized"),
        (
            Status::too_old(3, 9),
            410,
            "Expired",
            "too old resource version: 3 (9)",
        ),
        (
            Status::method_not_allowed(&pods, "patch"),
            405,
            "MethodNotAllowed",
            r#"patch is not supported on resources of kind "pods""#,
        ),
        (
            Status::not_acceptable(&["application/json", "application/yaml"]),
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml",
        ),
        (
            Status::unsupported_media_type(&["application/json"]),
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: \
             application/json",
        ),
        (
            Status::too_large("limit is 3145728"),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728",
        ),
        (
            Status::internal("x"),
            500,
            "InternalError",
            "Internal error occurred: x",
        ),
        (Status::timeout("x", 0), 504, "Timeout", "Timeout: x"),
        (
            Status::too_large_resource_version(9, 3),
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 3",
        ),
        (
            Status::server_timeout(&pods, "list", 2),
            500,
            "ServerTimeout",
            "The list operation against pods could not be completed at this time, please try \
             again.",
        ),
    ];
    for (status, code, reason, message) in table {
        assert_eq!(status.message, message);
        assert_eq!(
            (status.code(), status.reason.as_str()),
            (code, reason),
            "{message}"
        );
    }
}

#[test]
fn refusals_name_user_verb_resource_and_scope() {
    let attempt = Attempt {
        user: "system:serviceaccount:a:b",
        verb: "get",
        group: "apps",
        resource: "deployments",
        subresource: "scale",
        name: "web",
        namespace: "shop",
        path: "",
    };
    let status = Status::denied(&attempt, "RBAC: role \"x\" not found");
    assert_eq!(
        status.message,
        "deployments.apps \"web\" is forbidden: User \"system:serviceaccount:a:b\" cannot get \
         resource \"deployments/scale\" in API group \"apps\" in the namespace \"shop\": RBAC: \
         role \"x\" not found"
    );
    let attempt = Attempt {
        user: "<u>",
        verb: "get",
        path: "/x",
        ..Attempt::default()
    };
    assert_eq!(
        Status::denied(&attempt, "").message,
        "forbidden: User \"&lt;u&gt;\" cannot get path \"/x\""
    );
}

#[test]
fn field_errors_render_like_field_error() {
    let table: Vec<(FieldError, &str)> = vec![
        (FieldError::required("a", ""), "a: Required value"),
        (FieldError::required("a", "why"), "a: Required value: why"),
        (
            FieldError::invalid("spec.replicas", -1, "must be greater than or equal to 0"),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            FieldError::invalid("a", "x\n\"é\u{1}", ""),
            r#"a: Invalid value: "x\n\"é\x01""#,
        ),
        (FieldError::invalid("a", true, ""), "a: Invalid value: true"),
        (FieldError::invalid("a", 1.5, ""), "a: Invalid value: 1.5"),
        (
            FieldError::invalid("a", json!({"b": "<c>", "a": [1, null]}), "x"),
            r#"a: Invalid value: {"a":[1,null],"b":"\u003cc\u003e"}: x"#,
        ),
        (
            FieldError::invalid("a", Value::Null, ""),
            "a: Invalid value: null",
        ),
        (
            FieldError::not_supported("t", "x", &["A", "B"]),
            r#"t: Unsupported value: "x": supported values: "A", "B""#,
        ),
        (
            FieldError::duplicate("p[1]", "x"),
            r#"p[1]: Duplicate value: "x""#,
        ),
        (FieldError::not_found("p", "x"), r#"p: Not found: "x""#),
        (FieldError::forbidden("p", "no"), "p: Forbidden: no"),
        (
            FieldError::too_long("p", 63),
            "p: Too long: may not be more than 63 bytes",
        ),
        (
            FieldError::too_many("p", 3, 1),
            "p: Too many: 3: must have at most 1 item",
        ),
        (FieldError::internal("p", "x"), "p: Internal error: x"),
        (
            FieldError::invalid("", "x", "y"),
            r#"<nil>: Invalid value: "x": y"#,
        ),
    ];
    for (error, text) in table {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn invalid_lists_each_cause_once_in_the_text_and_all_in_the_details() {
    let kind = GroupKind::new("apps", "Deployment");
    let a = FieldError::required("a", "");
    let b = FieldError::invalid("b", 1, "x");
    let status = Status::invalid(&kind, "web", vec![a.clone(), b, a.clone()]);
    assert_eq!(
        status.message,
        "Deployment.apps \"web\" is invalid: [a: Required value, b: Invalid value: 1: x]"
    );
    assert_eq!(
        status.to_value(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "reason": "Invalid", "code": 422, "message": status.message,
            "details": {"name": "web", "group": "apps", "kind": "Deployment", "causes": [
                {"reason": "FieldValueRequired", "message": "Required value", "field": "a"},
                {"reason": "FieldValueInvalid", "message": "Invalid value: 1: x", "field": "b"},
                {"reason": "FieldValueRequired", "message": "Required value", "field": "a"},
            ]},
        })
    );
    let single = Status::invalid(&kind, "web", vec![a.clone(), a]);
    assert_eq!(
        single.message,
        "Deployment.apps \"web\" is invalid: a: Required value"
    );
}

#[test]
fn success_carries_what_was_deleted() {
    assert_eq!(
        Status::deleted(&deployments(), "web", "u-1").to_value(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": {"name": "web", "group": "apps", "kind": "deployments", "uid": "u-1"},
        })
    );
}

#[test]
fn an_expired_list_offers_a_new_token() {
    let value = Status::expired("old").with_continue("tok").to_value();
    assert_eq!(value["metadata"], json!({"continue": "tok"}));
}
