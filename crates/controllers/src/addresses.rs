//! Which addresses a Service of type LoadBalancer or an Ingress gets from the cluster's pool.
//!
//! The status of the objects is the only memory: an object keeps the addresses it has as long as they belong to the pool,
//! so a restart changes nothing. New addresses are the lowest free ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use ipnet::IpNet;

use crate::Key;

/// What may own addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// A Service of type LoadBalancer.
    Service(Key),
    /// An Ingress.
    Ingress(Key),
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Service(key) => write!(f, "service {key}"),
            Self::Ingress(key) => write!(f, "ingress {key}"),
        }
    }
}

/// The addresses there are and who has them.
#[derive(Clone, Debug)]
pub struct Pool {
    networks: Vec<IpNet>,
    each: usize,
    taken: BTreeMap<IpAddr, Owner>,
    owned: BTreeMap<Owner, BTreeSet<IpAddr>>,
}

impl Pool {
    /// The hosts of `networks`, of which every owner gets `each`.
    pub fn new(networks: Vec<IpNet>, each: usize) -> Self {
        Self {
            networks,
            each,
            taken: BTreeMap::new(),
            owned: BTreeMap::new(),
        }
    }

    /// Notes what the status of an object says, before anything is assigned. An address that somebody else has already, or
    /// that is not of the pool, is not noted.
    pub fn claim(&mut self, owner: &Owner, addresses: &[IpAddr]) {
        for address in addresses {
            if self.contains(*address) && !self.taken.contains_key(address) {
                self.take(owner, *address);
            }
        }
    }

    /// The addresses of `owner`, assigned now if it lacks some; sorted. Fewer than wished when the pool is empty.
    ///
    /// `wished` is what the user asks for (`spec.loadBalancerIP`); it is granted if it is of the pool and free.
    pub fn assign(&mut self, owner: &Owner, wished: Option<IpAddr>) -> Vec<IpAddr> {
        let lacks = |pool: &Self| pool.owned.get(owner).map_or(0, BTreeSet::len) < pool.each;
        if let Some(wished) =
            wished.filter(|wished| self.contains(*wished) && !self.taken.contains_key(wished))
        {
            // A wish that comes late replaces an address that was only the lowest free one.
            if !lacks(self)
                && let Some(last) = self
                    .owned
                    .get(owner)
                    .and_then(|owned| owned.last().copied())
            {
                self.give_back(owner, last);
            }
            self.take(owner, wished);
        }
        while lacks(self) {
            let Some(free) = self.hosts().find(|host| !self.taken.contains_key(host)) else {
                break;
            };
            self.take(owner, free);
        }
        self.owned
            .get(owner)
            .into_iter()
            .flatten()
            .copied()
            .collect()
    }

    /// Takes the addresses of an owner back. Returns whether it had any.
    pub fn release(&mut self, owner: &Owner) -> bool {
        let owned = self.owned.remove(owner).unwrap_or_default();
        for address in &owned {
            self.taken.remove(address);
        }
        !owned.is_empty()
    }

    /// Whether an address is one of the pool's.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.networks
            .iter()
            .any(|network| network.contains(&address))
    }

    fn hosts(&self) -> impl Iterator<Item = IpAddr> {
        self.networks.iter().flat_map(IpNet::hosts)
    }

    fn take(&mut self, owner: &Owner, address: IpAddr) {
        self.taken.insert(address, owner.clone());
        self.owned.entry(owner.clone()).or_default().insert(address);
    }

    fn give_back(&mut self, owner: &Owner, address: IpAddr) {
        self.taken.remove(&address);
        if let Some(owned) = self.owned.get_mut(owner) {
            owned.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests;
