use proptest::prelude::*;

use super::*;
use crate::answer::tests::catalog;
use crate::catalog::{Change, Publish, Zones};

/// One of everything.
fn world() -> Catalog {
    let catalog = catalog(
        "zone cloud.example.com 30 gslb-ns-eu-cloud.example.com fd00::1 ns.cloud.example.com 10.0.0.2
         @ 5 TXT apex
         app 5 A~ 10.0.0.3
         app 5 A~ 10.0.0.4
         app 6 AAAA fd00::2
         text 5 TXT hello
         srv 5 SRV 1 2 3 app.cloud.example.com
         down !
         *.wild 5 CNAME app.cloud.example.com
         sub 5 NS ns.sub.cloud.example.com
         zone example.org 60
         www 5 A 10.0.0.9",
    );
    let a = |last: u8| Data::A([10, 1, 0, last].into());
    let groups = vec![(3, vec![a(1), a(2)]), (0, vec![a(3)])];
    let set = |order: RecordSet, host: &str| Change::Set {
        zone: Name::parse("example.org").unwrap(),
        name: Name::parse(host).unwrap(),
        entry: Entry::of(order).into(),
    };
    let (catalog, errors) = catalog.with(vec![
        set(
            RecordSet::weighted(7, groups, NonZeroU16::new(2)),
            "w.example.org",
        ),
        set(RecordSet::nearest(7, vec![a(4)]), "near.example.org"),
    ]);
    assert_eq!(errors, []);
    catalog
}

/// Everything a zone says, sorted.
fn content(zone: &Zone) -> (Settings, Vec<(Name, Entry)>) {
    let mut entries = zone.entries().collect::<Vec<_>>();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    (zone.settings().clone(), entries)
}

#[test]
fn what_was_written_is_read_back() {
    let catalog = world();
    let file = encode(&catalog, 1_700_000_000).unwrap();
    let zones = decode(&file).unwrap();
    let read = zones.iter().map(content).collect::<Vec<_>>();
    let written = catalog.zones().into_iter().map(content).collect::<Vec<_>>();
    assert_eq!(read, written);
    let ages = zones.iter().map(Zone::remembered_from);
    assert!(ages.eq([Some(1_700_000_000), Some(1_700_000_000)]));
}

#[test]
fn remembered_zones_do_not_become_younger() {
    let zones = decode(&encode(&world(), 5).unwrap()).unwrap();
    let again = encode(&Catalog::default().with_zones(zones), 99).unwrap();
    let zones = decode(&again).unwrap();
    assert!(zones.iter().all(|zone| zone.remembered_from() == Some(5)));
}

#[test]
fn files_that_are_not_ours_or_not_whole_say_why() {
    let good = encode(&world(), 5).unwrap();
    let cut = &good[..good.len() - 1];
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let mut newer = good.clone();
    newer[MAGIC.len() + 1] = 9;
    let longer = [&good[..], b"x"].concat();
    for (file, expected) in [
        (&b""[..], "not a snapshot of DNS zones"),
        (b"PNG", "not a snapshot of DNS zones"),
        (
            MAGIC,
            "damaged: length or checksum differ from what was written",
        ),
        (
            cut,
            "damaged: length or checksum differ from what was written",
        ),
        (
            &flipped,
            "damaged: length or checksum differ from what was written",
        ),
        (
            &longer,
            "damaged: length or checksum differ from what was written",
        ),
        (&newer, "layout 9 is not known; this version reads 1"),
    ] {
        assert_eq!(decode(file).unwrap_err().to_string(), expected);
    }
}

proptest! {
    /// Whoever can make a checksum still cannot make us panic or hold more than the file.
    #[test]
    fn damage_below_a_right_checksum_is_refused_or_read(at in 0usize..600, octet: u8, cut in 0usize..600) {
        let good = encode(&world(), 5).unwrap();
        let mut payload = good[MAGIC.len() + 2 + 8 + SHA256_OUTPUT_LEN..].to_vec();
        let at = at % payload.len();
        payload[at] = octet;
        let _ = decode(&seal(&payload));
        payload.truncate(cut);
        let _ = decode(&seal(&payload));
    }
}

#[test]
fn remembered_zones_are_replaced_whole_and_vanish_when_nobody_names_them() {
    let zones = Zones::new();
    zones.rewrite(|now| now.with_zones(decode(&encode(&world(), 5).unwrap()).unwrap()));
    let name = |text: &str| Name::parse(text).unwrap();
    let app = name("app.cloud.example.com");
    let cloud = name("cloud.example.com");
    let has = |host: &Name| {
        let zone = zones.snapshot();
        zone.zone(&cloud)
            .is_some_and(|zone| zone.entry(host).is_some())
    };
    assert!(has(&app));
    let settings = Settings::k8gb(cloud.clone(), 1, 30, vec![]).unwrap();
    let new = Change::Set {
        zone: cloud.clone(),
        name: name("new.cloud.example.com"),
        entry: Entry::of(RecordSet::fixed(5, vec![Data::txt("x")])).into(),
    };
    assert_eq!(zones.publish(vec![Change::Zone(settings.clone()), new]), []);
    assert!(!has(&app) && has(&name("new.cloud.example.com")));
    // From now on it is a zone like any other: new settings keep its records.
    assert_eq!(zones.publish(vec![Change::Zone(settings)]), []);
    assert!(has(&name("new.cloud.example.com")));
    assert!(zones.snapshot().zone(&name("example.org")).is_some());
    zones.publish(vec![Change::RetainZones([cloud.clone()].into())]);
    assert!(zones.snapshot().zone(&name("example.org")).is_none());
    assert!(has(&name("new.cloud.example.com")));
}
