//! How long patches and applies of a 3 KB pod take.
//!
//! `cargo bench -p flotilla-machinery` prints microseconds; run as a test, every body runs once.

use std::hint::black_box;
use std::time::Duration;

use flotilla_machinery::apply::{Context, Shape, apply, track_update};
use flotilla_machinery::builtin;
use flotilla_machinery::fieldpath::{Path, Set};
use flotilla_machinery::labels::Selector;
use flotilla_machinery::patch::{merge, strategic};
use flotilla_machinery::quantity::Quantity;
use serde_json::{Value, json};

fn main() {
    let rounds = if std::env::args().any(|arg| arg == "--bench") {
        2_000
    } else {
        1
    };
    let reset_fields = Set::from_paths([Path::fields(&["status"])]);
    let ctx = |manager: &'static str| Context {
        shape: Shape {
            schema: builtin::schema(),
            root: pod_type(),
        },
        api_version: "v1",
        kind: "Pod",
        manager,
        subresource: "",
        force: false,
        now: "2026-01-01T00:00:00Z",
        reset_fields: &reset_fields,
        versions: None,
    };
    let live = live_pod(&ctx("kubectl"), &ctx("kubelet"));
    let config = config_pod("registry.example/app:1");
    let changed = config_pod("registry.example/app:2");
    let bytes = live.to_string().len();
    report(&format!("pod of {bytes} bytes: clone"), rounds, || {
        live.clone()
    });
    report("apply without a change", rounds, || {
        apply(Some(live.clone()), &config, &ctx("kubectl")).is_ok()
    });
    report("apply with a new image", rounds, || {
        apply(Some(live.clone()), &changed, &ctx("kubectl")).is_ok()
    });
    let mut fewer = config.clone();
    fewer["metadata"]["labels"] = json!({"app": "web"});
    report("apply that prunes a label", rounds, || {
        apply(Some(live.clone()), &fewer, &ctx("kubectl")).is_ok()
    });
    let mut updated = live.clone();
    updated["metadata"]["labels"]["extra"] = json!("1");
    report("update with a new label", rounds, || {
        track_update(Some(&live), updated.clone(), &ctx("controller"))
    });
    let patch = json!({"spec": {"containers": [
        {"name": "app", "image": "registry.example/app:2", "env": [{"name": "MODE", "value": "b"}]},
    ]}});
    report("strategic merge of an image", rounds, || {
        strategic::apply(live.clone(), patch.clone(), builtin::schema(), pod_type()).is_ok()
    });
    let patch = json!({"metadata": {"labels": {"extra": "1"}}});
    report("merge patch of a label", rounds, || {
        merge::apply(live.clone(), patch.clone()).is_ok()
    });
    let selector = Selector::parse("app=web,tier in (front,back),!canary").expect("it parses");
    report("selector match", rounds, || {
        selector.matches_labels(live["metadata"]["labels"].as_object())
    });
    report("quantity parse", rounds, || {
        Quantity::parse("1536Mi").is_ok()
    });
}

fn pod_type() -> flotilla_machinery::schema::TypeId {
    builtin::schema()
        .find("io.k8s.api.core.v1.Pod")
        .expect("pods are built in")
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn report<T>(name: &str, rounds: u32, mut body: impl FnMut() -> T) {
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = now();
        for _ in 0..rounds {
            black_box(body());
        }
        best = best.min(start.elapsed() / rounds);
    }
    println!("{:>9.2} µs  {name}", best.as_secs_f64() * 1e6);
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// What a user applies.
fn config_pod(image: &str) -> Value {
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "http"}, "periodSeconds": 5});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "web-0", "namespace": "shop",
            "labels": {"app": "web", "tier": "front", "version": "v1"},
            "annotations": {"example.com/team": "shop", "example.com/oncall": "shop@example.com"},
        },
        "spec": {
            "containers": [
                {
                    "name": "app", "image": image, "args": ["--listen", ":8080", "--verbose"],
                    "ports": [
                        {"containerPort": 8080, "name": "http"},
                        {"containerPort": 9090, "name": "metrics"},
                    ],
                    "env": [
                        {"name": "MODE", "value": "a"},
                        {"name": "REGION", "value": "eu"},
                        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    ],
                    "resources": {
                        "requests": {"cpu": "100m", "memory": "128Mi"},
                        "limits": {"cpu": "1", "memory": "256Mi"},
                    },
                    "readinessProbe": probe("/ready"), "livenessProbe": probe("/live"),
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                },
                {"name": "sidecar", "image": "registry.example/sidecar:1"},
            ],
            "volumes": [{"name": "data", "emptyDir": {}}],
            "serviceAccountName": "web", "terminationGracePeriodSeconds": 30,
        },
    })
}

/// The pod as it runs: applied, defaulted, with a status.
fn live_pod(user: &Context<'_>, kubelet: &Context<'_>) -> Value {
    let mut live = apply(None, &config_pod("registry.example/app:1"), user)
        .expect("the configuration is valid")
        .object;
    live["metadata"]["uid"] = json!("0a1b2c3d-0000-4000-8000-000000000000");
    live["metadata"]["resourceVersion"] = json!("12345");
    live["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    for container in live["spec"]["containers"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        container["imagePullPolicy"] = json!("IfNotPresent");
        container["terminationMessagePath"] = json!("/dev/termination-log");
        container["terminationMessagePolicy"] = json!("File");
    }
    live["spec"]["dnsPolicy"] = json!("ClusterFirst");
    live["spec"]["restartPolicy"] = json!("Always");
    live["spec"]["nodeName"] = json!("node-1");
    let mut running = live.clone();
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "lastProbeTime": null,
            "lastTransitionTime": "2026-01-01T00:00:05Z"})
    };
    let conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition);
    running["status"] = json!({
        "phase": "Running", "podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}],
        "hostIP": "192.168.0.2", "qosClass": "Burstable", "startTime": "2026-01-01T00:00:01Z",
        "conditions": conditions,
    });
    let none = Set::new();
    let kubelet = Context {
        subresource: "status",
        reset_fields: &none,
        ..*kubelet
    };
    track_update(Some(&live), running, &kubelet)
}
