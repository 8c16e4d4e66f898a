use super::{Entry, Joined, Joiner, Stream, parse, parse_json_file};

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

#[test]
fn fragments_of_each_stream_join_apart_from_the_other() {
    let mut joiner = Joiner::new(1 << 20);
    assert_eq!(
        joiner.push(&entry(Stream::Stdout, true, b"a")),
        Joined::Pending
    );
    let other = joiner.push(&entry(Stream::Stderr, false, b"x"));
    assert_eq!(
        other,
        Joined::Line {
            line: b"x",
            truncated: false
        }
    );
    assert!(joiner.is_pending(Stream::Stdout) && !joiner.is_pending(Stream::Stderr));
    let whole = joiner.push(&entry(Stream::Stdout, false, b"b"));
    assert_eq!(
        whole,
        Joined::Line {
            line: b"ab",
            truncated: false
        }
    );
    assert_eq!(joiner.finish(Stream::Stdout), None);
}

#[test]
fn a_line_beyond_the_limit_is_cut_and_says_so() {
    let mut joiner = Joiner::new(3);
    joiner.push(&entry(Stream::Stdout, true, b"ab"));
    joiner.push(&entry(Stream::Stdout, true, b"cd"));
    let whole = joiner.push(&entry(Stream::Stdout, false, b"ef"));
    assert_eq!(
        whole,
        Joined::Line {
            line: b"abc",
            truncated: true
        }
    );
    assert_eq!(
        joiner.push(&entry(Stream::Stdout, false, b"abcd")),
        Joined::Line {
            line: b"abc",
            truncated: true
        }
    );
    joiner.push(&entry(Stream::Stdout, true, b"z"));
    assert_eq!(joiner.finish(Stream::Stdout), Some((&b"z"[..], false)));
}
