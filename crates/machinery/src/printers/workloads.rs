//! Workloads, what scales them and what protects them.

use serde_json::Value;

use super::format::{View, at, scalar, shortened, text as text_at, title_case};
use super::{AGE, NAME, Printer, column, integer, text, wide};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "apps",
        kind: "Deployment",
        columns: &[
            NAME,
            text("Ready"),
            text("Up-to-date"),
            text("Available"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        cells: |v| {
            let [names, images] = v.containers("spec.template.spec");
            vec![
                v.name(),
                ready(v),
                v.int("status.updatedReplicas").into(),
                v.int("status.availableReplicas").into(),
                v.age(),
                names,
                images,
                v.selector("spec.selector").into(),
            ]
        },
    },
    Printer {
        group: "apps",
        kind: "ReplicaSet",
        columns: &[
            NAME,
            integer("Desired"),
            integer("Current"),
            integer("Ready"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        cells: |v| replica_set(v, v.selector("spec.selector")),
    },
    Printer {
        group: "",
        kind: "ReplicationController",
        columns: &[
            NAME,
            integer("Desired"),
            integer("Current"),
            integer("Ready"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        cells: |v| replica_set(v, v.labels("spec.selector")),
    },
    Printer {
        group: "apps",
        kind: "StatefulSet",
        columns: &[NAME, text("Ready"), AGE, wide("Containers"), wide("Images")],
        cells: |v| {
            let [names, images] = v.containers("spec.template.spec");
            vec![v.name(), ready(v), v.age(), names, images]
        },
    },
    Printer {
        group: "apps",
        kind: "DaemonSet",
        columns: &[
            NAME,
            integer("Desired"),
            integer("Current"),
            integer("Ready"),
            integer("Up-to-date"),
            integer("Available"),
            text("Node Selector"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        cells: daemon_set,
    },
    Printer {
        group: "apps",
        kind: "ControllerRevision",
        columns: &[NAME, text("Controller"), text("Revision"), AGE],
        cells: |v| {
            vec![
                v.name(),
                controller(v).into(),
                v.int("revision").into(),
                v.age(),
            ]
        },
    },
    Printer {
        group: "batch",
        kind: "Job",
        columns: &[
            NAME,
            text("Status"),
            text("Completions"),
            text("Duration"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        cells: job,
    },
    Printer {
        group: "batch",
        kind: "CronJob",
        columns: &[
            NAME,
            text("Schedule"),
            text("Timezone"),
            column("Suspend", "boolean", 0),
            integer("Active"),
            text("Last Schedule"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        cells: cron_job,
    },
    Printer {
        group: "autoscaling",
        kind: "HorizontalPodAutoscaler",
        columns: &[
            NAME,
            text("Reference"),
            text("Targets"),
            text("MinPods"),
            text("MaxPods"),
            text("Replicas"),
            AGE,
        ],
        cells: autoscaler,
    },
    Printer {
        group: "autoscaling",
        kind: "Scale",
        columns: &[NAME, integer("Desired"), integer("Available"), AGE],
        cells: |v| {
            vec![
                v.name(),
                v.int("spec.replicas").into(),
                v.int("status.replicas").into(),
                v.age(),
            ]
        },
    },
    Printer {
        group: "policy",
        kind: "PodDisruptionBudget",
        columns: &[
            NAME,
            text("Min Available"),
            text("Max Unavailable"),
            integer("Allowed Disruptions"),
            AGE,
        ],
        cells: |v| {
            vec![
                v.name(),
                scalar(v.at("spec.minAvailable"), "N/A").into(),
                scalar(v.at("spec.maxUnavailable"), "N/A").into(),
                v.int("status.disruptionsAllowed").into(),
                v.age(),
            ]
        },
    },
];

fn ready(view: &View<'_>) -> Value {
    format!(
        "{}/{}",
        view.int("status.readyReplicas"),
        view.int("spec.replicas")
    )
    .into()
}

fn replica_set(view: &View<'_>, selector: String) -> Vec<Value> {
    let [names, images] = view.containers("spec.template.spec");
    vec![
        view.name(),
        view.int("spec.replicas").into(),
        view.int("status.replicas").into(),
        view.int("status.readyReplicas").into(),
        view.age(),
        names,
        images,
        selector.into(),
    ]
}

fn daemon_set(view: &View<'_>) -> Vec<Value> {
    let [names, images] = view.containers("spec.template.spec");
    vec![
        view.name(),
        view.int("status.desiredNumberScheduled").into(),
        view.int("status.currentNumberScheduled").into(),
        view.int("status.numberReady").into(),
        view.int("status.updatedNumberScheduled").into(),
        view.int("status.numberAvailable").into(),
        view.labels("spec.template.spec.nodeSelector").into(),
        view.age(),
        names,
        images,
        view.selector("spec.selector").into(),
    ]
}

fn controller(view: &View<'_>) -> String {
    let owners = view.list("metadata.ownerReferences").iter();
    let Some(owner) = owners.into_iter().find(|owner| owner["controller"] == true) else {
        return "<none>".to_owned();
    };
    let kind = text_at(owner, "kind").to_lowercase();
    let name = text_at(owner, "name");
    match text_at(owner, "apiVersion").split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

fn job(view: &View<'_>) -> Vec<Value> {
    let succeeded = view.int("status.succeeded");
    let completions = match (
        view.at("spec.completions").as_i64(),
        view.int("spec.parallelism"),
    ) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let time = |path: &str| view.text(path).parse::<jiff::Timestamp>().ok();
    let duration = time("status.startTime").map(|start| {
        let end = time("status.completionTime").unwrap_or(view.now);
        super::human_duration(end.duration_since(start))
    });
    let [names, images] = view.containers("spec.template.spec");
    vec![
        view.name(),
        job_status(view).into(),
        completions.into(),
        duration.unwrap_or_default().into(),
        view.age(),
        names,
        images,
        view.selector("spec.selector").into(),
    ]
}

fn job_status(view: &View<'_>) -> &'static str {
    match () {
        () if view.has_condition("Complete") => "Complete",
        () if view.has_condition("Failed") => "Failed",
        () if view.is_deleting() => "Terminating",
        () if view.has_condition("Suspended") => "Suspended",
        () if view.has_condition("FailureTarget") => "FailureTarget",
        () if view.has_condition("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn cron_job(view: &View<'_>) -> Vec<Value> {
    let [names, images] = view.containers("spec.jobTemplate.spec.template.spec");
    let last = match view.text("status.lastScheduleTime") {
        "" => "<none>".to_owned(),
        _ => view.since("status.lastScheduleTime"),
    };
    let suspend = view
        .at("spec.suspend")
        .as_bool()
        .map_or("<unset>", title_case);
    vec![
        view.name(),
        view.text("spec.schedule").into(),
        view.text_or("spec.timeZone", "<none>").into(),
        suspend.into(),
        view.count("status.active").into(),
        last.into(),
        view.age(),
        names,
        images,
        view.selector("spec.jobTemplate.spec.selector").into(),
    ]
}

fn autoscaler(view: &View<'_>) -> Vec<Value> {
    let target = view.at("spec.scaleTargetRef");
    let targets = if view.at("spec.targetCPUUtilizationPercentage").is_null() {
        metrics(
            view.list("spec.metrics"),
            view.list("status.currentMetrics"),
        )
    } else {
        // autoscaling/v1 knows one metric.
        let current = scalar(
            view.at("status.currentCPUUtilizationPercentage"),
            "<unknown>",
        );
        let percent = if current.starts_with('<') { "" } else { "%" };
        format!(
            "cpu: {current}{percent}/{}%",
            view.int("spec.targetCPUUtilizationPercentage")
        )
    };
    vec![
        view.name(),
        format!("{}/{}", text_at(target, "kind"), text_at(target, "name")).into(),
        targets.into(),
        scalar(view.at("spec.minReplicas"), "<unset>").into(),
        view.int("spec.maxReplicas").into(),
        view.int("status.currentReplicas").into(),
        view.age(),
    ]
}

/// Current and desired value of every metric, two at most.
fn metrics(specs: &[Value], statuses: &[Value]) -> String {
    if specs.is_empty() {
        return "<none>".to_owned();
    }
    let parts: Vec<String> = specs
        .iter()
        .enumerate()
        .map(|(at, spec)| metric(spec, statuses.get(at).unwrap_or(&Value::Null)))
        .collect();
    match parts.len() {
        n if n > 2 => shortened(parts, 2),
        _ => parts.join(", "),
    }
}

fn metric(spec: &Value, status: &Value) -> String {
    let (source, is_resource) = match text_at(spec, "type") {
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "External" => ("external", false),
        _ => return "<unknown type>".to_owned(),
    };
    let target = at(&spec[source], "target");
    let current = |key: &str| scalar(at(status, &format!("{source}.current.{key}")), "<unknown>");
    let name = if is_resource {
        format!("{}: ", text_at(&spec[source], "name"))
    } else {
        String::new()
    };
    if let Some(percent) = target["averageUtilization"].as_i64() {
        let current = current("averageUtilization");
        let unit = if current.starts_with('<') { "" } else { "%" };
        return format!("{name}{current}{unit}/{percent}%");
    }
    if target["averageValue"].is_null() {
        return format!(
            "{name}{}/{}",
            current("value"),
            scalar(&target["value"], "<auto>")
        );
    }
    let note = if is_resource || source == "pods" {
        ""
    } else {
        " (avg)"
    };
    format!(
        "{name}{}/{}{note}",
        current("averageValue"),
        scalar(&target["averageValue"], "")
    )
}
