use std::path::Path;

use proptest::prelude::*;

use super::*;

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 4] = [
    ("tokens", tokens),
    ("yamls", yamls),
    ("jsons", jsons),
    ("requests", requests),
];

/// The seeds of a target, which fuzzers begin with too.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/seeds")
        .join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut seeds: Vec<_> = files
        .map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .collect();
    seeds.sort();
    seeds
}

#[test]
fn the_seeds_break_no_law() {
    for (target, run) in TARGETS {
        seeds(target).iter().for_each(|seed| run(seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_seeds_break_no_law(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        for (target, run) in TARGETS {
            let seeds = seeds(target);
            let mut data = which.get(&seeds).clone();
            for (at, byte) in &cuts {
                *at.get_mut(&mut data) = *byte;
            }
            run(&data);
        }
    }
}
