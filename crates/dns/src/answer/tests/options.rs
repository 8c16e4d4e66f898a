//! EDNS options in replies: cookies and extended errors.

use super::*;
use crate::cookie::Cookies;
use crate::geo::Geo;
use crate::message::CLASS_IN;
use crate::zone::Why;

const CLIENT: [u8; 4] = [192, 0, 2, 1];

/// A query for `host` with one EDNS option.
fn query(host: &str, rtype: u16, code: u16, value: &[u8]) -> Vec<u8> {
    let question = Question {
        name: name(host),
        rtype: Type(rtype),
    };
    let mut query = encode_query(1, 0, &question, Some(1232));
    let at = query.len() - 2;
    query[at..].copy_from_slice(&(value.len() as u16 + 4).to_be_bytes());
    query.extend(code.to_be_bytes());
    query.extend((value.len() as u16).to_be_bytes());
    query.extend(value);
    query
}

/// The reply, and the value of the option in it.
fn ask_with(query: &[u8], code: u16, now_seconds: u32) -> (Reply, Option<Vec<u8>>) {
    let catalog = catalog("zone cloud.example.com 30\napp 5 A 127.1.1.10");
    let cookies = Cookies::new([9; 16]);
    let context = Context {
        catalog: &catalog,
        cookies: Some(&cookies),
        geo: None,
        signer: None,
        now_seconds,
    };
    let request = Request {
        query,
        client: CLIENT.into(),
        transport: Transport::Udp,
    };
    let mut out = [0; 1232];
    let reply = answer(&context, &request, &mut Entropy::new(1), &mut out).unwrap();
    // A reply has the shape of a query as far as options go.
    let mut bytes = out[..reply.octets].to_vec();
    bytes[2] &= !0x80;
    let option = Query::parse(&bytes)
        .ok()
        .and_then(|query| query.option(code).map(<[u8]>::to_vec));
    (reply, option)
}

#[test]
fn cookies_are_answered_and_recognised() {
    let first = query("app.cloud.example.com", 1, 10, &[7; 8]);
    let (reply, cookie) = ask_with(&first, 10, 1_000);
    assert!(!reply.verified);
    let cookie = cookie.unwrap();
    assert_eq!((cookie.len(), &cookie[..8]), (24, &[7; 8][..]));
    let second = query("app.cloud.example.com", 1, 10, &cookie);
    let (reply, fresh) = ask_with(&second, 10, 2_000);
    assert!(reply.verified);
    assert_ne!(fresh.unwrap(), cookie);
    let (reply, fresh) = ask_with(&second, 10, 9_000);
    assert!(!reply.verified, "an old cookie proves nothing");
    assert!(fresh.is_some());
}

#[test]
fn cookies_of_impossible_length_are_malformed() {
    for octets in 0..60 {
        let query = query("app.cloud.example.com", 1, 10, &vec![1; octets]);
        let allowed = octets == 8 || (16..=40).contains(&octets);
        let expected = if allowed {
            Rcode::NOERROR
        } else {
            Rcode::FORMERR
        };
        assert_eq!(ask_with(&query, 10, 0).0.rcode, expected, "{octets} octets");
    }
}

#[test]
fn options_that_run_over_are_malformed() {
    let mut query = query("app.cloud.example.com", 1, 65_001, &[1; 4]);
    let at = query.len() - 5;
    query[at] = 9;
    assert_eq!(ask_with(&query, 10, 0).0.rcode, Rcode::FORMERR);
}

/// RFC 8914 §4.19, §4.21, §4.22.
#[test]
fn refusals_say_why() {
    for (host, rtype, rcode, extended) in [
        ("elsewhere.org", 1, Rcode::REFUSED, Some(20)),
        ("cloud.example.com", 252, Rcode::REFUSED, Some(18)),
        ("cloud.example.com", 249, Rcode::NOTIMP, Some(21)),
        ("app.cloud.example.com", 1, Rcode::NOERROR, None),
        ("no.cloud.example.com", 1, Rcode::NXDOMAIN, None),
    ] {
        let (reply, option) = ask_with(&query(host, rtype, 65_001, &[]), 15, 0);
        assert_eq!(reply.rcode, rcode);
        assert_eq!(
            option,
            extended.map(|code: u16| code.to_be_bytes().to_vec()),
            "{host}"
        );
    }
}

/// A name's reason goes with its replies, in denials too, and only where there is room.
#[test]
fn entries_say_why() {
    let zone = name("cloud.example.com");
    let entry = |n: u8, text: &str| Entry {
        sets: (n > 0)
            .then(|| RecordSet::fixed(5, (0..n).map(|n| Data::A([127, 1, 1, n].into())).collect()))
            .into_iter()
            .collect(),
        why: Some(Why::new(Why::OTHER, text)),
    };
    let set = |host: &str, entry: Entry| Change::Set {
        zone: zone.clone(),
        name: name(host),
        entry: entry.into(),
    };
    let long = "x".repeat(500);
    let (catalog, errors) = catalog("zone cloud.example.com 30\n*.wild 5 A 127.0.0.1").with(vec![
        set("up.cloud.example.com", entry(2, "us: silent")),
        set("long.cloud.example.com", entry(0, &long)),
        set("full.cloud.example.com", entry(26, &long)),
        set(
            "a.down.cloud.example.com",
            entry(0, "eu: no ready endpoints"),
        ),
        set(
            "a.wild.cloud.example.com",
            entry(0, "not even the wildcard is"),
        ),
    ]);
    assert_eq!(errors, []);
    let ask = |host: &str, octets: u16| {
        let question = Question {
            name: name(host),
            rtype: Type::A,
        };
        let query = encode_query(1, 0, &question, Some(octets));
        let bytes = reply(&catalog, &query, Transport::Udp).unwrap();
        let message = Message::parse(&bytes).unwrap();
        // The option is the last of the reply.
        let at = bytes.windows(2).rposition(|code| code == [0, 15]);
        let text = at.map(|at| String::from_utf8_lossy(&bytes[at + 6..]).into_owned());
        (
            message.rcode,
            message.answers.len(),
            text.unwrap_or_default(),
        )
    };
    let nxdomain = |text: &str| (Rcode::NXDOMAIN, 0, text.to_owned());
    for (host, octets, expected) in [
        ("up", 1232, (Rcode::NOERROR, 2, "us: silent".to_owned())),
        ("a.down", 1232, nxdomain("eu: no ready endpoints")),
        // What has nothing but a reason does not make the name above it exist, nor block a wildcard.
        ("down", 1232, nxdomain("")),
        ("a.wild", 1232, (Rcode::NOERROR, 1, String::new())),
        ("long", 1232, nxdomain(&long[..200])),
        ("full", 512, (Rcode::NOERROR, 26, String::new())),
    ] {
        assert_eq!(
            ask(&format!("{host}.cloud.example.com"), octets),
            expected,
            "{host}"
        );
    }
}

/// RFC 8914 §4.4.
#[test]
fn remembered_zones_answer_as_stale() {
    let fresh = catalog("zone cloud.example.com 30\napp 5 A 127.1.1.10");
    let zone = fresh.zones()[0].clone();
    let stale = fresh.with_zones([zone.remembered(7)]);
    let query = query("app.cloud.example.com", 1, 65_001, &[]);
    let has = |catalog: &Catalog| {
        let bytes = reply(catalog, &query, Transport::Udp).unwrap();
        bytes.windows(2).any(|code| code == [0, 15])
    };
    assert!(has(&stale) && !has(&fresh));
}

#[test]
fn kinds_tell_answers_denials_and_refusals_apart() {
    let kind = |host: &str| ask_with(&query(host, 1, 65_001, &[]), 15, 0).0.kind;
    assert_eq!(kind("x.cloud.example.com"), kind("y.cloud.example.com"));
    assert_ne!(kind("x.cloud.example.com"), kind("app.cloud.example.com"));
    assert_eq!(kind("elsewhere.org"), kind("other.org"));
}

#[test]
fn a_reply_cut_short_keeps_the_question_only() {
    let catalog = many_addresses();
    let question = Question {
        name: name("app.cloud.example.com"),
        rtype: Type::A,
    };
    let query = encode_query(5, 0, &question, Some(1232));
    let mut bytes = reply(&catalog, &query, Transport::Udp).unwrap();
    let octets = cut_short(&mut bytes);
    let message = Message::parse(&bytes[..octets]).unwrap();
    assert!(message.has(FLAG_TC) && message.answers.is_empty());
    assert_eq!(message.question, Some(question));
    assert!(octets < query.len() && bytes[octets - 2..octets] == CLASS_IN.to_be_bytes());
}

fn many_addresses() -> Catalog {
    catalog("zone cloud.example.com 30\napp 5 A 127.1.1.10\napp 5 A 127.1.1.11")
}

/// Asks for a host answered by place, with a subnet option or without; gives the last octets of the addresses and the option.
fn ask_near(
    client: [u8; 4],
    subnet: Option<&[u8]>,
    geo: Option<&Geo>,
) -> (Vec<u8>, Option<Vec<u8>>) {
    let zone = name("cloud.example.com");
    let addresses = [[10, 0, 1, 1], [10, 0, 2, 2], [10, 0, 3, 3]].map(|a| Data::A(a.into()));
    let entry = |set| Entry::of(set);
    let (catalog, errors) = Catalog::default().with(vec![
        Change::Zone(Settings::k8gb(zone.clone(), 0, 30, vec![]).unwrap()),
        Change::Set {
            name: zone.child("near").unwrap(),
            zone,
            entry: entry(RecordSet::nearest(5, addresses.to_vec())).into(),
        },
    ]);
    assert_eq!(errors, []);
    let query = match subnet {
        Some(subnet) => query("near.cloud.example.com", 1, 8, subnet),
        None => query("near.cloud.example.com", 1, 65_001, &[]),
    };
    let context = Context {
        catalog: &catalog,
        cookies: None,
        geo,
        signer: None,
        now_seconds: 0,
    };
    let request = Request {
        query: &query,
        client: client.into(),
        transport: Transport::Udp,
    };
    let mut out = [0; 1232];
    let reply = answer(&context, &request, &mut Entropy::new(1), &mut out).unwrap();
    let message = Message::parse(&out[..reply.octets]).unwrap();
    let last = message.answers.iter().map(|record| match record.data {
        Data::A(address) => address.octets()[3],
        _ => 0,
    });
    let last = last.collect();
    out[2] &= !0x80;
    let query = Query::parse(&out[..reply.octets]).unwrap();
    (last, query.option(8).map(<[u8]>::to_vec))
}

/// D2 and D9: the subnet comes back with the scope the answer is good for, and no database is no disaster.
#[test]
fn answers_by_place_tell_how_far_they_hold() {
    let geo = Geo::new(crate::geo::tests::sites(), &["datacenter"]).unwrap();
    let geo = Some(&geo);
    let far = [203, 0, 113, 1];
    let site1 = [192, 200, 1, 9];
    let site2: &[u8] = &[0, 1, 24, 0, 192, 200, 2];
    let unknown: &[u8] = &[0, 1, 16, 0, 203, 0];
    let nobody: &[u8] = &[0, 1, 0, 0];
    let echo = |option: &[u8], scope| {
        let mut option = option.to_vec();
        option[3] = scope;
        Some(option)
    };
    assert_eq!(ask_near(site1, None, geo), (vec![1], None));
    assert_eq!(ask_near(far, None, geo), (vec![1, 2, 3], None));
    assert_eq!(
        ask_near(site1, Some(site2), geo),
        (vec![2], echo(site2, 24))
    );
    let (addresses, option) = ask_near(site1, Some(unknown), geo);
    assert_eq!(addresses, [1, 2, 3]);
    assert!(
        option.unwrap()[3] > 0,
        "for this network, not for everybody"
    );
    assert_eq!(
        ask_near(site1, Some(nobody), geo),
        (vec![1], echo(nobody, 0))
    );
    assert_eq!(
        ask_near(site1, Some(site2), None),
        (vec![1, 2, 3], echo(site2, 0))
    );
}

#[test]
fn malformed_subnets_are_refused_and_others_come_back_with_scope_zero() {
    let malformed = query("app.cloud.example.com", 1, 8, &[0, 1, 24, 0, 1, 2, 3, 4]);
    assert_eq!(ask_with(&malformed, 8, 0).0.rcode, Rcode::FORMERR);
    let subnet = [0, 1, 24, 0, 1, 2, 3];
    let (reply, option) = ask_with(&query("app.cloud.example.com", 1, 8, &subnet), 8, 0);
    assert_eq!(
        (reply.rcode, option),
        (Rcode::NOERROR, Some(subnet.to_vec()))
    );
}
