use proptest::prelude::*;

use super::*;

fn header(counts: [u16; 4]) -> Vec<u8> {
    let mut bytes = vec![0, 1, 0x84, 0];
    bytes.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
    bytes
}

#[test]
fn compression_is_followed_backwards_only() {
    let record = |owner: &[u8]| {
        let mut bytes = header([1, 1, 0, 0]);
        bytes.extend(b"\x01a\x07Example\x00\x00\x01\x00\x01");
        bytes.extend(owner);
        bytes.extend(b"\x00\x01\x00\x01\x00\x00\x00\x05\x00\x04\x7f\x01\x01\x0a");
        Message::parse(&bytes).map(|message| message.answers[0].name.to_string())
    };
    assert_eq!(record(b"\xc0\x0c").unwrap(), "a.example");
    assert_eq!(record(b"\x01b\xc0\x0e").unwrap(), "b.example");
    // To itself, forwards, into a label of its own, beyond the end, half a pointer, reserved types.
    for bad in [
        &b"\xc0\x1b"[..],
        b"\xc0\xff",
        b"\x01b\xc0\x1b",
        b"\xff\xff",
        b"\x40",
        b"\x80",
    ] {
        assert_eq!(record(bad), Err(Error::BadName), "{bad:02x?}");
    }
}

#[test]
fn a_pointer_ladder_ends_at_255_octets() {
    let mut bytes = header([0, 0, 0, 0]);
    let mut previous = bytes.len();
    bytes.extend(b"\x3f");
    bytes.extend([b'x'; 63]);
    bytes.push(0);
    for _ in 0..10 {
        let here = bytes.len();
        bytes.extend(b"\x3f");
        bytes.extend([b'y'; 63]);
        bytes.extend((0xc000 | previous as u16).to_be_bytes());
        previous = here;
    }
    let mut cursor = Cursor::new(&bytes);
    cursor.take(previous).unwrap();
    assert_eq!(cursor.name(), Err(Error::BadName));
}

#[test]
fn counts_beyond_the_message_are_caught() {
    for counts in [
        [1, 0, 0, 0],
        [0, 65535, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 65535],
    ] {
        assert_eq!(
            Message::parse(&header(counts)),
            Err(Error::Short),
            "{counts:?}"
        );
    }
    assert!(Message::parse(&header([0; 4])).is_ok());
}

#[test]
fn extended_codes_and_high_ttls_are_read() {
    let mut bytes = header([0, 1, 0, 1]);
    bytes.extend(b"\x00\x00\x01\x00\x01\xff\xff\xff\xff\x00\x04\x7f\x01\x01\x0a");
    bytes.extend(b"\x00\x00\x29\x04\xd0\x01\x00\x00\x00\x00\x00");
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.rcode, Rcode::BADVERS);
    assert_eq!(message.udp_octets, Some(1232));
    assert_eq!(message.answers[0].ttl_seconds, 0);
}

proptest! {
    #[test]
    fn any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..700)) {
        let _ = Message::parse(&bytes);
        let _ = query::Query::parse(&bytes);
    }
}
