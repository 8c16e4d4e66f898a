//! Waiting for a state instead of sleeping and hoping.

use std::time::{Duration, Instant};

/// Calls `look` until it returns a value, at most for `limit`, and returns how long that took.
///
/// # Panics
/// When the time is up; `what` says what was waited for.
#[expect(
    clippy::disallowed_methods,
    reason = "tests against real processes wait in real time"
)]
pub fn wait_until<T>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> (T, Duration) {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return (found, start.elapsed());
        }
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until `look` returns `expected`; the last value seen is part of the panic.
///
/// # Panics
/// When the time is up.
pub fn eventually<T: PartialEq + std::fmt::Debug>(
    what: &str,
    limit: Duration,
    expected: &T,
    mut look: impl FnMut() -> T,
) -> Duration {
    let mut last = None;
    let ((), took) = {
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(what, limit, || {
                let seen = look();
                let same = seen == *expected;
                last = Some(seen);
                same.then_some(())
            })
        }));
        found.unwrap_or_else(|_| panic!("{what}: expected {expected:?}, last saw {last:?}"))
    };
    took
}
