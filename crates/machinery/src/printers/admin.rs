//! Access control, extension, scheduling and other kinds for administrators.

use serde_json::Value;

use super::format::{View, join, or_none, scalar, text as text_at};
use super::{AGE, CREATED_AT, Column, NAME, Printer, column, integer, text, wide};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: RBAC,
        kind: "Role",
        columns: &[NAME, CREATED_AT],
        cells: created,
    },
    Printer {
        group: RBAC,
        kind: "ClusterRole",
        columns: &[NAME, CREATED_AT],
        cells: created,
    },
    Printer {
        group: RBAC,
        kind: "RoleBinding",
        columns: BINDING,
        cells: binding,
    },
    Printer {
        group: RBAC,
        kind: "ClusterRoleBinding",
        columns: BINDING,
        cells: binding,
    },
    Printer {
        group: "",
        kind: "ComponentStatus",
        columns: &[NAME, text("Status"), text("Message"), text("Error")],
        cells: component_status,
    },
    Printer {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        columns: &[NAME, CREATED_AT],
        cells: created,
    },
    Printer {
        group: "apiregistration.k8s.io",
        kind: "APIService",
        columns: &[NAME, text("Service"), text("Available"), AGE],
        cells: api_service,
    },
    Printer {
        group: ADMISSION,
        kind: "MutatingWebhookConfiguration",
        columns: &[NAME, integer("Webhooks"), AGE],
        cells: |v| vec![v.name(), v.count("webhooks").into(), v.age()],
    },
    Printer {
        group: ADMISSION,
        kind: "ValidatingWebhookConfiguration",
        columns: &[NAME, integer("Webhooks"), AGE],
        cells: |v| vec![v.name(), v.count("webhooks").into(), v.age()],
    },
    Printer {
        group: ADMISSION,
        kind: "ValidatingAdmissionPolicy",
        columns: &[NAME, integer("Validations"), text("ParamKind"), AGE],
        cells: |v| {
            let kind = match v.at("spec.paramKind") {
                Value::Object(_) => {
                    let (version, kind) = ("spec.paramKind.apiVersion", "spec.paramKind.kind");
                    format!("{}/{}", v.text(version), v.text(kind))
                }
                _ => "<unset>".to_owned(),
            };
            vec![
                v.name(),
                v.count("spec.validations").into(),
                kind.into(),
                v.age(),
            ]
        },
    },
    Printer {
        group: ADMISSION,
        kind: "ValidatingAdmissionPolicyBinding",
        columns: &[NAME, text("PolicyName"), text("ParamRef"), AGE],
        cells: policy_binding,
    },
    Printer {
        group: "coordination.k8s.io",
        kind: "Lease",
        columns: &[NAME, text("Holder"), AGE],
        cells: |v| vec![v.name(), v.text("spec.holderIdentity").into(), v.age()],
    },
    Printer {
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        columns: &[
            NAME,
            AGE,
            text("SignerName"),
            text("Requestor"),
            text("RequestedDuration"),
            text("Condition"),
        ],
        cells: signing_request,
    },
    Printer {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        columns: &[
            NAME,
            integer("Value"),
            column("Global-Default", "boolean", 0),
            AGE,
            text("PreemptionPolicy"),
        ],
        cells: |v| {
            vec![
                v.name(),
                v.int("value").into(),
                v.flag("globalDefault").into(),
                v.age(),
                v.text("preemptionPolicy").into(),
            ]
        },
    },
    Printer {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        columns: &[NAME, text("Handler"), AGE],
        cells: |v| vec![v.name(), v.text("handler").into(), v.age()],
    },
    Printer {
        group: FLOW,
        kind: "FlowSchema",
        columns: &[
            NAME,
            text("PriorityLevel"),
            text("MatchingPrecedence"),
            text("DistinguisherMethod"),
            AGE,
            text("MissingPL"),
        ],
        cells: flow_schema,
    },
    Printer {
        group: FLOW,
        kind: "PriorityLevelConfiguration",
        columns: &[
            NAME,
            text("Type"),
            text("NominalConcurrencyShares"),
            text("Queues"),
            text("HandSize"),
            text("QueueLengthLimit"),
            AGE,
        ],
        cells: priority_level,
    },
    Printer {
        group: "resource.k8s.io",
        kind: "ResourceClaim",
        columns: &[NAME, text("State"), AGE],
        cells: |v| vec![v.name(), claim_state(v).into(), v.age()],
    },
    Printer {
        group: "resource.k8s.io",
        kind: "ResourceSlice",
        columns: &[NAME, text("Node"), text("Driver"), text("Pool"), AGE],
        cells: |v| {
            vec![
                v.name(),
                v.text_or("spec.nodeName", "<unset>").into(),
                v.text("spec.driver").into(),
                v.text("spec.pool.name").into(),
                v.age(),
            ]
        },
    },
];

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW: &str = "flowcontrol.apiserver.k8s.io";

const BINDING: &[Column] = &[
    NAME,
    text("Role"),
    AGE,
    wide("Users"),
    wide("Groups"),
    wide("ServiceAccounts"),
];

fn created(view: &View<'_>) -> Vec<Value> {
    vec![view.name(), view.created_at()]
}

fn binding(view: &View<'_>) -> Vec<Value> {
    vec![
        view.name(),
        format!(
            "{}/{}",
            view.text("roleRef.kind"),
            view.text("roleRef.name")
        )
        .into(),
        view.age(),
        subjects(view, "User"),
        subjects(view, "Group"),
        subjects(view, "ServiceAccount"),
    ]
}

/// Users, groups or service accounts among the subjects of a binding.
fn subjects(view: &View<'_>, kind: &str) -> Value {
    let subjects = view.list("subjects").iter().filter(|s| s["kind"] == kind);
    let names: Vec<String> = subjects
        .map(|subject| match text_at(subject, "namespace") {
            namespace if kind == "ServiceAccount" => {
                format!("{namespace}/{}", text_at(subject, "name"))
            }
            _ => text_at(subject, "name").to_owned(),
        })
        .collect();
    names.join(", ").into()
}

fn component_status(view: &View<'_>) -> Vec<Value> {
    let mut conditions = view.list("conditions").iter();
    let (status, message, error) = match conditions.find(|c| c["type"] == "Healthy") {
        None => ("Unknown", "", ""),
        Some(condition) => (
            match condition["status"] == "True" {
                true => "Healthy",
                false => "Unhealthy",
            },
            text_at(condition, "message"),
            text_at(condition, "error"),
        ),
    };
    vec![view.name(), status.into(), message.into(), error.into()]
}

fn api_service(view: &View<'_>) -> Vec<Value> {
    let service = match view.at("spec.service") {
        Value::Object(_) => {
            format!(
                "{}/{}",
                view.text("spec.service.namespace"),
                view.text("spec.service.name")
            )
        }
        _ => "Local".to_owned(),
    };
    let conditions = view.list("status.conditions").iter();
    let available = match conditions.into_iter().find(|c| c["type"] == "Available") {
        None => "Unknown".to_owned(),
        Some(condition) if condition["status"] == "True" => "True".to_owned(),
        Some(condition) => {
            format!(
                "{} ({})",
                text_at(condition, "status"),
                text_at(condition, "reason")
            )
        }
    };
    vec![view.name(), service.into(), available.into(), view.age()]
}

fn policy_binding(view: &View<'_>) -> Vec<Value> {
    let param = match view.at("spec.paramRef") {
        Value::Object(_) => match view.text("spec.paramRef.namespace") {
            "" => view.text("spec.paramRef.name").to_owned(),
            namespace => format!("{namespace}/{}", view.text("spec.paramRef.name")),
        },
        _ => "<unset>".to_owned(),
    };
    vec![
        view.name(),
        view.text("spec.policyName").into(),
        param.into(),
        view.age(),
    ]
}

fn signing_request(view: &View<'_>) -> Vec<Value> {
    let seconds = view.at("spec.expirationSeconds").as_i64();
    let duration = seconds.map(|s| super::human_duration(jiff::SignedDuration::from_secs(s)));
    vec![
        view.name(),
        view.age(),
        view.text_or("spec.signerName", "<none>").into(),
        view.text("spec.username").into(),
        duration.unwrap_or("<none>".to_owned()).into(),
        signing_state(view).into(),
    ]
}

/// A denial wins over an approval, then a failure, then the certificate is added.
fn signing_state(view: &View<'_>) -> String {
    let has = |kind: &str| {
        view.list("status.conditions")
            .iter()
            .any(|c| c["type"] == kind)
    };
    let mut state = match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !view.text("status.certificate").is_empty() {
        state.push_str(",Issued");
    }
    state
}

fn flow_schema(view: &View<'_>) -> Vec<Value> {
    let dangling = view
        .list("status.conditions")
        .iter()
        .find(|c| c["type"] == "Dangling");
    vec![
        view.name(),
        view.text("spec.priorityLevelConfiguration.name").into(),
        view.int("spec.matchingPrecedence").into(),
        view.text_or("spec.distinguisherMethod.type", "<none>")
            .into(),
        view.age(),
        dangling
            .map_or("?", |condition| text_at(condition, "status"))
            .into(),
    ]
}

fn priority_level(view: &View<'_>) -> Vec<Value> {
    let queuing = "spec.limited.limitResponse.queuing";
    let number = |path: &str| scalar(view.at(path), "<none>");
    let shares = match view.at("spec.limited.nominalConcurrencyShares") {
        Value::Null => number("spec.exempt.nominalConcurrencyShares"),
        shares => scalar(shares, ""),
    };
    vec![
        view.name(),
        view.text("spec.type").into(),
        shares.into(),
        number(&format!("{queuing}.queues")).into(),
        number(&format!("{queuing}.handSize")).into(),
        number(&format!("{queuing}.queueLengthLimit")).into(),
        view.age(),
    ]
}

fn claim_state(view: &View<'_>) -> String {
    let mut states = Vec::new();
    if view.is_deleting() {
        states.push("deleted");
    }
    if view.at("status.allocation").is_object() {
        states.push("allocated");
        if !view.list("status.reservedFor").is_empty() {
            states.push("reserved");
        }
    } else if !view.is_deleting() {
        states.push("pending");
    }
    or_none(join(states))
}
