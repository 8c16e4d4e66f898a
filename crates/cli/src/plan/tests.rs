use std::path::PathBuf;

use clap::Parser;

use super::{Mistake, Plan, Surroundings, plan};
use crate::args::{Cli, Command};

fn planned(line: &str) -> Result<Plan, Vec<Mistake>> {
    let words = ["flotilla", "up"]
        .into_iter()
        .chain(line.split_whitespace());
    let Command::Up(args) = Cli::try_parse_from(words).expect(line).command else {
        panic!("up was asked for")
    };
    let home = Surroundings {
        state_home: None,
        home: Some(PathBuf::from("/home/ada")),
    };
    plan(&args, &home)
}

#[test]
fn one_cluster_needs_no_edge() {
    let plan = planned("").expect("plan");
    assert_eq!(plan.edge, None);
    let [cluster] = &plan.clusters[..] else {
        panic!("{plan:?}")
    };
    assert_eq!(cluster.name, "flotilla");
    assert_eq!(cluster.api.to_string(), "127.0.0.1:6443");
    assert_eq!(cluster.dns.to_string(), "127.0.0.1:1053");
    assert_eq!(
        cluster.data_dir,
        Some("/home/ada/.local/state/flotilla/flotilla".into())
    );
    assert_eq!(
        plan.kubeconfig,
        PathBuf::from("/home/ada/.local/state/flotilla/kubeconfig")
    );
    assert!(!plan.kubeconfig_is_temporary);
}

#[test]
fn a_fleet_has_an_edge_a_resolver_and_a_block_of_addresses_each() {
    let plan = planned("--fleet eu,us,za --data-dir :memory:").expect("plan");
    let edge = plan.edge.expect("edge");
    assert_eq!(edge.server.to_string(), "127.1.0.1:1053");
    assert_eq!(edge.resolver.to_string(), "127.0.0.1:1053");
    let seen: Vec<String> = plan
        .clusters
        .iter()
        .map(|c| format!("{} {} {} {} {:?}", c.name, c.api, c.dns, c.pool, c.data_dir))
        .collect();
    let expected = [
        "eu 127.0.0.1:6443 127.1.1.1:1053 127.1.1.0/24 None",
        "us 127.0.0.1:6444 127.1.2.1:1053 127.1.2.0/24 None",
        "za 127.0.0.1:6445 127.1.3.1:1053 127.1.3.0/24 None",
    ];
    assert_eq!(seen, expected);
    assert!(plan.kubeconfig_is_temporary);
}

#[test]
fn port_zero_stays_zero_for_every_cluster() {
    let plan = planned("--fleet a,b --port 0").expect("plan");
    assert!(plan.clusters.iter().all(|cluster| cluster.api.port() == 0));
}

#[test]
fn every_mistake_is_reported_and_says_what_to_do() {
    let cases = [
        ("--fleet eu,us,eu", "--fleet names \"eu\" twice"),
        ("--fleet eu,", "\"\" is no cluster name"),
        ("--fleet Eu", "\"Eu\" is no cluster name"),
        ("--fleet -eu,us", "\"-eu\" is no cluster name"),
        (
            "--zone cloud.example.org",
            "is not below --parent-zone example.com",
        ),
        (
            "--zone example.com",
            "is not below --parent-zone example.com",
        ),
        (
            "--zone badexample.com",
            "is not below --parent-zone example.com",
        ),
        ("--parent-zone a..b --zone c.a..b", "is no DNS name"),
        ("--network 10.0.0.0/16", "must be a /16 inside 127.0.0.0/8"),
        ("--network 127.1.0.0/24", "must be a /16 inside 127.0.0.0/8"),
        (
            "--fleet a,b,c --port 65534",
            "leaves no room for 3 API servers",
        ),
    ];
    for (line, expected) in cases {
        let line = line.replace("--fleet -eu", "--fleet=-eu");
        let mistakes = planned(&line).expect_err(&line);
        assert!(
            mistakes.iter().any(|m| m.0.contains(expected)),
            "{line}: {mistakes:?}"
        );
    }
    let both = planned("--fleet eu,eu --network 10.0.0.0/16").expect_err("two mistakes");
    assert_eq!(both.len(), 2);
}

#[test]
fn zones_are_compared_without_case_and_final_dot() {
    let plan = planned("--parent-zone Example.COM. --zone Cloud.example.com.").expect("plan");
    assert_eq!(
        (plan.parent_zone.as_str(), plan.zone.as_str()),
        ("example.com", "cloud.example.com")
    );
}

#[test]
fn without_a_home_the_data_directory_must_be_named() {
    let Command::Up(args) = Cli::parse_from(["flotilla", "up"]).command else {
        panic!("up")
    };
    let mistakes = plan(&args, &Surroundings::default()).expect_err("no home");
    assert!(
        mistakes[0].0.contains("--data-dir :memory:"),
        "{mistakes:?}"
    );
}
