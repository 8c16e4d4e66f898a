use super::{BYTES_MAX, IDLE_MS, Joiner, LINES_MAX, Step};
use crate::{Hint, classify};

/// Lines in, records out: continuation lines are shown after ` / `.
fn join(text: &str) -> Vec<String> {
    let (mut hint, mut joiner, mut records) =
        (Hint::default(), Joiner::default(), Vec::<String>::new());
    for line in text.lines() {
        let record = classify(line.as_bytes(), &hint);
        hint.learn(&record);
        match (joiner.step(line.as_bytes(), &record, 0), records.last_mut()) {
            (Step::Join, Some(open)) => {
                open.push_str(" / ");
                open.push_str(line.trim());
            }
            _ => records.push(line.to_owned()),
        }
    }
    records
}

#[test]
fn klog_blocks_end_at_their_closing_mark() {
    let text = "E0911 07:22:25.408586 1 a.go:1] \"x\" err=<\n\tfirst\nI0911 looks like a head\n >\nI0911 07:22:25.408586 1 a.go:1] y";
    assert_eq!(join(text).len(), 2);
}

#[test]
fn a_java_exception_stays_one_record() {
    let text = "2026-09-11 07:22:25,408 ERROR [main] c.e.App: failed\njava.lang.IllegalStateException: x\n\tat a.B.c(B.java:1)\nCaused by: java.io.IOException: y\n\t... 12 more\n2026-09-11 07:22:26,408 INFO  [main] c.e.App: on";
    let records = join(text);
    assert_eq!(records.len(), 2, "{records:#?}");
}

#[test]
fn a_python_traceback_takes_its_last_line() {
    let text = "ERROR:root:failed\nTraceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    x()\nValueError: bad\nINFO:root:on";
    assert_eq!(join(text).len(), 2);
    let text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nValueError: bad\nplain";
    assert_eq!(join(text).len(), 2);
}

#[test]
fn a_panic_takes_its_goroutines_until_a_header_comes() {
    let text = "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/a/main.go:5 +0x1d\nexit status 2\nI0911 07:22:25.408586 1 a.go:1] next";
    let records = join(text);
    assert_eq!(records.len(), 2, "{records:#?}");
}

#[test]
fn two_line_headers_become_one_record() {
    assert_eq!(join("Sep 11, 2026 7:22:25 AM com.example.Main run\nWARNING: low disk\nSep 11, 2026 7:22:25 AM x y\nINFO: z").len(), 2);
    assert_eq!(
        join("info: App.Program[0]\n      Started\nwarn: App.Program[0]\n      Slow").len(),
        2
    );
}

#[test]
fn postgres_adds_detail_and_statement_to_its_error() {
    let text = "2026-09-11 07:22:25.408 UTC [1] ERROR:  duplicate key\n2026-09-11 07:22:25.408 UTC [1] DETAIL:  Key (id)=(1)\n2026-09-11 07:22:25.408 UTC [1] STATEMENT:  INSERT\n2026-09-11 07:22:25.408 UTC [1] LOG:  x";
    assert_eq!(join(text).len(), 2);
}

#[test]
fn plain_lines_and_lines_with_a_level_never_join() {
    assert_eq!(
        join("one\ntwo\nlevel=info msg=x\nthree\nE0911 07:22:25.408586 1 a.go:1] y").len(),
        5
    );
}

#[test]
fn limits_and_silence_end_a_record() {
    let head = b"E0911 07:22:25.408586 1 a.go:1] x";
    let mut joiner = Joiner::default();
    let step = |joiner: &mut Joiner, line: &[u8], now| {
        joiner.step(line, &classify(line, &Hint::default()), now)
    };
    step(&mut joiner, head, 0);
    let joined = (0..2 * LINES_MAX)
        .take_while(|_| step(&mut joiner, b"\tx", 0) == Step::Join)
        .count();
    assert_eq!(joined as u32, LINES_MAX - 1);

    step(&mut joiner, head, 0);
    let long = [b'\t']
        .into_iter()
        .chain(std::iter::repeat_n(b'x', BYTES_MAX / 4))
        .collect::<Vec<_>>();
    let joined = (0..10)
        .take_while(|_| step(&mut joiner, &long, 0) == Step::Join)
        .count();
    assert_eq!(joined, 3);

    step(&mut joiner, head, 0);
    assert!(!joiner.idle(IDLE_MS) && joiner.idle(IDLE_MS + 1));
    assert_eq!(step(&mut joiner, b"\tx", IDLE_MS + 1), Step::Start);
}
