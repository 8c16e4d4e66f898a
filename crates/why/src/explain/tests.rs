use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::explain;
use crate::facts::{Content, Facts, Request};

fn facts(group: &str, plural: &str, object: Value) -> Facts {
    Facts {
        object,
        plural: plural.to_owned(),
        group: group.to_owned(),
        now: "2026-01-02T03:05:05Z".parse().expect("a time"),
        ..Facts::default()
    }
}

#[track_caller]
fn check(facts: &Facts, expected: Expect) {
    expected.assert_eq(&explain(facts).to_string());
}

fn managed(manager: &str, operation: &str, fields: Value) -> Value {
    json!({"manager": manager, "operation": operation, "apiVersion": "v1",
        "time": "2026-01-02T03:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields})
}

#[test]
fn a_healthy_object_shows_who_owns_it() {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "n", "uid": "u",
            "ownerReferences": [
                {"kind": "Gate", "name": "g", "uid": "u1", "controller": true},
                {"kind": "Gate", "name": "gone", "uid": "u2"},
                {"kind": "Gate", "name": "new", "uid": "u3"}],
            "managedFields": [
                managed("kubectl", "Apply", json!({"f:data": {"f:x": {}, "f:long.name": {}}})),
                managed("other", "Update", json!({"f:metadata": {"f:labels": {"f:l": {}}}}))]}});
    let owner =
        |name: &str, uid: &str| json!({"kind": "Gate", "metadata": {"name": name, "uid": uid}});
    let mut facts = facts("", "configmaps", object);
    facts.owners = vec![owner("g", "u1"), owner("new", "another")];
    check(
        &facts,
        expect![[r#"
        ConfigMap n/a

        Deletion
          not asked for; nothing would hold it

        Owners
          Gate/g (controller): deleting it deletes this object too
          Gate/gone: it does not exist; without another owner the garbage collector deletes this object
          Gate/new: there is one of that name, but with another uid; to the garbage collector this owner is gone

        Fields
          FIELD               MANAGER  OPERATION  VERSION  SINCE
          .data.long.name     kubectl  Apply      v1       2026-01-02T03:00:00Z
          .data.x             kubectl  Apply      v1       2026-01-02T03:00:00Z
          .metadata.labels.l  other    Update     v1       2026-01-02T03:00:00Z
    "#]],
    );
}

#[test]
fn a_finalizer_is_traced_to_who_set_it() {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Gate",
        "metadata": {"name": "a", "namespace": "n", "uid": "u",
            "deletionTimestamp": "2026-01-02T03:04:05Z",
            "finalizers": ["example.com/cleanup", "foregroundDeletion"],
            "managedFields": [managed("gatekeeper", "Update",
                json!({"f:metadata": {"f:finalizers": {".": {}, "v:\"example.com/cleanup\"": {}}}}))]}});
    let mut facts = facts("example.com", "gates", object);
    let dependent = |name: &str, blocks: bool| {
        json!({"kind": "Pod", "metadata": {"name": name, "namespace": "n",
            "finalizers": ["example.com/other"],
            "ownerReferences": [{"uid": "u", "blockOwnerDeletion": blocks}]}})
    };
    facts.dependents = vec![dependent("one", true), dependent("two", false)];
    check(
        &facts,
        expect![[r#"
        Gate.example.com n/a

        Deletion
          asked for at 2026-01-02T03:04:05Z, 60 s ago; it waits for
          finalizer example.com/cleanup: set by gatekeeper; the controller of example.com has to remove it when it has cleaned up; if it is gone for good, remove the finalizer by hand
          finalizer foregroundDeletion: the garbage collector waits for dependents with blockOwnerDeletion (1)
            Pod n/one, held by example.com/other

        Fields
          FIELD                                         MANAGER     OPERATION  VERSION  SINCE
          .metadata.finalizers[="example.com/cleanup"]  gatekeeper  Update     v1       2026-01-02T03:00:00Z
    "#]],
    );
}

#[test]
fn a_namespace_says_what_is_left_in_it() {
    let object = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "n", "deletionTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Terminating", "conditions": [
            {"type": "NamespaceDeletionDiscoveryFailure", "status": "True",
             "message": "unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1"},
            {"type": "NamespaceContentRemaining", "status": "True", "message": "…"}]}});
    let mut facts = facts("", "namespaces", object);
    let held = |name: &str| json!({"metadata": {"name": name, "namespace": "n", "finalizers": ["example.com/x"]}});
    facts.content = vec![
        Content {
            resource: "gates.example.com".to_owned(),
            objects: ["a", "b", "c", "d"].map(held).to_vec(),
        },
        Content {
            resource: "secrets".to_owned(),
            objects: Vec::new(),
        },
    ];
    facts.gaps = vec!["discovery of metrics.k8s.io/v1beta1: 503".to_owned()];
    check(
        &facts,
        expect![[r#"
        Namespace n

        Deletion
          asked for at 2026-01-02T03:04:05Z, 60 s ago; it waits for
          condition NamespaceDeletionDiscoveryFailure: unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1
          finalizer kubernetes (spec.finalizers): objects are left (4)
            4 gates.example.com: n/a, n/b, n/c, …; 4 held by example.com/x

        Fields
          nobody is tracked

        Not known
          discovery of metrics.k8s.io/v1beta1: 503
    "#]],
    );
}

#[test]
fn a_pod_waits_for_its_node_and_a_claim_for_its_pods() {
    let pod = |time: &str| {
        let object = json!({"kind": "Pod", "spec": {"nodeName": "w1"},
            "metadata": {"name": "p", "deletionTimestamp": time, "deletionGracePeriodSeconds": 30}});
        facts("", "pods", object)
    };
    check(
        &pod("2026-01-02T03:05:25Z"),
        expect![[r#"
        Pod p

        Deletion
          to be done by 2026-01-02T03:05:25Z; it waits for
          grace period: node w1 has 20 s left to end its containers

        Fields
          nobody is tracked
    "#]],
    );
    check(
        &pod("2026-01-02T03:04:05Z"),
        expect![[r#"
        Pod p

        Deletion
          asked for at 2026-01-02T03:04:05Z, 60 s ago; it waits for
          grace period: node w1 has not confirmed that its containers ended; is it running?

        Fields
          nobody is tracked
    "#]],
    );
    let object = json!({"kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "n", "deletionTimestamp": "2026-01-02T03:04:05Z",
            "finalizers": ["kubernetes.io/pvc-protection"]}});
    let mut claim = facts("", "persistentvolumeclaims", object);
    claim.pods = vec![json!({"metadata": {"name": "user", "namespace": "n"}})];
    check(
        &claim,
        expect![[r#"
        PersistentVolumeClaim n/c

        Deletion
          asked for at 2026-01-02T03:04:05Z, 60 s ago; it waits for
          finalizer kubernetes.io/pvc-protection: pods use the claim (1)
            n/user

        Fields
          nobody is tracked
    "#]],
    );
}

#[test]
fn a_definition_says_why_it_is_not_served() {
    let object = json!({"kind": "CustomResourceDefinition", "metadata": {"name": "gates.example.com"},
        "spec": {"versions": [{"name": "v1", "storage": false}, {"name": "v2", "storage": true}]},
        "status": {"storedVersions": ["v1", "v2"], "conditions": [
            {"type": "NamesAccepted", "status": "False", "reason": "KindConflict",
             "message": "\"Gate\" is already in use"},
            {"type": "Established", "status": "False", "reason": "NotAccepted",
             "message": "not all names are accepted"}]}});
    let facts = facts("apiextensions.k8s.io", "customresourcedefinitions", object);
    check(
        &facts,
        expect![[r#"
        CustomResourceDefinition.apiextensions.k8s.io gates.example.com

        Deletion
          not asked for; nothing would hold it

        Problems
          KindConflict: NamesAccepted is False: "Gate" is already in use
          NotAccepted: Established is False: not all names are accepted
          OldStorageVersion: objects may still be stored as v1; write each of them once, then take it out of status.storedVersions

        Fields
          nobody is tracked
    "#]],
    );
}

#[test]
fn a_service_says_what_its_endpoints_lack() {
    let service = |spec: Value| {
        let object = json!({"kind": "Service", "metadata": {"name": "s", "namespace": "n"},
            "spec": spec});
        facts("", "services", object)
    };
    let spec = json!({"selector": {"app": "x"}, "ports": [{"port": 80, "targetPort": "web"}]});
    check(
        &service(json!({"ports": []})),
        expect![[r#"
        Service n/s

        Deletion
          not asked for; nothing would hold it

        Problems
          NoSelector: it has no selector, so somebody has to write its EndpointSlices, and nobody has

        Fields
          nobody is tracked
    "#]],
    );
    check(
        &service(spec.clone()),
        expect![[r#"
        Service n/s

        Deletion
          not asked for; nothing would hold it

        Problems
          NoPods: no pod of the namespace has the labels app=x

        Fields
          nobody is tracked
    "#]],
    );
    let mut unready = service(spec);
    unready.pods = vec![
        json!({"metadata": {"name": "p", "namespace": "n"},
            "spec": {"containers": [{"name": "c", "ports": [{"name": "http"}]}]},
            "status": {"phase": "Pending", "containerStatuses": [
                {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}}),
        json!({"metadata": {"name": "q", "namespace": "n"},
            "status": {"conditions": [{"type": "PodScheduled", "status": "False",
                "message": "0/3 nodes are available"}]}}),
    ];
    check(
        &unready,
        expect![[r#"
        Service n/s

        Deletion
          not asked for; nothing would hold it

        Problems
          NoReadyPods: 2 pods have the labels app=x, none of them is ready: n/p (c ImagePullBackOff); n/q (0/3 nodes are available)
          NoEndpointSlices: no EndpointSlice exists; is the endpoint controller running?
          NoSuchPort: no container of the selected pods has a port named "web"

        Fields
          nobody is tracked
    "#]],
    );
}

#[test]
fn a_refusal_names_the_rule_that_comes_closest() {
    let object = json!({"kind": "Pod", "metadata": {"name": "p", "namespace": "n"}});
    let mut facts = facts("", "pods", object);
    let role = |kind: &str, name: &str, rules: Value| json!({"kind": kind, "metadata": {"name": name, "namespace": "n"}, "rules": rules});
    let binding = |namespace: &str, name: &str, kind: &str, role: &str, subject: Value| {
        json!({"metadata": {"name": name, "namespace": namespace}, "subjects": [subject],
            "roleRef": {"kind": kind, "name": role}})
    };
    let ann = || json!({"kind": "User", "name": "ann"});
    facts.request = Some(Request {
        user: "ann".to_owned(),
        groups: vec!["devs".to_owned()],
        verb: "create".to_owned(),
        review: json!({"allowed": false, "reason": "no rule"}),
        roles: vec![
            role(
                "Role",
                "reader",
                json!([
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
                {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]),
            ),
            role(
                "ClusterRole",
                "one",
                json!([
                {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"], "resourceNames": ["q"]}]),
            ),
        ],
        bindings: vec![
            binding("n", "b1", "Role", "reader", ann()),
            binding(
                "",
                "b2",
                "ClusterRole",
                "one",
                json!({"kind": "Group", "name": "devs"}),
            ),
            binding("n", "b3", "Role", "gone", ann()),
            binding(
                "n",
                "b4",
                "ClusterRole",
                "one",
                json!({"kind": "User", "name": "bob"}),
            ),
        ],
        quotas: vec![json!({"metadata": {"name": "few"},
            "status": {"hard": {"pods": "4"}, "used": {"pods": "4"}}})],
        limits: vec![json!({"metadata": {"name": "small"},
            "spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}})],
        ..Request::default()
    });
    check(
        &facts,
        expect![[r#"
        Pod n/p

        Deletion
          not asked for; nothing would hold it

        Access
          User "ann" wants to create resource "pods" in API group "" in the namespace "n": refused
          the server says: no rule
          ClusterRoleBinding b2 → ClusterRole one (* * in * named q): lacks name "p"
          RoleBinding b3 → Role gone: the role does not exist
          RoleBinding b1 → Role reader (get,list pods): lacks verb "create"
          ResourceQuota few: 4 of 4 pods used, which is all
          LimitRange small: max memory of a Container is 1Gi

        Fields
          nobody is tracked
    "#]],
    );
}

#[test]
fn programs_get_the_same_as_a_document() {
    let object = json!({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}});
    let explanation = explain(&facts("", "configmaps", object));
    let document = serde_json::to_value(&explanation).expect("plain data");
    assert_eq!(
        document,
        json!({"kind": "ConfigMap", "name": "n/a", "deletion": {"blockers": []}, "fields": []})
    );
}
