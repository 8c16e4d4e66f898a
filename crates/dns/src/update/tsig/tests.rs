use super::{Error, Key, sign, verify};
use crate::name::Name;
use crate::record::Type;
use crate::update::{Line, encode};

const NOW: u64 = 1_800_000_000;

fn key(name: &str, secret: &[u8]) -> Key {
    Key {
        name: Name::parse(name).unwrap(),
        secret: secret.to_vec(),
    }
}

fn message() -> Vec<u8> {
    let name = Name::parse("a.example.com").unwrap();
    let lines = [Line::DeleteSet {
        name,
        rtype: Type::ANY,
    }];
    encode(7, &Name::parse("example.com").unwrap(), &lines).unwrap()
}

#[test]
fn a_signature_holds_for_its_message_key_and_time_only() {
    let ours = key("fleet", b"secret");
    let mut signed = message();
    let mac = sign(&mut signed, &ours, None, NOW);
    let ok = verify(&signed, std::slice::from_ref(&ours), None, NOW + 299).unwrap();
    assert_eq!(
        (ok.mac, ok.key_name.clone(), ok.message.len()),
        (mac.clone(), ours.name.clone(), message().len())
    );

    let check = |message: &[u8], key: &Key, mac, now| {
        verify(message, std::slice::from_ref(key), mac, now)
            .map(drop)
            .unwrap_err()
    };
    assert_eq!(
        check(&signed, &key("fleet", b"other"), None, NOW),
        Error::Mismatch
    );
    let unknown = Error::UnknownKey {
        name: ours.name.clone(),
    };
    assert_eq!(check(&signed, &key("x", b"secret"), None, NOW), unknown);
    assert_eq!(
        check(&signed, &ours, Some(&mac), NOW),
        Error::Mismatch,
        "no reply to itself"
    );
    assert!(matches!(
        check(&signed, &ours, None, NOW + 301),
        Error::Time { .. }
    ));
    assert!(matches!(
        check(&signed, &ours, None, NOW - 301),
        Error::Time { .. }
    ));
    assert_eq!(check(&message(), &ours, None, NOW), Error::Unsigned);
    for at in 12..signed.len() {
        let mut broken = signed.clone();
        broken[at] ^= 1;
        check(&broken, &ours, None, NOW);
        check(&signed[..at], &ours, None, NOW);
    }
}

#[test]
fn a_reply_is_bound_to_its_request() {
    let ours = key("fleet", b"secret");
    let mut request = message();
    let mac = sign(&mut request, &ours, None, NOW);
    let mut reply = vec![0, 7, 0xa8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    sign(&mut reply, &ours, Some(&mac), NOW);
    let keys = [ours];
    assert!(verify(&reply, &keys, Some(&mac), NOW).is_ok());
    assert_eq!(
        verify(&reply, &keys, None, NOW).unwrap_err(),
        Error::Mismatch
    );
    assert_eq!(
        verify(&reply, &keys, Some(b"another"), NOW).unwrap_err(),
        Error::Mismatch
    );
}
