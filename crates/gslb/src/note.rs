//! What operators watch in a decision beside the answers: how much of its share this cluster takes, and which silent
//! clusters it keeps because too few others lost them too.

use std::collections::BTreeMap;

use crate::{decide::Decision, ramp::FULL, select::Reason, sight::Votes};

/// What is worth a line in the log when it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Percent of its share that this cluster takes, at the host where it is least.
    pub share: u32,
    /// Silent clusters that are kept, and who lost them too.
    pub kept: BTreeMap<String, Votes>,
}

impl Default for Note {
    /// Nothing out of the ordinary.
    fn default() -> Note {
        Note {
            share: FULL,
            kept: BTreeMap::new(),
        }
    }
}

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// This cluster takes another part of its share.
    Share {
        /// In percent.
        percent: u32,
    },
    /// A silent cluster is kept from now on.
    Kept {
        /// Its tag.
        tag: String,
        /// Who lost it too.
        votes: Votes,
    },
    /// A silent cluster is not kept any more: it is heard again, or most others lost it too.
    Released {
        /// Its tag.
        tag: String,
    },
}

impl Note {
    /// What a decision says.
    pub fn of(decision: &Decision) -> Note {
        let mut note = Note::default();
        for host in decision.hosts.values() {
            note.share = note.share.min(host.share);
            for reason in host.why.values().flatten() {
                if let Reason::PeerUnwitnessed { tag, votes } = reason {
                    note.kept.insert(tag.clone(), *votes);
                }
            }
        }
        note
    }

    /// What changed from this one to the next.
    pub fn turns(&self, next: &Note) -> Vec<Turn> {
        let mut turns = Vec::new();
        if self.share != next.share {
            let percent = next.share;
            turns.push(Turn::Share { percent });
        }
        let kept = next
            .kept
            .iter()
            .filter(|(tag, _)| !self.kept.contains_key(*tag));
        turns.extend(kept.map(|(tag, votes)| Turn::Kept {
            tag: tag.clone(),
            votes: *votes,
        }));
        let released = self.kept.keys().filter(|tag| !next.kept.contains_key(*tag));
        turns.extend(released.map(|tag| Turn::Released { tag: tag.clone() }));
        turns
    }
}

#[cfg(test)]
mod tests;
