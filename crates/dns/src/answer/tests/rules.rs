//! One row per rule of the table in the module's documentation.

use expect_test::{Expect, expect};

use super::*;

const WORLD: &str = "
    zone example.com 300 ns.example.com 127.1.0.1
    www 60 CNAME web.example.com
    web 60 A 127.1.0.5
    out 60 CNAME www.elsewhere.org
    into 60 CNAME app.cloud.example.com
    deep 60 CNAME x.lame.example.com
    loop1 60 CNAME loop2.example.com
    loop2 60 CNAME loop1.example.com
    dangling 60 CNAME nothing.example.com
    lame 60 NS ns1.lame.example.com
    lame 60 NS ns.example.com
    lame 60 NS ns.elsewhere.org
    ns1.lame 60 A 127.1.9.1
    ns1.lame 60 AAAA fd00::9
    secret.lame 60 A 127.1.9.9
    cloud 60 NS gslb-ns-eu-cloud.example.com
    gslb-ns-eu-cloud 60 A 127.1.1.1
    zone cloud.example.com 30 gslb-ns-eu-cloud.example.com 127.1.1.1
    app 5 A 127.1.1.10
    app 5 A 127.1.1.11
    app 5 TXT hello
    a.b 30 A 127.1.1.12
    down !
    *.wild 30 A 127.1.1.13
    x.wild 30 TXT here
    _http._tcp.app 30 SRV 0 10 80 app.cloud.example.com
    v6 30 AAAA fd00::10
";

fn check(question: &str, expected: Expect) {
    expected.assert_eq(&ask(&catalog(WORLD), question));
}

#[test]
fn records_are_given_with_aa_and_their_ttl() {
    check(
        "app.cloud.example.com A",
        expect![[r#"
            NOERROR aa
            app.cloud.example.com 5 A 127.1.1.10
            app.cloud.example.com 5 A 127.1.1.11"#]],
    );
    check(
        "_http._tcp.app.cloud.example.com SRV",
        expect![[r#"
            NOERROR aa
            _http._tcp.app.cloud.example.com 30 SRV 0 10 80 app.cloud.example.com
            add app.cloud.example.com 5 A 127.1.1.10
            add app.cloud.example.com 5 A 127.1.1.11"#]],
    );
}

/// D6: a TXT question never gets addresses as text, an A question never an empty address.
#[test]
fn types_are_not_mixed_up() {
    check(
        "app.cloud.example.com TXT",
        expect![[r#"
            NOERROR aa
            app.cloud.example.com 5 TXT "hello""#]],
    );
    check(
        "x.wild.cloud.example.com A",
        expect![[r#"
            NOERROR aa
            auth cloud.example.com 30 SOA gslb-ns-eu-cloud.example.com hostmaster.dns.cloud.example.com 3600 7200 1800 86400 30"#]],
    );
    check(
        "v6.cloud.example.com AAAA",
        expect![[r#"
            NOERROR aa
            v6.cloud.example.com 30 AAAA fd00::10"#]],
    );
}

#[test]
fn a_missing_type_is_nodata() {
    check(
        "app.cloud.example.com AAAA",
        expect![[r#"
            NOERROR aa
            auth cloud.example.com 30 SOA gslb-ns-eu-cloud.example.com hostmaster.dns.cloud.example.com 3600 7200 1800 86400 30"#]],
    );
}

#[test]
fn a_missing_name_is_nxdomain() {
    check(
        "nothing.cloud.example.com A",
        expect![[r#"
            NXDOMAIN aa
            auth cloud.example.com 30 SOA gslb-ns-eu-cloud.example.com hostmaster.dns.cloud.example.com 3600 7200 1800 86400 30"#]],
    );
}

/// D5: with QNAME minimisation a resolver asks for the parts first and believes an NXDOMAIN (RFC 8020).
#[test]
fn a_name_above_others_exists_without_data() {
    let nodata = expect![[r#"
        NOERROR aa
        auth cloud.example.com 30 SOA gslb-ns-eu-cloud.example.com hostmaster.dns.cloud.example.com 3600 7200 1800 86400 30"#]];
    for question in [
        "b.cloud.example.com A",
        "_tcp.app.cloud.example.com NS",
        "wild.cloud.example.com A",
    ] {
        nodata.assert_eq(&ask(&catalog(WORLD), question));
    }
    nodata.assert_eq(&ask(&catalog(WORLD), "down.cloud.example.com A"));
}

#[test]
fn wildcards_cover_what_does_not_exist_below_their_parent() {
    check(
        "any.thing.wild.cloud.example.com A",
        expect![[r#"
            NOERROR aa
            any.thing.wild.cloud.example.com 30 A 127.1.1.13"#]],
    );
    // RFC 4592: a name that exists, and everything below it, is not covered.
    check(
        "y.x.wild.cloud.example.com A",
        expect![[r#"
            NXDOMAIN aa
            auth cloud.example.com 30 SOA gslb-ns-eu-cloud.example.com hostmaster.dns.cloud.example.com 3600 7200 1800 86400 30"#]],
    );
    check(
        "any.wild.cloud.example.com AAAA",
        expect![[r#"
            NOERROR aa
            auth cloud.example.com 30 SOA gslb-ns-eu-cloud.example.com hostmaster.dns.cloud.example.com 3600 7200 1800 86400 30"#]],
    );
}

#[test]
fn the_apex_has_soa_and_the_delegated_name_servers() {
    check(
        "cloud.example.com SOA",
        expect![[r#"
            NOERROR aa
            cloud.example.com 30 SOA gslb-ns-eu-cloud.example.com hostmaster.dns.cloud.example.com 3600 7200 1800 86400 30
            auth cloud.example.com 30 NS gslb-ns-eu-cloud.example.com
            add gslb-ns-eu-cloud.example.com 30 A 127.1.1.1"#]],
    );
    check(
        "example.com NS",
        expect![[r#"
            NOERROR aa
            example.com 300 NS ns.example.com
            add ns.example.com 300 A 127.1.0.1"#]],
    );
    check(
        "ns.example.com A",
        expect![[r#"
            NOERROR aa
            ns.example.com 300 A 127.1.0.1"#]],
    );
    check(
        "cloud.example.com A",
        expect![[r#"
            NOERROR aa
            auth cloud.example.com 30 SOA gslb-ns-eu-cloud.example.com hostmaster.dns.cloud.example.com 3600 7200 1800 86400 30"#]],
    );
}

#[test]
fn the_plain_k8gb_layout_is_served() {
    let catalog = catalog("zone cloud.example.com 30");
    expect![[r#"
        NOERROR aa
        cloud.example.com 30 NS ns1.dns.cloud.example.com"#]]
    .assert_eq(&ask(&catalog, "cloud.example.com NS"));
    expect![[r#"
        NOERROR aa
        auth cloud.example.com 30 SOA ns1.dns.cloud.example.com hostmaster.dns.cloud.example.com 3600 7200 1800 86400 30"#]]
    .assert_eq(&ask(&catalog, "dns.cloud.example.com A"));
    expect![[r#"
        NXDOMAIN aa
        auth cloud.example.com 30 SOA ns1.dns.cloud.example.com hostmaster.dns.cloud.example.com 3600 7200 1800 86400 30"#]]
    .assert_eq(&ask(&catalog, "ns2.dns.cloud.example.com A"));
}

#[test]
fn below_a_delegation_comes_a_referral() {
    for question in [
        "lame.example.com A",
        "secret.lame.example.com A",
        "lame.example.com NS",
    ] {
        check(
            question,
            expect![[r#"
                NOERROR
                auth lame.example.com 60 NS ns1.lame.example.com
                auth lame.example.com 60 NS ns.example.com
                auth lame.example.com 60 NS ns.elsewhere.org
                add ns1.lame.example.com 60 A 127.1.9.1
                add ns1.lame.example.com 60 AAAA fd00::9
                add ns.example.com 300 A 127.1.0.1"#]],
        );
    }
    check(
        "lame.example.com DS",
        expect![[r#"
            NOERROR aa
            auth example.com 300 SOA ns.example.com hostmaster.dns.example.com 3600 7200 1800 86400 300"#]],
    );
}

#[test]
fn a_parent_alone_refers_to_the_clusters() {
    let edge = catalog(
        "zone example.com 300 ns.example.com 127.1.0.1
         cloud 60 NS gslb-ns-eu-cloud.example.com
         cloud 60 NS gslb-ns-us-cloud.example.com
         gslb-ns-eu-cloud 60 A 127.1.1.1
         gslb-ns-us-cloud 60 A 127.1.2.1",
    );
    expect![[r#"
        NOERROR
        auth cloud.example.com 60 NS gslb-ns-eu-cloud.example.com
        auth cloud.example.com 60 NS gslb-ns-us-cloud.example.com
        add gslb-ns-eu-cloud.example.com 60 A 127.1.1.1
        add gslb-ns-us-cloud.example.com 60 A 127.1.2.1"#]]
    .assert_eq(&ask(&edge, "podinfo.cloud.example.com A"));
}

#[test]
fn ds_is_the_parents_business() {
    check(
        "cloud.example.com DS",
        expect![[r#"
            NOERROR aa
            auth example.com 300 SOA ns.example.com hostmaster.dns.example.com 3600 7200 1800 86400 300"#]],
    );
}

#[test]
fn aliases_are_followed_through_our_zones() {
    check(
        "www.example.com A",
        expect![[r#"
            NOERROR aa
            www.example.com 60 CNAME web.example.com
            web.example.com 60 A 127.1.0.5"#]],
    );
    check(
        "into.example.com A",
        expect![[r#"
            NOERROR aa
            into.example.com 60 CNAME app.cloud.example.com
            app.cloud.example.com 5 A 127.1.1.10
            app.cloud.example.com 5 A 127.1.1.11"#]],
    );
    check(
        "www.example.com CNAME",
        expect![[r#"
            NOERROR aa
            www.example.com 60 CNAME web.example.com"#]],
    );
    check(
        "out.example.com A",
        expect![[r#"
            NOERROR aa
            out.example.com 60 CNAME www.elsewhere.org"#]],
    );
}

#[test]
fn the_end_of_an_alias_decides_the_code() {
    check(
        "www.example.com AAAA",
        expect![[r#"
            NOERROR aa
            www.example.com 60 CNAME web.example.com
            auth example.com 300 SOA ns.example.com hostmaster.dns.example.com 3600 7200 1800 86400 300"#]],
    );
    check(
        "dangling.example.com A",
        expect![[r#"
            NXDOMAIN aa
            dangling.example.com 60 CNAME nothing.example.com
            auth example.com 300 SOA ns.example.com hostmaster.dns.example.com 3600 7200 1800 86400 300"#]],
    );
    check(
        "deep.example.com A",
        expect![[r#"
            NOERROR aa
            deep.example.com 60 CNAME x.lame.example.com
            auth lame.example.com 60 NS ns1.lame.example.com
            auth lame.example.com 60 NS ns.example.com
            auth lame.example.com 60 NS ns.elsewhere.org
            add ns1.lame.example.com 60 A 127.1.9.1
            add ns1.lame.example.com 60 AAAA fd00::9
            add ns.example.com 300 A 127.1.0.1"#]],
    );
}

#[test]
fn alias_loops_are_cut_off() {
    let reply = ask(&catalog(WORLD), "loop1.example.com A");
    assert_eq!(reply.lines().count(), 2 + CNAME_HOPS_MAX);
    assert!(reply.starts_with("NOERROR aa\nloop1.example.com 60 CNAME loop2.example.com"));
}

#[test]
fn any_gets_one_small_record() {
    check(
        "app.cloud.example.com ANY",
        expect![[r#"
            NOERROR aa
            app.cloud.example.com 3600 HINFO \# 9 07 52 46 43 38 34 38 32 00"#]],
    );
}

#[test]
fn questions_outside_our_zones_are_refused() {
    for question in [
        "elsewhere.org A",
        "com A",
        ". NS",
        "cloud.example.com.evil.org A",
        "cloud.example.com AXFR",
    ] {
        check(question, expect!["REFUSED"]);
    }
    check("cloud.example.com TYPE250", expect!["NOTIMP"]);
    // Longest suffix by whole labels: this one belongs to example.com.
    check(
        "app.mycloud.example.com A",
        expect![[r#"
            NXDOMAIN aa
            auth example.com 300 SOA ns.example.com hostmaster.dns.example.com 3600 7200 1800 86400 300"#]],
    );
}

/// Raw query bytes: header fields, then whatever is given.
fn raw(flags: u16, counts: [u16; 4], rest: &[u8]) -> Vec<u8> {
    let mut query = vec![0xab, 0xcd];
    query.extend(flags.to_be_bytes());
    query.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
    query.extend(rest);
    query
}

const QUESTION: &[u8] = b"\x03ApP\x05cLoUd\x07example\x03com\x00\x00\x01\x00\x01";

/// Code, flags, whether the question is echoed, and whether an OPT record is present.
fn outcome(query: &[u8]) -> String {
    let Some(reply) = reply(&catalog(WORLD), query, Transport::Udp) else {
        return "nothing".to_owned();
    };
    assert_eq!(reply[..2], query[..2]);
    let message = Message::parse(&reply).unwrap();
    let echoed = reply[12..].starts_with(QUESTION) && message.question.is_some();
    let opt = message
        .udp_octets
        .map_or(String::new(), |octets| format!(" opt {octets}"));
    format!(
        "{}{}{opt}",
        message.rcode,
        if echoed { " echoed" } else { "" }
    )
}

#[test]
fn malformed_queries_get_the_right_code() {
    let with = |rest: &[u8]| [QUESTION, rest].concat();
    let opt = |version: u8| [0, 0, 41, 0x10, 0, 0, version, 0, 0, 0, 0];
    let two = [QUESTION, QUESTION].concat();
    let chaos = b"\x07version\x04bind\x00\x00\x10\x00\x03";
    for (query, expected) in [
        (vec![], "nothing"),
        (vec![0; 11], "nothing"),
        (raw(0x8000, [1, 0, 0, 0], QUESTION), "nothing"),
        (raw(0, [0, 0, 0, 0], &[]), "FORMERR"),
        (raw(0, [2, 0, 0, 0], &two), "FORMERR"),
        (raw(0, [1, 0, 0, 0], &QUESTION[..9]), "FORMERR"),
        (raw(0, [1, 0, 0, 0], b"\xc0\x0c\x00\x01\x00\x01"), "FORMERR"),
        (
            raw(0, [1, 0, 0, 0], b"\x41aaa\x00\x00\x01\x00\x01"),
            "FORMERR",
        ),
        (raw(0x0800, [1, 0, 0, 0], QUESTION), "NOTIMP"),
        (raw(0x2000, [1, 0, 0, 0], QUESTION), "NOTIMP"),
        (raw(0x2800, [0, 0, 0, 0], &[]), "NOTIMP"),
        (raw(0, [1, 0, 0, 0], chaos), "REFUSED"),
        (raw(0, [1, 0, 0, 0], QUESTION), "NOERROR echoed"),
        (
            raw(0, [1, 0, 0, 1], &with(&opt(0))),
            "NOERROR echoed opt 1232",
        ),
        (
            raw(0, [1, 0, 0, 1], &with(&opt(1))),
            "BADVERS echoed opt 1232",
        ),
        (
            raw(0, [1, 0, 0, 2], &with(&[opt(0), opt(0)].concat())),
            "FORMERR echoed",
        ),
        (raw(0, [1, 0, 1, 0], &with(&opt(0))), "FORMERR echoed"),
        (raw(0, [1, 0, 0, 1], &with(&opt(0)[..10])), "FORMERR echoed"),
        (raw(0, [1, 0, 0, 65535], QUESTION), "FORMERR echoed"),
    ] {
        assert_eq!(outcome(&query), expected, "{query:02x?}");
    }
}

/// D4: mixed case keeps TTL and records, and comes back as it was spelt.
#[test]
fn case_is_ignored_and_echoed() {
    let reply = reply(
        &catalog(WORLD),
        &raw(0, [1, 0, 0, 0], QUESTION),
        Transport::Udp,
    )
    .unwrap();
    assert!(reply[12..].starts_with(QUESTION));
    expect![[r#"
        NOERROR aa
        app.cloud.example.com 5 A 127.1.1.10
        app.cloud.example.com 5 A 127.1.1.11"#]]
    .assert_eq(&render(&reply));
}

#[test]
fn rd_and_cd_are_echoed_and_ra_is_not_claimed() {
    let reply = reply(
        &catalog(WORLD),
        &raw(0x0130, [1, 0, 0, 0], QUESTION),
        Transport::Udp,
    )
    .unwrap();
    assert_eq!(u16::from_be_bytes([reply[2], reply[3]]), 0x8510);
}

fn many(n_records: usize) -> Catalog {
    let mut text = "zone cloud.example.com 30\n".to_owned();
    for host in 1..=n_records {
        writeln!(text, "app 30 A 127.1.{}.{}", host / 256, host % 256).unwrap();
    }
    catalog(&text)
}

/// A query with an EDNS buffer; `None` sends no OPT record. Gives flags, answers and octets of the reply.
fn sized(n_records: usize, octets: Option<u16>, transport: Transport) -> (bool, usize, usize) {
    let question = Question {
        name: name("app.cloud.example.com"),
        rtype: Type::A,
    };
    let query = encode_query(1, 0, &question, octets);
    let reply = reply(&many(n_records), &query, transport).unwrap();
    let message = Message::parse(&reply).unwrap();
    assert_eq!(message.udp_octets.is_some(), octets.is_some());
    (message.has(FLAG_TC), message.answers.len(), reply.len())
}

/// 40 load balancer addresses: a plain client sees 29, TC, and gets the rest over TCP.
#[test]
fn long_answers_are_cut_after_a_whole_record() {
    assert_eq!(sized(40, None, Transport::Udp), (true, 29, 503));
    assert_eq!(sized(40, Some(1232), Transport::Udp), (false, 40, 690));
    assert_eq!(sized(40, None, Transport::Tcp), (false, 40, 679));
    assert_eq!(sized(512, None, Transport::Tcp), (false, 512, 8231));
    assert_eq!(sized(29, None, Transport::Udp), (false, 29, 503));
    // Below 512 counts as 512 (RFC 6891 §6.2.3), above 1232 as 1232.
    assert_eq!(sized(40, Some(0), Transport::Udp), (true, 28, 498));
    assert_eq!(sized(100, Some(65535), Transport::Udp), (true, 73, 1218));
}

#[test]
fn replies_fit_every_edns_buffer() {
    let catalog = many(90);
    let question = Question {
        name: name("app.cloud.example.com"),
        rtype: Type::A,
    };
    // Every size that can make a difference, then some of those that cannot.
    for octets in 0..=u16::MAX {
        let query = encode_query(1, 0, &question, Some(octets));
        let mut out = [0; 1232];
        let reply = answer_into(
            &catalog,
            &query,
            Transport::Udp,
            &mut Entropy::new(1),
            &mut out,
        )
        .unwrap();
        assert!(
            reply.octets <= usize::from(octets).clamp(512, 1232),
            "{octets}: {reply:?}"
        );
    }
}

#[test]
fn needed_glue_that_does_not_fit_sets_tc() {
    let mut text = "zone example.com 300 ns.example.com 127.1.0.1\n".to_owned();
    for server in 0..12 {
        writeln!(text, "sub 60 NS ns{server}.sub.example.com").unwrap();
        writeln!(text, "ns{server}.sub 60 A 127.1.9.{server}").unwrap();
    }
    let catalog = catalog(&text);
    let question = Question {
        name: name("x.sub.example.com"),
        rtype: Type::A,
    };
    let plain = reply(
        &catalog,
        &encode_query(1, 0, &question, None),
        Transport::Udp,
    )
    .unwrap();
    assert!(Message::parse(&plain).unwrap().has(FLAG_TC));
    let full = reply(
        &catalog,
        &encode_query(1, 0, &question, Some(1232)),
        Transport::Udp,
    )
    .unwrap();
    let full = Message::parse(&full).unwrap();
    assert!(!full.has(FLAG_TC));
    assert_eq!(full.additionals.len(), 12);
}

#[test]
fn shuffled_sets_give_everything_in_changing_order() {
    let text =
        "zone cloud.example.com 30\napp 30 A~ 127.1.1.1\napp 30 A~ 127.1.1.2\napp 30 A~ 127.1.1.3";
    let catalog = catalog(text);
    let question = Question {
        name: name("app.cloud.example.com"),
        rtype: Type::A,
    };
    let query = encode_query(1, 0, &question, None);
    let mut entropy = Entropy::new(3);
    let mut orders = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let mut out = [0; 512];
        let reply = answer_into(&catalog, &query, Transport::Udp, &mut entropy, &mut out).unwrap();
        let answers = Message::parse(&out[..reply.octets]).unwrap().answers;
        orders.insert(answers.iter().map(Record::to_string).collect::<Vec<_>>());
    }
    assert_eq!(orders.len(), 6);
    assert!(orders.iter().all(|order| order.len() == 3));
}
