//! From decisions and DNSEndpoints to entries of the DNS engine.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use flotilla_api::{DnsEndpointSpec, Endpoint};
use flotilla_dns::{
    name::Name,
    record::{Binding, Data, Type},
    zone::{Entry, Order, RECORDS_PER_SET_MAX, RecordSet},
};

use crate::{
    endpoints::{self, HostRecords},
    names,
    select::Strategy,
    sight::Sight,
    spec::Rules,
    view::Family,
};

/// TTL of an endpoint that gives none, in seconds. Source: coredns-crd-plugin, low TTL.
const DEFAULT_TTL_SECONDS: u32 = 60;
/// TTL of what a cluster says it sees, in seconds; clusters ask each other directly, so it only bounds what others keep.
const SIGHT_TTL_SECONDS: u32 = 1;

/// The entry of a host: its targets, in the order its strategy wants. Absent without targets.
pub fn entry_of_host(records: &HostRecords, rules: &Rules) -> Option<Entry> {
    let sets: Vec<RecordSet> = Family::BOTH
        .into_iter()
        .filter_map(|family| {
            let targets = endpoints::targets_of(records, family);
            if targets.is_empty() {
                return None;
            }
            let data: Vec<Data> = targets
                .iter()
                .take(RECORDS_PER_SET_MAX)
                .map(|ip| address(*ip))
                .collect();
            let weights = endpoints::weights_of(records, rules);
            let drawn = !weights.is_empty() || rules.options.answers.is_some();
            Some(match rules.strategy {
                Strategy::GeoIp => nearest(rules.ttl_seconds, data),
                _ if drawn => weighted(records, family, rules, &weights),
                Strategy::RoundRobin => RecordSet::shuffled(rules.ttl_seconds, data),
                Strategy::Failover { .. } => RecordSet::fixed(rules.ttl_seconds, data),
            })
        })
        .collect();
    (!sets.is_empty()).then_some(Entry { sets, why: None })
}

/// The entry of a host's local targets. Absent without addresses.
pub fn entry_of_local(local: &[IpAddr], rules: &Rules) -> Option<Entry> {
    let sets: Vec<RecordSet> = Family::BOTH
        .into_iter()
        .filter_map(|family| {
            let own = local.iter().filter(|ip| Family::of(ip) == family);
            let data: Vec<Data> = own
                .map(|ip| address(*ip))
                .take(RECORDS_PER_SET_MAX)
                .collect();
            (!data.is_empty()).then(|| RecordSet::fixed(rules.ttl_seconds, data))
        })
        .collect();
    (!sets.is_empty()).then_some(Entry { sets, why: None })
}

/// The entry under which a cluster says whom it sees.
pub fn entry_of_sight(sight: &Sight) -> Entry {
    let text = Data::txt(&sight.to_string());
    Entry::of(RecordSet::fixed(SIGHT_TTL_SECONDS, vec![text]))
}

/// Groups of one cluster each; a cluster without a weight counts as zero, which only ever puts it last. Without any
/// weights all are equal.
fn weighted(
    records: &HostRecords,
    family: Family,
    rules: &Rules,
    weights: &BTreeMap<String, u32>,
) -> RecordSet {
    let mut seen = BTreeSet::new();
    let groups = records
        .targets
        .iter()
        .map(|(tag, ips)| {
            let data = ips
                .iter()
                .filter(|ip| Family::of(ip) == family && seen.insert(**ip))
                .map(|ip| address(*ip))
                .collect();
            let equal = u32::from(weights.is_empty());
            (weights.get(tag).copied().unwrap_or(equal), data)
        })
        .collect();
    RecordSet::weighted(rules.ttl_seconds, groups, rules.options.answers)
}

/// Entries of a DNSEndpoint, by name. Several endpoints of one name and different types stand together; an endpoint
/// that cannot be read is left out and the others stay.
pub fn entries_of_endpoint(spec: &DnsEndpointSpec) -> BTreeMap<String, Entry> {
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    for endpoint in &spec.endpoints {
        let Some(name) = name_of(&endpoint.dns_name) else {
            continue;
        };
        let Some(set) = set_of(endpoint) else {
            continue;
        };
        let kind = set.data.first().map(Data::rtype);
        let sets = &mut entries.entry(name).or_default().sets;
        if !sets
            .iter()
            .any(|known| known.data.first().map(Data::rtype) == kind)
        {
            sets.push(set);
        }
    }
    entries
}

/// The canonical spelling of a host, or of a wildcard for all hosts below one.
fn name_of(text: &str) -> Option<String> {
    match text.strip_prefix("*.") {
        Some(parent) => Some(format!("*.{}", names::canonical(parent).ok()?)),
        None => names::canonical(text).ok(),
    }
}

fn set_of(endpoint: &Endpoint) -> Option<RecordSet> {
    let kind: Type = endpoint.record_type.parse().ok()?;
    let mut seen = BTreeSet::new();
    let data: Vec<(String, Data)> = endpoint
        .targets
        .iter()
        .filter(|target| seen.insert(target.as_str()))
        .filter_map(|target| Some((target.clone(), data_of(kind, target)?)))
        .take(RECORDS_PER_SET_MAX)
        .collect();
    if data.is_empty() {
        return None;
    }
    let ttl = endpoint
        .record_ttl
        .and_then(|ttl| u32::try_from(ttl).ok())
        .filter(|ttl| *ttl > 0)
        .unwrap_or(DEFAULT_TTL_SECONDS)
        .min(flotilla_dns::zone::TTL_SECONDS_MAX);
    Some(ordered(endpoint, ttl, data))
}

/// The order the labels ask for: weights, uniform, or as it stands.
fn ordered(endpoint: &Endpoint, ttl: u32, data: Vec<(String, Data)>) -> RecordSet {
    let mut groups: BTreeMap<(String, u32), BTreeSet<&str>> = BTreeMap::new();
    for (label, ip) in &endpoint.labels {
        if let Some((tag, weight)) = endpoints::parse_weight_label(label) {
            groups
                .entry((tag.to_owned(), weight))
                .or_default()
                .insert(ip);
        }
    }
    let all =
        |data: Vec<(String, Data)>| data.into_iter().map(|(_, data)| data).collect::<Vec<_>>();
    if groups.is_empty() {
        return match endpoint.labels.get("strategy").map(String::as_str) {
            Some("roundRobin") => RecordSet::shuffled(ttl, all(data)),
            Some("geoip") => nearest(ttl, all(data)),
            _ => RecordSet::fixed(ttl, all(data)),
        };
    }
    let mut rest = data;
    let mut shares: Vec<(u32, Vec<Data>)> = Vec::new();
    for ((_, weight), ips) in groups {
        let (own, others): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|(text, _)| ips.contains(text.as_str()));
        rest = others;
        shares.push((weight, all(own)));
    }
    shares.push((0, all(rest)));
    RecordSet::weighted(ttl, shares, None)
}

/// A set of which clients get what is near them, or everything when the DNS server knows no places.
fn nearest(ttl_seconds: u32, data: Vec<Data>) -> RecordSet {
    RecordSet {
        ttl_seconds,
        data,
        order: Order::Nearest,
    }
}

fn address(ip: IpAddr) -> Data {
    match ip {
        IpAddr::V4(ip) => Data::A(ip),
        IpAddr::V6(ip) => Data::Aaaa(ip),
    }
}

fn data_of(kind: Type, target: &str) -> Option<Data> {
    match kind {
        Type::A => target.parse().ok().map(Data::A),
        Type::AAAA => target.parse().ok().map(Data::Aaaa),
        Type::TXT => Some(Data::txt(target)),
        Type::CNAME => Name::parse(target).ok().map(Data::Cname),
        Type::NS => Name::parse(target).ok().map(Data::Ns),
        Type::MX | Type::SRV => numbered(kind, target),
        Type::SVCB => Binding::parse(target).ok().map(Data::Svcb),
        Type::HTTPS => Binding::parse(target).ok().map(Data::Https),
        _ => None,
    }
}

/// MX and SRV as external-dns writes them: `10 mail.example.com`, `0 50 443 app.example.com`.
fn numbered(kind: Type, target: &str) -> Option<Data> {
    let words: Vec<&str> = target.split_whitespace().collect();
    let (host, numbers) = words.split_last()?;
    let host = Name::parse(host).ok()?;
    let numbers: Option<Vec<u16>> = numbers.iter().map(|word| word.parse().ok()).collect();
    match (kind, &numbers?[..]) {
        (Type::MX, [preference]) => Some(Data::Mx {
            preference: *preference,
            exchange: host,
        }),
        (Type::SRV, [priority, weight, port]) => Some(Data::Srv {
            priority: *priority,
            weight: *weight,
            port: *port,
            target: host,
        }),
        _ => None,
    }
}
