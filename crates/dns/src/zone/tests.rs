use std::error::Error as _;
use std::num::NonZeroU16;

use super::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn zone() -> Zone {
    let server = NameServer {
        name: name("ns1.cloud.example.com"),
        addresses: vec!["127.1.1.1".parse().unwrap(), "fd00::1".parse().unwrap()],
    };
    Zone::new(Settings::k8gb(name("cloud.example.com"), 3600, 30, vec![server]).unwrap()).unwrap()
}

fn a(last: u8) -> Data {
    Data::A([127, 1, 1, last].into())
}

/// Applies one change and renders what the zone says about it.
fn change(host: &str, entry: Option<Entry>) -> String {
    let (_, errors) = zone().with([(name(host), entry)]);
    let Some(error) = errors.first() else {
        return "fine".to_owned();
    };
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[test]
fn entries_that_cannot_be_served_say_why() {
    let host = "app.cloud.example.com";
    let sets = |sets: Vec<RecordSet>| Some(Entry { sets, why: None });
    let fixed = |data: Vec<Data>| RecordSet::fixed(5, data);
    let cname = Data::Cname(name("b.example.com"));
    let groups = vec![Group {
        weight: 1,
        n_records: 2,
    }];
    let weighted = Order::Weighted { groups, take: None };
    let refused = |text: &str| format!("records of {host} are refused: {text}");
    for (entry, expected) in [
        (sets(vec![]), "fine".to_owned()),
        (sets(vec![fixed(vec![a(1), a(2)])]), "fine".to_owned()),
        (
            sets(vec![fixed(vec![])]),
            refused("a record set has no records"),
        ),
        (
            sets(vec![fixed(vec![a(1), a(1)])]),
            refused("A record 127.1.1.1 is given twice"),
        ),
        (
            sets(vec![fixed(vec![a(1), cname.clone()])]),
            refused("a record set mixes A and CNAME"),
        ),
        (
            sets(vec![fixed(vec![a(1)]), fixed(vec![a(2)])]),
            refused("two record sets of type A"),
        ),
        (
            sets(vec![fixed(vec![a(1)]), fixed(vec![cname])]),
            refused("a CNAME must be the only record of its name"),
        ),
        (
            sets(vec![RecordSet::fixed(1 << 31, vec![a(1)])]),
            refused("A TTL of 2147483648 s; the limit is 2147483647 s"),
        ),
        (
            sets(vec![RecordSet {
                ttl_seconds: 5,
                data: vec![a(1)],
                order: weighted,
            }]),
            refused("1 weight groups with 2 A records do not cover the set"),
        ),
        (
            sets(vec![fixed(vec![Data::Other {
                rtype: Type::OPT,
                rdata: vec![],
            }])]),
            refused("OPT cannot be stored"),
        ),
        (
            sets(vec![fixed(vec![Data::Txt(vec![vec![0; 256]])])]),
            refused("record data cannot be encoded"),
        ),
    ] {
        assert_eq!(change(host, entry), expected);
    }
}

#[test]
fn names_that_are_not_the_publishers_say_why() {
    let entry = || Some(Entry::of(RecordSet::fixed(5, vec![a(1)])));
    let ns = Some(Entry::of(RecordSet::fixed(
        5,
        vec![Data::Ns(name("x.org"))],
    )));
    for (host, entry, expected) in [
        (
            "app.example.com",
            entry(),
            "app.example.com is not in zone cloud.example.com",
        ),
        (
            "app.mycloud.example.com",
            entry(),
            "app.mycloud.example.com is not in zone cloud.example.com",
        ),
        (
            "ns1.cloud.example.com",
            entry(),
            "ns1.cloud.example.com is a name server of zone cloud.example.com; its records come from the zone's settings",
        ),
        (
            "cloud.example.com",
            ns,
            "records of cloud.example.com are refused: NS at the apex comes from the zone's settings",
        ),
        ("cloud.example.com", entry(), "fine"),
        ("cloud.example.com", None, "fine"),
        ("nothing.cloud.example.com", None, "fine"),
    ] {
        assert_eq!(change(host, entry), expected);
    }
}

#[test]
fn a_refused_change_does_not_hinder_the_others() {
    let good = Entry::of(RecordSet::fixed(5, vec![a(1)]));
    let bad = Entry::of(RecordSet::fixed(5, vec![]));
    let (zone, errors) = zone().with([
        (name("a.cloud.example.com"), Some(good.clone())),
        (name("a.cloud.example.com"), Some(bad.clone())),
        (name("b.cloud.example.com"), Some(bad)),
        (name("c.cloud.example.com"), Some(good.clone())),
    ]);
    assert_eq!(errors.len(), 2);
    assert_eq!(zone.entry(&name("a.cloud.example.com")), Some(good.clone()));
    assert_eq!(zone.entry(&name("b.cloud.example.com")), None);
    assert_eq!(zone.entry(&name("c.cloud.example.com")), Some(good));
}

#[test]
fn what_was_set_can_be_read_back() {
    let take = NonZeroU16::new(1);
    let sets = vec![
        RecordSet::weighted(
            7,
            vec![(3, vec![a(1), a(2)]), (0, vec![a(3)]), (9, vec![])],
            take,
        ),
        RecordSet::shuffled(8, vec![Data::txt("one"), Data::txt("three")]),
    ];
    let why = Some(Why::new(Why::OTHER, "eu: no ready endpoints"));
    let entry = Entry { sets, why };
    let (zone, errors) = zone().with([(name("app.cloud.example.com"), Some(entry.clone()))]);
    assert_eq!(errors, []);
    let mut entries = zone.entries().collect::<Vec<_>>();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let names = entries
        .iter()
        .map(|(name, _)| name.to_string())
        .collect::<Vec<_>>();
    assert_eq!(
        names,
        [
            "cloud.example.com",
            "app.cloud.example.com",
            "ns1.cloud.example.com"
        ]
    );
    assert_eq!(entries[1].1, entry);
}

#[test]
fn new_settings_keep_records_and_replace_servers() {
    let entry = Entry::of(RecordSet::fixed(5, vec![a(1)]));
    let (zone, _) = zone().with([(name("app.cloud.example.com"), Some(entry.clone()))]);
    let server = NameServer {
        name: name("ns2.cloud.example.com"),
        addresses: vec!["127.1.1.2".parse().unwrap()],
    };
    let settings = Settings::k8gb(name("cloud.example.com"), 7200, 60, vec![server]).unwrap();
    let zone = zone.reconfigured(settings.clone()).unwrap();
    assert_eq!(zone.settings(), &settings);
    assert_eq!(zone.entry(&name("app.cloud.example.com")), Some(entry));
    assert_eq!(zone.entry(&name("ns1.cloud.example.com")), None);
    assert!(zone.entry(&name("ns2.cloud.example.com")).is_some());
    let other = Settings::k8gb(name("example.com"), 1, 1, vec![]).unwrap();
    assert!(matches!(
        zone.reconfigured(other),
        Err(Error::OutOfZone { .. })
    ));
}

#[test]
fn serials_are_truncated_to_the_hour() {
    assert_eq!(hourly_serial(1_700_003_599), 1_700_002_800);
    assert_eq!(hourly_serial(1_700_002_800), 1_700_002_800);
}

#[test]
fn a_zone_needs_a_name_server() {
    let mut settings = Settings::k8gb(name("example.com"), 1, 1, vec![]).unwrap();
    settings.nameservers.clear();
    let error = Zone::new(settings).unwrap_err();
    assert_eq!(error.to_string(), "zone example.com has no name server");
}
