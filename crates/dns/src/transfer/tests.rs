use std::collections::BTreeSet;

use super::*;
use crate::answer::tests::catalog;
use crate::catalog::Change;
use crate::message::{Question, encode_query};
use crate::secondary::Incoming;
use crate::tsig::Algorithm;
use crate::zone::{Entry, NameServer, RecordSet, Settings};

const NOW: u64 = 1_700_000_000;

fn key() -> Key {
    Key::new(
        Name::parse("fleet.key").unwrap(),
        Algorithm::HmacSha256,
        b"secret",
    )
}

fn request(apex: &str, rtype: Type) -> Vec<u8> {
    encode_query(
        7,
        0,
        &Question {
            name: Name::parse(apex).unwrap(),
            rtype,
        },
        None,
    )
}

/// All records of a transfer as text, signatures checked.
fn fetch(catalog: &Catalog, apex: &str, rtype: Type) -> Vec<String> {
    let mut request = request(apex, rtype);
    let mut chain = key().sign_request(&mut request, NOW);
    let Some(Granted::Transfer(transfer)) =
        grant(catalog, &[key().into()], &request, Transport::Tcp, NOW)
    else {
        panic!("not granted");
    };
    let mut records = Vec::new();
    for bytes in transfer {
        assert!(bytes.len() < 65_535);
        chain.verify(&bytes, NOW).unwrap();
        let message = Message::parse(&bytes).unwrap();
        assert_eq!((message.id, message.rcode), (7, Rcode::NOERROR));
        records.extend(message.answers.iter().map(ToString::to_string));
    }
    records
}

#[test]
fn a_zone_is_given_between_two_soa_records() {
    let catalog = catalog(
        "zone cloud.example.com 30 ns.cloud.example.com 127.1.1.1
         app 5 A 127.1.1.10
         app 5 TXT hello
         a.b 5 CNAME app.cloud.example.com
         sub 5 NS ns.sub.cloud.example.com
         ns.sub 5 A 127.1.1.12
         zone other.example.com 30
         x 5 A 127.1.1.13",
    );
    for rtype in [Type::AXFR, Type::IXFR] {
        let records = fetch(&catalog, "cloud.example.com", rtype);
        assert_eq!(records.first(), records.last());
        assert!(records[0].starts_with("cloud.example.com 30 SOA ns.cloud.example.com"));
        let middle = records[1..records.len() - 1].iter().map(String::as_str);
        let expected = [
            "cloud.example.com 30 NS ns.cloud.example.com",
            "ns.cloud.example.com 30 A 127.1.1.1",
            "app.cloud.example.com 5 A 127.1.1.10",
            "app.cloud.example.com 5 TXT \"hello\"",
            "a.b.cloud.example.com 5 CNAME app.cloud.example.com",
            "sub.cloud.example.com 5 NS ns.sub.cloud.example.com",
            "ns.sub.cloud.example.com 5 A 127.1.1.12",
        ];
        assert_eq!(middle.collect::<BTreeSet<_>>(), BTreeSet::from(expected));
    }
}

#[test]
fn a_large_zone_comes_in_many_messages() {
    let mut text = "zone cloud.example.com 30\n".to_owned();
    for number in 0..5_000 {
        text += &format!(
            "host-{number} 5 A 127.1.{}.{}\n",
            number / 256,
            number % 256
        );
    }
    let records = fetch(&catalog(&text), "cloud.example.com", Type::AXFR);
    assert_eq!(records.len(), 5_000 + 3);
    assert_eq!(records.iter().collect::<BTreeSet<_>>().len(), 5_000 + 2);
}

#[test]
fn nobody_else_gets_it() {
    let catalog = catalog("zone cloud.example.com 30");
    let plain = request("cloud.example.com", Type::AXFR);
    assert!(grant(&catalog, &[key().into()], &plain, Transport::Tcp, NOW).is_none());
    let sign = |apex: &str, rtype, key: &Key| {
        let mut request = request(apex, rtype);
        key.sign_request(&mut request, NOW);
        request
    };
    let stranger = Key::new(
        Name::parse("stranger").unwrap(),
        Algorithm::HmacSha256,
        b"secret",
    );
    let liar = Key::new(
        Name::parse("fleet.key").unwrap(),
        Algorithm::HmacSha256,
        b"wrong",
    );
    for (key, now) in [(stranger, NOW), (liar, NOW), (key(), NOW + 1000)] {
        let request = sign("cloud.example.com", Type::AXFR, &key);
        let granted = grant(
            &catalog,
            &[self::key().into()],
            &request,
            Transport::Tcp,
            now,
        );
        let Some(Granted::One(reply)) = granted else {
            panic!("granted");
        };
        let message = Message::parse(&reply);
        // The TSIG record has class ANY and is skipped by the reader of ordinary records.
        assert_eq!(message.unwrap().rcode, Rcode::NOTAUTH);
    }
    for (apex, rtype) in [
        ("x.cloud.example.com", Type::AXFR),
        ("cloud.example.com", Type::A),
    ] {
        assert!(
            grant(
                &catalog,
                &[key().into()],
                &sign(apex, rtype, &key()),
                Transport::Tcp,
                NOW
            )
            .is_none()
        );
    }
}

/// Hosts of the zone below as a change.
fn host(name: &str, last: Option<u8>) -> Change {
    let zone = Name::parse("cloud.example.com").unwrap();
    let name = Name::parse(&format!("{name}.cloud.example.com")).unwrap();
    match last {
        None => Change::Remove { zone, name },
        Some(last) => {
            let data = vec![
                Data::A([10, 0, 0, last].into()),
                Data::A([10, 0, 1, last].into()),
            ];
            let entry = Entry::of(RecordSet::shuffled(5, data)).into();
            Change::Set { zone, name, entry }
        }
    }
}

/// The serial of the fixture's zones; the tests below count from it.
const BASE: u32 = 3600;

/// What a client that has `serial` is told, without the SOA records' other fields.
fn told(catalog: &Catalog, serial: u32) -> Vec<String> {
    told_to(&key().into(), catalog, serial)
}

fn told_to(client: &Grantee, catalog: &Catalog, serial: u32) -> Vec<String> {
    let serial = serial.wrapping_add(BASE);
    let zone = Name::parse("cloud.example.com").unwrap();
    let (request, _) = Incoming::ask(7, &zone, Some(serial), &key(), |_| true, NOW);
    let clients = std::slice::from_ref(client);
    let granted = grant(catalog, clients, &request, Transport::Tcp, NOW);
    let Some(Granted::Transfer(transfer)) = granted else {
        panic!("not granted");
    };
    let messages = transfer.map(|bytes| Message::parse(&bytes).unwrap());
    let records = messages.flat_map(|message| message.answers);
    let told = records.map(|record| match &record.data {
        Data::Soa(soa) => format!("SOA {}", soa.serial.wrapping_sub(BASE)),
        data => format!("{} {data}", record.name).replace(".cloud.example.com", ""),
    });
    told.collect()
}

#[test]
fn a_client_is_told_what_changed_since_its_version() {
    let mut catalog = catalog("zone cloud.example.com 30");
    assert_eq!(told(&catalog, 0), ["SOA 0"]);
    for changes in [
        vec![host("a", Some(1)), host("b", Some(2))],
        vec![host("a", Some(3)), host("c.d", Some(4))],
        // The same again is no change, and neither is another order.
        vec![host("a", Some(3))],
        vec![host("b", None)],
        vec![host("c.d", Some(5))],
    ] {
        catalog = catalog.with(changes).0;
    }
    let cases = [
        (4, "SOA 4"),
        (9, "SOA 4"),
        (
            3,
            "SOA 4|SOA 3|c.d 10.0.0.4|c.d 10.0.1.4|SOA 4|c.d 10.0.0.5|c.d 10.0.1.5|SOA 4",
        ),
        (
            2,
            "SOA 4|SOA 2|b 10.0.0.2|b 10.0.1.2|c.d 10.0.0.4|c.d 10.0.1.4|SOA 4|c.d 10.0.0.5|c.d 10.0.1.5|SOA 4",
        ),
        (
            1,
            "SOA 4|SOA 1|a 10.0.0.1|a 10.0.1.1|b 10.0.0.2|b 10.0.1.2|SOA 4|a 10.0.0.3|a 10.0.1.3|\
             c.d 10.0.0.5|c.d 10.0.1.5|SOA 4",
        ),
        (
            u32::MAX,
            "SOA 4|cloud.example.com ns1.dns|a 10.0.0.3|a 10.0.1.3|c.d 10.0.0.5|c.d 10.0.1.5|SOA 4",
        ),
    ];
    for (serial, expected) in cases {
        let mut told = told(&catalog, serial);
        if serial == u32::MAX {
            // Pages give names in the order of their hashes.
            told[2..6].sort();
        }
        assert_eq!(told.join("|"), expected, "since {serial}");
    }
}

#[test]
fn a_key_for_some_names_gives_a_zone_of_these_names() {
    let client = Grantee {
        key: key(),
        pick: Some(|name| name.starts_with(b"\x01a")),
    };
    let mut catalog = catalog("zone cloud.example.com 30");
    for changes in [
        vec![host("a", Some(1)), host("b", Some(2))],
        vec![host("b", Some(3))],
        vec![host("a", Some(4)), host("c", Some(5))],
    ] {
        catalog = catalog.with(changes).0;
    }
    let whole = "SOA 3|cloud.example.com ns1.dns|a 10.0.0.4|a 10.0.1.4|SOA 3";
    for (serial, expected) in [
        (3, "SOA 3"),
        (
            1,
            "SOA 3|SOA 1|a 10.0.0.1|a 10.0.1.1|SOA 3|a 10.0.0.4|a 10.0.1.4|SOA 3",
        ),
        (u32::MAX, whole),
    ] {
        assert_eq!(told_to(&client, &catalog, serial).join("|"), expected);
    }
    // Nothing of theirs changed, but the serial did.
    let catalog = catalog.with(vec![host("c", None)]).0;
    let told = told_to(&client, &catalog, 3);
    assert_eq!(told.join("|"), "SOA 4|SOA 3|SOA 4|SOA 4");
}

#[test]
fn other_settings_are_a_change_too() {
    let apex = Name::parse("cloud.example.com").unwrap();
    let settings = |serial, server: &str, last| {
        let server = NameServer {
            name: Name::parse(server).unwrap(),
            addresses: vec![[127, 0, 0, last].into()],
        };
        Change::Zone(Settings::k8gb(apex.clone(), BASE + serial, 30, vec![server]).unwrap())
    };
    let (mut catalog, _) = Catalog::default().with(vec![
        settings(10, "ns1.cloud.example.com", 1),
        host("a", Some(1)),
        host("b", Some(1)),
    ]);
    // An older serial is no wish, a later one is.
    for change in [
        settings(5, "ns2.cloud.example.com", 2),
        settings(20, "ns2.cloud.example.com", 2),
        settings(20, "ns2.cloud.example.com", 2),
    ] {
        catalog = catalog.with(vec![change]).0;
    }
    assert_eq!(
        told(&catalog, 10).join("|"),
        "SOA 20|SOA 10|cloud.example.com ns1|ns1 127.0.0.1|SOA 20|cloud.example.com ns2|ns2 127.0.0.2|SOA 20"
    );
}

#[test]
fn serials_follow_the_clock_and_never_go_back() {
    let zone = || {
        Change::Zone(
            Settings::k8gb(Name::parse("cloud.example.com").unwrap(), BASE, 30, vec![]).unwrap(),
        )
    };
    let serial = |catalog: &Catalog| {
        let zone = catalog.zone(&Name::parse("cloud.example.com").unwrap());
        zone.unwrap().serial()
    };
    let (mut catalog, _) = Catalog::default().with_serials(vec![zone()], Some(3700));
    assert_eq!(serial(&catalog), 3700);
    for (last, now, expected) in [
        (1, 3700, 3701),
        (2, 3700, 3702),
        (3, 4000, 4000),
        (4, 3000, 4001),
    ] {
        catalog = catalog
            .with_serials(vec![host("a", Some(last))], Some(now))
            .0;
        assert_eq!(serial(&catalog), expected);
    }
    let apex = Name::parse("cloud.example.com").unwrap();
    catalog = catalog.with(vec![Change::RemoveZone(apex)]).0;
    catalog = catalog.with_serials(vec![zone()], Some(3000)).0;
    assert_eq!(
        serial(&catalog),
        4002,
        "a zone that comes back is another one"
    );
    assert!(told(&catalog, 4001 - BASE).len() > 1);
}

#[test]
fn history_is_bounded() {
    let mut catalog = catalog("zone cloud.example.com 30");
    for change in 0..6_000u32 {
        catalog = catalog.with(vec![host("a", Some(change as u8))]).0;
    }
    let is_whole = |serial| told(&catalog, serial)[1].starts_with("cloud.example.com");
    assert_eq!((is_whole(100), is_whole(3_000)), (true, false));
    // A change of everything is told as everything.
    let many = (0..60_000).map(|number| host(&format!("host-{number}"), Some(1)));
    catalog = catalog.with(many.collect()).0;
    let gone = (0..60_000).map(|number| host(&format!("host-{number}"), None));
    catalog = catalog.with(gone.collect()).0;
    assert_eq!(told(&catalog, 6_001).len(), 5);
}

#[test]
fn over_udp_only_the_version_is_told() {
    let catalog = catalog("zone cloud.example.com 30");
    for (rtype, answered) in [(Type::SOA, true), (Type::IXFR, true), (Type::AXFR, false)] {
        let mut request = request("cloud.example.com", rtype);
        let mut chain = key().sign_request(&mut request, NOW);
        let granted = grant(&catalog, &[key().into()], &request, Transport::Udp, NOW);
        assert_eq!(granted.is_some(), answered);
        let Some(Granted::One(reply)) = granted else {
            continue;
        };
        chain.verify(&reply, NOW).unwrap();
        let message = Message::parse(&reply).unwrap();
        assert_eq!(message.answers.len(), 1);
        assert_eq!(message.answers[0].data.rtype(), Type::SOA);
    }
}
