//! Role-based access control: which rules apply to whom, and what they allow.
//!
//! An [`Index`] is compiled from the stored roles and bindings. A decision looks up the requester's name and groups and
//! scans only the rules bound to them: microseconds, however many bindings exist. Rules only ever allow; whatever no rule
//! allows is refused by having no opinion.
//!
//! Source: k8s.io/kubernetes v1.35, plugin/pkg/auth/authorizer/rbac and pkg/registry/rbac/validation. Aggregated cluster roles
//! are resolved here, so that they take effect with the write that changes them and not when a controller comes around.

mod escalation;
mod index;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use self::{
    escalation::{compact, covers, may_bind, may_grant},
    index::Index,
};
use crate::access::{Attributes, Decision, Identity, ResourceAttributes};

/// API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// One rule of a role (`rbac.authorization.k8s.io/v1` PolicyRule): what may be done with what.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// API groups; `*` for all.
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub api_groups: Vec<String>,
    /// Paths outside the APIs; a trailing `*` stands for any rest.
    #[serde(
        rename = "nonResourceURLs",
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub non_resource_urls: Vec<String>,
    /// Names of objects; empty for all.
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resource_names: Vec<String>,
    /// `pods`, `pods/log`, `*/scale`, or `*` for all with all subresources.
    #[serde(
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resources: Vec<String>,
    /// Verbs; `*` for all.
    #[serde(deserialize_with = "null_is_empty")]
    pub verbs: Vec<String>,
}

/// What somebody may do in a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Rules, those of cluster-wide bindings first.
    pub rules: Vec<Rule>,
    /// Bindings that could not be resolved, such as to a role that does not exist.
    pub errors: Vec<String>,
}

impl Rule {
    /// Whether the rule allows what is asked.
    pub fn allows(&self, what: &Attributes) -> bool {
        match what {
            Attributes::Resource(what) => self.allows_resource(what),
            Attributes::Path { path, verb } => self.has_verb(verb) && self.has_path(path),
        }
    }

    fn allows_resource(&self, what: &ResourceAttributes) -> bool {
        self.has_verb(&what.verb)
            && has(&self.api_groups, &what.group)
            && self.has_resource(&what.resource, &what.subresource)
            && (self.resource_names.is_empty() || self.resource_names.contains(&what.name))
    }

    fn has_verb(&self, verb: &str) -> bool {
        has(&self.verbs, verb)
    }

    fn has_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources
            .iter()
            .any(|pattern| match pattern.split_once('/') {
                None => pattern == "*" || (subresource.is_empty() && pattern == resource),
                Some((parent, sub)) => {
                    !subresource.is_empty()
                        && sub == subresource
                        && (parent == "*" || parent == resource)
                }
            })
    }

    fn has_path(&self, path: &str) -> bool {
        self.non_resource_urls
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(prefix) => path.starts_with(prefix.trim_end_matches('*')),
                None => pattern == path,
            })
    }
}

impl Index {
    /// Whether `who` may do `what`, in upstream's words.
    pub fn decide(&self, who: &Identity, what: &Attributes) -> Decision {
        let namespace = match what {
            Attributes::Resource(what) => what.namespace.as_str(),
            Attributes::Path { .. } => "",
        };
        let mut errors = BTreeSet::new();
        for grant in self.grants(who, namespace) {
            match &grant.rules {
                Ok(rules) if rules.iter().any(|rule| rule.allows(what)) => {
                    return Decision::Allow(format!("RBAC: allowed by {}", grant.source));
                }
                Ok(_) => {}
                Err(error) => {
                    errors.insert(error.as_ref());
                }
            }
        }
        Decision::NoOpinion(match errors.len() {
            0 => String::new(),
            1 => format!("RBAC: {}", errors.into_iter().collect::<String>()),
            _ => format!(
                "RBAC: [{}]",
                errors.into_iter().collect::<Vec<_>>().join(", ")
            ),
        })
    }

    /// Everything `who` may do in `namespace` (`""` for the cluster-wide rules only).
    pub fn held(&self, who: &Identity, namespace: &str) -> Held {
        let mut held = Held::default();
        let mut seen = BTreeSet::new();
        for grant in self.grants(who, namespace) {
            // Somebody bound twice by one binding holds its rules once.
            if !seen.insert(grant.binding()) {
                continue;
            }
            match &grant.rules {
                Ok(rules) => held.rules.extend(rules.iter().cloned()),
                Err(error) => held.errors.push(error.to_string()),
            }
        }
        held
    }
}

fn has(patterns: &[String], value: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| pattern == "*" || pattern == value)
}

fn null_is_empty<'de, D>(deserializer: D) -> Result<Vec<String>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests;
