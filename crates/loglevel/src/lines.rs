//! Cuts arbitrary chunks of bytes into lines, without depending on where the chunks were cut.

use memchr::memchr;

/// Longest line by default: 8 MiB. The rest of a longer line is dropped and the line marked.
pub const LINE_BYTES_MAX: usize = 8 << 20;

/// Collects chunks and hands out lines.
///
/// A line that lies wholly inside one chunk is handed out without a copy. Memory: at most the limit, for the unfinished
/// line.
#[derive(Clone, Debug)]
pub struct Lines {
    limit: usize,
    rest: Vec<u8>,
    truncated: bool,
    n_dropped: usize,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Without its newline.
    pub bytes: &'a [u8],
    /// Bytes beyond the limit were dropped.
    pub truncated: bool,
    /// How many bytes of the input it took, newline and dropped bytes included.
    pub n_taken: usize,
}

impl Lines {
    /// A cutter whose lines are at most `limit` bytes long.
    pub fn new(limit: usize) -> Lines {
        Lines {
            limit,
            rest: Vec::new(),
            truncated: false,
            n_dropped: 0,
        }
    }

    /// Adds a chunk and hands every line it completes to `each`.
    pub fn push(&mut self, mut chunk: &[u8], mut each: impl FnMut(Line<'_>)) {
        if !self.rest.is_empty() || self.truncated {
            let Some(end) = memchr(b'\n', chunk) else {
                self.keep(chunk);
                return;
            };
            self.keep(&chunk[..end]);
            each(Line {
                bytes: &self.rest,
                truncated: self.truncated,
                n_taken: self.rest.len() + self.n_dropped + 1,
            });
            self.rest.clear();
            self.n_dropped = 0;
            shrink(&mut self.rest);
            self.truncated = false;
            chunk = &chunk[end + 1..];
        }
        while let Some(end) = memchr(b'\n', chunk) {
            let kept = end.min(self.limit);
            each(Line {
                bytes: &chunk[..kept],
                truncated: kept < end,
                n_taken: end + 1,
            });
            chunk = &chunk[end + 1..];
        }
        self.keep(chunk);
    }

    /// The last line, when the input did not end with a newline.
    pub fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if !self.rest.is_empty() {
            each(Line {
                bytes: &self.rest,
                truncated: self.truncated,
                n_taken: self.rest.len() + self.n_dropped,
            });
        }
        self.n_dropped = 0;
        self.rest.clear();
        self.truncated = false;
    }

    /// Bytes of the unfinished line.
    pub fn n_pending(&self) -> usize {
        self.rest.len() + self.n_dropped
    }

    fn keep(&mut self, part: &[u8]) {
        let room = self.limit - self.rest.len().min(self.limit);
        let kept = part.len().min(room);
        self.rest.extend_from_slice(&part[..kept]);
        self.truncated |= kept < part.len();
        self.n_dropped += part.len() - kept;
    }
}

/// Gives back what a long line took, so that ten thousand idle inputs stay small.
fn shrink(bytes: &mut Vec<u8>) {
    if bytes.capacity() > 4 << 10 {
        *bytes = Vec::new();
    }
}

#[cfg(test)]
mod tests;
