use super::{LEVELS, Level, letter, value, word};

#[test]
fn every_spelling_of_the_table_has_its_severity() {
    let table: &[(u8, &[&str])] = &[
        (
            1,
            &[
                "trace",
                "TRACE",
                "trc",
                "trce",
                "finest",
                "FINER",
                "silly",
                "Level(-2)",
                "LEVEL(-9)",
                "DEBUG-4",
            ],
        ),
        (
            5,
            &[
                "debug",
                "DEBUG",
                "dbg",
                "dbug",
                "DEBU",
                "fine",
                "verbose",
                "vrb",
                "CONFIG",
                "Level(-1)",
                "D2",
                "DEBUG1",
            ],
        ),
        (
            9,
            &[
                "info",
                "INFO",
                "inf",
                "information",
                "Informational",
                "I",
                "i",
                "LOG",
                "success",
                "OK",
            ],
        ),
        (10, &["notice", "NOTICE", "N", "Note", "INFO+1"]),
        (11, &["INFO+2"]),
        (12, &["WARN-1", "INFO+3"]),
        (13, &["warn", "Warning", "WRN", "W"]),
        (17, &["error", "err", "eror", "ERRO", "E", "SEVERE", "fail"]),
        (
            21,
            &[
                "critical", "crit", "C", "dpanic", "PANIC", "pani", "fatal", "fata", "FTL", "F",
                "ERROR+4",
            ],
        ),
        (22, &["alert"]),
        (23, &["emerg", "Emergency"]),
        (24, &["ERROR+900"]),
        (
            0,
            &[
                "",
                "x",
                "infos",
                "warned",
                "failed",
                "default",
                "30",
                "-1",
                "+",
                "INFO+",
                "Level()",
                "Level(12345)",
            ],
        ),
    ];
    for (severity, spellings) in table {
        for spelling in *spellings {
            assert_eq!(value(spelling.as_bytes()), *severity, "{spelling}");
        }
    }
}

#[test]
fn single_letters_are_never_words() {
    for byte in 0..=255u8 {
        assert_eq!(word(&[byte]), 0);
    }
    assert_eq!(letter(b'W'), 13);
    assert_eq!(letter(b'w'), 0);
}

#[test]
fn bytes_that_only_look_like_letters_after_folding_are_not_words() {
    assert_eq!(word(b"I\x0eFO"), 0, "0x0e | 0x20 is a dot, not an n");
    assert_eq!(word(b"inf\x4f"), 9);
    assert_eq!(word("ínfo".as_bytes()), 0);
}

#[test]
fn levels_survive_the_way_through_their_own_numbers_and_names() {
    for level in LEVELS {
        assert_eq!(Level::of_severity(level.severity()), level);
        assert_eq!(Level::from_name(level.name()), Some(level));
        if let Some(syslog) = level.syslog()
            && level != Level::Trace
        {
            assert_eq!(Level::of_syslog(syslog), level);
        }
    }
    assert!(Level::Unknown < Level::Trace && Level::Alert < Level::Emergency);
}

#[test]
fn datadog_reads_every_status_back_as_we_meant_it() {
    // Prefix rules of Datadog's status remapper.
    let remapped = |word: &str| match word {
        w if w.starts_with("emerg") || w.starts_with('f') => 0,
        w if w.starts_with('a') => 1,
        w if w.starts_with('c') => 2,
        w if w.starts_with("err") => 3,
        w if w.starts_with('w') => 4,
        w if w.starts_with('n') => 5,
        w if w.starts_with('i') => 6,
        _ => 7,
    };
    for level in LEVELS.into_iter().skip(1) {
        assert_eq!(level.datadog().map(remapped), level.syslog());
    }
}
