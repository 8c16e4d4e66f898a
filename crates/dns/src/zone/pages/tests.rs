use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::record::Data;
use crate::zone::RecordSet;

fn entry(number: u8) -> Entry {
    Entry::of(RecordSet::fixed(
        5,
        vec![Data::A([127, 0, 0, number].into())],
    ))
}

fn wire(labels: &[&str]) -> Vec<u8> {
    labels
        .iter()
        .flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat())
        .collect()
}

/// Every name and name above one of `model`, the way the map should know them.
fn check(pages: &Pages, model: &BTreeMap<Vec<u8>, u8>) {
    let mut exist = BTreeSet::new();
    for name in model.keys() {
        let mut rest = name.as_slice();
        while !rest.is_empty() {
            exist.insert(rest.to_vec());
            rest = &rest[1 + usize::from(rest[0])..];
        }
    }
    assert_eq!(pages.n_nodes(), exist.len());
    assert_eq!(pages.iter().count(), exist.len());
    for name in &exist {
        let node = pages.lookup(name).expect("an existing name is found");
        assert_eq!(
            node.to_entry(),
            model.get(name).map(|number| entry(*number))
        );
    }
}

proptest! {
    #[test]
    fn the_map_agrees_with_a_plain_one(
        batches in proptest::collection::vec(
            proptest::collection::vec(
                (proptest::collection::vec("[ab]", 1..5), proptest::option::of(any::<u8>())), 0..12),
            0..12),
    ) {
        let mut pages = Pages::default();
        let mut model = BTreeMap::new();
        for batch in batches {
            let mut pending = Pending::new(&pages);
            for (labels, change) in batch {
                let name = wire(&labels.iter().map(String::as_str).collect::<Vec<_>>());
                match change {
                    Some(number) => {
                        pending.set(&name, &entry(number)).unwrap();
                        model.insert(name, number);
                    }
                    None => {
                        pending.remove(&name);
                        model.remove(&name);
                    }
                }
            }
            let before = pages.n_nodes();
            let old = std::mem::replace(&mut pages, pending.finish());
            prop_assert_eq!(old.n_nodes(), before);
            check(&pages, &model);
        }
    }
}

#[test]
fn pages_split_and_keep_every_name() {
    let mut pages = Pages::default();
    let name = |number: usize| wire(&[&format!("host-{number}")]);
    for start in (0..20_000).step_by(1_000) {
        let mut pending = Pending::new(&pages);
        for number in start..start + 1_000 {
            pending.set(&name(number), &entry(number as u8)).unwrap();
        }
        pages = pending.finish();
    }
    assert_eq!(pages.n_nodes(), 20_000);
    let largest = pages
        .pages()
        .map(|page| page.nodes().count())
        .max()
        .unwrap();
    assert!(largest <= NODES_PER_PAGE, "{largest}");
    assert!((0..20_000).all(|number| pages.lookup(&name(number)).is_some()));
    assert!(pages.lookup(&name(20_000)).is_none());
    // One host with one address: name, record, directory, table and slack.
    assert!(
        pages.memory_octets() / 20_000 < 100,
        "{}",
        pages.memory_octets() / 20_000
    );
}

#[test]
fn a_change_shares_all_other_pages() {
    let mut pending = Pending::new(&Pages::default());
    for number in 0..5_000 {
        pending
            .set(&wire(&[&format!("host-{number}")]), &entry(1))
            .unwrap();
    }
    let before = pending.finish();
    let mut pending = Pending::new(&before);
    pending.set(&wire(&["host-7"]), &entry(2)).unwrap();
    let after = pending.finish();
    let shared = before
        .pages()
        .zip(after.pages())
        .filter(|(a, b)| Arc::ptr_eq(&a.bytes, &b.bytes));
    assert_eq!(shared.count() + 1, before.pages().count());
    assert_eq!(
        before.lookup(&wire(&["host-7"])).unwrap().to_entry(),
        Some(entry(1))
    );
    assert_eq!(
        after.lookup(&wire(&["host-7"])).unwrap().to_entry(),
        Some(entry(2))
    );
}

/// Names chosen so that the top bits of their hashes agree share a page; the directory stays small.
#[test]
fn colliding_names_do_not_blow_up_the_directory() {
    let colliding = (0..1_000_000u32)
        .map(|number| wire(&[&format!("{number:x}")]))
        .filter(|name| hash(name) >> 54 == 0)
        .take(600)
        .collect::<Vec<_>>();
    assert_eq!(colliding.len(), 600);
    let mut pending = Pending::new(&Pages::default());
    colliding
        .iter()
        .for_each(|name| pending.set(name, &entry(1)).unwrap());
    let pages = pending.finish();
    assert!(
        pages.directory.len() <= 600 / 16,
        "{}",
        pages.directory.len()
    );
    assert!(colliding.iter().all(|name| pages.lookup(name).is_some()));
}

#[test]
fn an_entry_too_large_for_a_message_is_refused() {
    let text = Data::Txt(vec![vec![b'x'; 255]; 250]);
    let other = Data::Txt(vec![vec![b'y'; 255]; 250]);
    let entry = Entry::of(RecordSet::fixed(5, vec![text, other]));
    let error = Pending::new(&Pages::default())
        .set(b"\x01a", &entry)
        .unwrap_err();
    assert!(matches!(error, EntryError::TooLarge { .. }), "{error}");
}
