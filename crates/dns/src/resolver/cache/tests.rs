use super::*;
use crate::record::Data;

fn question(number: usize) -> Question {
    Question {
        name: Name::parse(&format!("host-{number}.example.com")).unwrap(),
        rtype: Type::A,
    }
}

fn record(number: usize, ttl_seconds: u32) -> Record {
    let data = Data::A([127, 0, 0, 1].into());
    Record {
        name: question(number).name,
        ttl_seconds,
        data,
    }
}

#[test]
fn entries_live_as_long_as_their_ttl_and_count_down() {
    let mut cache = Cache::new(100);
    cache.learn(question(1), Known::Records(vec![record(1, 5)]), 1_000);
    for (now_ms, left) in [
        (1_000, Some(5)),
        (2_500, Some(4)),
        (5_999, Some(1)),
        (6_000, None),
    ] {
        let known = cache.known(&question(1).name, Type::A, now_ms);
        let ttl = known.map(|known| match known {
            Known::Records(records) => records[0].ttl_seconds,
            other => panic!("{other:?}"),
        });
        assert_eq!(ttl, left, "at {now_ms} ms");
    }
}

#[test]
fn nothing_is_kept_without_a_ttl_and_lying_ones_are_cut() {
    let mut cache = Cache::new(100);
    cache.learn(question(1), Known::Records(vec![record(1, 0)]), 0);
    cache.learn(question(2), Known::NxDomain(None), 0);
    assert!(cache.is_empty());
    cache.learn(question(3), Known::Records(vec![record(3, u32::MAX)]), 0);
    cache.learn(question(4), Known::NxDomain(Some(record(4, u32::MAX))), 0);
    let mut lives = |number, seconds: u64| {
        cache
            .known(&question(number).name, Type::A, seconds * 1000)
            .is_some()
    };
    assert!(lives(3, 86_399) && !lives(3, 86_400));
    assert!(lives(4, 3_599) && !lives(4, 3_600));
}

#[test]
fn memory_is_bounded_and_lively_entries_survive() {
    let mut cache = Cache::new(100);
    for number in 0..10_000 {
        cache.learn(
            question(number),
            Known::Records(vec![record(number, 60)]),
            0,
        );
        assert!(
            cache.known(&question(0).name, Type::A, 1).is_some(),
            "lost after {number}"
        );
        assert!(cache.len() <= 100);
    }
}
