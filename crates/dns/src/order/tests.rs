use std::num::NonZeroU16;

use super::*;
use crate::catalog::{Catalog, Change};
use crate::name::Name;
use crate::record::{Data, Type};
use crate::zone::{Entry, RecordSet, Settings};

/// A catalog whose only host has groups of `(weight, number of addresses)`; address 127.g.0.i is the i-th of group g.
fn weighted(groups: &[(u32, u8)], take: u16) -> Catalog {
    let zone = Name::parse("example.com").unwrap();
    let addresses = |group: usize, n: u8| {
        (0..n)
            .map(|last| Data::A([127, group as u8, 0, last].into()))
            .collect::<Vec<_>>()
    };
    let groups = groups
        .iter()
        .enumerate()
        .map(|(at, (weight, n))| (*weight, addresses(at, *n)));
    let set = RecordSet::weighted(5, groups.collect(), NonZeroU16::new(take));
    let (catalog, errors) = Catalog::default().with(vec![
        Change::Zone(Settings::k8gb(zone.clone(), 0, 30, vec![]).unwrap()),
        Change::Set {
            name: zone.child("app").unwrap(),
            zone,
            entry: Entry::of(set).into(),
        },
    ]);
    assert_eq!(errors, []);
    catalog
}

/// Draws `n` arrangements and gives each to `look` as the groups of the records in order.
fn draws(catalog: &Catalog, n: usize, seed: u64, mut look: impl FnMut(&[usize])) {
    let zone = catalog.zones()[0];
    let set = zone.node(b"\x03app").unwrap().set(Type::A).unwrap();
    let group_of = set
        .rdata()
        .map(|rdata| usize::from(rdata[1]))
        .collect::<Vec<_>>();
    let mut entropy = Entropy::new(seed);
    for _ in 0..n {
        let drawn = Arrangement::draw(&set, &mut entropy);
        let mut positions = drawn.positions().to_vec();
        look(
            &positions
                .iter()
                .map(|at| group_of[usize::from(*at)])
                .collect::<Vec<_>>(),
        );
        positions.sort_unstable();
        assert!(
            positions.windows(2).all(|pair| pair[0] < pair[1]),
            "a record is given twice"
        );
    }
}

/// Pearson's χ² statistic.
fn chi_square(seen: &[f64], expected: &[f64]) -> f64 {
    seen.iter()
        .zip(expected)
        .map(|(seen, want)| (seen - want).powi(2) / want)
        .sum()
}

/// How often each group comes first, and its χ² against the weights; 27.9 is the 0.001 % point for five degrees of freedom.
#[test]
fn the_first_record_follows_the_weights() {
    for (groups, seed) in [
        (vec![(5, 1), (5, 1)], 1),
        (vec![(10, 2), (20, 2), (70, 2)], 2),
        (vec![(1, 1), (1, 7), (98, 3)], 3),
        (vec![(u32::MAX, 1), (u32::MAX, 1)], 4),
    ] {
        let n = 20_000;
        let mut seen = vec![0.0; groups.len()];
        draws(&weighted(&groups, 0), n, seed, |order| {
            seen[order[0]] += 1.0;
            assert_eq!(
                order.len(),
                groups.iter().map(|(_, n)| usize::from(*n)).sum::<usize>()
            );
        });
        let total = groups
            .iter()
            .map(|(weight, _)| f64::from(*weight))
            .sum::<f64>();
        let expected = groups
            .iter()
            .map(|(weight, _)| n as f64 * f64::from(*weight) / total);
        let statistic = chi_square(&seen, &expected.collect::<Vec<_>>());
        assert!(statistic < 27.9, "{groups:?}: {seen:?}, χ² {statistic}");
    }
}

/// D8: tags `eu` with weight 10 and `eu1` with weight 0 are different groups, and zero means last.
#[test]
fn groups_of_weight_zero_come_last() {
    draws(&weighted(&[(10, 2), (0, 2)], 0), 500, 5, |order| {
        assert_eq!(order, [0, 0, 1, 1])
    });
}

#[test]
fn all_weights_zero_means_no_preference() {
    let mut seen = [0.0; 2];
    draws(&weighted(&[(0, 1), (0, 1)], 0), 10_000, 6, |order| {
        seen[order[0]] += 1.0
    });
    assert!(chi_square(&seen, &[5_000.0, 5_000.0]) < 27.9, "{seen:?}");
}

/// Whatever record of a k-of-n answer a resolver picks, the groups get their shares.
#[test]
fn some_of_many_keep_the_shares_behind_a_shuffling_resolver() {
    for (groups, take, seed) in [
        (vec![(10, 4), (20, 4), (70, 4)], 1, 7),
        (vec![(10, 4), (20, 4), (70, 4)], 3, 8),
        (vec![(1, 1), (1, 2), (2, 8)], 2, 9),
        (vec![(0, 4), (0, 4)], 2, 10),
    ] {
        let n = 20_000;
        let mut seen = vec![0.0; groups.len()];
        draws(&weighted(&groups, take), n, seed, |order| {
            assert_eq!(order.len(), usize::from(take));
            order
                .iter()
                .for_each(|group| seen[*group] += 1.0 / f64::from(take));
        });
        let all_zero = groups.iter().all(|(weight, _)| *weight == 0);
        let weight =
            |(weight, n): &(u32, u8)| f64::from(if all_zero { u32::from(*n) } else { *weight });
        let total = groups.iter().map(weight).sum::<f64>();
        let expected = groups.iter().map(|group| n as f64 * weight(group) / total);
        let statistic = chi_square(&seen, &expected.collect::<Vec<_>>());
        assert!(
            statistic < 27.9,
            "{groups:?} take {take}: {seen:?}, χ² {statistic}"
        );
    }
}

#[test]
fn some_of_many_leaves_weight_zero_out_and_caps_at_certainty() {
    // Group 0 should get 90 % of 2 records but has only one address: it is in every answer.
    draws(&weighted(&[(90, 1), (10, 3)], 2), 500, 11, |order| {
        assert_eq!(order.iter().filter(|group| **group == 0).count(), 1);
        assert_eq!(order.len(), 2);
    });
    draws(&weighted(&[(1, 1), (0, 5)], 3), 100, 12, |order| {
        assert_eq!(order, [0])
    });
    draws(&weighted(&[(1, 2), (0, 5)], 7), 100, 13, |order| {
        assert_eq!(order.len(), 7)
    });
}

#[test]
fn bounds_are_met_and_draws_repeat() {
    let mut entropy = Entropy::new(1);
    let mut again = Entropy::new(1);
    for bound in 1..1_000 {
        let drawn = entropy.below(bound);
        assert!(drawn < bound);
        assert_eq!(again.below(bound), drawn);
    }
}
