//! Who may write roles and bindings.

use serde_json::{Value, json};

use super::*;

const WORLD: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: small}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: big}
rules: [{apiGroups: ["", apps], resources: [pods, pods/log], verbs: [get, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: escalator}
rules:
- {apiGroups: [rbac.authorization.k8s.io], resources: [roles], resourceNames: [free], verbs: [escalate]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [big], verbs: [bind]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: small}
roleRef: {kind: ClusterRole, name: small}
subjects: [{kind: User, name: bob}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: escalators, namespace: ns}
roleRef: {kind: ClusterRole, name: escalator}
subjects: [{kind: User, name: bob}]
"#;

fn role(kind: &str, name: &str, rules: Value) -> Value {
    let namespace = if kind == "Role" { "ns" } else { "" };
    json!({"kind": kind, "metadata": {"name": name, "namespace": namespace}, "rules": rules})
}

fn binding(kind: &str, role_kind: &str, role: &str) -> Value {
    json!({"kind": kind, "metadata": {"name": "b", "namespace": "ns"}, "roleRef": {"kind": role_kind, "name": role}})
}

fn message(result: Result<(), flotilla_machinery::status::Status>) -> String {
    match result {
        Ok(()) => "allowed".into(),
        Err(status) => format!(
            "{} {}",
            status.code(),
            status.to_value()["message"].as_str().unwrap()
        ),
    }
}

#[test]
fn roles_may_grant_what_their_writer_holds() {
    let index = index(WORLD);
    let bob = user("bob", &["devs"]);
    let pods = |verbs: Value| json!([{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]);
    let check = |role: Value| message(may_grant(&index, &bob, &role, None));
    assert_eq!(check(role("Role", "r", pods(json!(["get"])))), "allowed");
    assert_eq!(
        check(role("Role", "free", pods(json!(["*"])))),
        "allowed",
        "may escalate this one"
    );
    assert_eq!(check(role("Role", "r", json!(null))), "allowed");
    assert_eq!(
        check(role("Role", "r", pods(json!(["get", "delete", "create"])))),
        "403 roles.rbac.authorization.k8s.io \"r\" is forbidden: user \"bob\" (groups=[\"devs\" \"system:authenticated\"]) \
         is attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"create\"]}"
    );
    assert_eq!(
        check(role(
            "ClusterRole",
            "r",
            json!([{"nonResourceURLs": ["/x"], "verbs": ["get"]}])
        )),
        "403 clusterroles.rbac.authorization.k8s.io \"r\" is forbidden: user \"bob\" (groups=[\"devs\" \
         \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
         {NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}"
    );
    let mut aggregated = role("ClusterRole", "r", json!([]));
    aggregated["aggregationRule"] = json!({});
    assert_eq!(
        check(aggregated),
        "403 clusterroles.rbac.authorization.k8s.io \"r\" is forbidden: must have cluster-admin privileges to use the \
         aggregationRule"
    );
    let anything = role("ClusterRole", "r", pods(json!(["*"])));
    assert!(may_grant(&index, &user("root", &[MASTERS]), &anything, None).is_ok());
}

#[test]
fn changing_only_owners_and_finalizers_grants_nothing() {
    let index = index(WORLD);
    let old = role(
        "Role",
        "r",
        json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
    );
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!(["x"]);
    assert!(may_grant(&index, &user("bob", &[]), &new, Some(&old)).is_ok());
    new["rules"][0]["verbs"] = json!(["get"]);
    assert!(may_grant(&index, &user("bob", &[]), &new, Some(&old)).is_err());
}

#[test]
fn bindings_may_give_roles_whose_rules_their_writer_holds_or_that_it_may_bind() {
    let index = index(WORLD);
    let bob = user("bob", &[]);
    let check = |binding: Value| message(may_bind(&index, &bob, &binding, None));
    assert_eq!(
        check(binding("RoleBinding", "ClusterRole", "small")),
        "allowed"
    );
    assert_eq!(
        check(binding("RoleBinding", "ClusterRole", "big")),
        "allowed",
        "may bind it here"
    );
    let refused = check(binding("ClusterRoleBinding", "ClusterRole", "big"));
    let begin =
        "403 clusterrolebindings.rbac.authorization.k8s.io \"b\" is forbidden: user \"bob\"";
    assert!(refused.starts_with(begin), "{refused}");
    assert_eq!(
        check(binding("RoleBinding", "Role", "gone")),
        "404 rolebindings.rbac.authorization.k8s.io \"gone\" not found"
    );
}

const MASTERS: &str = crate::access::MASTERS;

#[test]
fn covering_is_judged_permission_by_permission() {
    let rule = |groups: &[&str], resources: &[&str], names: &[&str], verbs: &[&str]| {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        Rule {
            api_groups: texts(groups),
            resources: texts(resources),
            resource_names: texts(names),
            verbs: texts(verbs),
            ..Rule::default()
        }
    };
    let get_pods = rule(&[""], &["pods"], &[], &["get"]);
    let list_pods = rule(&[""], &["pods"], &[], &["list"]);
    let both = rule(&[""], &["pods"], &[], &["get", "list"]);
    let one = rule(&[""], &["pods"], &["one"], &["get"]);
    let log = rule(&[""], &["pods/log"], &[], &["get"]);
    let any_log = rule(&[""], &["*/log"], &[], &["get"]);
    let all = rule(&["*"], &["*"], &[], &["*"]);
    let cases: [(&[&Rule], &Rule, bool); 10] = [
        (&[&get_pods, &list_pods], &both, true),
        (&[&get_pods], &both, false),
        (&[&get_pods], &one, true),
        (&[&one], &get_pods, false),
        (&[&get_pods], &log, false),
        (&[&any_log], &log, true),
        (&[&log], &any_log, false),
        (&[&all], &any_log, true),
        (&[&both], &all, false),
        (&[&all], &all, true),
    ];
    for (held, wanted, expected) in cases {
        let held: Vec<_> = held.iter().map(|rule| (*rule).clone()).collect();
        let missing = covers(&held, std::slice::from_ref(wanted));
        assert_eq!(missing.is_empty(), expected, "{held:?} covers {wanted:?}");
    }
}
