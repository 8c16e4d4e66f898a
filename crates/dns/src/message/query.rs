//! A query as the server sees it: no allocation, nothing copied but the lower-cased name.

use super::{
    CLASS_IN, Cursor, Error, FLAG_QR, HEADER_OCTETS, OPCODE_MASK, UDP_OCTETS_MAX, UDP_OCTETS_PLAIN,
};
use crate::name::{self, NAME_OCTETS_MAX};
use crate::record::{Rcode, Type};

/// The EDNS part of a query (RFC 6891 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edns<'a> {
    /// UDP size the client announces, as it stands in the record.
    pub udp_octets: u16,
    /// EDNS version; we speak 0.
    pub version: u8,
    /// Whether DNSSEC records are welcome.
    pub dnssec_ok: bool,
    /// The options as they stand in the record.
    pub options: &'a [u8],
}

/// One question, checked and ready to be answered.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// Transaction id.
    pub id: u16,
    /// Header flags of the query.
    pub flags: u16,
    /// The question section as the client spelt it, to be echoed octet by octet.
    pub question: &'a [u8],
    /// The record type asked for.
    pub rtype: Type,
    /// The EDNS part, if any.
    pub edns: Option<Edns<'a>>,
    lower: [u8; NAME_OCTETS_MAX],
    name_octets: u8,
}

/// What to do with bytes that are no answerable query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reject {
    /// Say nothing: too short for a header, or itself a reply (two servers must not start talking to each other).
    Drop,
    /// Reply with this code. `echo` says how many octets of the query, from the start of the question, may be echoed.
    Reply {
        /// The code.
        rcode: Rcode,
        /// Octets of the question section that are well-formed; 0 when the question is unreadable.
        question_octets: usize,
        /// Whether the query carried an OPT record, so that the reply carries one too.
        edns: bool,
    },
}

impl<'a> Query<'a> {
    /// Reads a query and decides whether it can be answered at all.
    ///
    /// | input | result |
    /// |---|---|
    /// | fewer than 12 octets, or the QR bit set | dropped |
    /// | an opcode other than QUERY | NOTIMP |
    /// | no question or several (RFC 9619), a malformed one, cut-short records, a second OPT | FORMERR |
    /// | EDNS version above 0 | BADVERS |
    /// | a class other than IN | REFUSED |
    ///
    /// # Errors
    /// The [`Reject`] of the table.
    pub fn parse(bytes: &'a [u8]) -> Result<Query<'a>, Reject> {
        let header: &[u8; HEADER_OCTETS] = bytes.first_chunk().ok_or(Reject::Drop)?;
        let field = |index: usize| u16::from_be_bytes([header[2 * index], header[2 * index + 1]]);
        let [id, flags, n_questions] = [field(0), field(1), field(2)];
        if flags & FLAG_QR != 0 {
            return Err(Reject::Drop);
        }
        let reject = |rcode| Reject::Reply {
            rcode,
            question_octets: 0,
            edns: false,
        };
        if flags & OPCODE_MASK != 0 {
            return Err(reject(Rcode::NOTIMP));
        }
        if n_questions != 1 {
            return Err(reject(Rcode::FORMERR));
        }
        let rest = &bytes[HEADER_OCTETS..];
        let name_octets = name::wire_len(rest).ok_or(reject(Rcode::FORMERR))?;
        let question = rest.get(..name_octets + 4).ok_or(reject(Rcode::FORMERR))?;
        let tail = &question[name_octets..];
        let rtype = Type(u16::from_be_bytes([tail[0], tail[1]]));
        let class = u16::from_be_bytes([tail[2], tail[3]]);

        let question_octets = question.len();
        let n_records = [field(3), field(4), field(5)];
        let edns = parse_edns(bytes, HEADER_OCTETS + question_octets, n_records).map_err(|_| {
            Reject::Reply {
                rcode: Rcode::FORMERR,
                question_octets,
                edns: false,
            }
        })?;
        let reply = |rcode| Reject::Reply {
            rcode,
            question_octets,
            edns: edns.is_some(),
        };
        if edns.is_some_and(|edns| edns.version != 0) {
            return Err(reply(Rcode::BADVERS));
        }
        if class != CLASS_IN {
            return Err(reply(Rcode::REFUSED));
        }
        let mut lower = [0; NAME_OCTETS_MAX];
        lower[..name_octets].copy_from_slice(&question[..name_octets]);
        lower[..name_octets].make_ascii_lowercase();
        Ok(Query {
            id,
            flags,
            question,
            rtype,
            edns,
            lower,
            name_octets: name_octets as u8,
        })
    }

    /// The value of the first EDNS option with this code.
    pub fn option(&self, code: u16) -> Option<&'a [u8]> {
        let mut cursor = Cursor::new(self.edns?.options);
        loop {
            let (found, octets) = (cursor.u16().ok()?, cursor.u16().ok()?);
            let value = cursor.take(usize::from(octets)).ok()?;
            if found == code {
                return Some(value);
            }
        }
    }

    /// The name asked for, lower-case, in wire form.
    pub fn name(&self) -> &[u8] {
        &self.lower[..usize::from(self.name_octets)]
    }

    /// Largest reply this client takes over UDP: what it announces, kept between 512 and 1232 octets.
    pub fn udp_octets(&self) -> usize {
        match self.edns {
            None => UDP_OCTETS_PLAIN,
            Some(edns) => usize::from(edns.udp_octets).clamp(UDP_OCTETS_PLAIN, UDP_OCTETS_MAX),
        }
    }
}

/// Walks the records behind the question; all must be complete, at most one may be an OPT, and that in the last section.
fn parse_edns(
    bytes: &[u8],
    start: usize,
    [n_answers, n_authorities, n_additionals]: [u16; 3],
) -> Result<Option<Edns<'_>>, Error> {
    let mut cursor = Cursor::new(bytes);
    cursor.take(start)?;
    let n_before = u32::from(n_answers) + u32::from(n_authorities);
    let mut edns = None;
    for record_index in 0..n_before + u32::from(n_additionals) {
        let name_start = cursor.position();
        cursor.skip_name()?;
        let at_root = cursor.position() == name_start + 1;
        let (rtype, class) = (Type(cursor.u16()?), cursor.u16()?);
        let [_extended_rcode, version, flags, _] = cursor.array()?;
        let octets = usize::from(cursor.u16()?);
        let data = cursor.take(octets)?;
        if rtype != Type::OPT {
            continue;
        }
        if record_index < n_before || !at_root || edns.is_some() {
            return Err(Error::BadData);
        }
        check_options(data)?;
        let dnssec_ok = flags & 0x80 != 0;
        edns = Some(Edns {
            udp_octets: class,
            version,
            dnssec_ok,
            options: data,
        });
    }
    Ok(edns)
}

/// Options are code, length and value, to the end of the record (RFC 6891 §6.1.2).
fn check_options(options: &[u8]) -> Result<(), Error> {
    let mut cursor = Cursor::new(options);
    while cursor.position() < options.len() {
        cursor.u16()?;
        let octets = cursor.u16()?;
        cursor.take(usize::from(octets))?;
    }
    Ok(())
}
