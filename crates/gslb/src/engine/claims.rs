//! Which Gslb a host belongs to when several name it: the oldest one.

use std::collections::{BTreeMap, BTreeSet};

use crate::world::GslbId;

/// Creation time and identity; the first is the owner.
type Claim = (String, GslbId);

/// All claims to hosts.
#[derive(Debug, Default)]
pub(super) struct Claims {
    by_host: BTreeMap<String, BTreeSet<Claim>>,
    by_gslb: BTreeMap<GslbId, (String, BTreeSet<String>)>,
}

impl Claims {
    /// Replaces the hosts a Gslb names; returns the other Gslbs for which that changes something.
    pub(super) fn set(
        &mut self,
        id: &GslbId,
        created: &str,
        hosts: BTreeSet<String>,
    ) -> BTreeSet<GslbId> {
        let mut concerned = BTreeSet::new();
        let (old_created, old) = self.by_gslb.remove(id).unwrap_or_default();
        let moved = old_created != created;
        for host in &old {
            if moved || !hosts.contains(host) {
                self.change(host, &mut concerned, |claims| {
                    claims.remove(&(old_created.clone(), id.clone()));
                });
            }
        }
        for host in &hosts {
            if moved || !old.contains(host) {
                self.change(host, &mut concerned, |claims| {
                    claims.insert((created.to_owned(), id.clone()));
                });
            }
        }
        if !hosts.is_empty() {
            self.by_gslb.insert(id.clone(), (created.to_owned(), hosts));
        }
        concerned.remove(id);
        concerned
    }

    fn change(
        &mut self,
        host: &str,
        concerned: &mut BTreeSet<GslbId>,
        change: impl FnOnce(&mut BTreeSet<Claim>),
    ) {
        let claims = self.by_host.entry(host.to_owned()).or_default();
        let before = claims.first().cloned();
        change(claims);
        if claims.first() != before.as_ref() {
            concerned.extend(claims.iter().map(|(_, id)| id.clone()));
            concerned.extend(before.map(|(_, id)| id));
        }
        if claims.is_empty() {
            self.by_host.remove(host);
        }
    }

    /// The Gslb a host belongs to.
    pub(super) fn winner(&self, host: &str) -> Option<&GslbId> {
        self.by_host.get(host)?.first().map(|(_, id)| id)
    }

    /// The hosts a Gslb names but does not own, with their owners.
    pub(super) fn taken(&self, id: &GslbId) -> BTreeMap<String, GslbId> {
        let hosts = self
            .by_gslb
            .get(id)
            .map(|(_, hosts)| hosts)
            .into_iter()
            .flatten();
        hosts
            .filter_map(|host| Some((host.clone(), self.winner(host)?.clone())))
            .filter(|(_, winner)| winner != id)
            .collect()
    }
}
