use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};

use super::{Answer, Family::V4, Observation, View};
use crate::select::PeerAnswer;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn says(second: i64, addresses: &[IpAddr]) -> Observation {
    let answer = Answer::Targets {
        addresses: addresses.into(),
        ttl_seconds: 30,
    };
    Observation {
        answer,
        at: at(second),
        server: None,
    }
}

fn silence(second: i64) -> Observation {
    Observation {
        answer: Answer::Silence,
        at: at(second),
        server: None,
    }
}

#[test]
fn silence_is_told_apart_from_no_targets_and_held_for_a_while() {
    let ip: IpAddr = [10, 0, 0, 1].into();
    let hold = SignedDuration::from_secs(20);
    let mut view = View::default();
    let ask = |view: &View, second| view.host("h").answer("eu", V4, at(second), hold);

    assert_eq!(ask(&view, 0).0, PeerAnswer::Pending);
    assert!(view.note("h", "eu", V4, says(100, &[ip])));
    assert!(
        !view.note("h", "eu", V4, says(105, &[ip])),
        "the same again is no news"
    );
    assert_eq!(ask(&view, 105).0, PeerAnswer::Targets(vec![ip]));
    assert!(view.note("h", "eu", V4, silence(110)));
    assert_eq!(
        ask(&view, 124),
        (
            PeerAnswer::Held {
                targets: vec![ip],
                age_seconds: 19
            },
            Some(at(125))
        )
    );
    assert_eq!(ask(&view, 125), (PeerAnswer::Unknown, None));
    assert_eq!(
        view.host("h")
            .answer("eu", V4, at(111), SignedDuration::ZERO)
            .0,
        PeerAnswer::Unknown
    );
    assert!(view.note("h", "eu", V4, says(130, &[])));
    assert_eq!(ask(&view, 130).0, PeerAnswer::NoTargets);
    view.note("h", "eu", V4, silence(131));
    assert_eq!(
        ask(&view, 131).0,
        PeerAnswer::Unknown,
        "an empty answer is not worth holding"
    );
    view.forget("h");
    assert!(view.is_empty());
}
