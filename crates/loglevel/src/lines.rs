//! Cuts arbitrary chunks of bytes into lines, without depending on where the chunks were cut.

use memchr::memchr;

use crate::parts::{Part, Parts};

/// Longest line by default: 8 MiB. A longer one comes in parts.
pub const LINE_BYTES_MAX: usize = 8 << 20;

/// Collects chunks and hands out lines.
///
/// A line that lies wholly inside one chunk is handed out without a copy. Memory: at most the limit, for the unfinished
/// line.
#[derive(Clone, Debug)]
pub struct Lines {
    parts: Parts,
    /// Bytes of the unfinished line, those of parts already handed out included.
    n_open: usize,
}

/// One line, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Without its newline.
    pub bytes: &'a [u8],
    /// Which part of the line this is.
    pub part: Part,
    /// How many bytes of the input the line took, newline included; 0 until its last part.
    pub n_taken: usize,
}

impl Lines {
    /// A cutter whose lines, or parts of them, are at most `limit` bytes long.
    pub fn new(limit: usize) -> Lines {
        Lines {
            parts: Parts::new(limit),
            n_open: 0,
        }
    }

    /// Adds a chunk and hands every line it completes to `each`.
    pub fn push(&mut self, mut chunk: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', chunk) {
            let n_line = self.n_open + end + 1;
            self.parts
                .end(&chunk[..end], |bytes, part| each(line(bytes, part, n_line)));
            self.n_open = 0;
            chunk = &chunk[end + 1..];
        }
        self.n_open += chunk.len();
        self.parts
            .add(chunk, |bytes, part| each(line(bytes, part, 0)));
    }

    /// The last line, when the input did not end with a newline.
    pub fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        let n_line = std::mem::take(&mut self.n_open);
        if self.parts.is_open() {
            self.parts
                .end(b"", |bytes, part| each(line(bytes, part, n_line)));
        }
    }

    /// Bytes of the unfinished line.
    pub fn n_pending(&self) -> usize {
        self.n_open
    }
}

#[inline]
fn line(bytes: &[u8], part: Part, n_line: usize) -> Line<'_> {
    Line {
        bytes,
        part,
        n_taken: if part.is_last { n_line } else { 0 },
    }
}

#[cfg(test)]
mod tests;
