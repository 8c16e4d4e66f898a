//! What replies about a host say beside its records, when not all is well (RFC 8914).

use std::collections::BTreeMap;

use flotilla_dns::zone::Why;

use crate::{select::Reason, view::Family};

/// The troubles among the reasons, for the first family that has any answer, else the first of all; nothing when all is well.
///
/// Ages and the like are left out: the text changes when the state does and not with every second.
pub fn why_of(
    reasons: &BTreeMap<Family, Vec<Reason>>,
    answered: impl Fn(Family) -> bool,
) -> Option<Why> {
    let families = || reasons.keys().copied();
    let family = families()
        .find(|f| answered(*f))
        .or_else(|| families().next())?;
    let troubles: Vec<(bool, String)> = reasons[&family].iter().filter_map(trouble).collect();
    if troubles.is_empty() {
        return None;
    }
    let held = troubles.iter().any(|(held, _)| *held);
    let code = if held { Why::STALE_ANSWER } else { Why::OTHER };
    let texts: Vec<&str> = troubles.iter().map(|(_, text)| text.as_str()).collect();
    Some(Why::new(code, &texts.join("; ")))
}

/// What is wrong, and whether it makes the answer an old one.
fn trouble(reason: &Reason) -> Option<(bool, String)> {
    match reason {
        Reason::OwnUnhealthy { .. }
        | Reason::OwnWithoutAddress { .. }
        | Reason::PeerWithoutTargets { .. }
        | Reason::PeerUnknown { .. }
        | Reason::PeerUnwitnessed { .. }
        | Reason::Recovering { .. } => Some((false, reason.to_string())),
        Reason::PeerHeld { tag, .. } => {
            let text = format!("{tag} does not answer, its last answer is held");
            Some((true, text))
        }
        Reason::OwnHealthy { .. }
        | Reason::PeerHealthy { .. }
        | Reason::PeerPending { .. }
        | Reason::Share { .. }
        | Reason::Chose { .. } => None,
    }
}

#[cfg(test)]
mod tests;
