//! Lines longer than a limit, in parts that add up to them.
//!
//! Nothing is dropped and memory stays bounded: a part is handed out as soon as it is certain that more follows. Where
//! the cuts are depends on the bytes of the line alone, not on how they arrived, and a cut never goes through a character
//! of UTF-8.

/// Which part of its line some bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Counted from 0.
    pub index: u32,
    /// No more of the line follows.
    pub is_last: bool,
}

impl Part {
    /// A line that was not cut.
    pub const WHOLE: Part = Part {
        index: 0,
        is_last: true,
    };

    /// Whether the line was not cut.
    pub fn is_whole(self) -> bool {
        self == Part::WHOLE
    }
}

/// Collects one line after the other. Memory: at most the limit, held while a line is open.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    limit: usize,
    kept: Vec<u8>,
    n_handed_out: u32,
    is_open: bool,
}

impl Parts {
    /// Parts of at most `limit` bytes; at least four, so that every character fits.
    pub(crate) fn new(limit: usize) -> Parts {
        Parts {
            limit: limit.max(4),
            kept: Vec::new(),
            n_handed_out: 0,
            is_open: false,
        }
    }

    /// The open line goes on; more may follow.
    pub(crate) fn add(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8], Part)) {
        self.is_open |= !bytes.is_empty();
        let rest = self.cut(bytes, &mut each);
        self.kept.extend_from_slice(rest);
    }

    /// The open line ends with these bytes. A line that was never cut is handed out without a copy.
    #[inline]
    pub(crate) fn end(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8], Part)) {
        if !self.is_open && bytes.len() <= self.limit {
            return each(bytes, Part::WHOLE);
        }
        let rest = self.cut(bytes, &mut each);
        let part = Part {
            index: self.n_handed_out,
            is_last: true,
        };
        if self.kept.is_empty() {
            each(rest, part);
        } else {
            self.kept.extend_from_slice(rest);
            each(&self.kept, part);
        }
        self.reset();
    }

    /// Whether a line has begun and not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Bytes of the open line that were not handed out.
    pub(crate) fn n_kept(&self) -> usize {
        self.kept.len()
    }

    /// Hands out parts while more than one is there; returns what remains of `bytes`.
    fn cut<'a>(&mut self, mut bytes: &'a [u8], each: &mut impl FnMut(&[u8], Part)) -> &'a [u8] {
        while self.kept.len() + bytes.len() > self.limit {
            let part = Part {
                index: self.n_handed_out,
                is_last: false,
            };
            self.n_handed_out += 1;
            if self.kept.is_empty() {
                let (part_bytes, rest) = bytes.split_at(cut_at(&bytes[..self.limit]));
                each(part_bytes, part);
                bytes = rest;
            } else {
                let (more, rest) = bytes.split_at(self.limit - self.kept.len());
                self.kept.extend_from_slice(more);
                bytes = rest;
                let cut = cut_at(&self.kept);
                each(&self.kept[..cut], part);
                self.kept.drain(..cut);
            }
        }
        bytes
    }

    /// Gives back what a long line took, so that ten thousand idle inputs stay small.
    fn reset(&mut self) {
        self.kept.clear();
        self.kept.shrink_to(KEPT_BYTES);
        self.n_handed_out = 0;
        self.is_open = false;
    }
}

/// Room that is kept between lines.
const KEPT_BYTES: usize = 4 << 10;

/// Where to cut a full part: before a character that it holds only the beginning of.
fn cut_at(full: &[u8]) -> usize {
    for back in 1..=3.min(full.len()) {
        let at = full.len() - back;
        let length = match full[at] {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if length > back && at > 0 {
            at
        } else {
            full.len()
        };
    }
    full.len()
}

#[cfg(test)]
mod tests;
