use super::{chunks_any, classify_any, cri_any, multiline_any};

/// What the fuzzers found and what they start from, so that the normal run keeps it.
const SEEDS: &[&[u8]] = &[
    b"I0911 07:22:25.408586       1 a.go:1] \"x\" err=<\n\ty\n >\n",
    b"{\"level\":\"info\",\"msg\":\"\\\"\\\\\",\"a\":{\"b\":[1,\"}\"]}}",
    b"{\"level\":\"info\",\"msg\":\"cut \\",
    b"time=\"x\\\" level=info",
    b"2026-09-11T07:22:25Z\tINFO\t\x1b[1m",
    b"\x1b[2m2026-09-11T07:22:25Z\x1b[0m \x1b[31m",
    b"[2026-09-11 07:22:25,408: INFO/",
    b"<165>1 2026-09-11T07:22:25Z h a 1 - [a b=\"",
    b"<1>1",
    b"\x01\x02Sep 11 07:22:25 host tag[1",
    b"\0\0\0",
    b"\xef\xbb\xbf",
    b"2026-09-11 07:22:25 UTC [1] ",
    b"INFO [",
    b"panic: x\n\ngoroutine 1 [running]:\nmain()\n",
    b"1.0e+99 info",
    b"9999-99-99T99:99:99Z x",
    b"2026-12-18T13:53:12.123456789Z stdout",
];

#[test]
fn the_fuzz_bodies_hold_on_their_seeds() {
    for seed in SEEDS {
        for cut in 0..=seed.len() {
            classify_any(&seed[..cut]);
            multiline_any(&seed[cut..]);
            cri_any(&seed[cut..]);
            chunks_any(&seed[cut..]);
        }
    }
}
