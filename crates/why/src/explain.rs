//! The explanation of one object, and how it is shown.

use std::fmt;

use serde::Serialize;

use crate::{
    access::{self, Access},
    deletion::{self, Deletion},
    facts::{Facts, list, place, text},
    fields::{self, Owned},
    health::{self, Finding},
};

/// Why an object is the way it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Kind, and group unless it is the core group.
    pub kind: String,
    /// Namespace and name.
    pub name: String,
    /// Whether and why it is still there.
    pub deletion: Deletion,
    /// Those it belongs to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<Owner>,
    /// What keeps it from doing its work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Whether a request would be refused; only when asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Who owns which fields.
    pub fields: Vec<Owned>,
    /// What could not be asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
}

/// An owner of the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Kind and name.
    pub object: String,
    /// Whether it exists, and is the one that is meant.
    pub exists: bool,
    /// Whether it manages the object.
    pub controller: bool,
    /// What that means.
    pub why: String,
}

/// Explains an object.
pub fn explain(facts: &Facts) -> Explanation {
    let kind = text(&facts.object, "/kind");
    Explanation {
        kind: match facts.group.as_str() {
            "" => kind.to_owned(),
            group => format!("{kind}.{group}"),
        },
        name: place(&facts.object),
        deletion: deletion::explain(facts),
        owners: owners(facts),
        findings: health::findings(facts),
        access: facts
            .request
            .as_ref()
            .map(|request| access::explain(facts, request)),
        fields: fields::owned(&facts.object),
        gaps: facts.gaps.clone(),
    }
}

fn owners(facts: &Facts) -> Vec<Owner> {
    let references = list(&facts.object, "/metadata/ownerReferences").iter();
    let mut owners: Vec<Owner> = references
        .map(|reference| {
            let uid = text(reference, "/uid");
            let named = |o: &&serde_json::Value| {
                text(o, "/metadata/name") == text(reference, "/name")
                    && text(o, "/kind") == text(reference, "/kind")
            };
            let found = facts.owners.iter().find(named);
            let exists = found.is_some_and(|o| text(o, "/metadata/uid") == uid);
            let why = match (found, exists) {
                (_, true) => "deleting it deletes this object too",
                (Some(_), false) => {
                    "there is one of that name, but with another uid; to the garbage collector this \
                     owner is gone"
                }
                (None, false) => "it does not exist; without another owner the garbage collector \
                                  deletes this object",
            };
            Owner {
                object: format!("{}/{}", text(reference, "/kind"), text(reference, "/name")),
                exists,
                controller: reference["controller"] == true,
                why: why.to_owned(),
            }
        })
        .collect();
    owners.sort_by(|a, b| a.object.cmp(&b.object));
    owners
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.kind, self.name)?;
        write!(f, "\n{}", self.deletion)?;
        if !self.owners.is_empty() {
            writeln!(f, "\nOwners")?;
        }
        for owner in &self.owners {
            let role = if owner.controller {
                " (controller)"
            } else {
                ""
            };
            writeln!(f, "  {}{role}: {}", owner.object, owner.why)?;
        }
        if !self.findings.is_empty() {
            writeln!(f, "\nProblems")?;
        }
        for finding in &self.findings {
            writeln!(f, "  {finding}")?;
        }
        if let Some(access) = &self.access {
            write!(f, "\n{access}")?;
        }
        fields::show(f, &self.fields)?;
        if !self.gaps.is_empty() {
            writeln!(f, "\nNot known")?;
        }
        for gap in &self.gaps {
            writeln!(f, "  {gap}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
