//! Which zone a host belongs to, and how a zone is given up.
//!
//! A host belongs to the zone that is its longest suffix, label by label. (k8gb asks whether the host *contains* the
//! zone's text and takes the first hit, so `app.mycloud.example.com` lands in `cloud.example.com`.)
//!
//! A zone whose object is deleted stays delegated for as long as any cluster answers for it: with `doFinalize` each
//! cluster first withdraws only itself, and the last one removes the delegation.
//!
//! Source: k8gb v0.21 `controllers/zone_service.go`, `controllers/providers/dns/external.go`; research §3.5–3.7.

use flotilla_api::zone_delegation::DnsServer;

use crate::names;

/// A delegated zone, as the fleet sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// Name of the ZoneDelegation.
    pub object: String,
    /// The balanced zone, canonical.
    pub zone: String,
    /// The zone that delegates it, canonical.
    pub parent: String,
    /// Negative TTL in seconds.
    pub neg_ttl_seconds: u32,
    /// Whether deletion has been asked for.
    pub deleting: bool,
    /// Whether the delegation is to be removed from the parent zone on deletion.
    pub do_finalize: bool,
    /// Whether our finalizer is on the object.
    pub has_finalizer: bool,
    /// The name servers in the object's status.
    pub servers: Vec<DnsServer>,
    /// The clusters whose changes are pushed to us, as the object's status says; sorted.
    pub pushed: Vec<String>,
}

impl Zone {
    /// Whether `host` is a name below this zone. The apex is not: only SOA and NS live there.
    pub fn contains(&self, host: &str) -> bool {
        host.strip_suffix(self.zone.as_str())
            .is_some_and(|own| own.len() > 1 && own.ends_with('.'))
    }

    /// Whether hosts are decided as with `other`: who pushes, and whether our finalizer is there, decides nothing.
    pub fn is_decided_as(&self, other: &Zone) -> bool {
        let other = Zone {
            has_finalizer: self.has_finalizer,
            pushed: self.pushed.clone(),
            ..other.clone()
        };
        *self == other
    }

    /// The addresses of each other cluster's name server, by geo tag.
    pub fn peers<'a>(
        &'a self,
        prefix: &'a str,
        own: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.servers.iter().filter_map(move |server| {
            let tag = names::tag_of(&server.name, prefix, &self.zone, &self.parent)?;
            (tag != own).then_some((tag, server.address.as_str()))
        })
    }
}

/// The zone a canonical host belongs to: the longest one that contains it.
pub fn find<'a>(host: &str, zones: impl IntoIterator<Item = &'a Zone>) -> Option<&'a Zone> {
    zones
        .into_iter()
        .filter(|zone| zone.contains(host))
        .max_by_key(|zone| zone.zone.len())
}

/// What to do next about a zone whose object is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Let the object go and leave the parent zone alone.
    Release,
    /// Take our name server out of the delegation, keep the object, look again later.
    Withdraw,
    /// Nobody else answers: remove the delegation, then let the object go.
    Remove,
}

/// Decides the next step for a zone whose deletion has been asked for.
///
/// We are last when the servers found carry our name only. An empty list proves nothing, because a look that failed
/// leaves none behind, so it counts as "not last".
pub fn finalize(do_finalize: bool, servers: &[DnsServer], own_name: &str) -> Step {
    let last = !servers.is_empty() && servers.iter().all(|server| server.name == own_name);
    match (do_finalize, last) {
        (false, _) => Step::Release,
        (true, false) => Step::Withdraw,
        (true, true) => Step::Remove,
    }
}

#[cfg(test)]
mod tests;
