use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Admits `n` replies at one moment; gives passed, slipped and dropped.
fn burst(limiter: &mut Limiter, client: &str, kind: u64, n: usize, now_ms: u32) -> [usize; 3] {
    let mut counts = [0; 3];
    for _ in 0..n {
        counts[limiter.admit(ip(client), kind, now_ms) as usize] += 1;
    }
    counts
}

#[test]
fn a_network_gets_its_rate_and_no_more() {
    let mut limiter = Limiter::new(RateLimit::new(10));
    assert_eq!(burst(&mut limiter, "192.0.2.1", 1, 30, 0), [10, 10, 10]);
    // The same network, later by half a second; another kind; another network.
    assert_eq!(burst(&mut limiter, "192.0.2.200", 1, 10, 500), [5, 2, 3]);
    assert_eq!(burst(&mut limiter, "192.0.2.1", 2, 10, 500), [10, 0, 0]);
    assert_eq!(burst(&mut limiter, "192.0.3.1", 1, 10, 500), [10, 0, 0]);
    // After a second of silence all is forgiven, after an hour not more than that.
    assert_eq!(
        burst(&mut limiter, "192.0.2.1", 1, 20, 3_600_500),
        [10, 5, 5]
    );
}

#[test]
fn a_steady_rate_within_the_limit_is_never_cut_even_when_the_clock_wraps() {
    let mut limiter = Limiter::new(RateLimit::new(100));
    let start = u32::MAX - 5_000;
    for step in 0..1_000 {
        let now_ms = start.wrapping_add(step * 10);
        assert_eq!(
            limiter.admit(ip("2001:db8::1"), 1, now_ms),
            Verdict::Pass,
            "{step}"
        );
    }
}

#[test]
fn slip_zero_sends_nothing() {
    let mut limiter = Limiter::new(RateLimit {
        replies_per_second: 1,
        slip: 0,
    });
    assert_eq!(burst(&mut limiter, "192.0.2.1", 1, 5, 0), [1, 0, 4]);
}

#[test]
fn ipv6_networks_are_56_bits_and_mapped_addresses_count_as_ipv4() {
    assert_eq!(
        network(ip("2001:db8:0:1::1")),
        network(ip("2001:db8:0:ff::2"))
    );
    assert_ne!(
        network(ip("2001:db8:0:1::1")),
        network(ip("2001:db8:0:100::1"))
    );
    assert_eq!(network(ip("::ffff:192.0.2.1")), network(ip("192.0.2.9")));
}

#[test]
fn many_networks_do_not_grow_the_table() {
    let mut limiter = Limiter::new(RateLimit::new(5));
    for number in 0..300_000u32 {
        let client = IpAddr::V4((number << 8).into());
        assert_eq!(limiter.admit(client, 1, number / 1000), Verdict::Pass);
    }
    assert_eq!(limiter.slots.len(), N_SLOTS);
}
