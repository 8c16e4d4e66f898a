use super::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// One value of every kind of data, with its presentation form.
pub(crate) fn samples() -> Vec<(Data, &'static str)> {
    let binding = Binding {
        priority: 1,
        target: Name::root(),
        params: vec![(1, b"\x02h2".to_vec()), (3, vec![0x1f, 0x90])],
    };
    let soa = Soa {
        mname: name("ns1.dns.cloud.example.com"),
        rname: name("hostmaster.dns.cloud.example.com"),
        serial: 1_700_000_000,
        refresh_seconds: 7200,
        retry_seconds: 1800,
        expire_seconds: 86400,
        minimum_seconds: 30,
    };
    vec![
        (Data::A([127, 1, 1, 10].into()), "127.1.1.10"),
        (Data::Aaaa("fd00::1".parse().unwrap()), "fd00::1"),
        (Data::Ns(name("ns.example.com")), "ns.example.com"),
        (Data::Cname(name("www.example.com")), "www.example.com"),
        (Data::Ptr(name("host.example.com")), "host.example.com"),
        (
            Data::Mx {
                preference: 10,
                exchange: name("mx.example.com"),
            },
            "10 mx.example.com",
        ),
        (Data::txt("strategy=failover"), "\"strategy=failover\""),
        (
            Data::Srv {
                priority: 0,
                weight: 100,
                port: 443,
                target: name("a.example.com"),
            },
            "0 100 443 a.example.com",
        ),
        (
            Data::Svcb(binding.clone()),
            r#"1 . key1="\x02h2" key3="\x1f\x90""#,
        ),
        (Data::Https(binding), r#"1 . key1="\x02h2" key3="\x1f\x90""#),
        (
            Data::Soa(soa),
            "ns1.dns.cloud.example.com hostmaster.dns.cloud.example.com 1700000000 7200 1800 86400 30",
        ),
        (
            Data::Other {
                rtype: Type(99),
                rdata: vec![1, 0xff],
            },
            "\\# 2 01 ff",
        ),
    ]
}

#[test]
fn every_kind_of_data_round_trips_and_prints() {
    for (data, text) in samples() {
        let mut rdata = Vec::new();
        data.encode(&mut rdata).unwrap();
        let mut cursor = Cursor::new(&rdata);
        assert_eq!(
            Data::decode(data.rtype(), &mut cursor, rdata.len()).unwrap(),
            data
        );
        assert_eq!(data.to_string(), text);
    }
}

#[test]
fn cut_or_padded_data_is_broken() {
    for (data, _) in samples() {
        if matches!(data, Data::Other { .. }) {
            continue;
        }
        let mut rdata = Vec::new();
        data.encode(&mut rdata).unwrap();
        let cut = &rdata[..rdata.len() - 1];
        assert!(
            Data::decode(data.rtype(), &mut Cursor::new(cut), cut.len()).is_err(),
            "{data}"
        );
        rdata.push(0xc0);
        let mut cursor = Cursor::new(&rdata);
        assert!(
            Data::decode(data.rtype(), &mut cursor, rdata.len()).is_err(),
            "{data}"
        );
    }
}

#[test]
fn types_have_names_and_numbers() {
    for (text, number) in [
        ("a", 1),
        ("AAAA", 28),
        ("https", 65),
        ("TYPE99", 99),
        ("type1", 1),
    ] {
        assert_eq!(text.parse(), Ok(Type(number)));
    }
    assert_eq!(Type(99).to_string(), "TYPE99");
    for bad in ["", "TYPE", "TYPE70000", "nonsense", "ÄÄÄÄÄ"] {
        assert!(bad.parse::<Type>().is_err(), "{bad}");
    }
}

#[test]
fn long_text_is_cut_into_strings() {
    let Data::Txt(strings) = Data::txt(&"x".repeat(600)) else {
        unreachable!()
    };
    assert_eq!(
        strings.iter().map(Vec::len).collect::<Vec<_>>(),
        [255, 255, 90]
    );
}

#[test]
fn service_parameters_must_increase() {
    let params = vec![(3, vec![]), (1, vec![])];
    let data = Data::Https(Binding {
        priority: 1,
        target: Name::root(),
        params,
    });
    assert_eq!(
        data.encode(&mut Vec::new()).unwrap_err().to_string(),
        "service parameter 1 does not follow 3 in increasing order"
    );
}
