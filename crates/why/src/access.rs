//! Whether a request would be refused: the rules that bear on it, quotas and limits.
//!
//! The verdict is the cluster's own (SubjectAccessReview), because it may have other authorizers.
//! What RBAC has to say is worked out beside it from roles and bindings, so that a refusal names the
//! rule that comes closest.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::facts::{Facts, Request, list, text};

/// What would come of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// Who, does what.
    pub request: String,
    /// The cluster's verdict.
    pub allowed: bool,
    /// Its reason.
    pub reason: String,
    /// What was considered: those that grant it first, then those that come close.
    pub rules: Vec<Considered>,
    /// Quotas and limits of the namespace that a creation meets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

/// One rule of one role that is bound to the subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Considered {
    /// What the rule lacks; nothing when it grants the request.
    pub lacks: Vec<String>,
    /// Binding and role.
    pub path: String,
    /// The rule.
    pub rule: String,
}

/// Explains a request.
pub(crate) fn explain(facts: &Facts, request: &Request) -> Access {
    let mut rules: Vec<Considered> = request
        .bindings
        .iter()
        .filter(|binding| is_bound(binding, request))
        .flat_map(|binding| considered(facts, request, binding))
        .collect();
    rules.sort_by(|a, b| (a.lacks.len(), a).cmp(&(b.lacks.len(), b)));
    rules.dedup();
    let reason = match (
        text(&request.review, "/reason"),
        text(&request.review, "/evaluationError"),
    ) {
        ("", "") => String::new(),
        (reason, "") => reason.to_owned(),
        ("", error) => error.to_owned(),
        (reason, error) => format!("{reason}; {error}"),
    };
    Access {
        request: describe(facts, request),
        allowed: request.review["allowed"] == true && request.review["denied"] != true,
        reason,
        rules,
        limits: match request.verb.as_str() {
            "create" => limits(request),
            _ => Vec::new(),
        },
    }
}

fn describe(facts: &Facts, request: &Request) -> String {
    let Request { user, verb, .. } = request;
    let resource = resource(facts, request);
    let within = match text(&facts.object, "/metadata/namespace") {
        "" => " at the cluster scope".to_owned(),
        namespace => format!(" in the namespace {namespace:?}"),
    };
    let group = &facts.group;
    format!("User {user:?} wants to {verb} resource {resource:?} in API group {group:?}{within}")
}

fn resource(facts: &Facts, request: &Request) -> String {
    match request.subresource.as_str() {
        "" => facts.plural.clone(),
        subresource => format!("{}/{subresource}", facts.plural),
    }
}

fn is_bound(binding: &Value, request: &Request) -> bool {
    list(binding, "/subjects").iter().any(|subject| {
        let name = text(subject, "/name");
        match text(subject, "/kind") {
            "User" => name == request.user,
            "Group" => request.groups.iter().any(|g| g == name),
            "ServiceAccount" => {
                let namespace = match text(subject, "/namespace") {
                    "" => text(binding, "/metadata/namespace"),
                    namespace => namespace,
                };
                request.user == format!("system:serviceaccount:{namespace}:{name}")
            }
            _ => false,
        }
    })
}

fn considered(facts: &Facts, request: &Request, binding: &Value) -> Vec<Considered> {
    let namespace = text(binding, "/metadata/namespace");
    let (kind, name) = (
        text(binding, "/roleRef/kind"),
        text(binding, "/roleRef/name"),
    );
    let role = request.roles.iter().find(|role| {
        text(role, "/kind") == kind
            && text(role, "/metadata/name") == name
            && (kind == "ClusterRole" || text(role, "/metadata/namespace") == namespace)
    });
    let bound_by = match namespace {
        "" => "ClusterRoleBinding",
        _ => "RoleBinding",
    };
    let path = format!(
        "{bound_by} {} → {kind} {name}",
        text(binding, "/metadata/name")
    );
    let Some(role) = role else {
        return vec![Considered {
            lacks: vec!["the role does not exist".to_owned()],
            path,
            rule: String::new(),
        }];
    };
    let rules = list(role, "/rules").iter();
    let rules = rules.filter(|rule| !list(rule, "/resources").is_empty());
    let judged = rules.map(|rule| (lacks(facts, request, rule), rule));
    // A rule about other resources altogether is of no interest.
    let near = judged.filter(|(lacks, _)| lacks.len() <= 1);
    near.map(|(lacks, rule)| Considered {
        lacks,
        path: path.clone(),
        rule: show_rule(rule),
    })
    .collect()
}

/// What a rule lacks to grant the request.
fn lacks(facts: &Facts, request: &Request, rule: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let has = |member: &str, wanted: &dyn Fn(&str) -> bool| {
        let mut values = list(rule, member).iter().filter_map(Value::as_str);
        values.any(wanted)
    };
    if !has("/apiGroups", &|g| g == "*" || g == facts.group) {
        out.push(format!("API group {:?}", facts.group));
    }
    let resource = resource(facts, request);
    let sub = &request.subresource;
    let wanted = |r: &str| {
        r == "*" || r == resource || (!sub.is_empty() && r.strip_prefix("*/") == Some(sub))
    };
    if !has("/resources", &wanted) {
        out.push(format!("resource {resource:?}"));
    }
    if !has("/verbs", &|v| v == "*" || v == request.verb) {
        out.push(format!("verb {:?}", request.verb));
    }
    let name = text(&facts.object, "/metadata/name");
    if !list(rule, "/resourceNames").is_empty() && !has("/resourceNames", &|n| n == name) {
        out.push(format!("name {name:?}"));
    }
    out
}

fn show_rule(rule: &Value) -> String {
    let words = |member: &str| {
        let values = list(rule, member).iter().filter_map(Value::as_str);
        values.collect::<Vec<_>>().join(",")
    };
    let mut out = format!("{} {}", words("/verbs"), words("/resources"));
    let groups = words("/apiGroups");
    if !groups.is_empty() {
        out.push_str(&format!(" in {groups}"));
    }
    let names = words("/resourceNames");
    if !names.is_empty() {
        out.push_str(&format!(" named {names}"));
    }
    out
}

/// Quotas with what is used of them, and limits, as the server checks them on creation.
fn limits(request: &Request) -> Vec<String> {
    let mut out = Vec::new();
    for quota in &request.quotas {
        let hard = quota["status"]["hard"].as_object();
        for (name, hard) in hard.into_iter().flatten() {
            let hard = hard.as_str().unwrap_or("");
            let used = quota["status"]["used"][name].as_str().unwrap_or("0");
            let full = if used == hard { ", which is all" } else { "" };
            out.push(format!(
                "ResourceQuota {}: {used} of {hard} {name} used{full}",
                text(quota, "/metadata/name")
            ));
        }
    }
    for range in &request.limits {
        for limit in list(range, "/spec/limits") {
            for bound in ["min", "max", "default", "defaultRequest"] {
                let values = limit[bound].as_object();
                for (name, value) in values.into_iter().flatten() {
                    out.push(format!(
                        "LimitRange {}: {bound} {name} of a {} is {}",
                        text(range, "/metadata/name"),
                        text(limit, "/type"),
                        value.as_str().unwrap_or("")
                    ));
                }
            }
        }
    }
    out
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.allowed { "allowed" } else { "refused" };
        writeln!(f, "Access\n  {}: {verdict}", self.request)?;
        if !self.reason.is_empty() {
            writeln!(f, "  the server says: {}", self.reason)?;
        }
        if self.rules.is_empty() {
            writeln!(
                f,
                "  no rule of a role that is bound to the user comes close"
            )?;
        }
        for rule in &self.rules {
            let verdict = match rule.lacks.as_slice() {
                [] => "grants it".to_owned(),
                lacks if rule.rule.is_empty() => lacks.join(" and "),
                lacks => format!("lacks {}", lacks.join(" and ")),
            };
            match rule.rule.as_str() {
                "" => writeln!(f, "  {}: {verdict}", rule.path)?,
                text => writeln!(f, "  {} ({text}): {verdict}", rule.path)?,
            }
        }
        for limit in &self.limits {
            writeln!(f, "  {limit}")?;
        }
        Ok(())
    }
}
