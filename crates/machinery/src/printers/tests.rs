use serde_json::json;

use super::*;

fn now() -> Timestamp {
    "2026-03-10T12:00:00Z".parse().unwrap()
}

/// Cells as one line, as wide output would show them.
fn row(group: &str, kind: &str, object: Value) -> String {
    let cells = printer(group, kind).cells(&object, now());
    let cells: Vec<String> = cells.iter().map(|cell| format::scalar(cell, "")).collect();
    cells.join(" | ")
}

fn pod(spec: Value, status: Value) -> String {
    let created = "2026-03-10T11:00:00Z";
    let meta = json!({"name": "p", "creationTimestamp": created});
    row(
        "",
        "Pod",
        json!({"metadata": meta, "spec": spec, "status": status}),
    )
}

/// Ready, status and restarts of a pod.
fn pod_state(spec: Value, status: Value) -> String {
    pod(spec, status)
        .split(" | ")
        .skip(1)
        .take(3)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn every_printer_fills_its_columns_whatever_the_object() {
    for printer in all() {
        for object in [
            json!({}),
            json!({"spec": 1, "status": [], "metadata": null}),
        ] {
            let cells = printer.cells(&object, now());
            assert_eq!(cells.len(), printer.columns().len(), "{}", printer.kind);
        }
        let mut columns = printer.columns().iter();
        assert!(columns.any(|c| c.format == "name"), "{}", printer.kind);
        assert_eq!(
            super::printer(printer.group, printer.kind).columns,
            printer.columns
        );
    }
}

#[test]
fn every_printer_belongs_to_a_built_in_kind() {
    for printer in all() {
        let served = ["v1", "v2"].map(|v| crate::builtin::kind(printer.group, v, printer.kind));
        assert!(
            served.iter().any(Option::is_some),
            "{} {}",
            printer.group,
            printer.kind
        );
    }
}

#[test]
fn durations_get_coarser_with_age() {
    for (seconds, expected) in [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (599, "9m59s"),
        (600, "10m"),
        (10_799, "179m"),
        (10_800, "3h"),
        (12_000, "3h20m"),
        (28_799, "7h59m"),
        (28_800, "8h"),
        (172_799, "47h"),
        (172_800, "2d"),
        (180_000, "2d2h"),
        (691_199, "7d23h"),
        (691_200, "8d"),
        (63_071_999, "729d"),
        (63_072_000, "2y"),
        (63_158_400, "2y1d"),
        (252_287_999, "7y364d"),
        (252_288_000, "8y"),
    ] {
        assert_eq!(
            human_duration(jiff::SignedDuration::from_secs(seconds)),
            expected,
            "{seconds}"
        );
    }
}

#[test]
fn pod_rows() {
    let one = json!({"containers": [{"name": "c"}]});
    let two = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let running = json!({"name": "c", "ready": true, "state": {"running": {}}});
    for (name, spec, status, expected) in [
        ("new", &one, json!({"phase": "Pending"}), "0/1 Pending 0"),
        (
            "gated",
            &one,
            json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}),
            "0/1 SchedulingGated 0",
        ),
        (
            "running",
            &one,
            json!({"phase": "Running", "containerStatuses": [running]}),
            "1/1 Running 0",
        ),
        (
            "evicted",
            &one,
            json!({"phase": "Failed", "reason": "Evicted"}),
            "0/1 Evicted 0",
        ),
        (
            "crashing",
            &one,
            json!({"phase": "Running", "containerStatuses": [{
            "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"finishedAt": "2026-03-10T11:58:00Z"}}}]}),
            "0/1 CrashLoopBackOff 3 (2m ago)",
        ),
        (
            "exited",
            &one,
            json!({"phase": "Running", "containerStatuses": [
            {"state": {"terminated": {"exitCode": 3}}}]}),
            "0/1 Running 0",
        ),
        (
            "error",
            &one,
            json!({"phase": "Failed", "containerStatuses": [
            {"state": {"terminated": {"exitCode": 3, "reason": "Error"}}}]}),
            "0/1 Error 0",
        ),
        (
            "one of two done",
            &two,
            json!({"phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
                {"ready": true, "state": {"running": {}}}]}),
            "1/2 Running 0",
        ),
        (
            "one of two done, not ready",
            &two,
            json!({"phase": "Running", "containerStatuses": [
            {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
            {"ready": true, "state": {"running": {}}}]}),
            "1/2 NotReady 0",
        ),
    ] {
        assert_eq!(pod_state(spec.clone(), status), expected, "{name}");
    }
}

#[test]
fn init_containers_come_first_and_sidecars_count() {
    let spec = json!({
        "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
        "containers": [{"name": "c"}],
    });
    for (init, containers, expected) in [
        (
            json!([{"name": "i", "state": {"running": {}}}, {"name": "s"}]),
            json!([]),
            "0/2 Init:0/2 0",
        ),
        (
            json!([{"name": "i", "restartCount": 1, "state": {"terminated": {"exitCode": 1}}}]),
            json!([]),
            "0/2 Init:ExitCode:1 1",
        ),
        (
            json!([{"name": "i", "state": {"waiting": {"reason": "ErrImagePull"}}}]),
            json!([]),
            "0/2 Init:ErrImagePull 0",
        ),
        (
            json!([{"name": "i", "state": {"terminated": {"exitCode": 9, "signal": 9}}}]),
            json!([]),
            "0/2 Init:Signal:9 0",
        ),
        (
            json!([{"name": "i", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}},
                {"name": "s", "restartCount": 2, "ready": true, "started": true, "state": {"running": {}}}]),
            json!([{"name": "c", "restartCount": 1, "ready": true, "state": {"running": {}}}]),
            "2/2 Running 3",
        ),
    ] {
        let status = json!({"phase": "Running", "initContainerStatuses": init,
            "containerStatuses": containers});
        assert_eq!(pod_state(spec.clone(), status), expected);
    }
}

#[test]
fn deleted_pods_are_terminating_until_they_ended() {
    for (phase, reason, expected) in [
        ("Running", "", "Terminating"),
        ("Succeeded", "", "Succeeded"),
        ("Running", "NodeLost", "Unknown"),
    ] {
        let pod = json!({"metadata": {"deletionTimestamp": "2026-03-10T11:00:00Z"},
            "status": {"phase": phase, "reason": reason}});
        assert_eq!(row("", "Pod", pod).split(" | ").nth(2), Some(expected));
    }
}

#[test]
fn completed_pods_are_marked() {
    let done = json!({"status": {"phase": "Succeeded"}});
    assert_eq!(completed("", "Pod", &done).unwrap().reason, "Succeeded");
    assert_eq!(
        completed("", "Pod", &json!({"status": {"phase": "Running"}})),
        None
    );
    assert_eq!(completed("", "PersistentVolume", &done), None);
}

#[test]
fn rows_of_common_kinds() {
    let meta = json!({"name": "n", "namespace": "d", "creationTimestamp": "2026-03-07T12:00:00Z"});
    let template = json!({"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j"}]}});
    for (group, kind, mut object, expected) in [
        (
            "apps",
            "Deployment",
            json!({"spec": {"replicas": 3, "template": template, "selector": {"matchLabels": {"a": "b"}}},
                "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 2}}),
            "n | 2/3 | 3 | 2 | 3d | a,b | i:1,j | a=b",
        ),
        (
            "apps",
            "StatefulSet",
            json!({"spec": {"replicas": 2, "template": template}}),
            "n | 0/2 | 3d | a,b | i:1,j",
        ),
        (
            "batch",
            "Job",
            json!({"spec": {"completions": 5},
            "status": {"succeeded": 1, "startTime": "2026-03-10T11:59:00Z"}}),
            "n | Running | 1/5 | 60s | 3d |  |  | <none>",
        ),
        (
            "batch",
            "CronJob",
            json!({"spec": {"schedule": "@daily", "suspend": false}}),
            "n | @daily | <none> | False | 0 | <none> | 3d |  |  | <none>",
        ),
        (
            "",
            "Service",
            json!({"spec": {"type": "NodePort", "clusterIPs": ["10.0.0.1"],
            "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}}),
            "n | NodePort | 10.0.0.1 | <none> | 80:30080/TCP,53/UDP | 3d | <none>",
        ),
        (
            "",
            "Service",
            json!({"spec": {"type": "LoadBalancer", "clusterIP": "None"}}),
            "n | LoadBalancer | None | <pending> | <none> | 3d | <none>",
        ),
        (
            "",
            "Endpoints",
            json!({"subsets": [{"addresses": [{"ip": "1.1.1.1"}, {"ip": "::1"}],
            "ports": [{"port": 1}, {"port": 2}]}]}),
            "n | 1.1.1.1:1,[::1]:1,1.1.1.1:2 + 1 more... | 3d",
        ),
        (
            "discovery.k8s.io",
            "EndpointSlice",
            json!({"addressType": "IPv4", "ports": [{}],
            "endpoints": [{"addresses": ["1.1.1.1"]}]}),
            "n | IPv4 | * | 1.1.1.1 | 3d",
        ),
        (
            "networking.k8s.io",
            "Ingress",
            json!({"spec": {"tls": [{}], "rules": [{"host": "a.b"}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"hostname": "h"}]}}}),
            "n | <none> | a.b | 2.2.2.2,h | 80, 443 | 3d",
        ),
        (
            "",
            "Node",
            json!({"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}},
            "spec": {"unschedulable": true}, "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.9"}],
                "nodeInfo": {"kubeletVersion": "v1", "osImage": "Debian"}}}),
            "n | Ready,SchedulingDisabled | control-plane | 3d | v1 | 10.0.0.9 | <none> | Debian | <unknown> | <unknown>",
        ),
        (
            "",
            "PersistentVolumeClaim",
            json!({"spec": {"volumeName": "v", "storageClassName": "s"},
            "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}}),
            "n | Bound | v | 1Gi | RWO | s | <unset> | 3d | <unset>",
        ),
        (
            "",
            "ConfigMap",
            json!({"data": {"a": ""}, "binaryData": {"b": ""}}),
            "n | 2 | 3d",
        ),
        (
            "",
            "ResourceQuota",
            json!({"status": {"hard": {"pods": "10", "limits.cpu": "2"},
            "used": {"pods": "1", "limits.cpu": "1"}}}),
            "n | pods: 1/10 | limits.cpu: 1/2 | 3d",
        ),
        (
            "policy",
            "PodDisruptionBudget",
            json!({"spec": {"minAvailable": "50%"}}),
            "n | 50% | N/A | 0 | 3d",
        ),
        (
            "rbac.authorization.k8s.io",
            "RoleBinding",
            json!({"roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "x"}]}),
            "n | Role/r | 3d | u |  | x/s",
        ),
        (
            "autoscaling",
            "HorizontalPodAutoscaler",
            json!({"spec": {"maxReplicas": 9,
            "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}]}}),
            "n | Deployment/web | cpu: <unknown>/80% | <unset> | 9 | 0 | 3d",
        ),
        (
            "apiregistration.k8s.io",
            "APIService",
            json!({"status": {"conditions": [
            {"type": "Available", "status": "False", "reason": "Down"}]}}),
            "n | Local | False (Down) | 3d",
        ),
        (
            "",
            "ComponentStatus",
            json!({"conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]}),
            "n | Healthy | ok | ",
        ),
        (
            "",
            "ComponentStatus",
            json!({"conditions": [{"type": "Healthy", "status": "Unknown", "error": "e"}]}),
            "n | Unhealthy |  | e",
        ),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            json!({}),
            "n | 2026-03-07T12:00:00Z",
        ),
        ("example.com", "Unheard", json!({}), "n | 3d"),
    ] {
        let mut merged = meta.clone();
        for (key, value) in object["metadata"].as_object().cloned().unwrap_or_default() {
            merged[key] = value;
        }
        object["metadata"] = merged;
        assert_eq!(row(group, kind, object), expected, "{kind}");
    }
}

#[test]
fn events_of_both_groups_look_the_same() {
    let core = json!({
        "metadata": {"name": "e"}, "type": "Normal", "reason": "Pulled", "message": "text \n",
        "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"},
        "source": {"component": "kubelet", "host": "n1"}, "count": 4,
        "firstTimestamp": "2026-03-10T11:00:00Z", "lastTimestamp": "2026-03-10T11:59:30Z",
    });
    let expected =
        "30s | Normal | Pulled | pod/p | spec.containers{c} | kubelet, n1 | text | 60m | 4 | e";
    assert_eq!(row("", "Event", core), expected);
    let new = json!({
        "metadata": {"name": "e"}, "type": "Normal", "reason": "Pulled", "note": "text",
        "regarding": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"},
        "reportingController": "kubelet", "reportingInstance": "n1", "eventTime": "2026-03-10T11:00:00.000000Z",
        "series": {"count": 4, "lastObservedTime": "2026-03-10T11:59:30.000000Z"},
    });
    assert_eq!(row("events.k8s.io", "Event", new), expected);
}
