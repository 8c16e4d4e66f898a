use std::collections::BTreeMap;

use flotilla_api::GslbSpec;

use super::{FAILOVER_ORDER, Rules, rules};
use crate::{options::Defaults, ramp::Drain, select::Strategy};

fn check(strategy: &str, annotations: &[(&str, &str)]) -> Result<Rules, Vec<String>> {
    let spec: GslbSpec = serde_json::from_str(&format!(r#"{{"strategy":{strategy}}}"#)).unwrap();
    let annotations: BTreeMap<String, String> = annotations
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    rules(&spec, &annotations, Defaults::default())
        .map_err(|p| p.into_iter().map(|p| p.field).collect())
}

#[test]
fn defaults_are_k8gbs() {
    let rules = check(r#"{"type":"roundRobin"}"#, &[]).unwrap();
    assert_eq!(
        (rules.ttl_seconds, rules.strategy.as_str()),
        (30, "roundRobin")
    );
    assert!(rules.hold.is_zero() && rules.weights.is_empty() && rules.notes.is_empty());
    assert_eq!(rules.options.drain, Drain::Off);
    assert_eq!(
        check(r#"{"type":"geoip","dnsTtlSeconds":5}"#, &[])
            .unwrap()
            .ttl_seconds,
        5
    );
}

#[test]
fn every_mistake_names_its_field() {
    let table: [(&str, &[&str]); 12] = [
        (r#"{"type":""}"#, &["spec.strategy.type"]),
        (r#"{"type":"roundrobin"}"#, &["spec.strategy.type"]),
        (r#"{"type":"failover"}"#, &["spec.strategy.primaryGeoTag"]),
        (
            r#"{"type":"failover","primaryGeoTag":"eu","weight":{"eu":1}}"#,
            &["spec.strategy.weight"],
        ),
        (
            r#"{"type":"geoip","weight":{"eu":1}}"#,
            &["spec.strategy.weight"],
        ),
        (
            r#"{"type":"roundRobin","weight":{"eu":1001}}"#,
            &["spec.strategy.weight"],
        ),
        (
            r#"{"type":"roundRobin","weight":{"eu":-1}}"#,
            &["spec.strategy.weight"],
        ),
        (
            r#"{"type":"roundRobin","weight":{"":1}}"#,
            &["spec.strategy.weight"],
        ),
        (
            r#"{"type":"roundRobin","weight":{"e_u":1}}"#,
            &["spec.strategy.weight"],
        ),
        (
            r#"{"type":"roundRobin","dnsTtlSeconds":-1}"#,
            &["spec.strategy.dnsTtlSeconds"],
        ),
        (
            r#"{"type":"roundRobin","splitBrainThresholdSeconds":-1}"#,
            &["spec.strategy.splitBrainThresholdSeconds"],
        ),
        (
            r#"{"type":"x","dnsTtlSeconds":-1}"#,
            &["spec.strategy.dnsTtlSeconds", "spec.strategy.type"],
        ),
    ];
    for (strategy, fields) in table {
        assert_eq!(check(strategy, &[]).unwrap_err(), fields, "{strategy}");
    }
}

#[test]
fn weights_may_be_zero_to_a_thousand_and_tags_may_have_dashes() {
    let rules = check(
        r#"{"type":"roundRobin","weight":{"us-east-1":1000,"eu":0}}"#,
        &[],
    )
    .unwrap();
    assert_eq!(rules.weights["us-east-1"], 1000);
    assert_eq!(rules.weights["eu"], 0);
}

#[test]
fn the_order_annotation_follows_the_primary() {
    let failover = r#"{"type":"failover","primaryGeoTag":"eu"}"#;
    let order = |annotation: &[(&str, &str)]| match check(failover, annotation).unwrap().strategy {
        Strategy::Failover { order } => order.join(">"),
        _ => unreachable!(),
    };
    assert_eq!(order(&[]), "eu");
    assert_eq!(order(&[(FAILOVER_ORDER, "eu, us,za,us")]), "eu>us>za");
    assert_eq!(order(&[(FAILOVER_ORDER, "us")]), "eu>us");
}
