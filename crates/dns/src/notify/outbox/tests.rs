use super::*;

fn zone() -> Name {
    Name::parse("cloud.example.com").unwrap()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn recipient(id: &str, ports: &[u16]) -> Recipient {
    Recipient {
        id: id.into(),
        addresses: ports
            .iter()
            .map(|port| ([127, 0, 0, 1], *port).into())
            .collect(),
    }
}

/// Steps such as `0 change 2`, `60 ack us 2` and what is sent after each: `us:1053=2`.
fn check(recipients: &[Recipient], script: &[(u64, &str, &str)]) {
    let mut outbox = Outbox::default();
    outbox.set(&zone(), recipients, 1, ms(0));
    for (at, step, expected) in script {
        let words = step.split(' ').collect::<Vec<_>>();
        match words[..] {
            ["change", serial] => outbox.changed(&zone(), serial.parse().unwrap(), ms(*at)),
            ["ack", id, serial] => outbox.acknowledged(&zone(), id, serial.parse().unwrap()),
            ["wait"] => {}
            _ => panic!("{step}"),
        }
        let sent = outbox.take_due(ms(*at));
        let sent = sent
            .iter()
            .map(|s| format!("{}:{}={}", s.id, s.address.port(), s.serial));
        assert_eq!(
            sent.collect::<Vec<_>>().join(" "),
            *expected,
            "at {at} ms: {step}"
        );
    }
}

#[test]
fn the_first_change_is_told_at_once_and_a_flood_every_gap() {
    check(
        &[recipient("us", &[53]), recipient("za", &[53])],
        &[
            (0, "wait", "us:53=1 za:53=1"),
            (5, "ack us 1", ""),
            (5, "ack za 1", ""),
            (200, "change 2", "us:53=2 za:53=2"),
            (201, "change 3", ""),
            (220, "change 4", ""),
            (249, "wait", ""),
            (250, "wait", "us:53=4 za:53=4"),
            (260, "ack us 2", ""),
            (261, "ack us 4", ""),
            (700, "wait", ""),
            (750, "wait", "za:53=4"),
        ],
    );
}

#[test]
fn what_is_not_acknowledged_is_told_again_elsewhere_less_and_less_often() {
    check(
        &[recipient("us", &[1053, 53])],
        &[
            (0, "wait", "us:1053=1"),
            (499, "wait", ""),
            (500, "wait", "us:53=1"),
            (1_499, "wait", ""),
            (1_500, "wait", "us:1053=1"),
            (3_500, "wait", "us:53=1"),
            (3_600, "ack us 1", ""),
            // Where it was heard last is tried first.
            (9_000, "change 2", "us:53=2"),
        ],
    );
}

#[test]
fn a_recipient_that_is_away_is_left_alone_until_the_next_change() {
    let mut outbox = Outbox::default();
    outbox.set(&zone(), &[recipient("us", &[53])], 1, ms(0));
    let mut n_sent = 0;
    while let Some(due) = outbox.next_due() {
        n_sent += outbox.take_due(due).len();
    }
    assert_eq!(n_sent, TRIES_MAX as usize);
    outbox.changed(&zone(), 2, ms(1_000_000));
    assert_eq!(outbox.take_due(ms(1_000_000)).len(), 1);
    outbox.set(&zone(), &[recipient("us", &[])], 2, ms(1_000_001));
    outbox.changed(&zone(), 3, ms(2_000_000));
    assert_eq!(outbox.take_due(ms(2_000_000)), []);
    assert_eq!(outbox.next_due(), None);
    outbox.set(&zone(), &[], 2, ms(2_000_001));
    outbox.changed(&zone(), 4, ms(3_000_000));
    assert_eq!(outbox.next_due(), None);
}
