//! The table and what a start makes of older objects.

use super::*;
use crate::{
    access::Decision,
    auth::{
        rbac::Index,
        tests::{asks, state, user},
    },
};

fn find(kind: &str, name: &str) -> &'static Value {
    let found = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
    policy()
        .iter()
        .find(found)
        .unwrap_or_else(|| panic!("{kind} {name}"))
}

#[test]
fn the_table_has_every_role_and_binding() {
    let count = |kind: &str| {
        policy()
            .iter()
            .filter(|object| object["kind"] == kind)
            .count()
    };
    let counts = ["ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"].map(count);
    assert_eq!(counts, [68, 7, 49, 7]);
    for object in policy() {
        assert_eq!(
            object["metadata"]["labels"]["kubernetes.io/bootstrapping"],
            "rbac-defaults"
        );
        assert_eq!(object["metadata"]["annotations"][AUTOUPDATE], "true");
    }
    expect_test::expect![[r#"{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}}]},"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"},"labels":{"kubernetes.io/bootstrapping":"rbac-defaults","rbac.authorization.k8s.io/aggregate-to-admin":"true"},"name":"edit"}}"#]]
    .assert_eq(&find("ClusterRole", "edit").to_string());
    expect_test::expect![[r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"},"labels":{"kubernetes.io/bootstrapping":"rbac-defaults"},"name":"system::leader-locking-kube-scheduler","namespace":"kube-system"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"system::leader-locking-kube-scheduler"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"system:kube-scheduler"},{"kind":"ServiceAccount","name":"kube-scheduler","namespace":"kube-system"}]}"#]]
    .assert_eq(&find("RoleBinding", "system::leader-locking-kube-scheduler").to_string());
}

#[test]
fn a_new_cluster_decides_like_upstream() {
    let mut objects = policy().to_vec();
    objects.push(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "edit", "namespace": "ns"},
        "roleRef": {"kind": "ClusterRole", "name": "edit"}, "subjects": [{"kind": "User", "name": "eve"}],
    }));
    let index = Index::default().follow(&state(&objects));
    let anonymous = crate::access::Identity::anonymous();
    let cases = [
        (anonymous.clone(), "get /livez", true),
        (anonymous.clone(), "get /version", true),
        (anonymous, "get /apis", false),
        (user("bob", &[]), "get /apis", true),
        (
            user("bob", &[]),
            "create selfsubjectaccessreviews.authorization.k8s.io",
            true,
        ),
        (user("bob", &[]), "get ns:pods", false),
        (user("eve", &[]), "get ns:secrets", true),
        (user("eve", &[]), "get ns:pods/log", true),
        (user("eve", &[]), "update ns:deployments/scale.apps", true),
        (
            user("eve", &[]),
            "create ns:rolebindings.rbac.authorization.k8s.io",
            false,
        ),
        (user("eve", &[]), "get other:secrets", false),
        (
            user("system:kube-scheduler", &[]),
            "create ns:pods/binding",
            true,
        ),
        (
            user(
                "system:serviceaccount:kube-system:namespace-controller",
                &[],
            ),
            "delete a:anything.example.com",
            true,
        ),
    ];
    for (who, question, allowed) in cases {
        let decision = index.decide(&who, &asks(question));
        assert_eq!(
            matches!(decision, Decision::Allow(_)),
            allowed,
            "{} {question}",
            who.name
        );
    }
}

#[test]
fn a_start_adds_what_is_missing_and_keeps_what_was_added() {
    let wanted = find("ClusterRole", "system:basic-user");
    assert_eq!(reconcile(wanted, wanted), None);

    let mut found = wanted.clone();
    let own = json!({"apiGroups": ["x"], "resources": ["y"], "verbs": ["z"]});
    found["rules"] = json!([own]);
    found["metadata"]["labels"] = Value::Null;
    found["metadata"].as_object_mut().unwrap().remove("labels");
    let merged = reconcile(&found, wanted).unwrap();
    assert_eq!(merged["rules"][0], own);
    assert!(covers(&rules(&merged), &rules(wanted)).is_empty());
    assert_eq!(merged["metadata"]["labels"], wanted["metadata"]["labels"]);
    assert_eq!(reconcile(&merged, wanted), None, "once is enough");

    found["metadata"]["annotations"][AUTOUPDATE] = "false".into();
    assert_eq!(reconcile(&found, wanted), None, "left alone");
}

#[test]
fn a_start_adds_subjects_and_replaces_bindings_to_other_roles() {
    let wanted = find("ClusterRoleBinding", "cluster-admin");
    let mut found = wanted.clone();
    found["subjects"] = json!([{"kind": "User", "name": "me"}]);
    let merged = reconcile(&found, wanted).unwrap();
    assert_eq!(merged["subjects"].as_array().unwrap().len(), 2);
    assert_eq!(reconcile(&merged, wanted), None);
    found["roleRef"]["name"] = "other".into();
    assert_eq!(reconcile(&found, wanted), None);
    assert!(must_be_replaced(&found, wanted));
    assert!(!must_be_replaced(wanted, wanted));
}

#[test]
fn a_broken_table_names_its_line() {
    for table in [
        "ClusterRole",
        "\n  allow get x",
        "What x",
        "ClusterRole a\n  to group",
        "Role a",
    ] {
        assert!(parse(table).unwrap_err().starts_with("line "), "{table:?}");
    }
}
