use super::{Note, Turn};
use crate::sight::Votes;

fn note(share: u32, kept: &[&str]) -> Note {
    let votes = Votes { lost: 0, of: 1 };
    let kept = kept.iter().map(|tag| ((*tag).to_owned(), votes));
    Note {
        share,
        kept: kept.collect(),
    }
}

#[test]
fn a_change_is_said_once() {
    let votes = Votes { lost: 0, of: 1 };
    let kept = |tag: &str| Turn::Kept {
        tag: tag.into(),
        votes,
    };
    let released = |tag: &str| Turn::Released { tag: tag.into() };
    let table = [
        (note(100, &[]), note(100, &[]), vec![]),
        (
            note(100, &[]),
            note(90, &[]),
            vec![Turn::Share { percent: 90 }],
        ),
        (note(0, &[]), note(0, &[]), vec![]),
        (note(100, &[]), note(100, &["eu"]), vec![kept("eu")]),
        (note(100, &["eu"]), note(100, &["eu"]), vec![]),
        (
            note(100, &["eu"]),
            note(50, &["us"]),
            vec![Turn::Share { percent: 50 }, kept("us"), released("eu")],
        ),
    ];
    for (before, after, expected) in table {
        assert_eq!(before.turns(&after), expected, "{before:?} {after:?}");
    }
}
