use proptest::prelude::*;

use super::{BLOCK, Marks, find};

proptest! {
    #[test]
    fn marks_are_what_a_walk_byte_by_byte_finds(text in "[a\\\\\", \\]}é]{0,300}", start in 0usize..100) {
        let text = text.as_bytes();
        let start = start.min(text.len());
        let mut quotes = Vec::new();
        let mut is_escaped = false;
        for (at, byte) in text.iter().enumerate().skip(start) {
            if *byte == b'"' && !is_escaped {
                quotes.push(at);
            }
            is_escaped = *byte == b'\\' && !is_escaped;
        }

        for at in start..text.len() + 2 {
            let next = |places: &[usize]| places.iter().copied().find(|place| *place >= at);
            prop_assert_eq!(Marks::new(text, start).quote(at), next(&quotes));
        }
        let (mut marks, mut found) = (Marks::new(text, start), Vec::new());
        while let Some(at) = marks.quote(found.last().map_or(start, |last| last + 1)) {
            found.push(at);
        }
        prop_assert_eq!(found, quotes);
    }

    #[test]
    fn a_block_is_compared_as_its_bytes_are(block in prop::array::uniform::<_, BLOCK>(any::<u8>())) {
        let where_is = |is: fn(u8) -> bool| {
            block.iter().enumerate().fold(0, |mask, (place, byte)| mask | u64::from(is(*byte)) << place)
        };
        let found = find(&block);
        prop_assert_eq!(found.quotes, where_is(|byte| byte == b'"'));
        prop_assert_eq!(found.backslashes, where_is(|byte| byte == b'\\'));
    }
}
