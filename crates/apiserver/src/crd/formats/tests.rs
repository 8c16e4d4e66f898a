use super::{Format, duration_nanos, go_duration};
use crate::crd::structural::JsonType;

/// Format, valid texts, invalid texts. Values from kube-openapi's and Go's own tests.
const CASES: &[(&str, &[&str], &[&str])] = &[
    (
        "bsonobjectid",
        &["507f1f77bcf86cd799439011"],
        &["507f", "507f1f77bcf86cd79943901g"],
    ),
    (
        "byte",
        &["ZWxpemFiZXRocG9zZXk=", "YQ=="],
        &["", "YWJj?", "YQ="],
    ),
    (
        "cidr",
        &["192.168.0.0/16", "::/0", "010.0.0.0/8"],
        &["192.168.0.0", "1.2.3.4/33", "a/1"],
    ),
    (
        "creditcard",
        &["4111-1111-1111-1111"],
        &["4111-1111-1111-1112", "123"],
    ),
    (
        "date",
        &["2014-12-15", "2024-02-29"],
        &["2014-13-15", "2023-02-29", "14-1-1"],
    ),
    (
        "date-time",
        &["2014-12-15T19:30:20.000Z", "2014-12-15t19:30:20+01:00"],
        &["2014-12-15", "2014-12-15T24:30:20Z", "2014-12-15T19:30:20"],
    ),
    (
        "duration",
        &["1h30m", "22 ns", "3 weeks", "0", "-1.5h"],
        &["", "yada", "12"],
    ),
    (
        "email",
        &["a@b.co", "Bob <bob@example.com>", "\"a b\"@c.d"],
        &["a", "a@", "@b", "a..b@c"],
    ),
    ("hexcolor", &["#FFFFFF", "fff"], &["#ff", "#ggg"]),
    (
        "hostname",
        &["example.com", "localhost", "1a.example.org"],
        &["", "a_b.com", "-a.com"],
    ),
    (
        "ipv4",
        &["192.168.254.1", "010.0.0.1"],
        &["198.168.254.2.2", "1.2.3", "a.b.c.d", "::1"],
    ),
    ("ipv6", &["::1", "2001:db8::68"], &["127.0.0.1", "1::2::3"]),
    (
        "isbn10",
        &["0321751043", "080442957X"],
        &["0321751042", "978"],
    ),
    ("isbn13", &["978-0321751041"], &["978-0321751042"]),
    ("isbn", &["0321751043", "9780321751041"], &["12"]),
    ("k8s-short-name", &["a", "a-1"], &["", "A", "-a", "a.b"]),
    ("k8s-long-name", &["a.b-c"], &["a..b", "a.B"]),
    (
        "mac",
        &["01:02:03:04:05:06", "0123.4567.89ab"],
        &["01:02:03:04:05", "0102"],
    ),
    ("password", &["", "x"], &[]),
    (
        "rgbcolor",
        &["rgb(100,100,100)", "rgb( 0, 255 ,1)"],
        &["rgb(300,0,0)", "rgb(01,0,0)"],
    ),
    ("ssn", &["111-11-1111"], &["99 999 999", "111111111"]),
    (
        "uri",
        &["http://somewhere.com", "/a/b", "urn:x"],
        &["somewhere.com", "", "http://a b/"],
    ),
    (
        "uuid",
        &[
            "a8098c1a-f86e-11da-bd1a-00112444be1e",
            "A8098C1AF86E11DABD1A00112444BE1E",
        ],
        &["a8"],
    ),
    (
        "uuid3",
        &["bcd02e22-68f0-3046-a512-327cca9def8f"],
        &["a8098c1a-f86e-11da-bd1a-00112444be1e"],
    ),
    (
        "uuid4",
        &["025b0d74-00a2-4048-bf57-227c5111bb34"],
        &["025b0d74-00a2-4048-cf57-227c5111bb34"],
    ),
    (
        "uuid5",
        &["886313e1-3b8a-5372-9b90-0c9aee199e5d"],
        &["886313e1-3b8a-4372-9b90-0c9aee199e5d"],
    ),
];

#[test]
fn formats_accept_and_refuse_what_upstream_does() {
    for (name, yes, no) in CASES {
        let format = Format::parse(name, Some(JsonType::String)).expect(name);
        assert_eq!(format.as_str(), *name);
        for text in *yes {
            assert!(format.is_valid(text), "{name} {text:?} is valid");
        }
        for text in *no {
            assert!(!format.is_valid(text), "{name} {text:?} is invalid");
        }
    }
}

#[test]
fn a_format_counts_only_for_its_type() {
    assert_eq!(
        Format::parse("int32", Some(JsonType::Integer)),
        Some(Format::Int32)
    );
    assert_eq!(Format::parse("int32", Some(JsonType::String)), None);
    assert_eq!(Format::parse("ipv4", Some(JsonType::Object)), None);
    assert_eq!(Format::parse("no-such", None), None);
}

#[test]
fn durations_are_read_as_go_reads_them() {
    for (text, nanos) in [
        ("0", Some(0)),
        ("1h", Some(3_600_000_000_000)),
        (".5s", Some(500_000_000)),
        ("1.s", Some(1_000_000_000)),
        ("-1m2s", Some(-62_000_000_000)),
        ("1µs", Some(1_000)),
        ("9223372036854775807ns", Some(i64::MAX)),
        ("9223372036854775808ns", None),
        ("1d", None),
        ("s", None),
        (".", None),
    ] {
        assert_eq!(go_duration(text), nanos, "{text}");
    }
    assert_eq!(duration_nanos("1d"), Some(86_400_000_000_000));
}
