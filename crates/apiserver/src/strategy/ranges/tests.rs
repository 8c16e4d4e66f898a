use std::collections::BTreeSet;
use std::net::IpAddr;

use super::{AddressRange, pick_port};

fn range(cidr: &str) -> AddressRange {
    AddressRange::new(cidr.parse().expect("a network"))
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn the_upper_band_comes_first_and_the_lower_one_last() {
    let range = range("10.0.0.0/27");
    let mut taken = BTreeSet::new();
    let mut order = Vec::new();
    while let Some(address) = range.pick(&taken, 0) {
        assert!(taken.insert(address));
        order.push(address);
    }
    assert_eq!(
        order.len(),
        30,
        "without the network and the broadcast address"
    );
    assert_eq!(order[0], ip("10.0.0.17"));
    assert_eq!(order[14], ip("10.0.0.1"));
    assert!(!range.contains(ip("10.0.0.0")) && !range.contains(ip("10.0.0.31")));
    assert!(range.contains(ip("10.0.0.30")) && !range.contains(ip("::1")));
}

#[test]
fn large_ranges_of_the_newer_family_work_as_well() {
    let range = range("fd00:10::/64");
    let none = BTreeSet::new();
    assert_eq!(range.pick(&none, 0), Some(ip("fd00:10::101")));
    let random = range.pick(&none, u64::MAX).expect("room");
    assert!(range.contains(random));
    let taken = BTreeSet::from([ip("fd00:10::101")]);
    assert_eq!(range.pick(&taken, 0), Some(ip("fd00:10::102")));
    assert!(range.contains(ip("fd00:10::1")) && !range.contains(ip("fd00:11::1")));
}

#[test]
fn ports_run_out() {
    let mut taken = BTreeSet::new();
    assert_eq!(pick_port(&taken, 0), Some(30_086));
    while let Some(port) = pick_port(&taken, 7) {
        assert!(taken.insert(port));
    }
    assert_eq!(taken.len(), 2768);
}
