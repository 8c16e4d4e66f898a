//! Colours: the head of a coloured line is read without its escape sequences, and the spans are mapped back.
//!
//! Only lines that say nothing otherwise are tried, so plain lines never pay for it.

use crate::Format;
use crate::classify_inner;
use crate::record::{Record, Span};

/// Bytes of the head that are kept without colours; a header that does not fit is not recognised.
const HEAD_BYTES: usize = 256;

/// The record of a line that has an escape sequence within its head.
pub(crate) fn classify(line: &[u8]) -> Option<Record> {
    let head = &line[..line.len().min(HEAD_BYTES)];
    memchr::memchr(0x1b, head)?;
    let mut text = [0u8; HEAD_BYTES];
    let mut origin = [0u32; HEAD_BYTES + 1];
    let mut n = 0;
    let mut at = 0;
    while at < head.len() {
        if let Some(end) = sequence_end(line, at) {
            at = end;
            continue;
        }
        text[n] = line[at];
        origin[n] = at as u32;
        n += 1;
        at += 1;
    }
    origin[n] = at.min(line.len()) as u32;
    let clean = &text[..n];
    let record = classify_inner(clean, 0);
    if record.severity == 0 && record.format == Format::Plain {
        return None;
    }
    let whole = at < line.len();
    Some(mapped(
        record,
        &origin,
        n,
        if whole {
            line.len()
        } else {
            at.min(line.len())
        },
    ))
}

fn mapped(mut record: Record, origin: &[u32; HEAD_BYTES + 1], n: usize, line_end: usize) -> Record {
    let map = |span: &mut Span| {
        if span.is_empty() {
            return;
        }
        let end = if span.end as usize >= n {
            line_end as u32
        } else {
            origin[span.end as usize - 1] + 1
        };
        *span = Span {
            start: origin[span.start as usize],
            end,
        };
    };
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
        map(span);
    }
    record
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
