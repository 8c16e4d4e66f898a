use super::*;
use crate::record::Data;

/// RDATA in hexadecimal, or what is wrong.
fn wire(text: &str) -> String {
    match Binding::parse(text) {
        Ok(binding) => {
            let mut out = Vec::new();
            Data::Https(binding).encode(&mut out).unwrap();
            out.iter().map(|octet| format!("{octet:02x}")).collect()
        }
        Err(error) => error.to_string(),
    }
}

/// Source: RFC 9460 appendix D, the vectors that need no escapes.
#[test]
fn texts_become_the_octets_of_the_standard() {
    for (text, expected) in [
        (
            "0 foo.example.com.",
            "000003666f6f076578616d706c6503636f6d00",
        ),
        ("1 .", "000100"),
        (
            "16 foo.example.com. port=53",
            "001003666f6f076578616d706c6503636f6d00000300020035",
        ),
        (
            "1 foo.example.com. key667=hello",
            "000103666f6f076578616d706c6503636f6d00029b000568656c6c6f",
        ),
        (
            "1 foo.example.com. ipv6hint=\"2001:db8::1,2001:db8::53:1\"",
            "000103666f6f076578616d706c6503636f6d000006002020010db800000000000000000000000120010db8000000000000000000530001",
        ),
        (
            "16 foo.example.org. alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1",
            "001003666f6f076578616d706c65036f7267000000000400010004000100090268320568332d313900040004c0000201",
        ),
        (
            "1 . no-default-alpn alpn=h3",
            "0001000001000302683300020000",
        ),
    ] {
        assert_eq!(wire(text), expected, "{text}");
    }
}

#[test]
fn mistakes_are_named() {
    for (text, expected) in [
        ("", "give a priority and a target, such as \"1 .\""),
        ("x .", "give a priority and a target, such as \"1 .\""),
        ("1 . color=red", "unknown service parameter \"color\""),
        (
            "1 . port=http",
            "\"http\" does not fit the service parameter \"port\"",
        ),
        (
            "1 . alpn=",
            "\"\" does not fit the service parameter \"alpn\"",
        ),
        (
            "1 . ipv4hint=::1",
            "\"::1\" does not fit the service parameter \"ipv4hint\"",
        ),
    ] {
        assert_eq!(wire(text), expected, "{text}");
    }
    for text in [
        "1 . port=1 port=2",
        "0 x. port=1",
        "1 . mandatory=port",
        "1 . mandatory=mandatory",
    ] {
        assert!(wire(text).contains("given twice"), "{text}");
    }
}
