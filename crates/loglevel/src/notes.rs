//! What classification has walked over, kept so that whoever writes the fields of a line need not read it again.

use crate::record::Span;

/// Most pairs that are kept. Lines with more are walked a second time.
const PAIRS_MAX: usize = 32;

/// The pairs of one logfmt line, or the members of one JSON line, as places in it. Fixed size: 648 bytes.
#[derive(Clone, Debug)]
pub struct Notes {
    pairs: [Noted; PAIRS_MAX],
    n_pairs: usize,
    is_whole: bool,
}

/// One pair.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Noted {
    pub(crate) key: Span,
    pub(crate) value: Span,
    pub(crate) form: Form,
}

/// How a value stands in its line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Form {
    /// Without quotes and escapes.
    #[default]
    Text,
    /// The inside of a quoted string.
    Escaped,
    /// JSON other than a string.
    Json,
    /// There is none: a key alone, which means `true`.
    Absent,
}

impl Default for Notes {
    fn default() -> Notes {
        Notes {
            pairs: [Noted::default(); PAIRS_MAX],
            n_pairs: 0,
            is_whole: false,
        }
    }
}

impl Notes {
    /// Forgets the last line; until [`Notes::finish`] the notes are of no use.
    pub(crate) fn clear(&mut self) {
        self.n_pairs = 0;
        self.is_whole = false;
    }

    /// Declares that all pairs of the line were noted.
    pub(crate) fn finish(&mut self) {
        self.is_whole = self.n_pairs < PAIRS_MAX;
    }

    /// The pairs of the line; `None` when there are too many, or the line is of another kind.
    pub(crate) fn pairs(&self) -> Option<&[Noted]> {
        self.is_whole.then(|| &self.pairs[..self.n_pairs])
    }
}

/// Takes the pairs that a walk comes across.
pub(crate) trait Note {
    fn note(&mut self, pair: Noted);
}

/// Classification alone: notes cost nothing.
impl Note for () {
    #[inline(always)]
    fn note(&mut self, _: Noted) {}
}

impl Note for Notes {
    #[inline(always)]
    fn note(&mut self, pair: Noted) {
        // The last place stays free: filling it means that there may be more.
        if let Some(place) = self.pairs.get_mut(self.n_pairs) {
            *place = pair;
            self.n_pairs += 1;
        }
    }
}
