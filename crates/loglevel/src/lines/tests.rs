use proptest::prelude::*;

use super::Lines;

/// Lines with the number of their part, and whether it is the last.
fn lines(chunks: &[&[u8]], limit: usize) -> Vec<(String, u32, bool)> {
    let (mut lines, mut seen, mut n_taken) = (Lines::new(limit), Vec::new(), 0);
    let mut each = |line: super::Line<'_>| {
        n_taken += line.n_taken;
        seen.push((
            String::from_utf8_lossy(line.bytes).into_owned(),
            line.part.index,
            line.part.is_last,
        ));
    };
    for chunk in chunks {
        lines.push(chunk, &mut each);
    }
    lines.finish(&mut each);
    assert_eq!(lines.n_pending(), 0);
    let n_bytes: usize = chunks.iter().map(|chunk| chunk.len()).sum();
    assert_eq!(n_taken, n_bytes, "every byte belongs to a line");
    seen
}

#[test]
fn the_last_line_needs_no_newline_and_long_ones_come_in_parts() {
    let found = lines(&[b"a\n\nbcdef", b"ghijk\nlast"], 4);
    let expected = [
        ("a", 0, true),
        ("", 0, true),
        ("bcde", 0, false),
        ("fghi", 1, false),
        ("jk", 2, true),
        ("last", 0, true),
    ];
    assert_eq!(
        found,
        expected.map(|(line, index, is_last)| (line.to_owned(), index, is_last))
    );
}

#[test]
fn a_line_exactly_at_the_limit_is_whole() {
    assert_eq!(
        lines(&[b"ab", b"cd", b"\n"], 4),
        [("abcd".to_owned(), 0, true)]
    );
}

proptest! {
    #[test]
    fn the_classification_of_a_line_never_depends_on_how_bytes_were_chunked(
        parts in proptest::collection::vec(prop::sample::select(vec![
            "I0911 07:22:25.408586       1 a.go:1] x", "{\"level\":\"warn\",\"msg\":\"", "level=info msg=\"a b\"", "\n", "\r\n",
            "2026-09-11T07:22:25Z\tINFO\tx", "\tat x", "panic: x", "é", "\0", "[INFO] plugin/x: ",
        ]), 0..30),
        size in 1u8..=255,
    ) {
        let mut data = vec![size];
        data.extend_from_slice(parts.concat().as_bytes());
        crate::fuzz::chunks_any(&data);
    }
}
