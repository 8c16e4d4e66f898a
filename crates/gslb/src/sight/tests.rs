use proptest::prelude::*;

use super::{Sight, Sighting, State, Votes, votes};

fn sight(text: &str) -> Sighting {
    Sighting::Said(Sight::parse(text).unwrap())
}

#[test]
fn a_sight_is_read_as_it_was_written() {
    let text = "v=1 by=za share=40 eu=silent us=healthy us-east-1=none za=recovering";
    let parsed = Sight::parse(text).unwrap();
    assert_eq!(parsed.to_string(), text);
    assert_eq!(parsed.clusters["us-east-1"], State::None);
    let later = Sight::parse("v=1 by=za share=100 eu=silent eu2=sleeping mood").unwrap();
    assert_eq!(later.clusters.len(), 1, "unknown words are skipped");
    for bad in [
        "",
        "by=za share=100",
        "v=2 by=za share=100",
        "v=1 share=100",
        "v=1 by= share=100",
        "v=1 by=za share=101",
        "v=1 by=za share=-1",
        "10.0.0.1",
    ] {
        assert_eq!(Sight::parse(bad), None, "{bad}");
    }
    let long = format!("v=1 by=za share=100 {}", "x=silent ".repeat(2_000));
    assert_eq!(Sight::parse(&long), None);
}

#[test]
fn most_witnesses_have_to_agree() {
    let lost = sight("v=1 by=za share=100 eu=silent");
    let ill = sight("v=1 by=ap share=100 eu=none");
    let sees = sight("v=1 by=sa share=100 eu=healthy");
    let unsure = sight("v=1 by=ca share=100 eu=pending");
    let recovering = sight("v=1 by=ca share=100 eu=recovering");
    let (silence, none) = (Sighting::Silence, Sighting::NotKept);
    type Row<'a> = (&'a [Option<&'a Sighting>], usize, usize, bool);
    let table: [Row<'_>; 12] = [
        (&[], 0, 0, true),
        (&[Some(&none)], 0, 0, true),
        (&[Some(&lost)], 1, 1, true),
        (&[Some(&ill)], 1, 1, true),
        (&[Some(&sees)], 0, 1, false),
        (&[Some(&unsure)], 0, 1, false),
        (&[Some(&recovering)], 0, 1, false),
        (&[Some(&silence)], 0, 1, false),
        (&[None], 0, 1, false),
        (&[Some(&lost), Some(&sees)], 1, 2, false),
        (&[Some(&lost), Some(&ill), Some(&sees)], 2, 3, true),
        (&[Some(&lost), Some(&none), Some(&none)], 1, 1, true),
    ];
    for (sightings, n_lost, of, agree) in table {
        let counted = votes("eu", sightings.iter().copied());
        assert_eq!(counted, Votes { lost: n_lost, of }, "{sightings:?}");
        assert_eq!(counted.agree(), agree, "{sightings:?}");
    }
}

proptest! {
    #[test]
    fn foreign_text_does_no_harm(text in ".{0,300}") {
        if let Some(sight) = Sight::parse(&text) {
            prop_assert_eq!(Sight::parse(&sight.to_string()), Some(sight));
        }
    }
}
