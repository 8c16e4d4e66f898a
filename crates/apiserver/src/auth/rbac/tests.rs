//! Decisions, in upstream's words.

mod escalation;

use super::*;
use crate::auth::tests::{asks, state, user, yaml};

const WORLD: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: admin}
rules:
- {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}
- {nonResourceURLs: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [pods, pods/log], verbs: [get, list]}
- {apiGroups: [apps], resources: ["*/scale"], verbs: [update]}
- {apiGroups: [""], resources: [secrets], resourceNames: [one], verbs: [get]}
- {nonResourceURLs: [/healthz, /livez/*], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: writer, namespace: ns}
rules: [{apiGroups: [""], resources: [pods], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: unruly, namespace: ns}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: admins}
roleRef: {kind: ClusterRole, name: admin}
subjects: [{kind: Group, name: admins}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: User, name: bob}, {kind: ServiceAccount, name: sa, namespace: other}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: writers, namespace: ns}
roleRef: {kind: Role, name: writer}
subjects: [{kind: User, name: bob}, {kind: ServiceAccount, name: sa}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: local-admins, namespace: ns}
roleRef: {kind: ClusterRole, name: admin}
subjects: [{kind: User, name: carol}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: dangling, namespace: ns}
roleRef: {kind: Role, name: gone}
subjects: [{kind: Group, name: lost}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: dangling}
roleRef: {kind: ClusterRole, name: gone}
subjects: [{kind: Group, name: lost}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: empty}
roleRef: {kind: ClusterRole, name: reader}
"#;

fn index(world: &str) -> Index {
    Index::default().follow(&state(&yaml(world)))
}

#[test]
fn rules_allow_what_they_name_and_nothing_else() {
    let index = index(WORLD);
    let (bob, carol) = (user("bob", &[]), user("carol", &[]));
    let admin = user("alice", &["x", "admins"]);
    let own = user("system:serviceaccount:ns:sa", &[]);
    let other = user("system:serviceaccount:other:sa", &[]);
    let cases = [
        (
            &admin,
            "delete any:things/status.example.com x",
            r#"ClusterRoleBinding "admins" of ClusterRole "admin" to Group "admins""#,
        ),
        (
            &admin,
            "post /anything",
            r#"ClusterRoleBinding "admins" of ClusterRole "admin" to Group "admins""#,
        ),
        (
            &bob,
            "get a:pods x",
            r#"ClusterRoleBinding "readers" of ClusterRole "reader" to User "bob""#,
        ),
        (
            &bob,
            "get a:pods/log x",
            r#"ClusterRoleBinding "readers" of ClusterRole "reader" to User "bob""#,
        ),
        (&bob, "get a:pods/exec x", ""),
        (&bob, "watch a:pods", ""),
        (&bob, "get a:pods.apps x", ""),
        (
            &bob,
            "update a:deployments/scale.apps x",
            r#"ClusterRoleBinding "readers" of ClusterRole "reader" to User "bob""#,
        ),
        (&bob, "update a:deployments.apps x", ""),
        (
            &bob,
            "get a:secrets one",
            r#"ClusterRoleBinding "readers" of ClusterRole "reader" to User "bob""#,
        ),
        (&bob, "get a:secrets two", ""),
        (&bob, "get a:secrets", ""),
        (
            &bob,
            "get /healthz",
            r#"ClusterRoleBinding "readers" of ClusterRole "reader" to User "bob""#,
        ),
        (&bob, "get /healthz/etcd", ""),
        (
            &bob,
            "get /livez/ping",
            r#"ClusterRoleBinding "readers" of ClusterRole "reader" to User "bob""#,
        ),
        (&bob, "get /livez", ""),
        (&bob, "post /healthz", ""),
        (
            &bob,
            "create ns:pods",
            r#"RoleBinding "writers/ns" of Role "writer" to User "bob""#,
        ),
        (&bob, "create a:pods", ""),
        (&bob, "create pods", ""),
        (
            &own,
            "create ns:pods",
            r#"RoleBinding "writers/ns" of Role "writer" to ServiceAccount "sa/ns""#,
        ),
        (&other, "create ns:pods", ""),
        (
            &other,
            "get ns:pods",
            r#"ClusterRoleBinding "readers" of ClusterRole "reader" to ServiceAccount "sa/other""#,
        ),
        (
            &carol,
            "delete ns:pods x",
            r#"RoleBinding "local-admins/ns" of ClusterRole "admin" to User "carol""#,
        ),
        (&carol, "delete a:pods x", ""),
        (&carol, "get /healthz", ""),
    ];
    for (who, question, expected) in cases {
        let expected = match expected {
            "" => Decision::NoOpinion(String::new()),
            source => Decision::Allow(format!("RBAC: allowed by {source}")),
        };
        assert_eq!(
            index.decide(who, &asks(question)),
            expected,
            "{} {question}",
            who.name
        );
    }
}

#[test]
fn a_refusal_names_the_roles_that_do_not_exist() {
    let index = index(WORLD);
    let lost = user("x", &["lost"]);
    let cluster = r#"clusterrole.rbac.authorization.k8s.io "gone" not found"#;
    let local = r#"role.rbac.authorization.k8s.io "gone" not found"#;
    let refused = |question| index.decide(&lost, &asks(question));
    assert_eq!(
        refused("get a:pods"),
        Decision::NoOpinion(format!("RBAC: {cluster}"))
    );
    assert_eq!(
        refused("get ns:pods"),
        Decision::NoOpinion(format!("RBAC: [{cluster}, {local}]"))
    );
}

#[test]
fn held_rules_are_those_of_the_cluster_and_of_the_namespace() {
    let index = index(WORLD);
    let held = index.held(&user("bob", &["lost"]), "ns");
    assert_eq!((held.rules.len(), held.errors.len()), (5, 2));
    let held = index.held(&user("bob", &[]), "");
    assert_eq!((held.rules.len(), held.errors.len()), (4, 0));
}

#[test]
fn aggregated_roles_have_the_rules_of_those_they_select_even_through_others() {
    let index = index(
        r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: top}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {to-top: "true"}}]}
rules: [{apiGroups: [""], resources: [stale], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: middle, labels: {to-top: "true", to-middle: "true"}}
aggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: to-middle, operator: Exists}]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: leaf, labels: {to-middle: "yes"}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: same, labels: {to-top: "true"}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
"#,
    );
    let rules = index.cluster_role("top").unwrap();
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0].resources, ["pods"]);
}

#[test]
fn an_index_follows_changes_and_knows_when_it_is_current() {
    let store = crate::auth::tests::store(&yaml(WORLD));
    let first = Index::default().follow(&store.state());
    assert!(first.is_current(&store.state()));
    let question = asks("watch a:pods");
    let bob = user("bob", &[]);
    crate::auth::tests::put(
        &store,
        &yaml(
            r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [watch]}]
"#,
        ),
    );
    assert!(!first.is_current(&store.state()));
    let second = first.follow(&store.state());
    assert!(matches!(
        first.decide(&bob, &question),
        Decision::NoOpinion(_)
    ));
    assert!(matches!(second.decide(&bob, &question), Decision::Allow(_)));
}

#[test]
fn what_is_not_a_role_allows_nothing_and_harms_no_other() {
    let index = index(&format!(
        "{WORLD}\n---\n{}",
        r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: aaa-broken}
roleRef: 7
"#
    ));
    assert!(matches!(
        index.decide(&user("bob", &[]), &asks("get /healthz")),
        Decision::Allow(_)
    ));
}
