use jiff::SignedDuration;

use super::{Defaults, Options, read};
use crate::ramp::Drain;

fn check(annotations: &[(&str, &str)]) -> (Options, Vec<String>) {
    let annotations = annotations
        .iter()
        .map(|(k, v)| (format!("flotilla.dev/{k}"), (*v).to_owned()))
        .collect();
    let defaults = Defaults {
        witness: false,
        hold_seconds: 7,
        drain_seconds: 8,
    };
    let (options, problems) = read(&annotations, defaults);
    (options, problems.iter().map(ToString::to_string).collect())
}

#[test]
fn annotations_win_over_the_settings_of_the_cluster() {
    let (options, problems) = check(&[]);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(options.hold, SignedDuration::from_secs(7));
    assert_eq!(options.drain_period, SignedDuration::from_secs(8));
    assert_eq!((options.witness, options.drain), (false, Drain::Off));
    let (options, problems) = check(&[
        ("failover-witness", "true"),
        ("failback-hold-seconds", "0"),
        ("drain-seconds", " 300 "),
        ("drain", "2026-12-01T02:00:00Z"),
        ("answer-count", "1"),
    ]);
    assert_eq!(problems, Vec::<String>::new());
    assert!(options.witness && options.hold.is_zero());
    assert_eq!(options.drain_period, SignedDuration::from_secs(300));
    let since = "2026-12-01T02:00:00Z".parse().unwrap();
    assert_eq!(options.drain, Drain::Out(Some(since)));
    assert_eq!(options.answers.map(u16::from), Some(1));
}

#[test]
fn a_drain_is_true_false_or_an_instant() {
    let since = "2026-12-01T02:00:00Z".parse().unwrap();
    let table: [(&[(&str, &str)], Drain); 5] = [
        (&[("drain", "true")], Drain::Out(None)),
        (&[("drain", "false")], Drain::Off),
        (
            &[("undrained-at", "2026-12-01T02:00:00Z")],
            Drain::Back(since),
        ),
        (
            &[("drain", "true"), ("undrained-at", "2026-12-01T02:00:00Z")],
            Drain::Out(None),
        ),
        (&[("drain", "")], Drain::Off),
    ];
    for (annotations, expected) in table {
        let (options, problems) = check(annotations);
        assert_eq!(
            (options.drain, problems.len()),
            (expected, 0),
            "{annotations:?}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_said_and_its_default_applies() {
    let table = [
        (
            "failover-witness",
            "yes",
            "neither true nor false; false applies",
        ),
        (
            "failback-hold-seconds",
            "1m",
            "no number from 0 to 604800; 7 applies",
        ),
        ("failback-hold-seconds", "-1", "7 applies"),
        ("failback-hold-seconds", "604801", "7 applies"),
        ("drain-seconds", "x", "8 applies"),
        ("drain", "yes", "no instant such as"),
        ("undrained-at", "noon", "no instant such as"),
        ("answer-count", "two", "it does not apply"),
    ];
    let (plain, _) = check(&[]);
    for (key, value, said) in table {
        let (options, problems) = check(&[(key, value)]);
        assert_eq!(options, plain, "{key}");
        assert!(
            problems.len() == 1 && problems[0].contains(said) && problems[0].contains(key),
            "{problems:?}"
        );
    }
}
