use super::*;
use crate::record::Data;
use crate::zone::RecordSet;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn zone(apex: &str) -> Change {
    Change::Zone(Settings::k8gb(name(apex), 0, 30, vec![]).unwrap())
}

fn set(zone: &str, host: &str, last: u8) -> Change {
    let data = vec![Data::A([127, 1, 1, last].into())];
    Change::Set {
        zone: name(zone),
        name: name(host),
        entry: Entry::of(RecordSet::fixed(5, data)).into(),
    }
}

fn found(catalog: &Catalog, host: &str) -> Option<String> {
    let host = name(host);
    catalog.find(host.wire()).map(|(zone, octets)| {
        assert_eq!(&host.wire()[octets..], zone.apex().wire());
        zone.apex().to_string()
    })
}

#[test]
fn the_longest_zone_wins() {
    let zones = ["example.com", "a.b.example.com", "org"].map(zone);
    let (catalog, errors) = Catalog::default().with(zones.to_vec());
    assert_eq!(errors, []);
    for (host, apex) in [
        ("x.a.b.example.com", Some("a.b.example.com")),
        ("a.b.example.com", Some("a.b.example.com")),
        ("b.example.com", Some("example.com")),
        ("x.org", Some("org")),
        ("net", None),
        (".", None),
    ] {
        assert_eq!(found(&catalog, host).as_deref(), apex, "{host}");
    }
}

#[test]
fn the_root_can_be_a_zone() {
    let (catalog, _) = Catalog::default().with(vec![zone(".")]);
    assert_eq!(found(&catalog, "any.thing").as_deref(), Some("."));
}

#[test]
fn changes_are_published_together_and_old_pictures_stay() {
    let zones = Zones::new();
    let errors = zones.publish(vec![
        zone("example.com"),
        set("example.com", "a.example.com", 1),
        set("elsewhere.org", "a.elsewhere.org", 1),
        set("example.com", "b.example.com", 2),
    ]);
    assert_eq!(
        errors,
        [Error::UnknownZone {
            zone: name("elsewhere.org")
        }]
    );
    let before = zones.snapshot();
    let errors = zones.publish(vec![
        Change::Remove {
            zone: name("example.com"),
            name: name("a.example.com"),
        },
        Change::RemoveZone(name("missing.org")),
    ]);
    assert_eq!(
        errors,
        [Error::UnknownZone {
            zone: name("missing.org")
        }]
    );
    let entry = |catalog: &Catalog, host: &str| {
        catalog
            .zone(&name("example.com"))
            .unwrap()
            .entry(&name(host))
            .is_some()
    };
    let after = zones.snapshot();
    assert!(entry(&before, "a.example.com") && entry(&before, "b.example.com"));
    assert!(!entry(&after, "a.example.com") && entry(&after, "b.example.com"));
    zones.publish(vec![Change::RemoveZone(name("example.com"))]);
    assert!(zones.snapshot().zones().is_empty());
    assert_eq!(found(&zones.snapshot(), "a.example.com"), None);
}
