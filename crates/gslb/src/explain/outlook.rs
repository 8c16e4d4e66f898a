//! What each cluster would answer for a host if clusters were down or did not hear each other.

use std::{collections::BTreeMap, fmt, net::IpAddr};

use serde::Serialize;

use super::{Facts, Scenario, of_family, sorted, what_if};
use crate::{
    health::Health,
    select::Reason,
    view::{Answer, Family},
};

/// A scenario names a cluster that does not serve the zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{tag:?} is no cluster of the zone {zone}; there are {}", .known.join(", "))]
pub struct UnknownCluster {
    /// What was named.
    pub tag: String,
    /// The zone.
    pub zone: String,
    /// The clusters of the zone.
    pub known: Vec<String>,
}

/// What each cluster would answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outlook {
    /// The host.
    pub host: String,
    /// roundRobin, failover or geoip.
    pub strategy: String,
    /// Clusters that have nothing to offer already now, whatever the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_addresses: Vec<String>,
    /// What every cluster would answer, in order of their tags.
    pub clusters: Vec<Expected>,
}

/// What one cluster would answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Expected {
    /// Its tag.
    pub geo_tag: String,
    /// Whose addresses it would answer with, over both families.
    pub serving: Vec<String>,
    /// The addresses, sorted.
    pub addresses: Vec<IpAddr>,
    /// How it would come to it, by record type.
    pub why: BTreeMap<&'static str, Vec<String>>,
}

/// Applies a scenario to the state of now.
///
/// A cluster that has nothing to offer now is taken as it is: what its addresses would be is not known here.
///
/// # Errors
/// When the scenario names a cluster that does not serve the zone.
pub fn outlook(facts: &Facts, scenario: &Scenario) -> Result<Outlook, UnknownCluster> {
    let offers = offers(facts);
    let named = scenario.partitions.iter().flat_map(|(a, b)| [a, b]);
    if let Some(tag) = named
        .chain(&scenario.unhealthy)
        .find(|tag| !offers.contains_key(*tag))
    {
        return Err(UnknownCluster {
            tag: tag.clone(),
            zone: facts.zone.clone(),
            known: offers.into_keys().collect(),
        });
    }
    let scenario = Scenario {
        witnessed: facts.rules.options.witness,
        ..scenario.clone()
    };
    let mut clusters: BTreeMap<String, Expected> = BTreeMap::new();
    for family in Family::BOTH {
        let addresses: BTreeMap<String, Vec<IpAddr>> = offers
            .iter()
            .map(|(tag, ips)| (tag.clone(), of_family(ips, family)))
            .collect();
        let exists = addresses.values().any(|ips| !ips.is_empty());
        for (tag, selection) in what_if(&facts.rules.strategy, &addresses, &scenario) {
            let cluster = clusters.entry(tag.clone()).or_insert_with(|| Expected {
                geo_tag: tag,
                serving: Vec::new(),
                addresses: Vec::new(),
                why: BTreeMap::new(),
            });
            cluster.serving.extend(selection.targets.keys().cloned());
            cluster.addresses.extend(sorted(selection.addresses()));
            if exists {
                let why = selection.why.iter().map(Reason::to_string).collect();
                cluster.why.insert(family.record_type(), why);
            }
        }
    }
    for cluster in clusters.values_mut() {
        cluster.serving.sort();
        cluster.serving.dedup();
    }
    let nothing = |(_, ips): &(&String, &Vec<IpAddr>)| ips.is_empty();
    Ok(Outlook {
        host: facts.host.clone(),
        strategy: facts.rules.strategy.as_str().to_owned(),
        without_addresses: offers
            .iter()
            .filter(nothing)
            .map(|(tag, _)| tag.clone())
            .collect(),
        clusters: clusters.into_values().collect(),
    })
}

/// What each cluster of the zone has to offer now.
fn offers(facts: &Facts) -> BTreeMap<String, Vec<IpAddr>> {
    let mut offers = BTreeMap::new();
    for (tag, said) in &facts.peers {
        let ips = said.values().flat_map(|o| match &o.answer {
            Answer::Targets { addresses, .. } => addresses.to_vec(),
            Answer::Silence => Vec::new(),
        });
        offers.insert(tag.clone(), ips.collect());
    }
    let own = match facts.health {
        Health::Healthy => facts.addresses.clone(),
        _ => Vec::new(),
    };
    offers.insert(facts.geo_tag.clone(), own);
    offers
}

impl fmt::Display for Outlook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, strategy {}", self.host, self.strategy)?;
        for tag in &self.without_addresses {
            writeln!(f, "  {tag} has nothing to offer now and is taken as it is")?;
        }
        for cluster in &self.clusters {
            let ips: Vec<String> = cluster.addresses.iter().map(IpAddr::to_string).collect();
            if ips.is_empty() {
                writeln!(f, "  {} would answer nothing", cluster.geo_tag)?;
            } else {
                let serving = cluster.serving.join("+");
                let (tag, ips) = (&cluster.geo_tag, ips.join(", "));
                writeln!(f, "  {tag} would answer with {serving}: {ips}")?;
            }
            for (record_type, why) in &cluster.why {
                writeln!(f, "    {record_type}: {}", why.join("; "))?;
            }
        }
        Ok(())
    }
}
