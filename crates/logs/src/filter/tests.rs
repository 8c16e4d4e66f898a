use flotilla_loglevel::time::Context;
use flotilla_loglevel::{Hint, Level, classify};

use super::{Condition, Levels};
use crate::entry::Entry;

fn holds(condition: &str, line: &str) -> bool {
    let record = classify(line.as_bytes(), &Hint::default());
    let entry = Entry {
        bytes: line.as_bytes(),
        record: &record,
        head_end: line.len(),
        observed: b"",
        stream: None,
        context: Context::default(),
        part: None,
        notes: None,
    };
    Condition::parse(condition).unwrap().matches(&entry)
}

#[test]
fn levels_are_sets() {
    let set = |text: &str| {
        let set = Levels::parse(text).unwrap();
        flotilla_loglevel::LEVELS
            .into_iter()
            .filter(|level| set.contains(*level))
            .map(Level::name)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(set("warn+"), "warn error critical alert emergency");
    assert_eq!(set("info-"), "trace debug info");
    assert_eq!(set("warning,err"), "warn error");
    assert_eq!(set("unknown,alert+"), "unknown alert emergency");
    assert!(Levels::parse("loud").is_err());
}

#[test]
fn conditions_look_at_parts_and_fields() {
    let line =
        r#"{"level":"warn","logger":"http.server","msg":"slow \"x\"","status":503,"path":"/a b"}"#;
    let table = [
        ("level = warn", true),
        ("level >= error", false),
        ("level >= info and status >= 500", true),
        ("status < 500 or logger ~ ^http", true),
        ("not status", false),
        ("not (status < 500 and level = warn)", true),
        (r#"path = "/a b""#, true),
        ("missing != x", true),
        ("msg ~ x", true),
        ("format = json", true),
        ("msg !~ slow", false),
    ];
    for (condition, expected) in table {
        assert_eq!(holds(condition, line), expected, "{condition}");
    }
}

#[test]
fn mistakes_are_shown_with_their_column() {
    let table = [
        (
            "level =",
            "condition: expected a value at column 8, found \"\"",
        ),
        (
            "level = warn status",
            "condition: expected the end, `and` or `or` at column 14, found \"status\"",
        ),
        (
            "(level = warn",
            "condition: expected `)` at column 14, found \"\"",
        ),
        ("msg ~ \"(\"", "condition: bad pattern at column 7"),
        ("", "condition: expected a name at column 1, found \"\""),
    ];
    for (condition, message) in table {
        assert_eq!(
            Condition::parse(condition).unwrap_err().to_string(),
            message
        );
    }
    assert!(Condition::parse(&"(".repeat(10_000)).is_err());
}
