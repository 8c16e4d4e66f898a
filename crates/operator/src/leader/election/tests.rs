use std::time::Duration;

use tokio::time::Instant;

use super::{Election, Held, Step};
use crate::leader::Settings;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn start() -> Instant {
    Instant::now()
}

fn held(holder: &str, renewed: u64) -> Held {
    Held {
        holder: holder.into(),
        renewed: renewed.to_string(),
        lease: seconds(15),
    }
}

#[test]
fn a_lease_is_taken_when_it_is_free_or_was_not_renewed_in_time() {
    let t0 = start();
    let mut b = Election::new(Settings::new("ns", "x", "b"));
    let looks = [
        (0, held("a", 0), Step::Wait),
        (10, held("a", 1), Step::Wait),
        // 15 s count from when the renewal was seen, whatever its time says.
        (24, held("a", 1), Step::Wait),
        (25, held("a", 1), Step::Take),
        (26, held("", 2), Step::Take),
        (27, held("b", 3), Step::Renew),
        (28, held("c", 4), Step::Wait),
    ];
    for (at, lease, step) in looks {
        assert_eq!(b.look(Some(&lease), t0 + seconds(at)), step, "{at}");
    }
    assert_eq!(
        Election::new(Settings::new("ns", "x", "b")).look(None, t0),
        Step::Take
    );
}

#[test]
fn a_leader_that_cannot_renew_stops_before_another_starts() {
    let t0 = start();
    let mut a = Election::new(Settings::new("ns", "x", "a"));
    let mut b = Election::new(Settings::new("ns", "x", "b"));
    assert!(!a.leads(t0));
    a.took(&held("a", 0), t0);
    assert!(a.leads(t0) && a.leads(t0 + seconds(9)));
    assert_eq!(a.wait(t0 + seconds(9)), seconds(1));
    assert!(!a.leads(t0 + seconds(10)), "its deadline");
    // b sees the lease later than it was written, so it takes over later still.
    for at in 1..60 {
        let now = t0 + seconds(at);
        if b.look(Some(&held("a", 0)), now) == Step::Take {
            assert!(!a.leads(now));
            assert_eq!(at, 16);
            break;
        }
    }
    a.look(Some(&held("b", 1)), t0 + seconds(17));
    assert!(!a.leads(t0 + seconds(17)));
}

#[test]
fn whoever_was_slower_looks_again() {
    let t0 = start();
    let mut a = Election::new(Settings::new("ns", "x", "a"));
    assert_eq!(a.look(None, t0), Step::Take);
    a.lost();
    assert!(!a.leads(t0));
    assert_eq!(a.look(Some(&held("b", 0)), t0 + seconds(2)), Step::Wait);
    assert_eq!(a.wait(t0), seconds(2));
}
