use serde_json::json;

use super::*;

#[test]
fn entries_are_spelled_out() {
    let text = "
- POST ~/configmaps: {metadata: {name: a}}
  keep: {rv: /metadata/resourceVersion}
- PATCH+merge ~apps/v1/deployments/d: {spec: {replicas: 2}}
  as: bob team-a
- GET /version:
  until: /major=1
- cases: POST ~/pods?dryRun=All
  base: {spec: {containers: [{name: a}], restartPolicy: Always}}
  with:
  - {/spec/containers/0/image: ''}
  - {/spec/restartPolicy: null, /spec/containers/1: {name: b}}
";
    let story = parse("demo", text).unwrap();
    let titles: Vec<String> = story.requests.iter().map(Request::title).collect();
    assert_eq!(
        titles,
        [
            "POST /api/v1/namespaces/o-demo/configmaps",
            "PATCH+merge /apis/apps/v1/namespaces/o-demo/deployments/d",
            "GET /version",
            "POST /api/v1/namespaces/o-demo/pods?dryRun=All",
            "POST /api/v1/namespaces/o-demo/pods?dryRun=All",
        ]
    );
    let Some(Body::Json(last)) = &story.requests[4].body else {
        panic!("a body");
    };
    assert_eq!(
        *last,
        json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}})
    );
    assert_eq!(story.requests[1].impersonate, ["bob", "team-a"]);
    let until = story.requests[2].until.as_ref().unwrap();
    for (body, is_there) in [
        (json!({"major": "1"}), true),
        (json!({"major": "2"}), false),
        (json!("404"), false),
    ] {
        assert_eq!(until.is_in(&body), is_there, "{body}");
    }
}

#[test]
fn a_misspelt_entry_is_named() {
    for (text, want) in [
        ("- {POST ~/a: {}, kep: {}}", "unknown key \"kep\""),
        ("- PATCH+strange ~/a: {}", "no patch is called \"strange\""),
        ("- life: ~/a", "`life` needs an `object`"),
        (
            "- {cases: POST ~/a, base: {}}",
            "`cases` needs a list `with`",
        ),
    ] {
        let error = format!("{:#}", parse("x", text).unwrap_err());
        assert!(error.contains(want), "{text}: {error}");
    }
}
