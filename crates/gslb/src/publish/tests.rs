use std::collections::BTreeMap;

use flotilla_api::DnsEndpointSpec;
use flotilla_dns::{
    catalog::Change,
    name::Name,
    zone::{Entry, Order, Settings},
};
use serde_json::json;

use super::{Book, Source, entries_of_endpoint};
use crate::{key::Key, world::GslbId};

fn entries(endpoints: serde_json::Value) -> BTreeMap<String, Entry> {
    let spec: DnsEndpointSpec = serde_json::from_value(json!({ "endpoints": endpoints })).unwrap();
    entries_of_endpoint(&spec)
}

fn a(name: &str, ip: &str) -> BTreeMap<String, Entry> {
    entries(json!([{"dnsName": name, "recordType": "A", "targets": [ip]}]))
}

fn set(book: &mut Book, source: &Source, wanted: BTreeMap<String, Entry>) -> Vec<Change> {
    let wanted = wanted
        .into_iter()
        .map(|(name, entry)| (Name::parse(&name).unwrap(), entry.into()));
    book.set(source, wanted.collect())
}

fn zones(apexes: &[&str]) -> BTreeMap<String, Settings> {
    let settings = |apex: &&str| Settings::k8gb(Name::parse(apex).unwrap(), 1, 30, vec![]).unwrap();
    apexes
        .iter()
        .map(|apex| ((*apex).to_owned(), settings(apex)))
        .collect()
}

fn endpoint(name: &str) -> Source {
    Source::Endpoint(Key::new("test", name))
}

fn lines(changes: &[Change]) -> Vec<String> {
    changes
        .iter()
        .map(|change| match change {
            Change::Zone(settings) => format!("zone {}", settings.apex),
            Change::RemoveZone(apex) => format!("drop {apex}"),
            Change::Set { zone, name, entry } => {
                format!("{name} in {zone} = {}", entry.sets[0].data[0])
            }
            Change::Remove { name, .. } => format!("remove {name}"),
            Change::RetainZones(apexes) => format!("retain {apexes:?}"),
        })
        .collect()
}

#[test]
fn only_differences_are_published_and_our_own_decision_wins() {
    let mut book = Book::default();
    book.set_zones(zones(&["cloud.example.com"]));
    let host = "app.cloud.example.com";
    let decision = Source::Decision(GslbId {
        legacy: false,
        key: Key::new("test", "app"),
    });

    let changes = set(&mut book, &endpoint("b"), a(host, "10.0.0.9"));
    assert_eq!(
        lines(&changes),
        ["app.cloud.example.com in cloud.example.com = 10.0.0.9"]
    );
    assert!(set(&mut book, &endpoint("b"), a(host, "10.0.0.9")).is_empty());
    let changes = set(&mut book, &decision, a(host, "10.0.0.1"));
    assert_eq!(
        lines(&changes),
        ["app.cloud.example.com in cloud.example.com = 10.0.0.1"]
    );
    let changes = set(&mut book, &endpoint("a"), a(host, "10.0.0.8"));
    assert!(
        lines(&changes)
            .iter()
            .all(|line| line.ends_with("10.0.0.1"))
    );
    let changes = set(&mut book, &decision, BTreeMap::new());
    assert_eq!(
        lines(&changes),
        ["app.cloud.example.com in cloud.example.com = 10.0.0.8"]
    );
    set(&mut book, &endpoint("a"), BTreeMap::new());
    let changes = set(&mut book, &endpoint("b"), BTreeMap::new());
    assert_eq!(lines(&changes), ["remove app.cloud.example.com"]);
    assert!(
        set(
            &mut book,
            &endpoint("c"),
            a("app.elsewhere.org", "10.0.0.1")
        )
        .is_empty()
    );
}

#[test]
fn records_follow_their_zone_when_zones_come_and_go() {
    let mut book = Book::default();
    set(
        &mut book,
        &endpoint("a"),
        a("app.deep.cloud.example.com", "10.0.0.1"),
    );
    let name = "app.deep.cloud.example.com";
    let changes = book.set_zones(zones(&["cloud.example.com"]));
    assert_eq!(
        lines(&changes)[1],
        format!("{name} in cloud.example.com = 10.0.0.1")
    );
    let changes = book.set_zones(zones(&["cloud.example.com", "deep.cloud.example.com"]));
    assert_eq!(
        lines(&changes)[1],
        format!("{name} in deep.cloud.example.com = 10.0.0.1")
    );
    let changes = book.set_zones(zones(&["cloud.example.com"]));
    assert_eq!(lines(&changes)[0], "drop deep.cloud.example.com");
    assert_eq!(
        lines(&changes)[1],
        format!("{name} in cloud.example.com = 10.0.0.1")
    );
}

#[test]
fn a_zone_that_comes_or_goes_leaves_the_records_of_others_alone() {
    let mut book = Book::default();
    book.set_zones(zones(&["cloud.example.com"]));
    set(
        &mut book,
        &endpoint("a"),
        a("app.cloud.example.com", "10.0.0.1"),
    );
    let changes = book.set_zones(zones(&["cloud.example.com", "other.example.com"]));
    assert_eq!(lines(&changes), ["zone other.example.com"]);
    let changes = book.set_zones(zones(&["cloud.example.com"]));
    assert_eq!(lines(&changes), ["drop other.example.com"]);
}

/// Source: coredns-crd-plugin `example/dnsendpoint_wrr.yaml`, re-expressed; defects D7 and D8 of its label parsing.
#[test]
fn labels_decide_the_order() {
    let order = |labels: serde_json::Value| {
        let entries = entries(json!([{"dnsName": "a.cloud.example.com", "recordType": "A",
            "targets": ["10.0.0.1", "10.1.0.1", "10.1.0.1"], "labels": labels}]));
        entries["a.cloud.example.com"].sets[0].order.clone()
    };
    let weights = |order| match order {
        Order::Weighted { groups, .. } => groups
            .iter()
            .map(|g| (g.weight, g.n_records))
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(order(json!({})), Order::Fixed);
    assert_eq!(order(json!({"strategy": "failover"})), Order::Fixed);
    assert_eq!(order(json!({"strategy": "roundRobin"})), Order::Shuffle);
    assert_eq!(order(json!({"strategy": "geoip"})), Order::Nearest);
    let dashed = json!({"strategy": "roundRobin", "weight-us-east-1-0-3": "10.0.0.1",
        "weight-us-east-2-0-7": "10.1.0.1"});
    assert_eq!(weights(order(dashed)), [(3, 1), (7, 1)]);
    let colliding = json!({"strategy": "roundRobin", "weight-eu-0-10": "10.0.0.1", "weight-eu1-0-0": "10.1.0.1"});
    assert_eq!(weights(order(colliding)), [(10, 1), (0, 1)]);
}

#[test]
fn wildcards_and_records_with_numbers_are_understood() {
    let entries = entries(json!([
        {"dnsName": "*.Wild.cloud.example.com", "recordType": "A", "targets": ["10.0.0.1"]},
        {"dnsName": "a.cloud.example.com", "recordType": "MX", "targets": ["10 mail.example.com"]},
        {"dnsName": "a.cloud.example.com", "recordType": "SRV", "targets": ["0 50 443 x.cloud.example.com"]},
        {"dnsName": "b.cloud.example.com", "recordType": "HTTPS", "targets": ["1 . alpn=h2,h3", "0"]},
    ]));
    let shown = entries.iter().flat_map(|(name, entry)| {
        let data = entry.sets.iter().flat_map(|set| &set.data);
        data.map(move |data| format!("{name} {} {data}", data.rtype()))
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            "*.wild.cloud.example.com A 10.0.0.1",
            "a.cloud.example.com MX 10 mail.example.com",
            "a.cloud.example.com SRV 0 50 443 x.cloud.example.com",
            "b.cloud.example.com HTTPS 1 . key1=\"\\x02h2\\x02h3\"",
        ]
    );
}

#[test]
fn broken_endpoints_leave_the_others() {
    let entries = entries(json!([
        {"dnsName": "..", "recordType": "A", "targets": ["10.0.0.1"]},
        {"dnsName": "a.cloud.example.com", "recordType": "A", "targets": ["nonsense"]},
        {"dnsName": "b.cloud.example.com", "recordType": "A", "targets": []},
        {"dnsName": "C.cloud.example.com", "recordType": "A", "targets": ["10.0.0.1", "x"], "recordTTL": 5},
        {"dnsName": "c.cloud.example.com", "recordType": "TXT", "targets": ["hello"]},
        {"dnsName": "d.cloud.example.com", "recordType": "LOC", "targets": ["x"]},
        {"dnsName": "*.*.cloud.example.com", "recordType": "A", "targets": ["10.0.0.1"]},
        {"dnsName": "e.cloud.example.com", "recordType": "SRV", "targets": ["1 2 x.cloud.example.com", "70000 1 1 x"]},
    ]));
    assert_eq!(entries.keys().collect::<Vec<_>>(), ["c.cloud.example.com"]);
    let sets = &entries["c.cloud.example.com"].sets;
    assert_eq!(
        (sets.len(), sets[0].ttl_seconds, sets[1].ttl_seconds),
        (2, 5, 60)
    );
}
