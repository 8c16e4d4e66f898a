use super::{Entry, Joiner, Stream, parse, parse_json_file};

#[test]
fn cri_lines_come_apart() {
    let entry = parse(b"2026-09-11T07:22:25.408586123Z stderr F I0911 x").unwrap();
    assert_eq!(
        (entry.time, entry.stream),
        (&b"2026-09-11T07:22:25.408586123Z"[..], Stream::Stderr)
    );
    assert_eq!((entry.partial, entry.content), (false, &b"I0911 x"[..]));
    assert!(
        parse(b"2026-09-11T07:22:25+09:00 stdout P part")
            .unwrap()
            .partial
    );
    assert_eq!(
        parse(b"2026-09-11T07:22:25Z stdout F ").unwrap().content,
        b""
    );
    assert_eq!(
        parse(b"2026-09-11T07:22:25Z stdout F").unwrap().content,
        b""
    );
    assert_eq!(
        parse(b"2026-09-11T07:22:25Z stdout F:tag x")
            .unwrap()
            .content,
        b"x"
    );
    for other in [
        "2026-09-11T07:22:25Z stdlog F x",
        "2026-09-11T07:22:25Z INFO x",
        "2026-09-11T07:22:25Z stdout X x",
        // Cut off at each place: the runtime was killed while it wrote.
        "2026-09-11T07:22:25Z stdout ",
        "2026-09-11T07:22:25Z stdout",
        "2026-09-11T07:22:25Z std",
        "2026-09-11T07:22:25Z ",
        "2026-09-11T07:22:25Z",
        "2026-09-11T",
        "x",
    ] {
        assert_eq!(parse(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn json_file_lines_come_apart() {
    let entry =
        parse_json_file(br#"{"log":"a \"b\"\n","stream":"stdout","time":"2026-09-11T07:22:25Z"}"#)
            .unwrap();
    assert_eq!(
        (entry.content, entry.partial, entry.escaped),
        (&br#"a \"b\""#[..], false, true)
    );
    assert!(
        parse_json_file(br#"{"log":"cut","stream":"stderr","time":"t"}"#)
            .unwrap()
            .partial
    );
    assert_eq!(parse_json_file(br#"{"log":"no stream\n"}"#), None);
    assert_eq!(parse_json_file(br#"{"level":"info"}"#), None);
}

fn entry(stream: Stream, partial: bool, content: &[u8]) -> Entry<'_> {
    Entry {
        time: b"",
        stream,
        partial,
        content,
        escaped: false,
    }
}

/// What a joiner hands out for an entry: text, number of the part, whether it is the last.
fn push(
    joiner: &mut Joiner,
    stream: Stream,
    partial: bool,
    content: &str,
) -> Vec<(String, u32, bool)> {
    let mut seen = Vec::new();
    joiner.push(
        &entry(stream, partial, content.as_bytes()),
        |bytes, part| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            seen.push((text, part.index, part.is_last));
        },
    );
    seen
}

fn part(text: &str, index: u32, is_last: bool) -> (String, u32, bool) {
    (text.to_owned(), index, is_last)
}

#[test]
fn fragments_of_each_stream_join_apart_from_the_other() {
    let mut joiner = Joiner::new(1 << 20);
    assert_eq!(push(&mut joiner, Stream::Stdout, true, "a"), []);
    assert_eq!(
        push(&mut joiner, Stream::Stderr, false, "x"),
        [part("x", 0, true)]
    );
    assert!(joiner.is_pending(Stream::Stdout) && !joiner.is_pending(Stream::Stderr));
    assert_eq!(
        push(&mut joiner, Stream::Stdout, false, "b"),
        [part("ab", 0, true)]
    );
    joiner.finish(Stream::Stdout, |_, _| panic!("nothing is left"));
}

#[test]
fn a_line_beyond_the_limit_comes_in_parts() {
    let mut joiner = Joiner::new(4);
    assert_eq!(push(&mut joiner, Stream::Stdout, true, "abc"), []);
    assert_eq!(
        push(&mut joiner, Stream::Stdout, true, "def"),
        [part("abcd", 0, false)]
    );
    assert_eq!(
        push(&mut joiner, Stream::Stdout, false, "ghi"),
        [part("efgh", 1, false), part("i", 2, true)]
    );
    assert_eq!(
        push(&mut joiner, Stream::Stdout, false, "abcde"),
        [part("abcd", 0, false), part("e", 1, true)]
    );
    push(&mut joiner, Stream::Stdout, true, "z");
    let mut left = Vec::new();
    joiner.finish(Stream::Stdout, |bytes, part| {
        left.push((bytes.to_vec(), part.is_last))
    });
    assert_eq!(left, [(b"z".to_vec(), true)]);
    assert!(!joiner.is_pending(Stream::Stdout) && joiner.n_pending() == 0);
}
