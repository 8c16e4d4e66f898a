use super::*;
use crate::answer::Transport;
use crate::answer::tests::{catalog, reply};
use crate::message::{Question, encode_query};
use crate::name::Name;

#[test]
fn replies_are_fresh_for_the_smallest_ttl_in_them() {
    let catalog = catalog(
        "zone cloud.example.com 30
         app 5 A 127.1.1.10
         alias 9 CNAME app.cloud.example.com
         long 600 A 127.1.1.11",
    );
    for (host, seconds) in [
        ("app.cloud.example.com", 5),
        ("alias.cloud.example.com", 5),
        ("long.cloud.example.com", 600),
        ("missing.cloud.example.com", 30),
        ("elsewhere.org", 0),
    ] {
        let question = Question {
            name: Name::parse(host).unwrap(),
            rtype: Type::A,
        };
        let query = encode_query(0, 0, &question, Some(1232));
        let reply = reply(&catalog, &query, Transport::Tcp).unwrap();
        assert_eq!(freshness_seconds(&reply), seconds, "{host}");
    }
    assert_eq!(freshness_seconds(&[0; 11]), 0);
}

#[test]
fn the_dns_parameter_is_found_among_others() {
    assert_eq!(parameter("dns=AAAB"), Ok(vec![0, 0, 1]));
    assert_eq!(parameter("ct&dns=AAAB&x=y"), Ok(vec![0, 0, 1]));
    assert_eq!(parameter("dns="), Ok(vec![]));
    // Base64url without padding (RFC 8484 §6).
    for bad in ["", "dsn=AAAB", "dns=AA+B", "dns=AAA=", "dns=%41"] {
        assert_eq!(parameter(bad), Err(StatusCode::BAD_REQUEST), "{bad}");
    }
}
