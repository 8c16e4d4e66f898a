use super::*;

#[track_caller]
fn check(method: &str, target: &str, expect: &str) {
    let method: Method = method.parse().unwrap();
    let (path, query) = target
        .split_once('?')
        .map_or((target, None), |(p, q)| (p, Some(q)));
    let i = parse(&method, path, query).unwrap();
    let shown = if i.is_resource {
        let parts = [
            &i.group,
            &i.version,
            &i.namespace,
            &i.resource,
            &i.name,
            &i.subresource,
        ];
        format!("{} {}", i.verb, parts.map(String::as_str).join("|"))
    } else {
        format!("{} {}", i.verb, i.path)
    };
    assert_eq!(shown, expect, "{method} {target}");
}

#[test]
fn paths_name_verb_and_object() {
    // Source: apiserver pkg/endpoints/request/requestinfo_test.go, TestGetAPIRequestInfo.
    for (method, target, expect) in [
        ("GET", "/api/v1/namespaces", "list |v1||namespaces||"),
        (
            "GET",
            "/api/v1/namespaces/other",
            "get |v1|other|namespaces|other|",
        ),
        (
            "GET",
            "/api/v1/namespaces/other/pods",
            "list |v1|other|pods||",
        ),
        (
            "GET",
            "/api/v1/namespaces/other/pods/foo",
            "get |v1|other|pods|foo|",
        ),
        (
            "HEAD",
            "/api/v1/namespaces/other/pods/foo",
            "get |v1|other|pods|foo|",
        ),
        ("GET", "/api/v1/pods", "list |v1||pods||"),
        ("GET", "/api/v1/pods?watch=true", "watch |v1||pods||"),
        ("GET", "/api/v1/pods?watch", "watch |v1||pods||"),
        ("GET", "/api/v1/pods?watch=0", "list |v1||pods||"),
        ("GET", "/api/v1/pods?watch=False", "list |v1||pods||"),
        ("GET", "/api/v1/watch/pods", "watch |v1||pods||"),
        (
            "GET",
            "/api/v1/watch/namespaces/other/pods",
            "watch |v1|other|pods||",
        ),
        (
            "GET",
            "/api/v1/namespaces/other/pods/foo/status",
            "get |v1|other|pods|foo|status",
        ),
        (
            "PUT",
            "/api/v1/namespaces/other/finalize",
            "update |v1|other|namespaces|other|finalize",
        ),
        (
            "PATCH",
            "/api/v1/namespaces/other/status",
            "patch |v1|other|namespaces|other|status",
        ),
        (
            "DELETE",
            "/api/v1/namespaces/other/pods/foo",
            "delete |v1|other|pods|foo|",
        ),
        (
            "DELETE",
            "/api/v1/namespaces/other/pods",
            "deletecollection |v1|other|pods||",
        ),
        (
            "POST",
            "/apis/apps/v1/namespaces/other/deployments",
            "create apps|v1|other|deployments||",
        ),
        (
            "GET",
            "/apis/apps/v1/deployments",
            "list apps|v1||deployments||",
        ),
        (
            "GET",
            "/api/v1/namespaces/other/pods?fieldSelector=metadata.name%3Dfoo",
            "list |v1|other|pods|foo|",
        ),
        ("GET", "/api/v1/pods/a%2Fb", "get |v1||pods|a|b"),
    ] {
        check(method, target, expect);
    }
}

#[test]
fn other_paths_are_plain() {
    for path in [
        "/",
        "/healthz",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps",
        "/apis/apps/v1",
    ] {
        check("GET", path, &format!("get {path}"));
    }
}

#[test]
fn broken_escapes_are_refused() {
    assert_eq!(
        parse(&Method::GET, "/api/v1/pods/%zz", None),
        Err(Error::Encoding)
    );
    assert_eq!(
        parse(&Method::GET, "/api/v1/pods/%ff", None),
        Err(Error::Encoding)
    );
}
