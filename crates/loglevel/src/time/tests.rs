use proptest::prelude::*;

use super::{Context, parse, utc_as_written, write_rfc3339};

fn moment(text: &str, ctx: &Context) -> String {
    let Some(moment) = parse(text.as_bytes(), ctx) else {
        return "none".to_owned();
    };
    let mut out = Vec::new();
    write_rfc3339(moment, &mut out);
    String::from_utf8(out).unwrap()
}

fn at(observed: &str) -> Context {
    Context {
        observed: parse(observed.as_bytes(), &Context::default()),
        zone_seconds: None,
    }
}

#[test]
fn complete_timestamps_need_no_context() {
    let table = [
        ("2026-09-11T07:22:25Z", "2026-09-11T07:22:25.000000000Z"),
        (
            "2026-09-11T07:22:25.408586123+09:00",
            "2026-09-10T22:22:25.408586123Z",
        ),
        (
            "2026-09-11T07:22:25.159-0330",
            "2026-09-11T10:52:25.159000000Z",
        ),
        ("2026-09-11 07:22:25 UTC", "2026-09-11T07:22:25.000000000Z"),
        ("2026-09-11 07:22:25,408", "2026-09-11T07:22:25.408000000Z"),
        (
            "2026/09/11 07:22:25.408586",
            "2026-09-11T07:22:25.408586000Z",
        ),
        ("26/09/11 07:22:25", "2026-09-11T07:22:25.000000000Z"),
        ("09/11/2026, 7:22:25 PM", "2026-09-11T19:22:25.000000000Z"),
        ("Sep 11, 2026 12:22:25 AM", "2026-09-11T00:22:25.000000000Z"),
        ("11-Sep-2026 07:22:25.408", "2026-09-11T07:22:25.408000000Z"),
        (
            "Fri Sep 11 07:22:25.408586 2026",
            "2026-09-11T07:22:25.408586000Z",
        ),
        ("1789111345.408586", "2026-09-11T07:22:25.408586000Z"),
        ("1789111345408", "2026-09-11T07:22:25.408000000Z"),
        ("1789111345408.586", "2026-09-11T07:22:25.408586000Z"),
        ("1.789111345408586e+09", "2026-09-11T07:22:25.408586000Z"),
        ("20260911 07:22:25.408586", "2026-09-11T07:22:25.408586000Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000000Z"),
        ("2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000000000Z"),
        ("2026-02-29T00:00:00Z", "none"),
        ("2026-09-11T25:22:25Z", "none"),
        ("yesterday", "none"),
        ("0911 07:22:25.408586", "none"),
    ];
    for (text, expected) in table {
        assert_eq!(moment(text, &Context::default()), expected, "{text}");
    }
}

#[test]
fn klog_takes_year_and_zone_from_the_runtime() {
    let table = [
        (
            "0911 07:22:25.408586",
            "2026-09-11T07:22:25.408700Z",
            "2026-09-11T07:22:25.408586000Z",
        ),
        (
            "0911 16:22:25.408586",
            "2026-09-11T07:22:25.408700Z",
            "2026-09-11T07:22:25.408586000Z",
        ),
        (
            "0911 03:52:25.408586",
            "2026-09-11T07:22:25.908700Z",
            "2026-09-11T07:22:25.408586000Z",
        ),
        // New Year: the line is from the old year, the runtime read it in the new one.
        (
            "1231 23:59:59.900000",
            "2027-01-01T00:00:00.100000Z",
            "2026-12-31T23:59:59.900000000Z",
        ),
        // New Year in Tokyo comes nine hours before New Year in UTC.
        (
            "0101 00:00:01.000000",
            "2026-12-31T15:00:01.500000Z",
            "2026-12-31T15:00:01.000000000Z",
        ),
        (
            "1231 19:00:01.000000",
            "2027-01-01T00:00:01.500000Z",
            "2027-01-01T00:00:01.000000000Z",
        ),
        (
            "0229 12:00:00.000000",
            "2028-02-29T12:00:00.100000Z",
            "2028-02-29T12:00:00.000000000Z",
        ),
        // A file read a day later is a late line, not a zone.
        (
            "0910 07:22:25.408586",
            "2026-09-11T07:22:25.408700Z",
            "2026-09-10T07:22:25.408586000Z",
        ),
    ];
    for (text, observed, expected) in table {
        assert_eq!(
            moment(text, &at(observed)),
            expected,
            "{text} read at {observed}"
        );
    }
}

#[test]
fn a_known_zone_is_used_as_it_is() {
    let ctx = Context {
        zone_seconds: Some(9 * 3600),
        ..at("2026-09-11T07:40:00Z")
    };
    assert_eq!(
        moment("0911 16:22:25.000000", &ctx),
        "2026-09-11T07:22:25.000000000Z"
    );
    assert_eq!(
        moment("2026-09-11 16:22:25", &ctx),
        "2026-09-11T07:22:25.000000000Z"
    );
    assert_eq!(
        moment("2026-09-11 16:22:25Z", &ctx),
        "2026-09-11T16:22:25.000000000Z"
    );
}

#[test]
fn times_of_day_take_the_nearest_day() {
    assert_eq!(
        moment("23:59:59.5", &at("2026-09-12T00:00:00.1Z")),
        "2026-09-11T23:59:59.500000000Z"
    );
    assert_eq!(
        moment("10:45AM", &at("2026-09-11T10:45:20Z")),
        "2026-09-11T10:45:00.000000000Z"
    );
    assert_eq!(
        moment("Sep 11 07:22:25", &at("2026-09-11T07:22:26Z")),
        "2026-09-11T07:22:25.000000000Z"
    );
}

#[test]
fn moments_in_utc_are_copied_only_when_that_is_right() {
    let table = [
        (
            "2026-09-11T07:22:25Z",
            Some("2026-09-11T07:22:25.000000000Z"),
        ),
        (
            "2026-09-11T07:22:25.5Z",
            Some("2026-09-11T07:22:25.500000000Z"),
        ),
        (
            "2028-02-29T23:59:59.123456789Z",
            Some("2028-02-29T23:59:59.123456789Z"),
        ),
        ("2026-02-29T07:22:25Z", None),
        ("2026-13-01T07:22:25Z", None),
        ("2026-09-31T07:22:25Z", None),
        ("2026-09-00T07:22:25Z", None),
        ("2026-09-11T24:00:00Z", None),
        ("2026-12-31T23:59:60Z", None),
        ("2026-09-11T07:22:25.Z", None),
        ("2026-09-11T07:22:25.1234567890Z", None),
        ("2026-09-11T07:22:2:Z", None),
        (
            "2026-09-11 07:22:25,5Z",
            Some("2026-09-11T07:22:25.500000000Z"),
        ),
        (
            "2026/09/11 07:22:25+0000",
            Some("2026-09-11T07:22:25.000000000Z"),
        ),
        (
            "2026-09-11T07:22:25.5+00:00",
            Some("2026-09-11T07:22:25.500000000Z"),
        ),
        ("2026/09/11T07:22:25Z", None),
        ("2026-09/11 07:22:25Z", None),
        ("2026-09-11T07:22:25+01:00", None),
        ("2026-09-11T07:22:25", None),
        ("2026-09-11T07:22:25Z ", None),
        ("1600-01-01T00:00:00Z", None),
        ("Z", None),
        ("", None),
    ];
    for (text, expected) in table {
        let copied = utc_as_written(text.as_bytes(), false);
        assert_eq!(
            copied.as_ref().map(|text| text.as_slice()),
            expected.map(str::as_bytes),
            "{text}"
        );
        if let Some(expected) = expected {
            assert_eq!(moment(text, &Context::default()), expected);
        }
    }
}

proptest! {
    #[test]
    fn copied_moments_are_the_moments_that_were_read(
        text in "(1[6-9]|2[0-3])[0-9]{2}[-/][01][0-9][-/][0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9]([.,][0-9]{0,10})?(Z|[+-]0[01]:?00|)"
    ) {
        for zone_seconds in [None, Some(0)] {
            let context = Context { zone_seconds, ..Context::default() };
            if let Some(copied) = utc_as_written(text.as_bytes(), zone_seconds.is_some()) {
                let read = moment(&text, &context);
                prop_assert_eq!(copied.as_slice(), read.as_bytes());
            }
        }
    }
}
