//! Telling those who keep a copy of a zone that it changed (NOTIFY, RFC 1996), and being told.
//!
//! A NOTIFY carries the new SOA as a hint. It is believed only when signed (RFC 8945) with a key this server accepts, and even then
//! it can do no more than make the receiver look sooner than it would have: replaying one costs a look that finds nothing new.
//! Whom to tell and how often decides [`outbox`].

pub mod outbox;

use std::net::IpAddr;

use crate::catalog::Catalog;
use crate::message::{
    self, CLASS_IN, FLAG_AA, FLAG_QR, HEADER_OCTETS, Message, OPCODE_MASK, Question,
};
use crate::name::Name;
use crate::record::{Data, Rcode, Type};
use crate::transfer::split;
use crate::tsig::{self, Key};
use crate::zone::Zone;

/// The operation code NOTIFY within the flags (RFC 1996 §3.1).
const OPCODE_NOTIFY: u16 = 4 << 11;

/// Somebody says that a zone of theirs changed; the signature was right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The zone.
    pub zone: Name,
    /// The serial it has now, if the message says so.
    pub serial: Option<u32>,
    /// Where the message came from.
    pub from: IpAddr,
}

/// The message that announces a zone's current version, without signature.
pub fn encode(id: u16, zone: &Zone) -> Vec<u8> {
    let mut out = Vec::new();
    for field in [id, OPCODE_NOTIFY | FLAG_AA, 1, 1, 0, 0] {
        out.extend(field.to_be_bytes());
    }
    out.extend(zone.apex().wire());
    out.extend(Type::SOA.0.to_be_bytes());
    out.extend(CLASS_IN.to_be_bytes());
    out.extend(split(&zone.apex_records().soa).concat());
    out
}

/// Whether a message is a NOTIFY and not a query.
pub(crate) fn is_notify(message: &[u8]) -> bool {
    let flags = message
        .get(2..4)
        .map_or(0, |f| u16::from_be_bytes([f[0], f[1]]));
    message.len() >= HEADER_OCTETS && flags & OPCODE_MASK == OPCODE_NOTIFY && flags & FLAG_QR == 0
}

/// The reply to a NOTIFY, and what is to be believed of it.
///
/// | message | reply |
/// |---|---|
/// | unsigned | REFUSED |
/// | an unknown key, a wrong signature or one of another time | NOTAUTH |
/// | unreadable, or not about a SOA | FORMERR |
/// | about a zone that is not served here | NOTAUTH, signed |
/// | otherwise | NOERROR, signed |
pub(crate) fn receive(
    catalog: &Catalog,
    key: &Key,
    message: &[u8],
    from: IpAddr,
    now_seconds: u64,
) -> (Vec<u8>, Option<Notice>) {
    let mut chain = match tsig::verify_request(std::slice::from_ref(key), message, now_seconds) {
        Ok(chain) => chain,
        Err(tsig::Error::Unsigned) => return (reply(message, None, Rcode::REFUSED), None),
        Err(error) => {
            let mut reply = reply(message, None, Rcode::NOTAUTH);
            tsig::append_error(&mut reply, message, error, now_seconds);
            return (reply, None);
        }
    };
    let parsed = Message::parse(message).ok();
    let question = parsed.as_ref().and_then(|parsed| parsed.question.clone());
    let question = question.filter(|question| question.rtype == Type::SOA);
    let (rcode, notice) = match (&question, parsed) {
        (Some(question), Some(_)) if catalog.zone(&question.name).is_none() => {
            (Rcode::NOTAUTH, None)
        }
        (Some(question), Some(parsed)) => {
            let notice = Notice {
                zone: question.name.clone(),
                serial: serial(&parsed, &question.name),
                from,
            };
            (Rcode::NOERROR, Some(notice))
        }
        _ => (Rcode::FORMERR, None),
    };
    let mut reply = reply(message, question.as_ref(), rcode);
    chain.sign(&mut reply, now_seconds);
    (reply, notice)
}

/// The serial a message gives for a zone in its answers.
fn serial(message: &Message, zone: &Name) -> Option<u32> {
    let mut answers = message.answers.iter().filter(|record| record.name == *zone);
    answers.find_map(|record| match &record.data {
        Data::Soa(soa) => Some(soa.serial),
        _ => None,
    })
}

fn reply(request: &[u8], question: Option<&Question>, rcode: Rcode) -> Vec<u8> {
    let id = request
        .get(..2)
        .map_or(0, |id| u16::from_be_bytes([id[0], id[1]]));
    let flags = FLAG_QR | FLAG_AA | OPCODE_NOTIFY | rcode.0;
    match question {
        Some(question) => message::encode_query(id, flags, question, None),
        None => {
            let mut out = vec![0; HEADER_OCTETS];
            out[..2].copy_from_slice(&id.to_be_bytes());
            out[2..4].copy_from_slice(&flags.to_be_bytes());
            out
        }
    }
}

#[cfg(test)]
mod tests;
