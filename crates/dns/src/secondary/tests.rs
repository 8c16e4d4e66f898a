mod simulation;

use super::*;
use crate::answer::Transport;
use crate::answer::tests::catalog;
use crate::catalog::Catalog;
use crate::transfer::{Granted, grant};
use crate::tsig::Algorithm;

const NOW: u64 = 1_700_000_000;

fn key() -> Key {
    Key::new(
        Name::parse("fleet").unwrap(),
        Algorithm::HmacSha256,
        b"secret",
    )
}

fn zone() -> Name {
    Name::parse("cloud.example.com").unwrap()
}

fn keep(name: &[u8]) -> bool {
    name.get(1..)
        .is_some_and(|label| label.starts_with(b"localtargets"))
}

/// What a server with `catalog` replies to a request.
fn messages(catalog: &Catalog, request: &[u8]) -> Vec<Vec<u8>> {
    match grant(catalog, &[key().into()], request, Transport::Tcp, NOW) {
        Some(Granted::Transfer(transfer)) => transfer.collect(),
        Some(Granted::One(message)) => vec![message],
        None => panic!("not granted"),
    }
}

fn pull(catalog: &Catalog, known: Option<u32>) -> Update {
    let (request, mut incoming) = Incoming::ask(7, &zone(), known, &key(), keep, NOW);
    let mut messages = messages(catalog, &request).into_iter();
    loop {
        let message = messages.next().expect("the last message ends the transfer");
        if let Progress::Done(update) = incoming.take(&message, NOW).unwrap() {
            assert_eq!(messages.next(), None);
            return update;
        }
    }
}

#[test]
fn only_what_is_cared_for_is_kept() {
    let catalog = catalog(
        "zone cloud.example.com 30 ns.cloud.example.com 127.1.1.1
         app 5 A 10.0.0.1
         localtargets-app 5 A 10.0.0.1
         localtargets-app 5 AAAA 2001:db8::1
         localtargets-app 5 TXT hello
         localtargets-b 7 A 10.0.0.2",
    );
    let mut replica = Replica::default();
    let changed = replica.apply(pull(&catalog, None)).unwrap();
    assert_eq!(
        (replica.serial(), replica.len(), changed.len()),
        (Some(3600), 3, 2)
    );
    let name = Name::parse("localtargets-b.cloud.example.com").unwrap();
    let expected = Address {
        ip: [10, 0, 0, 2].into(),
        ttl_seconds: 7,
    };
    assert_eq!(replica.addresses(&name), [expected]);
    assert_eq!(pull(&catalog, Some(3600)), Update::Same);
    assert_eq!(pull(&catalog, Some(3601)), Update::Same);
    // The same zone again changes nothing.
    assert!(replica.apply(pull(&catalog, None)).unwrap().is_empty());
}

#[test]
fn a_difference_that_does_not_fit_empties_the_copy() {
    let address = Address {
        ip: [10, 0, 0, 1].into(),
        ttl_seconds: 5,
    };
    for comes in [false, true] {
        let mut replica = Replica::default();
        let whole = Update::Whole {
            serial: 1,
            addresses: vec![(zone(), address)],
        };
        replica.apply(whole).unwrap();
        let other = Address {
            ttl_seconds: 6,
            ..address
        };
        let changes = vec![(comes, zone(), if comes { address } else { other })];
        let result = replica.apply(Update::Changes { serial: 2, changes });
        assert_eq!(result, Err(Error::Misfit));
        assert_eq!((replica.serial(), replica.len()), (None, 0));
    }
}

/// A reply made of records as text, signed unless said otherwise.
fn forged(request: &[u8], records: &[&str]) -> Vec<u8> {
    let mut message = request[..2].to_vec();
    message.extend([0x84, 0, 0, 0, 0, records.len() as u8, 0, 0, 0, 0]);
    for text in records {
        let (name, data) = text.split_once(' ').unwrap();
        let data = match data.split_once(' ').unwrap() {
            ("SOA", serial) => Data::Soa(crate::record::Soa {
                mname: zone(),
                rname: zone(),
                serial: serial.parse().unwrap(),
                refresh_seconds: 1,
                retry_seconds: 1,
                expire_seconds: 1,
                minimum_seconds: 1,
            }),
            ("A", ip) => Data::A(ip.parse().unwrap()),
            _ => panic!("{text}"),
        };
        message.extend(Name::parse(name).unwrap().wire());
        message.extend(data.rtype().0.to_be_bytes());
        message.extend([0, 1, 0, 0, 0, 5]);
        let mut rdata = Vec::new();
        data.encode(&mut rdata).unwrap();
        message.extend((rdata.len() as u16).to_be_bytes());
        message.extend(rdata);
    }
    message
}

/// What a client that has version 5 makes of one reply: the error, or how far it is.
fn outcome(records: &[&str]) -> String {
    let (request, mut incoming) = Incoming::ask(7, &zone(), Some(5), &key(), keep, NOW);
    let mut chain = tsig::verify_request(&[key()], &request, NOW).unwrap();
    let mut message = forged(&request, records);
    chain.sign(&mut message, NOW);
    match incoming.take(&message, NOW) {
        Ok(Progress::More) => "more".into(),
        Ok(Progress::Done(Update::Same)) => "same".into(),
        Ok(Progress::Done(Update::Whole { serial, addresses })) => {
            format!("whole {serial}, {} addresses", addresses.len())
        }
        Ok(Progress::Done(Update::Changes { serial, changes })) => {
            format!("changes to {serial}, {}", changes.len())
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn records_must_be_in_the_order_of_a_transfer() {
    const ZONE: &str = "cloud.example.com";
    let soa = |serial: u32| format!("{ZONE} SOA {serial}");
    let a = format!("localtargets-a.{ZONE} A 10.0.0.1");
    let (s4, s5, s6, s7) = (soa(4), soa(5), soa(6), soa(7));
    let cases: &[(&[&str], &str)] = &[
        (&[], "records out of order"),
        (&[&a], "records out of order"),
        (&[&s5], "same"),
        (&[&s4], "same"),
        (&[&s6], "more"),
        (&[&s6, &s6], "whole 6, 0 addresses"),
        (&[&s6, &a, &s6], "whole 6, 1 addresses"),
        (&[&s6, &a, &s7], "records out of order"),
        (&[&s6, &s4], "records out of order"),
        (&[&s6, &s5, &a, &s6, &a, &s6], "changes to 6, 2"),
        (
            &[&s7, &s5, &a, &s6, &a, &s6, &a, &s7, &s7],
            "changes to 7, 3",
        ),
        (&[&s7, &s5, &a, &s6, &a, &s7], "records out of order"),
        (&[&s6, &s5, &a, &s6, &a], "more"),
        (&[&s6, &s5, &s6, &s6, &a], "records out of order"),
        (&[&s6, "other.example.com SOA 6"], "records out of order"),
        (
            &[&s6, "localtargets-a.other.example A 10.0.0.1", &s6],
            "whole 6, 0 addresses",
        ),
    ];
    for (records, expected) in cases {
        assert_eq!(outcome(records), *expected, "{records:?}");
    }
}

#[test]
fn messages_that_are_not_the_owners_are_not_believed() {
    let (request, _) = Incoming::ask(7, &zone(), Some(5), &key(), keep, NOW);
    let good = || {
        let mut message = forged(&request, &["cloud.example.com SOA 5"]);
        let mut chain = tsig::verify_request(&[key()], &request, NOW).unwrap();
        chain.sign(&mut message, NOW);
        message
    };
    let edit = |edit: fn(&mut Vec<u8>)| {
        let mut message = good();
        edit(&mut message);
        message
    };
    let cases = [
        ("right", good(), Ok(Progress::Done(Update::Same))),
        ("another id", edit(|m| m[0] ^= 1), Err(Error::Foreign)),
        ("a query", edit(|m| m[2] &= 0x7f), Err(Error::Foreign)),
        (
            "refused",
            edit(|m| m[3] |= 5),
            Err(Error::Refused(Rcode::REFUSED)),
        ),
        (
            "unsigned",
            forged(&request, &["cloud.example.com SOA 5"]),
            Err(Error::Tsig(tsig::Error::Unsigned)),
        ),
        (
            "another serial",
            edit(|m| m[70] ^= 1),
            Err(Error::Tsig(tsig::Error::BadSignature)),
        ),
        (
            "cut",
            edit(|m| m.truncate(30)),
            Err(Error::Malformed(message::Error::Short)),
        ),
    ];
    for (what, bytes, expected) in cases {
        let (again, mut incoming) = Incoming::ask(7, &zone(), Some(5), &key(), keep, NOW);
        assert_eq!(again, request);
        assert_eq!(incoming.take(&bytes, NOW), expected, "{what}");
    }
}
