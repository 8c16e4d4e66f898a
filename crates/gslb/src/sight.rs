//! What one cluster tells the others about whom it sees: the text at `_view.<host>`.
//!
//! With witnessed fail-over a secondary that hears nothing from the primary asks the other clusters whether they hear
//! it. They say so in a TXT record under `_view.<host>`, which every cluster serves for the hosts that need it:
//!
//! ```text
//! v=1 by=za share=100 eu=silent us=healthy za=healthy
//! ```
//!
//! Each cluster says only what it saw itself, never what others told it, so rumours cannot go round. A cluster that has
//! no such record (k8gb, or the option is off there) is no witness and is not counted.

use std::{collections::BTreeMap, fmt};

use crate::ramp::FULL;

/// Octets of a text that is read; 64 clusters with the longest tags need less.
pub const TEXT_OCTETS_MAX: usize = 8 * 1024;
/// Clusters in one text.
const CLUSTERS_MAX: usize = 256;

/// How one cluster sees another, or itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It vouches for addresses.
    Healthy,
    /// It vouches for addresses, but has come back only lately and is not used yet.
    Recovering,
    /// It says that it has none.
    None,
    /// It does not answer.
    Silent,
    /// It has not been asked yet.
    Pending,
}

/// What a cluster says about whom it sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Its own tag.
    pub by: String,
    /// Percent of its share it takes at present; see [`crate::ramp`].
    pub share: u32,
    /// Every cluster it knows, itself included.
    pub clusters: BTreeMap<String, State>,
}

/// What asking a cluster for its sight gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// Its sight.
    Said(Sight),
    /// It answered that it keeps none.
    NotKept,
    /// It did not answer.
    Silence,
}

/// How many clusters confirm that another one is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    /// Clusters that lost it too.
    pub lost: usize,
    /// Clusters that can be witnesses, those that do not answer included.
    pub of: usize,
}

impl Votes {
    /// Whether most witnesses lost it; without any witness nobody can object.
    pub fn agree(self) -> bool {
        self.of == 0 || self.lost * 2 > self.of
    }
}

/// Counts who lost the cluster `tag` among what the other clusters say.
///
/// `sightings` holds what each cluster beside ourselves and `tag` said lately; none for one that has not said anything.
pub fn votes<'a>(tag: &str, sightings: impl IntoIterator<Item = Option<&'a Sighting>>) -> Votes {
    let mut votes = Votes::default();
    for sighting in sightings {
        match sighting {
            Some(Sighting::NotKept) => {}
            Some(Sighting::Said(sight)) => {
                votes.of += 1;
                let state = sight.clusters.get(tag);
                votes.lost += usize::from(matches!(state, Some(State::Silent | State::None)));
            }
            Some(Sighting::Silence) | None => votes.of += 1,
        }
    }
    votes
}

/// The label in front of a host's name under which a cluster says whom it sees.
pub const LABEL: &str = "_view";

/// The name under which a cluster says whom it sees.
pub fn name(host: &str) -> String {
    format!("{LABEL}.{host}")
}

impl State {
    /// The word of the text.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Healthy => "healthy",
            State::Recovering => "recovering",
            State::None => "none",
            State::Silent => "silent",
            State::Pending => "pending",
        }
    }

    fn parse(word: &str) -> Option<State> {
        let all = [
            State::Healthy,
            State::Recovering,
            State::None,
            State::Silent,
            State::Pending,
        ];
        all.into_iter().find(|state| state.as_str() == word)
    }
}

impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v=1 by={} share={}", self.by, self.share)?;
        for (tag, state) in &self.clusters {
            write!(f, " {tag}={}", state.as_str())?;
        }
        Ok(())
    }
}

impl Sight {
    /// Reads a text. Words of later versions are skipped; a text without version, author or a sane share is none.
    pub fn parse(text: &str) -> Option<Sight> {
        if text.len() > TEXT_OCTETS_MAX {
            return None;
        }
        let mut words = text.split_ascii_whitespace();
        if words.next() != Some("v=1") {
            return None;
        }
        let by = words.next()?.strip_prefix("by=")?;
        let share: u32 = words.next()?.strip_prefix("share=")?.parse().ok()?;
        if by.is_empty() || share > FULL {
            return None;
        }
        let clusters = words
            .take(CLUSTERS_MAX)
            .filter_map(|word| word.split_once('='))
            .filter_map(|(tag, state)| Some((tag.to_owned(), State::parse(state)?)))
            .collect();
        Some(Sight {
            by: by.to_owned(),
            share,
            clusters,
        })
    }
}

#[cfg(test)]
mod tests;
