use super::*;

#[test]
fn some_thousand_damaged_messages_break_nothing() {
    run(1, 5_000);
}

#[test]
fn known_troublemakers_break_nothing() {
    let catalog = world();
    for bytes in [
        &b""[..],
        &[0; 11],
        &[0; 12],
        &[0xff; 512],
        // A name that points at itself, a name without end, a count without records.
        b"\0\0\0\0\0\x01\0\0\0\0\0\0\xc0\x0c\0\x01\0\x01",
        b"\0\0\0\0\0\x01\0\0\0\0\0\0\x3faaaa",
        b"\0\0\0\0\0\x01\0\0\0\0\xff\xff\x01a\0\0\x01\0\x01",
        // Found by the fuzzer: a signature that is not among the additional records.
        b"\0\x07\0\0\0\x01\0\x01\0\0\0\0\x01a\0\0\xfc\0\x01\0\0\xfa\0\xff\0\0\0\0\0\x1d\x0bhmac-sha256\0\0\0eS\xf1\0\x01\x2c\0\0\0\x07\0\0\0\0",
    ] {
        query(&catalog, bytes, Transport::Udp);
        message(bytes);
        signed(bytes, 0);
    }
}
