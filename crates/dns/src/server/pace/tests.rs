use std::time::Duration;

use super::{PAUSE, Pace};

const N_SLOTS: usize = 32;

/// How many of the last batches were followed by a pause, of 400 batches of `n` queries `micros` apart.
fn n_pauses(n: usize, n_slots: usize, micros: u64) -> usize {
    let mut pace = Pace::new();
    let mut now = Duration::from_secs(1_800_000_000);
    let pauses = (0..400).map(|_| {
        now += Duration::from_micros(micros);
        pace.received(n, n_slots, now)
    });
    pauses.collect::<Vec<_>>()[300..]
        .iter()
        .filter(|pause| **pause == Some(PAUSE))
        .count()
}

#[test]
fn it_pauses_only_when_queries_come_fast_in_small_batches() {
    for (n, n_slots, micros, expected) in [
        // 10 and 25,000 a second: nothing would gather.
        (1, N_SLOTS, 100_000, 0),
        (1, N_SLOTS, 40, 0),
        // 50,000 a second, one by one, two by two, and gathered.
        (1, N_SLOTS, 20, 100),
        (2, N_SLOTS, 40, 100),
        (4, N_SLOTS, 80, 100),
        // Batches fill without help.
        (9, N_SLOTS, 20, 0),
        (N_SLOTS, N_SLOTS, 100, 0),
        // Where the system has no batches.
        (1, 1, 5, 0),
    ] {
        let what = format!("{n} of {n_slots} every {micros} µs");
        assert_eq!(n_pauses(n, n_slots, micros), expected, "{what}");
    }
}

#[test]
fn it_stops_pausing_as_soon_as_queries_come_slowly() {
    let mut pace = Pace::new();
    let mut now = Duration::from_secs(1);
    for _ in 0..400 {
        now += Duration::from_micros(10);
        pace.received(1, N_SLOTS, now);
    }
    now += Duration::from_secs(1);
    assert_eq!(pace.received(1, N_SLOTS, now), None);
}

#[test]
fn a_clock_set_back_does_no_harm() {
    let mut pace = Pace::new();
    for seconds in [100, 50, 49] {
        assert_eq!(
            pace.received(1, N_SLOTS, Duration::from_secs(seconds)),
            None
        );
    }
}
