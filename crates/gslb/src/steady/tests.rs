use jiff::{SignedDuration, Timestamp};

use super::{History, Look};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Looks as `second letter` pairs: H healthy, I ill, S silent.
fn history(looks: &str) -> History {
    let mut history = History::default();
    for (index, look) in looks.split_whitespace().enumerate() {
        let (kind, second) = look.split_at(1);
        let kind = match kind {
            "H" => Look::Healthy,
            "I" => Look::Ill,
            _ => Look::Silent,
        };
        history.note(kind, at(second.parse().unwrap()), index == 0);
    }
    history
}

#[test]
fn a_cluster_that_came_back_waits_and_one_that_flaps_waits_longer() {
    let table: [(&str, i64, Option<i64>); 12] = [
        // The first look is no recovery.
        ("H100", 0, None),
        ("S100 H110", 0, None),
        // One that was ill when it was looked at first has recovered.
        ("I100 H110", 0, Some(170)),
        ("H100 I110 H120", 0, Some(180)),
        ("H100 I110 I115 H120 H130", 0, Some(180)),
        // Each relapse within sixteen hold-downs doubles the wait, up to eight times.
        ("H0 I10 H20 I30 H40", 0, Some(160)),
        ("H0 I10 H20 I30 H40 I50 H60", 0, Some(300)),
        ("H0 I10 H20 I30 H40 I50 H60 I70 H80 I90 H100", 0, Some(580)),
        ("H0 I10 H20 I2000 H2010", 0, Some(2070)),
        // Silence is an outage only if it lasts longer than it is forgiven.
        ("H100 S110 H120", 30, None),
        ("H100 S110 H150", 30, Some(210)),
        ("H100 S110 I115 H120", 30, Some(180)),
    ];
    for (looks, forgiven, expected) in table {
        let seconds = SignedDuration::from_secs;
        let until = history(looks).held_until(seconds(60), seconds(forgiven));
        assert_eq!(until, expected.map(at), "{looks}");
        assert_eq!(history(looks).held_until(seconds(0), seconds(0)), None);
    }
}
