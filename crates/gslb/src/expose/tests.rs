use std::{collections::BTreeMap, net::IpAddr};

use super::{
    Address, EXPOSED_HOSTNAMES, EXPOSED_IP_ADDRESSES, Exposed, Inputs, Lookup, Source, exposed,
};
use crate::problem::Kind;

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|t| t.parse().unwrap()).collect()
}

fn check(annotations: &[(&str, &str)], cluster: &[&str], resource: &[Address]) -> Exposed {
    let annotations = annotations
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    let lookups = BTreeMap::from([
        (
            "lb.example.net".to_owned(),
            Lookup::Addresses(ips(&["10.9.0.2", "10.9.0.1"])),
        ),
        (
            "gone.example.net".to_owned(),
            Lookup::Failed("NXDOMAIN".to_owned()),
        ),
        ("empty.example.net".to_owned(), Lookup::Addresses(vec![])),
    ]);
    exposed(Inputs {
        annotations: &annotations,
        cluster: &ips(cluster),
        resource,
        resource_field: "status.loadBalancer",
        lookups: &lookups,
        zones: &["cloud.example.com"],
    })
}

#[test]
fn the_first_source_that_says_anything_wins() {
    let resource = [
        Address::Ip([10, 0, 0, 1].into()),
        Address::Hostname("lb.example.net".into()),
    ];
    let got = check(&[], &[], &resource);
    assert_eq!(
        (got.source, got.addresses),
        (Source::Resource, ips(&["10.0.0.1", "10.9.0.1", "10.9.0.2"]))
    );
    let got = check(&[], &["192.0.2.1"], &resource);
    assert_eq!(
        (got.source, got.addresses),
        (Source::Cluster, ips(&["192.0.2.1"]))
    );
    let addresses = (EXPOSED_IP_ADDRESSES, "192.0.2.7");
    let got = check(&[addresses], &["192.0.2.1"], &resource);
    assert_eq!(
        (got.source, got.addresses),
        (Source::Addresses, ips(&["192.0.2.7"]))
    );
    let got = check(
        &[addresses, (EXPOSED_HOSTNAMES, "lb.example.net")],
        &["192.0.2.1"],
        &resource,
    );
    assert_eq!(
        (got.source, got.addresses),
        (Source::Hostnames, ips(&["10.9.0.1", "10.9.0.2"]))
    );
}

/// §6 inputs 11: blanks are trimmed, IPv6 works, and one bad element does not take the others away.
#[test]
fn keiretsu_2348_one_bad_element_leaves_the_others() {
    let got = check(
        &[(
            EXPOSED_IP_ADDRESSES,
            "1.2.3.4, 1.2.3.5,2001:db8::1,nonsense,",
        )],
        &[],
        &[],
    );
    assert_eq!(got.addresses, ips(&["1.2.3.4", "1.2.3.5", "2001:db8::1"]));
    assert_eq!(got.problems.len(), 1);
    assert!(
        got.problems[0].to_string().contains("nonsense"),
        "{}",
        got.problems[0]
    );

    let got = check(
        &[(
            EXPOSED_HOSTNAMES,
            "lb.example.net, gone.example.net,empty.example.net",
        )],
        &[],
        &[],
    );
    assert_eq!(got.addresses.len(), 2);
    assert!(got.problems.iter().all(|p| p.kind == Kind::Unresolved));
    assert_eq!((got.problems.len(), got.hostnames.len()), (2, 3));
}

#[test]
fn a_name_inside_our_own_zone_is_refused() {
    let got = check(&[(EXPOSED_HOSTNAMES, "app.cloud.example.com")], &[], &[]);
    assert!(got.problems[0].message.contains("point to itself"));
}

#[test]
fn k8gb_2381_an_empty_status_publishes_nothing_and_says_so() {
    let got = check(&[], &[], &[]);
    assert_eq!(
        (got.addresses.len(), got.problems[0].kind),
        (0, Kind::NoAddress)
    );
    let got = check(&[], &[], &[Address::Hostname("later.example.net".into())]);
    assert!(got.problems.is_empty(), "the look-up is under way");
    let got = check(&[], &[], &[Address::Ip([0, 0, 0, 0].into())]);
    assert!(
        got.addresses.is_empty(),
        "k8gb#2107: 0.0.0.0 is never an address"
    );
}
