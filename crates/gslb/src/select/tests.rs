use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use proptest::prelude::*;

use super::{Own, PeerAnswer, Rule, Selection, Strategy, select};
use crate::health::Health;

fn ip(tag: &str) -> IpAddr {
    match tag {
        "eu" => [10, 0, 0, 1].into(),
        "us" => [10, 1, 0, 1].into(),
        _ => [10, 2, 0, 1].into(),
    }
}

fn failover(order: &[&str]) -> Strategy {
    Strategy::Failover {
        order: order.iter().map(|t| (*t).to_owned()).collect(),
    }
}

const FLEET: [&str; 3] = ["eu", "us", "za"];

/// What `observer` answers when the clusters are in `state` (H or U each) and it cannot reach those in `cut`.
fn answer(strategy: &Strategy, state: &str, observer: &str, cut: &[&str]) -> Selection {
    let healthy: BTreeMap<&str, bool> = FLEET
        .iter()
        .copied()
        .zip(state.chars().map(|c| c == 'H'))
        .collect();
    let peers = FLEET
        .iter()
        .filter(|tag| **tag != observer)
        .map(|tag| {
            let answer = match (cut.contains(tag), healthy[tag]) {
                (true, _) => PeerAnswer::Unknown,
                (false, true) => PeerAnswer::Targets(vec![ip(tag)]),
                (false, false) => PeerAnswer::NoTargets,
            };
            ((*tag).to_owned(), answer)
        })
        .collect();
    let health = if healthy[observer] {
        Health::Healthy
    } else {
        Health::Unhealthy
    };
    select(
        strategy,
        Own {
            tag: observer,
            health,
            addresses: &[ip(observer)],
        },
        &peers,
    )
}

fn tags(selection: &Selection) -> String {
    selection
        .targets
        .keys()
        .cloned()
        .collect::<Vec<_>>()
        .join("+")
}

/// Source: research §3.2, k8gb v0.21 `controllers/applicationDNSEndpoint.go`. Eight states, three observers.
#[test]
fn the_failover_truth_table_holds() {
    let nobody: [&[&str]; 3] = [&[], &[], &[]];
    type Row<'a> = (&'a str, [&'a [&'a str]; 3], [&'a str; 3]);
    let table: [Row<'_>; 8] = [
        ("HHH", nobody, ["eu", "eu", "eu"]),
        ("UHH", nobody, ["us+za", "us+za", "us+za"]),
        ("UHU", nobody, ["us", "us", "us"]),
        ("UUU", nobody, ["", "", ""]),
        ("HUU", nobody, ["eu", "eu", "eu"]),
        ("HHH", [&[], &["eu"], &[]], ["eu", "us+za", "eu"]),
        ("UHH", [&["us", "za"], &[], &[]], ["", "us+za", "us+za"]),
        (
            "HHH",
            [&["us", "za"], &["eu", "za"], &["eu", "us"]],
            ["eu", "us", "za"],
        ),
    ];
    for (state, cuts, expected) in table {
        for (index, observer) in FLEET.into_iter().enumerate() {
            let got = answer(&failover(&["eu"]), state, observer, cuts[index]);
            assert_eq!(
                tags(&got),
                expected[index],
                "{state} as {observer}: {:?}",
                got.why
            );
        }
    }
}

#[test]
fn round_robin_and_geoip_return_every_healthy_cluster() {
    for strategy in [Strategy::RoundRobin, Strategy::GeoIp] {
        for (state, expected) in [
            ("HHH", "eu+us+za"),
            ("UHH", "us+za"),
            ("UUU", ""),
            ("HUU", "eu"),
        ] {
            for observer in FLEET {
                assert_eq!(tags(&answer(&strategy, state, observer, &[])), expected);
            }
        }
        assert_eq!(tags(&answer(&strategy, "HHH", "us", &["eu"])), "us+za");
    }
}

#[test]
fn an_order_names_every_next_cluster() {
    let order = failover(&["eu", "us", "za"]);
    for (state, expected, rule) in [
        ("HHH", "eu", Rule::Primary),
        ("UHH", "us", Rule::Next),
        ("UUH", "za", Rule::Next),
        ("UUU", "", Rule::Nobody),
    ] {
        for observer in FLEET {
            let got = answer(&order, state, observer, &[]);
            assert_eq!(
                (tags(&got).as_str(), got.rule),
                (expected, rule),
                "{state} {observer}"
            );
        }
    }
}

#[test]
fn a_held_answer_keeps_the_primary_and_says_so() {
    let peers = BTreeMap::from([(
        "eu".to_owned(),
        PeerAnswer::Held {
            targets: vec![ip("eu")],
            age_seconds: 12,
        },
    )]);
    let own = Own {
        tag: "us",
        health: Health::Healthy,
        addresses: &[ip("us")],
    };
    let got = select(&failover(&["eu"]), own, &peers);
    assert_eq!(tags(&got), "eu");
    assert!(got.why.iter().any(|r| r.to_string().contains("12 s ago")));
}

#[test]
fn a_peer_not_asked_yet_delays_only_what_it_could_change() {
    let pending = |tag: &str| BTreeMap::from([(tag.to_owned(), PeerAnswer::Pending)]);
    let own = |tag| Own {
        tag,
        health: Health::Healthy,
        addresses: &[],
    };
    let eu = [ip("eu")];
    let own_eu = Own {
        addresses: &eu,
        ..own("eu")
    };
    assert!(
        !select(&failover(&["eu"]), own_eu, &pending("us")).waiting,
        "the primary is decided"
    );
    assert!(select(&failover(&["us"]), own_eu, &pending("us")).waiting);
    assert!(select(&failover(&["za"]), own_eu, &pending("us")).waiting);
    assert!(select(&Strategy::RoundRobin, own_eu, &pending("us")).waiting);
}

#[test]
fn a_healthy_primary_without_an_address_of_the_family_is_replaced_in_that_family() {
    let peers = BTreeMap::from([("us".to_owned(), PeerAnswer::Targets(vec![ip("us")]))]);
    let own = Own {
        tag: "eu",
        health: Health::Healthy,
        addresses: &[],
    };
    assert_eq!(tags(&select(&failover(&["eu"]), own, &peers)), "us");
}

#[test]
fn clusters_behind_one_address_are_one_target() {
    let peers = BTreeMap::from([("us".to_owned(), PeerAnswer::Targets(vec![ip("eu")]))]);
    let own = Own {
        tag: "eu",
        health: Health::Healthy,
        addresses: &[ip("eu")],
    };
    let got = select(&Strategy::RoundRobin, own, &peers);
    assert_eq!((got.targets.len(), got.addresses()), (2, vec![ip("eu")]));
}

fn any_answer(tag: &'static str) -> impl proptest::strategy::Strategy<Value = PeerAnswer> {
    prop_oneof![
        Just(PeerAnswer::Targets(vec![ip(tag)])),
        Just(PeerAnswer::NoTargets),
        Just(PeerAnswer::Unknown),
        Just(PeerAnswer::Held {
            targets: vec![ip(tag)],
            age_seconds: 1
        }),
    ]
}

proptest! {
    /// Nothing is answered that nobody vouches for, and nothing is withheld while somebody does.
    #[test]
    fn answers_come_from_the_healthy_and_are_empty_only_without_them(
        kind in 0..4usize, own_healthy: bool, us in any_answer("us"), za in any_answer("za"),
    ) {
        let strategy = [
            Strategy::RoundRobin, Strategy::GeoIp, failover(&["eu"]), failover(&["za", "eu"]),
        ][kind].clone();
        let health = if own_healthy { Health::Healthy } else { Health::Unhealthy };
        let peers = BTreeMap::from([("us".to_owned(), us), ("za".to_owned(), za)]);
        let mut vouched: BTreeSet<IpAddr> = BTreeSet::new();
        if own_healthy { vouched.insert(ip("eu")); }
        for answer in peers.values() {
            if let PeerAnswer::Targets(t) | PeerAnswer::Held { targets: t, .. } = answer {
                vouched.extend(t);
            }
        }
        let own = Own { tag: "eu", health, addresses: &[ip("eu")] };
        let got: BTreeSet<IpAddr> = select(&strategy, own, &peers).addresses().into_iter().collect();
        prop_assert!(got.is_subset(&vouched));
        prop_assert_eq!(got.is_empty(), vouched.is_empty());
    }
}
