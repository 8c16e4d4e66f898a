//! Signing and refusing.

use ring::rand::SystemRandom;

use super::*;

fn key() -> Key {
    let random = SystemRandom::new();
    Key::from_pkcs8(&Key::generate(&random).unwrap(), &random).unwrap()
}

#[test]
fn what_was_signed_is_verified_and_nothing_else() {
    let key = key();
    let claims = json!({"sub": "x", "exp": 1});
    let token = key.sign(&claims, &SystemRandom::new()).unwrap();
    assert_eq!(key.verify(&token), Ok(claims.clone()));
    assert_eq!(unverified(&token), Ok(claims));

    let parts: Vec<_> = token.split('.').collect();
    let other_claims = BASE64.encode(json!({"sub": "root"}).to_string());
    let header = |header: Value| BASE64.encode(header.to_string());
    let id = &key.id;
    let cases = [
        (
            format!("{}.{other_claims}.{}", parts[0], parts[2]),
            Error::Signature,
        ),
        (
            format!("{}.{}.{}", parts[0], parts[1], BASE64.encode([0; 64])),
            Error::Signature,
        ),
        (format!("{}.{}.", parts[0], parts[1]), Error::Signature),
        (
            format!(
                "{}.{}.",
                header(json!({"alg": "none", "kid": id})),
                parts[1]
            ),
            Error::OtherKey,
        ),
        (
            format!(
                "{}.{}.{}",
                header(json!({"alg": "HS256", "kid": id})),
                parts[1],
                parts[2]
            ),
            Error::OtherKey,
        ),
        (
            format!(
                "{}.{}.{}",
                header(json!({"alg": "ES256", "kid": "z"})),
                parts[1],
                parts[2]
            ),
            Error::OtherKey,
        ),
        (format!("{}.{}", parts[0], parts[1]), Error::Malformed),
        (format!("{token}.x"), Error::Malformed),
        ("".into(), Error::Malformed),
        (
            format!("{}{token}", "A".repeat(TOKEN_BYTES_MAX)),
            Error::Malformed,
        ),
    ];
    for (token, expected) in cases {
        assert_eq!(key.verify(&token), Err(expected), "{token}");
    }
    assert_eq!(super::tests::key().verify(&token), Err(Error::OtherKey));
}

#[test]
fn the_public_key_verifies_with_its_coordinates_alone() {
    let key = key();
    let public = key.public();
    let coordinate = |name: &str| BASE64.decode(public[name].as_str().unwrap()).unwrap();
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let token = key.sign(&json!({}), &SystemRandom::new()).unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
        .verify(signed.as_bytes(), &BASE64.decode(signature).unwrap())
        .unwrap();
    assert_eq!(public["kid"], key.id.as_str());
}

#[test]
fn another_document_is_no_key() {
    assert_eq!(
        Key::from_pkcs8(b"x", &SystemRandom::new()).err(),
        Some(Error::Key)
    );
}
