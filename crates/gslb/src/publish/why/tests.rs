use super::*;
use crate::health::Health;

fn said(reasons: Vec<Reason>) -> Option<(u16, String)> {
    let reasons = [(Family::V4, reasons), (Family::V6, vec![])].into();
    let why = why_of(&reasons, |family| family == Family::V4)?;
    Some((why.code(), why.text().to_owned()))
}

#[test]
fn troubles_are_told_and_nothing_else() {
    let tag = |tag: &str| tag.to_owned();
    let fine = vec![
        Reason::OwnHealthy { tag: tag("eu") },
        Reason::PeerHealthy { tag: tag("us") },
    ];
    assert_eq!(said(fine.clone()), None);
    let down = Reason::OwnUnhealthy {
        tag: tag("eu"),
        health: Health::Unhealthy,
    };
    let silent = Reason::PeerUnknown { tag: tag("us") };
    let text = "eu (this cluster) is Unhealthy; us did not answer".to_owned();
    assert_eq!(said(vec![down.clone(), silent]), Some((0, text)));
    let held = |age_seconds| Reason::PeerHeld {
        tag: tag("us"),
        age_seconds,
    };
    let text = "eu (this cluster) is Unhealthy; us does not answer, its last answer is held";
    for age in [1, 40] {
        let said = said(vec![down.clone(), held(age)]);
        assert_eq!(said, Some((3, text.to_owned())), "the text does not age");
    }
}
