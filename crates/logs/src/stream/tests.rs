use flotilla_loglevel::time::Context;

use super::{Stream, Wrapper};
use crate::entry::Entry;
use crate::output::{self, Output};

fn records(chunks: &[&[u8]], template: &str) -> Vec<String> {
    let output = Output::Template(output::Template::parse(template).unwrap());
    let (mut stream, mut out) = (Stream::new(Wrapper::Detect, Context::default()), Vec::new());
    for chunk in chunks {
        stream.push(chunk, 0, |entry| {
            output::write(entry, &output, &[], &mut out)
        });
    }
    stream.finish(0, |entry| output::write(entry, &output, &[], &mut out));
    assert!(!stream.is_open());
    String::from_utf8(out)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn container_lines_lose_their_wrapping_and_streams_stay_apart() {
    let text = b"2026-09-11T07:22:25.5Z stderr P I0911 07:22:25.408586 1 a.go:1] he\n\
        2026-09-11T07:22:25.6Z stdout F level=warn msg=between\n\
        2026-09-11T07:22:25.7Z stderr F llo\n\
        {\"log\":\"{\\\"level\\\":\\\"error\\\",\\\"msg\\\":\\\"docker\\\"}\\n\",\"stream\":\"stderr\",\"time\":\"2026-09-11T07:22:26Z\"}\n";
    let shown = records(&[text], "{stream} {level} {msg}");
    assert_eq!(
        shown,
        [
            "stderr info hello",
            "stdout warn between",
            "stderr error docker"
        ]
    );
}

#[test]
fn records_of_two_lines_take_level_and_message_from_where_they_stand() {
    let text = b"Sep 11, 2026 7:22:25 AM com.example.Main run\nWARNING: low disk\ninfo: App.Program[0]\n      Started\n";
    assert_eq!(
        records(&[text], "{level} {msg}"),
        ["warn low disk", "info Started"]
    );
}

#[test]
fn a_record_does_not_depend_on_how_its_bytes_arrived() {
    let text = "E0911 07:22:25.408586 1 a.go:1] \"x\" err=<\n\tdetail\n >\nplain\n{\"level\":\"info\",\"msg\":\"m\"}\n".as_bytes();
    let whole = records(&[text], "{level} {raw}");
    for size in 1..text.len() {
        assert_eq!(
            records(&text.chunks(size).collect::<Vec<_>>(), "{level} {raw}"),
            whole
        );
    }
}

#[test]
fn silence_completes_a_record() {
    let mut stream = Stream::new(Wrapper::Detect, Context::default());
    let mut n_records = 0;
    stream.push(b"level=info msg=x\n", 0, |_| n_records += 1);
    stream.idle(400, |_| n_records += 1);
    assert!(stream.is_open());
    stream.idle(600, |_| n_records += 1);
    assert_eq!((n_records, stream.is_open()), (1, false));
}

#[test]
fn a_giant_line_and_odd_bytes_go_through() {
    let mut text = b"level=warn msg=\"".to_vec();
    text.extend(std::iter::repeat_n(b'x', 5 << 20));
    text.extend_from_slice(b"\"\n\0\0level=info msg=nul\r\n\xff\xfe level\n");
    let levels = records(&[&text], "{level}");
    assert_eq!(levels, ["warn", "info", "unknown"]);
}

/// Number, last, level and text of every record, where lines longer than `limit` come in parts; and the ids.
fn parts(text: &[u8], limit: usize, size: usize) -> (Vec<String>, Vec<u64>) {
    let mut stream = Stream::new(Wrapper::Detect, Context::default()).with_record_limit(limit);
    let (mut shown, mut ids) = (Vec::new(), Vec::new());
    let mut each = |entry: &Entry<'_>| {
        let part = entry.part.map_or(String::new(), |part| {
            ids.push(part.id);
            format!("{}{} ", part.number, if part.is_last { "!" } else { "" })
        });
        let (level, text) = (entry.record.level.name(), entry.text("msg").unwrap());
        shown.push(format!("{part}{level} {text}"));
    };
    for chunk in text.chunks(size) {
        stream.push(chunk, 0, &mut each);
    }
    stream.finish(0, &mut each);
    assert_eq!(
        (stream.n_done(), stream.n_pending()),
        (text.len() as u64, 0)
    );
    (shown, ids)
}

#[test]
fn long_lines_come_in_parts_with_one_id_and_the_level_of_the_first() {
    let stamp = "2026-09-11T07:22:25.5Z stderr";
    let (one, two, three) = ("1".repeat(40), "2".repeat(30), "3".repeat(70));
    let text = format!(
        "{stamp} P level=warn msg=\"{one}\n{stamp} P {two}\n2026-09-11T07:22:25.6Z stdout F between\n\
         {stamp} F {three}\"\n{stamp} F level=info msg=short\nlevel=error msg=\"without a runtime {three}\"\nend\n"
    );
    let expected = [
        format!("1 warn level=warn msg=\"{one}{}", &two[..8]),
        format!("2 warn {}{}", &two[8..], &three[..42]),
        format!("3! warn {}\"", &three[42..]),
        "unknown between".to_owned(),
        format!(
            "1 error level=error msg=\"without a runtime {}",
            &three[..29]
        ),
        format!("2! error {}\"", &three[29..]),
        "unknown end".to_owned(),
        "info short".to_owned(),
    ];
    let (shown, ids) = parts(text.as_bytes(), 64, text.len());
    assert_eq!(shown, expected);
    assert!(ids[..3].iter().all(|id| *id == ids[0]));
    assert!(ids[3] == ids[4] && ids[0] != ids[3]);
    for size in 1..text.len() {
        assert_eq!(
            parts(text.as_bytes(), 64, size),
            (shown.clone(), ids.clone()),
            "{size}"
        );
    }
}

#[test]
fn a_giant_line_is_done_only_with_its_last_part() {
    let mut stream = Stream::new(Wrapper::Detect, Context::default()).with_record_limit(64);
    let (mut n_parts, fragment) = (0, "2026-09-11T07:22:25.5Z stderr P 0123456789\n");
    stream.push(b"short\n", 0, |_| {});
    for _ in 0..10 {
        stream.push(fragment.as_bytes(), 0, |entry| {
            n_parts += u32::from(entry.part.is_some())
        });
    }
    stream.idle(1000, |_| {});
    assert_eq!((n_parts, stream.n_done()), (1, 6));
    let end = "2026-09-11T07:22:25.5Z stderr F x\n";
    stream.push(end.as_bytes(), 0, |entry| {
        n_parts += u32::from(entry.part.is_some())
    });
    let n_bytes = 6 + 10 * fragment.len() + end.len();
    assert_eq!((n_parts, stream.n_done()), (2, n_bytes as u64));
}

#[test]
fn a_clock_that_jumps_back_completes_records_late_but_loses_none() {
    let mut stream = Stream::new(Wrapper::Detect, Context::default());
    let mut n_records = 0;
    for (n, now_ms) in [1_000_000, 0, u64::MAX, 5].into_iter().enumerate() {
        stream.push(format!("level=info n={n}\n").as_bytes(), now_ms, |_| {
            n_records += 1
        });
    }
    stream.idle(0, |_| n_records += 1);
    assert_eq!((n_records, stream.is_open()), (3, true));
    stream.idle(506, |_| n_records += 1);
    assert_eq!((n_records, stream.is_open()), (4, false));
}
