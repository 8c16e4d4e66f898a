//! Signed answers, checked as a validating resolver does it.

use std::collections::BTreeMap;

use super::*;
use crate::dnssec::key::{PublicKey, SigningKey};
use crate::dnssec::{self, Signable};
use crate::zone::Group;

const NOW: u32 = 1_800_000_000;

const WORLD: &str = "
    zone cloud.example.com 30 gslb-ns-eu-cloud.example.com 127.1.1.1 ns.cloud.example.com 127.1.1.2
    @ 60 TXT apex
    app 5 A~ 127.1.1.10
    app 5 A~ 127.1.1.11
    app 5 A~ 127.1.1.12
    app 6 TXT hello
    a.b 30 A 127.1.1.12
    down !
    alias 7 CNAME app.cloud.example.com
    astray 7 CNAME nothing.cloud.example.com
    *.wild 30 A 127.1.1.13
    x.wild 30 TXT here
    _http._tcp 30 SRV 0 10 80 app.cloud.example.com
    sub 60 NS ns.sub.cloud.example.com
    ns.sub 60 A 127.1.9.1
";

fn signer() -> Signer {
    Signer::new(SigningKey::generate().unwrap().0)
}

/// The reply to a query with the DO bit.
fn signed(catalog: &Catalog, signer: &Signer, host: &str, rtype: Type) -> Message {
    let question = Question {
        name: name(host),
        rtype,
    };
    let mut query = encode_query(7, 0, &question, Some(1232));
    let flags = query.len() - 4;
    query[flags] = 0x80;
    let context = Context {
        catalog,
        cookies: None,
        geo: None,
        signer: Some(signer),
        now_seconds: NOW,
    };
    let request = Request {
        query: &query,
        client: [127, 0, 0, 1].into(),
        transport: Transport::Udp,
    };
    let mut out = vec![0; 1232];
    let reply = answer(&context, &request, &mut Entropy::new(7), &mut out).unwrap();
    assert!(!reply.truncated, "{host} {rtype}");
    Message::parse(&out[..reply.octets]).unwrap()
}

fn rdata(record: &Record) -> Vec<u8> {
    let mut out = Vec::new();
    record.data.encode(&mut out).unwrap();
    out
}

/// Checks every signature of a section; gives the sets that have one, as `owner type`.
fn verified(records: &[Record], zone: &Name, key: &PublicKey) -> Vec<String> {
    let mut sets = BTreeMap::<(Name, Type), Vec<&Record>>::new();
    for record in records {
        let rtype = record.data.rtype();
        sets.entry((record.name.clone(), rtype))
            .or_default()
            .push(record);
    }
    let mut found = Vec::new();
    for rrsig in records.iter().filter(|r| r.data.rtype() == Type::RRSIG) {
        let data = rdata(rrsig);
        let covered = Type(u16::from_be_bytes([data[0], data[1]]));
        let set = &sets[&(rrsig.name.clone(), covered)];
        let mut rdata = set.iter().map(|record| rdata(record)).collect::<Vec<_>>();
        rdata.sort();
        let signable = Signable {
            zone: zone.wire(),
            owner: [rrsig.name.wire(), &[]],
            rtype: covered,
            ttl_seconds: set[0].ttl_seconds,
            rdata: &rdata.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        };
        let good = dnssec::verify(&signable, &data, key, NOW);
        assert!(good, "{} {covered} is badly signed", rrsig.name);
        found.push(format!("{} {covered}", rrsig.name));
    }
    found
}

#[test]
fn every_set_of_an_answer_is_signed() {
    let (catalog, signer) = (catalog(WORLD), signer());
    let zone = name("cloud.example.com");
    let apex = "cloud.example.com";
    let app = "app.cloud.example.com";
    for (host, rtype, answers, authorities) in [
        (app, Type::A, vec![format!("{app} A")], vec![]),
        (app, Type::ANY, vec![format!("{app} HINFO")], vec![]),
        (
            "alias.cloud.example.com",
            Type::A,
            vec!["alias.cloud.example.com CNAME".into(), format!("{app} A")],
            vec![],
        ),
        (
            "x.y.wild.cloud.example.com",
            Type::A,
            vec!["x.y.wild.cloud.example.com A".into()],
            vec![],
        ),
        (
            "_http._tcp.cloud.example.com",
            Type::SRV,
            vec!["_http._tcp.cloud.example.com SRV".into()],
            vec![],
        ),
        (
            apex,
            Type::SOA,
            vec![format!("{apex} SOA")],
            vec![format!("{apex} NS")],
        ),
        (apex, Type::NS, vec![format!("{apex} NS")], vec![]),
        (apex, Type::TXT, vec![format!("{apex} TXT")], vec![]),
        (apex, Type::DNSKEY, vec![format!("{apex} DNSKEY")], vec![]),
        (apex, Type::CDS, vec![format!("{apex} CDS")], vec![]),
        (apex, Type::CDNSKEY, vec![format!("{apex} CDNSKEY")], vec![]),
    ] {
        let message = signed(&catalog, &signer, host, rtype);
        let found = verified(&message.answers, &zone, signer.public());
        assert_eq!(found, answers, "{host} {rtype}");
        let found = verified(&message.authorities, &zone, signer.public());
        assert_eq!(found, authorities, "{host} {rtype}");
        let n_sigs = |records: &[Record]| {
            records
                .iter()
                .filter(|r| r.data.rtype() == Type::RRSIG)
                .count()
        };
        assert!(
            message.answers.len() > n_sigs(&message.answers),
            "{host} {rtype}"
        );
    }
}

/// The NSEC records of a reply: owner, next name, types.
fn proofs(message: &Message) -> Vec<(Name, Name, Vec<Type>)> {
    let nsecs = message.authorities.iter().chain(&message.answers);
    let nsecs = nsecs.filter(|record| record.data.rtype() == Type::NSEC);
    nsecs
        .map(|record| {
            let data = rdata(record);
            let octets = name::wire_len(&data).unwrap();
            let mut types = Vec::new();
            let mut rest = &data[octets..];
            while let [window, length, tail @ ..] = rest {
                let (bits, next) = tail.split_at(usize::from(*length));
                for (at, bit) in (0..bits.len() * 8).filter_map(|at| {
                    (bits[at / 8] & (0x80 >> (at % 8)) != 0).then_some((at, *window))
                }) {
                    types.push(Type(u16::from(bit) << 8 | at as u16));
                }
                rest = next;
            }
            (
                record.name.clone(),
                Name::from_wire(&data[..octets]).unwrap(),
                types,
            )
        })
        .collect()
}

#[test]
fn what_is_not_there_is_proved() {
    let (catalog, signer) = (catalog(WORLD), signer());
    let zone = name("cloud.example.com");
    let always = [Type::RRSIG, Type::NSEC];
    // Names that exist: one NSEC at the name with exactly its types.
    for (host, rtype, types) in [
        (
            "app.cloud.example.com",
            Type::AAAA,
            vec![Type::A, Type::TXT],
        ),
        ("b.cloud.example.com", Type::A, vec![]),
        ("down.cloud.example.com", Type::A, vec![]),
        ("y.wild.cloud.example.com", Type::TXT, vec![Type::A]),
        ("sub.cloud.example.com", Type::DS, vec![Type::NS]),
        ("x.sub.cloud.example.com", Type::A, vec![Type::NS]),
        (
            "cloud.example.com",
            Type::AAAA,
            vec![
                Type::SOA,
                Type::NS,
                Type::TXT,
                Type::DNSKEY,
                Type::CDS,
                Type::CDNSKEY,
            ],
        ),
    ] {
        let message = signed(&catalog, &signer, host, rtype);
        assert_eq!(message.rcode, Rcode::NOERROR);
        let found = verified(&message.authorities, &zone, signer.public());
        let [(owner, next, shown)] = &proofs(&message)[..] else {
            panic!("{host}: {message:?}")
        };
        assert!(
            found.contains(&format!("{owner} NSEC")),
            "{host}: {found:?}"
        );
        assert!(name(host).is_within(owner), "{host}");
        assert!(owner < next && next.is_within(owner), "{owner} {next}");
        let mut expected = [&types[..], &always].concat();
        expected.sort();
        assert_eq!(shown, &expected, "{host}");
    }
    // Names that do not: one NSEC around the name, one around the wildcard that would have answered.
    for (host, wildcard) in [
        ("missing.cloud.example.com", "*.cloud.example.com"),
        ("deep.missing.cloud.example.com", "*.cloud.example.com"),
        ("x.app.cloud.example.com", "*.app.cloud.example.com"),
        ("y.x.wild.cloud.example.com", "*.x.wild.cloud.example.com"),
        ("astray.cloud.example.com", "*.cloud.example.com"),
    ] {
        let message = signed(&catalog, &signer, host, Type::A);
        assert_eq!(message.rcode, Rcode::NXDOMAIN, "{host}");
        let found = verified(&message.authorities, &zone, signer.public());
        assert_eq!(found.len(), 3, "{host}: {found:?}");
        let denied = if host.starts_with("astray") {
            name("nothing.cloud.example.com")
        } else {
            name(host)
        };
        for denied in [denied, name(wildcard)] {
            let covers = |(owner, next, types): &(Name, Name, Vec<Type>)| {
                *owner < denied && denied < *next && *types == always
            };
            assert!(
                proofs(&message).iter().any(covers),
                "{host}: {denied} in {message:?}"
            );
        }
        // And no name that exists is denied.
        for zone in catalog.zones() {
            for (real, _) in zone.entries() {
                let denies =
                    |(owner, next, _): &(Name, Name, Vec<Type>)| *owner <= real && real < *next;
                assert!(!proofs(&message).iter().any(denies), "{host} denies {real}");
            }
        }
    }
}

/// Whichever records are drawn, the signature is of those.
#[test]
fn drawn_answers_are_signed_as_drawn_and_from_the_cache_the_next_time() {
    let signer = signer();
    let zone = name("cloud.example.com");
    let data = (1..=6)
        .map(|last| Data::A([10, 0, 0, last].into()))
        .collect();
    let groups = (0..3).map(|_| Group {
        weight: 1,
        n_records: 2,
    });
    let set = RecordSet {
        ttl_seconds: 5,
        data,
        order: crate::zone::Order::Weighted {
            groups: groups.collect(),
            take: std::num::NonZeroU16::new(2),
        },
    };
    let (catalog, errors) = catalog("zone cloud.example.com 30").with(vec![Change::Set {
        zone: zone.clone(),
        name: name("app.cloud.example.com"),
        entry: Entry::of(set).into(),
    }]);
    assert_eq!(errors, []);
    let question = Question {
        name: name("app.cloud.example.com"),
        rtype: Type::A,
    };
    let mut query = encode_query(7, 0, &question, Some(1232));
    let flags = query.len() - 4;
    query[flags] = 0x80;
    let context = Context {
        catalog: &catalog,
        cookies: None,
        geo: None,
        signer: Some(&signer),
        now_seconds: NOW,
    };
    let request = Request {
        query: &query,
        client: [127, 0, 0, 1].into(),
        transport: Transport::Udp,
    };
    let mut entropy = Entropy::new(7);
    let mut out = vec![0; 1232];
    for _ in 0..500 {
        let reply = answer(&context, &request, &mut entropy, &mut out).unwrap();
        let message = Message::parse(&out[..reply.octets]).unwrap();
        assert_eq!(message.answers.len(), 3);
        assert_eq!(verified(&message.answers, &zone, signer.public()).len(), 1);
    }
    assert!(
        signer.n_signed() <= 15,
        "pairs of six: {}",
        signer.n_signed()
    );
}

#[test]
fn those_who_do_not_ask_get_no_signatures() {
    let (catalog, signer) = (catalog(WORLD), signer());
    let context = Context {
        catalog: &catalog,
        cookies: None,
        geo: None,
        signer: Some(&signer),
        now_seconds: NOW,
    };
    for host in [
        "app.cloud.example.com",
        "missing.cloud.example.com",
        "x.sub.cloud.example.com",
    ] {
        let question = Question {
            name: name(host),
            rtype: Type::A,
        };
        let query = encode_query(7, 0, &question, Some(1232));
        let request = Request {
            query: &query,
            client: [127, 0, 0, 1].into(),
            transport: Transport::Udp,
        };
        let mut out = vec![0; 1232];
        let with = answer(&context, &request, &mut Entropy::new(1), &mut out).unwrap();
        let with = out[..with.octets].to_vec();
        let context = Context {
            signer: None,
            ..context
        };
        let without = answer(&context, &request, &mut Entropy::new(1), &mut out).unwrap();
        assert_eq!(with, out[..without.octets], "{host}");
    }
    assert_eq!(signer.n_signed(), 0);
}

#[test]
fn a_signature_that_does_not_fit_cuts_the_reply_short() {
    let signer = signer();
    let lines = (0..28).map(|last| format!("app 5 A 127.1.1.{last}\n"));
    let catalog = catalog(&format!(
        "zone cloud.example.com 30\n{}",
        lines.collect::<String>()
    ));
    let question = Question {
        name: name("app.cloud.example.com"),
        rtype: Type::A,
    };
    let mut query = encode_query(7, 0, &question, Some(512));
    let flags = query.len() - 4;
    query[flags] = 0x80;
    let context = Context {
        catalog: &catalog,
        cookies: None,
        geo: None,
        signer: Some(&signer),
        now_seconds: NOW,
    };
    let request = Request {
        query: &query,
        client: [127, 0, 0, 1].into(),
        transport: Transport::Udp,
    };
    let mut out = vec![0; 1232];
    let reply = answer(&context, &request, &mut Entropy::new(1), &mut out).unwrap();
    assert!(reply.truncated && reply.octets <= 512);
}
