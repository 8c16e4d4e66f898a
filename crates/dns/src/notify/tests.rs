use super::*;
use crate::answer::tests::catalog;
use crate::tsig::Algorithm;

const NOW: u64 = 1_700_000_000;

fn key(name: &str, secret: &[u8]) -> Key {
    Key::new(Name::parse(name).unwrap(), Algorithm::HmacSha256, secret)
}

#[test]
fn a_notice_is_believed_only_with_the_right_signature() {
    let catalog = catalog("zone cloud.example.com 30\nzone other.example.com 30");
    let own = key("fleet", b"secret");
    let zone = catalog
        .zone(&Name::parse("cloud.example.com").unwrap())
        .unwrap();
    let signed = |key: &Key, at| {
        let mut message = encode(7, zone);
        key.sign_request(&mut message, at);
        message
    };
    let mut changed = signed(&own, NOW);
    changed[20] ^= 1;
    let cases = [
        ("unsigned", encode(7, zone), Rcode::REFUSED, false),
        ("signed", signed(&own, NOW), Rcode::NOERROR, true),
        (
            "a little late",
            signed(&own, NOW - 250),
            Rcode::NOERROR,
            true,
        ),
        (
            "replayed much later",
            signed(&own, NOW - 400),
            Rcode::NOTAUTH,
            false,
        ),
        (
            "of a stranger",
            signed(&key("stranger", b"secret"), NOW),
            Rcode::NOTAUTH,
            false,
        ),
        (
            "of a liar",
            signed(&key("fleet", b"wrong"), NOW),
            Rcode::NOTAUTH,
            false,
        ),
        ("changed on the way", changed, Rcode::NOTAUTH, false),
    ];
    for (what, message, rcode, believed) in cases {
        assert!(is_notify(&message));
        let (reply, notice) = receive(&catalog, &own, &message, [127, 0, 0, 1].into(), NOW);
        let reply = Message::parse(&reply).unwrap();
        assert_eq!((reply.id, reply.rcode), (7, rcode), "{what}");
        assert!(reply.has(FLAG_QR));
        let expected = believed.then(|| Notice {
            zone: zone.apex().clone(),
            serial: Some(zone.serial()),
            from: [127, 0, 0, 1].into(),
        });
        assert_eq!(notice, expected, "{what}");
    }
}

#[test]
fn notices_about_other_things_are_refused_with_a_signature() {
    let served = catalog("zone cloud.example.com 30");
    let foreign = catalog("zone other.example.com 30");
    let own = key("fleet", b"secret");
    let mut unknown = encode(7, foreign.zones()[0]);
    let mut no_question = encode(7, served.zones()[0])[..HEADER_OCTETS].to_vec();
    no_question[4..].fill(0);
    for (message, rcode) in [
        (&mut unknown, Rcode::NOTAUTH),
        (&mut no_question, Rcode::FORMERR),
    ] {
        let mut chain = own.sign_request(message, NOW);
        let (reply, notice) = receive(&served, &own, message, [127, 0, 0, 1].into(), NOW);
        assert_eq!(notice, None);
        chain.verify(&reply, NOW).unwrap();
        assert_eq!(Message::parse(&reply).unwrap().rcode, rcode);
    }
}
