use super::*;

fn octets<const N: usize>(hex: &str) -> [u8; N] {
    std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
}

/// Vectors of RFC 9018 Appendix A.
#[test]
fn cookies_are_those_of_the_standard() {
    for (secret, client_cookie, client, seconds, server_cookie) in [
        (
            "e5e973e5a6b2a43f48e7dc849e37bfcf",
            "2464c4abcf10c957",
            "198.51.100.100",
            1_559_731_985,
            "010000005cf79f111f8130c3eee29480",
        ),
        (
            "e5e973e5a6b2a43f48e7dc849e37bfcf",
            "fc93fc62807ddb86",
            "203.0.113.203",
            1_559_734_700,
            "010000005cf7a9acf73a7810aca2381e",
        ),
        (
            "445536bcd2513298075a5d379663c962",
            "22681ab97d52c298",
            "2001:db8:220:1:59de:d0f4:8769:82b8",
            1_559_741_961,
            "010000005cf7c609a6bb79d16625507a",
        ),
    ] {
        let cookies = Cookies::new(octets(secret));
        let (client_cookie, client) = (octets(client_cookie), client.parse().unwrap());
        let made = cookies.make(client_cookie, client, seconds);
        assert_eq!(made, octets(server_cookie));
        assert!(cookies.accept(client_cookie, &made, client, seconds));
    }
}

#[test]
fn only_the_right_client_passes_for_an_hour() {
    let cookies = Cookies::new([7; 16]);
    let client = "127.0.0.1".parse().unwrap();
    let made = cookies.make([1; 8], client, 10_000);
    for (seconds, accepted) in [
        (10_000, true),
        (13_600, true),
        (13_601, false),
        (9_700, true),
        (9_699, false),
    ] {
        assert_eq!(
            cookies.accept([1; 8], &made, client, seconds),
            accepted,
            "{seconds}"
        );
    }
    assert!(!cookies.accept([2; 8], &made, client, 10_000));
    assert!(!cookies.accept([1; 8], &made, "127.0.0.2".parse().unwrap(), 10_000));
    assert!(!Cookies::new([8; 16]).accept([1; 8], &made, client, 10_000));
    assert!(!cookies.accept([1; 8], &made[..15], client, 10_000));
    let around_the_end = cookies.make([1; 8], client, u32::MAX);
    assert!(cookies.accept([1; 8], &around_the_end, client, 100));
}
