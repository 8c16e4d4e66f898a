//! Ranges of cluster addresses and node ports, and how a free one is picked.
//!
//! A range has two bands, as upstream's: the lower one is for numbers people choose, automatic ones
//! come from the upper band while it lasts.
//!
//! Source: Kubernetes v1.35, `pkg/registry/core/service/{ipallocator,portallocator}`; bands: KEP-3070
//! and KEP-3668.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use ipnet::IpNet;

/// Ports on nodes, as upstream's default.
pub(super) const NODE_PORTS: std::ops::RangeInclusive<u32> = 30_000..=32_767;

/// Numbers from `first` on, of which the first `band` are used only by choice or when nothing else is
/// left.
#[derive(Clone, Copy, Debug)]
struct Banded {
    first: u128,
    size: u64,
    band: u64,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressRange {
    cidr: IpNet,
    numbers: Banded,
}

impl AddressRange {
    /// The hosts of a network: without its own address and, for IPv4, the broadcast address.
    pub(super) fn new(cidr: IpNet) -> Self {
        let bits = cidr.max_prefix_len() - cidr.prefix_len();
        // More than 2^62 addresses are never looked through.
        let all = 1_u64 << bits.min(62);
        let size = match (cidr, all) {
            (_, ..=2) => all,
            (IpNet::V4(_), all) => all - 2,
            (IpNet::V6(_), all) => all - 1,
        };
        let first = number(cidr.network()) + u128::from(all > 2);
        Self {
            cidr,
            numbers: Banded {
                first,
                size,
                band: (all / 16).clamp(16, 256).min(all / 2),
            },
        }
    }

    /// The network, as messages name it.
    pub(super) fn cidr(&self) -> IpNet {
        self.cidr
    }

    /// Whether an address may be given out.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let offset = number(address).checked_sub(self.numbers.first);
        address.is_ipv4() == self.cidr.addr().is_ipv4()
            && offset.is_some_and(|offset| offset < u128::from(self.numbers.size))
    }

    /// A free address, from a random place of the upper band on.
    pub(super) fn pick(&self, taken: &BTreeSet<IpAddr>, entropy: u64) -> Option<IpAddr> {
        let is_v4 = self.cidr.addr().is_ipv4();
        let is_free = |number| !taken.contains(&address(number, is_v4));
        let number = self.numbers.pick(entropy, taken.len(), is_free)?;
        Some(address(number, is_v4))
    }
}

/// A free node port.
pub(super) fn pick_port(taken: &BTreeSet<u32>, entropy: u64) -> Option<u32> {
    let size = u64::from(NODE_PORTS.end() - NODE_PORTS.start()) + 1;
    let ports = Banded {
        first: u128::from(*NODE_PORTS.start()),
        size,
        band: (size / 32).clamp(16, 128),
    };
    let is_free = |number| u32::try_from(number).is_ok_and(|port| !taken.contains(&port));
    let number = ports.pick(entropy, taken.len(), is_free)?;
    u32::try_from(number).ok()
}

impl Banded {
    /// Looks at no more than one number beyond those that are taken in each band.
    fn pick(&self, entropy: u64, n_taken: usize, is_free: impl Fn(u128) -> bool) -> Option<u128> {
        let bands = [(self.band, self.size), (0, self.band.min(self.size))];
        bands
            .into_iter()
            .filter(|(low, high)| low < high)
            .find_map(|(low, high)| {
                let size = high - low;
                let start = entropy % size;
                let steps = size.min(n_taken as u64 + 1);
                let numbers = (0..steps).map(|step| {
                    let offset = (u128::from(start) + u128::from(step)) % u128::from(size);
                    self.first + u128::from(low) + offset
                });
                numbers.into_iter().find(|number| is_free(*number))
            })
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

fn address(number: u128, is_v4: bool) -> IpAddr {
    match is_v4 {
        // Numbers of an IPv4 range have 32 bits.
        true => Ipv4Addr::from(number as u32).into(),
        false => Ipv6Addr::from(number).into(),
    }
}

#[cfg(test)]
mod tests;
