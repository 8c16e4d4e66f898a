use std::sync::Arc;

use super::{Grant, Key, Line, Updates, encode, is_update, send};
use crate::catalog::{Change, Publish, Zones};
use crate::client::{self, Outcome};
use crate::message::Question;
use crate::name::Name;
use crate::record::{Data, Rcode, Type};
use crate::server::{Config, Metrics, Server};
use crate::tsig::Algorithm;
use crate::zone::Settings;

const NOW: u64 = 1_800_000_000;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// The key of eu.
fn key() -> Key {
    Key::new(name("eu"), Algorithm::HmacSha256, b"secret")
}

/// The key of us.
fn other_key() -> Key {
    Key::new(name("us"), Algorithm::HmacSha256, b"other secret")
}

fn grants() -> Vec<Grant> {
    let grant = |key: Key, prefix: &str| Grant {
        key,
        prefix: prefix.into(),
    };
    vec![
        grant(key(), "gslb-ns-eu-"),
        grant(other_key(), "gslb-ns-us-"),
        grant(
            Key::new(name("eu-1"), Algorithm::HmacSha256, b"third secret"),
            "gslb-ns-eu-1-",
        ),
    ]
}

fn add(owner: &str, data: Data) -> Line {
    Line::Add {
        name: name(owner),
        ttl_seconds: 30,
        data,
    }
}

fn ns(tag: &str) -> Data {
    Data::Ns(name(&format!("gslb-ns-{tag}-cloud.example.com")))
}

fn updates() -> (Arc<Zones>, Updates) {
    let zones = Zones::new();
    let settings = Settings::k8gb(name("example.com"), 1, 30, vec![]).unwrap();
    zones.publish(vec![Change::Zone(settings)]);
    (
        Arc::clone(&zones),
        Updates::new(zones, name("example.com"), grants()),
    )
}

fn submit(updates: &Updates, zone: &str, lines: &[Line]) -> Rcode {
    submit_with(&key(), updates, zone, lines)
}

fn submit_with(key: &Key, updates: &Updates, zone: &str, lines: &[Line]) -> Rcode {
    let mut request = encode(9, &name(zone), lines).unwrap();
    let mut chain = key.sign_request(&mut request, NOW);
    assert!(is_update(&request));
    let reply = updates.respond(&request, NOW);
    assert_eq!(chain.verify(&reply, NOW), Ok(()));
    Rcode(u16::from(reply[3] & 0xf))
}

/// Names and records of the updated part of the zone.
fn table(updates: &Updates) -> Vec<String> {
    let names = updates.names.lock().unwrap();
    let mut lines = Vec::new();
    for (name, sets) in &*names {
        for (rtype, (ttl, data)) in sets {
            let data: Vec<_> = data.iter().map(Data::to_string).collect();
            lines.push(format!("{name} {ttl} {rtype} {}", data.join(",")));
        }
    }
    lines
}

#[test]
fn clusters_add_and_remove_only_what_is_theirs() {
    let (_, updates) = updates();
    for (key, tag, ip) in [
        (key(), "eu", [127, 1, 1, 1]),
        (other_key(), "us", [127, 1, 2, 1]),
    ] {
        let server = format!("gslb-ns-{tag}-cloud.example.com");
        let lines = [
            Line::DeleteSet {
                name: name(&server),
                rtype: Type::A,
            },
            add(&server, Data::A(ip.into())),
            add("cloud.example.com", ns(tag)),
        ];
        for _ in 0..2 {
            assert_eq!(
                submit_with(&key, &updates, "example.com", &lines),
                Rcode::NOERROR
            );
        }
    }
    assert_eq!(
        table(&updates),
        [
            "cloud.example.com 30 NS gslb-ns-eu-cloud.example.com,gslb-ns-us-cloud.example.com",
            "gslb-ns-eu-cloud.example.com 30 A 127.1.1.1",
            "gslb-ns-us-cloud.example.com 30 A 127.1.2.1",
        ]
    );
    let leave = [
        Line::Delete {
            name: name("cloud.example.com"),
            data: ns("eu"),
        },
        Line::DeleteSet {
            name: name("gslb-ns-eu-cloud.example.com"),
            rtype: Type::ANY,
        },
    ];
    assert_eq!(submit(&updates, "example.com", &leave), Rcode::NOERROR);
    assert_eq!(table(&updates).len(), 2);
}

#[test]
fn a_key_changes_only_its_own_name_servers_and_what_points_to_them() {
    let (_, updates) = updates();
    let (own, others) = (
        "gslb-ns-eu-cloud.example.com",
        "gslb-ns-us-cloud.example.com",
    );
    let ip = || Data::A([127, 1, 1, 1].into());
    let delete = |owner: &str, data: Data| Line::Delete {
        name: name(owner),
        data,
    };
    let delete_set = |owner: &str, rtype| Line::DeleteSet {
        name: name(owner),
        rtype,
    };
    let us = [add(others, ip()), add("cloud.example.com", ns("us"))];
    assert_eq!(
        submit_with(&other_key(), &updates, "example.com", &us),
        Rcode::NOERROR
    );
    let before = table(&updates);
    let refused = [
        ("another's NS", add("cloud.example.com", ns("us"))),
        ("removing it", delete("cloud.example.com", ns("us"))),
        ("all NS", delete_set("cloud.example.com", Type::NS)),
        ("all at a zone", delete_set("cloud.example.com", Type::ANY)),
        ("another's address", add(others, ip())),
        ("removing it", delete(others, ip())),
        ("all of them", delete_set(others, Type::A)),
        ("all at its name", delete_set(others, Type::ANY)),
        ("delegating another's name server", add(others, ns("eu"))),
        ("delegating one's own", add(own, ns("eu"))),
        (
            "a foreign name server",
            add("cloud.example.com", Data::Ns(name("ns.example.org"))),
        ),
        (
            "one's name server elsewhere",
            add("gslb-ns-eu-a.sub.example.com", ip()),
        ),
        (
            "a name below one's own",
            add("x.gslb-ns-eu-a.example.com", ip()),
        ),
        ("a host", add("www.example.com", ip())),
        (
            "text at one's own name",
            add(own, Data::Txt(vec![b"x".to_vec()])),
        ),
        (
            "a longer tag's name server",
            add("gslb-ns-eu-1-cloud.example.com", ip()),
        ),
        (
            "and what points to it",
            add("cloud.example.com", ns("eu-1")),
        ),
    ];
    for (what, line) in refused {
        // Together with something permitted, which is not carried out either.
        let lines = [add(own, ip()), line];
        assert_eq!(
            submit(&updates, "example.com", &lines),
            Rcode::REFUSED,
            "{what}"
        );
        assert_eq!(table(&updates), before, "{what}");
    }
    let permitted = [
        add(own, ip()),
        add("cloud.example.com", ns("eu")),
        add("GSLB-NS-EU-Other.example.com", ip()),
        add(
            "other.example.com",
            Data::Ns(name("gslb-ns-eu-other.example.com")),
        ),
        delete(
            "other.example.com",
            Data::Ns(name("gslb-ns-eu-other.example.com")),
        ),
        delete(own, ip()),
        delete_set(own, Type::ANY),
    ];
    for line in permitted {
        assert_eq!(
            submit(&updates, "example.com", std::slice::from_ref(&line)),
            Rcode::NOERROR,
            "{line:?}"
        );
    }
}

#[test]
fn an_update_that_is_refused_changes_nothing() {
    let (_, updates) = updates();
    let good = add("gslb-ns-eu-a.example.com", Data::A([1, 1, 1, 1].into()));
    let cases = [
        ("example.org", vec![good.clone()], Rcode::NOTAUTH),
        (
            "example.com",
            vec![good.clone(), add("example.com", ns("eu"))],
            Rcode::REFUSED,
        ),
        (
            "example.com",
            vec![good.clone(), add("a.example.org", ns("eu"))],
            Rcode::REFUSED,
        ),
        (
            "example.com",
            vec![good.clone(); super::RECORDS_MAX + 1],
            Rcode::REFUSED,
        ),
    ];
    for (zone, lines, rcode) in cases {
        assert_eq!(submit(&updates, zone, &lines), rcode);
        assert!(table(&updates).is_empty());
    }
    let unsigned = encode(9, &name("example.com"), &[good]).unwrap();
    let reply = updates.respond(&unsigned, NOW);
    assert_eq!((reply[3] & 0xf, reply.len()), (9, 12));
    assert!(table(&updates).is_empty());
}

#[test]
fn garbage_is_answered_and_changes_nothing() {
    let (_, updates) = updates();
    let mut request = encode(
        9,
        &name("example.com"),
        &[add(
            "gslb-ns-eu-a.example.com",
            Data::A([1, 1, 1, 1].into()),
        )],
    )
    .unwrap();
    key().sign_request(&mut request, NOW);
    for at in 0..request.len() {
        updates.respond(&request[..at], NOW);
        let mut broken = request.clone();
        broken[at] ^= 0x55;
        updates.respond(&broken, NOW);
    }
    assert!(table(&updates).len() <= 1, "only the id is not signed");
}

#[tokio::test]
async fn an_update_over_the_network_changes_the_answers() {
    let (zones, updates) = updates();
    let mut cfg = Config::new("edge", vec!["127.0.0.1:0".parse().unwrap()]);
    cfg.updates = Some(Arc::new(updates));
    let server = Server::start(&cfg, &zones, &Metrics::default()).unwrap();
    let address = server.addresses()[0];
    let lines = [add(
        "gslb-ns-eu-a.example.com",
        Data::A([192, 0, 2, 1].into()),
    )];
    let now = super::unix_now();
    send(address, None, &name("example.com"), &lines, &key(), now)
        .await
        .unwrap();
    let question = Question {
        name: name("gslb-ns-eu-a.example.com"),
        rtype: Type::A,
    };
    let report = client::ask(&question, &[address], &client::Config::default()).await;
    assert!(
        matches!(report.outcome, Outcome::Answer(_)),
        "{:?}",
        report.outcome
    );
    let wrong = Key::new(name("eu"), Algorithm::HmacSha256, b"wrong");
    let error = send(address, None, &name("example.com"), &lines, &wrong, now)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("NOTAUTH"), "{error}");

    // The same over UDP, as nsupdate sends it.
    let mut request = encode(
        3,
        &name("example.com"),
        &[add(
            "gslb-ns-eu-b.example.com",
            Data::A([192, 0, 2, 2].into()),
        )],
    )
    .unwrap();
    key().sign_request(&mut request, now);
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&request, address).await.unwrap();
    let mut reply = [0; 512];
    let octets = socket.recv(&mut reply).await.unwrap();
    assert_eq!((octets > 12, reply[3] & 0xf), (true, 0));
    server.stop().await;
}
