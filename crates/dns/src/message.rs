//! Reading and writing DNS messages (RFC 1035 §4, EDNS by RFC 6891).
//!
//! Three readers for three needs: [`query::Query`] looks at a question without allocating and is what the server's hot path uses;
//! [`Message`] owns everything a reply says and is what the client and the resolver use; [`Cursor`] is the bounded reader below
//! both. [`Writer`] fills a caller's buffer and never grows it. Compression pointers must point backwards, which makes loops
//! impossible; every count is bounded by the bytes that are there.

pub mod query;
pub mod writer;

use crate::name::{self, Name};
use crate::record::{Data, Rcode, Record, Type};

pub use writer::Writer;

/// Octets of the fixed header (RFC 1035 §4.1.1).
pub const HEADER_OCTETS: usize = 12;
/// Largest UDP message without EDNS (RFC 1035 §4.2.1).
pub const UDP_OCTETS_PLAIN: usize = 512;
/// Largest UDP message we send or announce: fits an IPv6 minimum MTU, so it is never fragmented (DNS flag day 2020).
pub const UDP_OCTETS_MAX: usize = 1232;
/// Largest message over TCP (RFC 1035 §4.2.2).
pub const TCP_OCTETS_MAX: usize = 65_535;
/// The class IN.
pub const CLASS_IN: u16 = 1;

/// Header flag: this is a reply.
pub const FLAG_QR: u16 = 0x8000;
/// Header flag: the server is authoritative for the name.
pub const FLAG_AA: u16 = 0x0400;
/// Header flag: the reply is cut short, ask again over TCP.
pub const FLAG_TC: u16 = 0x0200;
/// Header flag: please recurse.
pub const FLAG_RD: u16 = 0x0100;
/// Header flag: recursion is offered.
pub const FLAG_RA: u16 = 0x0080;
/// Header flag: checking disabled (RFC 4035).
pub const FLAG_CD: u16 = 0x0010;
/// Four bits of operation code within the flags.
pub const OPCODE_MASK: u16 = 0x7800;

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Fewer octets than the counts or lengths promise.
    #[error("message ends early")]
    Short,
    /// A label or pointer that RFC 1035 does not allow.
    #[error("malformed name")]
    BadName,
    /// Record data that does not fit its type.
    #[error("malformed record data")]
    BadData,
}

/// A bounded reader over a whole message.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first octet of `message`.
    pub fn new(message: &'a [u8]) -> Cursor<'a> {
        Cursor { message, at: 0 }
    }

    /// Offset of the next octet.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next `octets` octets.
    ///
    /// # Errors
    /// [`Error::Short`] when there are fewer.
    pub fn take(&mut self, octets: usize) -> Result<&'a [u8], Error> {
        let end = self.at.checked_add(octets).ok_or(Error::Short)?;
        let taken = self.message.get(self.at..end).ok_or(Error::Short)?;
        self.at = end;
        Ok(taken)
    }

    /// The next `N` octets as an array.
    ///
    /// # Errors
    /// [`Error::Short`] when there are fewer.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.take(N)?.try_into().map_err(|_| Error::Short)
    }

    /// One octet.
    ///
    /// # Errors
    /// [`Error::Short`] at the end.
    pub fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    /// Two octets, big-endian.
    ///
    /// # Errors
    /// [`Error::Short`] when there are fewer.
    pub fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    /// Four octets, big-endian.
    ///
    /// # Errors
    /// [`Error::Short`] when there are fewer.
    pub fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    /// A name, compression followed, lower-cased.
    ///
    /// # Errors
    /// [`Error::BadName`] for a pointer that does not point backwards, a reserved label type or more than 255 octets.
    pub fn name(&mut self) -> Result<Name, Error> {
        let mut wire = [0u8; name::NAME_OCTETS_MAX];
        let name = self.name_into(&mut wire)?;
        Name::from_wire(name).map_err(|_| Error::BadName)
    }

    /// As [`Cursor::name`], without owning the name: it is written into `wire`.
    fn name_into<'w>(
        &mut self,
        wire: &'w mut [u8; name::NAME_OCTETS_MAX],
    ) -> Result<&'w [u8], Error> {
        let mut len = 0;
        let mut segment_start = self.at;
        let mut at = self.at;
        let mut resume = None;
        loop {
            let octet = *self.message.get(at).ok_or(Error::Short)?;
            match octet {
                0 => break,
                1..=63 => {
                    let label_end = at + 1 + usize::from(octet);
                    let label = self.message.get(at..label_end).ok_or(Error::Short)?;
                    // One octet must stay free for the root label.
                    if len + label.len() >= name::NAME_OCTETS_MAX {
                        return Err(Error::BadName);
                    }
                    wire[len..len + label.len()].copy_from_slice(label);
                    len += label.len();
                    at = label_end;
                }
                0xc0.. => {
                    let low = *self.message.get(at + 1).ok_or(Error::Short)?;
                    let target = usize::from(octet & 0x3f) << 8 | usize::from(low);
                    if target >= segment_start {
                        return Err(Error::BadName);
                    }
                    resume.get_or_insert(at + 2);
                    segment_start = target;
                    at = target;
                }
                _ => return Err(Error::BadName),
            }
        }
        self.at = resume.unwrap_or(at + 1);
        wire[len] = 0;
        // Length octets are below 64, so lowering everything only touches letters.
        wire[..len].make_ascii_lowercase();
        Ok(&wire[..=len])
    }

    /// Moves behind a name without reading it.
    ///
    /// # Errors
    /// [`Error::BadName`] for a reserved label type.
    pub fn skip_name(&mut self) -> Result<(), Error> {
        loop {
            match self.u8()? {
                0 => return Ok(()),
                octets @ 1..=63 => self.take(usize::from(octets)).map(drop)?,
                0xc0.. => return self.take(1).map(drop),
                _ => return Err(Error::BadName),
            }
        }
    }
}

/// What a message asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    /// The name, lower-case.
    pub name: Name,
    /// The record type wanted.
    pub rtype: Type,
}

/// A whole message, owned; made for replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Transaction id.
    pub id: u16,
    /// Header flags including opcode; the low four bits of the code are in `rcode`.
    pub flags: u16,
    /// Response code with the extended bits of an OPT record.
    pub rcode: Rcode,
    /// The question, if there is exactly one of class IN.
    pub question: Option<Question>,
    /// Answer section.
    pub answers: Vec<Record>,
    /// Authority section.
    pub authorities: Vec<Record>,
    /// Additional section without OPT.
    pub additionals: Vec<Record>,
    /// Largest UDP message the sender takes, when it speaks EDNS.
    pub udp_octets: Option<u16>,
}

impl Message {
    /// Reads a whole message. Records of other classes than IN are skipped.
    ///
    /// # Errors
    /// When the message is cut short or malformed anywhere in its four sections.
    pub fn parse(bytes: &[u8]) -> Result<Message, Error> {
        let mut cursor = Cursor::new(bytes);
        let id = cursor.u16()?;
        let flags = cursor.u16()?;
        let [n_questions, n_answers, n_authorities, n_additionals] =
            [cursor.u16()?, cursor.u16()?, cursor.u16()?, cursor.u16()?];
        let question = questions(&mut cursor, n_questions)?;
        let mut edns = None;
        let answers = parse_section(&mut cursor, n_answers, &mut edns)?;
        let authorities = parse_section(&mut cursor, n_authorities, &mut edns)?;
        let additionals = parse_section(&mut cursor, n_additionals, &mut edns)?;
        let extended = edns.map_or(0, |(_, ttl)| (ttl >> 24) as u16);
        Ok(Message {
            id,
            flags,
            rcode: Rcode(extended << 4 | flags & 0xf),
            question,
            answers,
            authorities,
            additionals,
            udp_octets: edns.map(|(octets, _)| octets),
        })
    }

    /// Whether all bits of `flag` are set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag == flag
    }
}

/// A reply of which only the answer section is looked at, record by record; for replies of many records.
pub(crate) struct Answers<'m> {
    pub(crate) id: u16,
    pub(crate) flags: u16,
    pub(crate) question: Option<Question>,
    cursor: Cursor<'m>,
    n_left: u16,
    name: [u8; name::NAME_OCTETS_MAX],
}

/// A record that owns nothing.
pub(crate) struct Answer<'a, 'm> {
    /// Owner in wire form, lower-case.
    pub(crate) name: &'a [u8],
    pub(crate) rtype: Type,
    pub(crate) ttl_seconds: u32,
    /// Stands at the data; names in it may point back.
    data: Cursor<'m>,
    data_octets: usize,
}

impl<'m> Answers<'m> {
    /// Reads header and question.
    ///
    /// # Errors
    /// When the message is cut short or malformed there.
    pub(crate) fn parse(bytes: &'m [u8]) -> Result<Answers<'m>, Error> {
        let mut cursor = Cursor::new(bytes);
        let (id, flags) = (cursor.u16()?, cursor.u16()?);
        let [n_questions, n_left, _, _] =
            [cursor.u16()?, cursor.u16()?, cursor.u16()?, cursor.u16()?];
        let question = questions(&mut cursor, n_questions)?;
        Ok(Answers {
            id,
            flags,
            question,
            cursor,
            n_left,
            name: [0; name::NAME_OCTETS_MAX],
        })
    }

    /// The next record of class IN.
    ///
    /// # Errors
    /// When the section is cut short or malformed.
    pub(crate) fn next(&mut self) -> Result<Option<Answer<'_, 'm>>, Error> {
        while self.n_left > 0 {
            self.n_left -= 1;
            let octets = self.cursor.name_into(&mut self.name)?.len();
            let (rtype, class) = (Type(self.cursor.u16()?), self.cursor.u16()?);
            let ttl_seconds = ttl(self.cursor.u32()?);
            let data_octets = usize::from(self.cursor.u16()?);
            let data = self.cursor.clone();
            self.cursor.take(data_octets)?;
            if class == CLASS_IN && rtype != Type::OPT {
                let name = &self.name[..octets];
                return Ok(Some(Answer {
                    name,
                    rtype,
                    ttl_seconds,
                    data,
                    data_octets,
                }));
            }
        }
        Ok(None)
    }
}

impl Answer<'_, '_> {
    /// The data.
    ///
    /// # Errors
    /// When it does not fit its type.
    pub(crate) fn data(&self) -> Result<Data, Error> {
        let mut cursor = self.data.clone();
        Data::decode(self.rtype, &mut cursor, self.data_octets).map_err(|_| Error::BadData)
    }
}

/// Builds a query with one question. `udp_octets` adds an OPT record announcing that size.
pub fn encode_query(id: u16, flags: u16, question: &Question, udp_octets: Option<u16>) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_OCTETS + question.name.wire().len() + 15);
    let n_additionals = u16::from(udp_octets.is_some());
    for field in [id, flags, 1, 0, 0, n_additionals] {
        out.extend(field.to_be_bytes());
    }
    out.extend(question.name.wire());
    out.extend(question.rtype.0.to_be_bytes());
    out.extend(CLASS_IN.to_be_bytes());
    if let Some(octets) = udp_octets {
        out.push(0);
        out.extend(Type::OPT.0.to_be_bytes());
        out.extend(octets.to_be_bytes());
        out.extend([0; 6]);
    }
    out
}

/// The question, if there is exactly one of class IN.
fn questions(cursor: &mut Cursor<'_>, n_questions: u16) -> Result<Option<Question>, Error> {
    let mut question = None;
    for _ in 0..n_questions {
        let (name, rtype, class) = (cursor.name()?, Type(cursor.u16()?), cursor.u16()?);
        question = (n_questions == 1 && class == CLASS_IN).then_some(Question { name, rtype });
    }
    Ok(question)
}

/// RFC 2181 §8: a TTL with the top bit set counts as zero.
fn ttl(seconds: u32) -> u32 {
    if seconds > i32::MAX as u32 {
        0
    } else {
        seconds
    }
}

fn parse_section(
    cursor: &mut Cursor<'_>,
    n_records: u16,
    edns: &mut Option<(u16, u32)>,
) -> Result<Vec<Record>, Error> {
    // The count is a claim; the vector grows only with records that are there.
    let mut records = Vec::new();
    for _ in 0..n_records {
        let name = cursor.name()?;
        let (rtype, class, ttl) = (Type(cursor.u16()?), cursor.u16()?, cursor.u32()?);
        let octets = usize::from(cursor.u16()?);
        if rtype == Type::OPT {
            *edns = Some((class, ttl));
        }
        if rtype == Type::OPT || class != CLASS_IN {
            cursor.take(octets)?;
            continue;
        }
        let data = Data::decode(rtype, cursor, octets).map_err(|_| Error::BadData)?;
        records.push(Record {
            name,
            ttl_seconds: self::ttl(ttl),
            data,
        });
    }
    Ok(records)
}

#[cfg(test)]
mod tests;
