use proptest::prelude::*;

use super::*;
use crate::name::Name;

fn name(pieces: &[&[u8]]) -> Name {
    Name::from_wire(&pieces.concat()).unwrap()
}

/// Octets a lower-case label may have.
fn label(octets: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Vec<u8>> {
    let octet = any::<u8>().prop_map(|octet| octet.to_ascii_lowercase());
    let octet = prop_oneof![
        octet,
        Just(0),
        Just(0xff),
        Just(b'['),
        Just(b'a'),
        Just(b'*')
    ];
    prop::collection::vec(octet, octets)
}

/// Labels as hosts have them.
fn host() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(&b"abyz019-_*"[..]), 1..=6)
}

fn one(label: &[u8]) -> Vec<u8> {
    [&[label.len() as u8], label].concat()
}

proptest! {
    #[test]
    fn a_gap_holds_the_name_and_all_below_it(
        denied in prop_oneof![label(1..=63), label(62..=63), label(1..=2)],
        deeper in label(1..=3),
        n_labels in 0usize..4,
    ) {
        let apex = &b"\x04zone\x00"[..];
        let mut encloser = apex.to_vec();
        for _ in 0..n_labels {
            // Long names leave no room for more labels.
            if encloser.len() + 60 + 1 + denied.len() < 255 {
                encloser = [&one(&[b'm'; 59])[..], &encloser[..]].concat();
            }
        }
        let gap = gap(&denied, &encloser, apex);
        let before = name(&[gap.before.as_slice(), &encloser]);
        let after = name(&[gap.after.as_slice()]);
        let exact = name(&[&one(&denied), &encloser]);
        prop_assert!(before < exact, "{before} < {exact}");
        prop_assert!(exact < after || after == name(&[apex]), "{exact} < {after}");
        prop_assert!(before >= name(&[&encloser]), "the gap is below the encloser");
        if let Ok(below) = Name::from_wire(&[&one(&deeper)[..], &one(&denied), &encloser].concat()) {
            prop_assert!(before < below && (below < after || after == name(&[apex])));
        }
    }

    /// Whoever keeps the record and believes it of other names is not misled (RFC 8198).
    #[test]
    fn a_gap_denies_no_other_host(denied in label(1..=63), other in host(), below in host()) {
        let apex = &b"\x04zone\x00"[..];
        prop_assume!(other != denied);
        let gap = gap(&denied, apex, apex);
        let before = name(&[gap.before.as_slice(), apex]);
        let after = name(&[gap.after.as_slice()]);
        for other in [name(&[&one(&other), apex]), name(&[&one(&below), &one(&other), apex])] {
            let inside = before < other && (other < after || after == name(&[apex]));
            prop_assert!(!inside, "{before} < {other} < {after}");
            prop_assert_ne!(&before, &other);
        }
    }

    #[test]
    fn nothing_is_between_a_name_and_its_successor(label in label(1..=63), n in 0usize..4) {
        let apex = &b"\x04zone\x00"[..];
        let mut wire = apex.to_vec();
        for _ in 0..n {
            if wire.len() + 60 <= 250 - label.len() {
                wire = [&one(&[b'm'; 59])[..], &wire[..]].concat();
            }
        }
        let wire = [&one(&label)[..], &wire].concat();
        let after = name(&[successor(&wire, apex).as_slice()]);
        prop_assert!(name(&[&wire]) < after);
    }
}

#[test]
fn bitmaps_are_those_of_the_standard() {
    // RFC 4034 §4.3: A MX RRSIG NSEC TYPE1234.
    let mut out = Octets::new();
    push_types(&mut out, [1, 15, 46, 47, 1234].map(Type).into_iter());
    let mut expected = b"\x00\x06\x40\x01\x00\x00\x00\x03\x04\x1b".to_vec();
    expected.extend([0; 26]);
    expected.push(0x20);
    assert_eq!(out.as_slice(), expected);
    // RFC 6605: nothing but what every answer of ours has.
    let mut out = Octets::new();
    push_types(&mut out, [Type(46), Type(47)].into_iter());
    assert_eq!(out.as_slice(), b"\x00\x06\x00\x00\x00\x00\x00\x03");
}
