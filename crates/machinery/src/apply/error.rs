//! What can be wrong with an apply, and how the API says it.

use super::{Conflict, Operation};
use crate::quote::quote;
use crate::status::{Cause, Reason, Status};

/// Why an apply is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The configuration is of another kind or version than the endpoint (400).
    #[error("invalid object type: {0}")]
    WrongKind(String),
    /// The configuration has `managedFields` (400).
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsGiven,
    /// The live object's `managedFields` do not parse (500).
    #[error("failed to decode managed fields: {0}")]
    ManagedFields(String),
    /// A value does not fit the schema (500, as upstream has it).
    #[error("failed to create typed {which} object ({object}): {text}")]
    Typed {
        /// `patch` or `live`.
        which: &'static str,
        /// Namespace, name and type of the object.
        object: String,
        /// What does not fit, with paths.
        text: String,
    },
    /// An object cannot be converted to another version (500).
    #[error("failed to convert object: {0}")]
    Convert(String),
    /// Others own what would change (409); never empty.
    #[error("{}", conflicts_text(.0))]
    Conflicts(Vec<Conflict>),
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::WrongKind(_) | Error::ManagedFieldsGiven => Self::bad_request(text),
            Error::Conflicts(conflicts) => {
                let cause = |conflict: &Conflict| Cause {
                    reason: "FieldManagerConflict".into(),
                    message: format!("conflict with {}", owner_text(conflict)),
                    field: conflict.path.to_string(),
                };
                Self::apply_conflict(text, conflicts.iter().map(cause).collect())
            }
            _ => Self::new(500, Reason::None, text),
        }
    }
}

/// `"manager" with subresource "status" using apps/v1`.
fn owner_text(conflict: &Conflict) -> String {
    let mut text = quote(conflict.manager());
    if !conflict.subresource().is_empty() {
        text.push_str(&format!(
            " with subresource {}",
            quote(conflict.subresource())
        ));
    }
    if conflict.operation() == Operation::Update {
        text.push_str(&format!(" using {}", conflict.api_version()));
    }
    text
}

fn conflicts_text(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        let owner = owner_text(only);
        return format!(
            "Apply failed with 1 conflict: conflict with {owner}: {}",
            only.path
        );
    }
    let mut lines = Vec::new();
    let mut last = None;
    for conflict in conflicts {
        let owner = owner_text(conflict);
        if last.as_ref() != Some(&owner) {
            lines.push(format!("conflicts with {owner}:"));
            last = Some(owner);
        }
        lines.push(format!("- {}", conflict.path));
    }
    format!(
        "Apply failed with {} conflicts: {}",
        conflicts.len(),
        lines.join("\n")
    )
}
