//! The priority levels and flow schemas every cluster begins with, and how a start brings stored
//! ones up to date.
//!
//! Source: Kubernetes v1.35.4, apiserver `pkg/apis/flowcontrol/bootstrap/default.go` and
//! `pkg/registry/flowcontrol/ensurer/strategy.go`; facts only.

use serde_json::{Value, json};

use super::GROUP;

/// Who owns what a start writes.
pub(crate) const MANAGER: &str = "api-priority-and-fairness-config-producer-v1";
/// Lets a start change the spec of an object.
const AUTOUPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
/// Levels and schemas that are always as they are here.
const MANDATORY: [&str; 2] = ["exempt", "catch-all"];

/// What becomes of requests that a level has no room for.
#[derive(Clone, Copy)]
enum Excess {
    /// There are none: the level has no bounds.
    Exempt,
    Reject,
    /// They wait, in so many queues, of which a flow uses so many, of this length.
    Queue([u8; 3]),
}

/// Name, shares of the server's concurrency, percentage of these that may be lent.
const LEVELS: [(&str, u8, u8, Excess); 8] = [
    ("exempt", 0, 0, Excess::Exempt),
    ("catch-all", 5, 0, Excess::Reject),
    ("system", 30, 33, Excess::Queue([64, 6, 50])),
    ("node-high", 40, 25, Excess::Queue([64, 6, 50])),
    ("leader-election", 10, 0, Excess::Queue([16, 4, 50])),
    ("workload-high", 40, 50, Excess::Queue([128, 6, 50])),
    ("workload-low", 100, 90, Excess::Queue([128, 6, 50])),
    ("global-default", 20, 50, Excess::Queue([128, 6, 50])),
];

/// Which requests of its subjects a schema is for.
#[derive(Clone, Copy)]
enum Reach {
    All,
    Probes,
    Leases,
    NodeHealth,
}

/// A flow schema in short.
struct Schema {
    name: &'static str,
    level: &'static str,
    precedence: u16,
    /// What makes two requests belong to different flows; empty if nothing does.
    flows_by: &'static str,
    /// Kind and name; accounts are those of `kube-system`.
    subjects: &'static [(&'static str, &'static str)],
    reach: Reach,
}

const USERS: &[(&str, &str)] = &[
    ("Group", "system:unauthenticated"),
    ("Group", "system:authenticated"),
];
const NODES: &[(&str, &str)] = &[("Group", "system:nodes")];
const CONTROLLER_MANAGER: (&str, &str) = ("User", "system:kube-controller-manager");
const SCHEDULER: (&str, &str) = ("User", "system:kube-scheduler");
const SYSTEM_ACCOUNTS: (&str, &str) = ("ServiceAccount", "*");

/// One schema a line.
macro_rules! schemas {
    ($($name:literal -> $level:literal, $precedence:literal, $by:literal, $who:expr, $reach:ident;)*) => {
        &[$(Schema {
            name: $name,
            level: $level,
            precedence: $precedence,
            flows_by: $by,
            subjects: $who,
            reach: Reach::$reach,
        }),*]
    };
}

const SCHEMAS: &[Schema] = schemas! {
    "exempt" -> "exempt", 1, "", &[("Group", "system:masters")], All;
    "probes" -> "exempt", 2, "", USERS, Probes;
    "system-leader-election" -> "leader-election", 100, "ByUser",
        &[CONTROLLER_MANAGER, SCHEDULER, SYSTEM_ACCOUNTS], Leases;
    "system-node-high" -> "node-high", 400, "ByUser", NODES, NodeHealth;
    "system-nodes" -> "system", 500, "ByUser", NODES, All;
    "kube-controller-manager" -> "workload-high", 800, "ByNamespace", &[CONTROLLER_MANAGER], All;
    "kube-scheduler" -> "workload-high", 800, "ByNamespace", &[SCHEDULER], All;
    "kube-system-service-accounts" -> "workload-high", 900, "ByNamespace", &[SYSTEM_ACCOUNTS], All;
    "service-accounts" -> "workload-low", 9000, "ByUser",
        &[("Group", "system:serviceaccounts")], All;
    "global-default" -> "global-default", 9900, "ByUser", USERS, All;
    "catch-all" -> "catch-all", 10000, "ByUser", USERS, All;
};

/// All of them as objects to create: levels before the schemas that name them.
pub(crate) fn objects() -> Vec<Value> {
    let levels = LEVELS.iter().map(|&(name, shares, lendable, excess)| {
        let spec = level(shares, lendable, excess);
        object("PriorityLevelConfiguration", name, &spec)
    });
    let schemas = SCHEMAS
        .iter()
        .map(|schema| object("FlowSchema", schema.name, &schema.spec()));
    levels.chain(schemas).collect()
}

/// What a stored object must become; none if it is as it should be or belongs to the administrator.
///
/// Those that are mandatory are restored; the others only while their annotation says so, or, if it
/// says nothing, nobody has changed them.
pub(crate) fn revise(stored: &Value, wanted: &Value) -> Option<Value> {
    let metadata = &stored["metadata"];
    let annotation = metadata["annotations"][AUTOUPDATE].as_str();
    let is_untouched = metadata["generation"] == 1;
    let is_mandatory = MANDATORY.iter().any(|name| metadata["name"] == *name);
    let is_left_to_us = match annotation {
        Some("true") => true,
        Some("false") => false,
        _ => is_untouched,
    };
    let is_ours = is_mandatory || is_left_to_us;
    let mut revised = stored.clone();
    if is_ours {
        revised["spec"] = wanted["spec"].clone();
    }
    revised["metadata"]["annotations"][AUTOUPDATE] = is_ours.to_string().into();
    (revised != *stored).then_some(revised)
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": kind,
        "metadata": {"name": name, "annotations": {AUTOUPDATE: "true"}},
        "spec": spec,
    })
}

fn level(shares: u8, lendable: u8, excess: Excess) -> Value {
    let mut bounds = json!({"nominalConcurrencyShares": shares, "lendablePercent": lendable});
    match excess {
        Excess::Exempt => return json!({"type": "Exempt", "exempt": bounds}),
        Excess::Reject => bounds["limitResponse"] = json!({"type": "Reject"}),
        Excess::Queue([queues, hand, length]) => {
            let queuing = json!({"queues": queues, "handSize": hand, "queueLengthLimit": length});
            bounds["limitResponse"] = json!({"type": "Queue", "queuing": queuing});
        }
    }
    json!({"type": "Limited", "limited": bounds})
}

impl Schema {
    fn spec(&self) -> Value {
        let subjects: Vec<Value> = self.subjects.iter().map(subject).collect();
        let mut rule = self.reach.rule();
        rule["subjects"] = subjects.into();
        let mut spec = json!({
            "matchingPrecedence": self.precedence,
            "priorityLevelConfiguration": {"name": self.level},
            "rules": [rule],
        });
        if !self.flows_by.is_empty() {
            spec["distinguisherMethod"] = json!({"type": self.flows_by});
        }
        spec
    }
}

fn subject(&(kind, name): &(&str, &str)) -> Value {
    match kind {
        "Group" => json!({"kind": kind, "group": {"name": name}}),
        "User" => json!({"kind": kind, "user": {"name": name}}),
        _ => json!({"kind": kind, "serviceAccount": {"name": name, "namespace": "kube-system"}}),
    }
}

impl Reach {
    fn rule(self) -> Value {
        let resources = |verbs: &[&str], group: &str, resources: &[&str]| {
            json!({"verbs": verbs, "apiGroups": [group], "resources": resources,
                "namespaces": ["*"]})
        };
        let across = |mut rule: Value| {
            rule["clusterScope"] = true.into();
            rule
        };
        match self {
            Self::All => json!({
                "resourceRules": [across(resources(&["*"], "*", &["*"]))],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            }),
            Self::Probes => json!({"nonResourceRules": [
                {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]},
            ]}),
            Self::Leases => json!({"resourceRules": [
                resources(&["get", "create", "update"], "coordination.k8s.io", &["leases"]),
            ]}),
            Self::NodeHealth => json!({"resourceRules": [
                across(resources(&["*"], "", &["nodes", "nodes/status"])),
                resources(&["*"], "coordination.k8s.io", &["leases"]),
            ]}),
        }
    }
}

#[cfg(test)]
mod tests;
