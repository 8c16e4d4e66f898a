//! Laws that hold for every query, and agreement with an independent implementation.

use hickory_proto::op::Message as Oracle;
use hickory_proto::serialize::binary::BinDecodable;
use proptest::prelude::*;

use super::*;

const WORLD: &str = "
    zone example.com 300 ns.example.com 127.1.0.1
    cloud 60 NS ns.cloud.example.com
    ns.cloud 60 A 127.1.1.1
    www 60 CNAME app.apps.example.com
    zone apps.example.com 30
    app 5 A~ 127.1.1.10
    app 5 A~ 127.1.1.11
    app 5 AAAA fd00::1
    app 5 TXT hello
    a.b.c 5 A 127.1.1.12
    *.w 5 A 127.1.1.13
    *.x 5 CNAME app.apps.example.com
";

/// Names in and around the world, in any case.
fn names() -> impl Strategy<Value = String> {
    let label = prop_oneof![
        "[a-c]",
        "app",
        "APP",
        "w",
        "x",
        "www",
        "cloud",
        "apps",
        "ns",
        "example",
        "\\*",
        "[a-z0-9_-]{1,63}"
    ];
    let suffix = prop_oneof![
        "",
        "example.com",
        "aPPs.Example.com",
        "cloud.example.com",
        "org"
    ];
    (proptest::collection::vec(label, 0..5), suffix).prop_map(|(labels, suffix)| {
        let mut labels = labels;
        labels.push(suffix);
        labels.retain(|label| !label.is_empty());
        labels.join(".")
    })
}

fn types() -> impl Strategy<Value = u16> {
    prop_oneof![
        proptest::sample::select(vec![
            1u16, 2, 5, 6, 15, 16, 28, 33, 43, 65, 250, 251, 252, 255
        ]),
        any::<u16>()
    ]
}

/// What must hold for any reply to any bytes.
pub(crate) fn check_reply(catalog: &Catalog, query: &[u8], transport: Transport) {
    let Some(reply) = reply(catalog, query, transport) else {
        return;
    };
    assert_eq!(reply[..2], query[..2], "id");
    assert_ne!(reply[2] & 0x80, 0, "QR");
    let limit = if transport == Transport::Udp {
        1232
    } else {
        65_535
    };
    assert!(reply.len() <= limit);
    let ours = Message::parse(&reply).expect("our parser reads our replies");
    if let Ok(query) = Query::parse(query) {
        assert!(
            reply[HEADER_OCTETS..].starts_with(query.question),
            "question"
        );
        assert_eq!(ours.udp_octets.is_some(), query.edns.is_some(), "OPT");
        if transport == Transport::Udp {
            assert!(reply.len() <= query.udp_octets());
        }
    }
    let theirs = Oracle::from_bytes(&reply).expect("hickory reads our replies");
    compare(&ours, &theirs);
}

fn compare(ours: &Message, theirs: &Oracle) {
    let sections = [
        (&ours.answers, &theirs.answers),
        (&ours.authorities, &theirs.authorities),
        (&ours.additionals, &theirs.additionals),
    ];
    for (ours, theirs) in sections {
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(theirs) {
            let owner = theirs.name.to_string().to_lowercase();
            assert_eq!(
                format!("{}.", ours.name).trim_start_matches(".."),
                owner.trim_start_matches("..")
            );
            assert_eq!(ours.ttl_seconds, theirs.ttl);
            assert_eq!(ours.data.rtype().0, u16::from(theirs.record_type()));
            if let Data::A(address) = &ours.data {
                assert_eq!(theirs.data.to_string(), address.to_string());
            }
        }
    }
}

proptest! {
    #[test]
    fn questions_get_lawful_replies(
        text in names(),
        rtype in types(),
        edns in proptest::option::of(any::<u16>()),
        flags in any::<u16>(),
        tcp in any::<bool>(),
    ) {
        let catalog = catalog(WORLD);
        let Ok(name) = Name::parse(&text) else { return Ok(()) };
        let question = Question { name, rtype: Type(rtype) };
        let query = encode_query(9, flags, &question, edns);
        let transport = if tcp { Transport::Tcp } else { Transport::Udp };
        check_reply(&catalog, &query, transport);
    }

    #[test]
    fn any_bytes_get_lawful_replies_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        check_reply(&catalog(WORLD), &bytes, Transport::Udp);
    }

    #[test]
    fn damaged_queries_get_lawful_replies_or_none(
        text in names(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let Ok(name) = Name::parse(&text) else { return Ok(()) };
        let mut query = encode_query(9, 0, &Question { name, rtype: Type::A }, Some(1232));
        for (at, value) in damage {
            let at = at.index(query.len());
            query[at] = value;
        }
        check_reply(&catalog(WORLD), &query, Transport::Udp);
        query.truncate(cut.index(query.len() + 1));
        check_reply(&catalog(WORLD), &query, Transport::Tcp);
    }

    /// Both decoders read the same bytes the same way, or ours refuses.
    #[test]
    fn decoding_agrees_with_hickory(
        text in names(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let Ok(name) = Name::parse(&text) else { return Ok(()) };
        let query = encode_query(9, 0, &Question { name, rtype: Type::A }, None);
        let Some(mut bytes) = reply(&catalog(WORLD), &query, Transport::Udp) else { return Ok(()) };
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let (Ok(ours), Ok(theirs)) = (Message::parse(&bytes), Oracle::from_bytes(&bytes)) {
            prop_assert_eq!(ours.id, theirs.metadata.id);
            prop_assert_eq!(ours.answers.len() <= theirs.answers.len(), true);
        }
    }
}
