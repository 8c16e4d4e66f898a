//! Colours: the head of a coloured line is read without its escape sequences, and the spans are mapped back.
//!
//! Only lines that say nothing otherwise are tried, so plain lines never pay for it.

use crate::Format;
use crate::classify_inner;
use crate::record::{Record, Span};

/// Bytes of the head that are kept without colours; a header that does not fit is not recognised.
const HEAD_BYTES: usize = 256;

/// Most sequences that are taken out of a head; what follows the last one is left to the message.
const CUTS_MAX: usize = 48;

/// The record of a line that has an escape sequence within its head.
pub(crate) fn classify(line: &[u8]) -> Option<Record> {
    let head = &line[..line.len().min(HEAD_BYTES)];
    let first = memchr::memchr(ESCAPE, head)?;
    let clean = Clean::of(line, head, first);
    let record = classify_inner(&clean.text[..clean.n_bytes], 0);
    if record.severity == 0 && record.format == Format::Plain {
        return None;
    }
    Some(clean.mapped(record, line.len() as u32))
}

const ESCAPE: u8 = 0x1b;

/// The head of a line without its sequences.
struct Clean {
    text: [u8; HEAD_BYTES],
    n_bytes: usize,
    /// Up to where in `text` the bytes have moved by how many, in rising order.
    cuts: [(u32, u32); CUTS_MAX],
    n_cuts: usize,
    /// By how many bytes what stands behind the last cut has moved.
    moved: u32,
}

impl Clean {
    /// Copies what stands between the sequences; the first escape is at `next`.
    fn of(line: &[u8], head: &[u8], mut next: usize) -> Clean {
        let mut clean = Clean {
            text: [0; HEAD_BYTES],
            n_bytes: 0,
            cuts: [(0, 0); CUTS_MAX],
            n_cuts: 0,
            moved: 0,
        };
        let mut at = 0;
        loop {
            clean.keep(&head[at..next]);
            if next == head.len() {
                return clean;
            }
            match sequence_end(line, next) {
                Some(end) if clean.n_cuts < CUTS_MAX => {
                    clean.cut((end - next) as u32);
                    at = end.min(head.len());
                }
                _ => {
                    clean.keep(&[ESCAPE]);
                    at = next + 1;
                }
            }
            next = memchr::memchr(ESCAPE, &head[at..]).map_or(head.len(), |found| at + found);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.text[self.n_bytes..self.n_bytes + bytes.len()].copy_from_slice(bytes);
        self.n_bytes += bytes.len();
    }

    fn cut(&mut self, n_bytes: u32) {
        self.cuts[self.n_cuts] = (self.n_bytes as u32, self.moved);
        self.n_cuts += 1;
        self.moved += n_bytes;
    }

    /// Where in the line the byte at `at` stands.
    fn origin(&self, at: u32) -> u32 {
        let cuts = &self.cuts[..self.n_cuts];
        let moved = cuts.iter().find(|(end, _)| at < *end);
        at + moved.map_or(self.moved, |(_, moved)| *moved)
    }

    /// A record of the clean text as one of the line, which ends at `line_end`.
    fn mapped(&self, mut record: Record, line_end: u32) -> Record {
        for span in [
            &mut record.level_raw,
            &mut record.timestamp,
            &mut record.logger,
            &mut record.caller,
            &mut record.thread,
            &mut record.message,
            &mut record.error,
            &mut record.rest,
        ] {
            if !span.is_empty() {
                *span = Span {
                    start: self.origin(span.start),
                    end: if span.end as usize >= self.n_bytes {
                        line_end
                    } else {
                        self.origin(span.end - 1) + 1
                    },
                };
            }
        }
        record
    }
}

/// One past the control sequence (`ESC [ … letter`) that begins at `at`. Source: ECMA-48 §5.4.
pub fn sequence_end(line: &[u8], at: usize) -> Option<usize> {
    if line.get(at..at + 2)? != b"\x1b[" {
        return None;
    }
    let mut end = at + 2;
    while let Some(0x20..=0x3f) = line.get(end) {
        end += 1;
    }
    matches!(line.get(end)?, 0x40..=0x7e).then_some(end + 1)
}

#[cfg(test)]
mod tests;
