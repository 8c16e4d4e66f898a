//! Witnessed fail-over, hold-down and gradual drain, by the whole engine over the simulated network.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{
    fleet::{Fleet, HOST, application, gslb, set_ready},
    scenarios::{app, failover},
};
use crate::{kinds::Kind, view::Family};

const TAGS: [&str; 4] = ["eu", "us", "za", "ap"];
const POLL_MS: i64 = 5_000;

fn address(index: usize) -> String {
    format!("10.{index}.0.1")
}

/// A fleet in which everybody is healthy and knows it.
fn fleet(n: usize, strategy: &Value, annotations: &Value) -> Fleet {
    let mut fleet = Fleet::new(&TAGS[..n], 5);
    for (index, tag) in TAGS[..n].iter().enumerate() {
        let now = fleet.now;
        let cluster = fleet.cluster(tag);
        application(cluster, &address(index), true, now);
        let mut object = gslb(strategy.clone());
        object["metadata"]["annotations"] = annotations.clone();
        cluster.put(Kind::Gslb, object, now);
    }
    fleet.run(3 * POLL_MS, &mut |_| {});
    fleet
}

fn witness() -> Value {
    json!({"flotilla.dev/failover-witness": "true"})
}

/// Whom each cluster answers with, in the order of [`TAGS`], as `eu us+za eu`.
fn answers(fleet: &Fleet, n: usize) -> String {
    let one = |tag: &&str| {
        let ips = fleet.clusters[*tag].addresses(HOST, Family::V4);
        let tags: Vec<&str> = (0..n)
            .filter(|index| ips.contains(&address(*index).parse().unwrap()))
            .map(|index| TAGS[index])
            .collect();
        if tags.is_empty() {
            "-".to_owned()
        } else {
            tags.join("+")
        }
    };
    TAGS[..n].iter().map(one).collect::<Vec<_>>().join(" ")
}

fn condition(fleet: &Fleet, tag: &str, kind: &str) -> String {
    let conditions = &fleet.clusters[tag].status(&app())["conditions"];
    let found = conditions
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["type"] == kind);
    found.map_or_else(String::new, |c| {
        format!(
            "{} {}",
            c["status"].as_str().unwrap(),
            c["reason"].as_str().unwrap()
        )
    })
}

/// What the rule says, worked out by hand from who is well and who hears whom. Bit i of `healthy` is cluster i.
fn oracle(n: usize, healthy: u32, hears: &dyn Fn(usize, usize) -> bool) -> String {
    let well = |i: usize| healthy & (1 << i) != 0;
    let secondaries = |x: usize| -> Vec<usize> {
        (1..n)
            .filter(|y| well(*y) && (*y == x || hears(x, *y)))
            .collect()
    };
    let answer = |x: usize| -> Vec<usize> {
        if x == 0 && well(0) || x != 0 && hears(x, 0) && well(0) {
            return vec![0];
        }
        if x == 0 || hears(x, 0) {
            return secondaries(x);
        }
        let others = (1..n).filter(|y| *y != x);
        let n_lost = others
            .clone()
            .filter(|y| hears(x, *y) && (!hears(*y, 0) || !well(0)))
            .count();
        let n_others = others.count();
        if n_others == 0 || n_lost * 2 > n_others {
            secondaries(x)
        } else {
            vec![0]
        }
    };
    let text = |x: usize| {
        let tags: Vec<&str> = answer(x).into_iter().map(|i| TAGS[i]).collect();
        if tags.is_empty() {
            "-".to_owned()
        } else {
            tags.join("+")
        }
    };
    (0..n).map(text).collect::<Vec<_>>().join(" ")
}

/// Every state of health with every set of cut links, against the oracle.
fn check_every_partition(n: usize, states: &[u32]) {
    let links: Vec<(usize, usize)> = (0..n)
        .flat_map(|a| (a + 1..n).map(move |b| (a, b)))
        .collect();
    for &healthy in states {
        for cuts in 0u32..1 << links.len() {
            let cut = |a: usize, b: usize| {
                let link = links
                    .iter()
                    .position(|l| *l == (a.min(b), a.max(b)))
                    .unwrap();
                cuts & (1 << link) != 0
            };
            let mut fleet = fleet(n, &failover(), &witness());
            for (a, b) in links.iter().filter(|(a, b)| cut(*a, *b)) {
                // One direction is enough: a question without an answer is no answer.
                fleet.cut(TAGS[*b], TAGS[*a]);
            }
            let now = fleet.now;
            for (index, tag) in TAGS[..n].iter().enumerate() {
                set_ready(fleet.cluster(tag), healthy & (1 << index) != 0, now);
            }
            fleet.run(4 * POLL_MS, &mut |_| {});
            let expected = oracle(n, healthy, &|a, b| !cut(a, b));
            assert_eq!(
                answers(&fleet, n),
                expected,
                "healthy {healthy:04b}, cuts {cuts:06b}"
            );
        }
    }
}

#[test]
fn witnessed_failover_of_three_holds_in_every_partition() {
    check_every_partition(3, &[0b111, 0b110, 0b101, 0b100, 0b011, 0b000]);
}

#[test]
fn witnessed_failover_of_four_holds_in_every_partition() {
    check_every_partition(4, &[0b1111, 0b1110]);
}

#[test]
fn two_clusters_have_no_witness_and_say_so() {
    let mut fleet = fleet(2, &failover(), &witness());
    assert_eq!(condition(&fleet, "us", "Witnessed"), "False NoWitness");
    assert_eq!(condition(&fleet, "eu", "Witnessed"), "True First");
    fleet.cut("us", "eu");
    fleet.run(3 * POLL_MS, &mut |_| {});
    assert_eq!(answers(&fleet, 2), "eu us", "as without the option");
}

/// Source of the rows: the table in docs/gslb.md.
#[test]
fn the_published_table_of_witnessed_failover() {
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);
    let table: [Row<'_>; 4] = [
        (&[("us", "eu")], "eu eu eu", "False PrimaryKept"),
        (
            &[("us", "eu"), ("za", "eu")],
            "eu us+za us+za",
            "True Witnesses",
        ),
        (
            &[("us", "eu"), ("us", "za")],
            "eu eu eu",
            "False PrimaryKept",
        ),
        (
            &[("us", "eu"), ("us", "za"), ("za", "eu")],
            "eu eu eu",
            "False PrimaryKept",
        ),
    ];
    for (cuts, expected, said) in table {
        let mut fleet = fleet(3, &failover(), &witness());
        assert_eq!(condition(&fleet, "us", "Witnessed"), "True Witnesses");
        for (from, to) in cuts {
            fleet.cut(from, to);
        }
        fleet.run(4 * POLL_MS, &mut |_| {});
        assert_eq!(answers(&fleet, 3), expected, "{cuts:?}");
        assert_eq!(condition(&fleet, "us", "Witnessed"), said, "{cuts:?}");
        fleet.cuts.clear();
        fleet.run(2 * POLL_MS, &mut |_| {});
        assert_eq!(answers(&fleet, 3), "eu eu eu");
    }
}

#[test]
fn a_primary_that_came_back_is_watched_before_it_is_used() {
    let hold = json!({"flotilla.dev/failback-hold-seconds": "60"});
    let mut fleet = fleet(3, &failover(), &hold);
    let flip = |fleet: &mut Fleet, ready| {
        let now = fleet.now;
        set_ready(fleet.cluster("eu"), ready, now);
    };
    flip(&mut fleet, false);
    fleet.run(10_000, &mut |_| {});
    assert_eq!(answers(&fleet, 3), "us+za us+za us+za");
    flip(&mut fleet, true);
    fleet.run(50_000, &mut |_| {});
    assert_eq!(answers(&fleet, 3), "us+za us+za us+za");
    let seen = fleet.clusters["us"].sight(HOST);
    assert!(
        format!("{seen:?}").contains("\"eu\": Recovering"),
        "{seen:?}"
    );
    fleet.run(20_000, &mut |_| {});
    assert_eq!(answers(&fleet, 3), "eu eu eu");
    // Once more: now it has to wait for twice as long.
    flip(&mut fleet, false);
    fleet.run(10_000, &mut |_| {});
    flip(&mut fleet, true);
    fleet.run(100_000, &mut |_| {});
    assert_eq!(answers(&fleet, 3), "us+za us+za us+za");
    fleet.run(30_000, &mut |_| {});
    assert_eq!(answers(&fleet, 3), "eu eu eu");
    // Nobody else is left: it is used at once.
    flip(&mut fleet, false);
    fleet.run(10_000, &mut |_| {});
    flip(&mut fleet, true);
    let now = fleet.now;
    for tag in ["us", "za"] {
        set_ready(fleet.cluster(tag), false, now);
    }
    fleet.run(8_000, &mut |_| {});
    assert_eq!(answers(&fleet, 3), "eu eu eu");
}

#[test]
fn a_drain_over_a_period_moves_the_shares_in_every_cluster() {
    let strategy = json!({"type": "roundRobin", "weight": {"eu": 50, "us": 50}});
    let period = json!({"flotilla.dev/drain-seconds": "100"});
    let mut fleet = fleet(2, &strategy, &period);
    let labels = |fleet: &Fleet| {
        let one = |tag: &&str| {
            let endpoint = &fleet.clusters[*tag].objects[&(Kind::DnsEndpoint, app())];
            let endpoints = endpoint["spec"]["endpoints"].as_array().unwrap();
            let host = endpoints.iter().find(|e| e["dnsName"] == HOST).unwrap();
            let labels = host["labels"].as_object().unwrap().keys();
            let weights = labels.filter_map(|label| label.strip_prefix("weight-"));
            weights.map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        TAGS[..2].iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(labels(&fleet), ["eu-0-50 us-0-50", "eu-0-50 us-0-50"]);
    let begin = fleet.now;
    let annotate = |fleet: &mut Fleet, key: &str| {
        let now = fleet.now;
        let mut object = gslb(strategy.clone());
        object["metadata"]["annotations"] = period.clone();
        object["metadata"]["annotations"][key] = json!(now.to_string());
        object["status"] = fleet.clusters["eu"].status(&app()).clone();
        fleet.cluster("eu").put(Kind::Gslb, object, now);
    };
    annotate(&mut fleet, "flotilla.dev/drain");
    fleet.run(47_000, &mut |_| {});
    assert_eq!(labels(&fleet), ["eu-0-30 us-0-50", "eu-0-30 us-0-50"]);
    assert_eq!(condition(&fleet, "eu", "Draining"), "True Leaving");
    fleet.run(60_000, &mut |_| {});
    assert!(fleet.now.duration_since(begin) > SignedDuration::from_secs(100));
    assert_eq!(answers(&fleet, 2), "us us");
    assert_eq!(condition(&fleet, "eu", "Draining"), "True Drained");
    annotate(&mut fleet, "flotilla.dev/undrained-at");
    fleet.run(57_000, &mut |_| {});
    assert_eq!(labels(&fleet), ["eu-0-30 us-0-50", "eu-0-30 us-0-50"]);
    assert_eq!(condition(&fleet, "eu", "Draining"), "True ComingBack");
    fleet.run(60_000, &mut |_| {});
    assert_eq!(labels(&fleet), ["eu-0-50 us-0-50", "eu-0-50 us-0-50"]);
    assert_eq!(condition(&fleet, "eu", "Draining"), "");
}

#[test]
fn a_failover_hands_over_by_shares() {
    let period = json!({"flotilla.dev/drain-seconds": "100"});
    let mut fleet = fleet(3, &failover(), &period);
    let now = fleet.now;
    let mut object = gslb(failover());
    object["metadata"]["annotations"] = period;
    object["metadata"]["annotations"]["flotilla.dev/drain"] = json!(now.to_string());
    fleet.cluster("eu").put(Kind::Gslb, object, now);
    fleet.run(47_000, &mut |_| {});
    assert_eq!(answers(&fleet, 3), "eu+us+za eu+us+za eu+us+za");
    fleet.run(60_000, &mut |_| {});
    assert_eq!(answers(&fleet, 3), "us+za us+za us+za");
}

#[test]
fn a_misspelt_primary_is_named() {
    let strategy = json!({"type": "failover", "primaryGeoTag": "ue"});
    let fleet = fleet(2, &strategy, &json!({}));
    assert_eq!(condition(&fleet, "eu", "Ready"), "False UnknownCluster");
    let message = fleet.clusters["eu"].status(&app())["conditions"][0]["message"].to_string();
    assert!(
        message.contains("\\\"ue\\\" is no cluster of the fleet; there are eu, us"),
        "{message}"
    );
    assert_eq!(
        answers(&fleet, 2),
        "eu+us eu+us",
        "as k8gb answers, but not silently"
    );
}
