use super::sequence_end;
use crate::{Format, Hint, Level, classify};

#[test]
fn spans_of_coloured_lines_point_into_the_line_as_it_is() {
    let line = "\x1b[2m2026-09-11T07:22:25.408586Z\x1b[0m \x1b[33m WARN\x1b[0m \x1b[2mapp::db\x1b[0m\x1b[2m:\x1b[0m slow \x1b[3mquery\x1b[0m";
    let record = classify(line.as_bytes(), &Hint::default());
    assert_eq!(
        (record.level, record.format),
        (Level::Warn, Format::Tracing)
    );
    assert_eq!(record.level_raw.of(line.as_bytes()), b"WARN");
    assert_eq!(
        record.timestamp.of(line.as_bytes()),
        b"2026-09-11T07:22:25.408586Z"
    );
    assert!(record.message.of(line.as_bytes()).starts_with(b"slow"));
}

#[test]
fn sequences_end_at_their_final_byte() {
    assert_eq!(sequence_end(b"\x1b[1;31mX", 0), Some(7));
    assert_eq!(sequence_end(b"\x1b[", 0), None);
    assert_eq!(sequence_end(b"\x1bM", 0), None);
}
