use super::*;

#[test]
fn keys_are_read_as_tsig_keygen_prints_them() {
    let text = "# for the fleet\nkey \"Fleet\" {\n\talgorithm hmac-sha256;\n\tsecret \"c2VjcmV0\";\n};\n\
                /* another */ key other.example. { secret c2VjcmV0; algorithm HMAC-SHA512; }; // end";
    let keys = parse(text).unwrap();
    let names = keys.iter().map(|key| key.name().to_string());
    assert_eq!(names.collect::<Vec<_>>(), ["fleet", "other.example"]);
    let own = Key::new(
        Name::parse("fleet").unwrap(),
        Algorithm::HmacSha256,
        b"secret",
    );
    let question = crate::message::Question {
        name: Name::root(),
        rtype: crate::record::Type::SOA,
    };
    let mut message = crate::message::encode_query(1, 0, &question, None);
    own.sign_request(&mut message, 5);
    assert!(super::super::verify_request(&keys, &message, 5).is_ok());
}

#[test]
fn what_is_no_key_is_named_without_the_secret() {
    let cases = [
        ("", "there is no key"),
        ("zone x {};", "expected key in key number 1"),
        (
            "key a { algorithm hmac-sha256; secret \"c2VjcmV0\"; }",
            "expected ; in key",
        ),
        ("key a { secret \"c2VjcmV0\"; };", "expected `algorithm`"),
        ("key a { algorithm hmac-sha256; };", "expected `secret`"),
        (
            "key a { algorithm hmac-md5; secret \"c2VjcmV0\"; };",
            "\"hmac-md5\"",
        ),
        (
            "key a { algorithm hmac-sha256; secret \"s3cr3t!\"; };",
            "not in base64",
        ),
        (
            "key a { algorithm hmac-sha256; secret \"\"; };",
            "not in base64",
        ),
        (
            "key a..b { algorithm hmac-sha256; secret \"c2VjcmV0\"; };",
            "cannot name a key",
        ),
        ("key a { colour red; };", "expected `algorithm`, `secret`"),
        ("key \"a", "expected {"),
    ];
    for (text, expected) in cases {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
        assert!(!error.contains("s3cr3t"), "{error}");
    }
}
