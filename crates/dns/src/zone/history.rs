//! What changed in a zone lately, for those who keep a copy of it (IXFR, RFC 1995).
//!
//! Every published change of a zone gets a serial number of its own and leaves a [`Delta`]: what the changed names held before. Together
//! with the zone of now that is enough to tell the difference since any remembered serial, whatever happened in between, so a name
//! that changed a hundred times is told once. The memory is bounded by count and by octets; who asks for more than is remembered gets
//! the whole zone.
//!
//! Deltas lie in chunks, so that the next version of a zone shares all of its history but one short list.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::apex::ApexRecords;
use super::pages::NameHasher;
use crate::name::Pick;

/// Deltas of one chunk; the next version of a zone copies at most so many pointers.
const CHUNK_DELTAS_MAX: usize = 64;
/// Chunks remembered: with [`CHUNK_DELTAS_MAX`] about 4,000 changes, minutes even of a zone that changes all the time.
const CHUNKS_MAX: usize = 64;
/// Octets any zone's history may hold.
const OCTETS_MIN: usize = 8 << 20;
/// Octets more per name, so that two changes of all names are remembered.
const OCTETS_PER_NAME: usize = 512;
/// Octets after which a chunk is full, so that little is forgotten at once.
const CHUNK_OCTETS_MAX: usize = OCTETS_MIN / 16;
/// What a name in a delta costs besides its own octets.
const NODE_OCTETS: usize = 64;

/// Octets the history of a zone with so many names may hold.
fn octets_max(n_names: usize) -> usize {
    OCTETS_MIN.max(n_names.saturating_mul(OCTETS_PER_NAME))
}

/// The stored node of a name before a change; `None` when there was none.
pub(crate) type Before = Option<Arc<[u8]>>;

/// Names and what they held.
type Nodes = HashMap<Box<[u8]>, Before, BuildHasherDefault<NameHasher>>;

/// Whether serial `a` is later than `b` (RFC 1982 §3.2).
pub(crate) fn is_later(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

/// The serial of the next version: later than `current` and no earlier than any of `wishes`.
pub(super) fn next_serial(current: u32, wishes: [u32; 2]) -> u32 {
    let later = |a: u32, b: u32| if is_later(b, a) { b } else { a };
    wishes.into_iter().fold(current.wrapping_add(1), later)
}

/// What one version of a zone lost on the way to the next.
#[derive(Debug)]
struct Delta {
    from_serial: u32,
    apex: Arc<ApexRecords>,
    nodes: Nodes,
    octets: usize,
}

/// Changes gathered since a zone was published last.
#[derive(Debug, Clone, Default)]
pub(super) struct Staged {
    nodes: Nodes,
    /// The records of the apex, when those changed.
    apex: Option<Arc<ApexRecords>>,
    octets: usize,
    /// The serial somebody asked for.
    pub(super) serial_wish: Option<u32>,
}

impl Staged {
    /// Notes what a name of a zone with so many names held, unless it is known already.
    pub(super) fn note(&mut self, name: &[u8], n_names: usize, before: impl FnOnce() -> Before) {
        // Past the limit nothing will be remembered anyway.
        if self.octets > octets_max(n_names) || self.nodes.contains_key(name) {
            return;
        }
        let before = before();
        self.octets += NODE_OCTETS + name.len() + before.as_deref().map_or(0, <[u8]>::len);
        self.nodes.insert(name.into(), before);
    }

    /// Notes what the apex held.
    pub(super) fn note_apex(&mut self, before: &Arc<ApexRecords>) {
        self.apex.get_or_insert_with(|| Arc::clone(before));
    }

    /// Whether nothing is different.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.apex.is_none() && self.serial_wish.is_none()
    }
}

/// The last changes of a zone, oldest first. Cloning copies pointers.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    full: VecDeque<Arc<Chunk>>,
    recent: Chunk,
    octets: usize,
}

#[derive(Debug, Clone, Default)]
struct Chunk {
    deltas: Vec<Arc<Delta>>,
    octets: usize,
}

/// The difference between an older version of a zone and the one of now.
#[derive(Debug)]
pub(crate) struct Changes {
    /// The apex in the older version.
    pub(crate) apex: Arc<ApexRecords>,
    /// What each changed name held in the older version.
    pub(crate) nodes: Vec<(Box<[u8]>, Before)>,
}

impl History {
    /// The history after a version with `from_serial`, the records `apex` and `n_names` names was replaced.
    pub(super) fn with(
        &self,
        from_serial: u32,
        apex: &Arc<ApexRecords>,
        n_names: usize,
        staged: Staged,
    ) -> History {
        let octets_max = octets_max(n_names);
        if staged.octets > octets_max / 2 {
            // Whoever is behind this is better off with the whole zone.
            return History::default();
        }
        let octets = staged.octets + NODE_OCTETS;
        let delta = Delta {
            from_serial,
            apex: staged.apex.unwrap_or_else(|| Arc::clone(apex)),
            nodes: staged.nodes,
            octets,
        };
        let mut next = self.clone();
        next.octets += octets;
        next.recent.octets += delta.octets;
        next.recent.deltas.push(Arc::new(delta));
        if next.recent.deltas.len() >= CHUNK_DELTAS_MAX || next.recent.octets > CHUNK_OCTETS_MAX {
            next.full
                .push_back(Arc::new(std::mem::take(&mut next.recent)));
        }
        while next.octets > octets_max || next.full.len() > CHUNKS_MAX {
            let Some(oldest) = next.full.pop_front() else {
                return History::default();
            };
            next.octets -= oldest.octets;
        }
        next
    }

    /// What changed since `serial` at the names that are picked; `None` when that is not remembered.
    pub(super) fn since(&self, serial: u32, pick: Option<Pick>) -> Option<Changes> {
        let mut deltas = self
            .full
            .iter()
            .flat_map(|chunk| &chunk.deltas)
            .chain(&self.recent.deltas)
            .skip_while(|delta| delta.from_serial != serial)
            .peekable();
        let apex = Arc::clone(&deltas.peek()?.apex);
        let mut nodes: HashMap<&[u8], &Before, BuildHasherDefault<NameHasher>> = HashMap::default();
        for delta in deltas {
            let all = delta.nodes.iter();
            for (name, before) in all.filter(|(name, _)| pick.is_none_or(|pick| pick(name))) {
                nodes.entry(name).or_insert(before);
            }
        }
        let nodes = nodes.into_iter();
        let mut nodes = nodes
            .map(|(name, before)| (Box::from(name), before.clone()))
            .collect::<Vec<(Box<[u8]>, Before)>>();
        nodes.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Some(Changes { apex, nodes })
    }
}
