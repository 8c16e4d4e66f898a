//! Which Gslb a host belongs to when several name it: the oldest one.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::world::GslbId;

/// Creation time and identity; the first is the owner.
type Claim = (String, GslbId);

/// All claims to hosts.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// Sorted by claim; nearly always there is one.
    by_host: HashMap<Arc<str>, Vec<Arc<Claim>>>,
    by_gslb: BTreeMap<GslbId, (Arc<Claim>, BTreeSet<Arc<str>>)>,
}

impl Claims {
    /// Replaces the hosts a Gslb names; returns the other Gslbs for which that changes something.
    pub(super) fn set(
        &mut self,
        id: &GslbId,
        created: &str,
        hosts: BTreeSet<Arc<str>>,
    ) -> BTreeSet<GslbId> {
        let mut concerned = BTreeSet::new();
        let claim = Arc::new((created.to_owned(), id.clone()));
        let (old_claim, old) = match self.by_gslb.remove(id) {
            Some((old_claim, old)) => (old_claim, old),
            None => (claim.clone(), BTreeSet::new()),
        };
        let moved = old_claim != claim;
        for host in &old {
            if moved || !hosts.contains(host) {
                self.change(host, &mut concerned, |claims| {
                    claims.retain(|known| *known != old_claim);
                });
            }
        }
        for host in &hosts {
            if moved || !old.contains(host) {
                self.change(host, &mut concerned, |claims| {
                    if let Err(place) = claims.binary_search(&claim) {
                        claims.insert(place, claim.clone());
                    }
                });
            }
        }
        if !hosts.is_empty() {
            self.by_gslb.insert(id.clone(), (claim, hosts));
        }
        concerned.remove(id);
        concerned
    }

    fn change(
        &mut self,
        host: &Arc<str>,
        concerned: &mut BTreeSet<GslbId>,
        change: impl FnOnce(&mut Vec<Arc<Claim>>),
    ) {
        let claims = self.by_host.entry(host.clone()).or_default();
        let before = claims.first().cloned();
        change(claims);
        if claims.first() != before.as_ref() {
            concerned.extend(claims.iter().map(|claim| claim.1.clone()));
            concerned.extend(before.map(|claim| claim.1.clone()));
        }
        if claims.is_empty() {
            self.by_host.remove(host);
        }
    }

    /// The Gslb a host belongs to.
    pub(super) fn winner(&self, host: &str) -> Option<&GslbId> {
        self.by_host.get(host)?.first().map(|claim| &claim.1)
    }

    /// The hosts a Gslb names but does not own, with their owners.
    pub(super) fn taken(&self, id: &GslbId) -> BTreeMap<String, GslbId> {
        let hosts = self.by_gslb.get(id).map(|(_, hosts)| hosts);
        hosts
            .into_iter()
            .flatten()
            .filter_map(|host| Some((host, self.winner(host)?)))
            .filter(|(_, winner)| *winner != id)
            .map(|(host, winner)| (host.to_string(), winner.clone()))
            .collect()
    }
}
