use serde_json::json;

use super::*;
use crate::builtin;

/// Kind, what was decoded, what Go writes before and after it was stored. The last column is what kube-apiserver v1.35 answers.
#[test]
fn objects_look_as_go_writes_them() {
    let table = [
        (
            ("", "v1", "ConfigMap"),
            json!({"metadata": {}, "data": {}, "immutable": false}),
            json!({"metadata": {}, "immutable": false}),
            json!({"metadata": {}, "immutable": false}),
        ),
        (
            ("rbac.authorization.k8s.io", "v1", "Role"),
            json!({"metadata": {"labels": {}}, "rules": []}),
            json!({"metadata": {}, "rules": []}),
            json!({"metadata": {}, "rules": null}),
        ),
        (
            ("", "v1", "Pod"),
            json!({"spec": {"hostNetwork": false, "automountServiceAccountToken": false, "containers": [{"name": "a", "tty": false, "env": []}]}}),
            json!({
                "metadata": {}, "status": {},
                "spec": {"automountServiceAccountToken": false, "containers": [{"name": "a", "resources": {}}]},
            }),
            json!({
                "metadata": {}, "status": {},
                "spec": {"automountServiceAccountToken": false, "containers": [{"name": "a", "resources": {}}]},
            }),
        ),
        (
            ("", "v1", "Event"),
            json!({"involvedObject": {"kind": "Pod"}}),
            json!({
                "metadata": {}, "involvedObject": {"kind": "Pod"}, "source": {}, "firstTimestamp": null, "lastTimestamp": null,
                "eventTime": null, "reportingComponent": "", "reportingInstance": "",
            }),
            json!({
                "metadata": {}, "involvedObject": {"kind": "Pod"}, "source": {}, "firstTimestamp": null, "lastTimestamp": null,
                "eventTime": null, "reportingComponent": "", "reportingInstance": "",
            }),
        ),
    ];
    for ((group, version, kind), given, decoded, stored) in table {
        let ty = builtin::kind(group, version, kind).unwrap();
        for (lists, want) in [(Lists::AsGiven, decoded), (Lists::Stored, stored)] {
            let mut value = given.clone();
            emit(&mut value, builtin::schema(), ty, lists);
            assert_eq!(value, want, "{kind} {lists:?}");
            emit(&mut value, builtin::schema(), ty, lists);
            assert_eq!(value, want, "{kind} {lists:?}, again");
        }
    }
}
