//! Who may change what: each key speaks for the name servers of one cluster.
//!
//! Clusters that share a zone must not be able to remove each other. A key may change the addresses of name servers of
//! its own, and NS records that point to them; it may neither add nor remove what points elsewhere.

use super::Line;
use crate::name::Name;
use crate::record::{Data, Type};
use crate::tsig::Key;

/// A key and the name servers that are its own.
#[derive(Debug, Clone)]
pub struct Grant {
    /// What its updates are signed with.
    pub key: Key,
    /// How the first label of its name servers begins, such as `gslb-ns-eu-`. They stand directly below the apex. A
    /// label that begins with the prefixes of several grants belongs to the longest.
    pub prefix: String,
}

/// Whether a line is about what is the grant's own.
pub(super) fn permits(grants: &[Grant], own: &Grant, apex: &Name, line: &Line) -> bool {
    let is_own = |name: &Name| {
        owner(grants, apex, name).is_some_and(|owner| owner.key.name() == own.key.name())
    };
    // A name server's name holds addresses and is never delegated.
    let is_delegated = |name: &Name| owner(grants, apex, name).is_none();
    match line {
        Line::Add { name, data, .. } | Line::Delete { name, data } => match data {
            Data::Ns(server) => is_delegated(name) && is_own(server),
            Data::A(_) | Data::Aaaa(_) => is_own(name),
            _ => false,
        },
        Line::DeleteSet { name, rtype } => {
            [Type::A, Type::AAAA, Type::ANY].contains(rtype) && is_own(name)
        }
    }
}

/// The grant that a name server's name belongs to.
fn owner<'a>(grants: &'a [Grant], apex: &Name, name: &Name) -> Option<&'a Grant> {
    if name.parent().as_ref() != Some(apex) {
        return None;
    }
    let label = name.labels().next()?;
    grants
        .iter()
        .filter(|grant| {
            let prefix = grant.prefix.as_bytes();
            label
                .get(..prefix.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        })
        .max_by_key(|grant| grant.prefix.len())
}
