use std::sync::Arc;

use super::{Key, Line, Updates, encode, is_update, send};
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

fn key() -> Key {
    Key::new(name("fleet"), Algorithm::HmacSha256, b"secret")
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
        Updates::new(zones, name("example.com"), vec![key()]),
    )
}

fn submit(updates: &Updates, zone: &str, lines: &[Line]) -> Rcode {
    let mut request = encode(9, &name(zone), lines).unwrap();
    let mut chain = key().sign_request(&mut request, NOW);
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
    for (tag, ip) in [("eu", [127, 1, 1, 1]), ("us", [127, 1, 2, 1])] {
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
            assert_eq!(submit(&updates, "example.com", &lines), Rcode::NOERROR);
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
fn an_update_that_is_refused_changes_nothing() {
    let (_, updates) = updates();
    let good = add("a.example.com", Data::A([1, 1, 1, 1].into()));
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
        &[add("a.example.com", Data::A([1, 1, 1, 1].into()))],
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
    let lines = [add("a.example.com", Data::A([192, 0, 2, 1].into()))];
    let now = super::unix_now();
    send(address, None, &name("example.com"), &lines, &key(), now)
        .await
        .unwrap();
    let question = Question {
        name: name("a.example.com"),
        rtype: Type::A,
    };
    let report = client::ask(&question, &[address], &client::Config::default()).await;
    assert!(
        matches!(report.outcome, Outcome::Answer(_)),
        "{:?}",
        report.outcome
    );
    let wrong = Key::new(name("fleet"), Algorithm::HmacSha256, b"wrong");
    let error = send(address, None, &name("example.com"), &lines, &wrong, now)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("NOTAUTH"), "{error}");

    // The same over UDP, as nsupdate sends it.
    let mut request = encode(
        3,
        &name("example.com"),
        &[add("b.example.com", Data::A([192, 0, 2, 2].into()))],
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
