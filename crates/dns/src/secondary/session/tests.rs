use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Steps with what the session does after each.
fn check(script: &[(u64, &str, Step)]) {
    let mut session = Session::new(ms(5_000), ms(0));
    for (at, event, expected) in script {
        let words = event.split(' ').collect::<Vec<_>>();
        match words[..] {
            ["wait"] => {}
            ["notice"] => session.noticed(None),
            ["notice", serial] => session.noticed(serial.parse().ok()),
            ["pulled", serial] => session.pulled(serial.parse().ok(), ms(*at)),
            ["broke"] => drop(session.broke(ms(*at))),
            _ => panic!("{event}"),
        }
        assert_eq!(session.step(ms(*at)), *expected, "at {at} ms: {event}");
    }
}

fn wait(at: u64) -> Step {
    Step::Wait(Some(ms(at)))
}

#[test]
fn a_live_session_pulls_on_news_and_to_prove_itself() {
    check(&[
        (0, "wait", Step::Open),
        (1, "notice 5", Step::Wait(None)),
        (200, "pulled 5", wait(5_200)),
        (300, "notice 5", wait(5_200)),
        (300, "notice 4", wait(5_200)),
        (300, "notice 6", Step::Pull),
        (301, "notice 7", Step::Wait(None)),
        (301, "notice 8", Step::Wait(None)),
        (500, "pulled 7", Step::Pull),
        (700, "pulled 8", wait(5_700)),
        (5_700, "wait", Step::Pull),
        (5_900, "pulled 8", wait(10_900)),
        (6_000, "notice", Step::Pull),
        (6_001, "pulled 8", wait(11_001)),
        (6_002, "notice", wait(6_010)),
        (6_010, "wait", Step::Pull),
    ]);
}

#[test]
fn a_session_that_breaks_is_tried_again_less_and_less_often() {
    check(&[
        (0, "wait", Step::Open),
        (100, "broke", wait(1_100)),
        (1_100, "wait", Step::Open),
        (1_200, "broke", wait(3_200)),
        (3_200, "wait", Step::Open),
        (3_300, "broke", wait(7_300)),
        // A peer that speaks is there again.
        (3_400, "notice 9", wait(4_300)),
        (4_300, "wait", Step::Open),
        (4_400, "pulled 9", wait(9_400)),
        (4_500, "broke", wait(5_500)),
        (5_500, "wait", Step::Open),
    ]);
}

#[test]
fn a_peer_that_cannot_push_is_asked_once_a_minute() {
    let mut session = Session::new(ms(5_000), ms(0));
    let (mut now, mut n_opened) = (ms(0), 0);
    while now < ms(3_600_000) {
        match session.step(now) {
            Step::Open => {
                n_opened += 1;
                assert!(!session.broke(now));
            }
            Step::Wait(Some(at)) => now = at,
            step => panic!("{step:?}"),
        }
    }
    assert_eq!(n_opened, 65);
}
