use proptest::prelude::*;

use super::Lines;

fn lines(chunks: &[&[u8]], limit: usize) -> Vec<(String, bool)> {
    let (mut lines, mut seen) = (Lines::new(limit), Vec::new());
    let mut each = |line: super::Line<'_>| {
        seen.push((
            String::from_utf8_lossy(line.bytes).into_owned(),
            line.truncated,
        ))
    };
    for chunk in chunks {
        lines.push(chunk, &mut each);
    }
    lines.finish(&mut each);
    seen
}

#[test]
fn the_last_line_needs_no_newline_and_long_ones_are_cut() {
    let found = lines(&[b"a\n\nbcdef", b"gh\nlast"], 4);
    let expected = [("a", false), ("", false), ("bcde", true), ("last", false)];
    assert_eq!(found, expected.map(|(line, cut)| (line.to_owned(), cut)));
}

#[test]
fn a_line_cut_exactly_at_the_limit_is_whole() {
    assert_eq!(
        lines(&[b"ab", b"cd", b"\n"], 4),
        [("abcd".to_owned(), false)]
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
