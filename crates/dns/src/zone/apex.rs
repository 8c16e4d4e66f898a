//! The records every zone has at its apex, compiled.

use std::net::IpAddr;

use super::{Error, Settings};
use crate::name::{self, Name};
use crate::record::Type;

/// SOA and NS in wire form. Every owner and every name inside the zone ends in a pointer to the apex, whose place in the message
/// depends on the question: `pointers` says where those are.
#[derive(Debug)]
pub(crate) struct ApexRecords {
    /// The SOA as an answer.
    pub(crate) soa: Relocatable,
    /// The SOA of a negative answer: TTL is the smaller of its TTL and its minimum (RFC 2308 §3).
    pub(crate) negative: Relocatable,
    /// The NS set.
    pub(crate) ns: Relocatable,
    /// Data of the SOA, uncompressed.
    pub(crate) soa_rdata: Vec<u8>,
    /// Data of the NS set, uncompressed, in canonical order.
    pub(crate) ns_rdata: Vec<Vec<u8>>,
    /// TTL of SOA and NS in answers.
    pub(crate) ttl_seconds: u32,
    /// TTL of the SOA in negative answers.
    pub(crate) negative_ttl_seconds: u32,
    /// Addresses of the name servers: ready records, owner included.
    pub(crate) glue: Vec<Relocatable>,
}

/// Records whose pointers to the apex are set when they are copied into a message.
#[derive(Debug, Default)]
pub(crate) struct Relocatable {
    pub(crate) wire: Vec<u8>,
    pub(crate) pointers: Vec<u16>,
    pub(crate) n_records: u16,
}

impl ApexRecords {
    pub(super) fn compile(settings: &Settings) -> Result<ApexRecords, Error> {
        let Settings {
            apex,
            soa,
            ttl_seconds,
            nameservers,
        } = settings;
        if nameservers.is_empty() {
            return Err(Error::NoNameServer { apex: apex.clone() });
        }
        let numbers = [
            soa.serial,
            soa.refresh_seconds,
            soa.retry_seconds,
            soa.expire_seconds,
            soa.minimum_seconds,
        ]
        .map(u32::to_be_bytes)
        .concat();
        let soa_record = |ttl_seconds: u32| {
            let mut out = Relocatable::default();
            let rdata = [&soa.mname, &soa.rname];
            out.push(apex, apex, (Type::SOA, ttl_seconds), &rdata, &numbers);
            out
        };
        let mut ns = Relocatable::default();
        let mut glue = Vec::new();
        for server in nameservers {
            ns.push(apex, apex, (Type::NS, *ttl_seconds), &[&server.name], &[]);
            for address in &server.addresses {
                let mut out = Relocatable::default();
                let (rtype, rdata) = match address {
                    IpAddr::V4(address) => (Type::A, address.octets().to_vec()),
                    IpAddr::V6(address) => (Type::AAAA, address.octets().to_vec()),
                };
                out.push(apex, &server.name, (rtype, *ttl_seconds), &[], &rdata);
                glue.push(out);
            }
        }
        let negative_ttl_seconds = soa.minimum_seconds.min(*ttl_seconds);
        let negative = soa_record(negative_ttl_seconds);
        let mut ns_rdata = nameservers
            .iter()
            .map(|server| server.name.wire().to_vec())
            .collect::<Vec<_>>();
        ns_rdata.sort();
        Ok(ApexRecords {
            soa_rdata: [soa.mname.wire(), soa.rname.wire(), &numbers].concat(),
            ns_rdata,
            ttl_seconds: *ttl_seconds,
            negative_ttl_seconds,
            soa: soa_record(*ttl_seconds),
            negative,
            ns,
            glue,
        })
    }
}

impl Relocatable {
    /// Appends a record whose data is `names` followed by `tail`; all names are shortened by the apex where they can be.
    fn push(
        &mut self,
        apex: &Name,
        owner: &Name,
        (rtype, ttl_seconds): (Type, u32),
        names: &[&Name],
        tail: &[u8],
    ) {
        self.push_name(apex, owner);
        self.wire.extend(rtype.0.to_be_bytes());
        self.wire.extend([0, 1]);
        self.wire.extend(ttl_seconds.to_be_bytes());
        let length_at = self.wire.len();
        self.wire.extend([0, 0]);
        for name in names {
            self.push_name(apex, name);
        }
        self.wire.extend(tail);
        let octets = (self.wire.len() - length_at - 2) as u16;
        self.wire[length_at..length_at + 2].copy_from_slice(&octets.to_be_bytes());
        self.n_records += 1;
    }

    fn push_name(&mut self, apex: &Name, name: &Name) {
        match name::strip_suffix(name.wire(), apex.wire()) {
            // The root is shorter than a pointer to it.
            Some(relative) if !apex.is_root() => {
                self.wire.extend(relative);
                self.pointers.push(self.wire.len() as u16);
                self.wire.extend([0, 0]);
            }
            _ => self.wire.extend(name.wire()),
        }
    }
}
