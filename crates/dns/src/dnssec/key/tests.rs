use super::*;

/// Source: RFC 6605 §6.1.
fn example() -> PublicKey {
    let point = "GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==";
    let rdata = [&[1, 1, 3, 13], &STANDARD.decode(point).unwrap()[..]].concat();
    PublicKey::from_rdata(&rdata).unwrap()
}

#[test]
fn tag_and_digest_are_those_of_the_standard() {
    let key = example();
    assert_eq!(key.tag(), 55_648);
    let ds = key.ds(&Name::parse("example.net").unwrap());
    let hex = ds[4..].iter().map(|octet| format!("{octet:02x}"));
    assert_eq!(
        hex.collect::<String>(),
        "b4c8c1fe2e7477127b27115656ad6256f424625bf5c1e2770ce6d6e37df61d17"
    );
    assert_eq!(ds[..4], [0xd9, 0x60, 13, 2]);
}

#[test]
fn a_kept_key_is_the_same_key_and_is_never_shown() {
    let (key, pem) = SigningKey::generate().unwrap();
    let again = SigningKey::from_pem(&pem).unwrap();
    assert_eq!(again.public(), key.public());
    let signature = key.sign(b"message").unwrap();
    assert!(again.public().verify(b"message", &signature));
    assert!(!again.public().verify(b"another", &signature));
    let secret = pem.lines().nth(1).unwrap();
    assert!(!format!("{key:?}").contains(&secret[..16]));
    assert!(pem.lines().all(|line| line.len() <= 64));
}

#[test]
fn what_is_no_key_says_so() {
    let (_, pem) = SigningKey::generate().unwrap();
    let cut = pem.replace("-----END PRIVATE KEY-----", "");
    let other = format!("{PEM_BEGIN}\nAAAA\n{PEM_END}\n");
    for text in ["", "not a key", &cut, &pem[..80]] {
        assert_eq!(SigningKey::from_pem(text).unwrap_err(), Error::NotPem);
    }
    let error = SigningKey::from_pem(&other).unwrap_err().to_string();
    assert!(error.starts_with("not an ECDSA P-256 private key"), "{error}");
    let mut zone_key = example().rdata().to_vec();
    zone_key[1] = 0;
    assert_eq!(PublicKey::from_rdata(&zone_key), None);
    assert_eq!(PublicKey::from_rdata(&zone_key[1..]), None);
}
