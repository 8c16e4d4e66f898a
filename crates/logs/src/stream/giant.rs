//! A line beyond the limit of a record: its parts carry one id, and the level that the first part says.

use flotilla_loglevel::cri::Stream;
use flotilla_loglevel::{Level, Part, Record, Source, Span};

use super::About;
use crate::entry::PartOf;

/// The line that is being handed out in parts.
#[derive(Debug)]
pub(super) struct Giant {
    id: u64,
    /// What the parts after the first say: nothing of their own.
    record: Record,
    pub(super) observed: Vec<u8>,
    pub(super) stream: Option<Stream>,
}

/// Bytes of the first part that make the id.
const ID_BYTES: usize = 4 << 10;

impl Giant {
    /// From the first part and what it says.
    pub(super) fn new(first: &[u8], record: &Record, about: &About<'_>) -> Giant {
        let mut inherited = Record {
            format: record.format,
            confidence: record.confidence,
            ..Record::default()
        };
        if record.level != Level::Unknown {
            inherited.level = record.level;
            inherited.severity = record.severity;
            inherited.source = Source::Inherited;
        }
        Giant {
            id: id(first, about),
            record: inherited,
            observed: about.observed.to_vec(),
            stream: about.stream,
        }
    }

    /// The record of a part after the first.
    pub(super) fn record(&self, n_bytes: usize) -> Record {
        Record {
            message: Span::new(0, n_bytes),
            ..self.record
        }
    }

    /// What identifies a part.
    pub(super) fn part(&self, part: Part) -> PartOf {
        PartOf {
            id: self.id,
            number: part.index + 1,
            is_last: part.is_last,
        }
    }
}

/// FNV-1a of where the line comes from and how it begins. The same line gets the same id when it is read again after a
/// kill, so that whoever puts parts together sees which ones came twice.
fn id(first: &[u8], about: &About<'_>) -> u64 {
    let place = if about.observed.is_empty() {
        about.begin.to_le_bytes()
    } else {
        [0; 8]
    };
    let stream = [about.stream.map_or(0, |stream| stream as u8 + 1)];
    [
        about.observed,
        &place,
        &stream,
        &first[..first.len().min(ID_BYTES)],
    ]
    .into_iter()
    .flatten()
    .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
