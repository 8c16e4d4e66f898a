use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn wire(text: &str) -> Vec<u8> {
    Name::parse(text).unwrap().wire().to_vec()
}

/// Source: RFC 6605 §6.1: a signature somebody else made passes, and a changed one does not.
#[test]
fn the_signature_of_the_standard_is_verified() {
    let point =
        "GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==";
    let key = [&[1, 1, 3, 13], &STANDARD.decode(point).unwrap()[..]].concat();
    let key = PublicKey::from_rdata(&key).unwrap();
    let signature =
        "qx6wLYqmh+l9oCKTN6qIc+bw6ya+KJ8oMz0YP107epXAyGmt+3SNruPFKG7tZoLBLlUzGGus7ZwmwWep666VCw==";
    let (zone, owner) = (wire("example.net"), wire("www.example.net"));
    let (from, until) = (1_281_607_479u32, 1_284_026_679u32);
    let mut rrsig = vec![0, 1, 13, 3, 0, 0, 0x0e, 0x10];
    rrsig.extend(until.to_be_bytes());
    rrsig.extend(from.to_be_bytes());
    rrsig.extend(55_648u16.to_be_bytes());
    rrsig.extend(&zone);
    rrsig.extend(STANDARD.decode(signature).unwrap());
    let set = Signable {
        zone: &zone,
        owner: [&owner, &[]],
        rtype: Type::A,
        ttl_seconds: 3600,
        rdata: &[&[192, 0, 2, 1]],
    };
    assert!(verify(&set, &rrsig, &key, from));
    assert!(verify(&set, &rrsig, &key, until));
    assert!(!verify(&set, &rrsig, &key, from - 1));
    assert!(!verify(&set, &rrsig, &key, until + 1));
    let other = Signable {
        rdata: &[&[192, 0, 2, 2]],
        ..set
    };
    assert!(!verify(&other, &rrsig, &key, from));
    assert!(!verify(&set, &rrsig[..90], &key, from));
}

#[test]
fn a_set_has_one_signature_a_day_and_clocks_may_differ_by_an_hour() {
    let signer = Signer::new(SigningKey::generate().unwrap().0);
    let (zone, owner) = (wire("example.net"), wire("www.example.net"));
    let set = Signable {
        zone: &zone,
        owner: [&owner, &[]],
        rtype: Type::A,
        ttl_seconds: 5,
        rdata: &[&[192, 0, 2, 1], &[192, 0, 2, 2]],
    };
    // The first day, one that ends where 32 bits do, and one after.
    for noon in [43_200u32, u32::MAX - 30_000, 1_800_014_400] {
        let day = noon - noon % DAY_SECONDS;
        let before = signer.n_signed();
        let first = signer.sign(&set, day).unwrap();
        let last = signer.sign(&set, noon).unwrap();
        assert_eq!(first.rdata(), last.rdata());
        assert_eq!(signer.n_signed(), before + 1);
        for (now, holds) in [
            (day.wrapping_sub(3601), false),
            (day.wrapping_sub(3600), true),
            (noon, true),
            (day.wrapping_add(8 * DAY_SECONDS), true),
            (day.wrapping_add(8 * DAY_SECONDS + 1), false),
        ] {
            assert_eq!(
                verify(&set, first.rdata(), signer.public(), now),
                holds,
                "{noon} {now}"
            );
        }
    }
}

#[test]
fn wildcards_asked_for_by_name_do_not_count_their_asterisk() {
    let signer = Signer::new(SigningKey::generate().unwrap().0);
    let zone = wire("example.net");
    for (owner, n_labels) in [
        ("*.example.net", 2),
        ("a.b.example.net", 4),
        ("example.net", 2),
    ] {
        let owner = wire(owner);
        let set = Signable {
            zone: &zone,
            owner: [&owner, &[]],
            rtype: Type::A,
            ttl_seconds: 5,
            rdata: &[&[192, 0, 2, 1]],
        };
        assert_eq!(signer.sign(&set, 7).unwrap().rdata()[3], n_labels);
    }
}

#[test]
fn the_keys_of_all_clusters_are_published_once_each_in_order() {
    let keys = [(); 3].map(|()| SigningKey::generate().unwrap().0.public().clone());
    let signer = Signer::new(SigningKey::generate().unwrap().0);
    let zone = Name::parse("example.net").unwrap();
    assert_eq!(signer.keys(&zone), [signer.public().clone()]);
    let mut all = keys.to_vec();
    all.push(signer.public().clone());
    signer.set_peer_keys(&zone, [&all[..], &keys[..1]].concat());
    all.sort();
    assert_eq!(signer.keys(&zone), all);
    assert!(!format!("{signer:?}").contains("pair"));
}
