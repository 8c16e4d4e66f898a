//! The legacy group except pods, services and volumes; and events of both groups.

use std::collections::BTreeSet;

use serde_json::Value;

use super::format::{View, join, or_none, since, text as text_at};
use super::{AGE, CREATED_AT, Column, NAME, Printer, column, text, wide};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "",
        kind: "Namespace",
        columns: &[NAME, text("Status"), AGE],
        cells: |v| vec![v.name(), v.text("status.phase").into(), v.age()],
    },
    Printer {
        group: "",
        kind: "Secret",
        columns: &[NAME, text("Type"), text("Data"), AGE],
        cells: |v| {
            vec![
                v.name(),
                v.text("type").into(),
                v.count("data").into(),
                v.age(),
            ]
        },
    },
    Printer {
        group: "",
        kind: "ConfigMap",
        columns: &[NAME, text("Data"), AGE],
        cells: |v| {
            vec![
                v.name(),
                (v.count("data") + v.count("binaryData")).into(),
                v.age(),
            ]
        },
    },
    Printer {
        group: "",
        kind: "ServiceAccount",
        columns: &[NAME, AGE],
        cells: |v| vec![v.name(), v.age()],
    },
    Printer {
        group: "",
        kind: "LimitRange",
        columns: &[NAME, CREATED_AT],
        cells: |v| vec![v.name(), v.created_at()],
    },
    Printer {
        group: "",
        kind: "ResourceQuota",
        columns: &[NAME, text("Request"), text("Limit"), AGE],
        cells: resource_quota,
    },
    Printer {
        group: "",
        kind: "Node",
        columns: &[
            NAME,
            text("Status"),
            text("Roles"),
            AGE,
            text("Version"),
            wide("Internal-IP"),
            wide("External-IP"),
            wide("OS-Image"),
            wide("Kernel-Version"),
            wide("Container-Runtime"),
        ],
        cells: node,
    },
    Printer {
        group: "",
        kind: "Event",
        columns: EVENT_COLUMNS,
        cells: core_event,
    },
    Printer {
        group: "events.k8s.io",
        kind: "Event",
        columns: EVENT_COLUMNS,
        cells: new_event,
    },
    Printer {
        group: "",
        kind: "PodTemplate",
        columns: &[NAME, text("Containers"), text("Images"), text("Pod Labels")],
        cells: |v| {
            let [names, images] = v.containers("template.spec");
            vec![
                v.name(),
                names,
                images,
                v.labels("template.metadata.labels").into(),
            ]
        },
    },
];

const EVENT_COLUMNS: &[Column] = &[
    text("Last Seen"),
    text("Type"),
    text("Reason"),
    text("Object"),
    wide("Subobject"),
    wide("Source"),
    text("Message"),
    wide("First Seen"),
    column("Count", "string", 1),
    Column {
        format: "name",
        ..wide("Name")
    },
];

fn resource_quota(view: &View<'_>) -> Vec<Value> {
    let (mut requests, mut limits) = (String::new(), String::new());
    for (resource, hard) in view.at("status.hard").as_object().into_iter().flatten() {
        let used = view
            .at("status.used")
            .get(resource)
            .and_then(Value::as_str)
            .unwrap_or("0");
        let out = if resource.starts_with("limits") {
            &mut limits
        } else {
            &mut requests
        };
        if !out.is_empty() {
            out.push_str(", ");
        }
        *out += &format!("{resource}: {used}/{}", hard.as_str().unwrap_or_default());
    }
    vec![view.name(), requests.into(), limits.into(), view.age()]
}

fn node(view: &View<'_>) -> Vec<Value> {
    let ready = view
        .list("status.conditions")
        .iter()
        .find(|c| c["type"] == "Ready");
    let mut status = match ready {
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if view.flag("spec.unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let address = |kind: &str| {
        let addresses = view.list("status.addresses").iter();
        addresses
            .filter(|a| a["type"] == kind)
            .map(|a| text_at(a, "address"))
            .next()
    };
    let info = |key: &str| view.text_or(&format!("status.nodeInfo.{key}"), "<unknown>");
    vec![
        view.name(),
        status.into(),
        roles(view).into(),
        view.age(),
        view.text("status.nodeInfo.kubeletVersion").into(),
        address("InternalIP").unwrap_or("<none>").into(),
        address("ExternalIP").unwrap_or("<none>").into(),
        info("osImage").into(),
        info("kernelVersion").into(),
        info("containerRuntimeVersion").into(),
    ]
}

fn roles(view: &View<'_>) -> String {
    let labels = view.at("metadata.labels").as_object().into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => Some(role),
                None if key == "kubernetes.io/role" => value.as_str(),
                None => None,
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    or_none(join(roles))
}

/// Where the two groups keep the same facts of an event.
struct EventPaths {
    first: &'static str,
    last: &'static str,
    count: &'static str,
    object: &'static str,
    source: &'static str,
    controller: &'static str,
    message: &'static str,
}

fn core_event(view: &View<'_>) -> Vec<Value> {
    event(
        view,
        &EventPaths {
            first: "firstTimestamp",
            last: "lastTimestamp",
            count: "count",
            object: "involvedObject",
            source: "source",
            controller: "reportingComponent",
            message: "message",
        },
    )
}

fn new_event(view: &View<'_>) -> Vec<Value> {
    event(
        view,
        &EventPaths {
            first: "deprecatedFirstTimestamp",
            last: "deprecatedLastTimestamp",
            count: "deprecatedCount",
            object: "regarding",
            source: "deprecatedSource",
            controller: "reportingController",
            message: "note",
        },
    )
}

fn event(view: &View<'_>, paths: &EventPaths) -> Vec<Value> {
    let first = view.text_or(paths.first, "");
    let first = if first.is_empty() {
        view.text("eventTime")
    } else {
        first
    };
    let last = view.text_or(paths.last, "");
    let last = if last.is_empty() { first } else { last };
    let (last, count) = match view.at("series") {
        Value::Object(_) => (
            view.text("series.lastObservedTime"),
            view.int("series.count"),
        ),
        _ => (last, view.int(paths.count).max(1)),
    };
    let object = view.at(paths.object);
    let kind = text_at(object, "kind").to_lowercase();
    let target = match text_at(object, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        since(last, view.now).into(),
        view.text("type").into(),
        view.text("reason").into(),
        target.into(),
        text_at(object, "fieldPath").into(),
        source(view, paths).into(),
        view.text(paths.message).trim().into(),
        since(first, view.now).into(),
        count.into(),
        view.name(),
    ]
}

fn source(view: &View<'_>, paths: &EventPaths) -> String {
    let old = view.at(paths.source);
    let pick = |old: &'_ str, new: &'_ str| if old.is_empty() { new } else { old }.to_owned();
    let component = pick(text_at(old, "component"), view.text(paths.controller));
    let host = pick(text_at(old, "host"), view.text("reportingInstance"));
    if host.is_empty() {
        component
    } else {
        format!("{component}, {host}")
    }
}
