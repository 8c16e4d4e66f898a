use proptest::prelude::*;

use super::{Part, Parts};

/// The parts of one line that arrives in chunks.
fn parts(limit: usize, chunks: &[&[u8]]) -> Vec<(Vec<u8>, Part)> {
    let (mut parts, mut seen) = (Parts::new(limit), Vec::new());
    let Some((last, first)) = chunks.split_last() else {
        return seen;
    };
    for chunk in first {
        parts.add(chunk, |bytes, part| seen.push((bytes.to_vec(), part)));
    }
    parts.end(last, |bytes, part| seen.push((bytes.to_vec(), part)));
    assert!(!parts.is_open() && parts.n_kept() == 0);
    seen
}

#[test]
fn a_line_up_to_the_limit_is_whole() {
    for line in ["", "a", "abcd"] {
        assert_eq!(
            parts(4, &[line.as_bytes()]),
            [(line.as_bytes().to_vec(), Part::WHOLE)]
        );
    }
}

#[test]
fn characters_are_not_cut() {
    let found = parts(4, &["aé日本𝄞b".as_bytes()]);
    let texts: Vec<_> = found
        .iter()
        .map(|(bytes, _)| std::str::from_utf8(bytes).unwrap())
        .collect();
    assert_eq!(texts, ["aé", "日", "本", "𝄞", "b"]);
}

proptest! {
    #[test]
    fn parts_add_up_to_the_line_and_do_not_depend_on_how_it_arrived(
        line in proptest::collection::vec(prop_oneof![0u8..=255, Just(0xe6), Just(0x97)], 0..60),
        limit in 4usize..20,
        size in 1usize..20,
    ) {
        let whole = parts(limit, &[&line]);
        prop_assert_eq!(whole.iter().flat_map(|(bytes, _)| bytes.clone()).collect::<Vec<_>>(), line.clone());
        for (index, (bytes, part)) in whole.iter().enumerate() {
            prop_assert!(bytes.len() <= limit && (line.is_empty() || !bytes.is_empty()));
            prop_assert_eq!(part.index as usize, index);
            prop_assert_eq!(part.is_last, index + 1 == whole.len());
        }
        let mut chunks: Vec<_> = line.chunks(size).collect();
        chunks.push(b"");
        prop_assert_eq!(parts(limit, &chunks), whole);
    }
}
