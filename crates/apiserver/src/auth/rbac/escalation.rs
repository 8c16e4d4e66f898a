//! Nobody gives away more than they have: the checks when roles and bindings are written.
//!
//! Source: k8s.io/kubernetes v1.35, pkg/registry/rbac/{escalation_check.go,validation,clusterrole/policybased} and
//! k8s.io/component-helpers/auth/rbac/validation.

use std::collections::{BTreeMap, BTreeSet};

use flotilla_machinery::{group::GroupResource, status::Status};
use serde_json::Value;

use super::{GROUP, Index, Rule};
use crate::access::{Attributes, Decision, Identity, MASTERS, ResourceAttributes};

/// Whether `who` may write the Role or ClusterRole `role` (`old` is what it replaces).
///
/// Allowed to system:masters, to whoever may `escalate` it, and to whoever holds all its rules in the role's namespace. An
/// aggregation rule needs full authority, because it may gather anything later.
///
/// # Errors
/// The 403 to answer with, in upstream's words.
pub fn may_grant(
    index: &Index,
    who: &Identity,
    role: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let (resource, namespace, name) = match text(role, "/kind") {
        "ClusterRole" => ("clusterroles", "", text(role, "/metadata/name")),
        _ => (
            "roles",
            text(role, "/metadata/namespace"),
            text(role, "/metadata/name"),
        ),
    };
    let unchanged = old.is_some_and(|old| differs_only_in_ownership(old, role));
    if unchanged || who.is_in(MASTERS) || may(index, who, "escalate", resource, namespace, name) {
        return Ok(());
    }
    let forbid = |why: String| Status::forbidden(&GroupResource::new(GROUP, resource), name, why);
    confirm(index, who, namespace, &rules_of(role)).map_err(forbid)?;
    let aggregates = |role: &Value| {
        role.pointer("/aggregationRule")
            .is_some_and(|rule| !rule.is_null())
    };
    if aggregates(role) || old.is_some_and(aggregates) {
        let everything = [
            Rule {
                api_groups: star(),
                resources: star(),
                verbs: star(),
                ..Rule::default()
            },
            Rule {
                non_resource_urls: star(),
                verbs: star(),
                ..Rule::default()
            },
        ];
        let why = "must have cluster-admin privileges to use the aggregationRule";
        confirm(index, who, "", &everything).map_err(|_| forbid(why.into()))?;
    }
    Ok(())
}

/// Whether `who` may write the RoleBinding or ClusterRoleBinding `binding` (`old` is what it replaces).
///
/// Allowed to system:masters, to whoever may `bind` the role, and to whoever holds all the role's rules.
///
/// # Errors
/// The 403 to answer with, or the 404 when the role does not exist.
pub fn may_bind(
    index: &Index,
    who: &Identity,
    binding: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let (resource, namespace) = match text(binding, "/kind") {
        "ClusterRoleBinding" => ("clusterrolebindings", ""),
        _ => ("rolebindings", text(binding, "/metadata/namespace")),
    };
    let (kind, role) = (
        text(binding, "/roleRef/kind"),
        text(binding, "/roleRef/name"),
    );
    let roles = if kind == "Role" {
        "roles"
    } else {
        "clusterroles"
    };
    let unchanged = old.is_some_and(|old| differs_only_in_ownership(old, binding));
    if unchanged || who.is_in(MASTERS) || may(index, who, "bind", roles, namespace, role) {
        return Ok(());
    }
    // Upstream names the resource of the request together with the name of the role.
    let rules = index
        .referenced(kind, role, namespace)
        .map_err(|_| Status::not_found(&GroupResource::new(GROUP, resource), role))?;
    confirm(index, who, namespace, &rules).map_err(|why| {
        let name = text(binding, "/metadata/name");
        Status::forbidden(&GroupResource::new(GROUP, resource), name, why)
    })
}

/// Which of `wanted`, broken down into single permissions, `held` does not cover. Empty when all is covered.
pub fn covers(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let single = wanted.iter().flat_map(break_down);
    single
        .filter(|wanted| !held.iter().any(|held| covers_one(held, wanted)))
        .collect()
}

/// Merges rules that differ only in their verbs and sorts them; for people to read.
pub fn compact(rules: &[Rule]) -> Vec<Rule> {
    let mut merged: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    for rule in rules {
        let same = Rule {
            verbs: Vec::new(),
            ..rule.clone()
        };
        let simple = rule.resources.len() == 1
            && rule.api_groups.len() == 1
            && rule.resource_names.len() < 2;
        if simple {
            merged
                .entry(same)
                .or_default()
                .extend(rule.verbs.iter().cloned());
        } else {
            merged.insert(rule.clone(), rule.verbs.clone());
        }
    }
    merged
        .into_iter()
        .map(|(rule, verbs)| Rule { verbs, ..rule })
        .collect()
}

fn confirm(index: &Index, who: &Identity, namespace: &str, wanted: &[Rule]) -> Result<(), String> {
    let held = index.held(who, namespace);
    let missing = covers(&held.rules, wanted);
    if missing.is_empty() {
        return Ok(());
    }
    let missing: BTreeSet<_> = compact(&missing).iter().map(describe).collect();
    let mut text = format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        who.name,
        quoted(&who.groups),
        missing.into_iter().collect::<Vec<_>>().join("\n"),
    );
    if !held.errors.is_empty() {
        text.push_str(&format!(
            "; resolution errors: [{}]",
            held.errors.join(", ")
        ));
    }
    Err(text)
}

fn may(
    index: &Index,
    who: &Identity,
    verb: &str,
    resource: &str,
    namespace: &str,
    name: &str,
) -> bool {
    let what = Attributes::Resource(ResourceAttributes {
        verb: verb.into(),
        group: GROUP.into(),
        version: "*".into(),
        resource: resource.into(),
        namespace: namespace.into(),
        name: name.into(),
        ..ResourceAttributes::default()
    });
    matches!(index.decide(who, &what), Decision::Allow(_))
}

/// Single permissions: one verb on one resource of one group (and one name), or on one path.
fn break_down(rule: &Rule) -> Vec<Rule> {
    let one = |text: &String| vec![text.clone()];
    let mut single = Vec::new();
    for verb in &rule.verbs {
        for group in &rule.api_groups {
            for resource in &rule.resources {
                let bare = Rule {
                    api_groups: one(group),
                    resources: one(resource),
                    verbs: one(verb),
                    ..Rule::default()
                };
                if rule.resource_names.is_empty() {
                    single.push(bare);
                    continue;
                }
                let names = rule.resource_names.iter();
                single.extend(names.map(|name| Rule {
                    resource_names: one(name),
                    ..bare.clone()
                }));
            }
        }
        let paths = rule.non_resource_urls.iter();
        single.extend(paths.map(|path| Rule {
            non_resource_urls: one(path),
            verbs: one(verb),
            ..Rule::default()
        }));
    }
    single
}

fn covers_one(held: &Rule, wanted: &Rule) -> bool {
    let every = |held: &[String], wanted: &[String]| {
        wanted
            .iter()
            .all(|wanted| held.iter().any(|held| held == "*" || held == wanted))
    };
    let resources = wanted.resources.iter().all(|wanted| {
        let parts = wanted.split_once('/').unwrap_or((wanted, ""));
        held.has_resource(parts.0, parts.1)
    });
    let names = match (
        held.resource_names.is_empty(),
        wanted.resource_names.is_empty(),
    ) {
        (true, _) => true,
        (false, true) => false,
        (false, false) => wanted
            .resource_names
            .iter()
            .all(|name| held.resource_names.contains(name)),
    };
    every(&held.verbs, &wanted.verbs)
        && every(&held.api_groups, &wanted.api_groups)
        && resources
        && names
        && wanted
            .non_resource_urls
            .iter()
            .all(|path| held.has_path(path))
}

/// `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`.
fn describe(rule: &Rule) -> String {
    let parts = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.non_resource_urls),
        ("ResourceNames", &rule.resource_names),
        ("Verbs", &rule.verbs),
    ];
    let parts = parts.into_iter().filter(|(_, values)| !values.is_empty());
    let parts: Vec<_> = parts
        .map(|(name, values)| format!("{name}:{}", quoted(values)))
        .collect();
    format!("{{{}}}", parts.join(", "))
}

/// `["a" "b"]`, as Go prints lists of text.
fn quoted(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(" "))
}

fn star() -> Vec<String> {
    vec!["*".into()]
}

fn rules_of(role: &Value) -> Vec<Rule> {
    // What cannot be read as a rule is refused by validation before it comes here, and allows nothing if it comes.
    let rules = role.get("rules").cloned().unwrap_or_default();
    serde_json::from_value::<Option<Vec<Rule>>>(rules)
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// Whether the only difference is in what garbage collection needs: owners and finalizers, and the bookkeeping of writes.
fn differs_only_in_ownership(old: &Value, new: &Value) -> bool {
    let strip = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for name in [
                "ownerReferences",
                "finalizers",
                "managedFields",
                "resourceVersion",
            ] {
                metadata.remove(name);
            }
        }
        object
    };
    strip(old) == strip(new)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
