//! Addresses come, stay and go.

use proptest::prelude::*;

use super::*;

fn pool(network: &str, each: usize) -> Pool {
    Pool::new(vec![network.parse().unwrap()], each)
}

fn service(name: &str) -> Owner {
    Owner::Service(Key::new("ns", name))
}

fn shown(addresses: &[IpAddr]) -> String {
    addresses
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn everybody_gets_the_lowest_free_addresses_and_keeps_them() {
    let mut pool = pool("10.0.0.0/29", 2);
    assert_eq!(
        shown(&pool.assign(&service("a"), None)),
        "10.0.0.1 10.0.0.2"
    );
    assert_eq!(
        shown(&pool.assign(&Owner::Ingress(Key::new("ns", "a")), None)),
        "10.0.0.3 10.0.0.4"
    );
    assert_eq!(
        shown(&pool.assign(&service("a"), None)),
        "10.0.0.1 10.0.0.2"
    );
    assert!(pool.release(&service("a")));
    assert!(!pool.release(&service("a")));
    assert_eq!(
        shown(&pool.assign(&service("c"), None)),
        "10.0.0.1 10.0.0.2"
    );
}

#[test]
fn what_a_status_says_is_kept_over_restarts_unless_it_is_impossible() {
    let mut pool = pool("10.0.0.0/29", 2);
    let address = |text: &str| text.parse().unwrap();
    pool.claim(&service("b"), &[address("10.0.0.4"), address("192.0.2.1")]);
    pool.claim(&service("c"), &[address("10.0.0.4"), address("10.0.0.5")]);
    assert_eq!(
        shown(&pool.assign(&service("a"), None)),
        "10.0.0.1 10.0.0.2"
    );
    assert_eq!(
        shown(&pool.assign(&service("b"), None)),
        "10.0.0.3 10.0.0.4"
    );
    assert_eq!(
        shown(&pool.assign(&service("c"), None)),
        "10.0.0.5 10.0.0.6"
    );
}

#[test]
fn an_empty_pool_gives_what_it_has() {
    let mut small = pool("10.0.0.0/30", 2);
    small.assign(&service("a"), None);
    assert_eq!(shown(&small.assign(&service("b"), None)), "");
    small.release(&service("a"));
    assert_eq!(
        shown(&small.assign(&service("b"), None)),
        "10.0.0.1 10.0.0.2"
    );
    assert_eq!(
        shown(&pool("10.0.0.1/32", 2).assign(&service("a"), None)),
        "10.0.0.1"
    );
}

#[test]
fn a_wish_is_granted_when_it_is_free() {
    let mut pool = pool("10.0.0.0/28", 2);
    let wish = |text: &str| Some(text.parse().unwrap());
    assert_eq!(
        shown(&pool.assign(&service("a"), wish("10.0.0.9"))),
        "10.0.0.1 10.0.0.9"
    );
    assert_eq!(
        shown(&pool.assign(&service("b"), wish("10.0.0.9"))),
        "10.0.0.2 10.0.0.3"
    );
    assert_eq!(
        shown(&pool.assign(&service("b"), wish("10.0.0.7"))),
        "10.0.0.2 10.0.0.7"
    );
    assert_eq!(
        shown(&pool.assign(&service("c"), wish("192.0.2.1"))),
        "10.0.0.3 10.0.0.4"
    );
}

proptest! {
    #[test]
    fn nobody_shares_and_nothing_leaks(steps in prop::collection::vec((0..9_u8, any::<bool>()), 0..60)) {
        let mut pool = pool("10.0.0.0/28", 2);
        for (n, assign) in steps {
            let owner = service(&n.to_string());
            if assign {
                let first = pool.assign(&owner, None);
                prop_assert_eq!(pool.assign(&owner, None), first);
            } else {
                pool.release(&owner);
            }
            let owned: usize = pool.owned.values().map(BTreeSet::len).sum();
            prop_assert_eq!(owned, pool.taken.len());
            prop_assert!(owned <= 14);
        }
    }
}
