use super::{Shape, exponent_epoch, stamp};

#[test]
fn every_shape_is_recognised_up_to_its_end() {
    use Shape::*;
    let table: &[(&str, &str, Shape)] = &[
        ("2026-09-11T07:22:25Z", " x", IsoT),
        ("2026-09-11T07:22:25.408586123+09:00", "\tINFO", IsoT),
        ("2026-09-11T04:39:22.159+0900", "\tINFO", IsoT),
        ("2026-09-11 07:22:25,408", " - x", IsoSpace),
        ("2026-09-11 07:22:25", " INFO x", IsoSpace),
        ("2026-09-11 07:22:25 UTC", " [1] LOG:", IsoSpace),
        ("2026-09-11  7:22:25", " 0 [Note]", IsoSpace),
        ("2026-09-11 07:22:25.408 +00:00", " [INF]", IsoSpace),
        ("2026/09/11 07:22:25", " x", Slash),
        ("2026/09/11 07:22:25.408586", " x", Slash),
        ("2026.09.11 07:22:25.408586", " [ 1 ]", Dot),
        ("26/09/11 07:22:25", " INFO", ShortSlash),
        ("09/11/2026, 7:22:25 AM", "     LOG", American),
        ("09-11|07:22:25.408", "]", MonthDay),
        ("09-11 07:22:25.408", "  1  2 I", MonthDay),
        ("Sep 11 07:22:25", " host", MonthName),
        ("Sep  1 07:22:25", " host", MonthName),
        ("Sep 11, 2026 7:22:25 AM", " com.x", MonthNameYear),
        ("11-Sep-2026 07:22:25.408", " INFO", DayMonthName),
        ("11 Sep 2026 07:22:25.408", " * x", DayMonthName),
        ("Fri Sep 11 07:22:25.408586 2026", "] [core", Weekday),
        ("07:22:25.408", " [main]", Clock),
        ("07:22:25,408", " INFO", Clock),
        ("10:45AM", " INF", Clock12),
        ("3:04PM", " INF", Clock12),
        ("1789111345.408586", "\tinfo", Epoch),
        ("1789111345408", "\tinfo", Epoch),
    ];
    for (text, rest, shape) in table {
        let line = format!("{text}{rest}");
        let found = stamp(line.as_bytes(), 0).unwrap_or_else(|| panic!("{line}"));
        assert_eq!((found.shape, &line[..found.end]), (*shape, *text));
    }
    assert_eq!(
        exponent_epoch(b"1.789111345408586e+09\tinfo", 0)
            .unwrap()
            .end,
        21
    );
}

#[test]
fn numbers_and_prose_are_not_timestamps() {
    for line in [
        "2026",
        "2026-9-11",
        "20260911",
        "404 not found",
        "1:2",
        "12:34",
        "9-11 was",
        "May the force",
        "Sun rises",
        "Sep eleven",
        "1789111345408xyz",
        "10 green bottles",
        "99-bottles",
    ] {
        assert_eq!(stamp(line.as_bytes(), 0), None, "{line}");
    }
}
