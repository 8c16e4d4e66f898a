//! Response rate limiting: a server must not be a weapon against forged addresses.
//!
//! One client network may get so many replies of one kind per second: answers for one name, denials within one zone, errors. Beyond
//! that, every n-th reply is cut to a "come over TCP" and the others are dropped, so a real client still gets through and a
//! forged one gets nothing larger than its query. Clients that prove their address (TCP, cookies) are not limited.
//!
//! The table has a fixed size; networks that share a place push each other out, the longest idle first.

use std::net::IpAddr;

/// Places in the table: 64 Ki × 12 octets per worker.
const N_SLOTS: usize = 1 << 16;
/// Places a network may be in.
const N_WAYS: usize = 2;

/// How much is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Replies of one kind per second to one IPv4 /24 or IPv6 /56; also the most that may come at once. 1 to 1,000,000.
    pub replies_per_second: u32,
    /// Every n-th reply beyond is sent empty and truncated; 0 sends none. Default 2.
    pub slip: u8,
}

impl RateLimit {
    /// A limit with the default slip.
    pub fn new(replies_per_second: u32) -> RateLimit {
        RateLimit {
            replies_per_second: replies_per_second.clamp(1, 1_000_000),
            slip: 2,
        }
    }
}

/// What to do with a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Pass,
    /// Send only the question, truncated.
    Slip,
    /// Send nothing.
    Drop,
}

/// One bucket. Tokens are thousandths of replies.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    tag: u32,
    used_ms: u32,
    /// What has been used up, up to a second's worth.
    debt: u32,
    n_limited: u8,
}

/// Buckets of one worker.
#[derive(Debug)]
pub struct Limiter {
    limit: RateLimit,
    slots: Box<[Slot]>,
}

impl Limiter {
    /// A limiter without history.
    pub fn new(limit: RateLimit) -> Limiter {
        Limiter {
            limit,
            slots: vec![Slot::default(); N_SLOTS].into(),
        }
    }

    /// Decides on a reply of the given kind (any hash) at a time in milliseconds that may wrap.
    pub fn admit(&mut self, client: IpAddr, kind: u64, now_ms: u32) -> Verdict {
        let hash = mix(network(client) ^ kind.rotate_left(32));
        let first = hash as usize % (N_SLOTS / N_WAYS) * N_WAYS;
        let tag = (hash >> 32) as u32 | 1;
        let ways = &mut self.slots[first..first + N_WAYS];
        let slot = match ways.iter().position(|slot| slot.tag == tag) {
            Some(at) => &mut ways[at],
            None => {
                let idle = |slot: &&mut Slot| (slot.tag == 0, now_ms.wrapping_sub(slot.used_ms));
                let slot = ways
                    .iter_mut()
                    .max_by_key(|slot| idle(slot))
                    .expect("two ways");
                *slot = Slot {
                    tag,
                    used_ms: now_ms,
                    ..Slot::default()
                };
                slot
            }
        };
        let capacity = self.limit.replies_per_second * 1000;
        let elapsed_ms = now_ms.wrapping_sub(slot.used_ms).min(1000);
        slot.used_ms = now_ms;
        slot.debt = slot
            .debt
            .saturating_sub(elapsed_ms * self.limit.replies_per_second);
        if slot.debt + 1000 <= capacity {
            slot.debt += 1000;
            slot.n_limited = 0;
            return Verdict::Pass;
        }
        slot.n_limited = slot.n_limited.wrapping_add(1);
        match self.limit.slip {
            0 => Verdict::Drop,
            slip if slot.n_limited.is_multiple_of(slip) => Verdict::Slip,
            _ => Verdict::Drop,
        }
    }
}

/// The network a client is counted with.
fn network(client: IpAddr) -> u64 {
    match client.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits() >> 8),
        IpAddr::V6(address) => (address.to_bits() >> 72) as u64 | 1 << 63,
    }
}

/// Spreads the bits (the finaliser of SplitMix64).
fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
