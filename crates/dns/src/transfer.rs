//! Giving a whole zone away (AXFR, RFC 5936), to whoever holds one of its keys.
//!
//! A transfer holds one snapshot of the zone and makes its messages one by one as they are sent, so a large zone costs no more
//! memory than a small one and changes meanwhile do not show. IXFR is answered with the whole zone, which RFC 1995 §4 allows.

use std::collections::VecDeque;

use crate::catalog::Catalog;
use crate::message::query::Query;
use crate::message::writer::reply_flags;
use crate::message::{FLAG_QR, HEADER_OCTETS};
use crate::name::Name;
use crate::record::Rcode;
use crate::tsig::{self, Chain, Key};
use crate::zone::{Relocatable, Zone};

/// Size at which a message is sent: large enough to be efficient, small enough to be soon on its way.
const MESSAGE_OCTETS: usize = 16_384;
/// Pointer to the apex, which is the name in the question.
const APEX_POINTER: u16 = 0xc000 | HEADER_OCTETS as u16;

/// The messages of a transfer in order.
#[derive(Debug)]
pub(crate) struct Transfer {
    zone: Zone,
    head: Head,
    chain: Chain,
    now_seconds: u64,
    /// The page to be read next; `None` when all have been.
    next_page: Option<usize>,
    /// Records not sent yet.
    waiting: VecDeque<Vec<u8>>,
}

/// What every message starts with.
#[derive(Debug)]
struct Head {
    id: u16,
    flags: u16,
    question: Vec<u8>,
}

/// What a request for a zone gets.
#[derive(Debug)]
pub(crate) enum Granted {
    /// The zone.
    Transfer(Box<Transfer>),
    /// One message that says no.
    Refused(Vec<u8>),
}

/// Decides on a request for a zone; `None` when it is something else or not signed, so that the usual rules answer it.
pub(crate) fn grant(
    catalog: &Catalog,
    keys: &[Key],
    request: &[u8],
    now_seconds: u64,
) -> Option<Granted> {
    let query = Query::parse(request)
        .ok()
        .filter(|query| query.rtype.is_transfer())?;
    let zone = catalog.zone(&Name::from_wire(query.name()).ok()?)?;
    let flags = reply_flags(query.flags, true);
    let head = Head {
        id: query.id,
        flags,
        question: query.question.to_vec(),
    };
    let chain = match tsig::verify_request(keys, request, now_seconds) {
        Ok(chain) => chain,
        Err(tsig::Error::Unsigned) => return None,
        Err(error) => {
            let flags = reply_flags(query.flags, false) | Rcode::NOTAUTH.0;
            let mut message = Head { flags, ..head }.start();
            tsig::append_error(&mut message, request, error, now_seconds);
            return Some(Granted::Refused(message));
        }
    };
    let records = zone.apex_records();
    let waiting = [&records.soa, &records.ns]
        .into_iter()
        .flat_map(split)
        .collect();
    let transfer = Transfer {
        zone: zone.clone(),
        head,
        chain,
        now_seconds,
        next_page: Some(0),
        waiting,
    };
    Some(Granted::Transfer(Box::new(transfer)))
}

impl Iterator for Transfer {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut message = self.head.start();
        let mut n_records = 0u16;
        loop {
            while self.waiting.is_empty() {
                let Some(page) = self.next_page else { break };
                self.read_page(page);
            }
            let Some(record) = self.waiting.front() else {
                break;
            };
            if n_records > 0 && message.len() + record.len() > MESSAGE_OCTETS {
                break;
            }
            message.extend(record);
            n_records += 1;
            self.waiting.pop_front();
        }
        if n_records == 0 {
            return None;
        }
        message[6..8].copy_from_slice(&n_records.to_be_bytes());
        self.chain.sign(&mut message, self.now_seconds);
        Some(message)
    }
}

impl Transfer {
    /// Takes up the records of one page; after the last page, the SOA that ends the transfer.
    fn read_page(&mut self, page: usize) {
        let Some((nodes, next)) = self.zone.page(page) else {
            self.waiting.extend(split(&self.zone.apex_records().soa));
            self.next_page = None;
            return;
        };
        for node in nodes {
            for record in node.sets().flat_map(|set| set.records()) {
                // The stored owner is a pointer to the question; here it is the name itself, shortened by the apex.
                let mut owned = node.name().to_vec();
                owned.extend(APEX_POINTER.to_be_bytes());
                owned.extend(&record[2..]);
                self.waiting.push_back(owned);
            }
        }
        self.next_page = Some(next);
    }
}

impl Head {
    fn start(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEADER_OCTETS + self.question.len());
        message.extend(self.id.to_be_bytes());
        message.extend((self.flags | FLAG_QR).to_be_bytes());
        message.extend([0, 1, 0, 0, 0, 0, 0, 0]);
        message.extend(&self.question);
        message
    }
}

/// The single records of an apex set, pointers set.
fn split(records: &Relocatable) -> Vec<Vec<u8>> {
    let mut wire = records.wire.clone();
    for at in &records.pointers {
        let at = usize::from(*at);
        wire[at..at + 2].copy_from_slice(&APEX_POINTER.to_be_bytes());
    }
    let mut rest = wire.as_slice();
    let mut split = Vec::new();
    while !rest.is_empty() {
        // The owner is a pointer, or the root's single octet.
        let fixed = if rest[0] == 0 { 1 } else { 2 };
        let rdata_octets = u16::from_be_bytes([rest[fixed + 8], rest[fixed + 9]]);
        let (record, tail) = rest.split_at(fixed + 10 + usize::from(rdata_octets));
        split.push(record.to_vec());
        rest = tail;
    }
    split
}

#[cfg(test)]
mod tests;
