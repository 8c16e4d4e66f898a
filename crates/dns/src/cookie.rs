//! DNS cookies: proof that a client's address is not forged (RFC 7873, format by RFC 9018).
//!
//! A server cookie is a keyed hash over the client's cookie, its address and the time; whoever sends one back has received our
//! earlier reply. Nothing is stored per client. Servers that share a secret accept each other's cookies.

use std::hash::Hasher;
use std::net::IpAddr;

/// EDNS option code (RFC 7873 §9).
pub(crate) const OPTION: u16 = 10;
/// Octets of a client cookie.
pub(crate) const CLIENT_OCTETS: usize = 8;
/// Octets of our server cookies.
pub(crate) const SERVER_OCTETS: usize = 16;
/// Age up to which a cookie is accepted, in seconds (RFC 9018 §4.3).
const AGE_SECONDS_MAX: i32 = 3600;
/// How far a cookie of another server may lie in the future, in seconds (RFC 9018 §4.3).
const AHEAD_SECONDS_MAX: i32 = 300;

/// Makes and checks server cookies.
#[derive(Debug, Clone)]
pub struct Cookies {
    key: [u64; 2],
}

impl Cookies {
    /// Cookies under a secret of 16 octets.
    pub fn new(secret: [u8; 16]) -> Cookies {
        let half = |at: usize| {
            secret[at..at + 8]
                .iter()
                .rev()
                .fold(0, |word, octet| word << 8 | u64::from(*octet))
        };
        Cookies {
            key: [half(0), half(8)],
        }
    }

    /// The server cookie for a client at a time (Unix seconds, modulo 2³²).
    pub(crate) fn make(
        &self,
        client_cookie: [u8; CLIENT_OCTETS],
        client: IpAddr,
        now_seconds: u32,
    ) -> [u8; SERVER_OCTETS] {
        let mut cookie = [0; SERVER_OCTETS];
        cookie[0] = 1;
        cookie[4..8].copy_from_slice(&now_seconds.to_be_bytes());
        let hash = self.hash(client_cookie, &cookie[..8], client);
        cookie[8..].copy_from_slice(&hash.to_le_bytes());
        cookie
    }

    /// Whether `server_cookie` was made under this secret, for this client, and lately.
    pub(crate) fn accept(
        &self,
        client_cookie: [u8; CLIENT_OCTETS],
        server_cookie: &[u8],
        client: IpAddr,
        now_seconds: u32,
    ) -> bool {
        let Ok(cookie) = <&[u8; SERVER_OCTETS]>::try_from(server_cookie) else {
            return false;
        };
        let made_seconds = u32::from_be_bytes([cookie[4], cookie[5], cookie[6], cookie[7]]);
        // Serial number arithmetic (RFC 1982): the clock may pass 2³².
        let age_seconds = now_seconds.wrapping_sub(made_seconds) as i32;
        if cookie[0] != 1 || !(-AHEAD_SECONDS_MAX..=AGE_SECONDS_MAX).contains(&age_seconds) {
            return false;
        }
        let hash = self.hash(client_cookie, &cookie[..8], client).to_le_bytes();
        // All octets are compared, so that the time taken tells nothing.
        hash.iter()
            .zip(&cookie[8..])
            .fold(0, |differ, (a, b)| differ | (a ^ b))
            == 0
    }

    fn hash(&self, client_cookie: [u8; CLIENT_OCTETS], head: &[u8], client: IpAddr) -> u64 {
        #[expect(
            deprecated,
            reason = "RFC 9018 names SipHash-2-4, which std keeps under this name only"
        )]
        let mut hasher = std::hash::SipHasher::new_with_keys(self.key[0], self.key[1]);
        hasher.write(&client_cookie);
        hasher.write(head);
        match client {
            IpAddr::V4(address) => hasher.write(&address.octets()),
            IpAddr::V6(address) => hasher.write(&address.octets()),
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests;
