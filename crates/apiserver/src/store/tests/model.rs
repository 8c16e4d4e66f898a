//! The store against the simplest thing that could be one: a list of everything that was accepted.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Create(usize),
    Replace(usize, bool),
    Delete(usize, bool),
    Reopen,
}

const NAMES: [&str; 4] = ["a/x", "a/y", "a-b/x", "c"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..NAMES.len();
    let step = prop_oneof![
        4 => name.clone().prop_map(Step::Create),
        4 => (name.clone(), any::<bool>()).prop_map(|(name, stale)| Step::Replace(name, stale)),
        2 => (name, any::<bool>()).prop_map(|(name, stale)| Step::Delete(name, stale)),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..40)
}

/// Every accepted write: revision, name, and the new value unless it removed the object.
type Model = Vec<(u64, usize, Option<String>)>;

/// What the model says lives at `rev`, rendered as [`render`] does.
fn live(model: &Model, rev: u64) -> Vec<String> {
    let mut objects = BTreeMap::new();
    for (at, name, value) in model.iter().filter(|(at, ..)| *at <= rev) {
        match value {
            Some(value) => {
                objects.insert(key(NAMES[*name]), format!("{}={value}@{at}", NAMES[*name]))
            }
            None => objects.remove(&key(NAMES[*name])),
        };
    }
    objects.into_values().collect()
}

async fn play(steps: Vec<Step>) {
    let folder = tempfile::tempdir().unwrap();
    let cfg = StoreConfig::new(Some(folder.path().join("state")));
    let mut store = Store::open(cfg.clone(), at(0)).unwrap();
    let mut model = Model::new();
    let mut opened_at = 1;
    for (number, step) in steps.into_iter().enumerate() {
        let newest = |name: usize| {
            let last = model.iter().rev().find(|(_, found, _)| *found == name);
            last.and_then(|(rev, _, value)| value.as_ref().map(|_| *rev))
        };
        let value = number.to_string();
        match step {
            Step::Create(name) => {
                let made = store.put(NAMES[name], Expect::Absent, &value).await;
                assert_eq!(made.is_ok(), newest(name).is_none());
                model.extend(made.ok().map(|made| (made.rev, name, Some(value))));
            }
            Step::Replace(name, stale) => {
                let rev = newest(name).unwrap_or(1) - u64::from(stale);
                let made = store.put(NAMES[name], Expect::Rev(rev), &value).await;
                assert_eq!(made.is_ok(), newest(name).is_some() && !stale);
                model.extend(made.ok().map(|made| (made.rev, name, Some(value))));
            }
            Step::Delete(name, stale) => {
                let rev = newest(name).unwrap_or(1) - u64::from(stale);
                let made = store.delete(NAMES[name], rev).await;
                assert_eq!(made.is_ok(), newest(name).is_some() && !stale);
                model.extend(made.ok().map(|made| (made.rev, name, None)));
            }
            Step::Reopen => {
                store.close().await;
                store = Store::open(cfg.clone(), at(0)).unwrap();
                opened_at = store.state().rev;
            }
        }
    }
    compare(&store, &model, opened_at);
}

fn compare(store: &Store, model: &Model, opened_at: u64) {
    let state = store.state();
    assert_eq!(state.rev, model.last().map_or(1, |(rev, ..)| *rev));
    assert_eq!(store.listed(), live(model, state.rev));
    for rev in opened_at..=state.rev {
        let objects = state.objects_at(&pods(), rev).unwrap();
        let objects: Vec<_> = objects
            .into_iter()
            .map(|(_, object)| render(object))
            .collect();
        assert_eq!(objects, live(model, rev), "at {rev}");
        let after: Vec<_> = model.iter().filter(|(at, ..)| *at > rev).collect();
        assert_eq!(store.happened(rev).len(), after.len(), "after {rev}");
    }
    if opened_at > 1 {
        assert!(
            state.objects_at(&pods(), opened_at - 1).is_err(),
            "history begins at the start"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_writes_and_restarts_equals_the_list_of_what_was_accepted(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(play(steps));
    }

    #[test]
    fn damaged_records_are_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = record::decode(b"key", key("a/b"), &bytes);
        let _ = record::decode_key(&bytes);
    }
}
