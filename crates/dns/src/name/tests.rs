use proptest::prelude::*;

use super::*;

#[test]
fn presentation_form_round_trips() {
    for (text, shown) in [
        ("", "."),
        (".", "."),
        ("example.com", "example.com"),
        ("Example.COM.", "example.com"),
        (r"a\.b.c", r"a\.b.c"),
        (r"a\032b.c", r"a\032b.c"),
        (r"\065bc", "abc"),
        ("*.apps.example.com", "*.apps.example.com"),
        ("_sip._tcp.example.com", "_sip._tcp.example.com"),
    ] {
        assert_eq!(Name::parse(text).unwrap().to_string(), shown, "{text}");
    }
}

#[test]
fn broken_names_say_why() {
    let long_label = "a".repeat(64);
    let long_name = vec!["a".repeat(49); 6].join(".");
    for (text, expected) in [
        ("a..b", r#"name "a..b" has an empty label"#),
        (".a", r#"name ".a" has an empty label"#),
        (r"a\25", r#"name "a\\25" has a broken escape"#),
        (r"a\256", r#"name "a\\256" has a broken escape"#),
        (r"a\", r#"name "a\\" has a broken escape"#),
        (long_label.as_str(), "label of 64 octets; the limit is 63"),
        (
            long_name.as_str(),
            "name of 301 octets on the wire; the limit is 255",
        ),
    ] {
        assert_eq!(Name::parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_longest_name_has_255_octets() {
    let text = [&"a".repeat(63), &"b".repeat(63), &"c".repeat(63), "d"].map(str::to_owned);
    let fits = format!("{}.{}.{}.{}", text[0], text[1], text[2], "d".repeat(61));
    assert_eq!(Name::parse(&fits).unwrap().wire().len(), 255);
    assert!(Name::parse(&format!("{fits}d")).is_err());
}

#[test]
fn zones_match_by_whole_labels() {
    let zone = Name::parse("cloud.example.com").unwrap();
    for (host, within) in [
        ("cloud.example.com", true),
        ("app.cloud.example.com", true),
        ("app.mycloud.example.com", false),
        ("cloud.example.com.evil.org", false),
        ("example.com", false),
    ] {
        assert_eq!(
            Name::parse(host).unwrap().is_within(&zone),
            within,
            "{host}"
        );
    }
    assert!(zone.is_within(&Name::root()));
}

#[test]
fn a_label_that_looks_like_a_suffix_is_not_one() {
    // The label `x\003com` ends in the bytes of `com`, but not on a label boundary.
    let tricky = Name::from_wire(b"\x05x\x03com\x00").unwrap();
    assert!(!tricky.is_within(&Name::parse("com").unwrap()));
}

#[test]
fn order_is_canonical() {
    // RFC 4034 §6.1, without the names that differ only in case.
    let sorted = [
        "example",
        "a.example",
        "yljkjljk.a.example",
        "z.a.example",
        "zabc.a.example",
    ]
    .map(|text| Name::parse(text).unwrap());
    let mut shuffled = sorted.clone();
    shuffled.reverse();
    shuffled.sort();
    assert_eq!(shuffled, sorted);
}

proptest! {
    #[test]
    fn any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(name) = Name::from_wire(&bytes) {
            prop_assert_eq!(Name::parse(&name.to_string()).unwrap(), name);
        }
    }

    #[test]
    fn any_text_never_panics(text in ".{0,80}") {
        if let Ok(name) = Name::parse(&text) {
            prop_assert_eq!(Name::from_wire(name.wire()).unwrap(), name);
        }
    }
}
