use crate::{Format, Hint, Level, Source, classify};

#[test]
fn a_stream_remembers_its_usual_formats_in_fixed_space() {
    let mut hint = Hint::default();
    let lines = [
        "I0911 07:22:25.408586 1 a.go:1] x",
        "2026-09-11T07:19:45Z\tINFO\tx",
        "level=info msg=x",
        "panic: x",
        "[INFO] plugin/x: y",
        "1:M 11 Sep 2026 07:22:25.408 * x",
    ];
    for line in lines.iter().chain([&lines[0]; 5]) {
        hint.learn(&classify(line.as_bytes(), &hint));
    }
    assert_eq!(hint.usual().map(|(format, _)| format), Some(Format::Klog));
    assert!(hint.seen(Format::Klog) >= 5);
}

#[test]
fn learning_never_changes_what_a_line_declares() {
    let mut hint = Hint::with_default(Level::Error);
    let line = b"I0911 07:22:25.408586 1 a.go:1] x";
    let before = classify(line, &hint);
    for other in [
        "level=error msg=x",
        "\tat x",
        "2026/09/11 07:22:25 x",
        "{\"level\":50}",
    ] {
        hint.learn(&classify(other.as_bytes(), &hint));
        assert_eq!(classify(line, &hint), before);
    }
}

#[test]
fn after_a_rotation_nothing_is_inherited() {
    let mut hint = Hint::default();
    hint.learn(&classify(b"level=error msg=x", &hint));
    assert_eq!(classify(b"\tat x", &hint).source, Source::Inherited);
    hint.close();
    assert_eq!(classify(b"\tat x", &hint).level, Level::Unknown);
}
