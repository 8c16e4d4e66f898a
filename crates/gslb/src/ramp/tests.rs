use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::{Drain, FULL};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000 + second).unwrap()
}

fn percent(drain: Drain, period: i64, now: i64) -> u32 {
    drain
        .share(SignedDuration::from_secs(period), at(now))
        .percent
}

#[test]
fn a_drain_goes_down_in_ten_steps_and_the_way_back_up() {
    let (out, back) = (Drain::Out(Some(at(0))), Drain::Back(at(0)));
    let table = [
        (Drain::Off, 300, 0, 100),
        (Drain::Out(None), 300, 0, 0),
        (out, 300, -1, 100),
        (out, 300, 0, 100),
        (out, 300, 29, 100),
        (out, 300, 30, 90),
        (out, 300, 150, 50),
        (out, 300, 299, 10),
        (out, 300, 300, 0),
        (out, 0, 0, 0),
        (back, 300, 0, 10),
        (back, 300, 150, 60),
        (back, 300, 299, 100),
        (back, 300, 300, 100),
        (back, 0, 0, 100),
    ];
    for (drain, period, now, expected) in table {
        assert_eq!(
            percent(drain, period, now),
            expected,
            "{drain:?} {period} {now}"
        );
    }
}

proptest! {
    /// Waiting for each next change visits every step, and a share never turns round.
    #[test]
    fn shares_move_one_way_and_come_to_rest(period in 1i64..100_000, back: bool) {
        let drain = if back { Drain::Back(at(0)) } else { Drain::Out(Some(at(0))) };
        let period = SignedDuration::from_secs(period);
        let (mut now, mut last, mut n_steps) = (at(0), None, 0);
        loop {
            let share = drain.share(period, now);
            if let Some(last) = last {
                let one_way = match back {
                    true => share.percent >= last,
                    false => share.percent <= last,
                };
                prop_assert!(one_way, "from {} to {}", last, share.percent);
            }
            last = Some(share.percent);
            let Some(until) = share.until else { break };
            prop_assert!(until > now);
            now = until;
            n_steps += 1;
        }
        prop_assert!(n_steps <= 11);
        prop_assert_eq!(last, Some(if back { FULL } else { 0 }));
    }
}
