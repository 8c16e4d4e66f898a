//! EDNS options of a reply, gathered on the stack.

use std::net::IpAddr;

use crate::cookie::{self, CLIENT_OCTETS, Cookies};
use crate::message::query::Query;
use crate::record::Rcode;

/// Room for all options of one reply.
const OCTETS_MAX: usize = 128;
/// Option code of extended errors (RFC 8914).
const EXTENDED_ERROR: u16 = 15;

/// Extended error codes we give (RFC 8914 §4).
mod extended {
    pub(super) const PROHIBITED: u16 = 18;
    pub(super) const NOT_AUTHORITATIVE: u16 = 20;
    pub(super) const NOT_SUPPORTED: u16 = 21;
}

/// Options ready to be put into an OPT record.
pub(super) struct Options {
    octets: [u8; OCTETS_MAX],
    len: usize,
}

/// A COOKIE option whose length the standard does not allow (RFC 7873 §5.2.2).
pub(super) struct MalformedCookie;

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

    /// Answers a COOKIE option with a fresh server cookie. Says whether the client has shown a good one.
    pub(super) fn put_cookie(
        &mut self,
        query: &Query<'_>,
        cookies: &Cookies,
        client: IpAddr,
        now_seconds: u32,
    ) -> Result<bool, MalformedCookie> {
        let Some(option) = query.option(cookie::OPTION) else {
            return Ok(false);
        };
        let (client_cookie, server_cookie) = option
            .split_first_chunk::<CLIENT_OCTETS>()
            .ok_or(MalformedCookie)?;
        if !matches!(server_cookie.len(), 0 | 8..=32) {
            return Err(MalformedCookie);
        }
        let accepted = cookies.accept(*client_cookie, server_cookie, client, now_seconds);
        let fresh = cookies.make(*client_cookie, client, now_seconds);
        self.put(cookie::OPTION, &[client_cookie, &fresh]);
        Ok(accepted)
    }

    /// Says more about a refusal than its code does.
    pub(super) fn put_extended_error(&mut self, rcode: Rcode, is_transfer: bool) {
        let code = match rcode {
            Rcode::REFUSED if is_transfer => extended::PROHIBITED,
            Rcode::REFUSED => extended::NOT_AUTHORITATIVE,
            Rcode::NOTIMP => extended::NOT_SUPPORTED,
            _ => return,
        };
        self.put(EXTENDED_ERROR, &[&code.to_be_bytes()]);
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
