use super::*;
use crate::message::{Question, encode_query};

const NOW: u64 = 1_700_000_000;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn key(algorithm: Algorithm) -> Key {
    Key::new(name("fleet.key"), algorithm, b"a secret of some length")
}

fn query() -> Vec<u8> {
    let question = Question {
        name: name("cloud.example.com"),
        rtype: Type::AXFR,
    };
    encode_query(7, 0, &question, Some(1232))
}

#[test]
fn requests_and_chains_of_replies_are_checked() {
    for algorithm in [
        Algorithm::HmacSha256,
        Algorithm::HmacSha384,
        Algorithm::HmacSha512,
    ] {
        let keys = [Key::new(name("other"), algorithm, b"x"), key(algorithm)];
        let mut request = query();
        let mut client = keys[1].sign_request(&mut request, NOW);
        let mut server = verify_request(&keys, &request, NOW + 10).unwrap();
        for number in 0..3 {
            let mut reply = query();
            reply[1] = number;
            server.sign(&mut reply, NOW + 11);
            assert_eq!(client.verify(&reply, NOW + 12), Ok(()), "message {number}");
        }
    }
}

#[test]
fn a_missing_or_changed_message_breaks_the_chain() {
    let key = key(Algorithm::HmacSha256);
    let mut request = query();
    let mut client = key.sign_request(&mut request, NOW);
    let mut server = verify_request(std::slice::from_ref(&key), &request, NOW).unwrap();
    let replies = [0, 1, 2].map(|_| {
        let mut reply = query();
        server.sign(&mut reply, NOW);
        reply
    });
    client.verify(&replies[0], NOW).unwrap();
    assert_eq!(
        client.clone().verify(&replies[2], NOW),
        Err(Error::BadSignature)
    );
    let mut changed = replies[1].clone();
    changed[13] ^= 1;
    assert_eq!(
        client.clone().verify(&changed, NOW),
        Err(Error::BadSignature)
    );
    assert_eq!(client.verify(&replies[1], NOW), Ok(()));
}

#[test]
fn wrong_requests_say_what_is_wrong() {
    let key = key(Algorithm::HmacSha256);
    let keys = std::slice::from_ref(&key);
    let signed = |key: &Key| {
        let mut request = query();
        key.sign_request(&mut request, NOW);
        request
    };
    let check = |request: &[u8], now| verify_request(keys, request, now).map(drop);
    assert_eq!(check(&query(), NOW), Err(Error::Unsigned));
    assert_eq!(check(&signed(&key), NOW + 300), Ok(()));
    let late = Error::BadTime {
        signed_seconds: NOW,
        now_seconds: NOW + 301,
    };
    assert_eq!(check(&signed(&key), NOW + 301), Err(late));
    let other = Key::new(
        name("other.key"),
        Algorithm::HmacSha256,
        b"a secret of some length",
    );
    assert_eq!(check(&signed(&other), NOW), Err(Error::BadKey));
    let other = Key::new(
        name("fleet.key"),
        Algorithm::HmacSha512,
        b"a secret of some length",
    );
    assert_eq!(check(&signed(&other), NOW), Err(Error::BadKey));
    let other = Key::new(name("fleet.key"), Algorithm::HmacSha256, b"another secret");
    assert_eq!(check(&signed(&other), NOW), Err(Error::BadSignature));
    let mut twice = signed(&key);
    key.sign_request(&mut twice, NOW);
    assert!(matches!(check(&twice, NOW), Err(Error::Malformed(_))));
}

#[test]
fn damaged_signatures_never_panic_or_pass() {
    let key = key(Algorithm::HmacSha256);
    let mut request = query();
    key.sign_request(&mut request, NOW);
    for at in 0..request.len() {
        for bit in 0..8 {
            let mut damaged = request.clone();
            damaged[at] ^= 1 << bit;
            let result = verify_request(std::slice::from_ref(&key), &damaged, NOW);
            // The id may change on the way, it stands in the record too; names in the record may change their case.
            if result.is_ok() {
                let harmless = at < 2 || damaged[at].eq_ignore_ascii_case(&request[at]);
                assert!(harmless, "octet {at} bit {bit}");
            }
        }
        let _ = verify_request(std::slice::from_ref(&key), &request[..at], NOW);
    }
}
