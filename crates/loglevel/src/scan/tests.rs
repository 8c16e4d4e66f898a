use proptest::prelude::*;

use super::{closing_quote, find, scalar_end, shaped};

proptest! {
    #[test]
    fn find_agrees_with_a_plain_search(line in proptest::collection::vec(0u8..=255, 0..60), at in 0usize..70, needle in 0u8..=255) {
        let plain = line.iter().skip(at).position(|byte| *byte == needle).map(|found| at + found);
        prop_assert_eq!(find(&line, at, needle), plain);
    }

    #[test]
    fn a_scalar_ends_where_a_plain_walk_says(
        line in proptest::collection::vec(prop_oneof![0u8..=255, b'0'..=b'9', Just(b'+'), Just(b'=')], 0..40),
        at in 0usize..40,
    ) {
        let at = at.min(line.len());
        let ends = |byte: &u8| *byte <= b' ' || b",]}".contains(byte);
        let plain = line.iter().skip(at).position(ends).map_or(line.len(), |found| at + found);
        prop_assert_eq!(scalar_end(&line, at), plain);
    }

    #[test]
    fn closing_quote_agrees_with_a_plain_walk(line in "[a\\\\\"é]{0,60}", at in 0usize..70) {
        let line = line.as_bytes();
        let mut plain = at;
        let expected = loop {
            match line.get(plain) {
                None => break None,
                Some(b'"') => break Some(plain),
                Some(b'\\') => plain += 2,
                Some(_) => plain += 1,
            }
        };
        prop_assert_eq!(closing_quote(line, at), expected);
    }
}

#[test]
fn shapes_match_digits_and_literals() {
    assert!(shaped(b"x12:30", 1, b"00:00"));
    assert!(!shaped(b"12:3", 0, b"00:00"));
    assert!(!shaped(b"12-30", 0, b"00:00"));
}
