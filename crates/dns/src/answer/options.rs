//! EDNS options of a reply, gathered on the stack.

use std::net::IpAddr;

use super::Context;
use crate::cookie::{self, CLIENT_OCTETS};
use crate::geo::{self, MalformedSubnet, Subnet};
use crate::message::query::Query;
use crate::record::Rcode;

/// Room for all options of one reply.
const OCTETS_MAX: usize = 128;
/// Option code of extended errors (RFC 8914).
pub(super) const EXTENDED_ERROR: u16 = 15;

/// Extended error codes we give ourselves (RFC 8914 §4).
mod extended {
    pub(super) const STALE_ANSWER: u16 = 3;
    pub(super) const PROHIBITED: u16 = 18;
    pub(super) const NOT_AUTHORITATIVE: u16 = 20;
    pub(super) const NOT_SUPPORTED: u16 = 21;
}

/// What a reply says beside its code: why it refuses, that it comes from before a restart, or what the entry says.
pub(super) fn extended_error(
    rcode: Rcode,
    is_transfer: bool,
    stale: bool,
    why: Option<(u16, &[u8])>,
) -> Option<(u16, &[u8])> {
    match rcode {
        Rcode::REFUSED if is_transfer => Some((extended::PROHIBITED, b"")),
        Rcode::REFUSED => Some((extended::NOT_AUTHORITATIVE, b"")),
        Rcode::NOTIMP => Some((extended::NOT_SUPPORTED, b"")),
        _ if stale => Some((extended::STALE_ANSWER, b"remembered from before a restart")),
        _ => why,
    }
}

/// Options ready to be put into an OPT record.
pub(super) struct Options {
    octets: [u8; OCTETS_MAX],
    len: usize,
}

/// An option that breaks its standard.
pub(super) struct Malformed;

/// What the options of a query say.
#[derive(Default)]
pub(super) struct Asked {
    /// The client has shown a good cookie.
    pub(super) verified: bool,
    /// The network the question is asked for.
    pub(super) subnet: Option<Subnet>,
}

impl Asked {
    /// Octets that will be needed to answer the options, besides those already in `options`.
    pub(super) fn octets(&self) -> usize {
        self.subnet
            .map_or(0, |subnet| 8 + usize::from(subnet.source.div_ceil(8)))
    }
}

impl Options {
    pub(super) fn new() -> Options {
        Options {
            octets: [0; OCTETS_MAX],
            len: 0,
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    /// Reads the options we know and answers those that can be answered at once.
    pub(super) fn read(
        &mut self,
        query: &Query<'_>,
        context: &Context<'_>,
        client: IpAddr,
    ) -> Result<Asked, Malformed> {
        let mut asked = Asked::default();
        if query.edns.is_none_or(|edns| edns.options.is_empty()) {
            return Ok(asked);
        }
        if let Some(value) = query.option(geo::SUBNET_OPTION) {
            asked.subnet = Subnet::parse(value).map_err(|MalformedSubnet| Malformed)?;
        }
        let option = query.option(cookie::OPTION);
        if let Some((cookies, value)) = context.cookies.zip(option) {
            let (client_cookie, server_cookie) = value
                .split_first_chunk::<CLIENT_OCTETS>()
                .ok_or(Malformed)?;
            // RFC 7873 §5.2.2.
            if !matches!(server_cookie.len(), 0 | 8..=32) {
                return Err(Malformed);
            }
            let now = context.now_seconds;
            asked.verified = cookies.accept(*client_cookie, server_cookie, client, now);
            let fresh = cookies.make(*client_cookie, client, now);
            self.put(cookie::OPTION, &[client_cookie, &fresh]);
        }
        Ok(asked)
    }

    /// Gives the subnet back with the length of the network the answer is good for (RFC 7871 §7.2.1).
    pub(super) fn put_subnet(&mut self, subnet: Subnet, scope: u8) {
        let mut octets = [0; 16];
        let family: u16 = match subnet.address {
            IpAddr::V4(address) => {
                octets[..4].copy_from_slice(&address.octets());
                1
            }
            IpAddr::V6(address) => {
                octets = address.octets();
                2
            }
        };
        let n_octets = usize::from(subnet.source.div_ceil(8));
        let lengths = [subnet.source, scope];
        self.put(
            geo::SUBNET_OPTION,
            &[&family.to_be_bytes(), &lengths, &octets[..n_octets]],
        );
    }

    /// Appends an option; the few we make always fit.
    fn put(&mut self, code: u16, parts: &[&[u8]]) {
        let octets = parts.iter().map(|part| part.len()).sum::<usize>() as u16;
        let head: [&[u8]; 2] = [&code.to_be_bytes(), &octets.to_be_bytes()];
        for part in head.iter().chain(parts) {
            self.octets[self.len..self.len + part.len()].copy_from_slice(part);
            self.len += part.len();
        }
    }
}
