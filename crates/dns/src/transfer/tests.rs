use std::collections::BTreeSet;

use super::*;
use crate::answer::tests::catalog;
use crate::message::{Message, Question, encode_query};
use crate::record::Type;
use crate::tsig::Algorithm;

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
    let Some(Granted::Transfer(transfer)) = grant(catalog, &[key()], &request, NOW) else {
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
    assert!(grant(&catalog, &[key()], &plain, NOW).is_none());
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
        let Some(Granted::Refused(reply)) = grant(&catalog, &[self::key()], &request, now) else {
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
        assert!(grant(&catalog, &[key()], &sign(apex, rtype, &key()), NOW).is_none());
    }
}
