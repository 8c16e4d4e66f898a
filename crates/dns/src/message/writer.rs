//! A writer that fills a caller's buffer and says when something does not fit.

use super::{FLAG_AA, FLAG_QR, FLAG_RD, HEADER_OCTETS, OPCODE_MASK, UDP_OCTETS_MAX};
use crate::record::{Rcode, Type};

/// Octets of an OPT record without options.
pub const OPT_OCTETS: usize = 11;

/// The section a record belongs to; sections are written in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Answers to the question.
    Answer,
    /// Who is responsible, or why there is no answer.
    Authority,
    /// Addresses that save another question.
    Additional,
}

/// Fills a buffer with one message. Header fields are settled by [`Writer::finish`].
#[derive(Debug)]
pub struct Writer<'b> {
    out: &'b mut [u8],
    len: usize,
    octets_max: usize,
    limit: usize,
    counts: [u16; 3],
}

impl<'b> Writer<'b> {
    /// Starts a reply of at most `octets_max` octets that echoes `question`.
    ///
    /// # Panics
    /// When `out` is smaller than `octets_max`, or that is smaller than header and question: both are the server's own numbers.
    pub fn new(out: &'b mut [u8], octets_max: usize, question: &[u8]) -> Writer<'b> {
        assert!(out.len() >= octets_max, "buffer below the reply limit");
        let len = HEADER_OCTETS + question.len();
        assert!(octets_max >= len, "reply limit below header and question");
        out[HEADER_OCTETS..len].copy_from_slice(question);
        Writer {
            out,
            len,
            octets_max,
            limit: octets_max,
            counts: [0; 3],
        }
    }

    /// Octets written so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing but header and question has been written.
    pub fn is_empty(&self) -> bool {
        self.counts == [0; 3]
    }

    /// Records written into `section` so far.
    pub fn count(&self, section: Section) -> u16 {
        self.counts[section as usize]
    }

    /// Keeps `octets` free for the OPT record that [`Writer::put_opt`] adds last.
    pub fn reserve(&mut self, octets: usize) {
        self.limit = self.octets_max.saturating_sub(octets).max(self.len);
    }

    /// Appends ready-made records, or nothing when they do not fit.
    #[must_use]
    pub fn put(&mut self, section: Section, records: &[u8], n_records: u16) -> bool {
        let Some(room) = self.out[..self.limit].get_mut(self.len..self.len + records.len()) else {
            return false;
        };
        room.copy_from_slice(records);
        self.len += records.len();
        self.counts[section as usize] += n_records;
        true
    }

    /// Appends one record made of an owner (name or pointer), the fixed part and RDATA; nothing when it does not fit.
    #[must_use]
    pub fn put_record(&mut self, section: Section, parts: RecordParts<'_>) -> bool {
        let RecordParts {
            owner,
            rtype,
            ttl_seconds,
            rdata,
        } = parts;
        let octets = owner.len() + 10 + rdata.len();
        if self.len + octets > self.limit {
            return false;
        }
        let fixed: [&[u8]; 6] = [
            owner,
            &rtype.0.to_be_bytes(),
            &[0, 1],
            &ttl_seconds.to_be_bytes(),
            &(rdata.len() as u16).to_be_bytes(),
            rdata,
        ];
        for part in fixed {
            self.out[self.len..self.len + part.len()].copy_from_slice(part);
            self.len += part.len();
        }
        self.counts[section as usize] += 1;
        true
    }

    /// Overwrites two octets written before, for pointers known only now.
    pub fn patch(&mut self, at: usize, value: u16) {
        self.out[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    /// The octets written so far; the header is not settled yet.
    pub fn written(&self) -> &[u8] {
        &self.out[..self.len]
    }

    /// Forgets everything behind the question.
    pub fn clear(&mut self, question_octets: usize) {
        self.len = HEADER_OCTETS + question_octets;
        self.counts = [0; 3];
    }

    /// Appends the OPT record with ready-made options, into the room kept by [`Writer::reserve`].
    #[must_use]
    pub fn put_opt(&mut self, rcode: Rcode, dnssec_ok: bool, options: &[u8]) -> bool {
        self.limit = self.octets_max;
        let ttl_seconds = u32::from(rcode.0 >> 4) << 24 | u32::from(dnssec_ok) << 15;
        let octets = (UDP_OCTETS_MAX as u16).to_be_bytes();
        let start = self.len;
        let parts = RecordParts {
            owner: &[0],
            rtype: Type::OPT,
            ttl_seconds,
            rdata: options,
        };
        let fits = self.put_record(Section::Additional, parts);
        if fits {
            self.out[start + 3..start + 5].copy_from_slice(&octets);
        }
        fits
    }

    /// Adds an option to the OPT record, which was put last; nothing when it does not fit.
    pub fn extend_opt(&mut self, opt_start: usize, code: u16, parts: &[&[u8]]) -> bool {
        let octets = parts.iter().map(|part| part.len()).sum::<usize>();
        if self.len + 4 + octets > self.octets_max {
            return false;
        }
        let head: [&[u8]; 2] = [&code.to_be_bytes(), &(octets as u16).to_be_bytes()];
        for part in head.iter().chain(parts) {
            self.out[self.len..self.len + part.len()].copy_from_slice(part);
            self.len += part.len();
        }
        let rdata_octets = self.len - opt_start - OPT_OCTETS;
        self.patch(opt_start + OPT_OCTETS - 2, rdata_octets as u16);
        true
    }

    /// Writes the header and returns the length of the message.
    pub fn finish(self, id: u16, flags: u16, rcode: Rcode, n_questions: u16) -> usize {
        let [n_answers, n_authorities, n_additionals] = self.counts;
        let flags = flags | FLAG_QR | rcode.0 & 0xf;
        let fields = [
            id,
            flags,
            n_questions,
            n_answers,
            n_authorities,
            n_additionals,
        ];
        for (field_index, field) in fields.into_iter().enumerate() {
            self.out[2 * field_index..2 * field_index + 2].copy_from_slice(&field.to_be_bytes());
        }
        self.len
    }
}

/// The parts of one record.
#[derive(Debug, Clone, Copy)]
pub struct RecordParts<'a> {
    /// Owner name in wire form, or a pointer.
    pub owner: &'a [u8],
    /// Record type.
    pub rtype: Type,
    /// Seconds it may be cached.
    pub ttl_seconds: u32,
    /// Record data.
    pub rdata: &'a [u8],
}

/// The flags a reply takes over from its query: opcode, RD and CD; AA is added when `authoritative`.
pub fn reply_flags(query_flags: u16, authoritative: bool) -> u16 {
    let kept = query_flags & (OPCODE_MASK | FLAG_RD | super::FLAG_CD);
    if authoritative { kept | FLAG_AA } else { kept }
}
