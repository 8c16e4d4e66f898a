use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{KEYS, Pairs};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z./-]{0,20}",
        Just("x".repeat(253)),
        Just("é".repeat(127)),
        Just("x".repeat(300)),
        prop::sample::select(&KEYS[..]).prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn pairs_are_a_sorted_map_in_memory_and_on_disk(
        wanted in prop::collection::btree_map(text(), text(), 0..8),
    ) {
        let pairs: Pairs = wanted.iter().map(|(key, value)| (&**key, &**value)).collect();
        let found: Vec<(&str, &str)> = pairs.iter().collect();
        let expected: Vec<(&str, &str)> = wanted.iter().map(|(k, v)| (&**k, &**v)).collect();
        prop_assert_eq!(found, expected);
        for (key, value) in &wanted {
            prop_assert_eq!(pairs.get(key), Some(&**value));
        }
        prop_assert_eq!(pairs.is_empty(), wanted.is_empty());
        prop_assert_eq!(Pairs::from_record(&pairs.to_record()), Some(pairs));
    }

    #[test]
    fn a_damaged_record_is_refused_or_read_and_never_panics(bytes in prop::collection::vec(0u8..8, 0..40)) {
        let read: Option<BTreeMap<String, String>> = Pairs::from_record(&bytes)
            .map(|pairs| pairs.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect());
        if let Some(read) = read {
            prop_assert!(read.len() <= bytes.len() / 8);
        }
    }
}

#[test]
fn the_form_on_disk_stays() {
    let pairs: Pairs = [("status.phase", "Running")].into_iter().collect();
    assert_eq!(
        pairs.to_record(),
        b"\x0c\0\0\0status.phase\x07\0\0\0Running"
    );
}
