//! Killing the process while it writes.
//!
//! The test starts itself as a child that writes with several clients and prints what was acknowledged, kills it without
//! warning, opens the file and compares. Then the next child goes on from there.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use super::*;

const ROUNDS: u64 = 10;
const CLIENTS: usize = 8;
const FILE: &str = "FLOTILLA_TEST_STORE_FILE";

/// The child: not a test by itself, it only does something when the parent asks.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "how the parent tells the child what to do"
)]
fn child_that_writes_until_it_is_killed() {
    let Ok(path) = std::env::var(FILE) else {
        return;
    };
    let store = Store::open(StoreConfig::new(Some(path.into())), at(0)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    println!("open {}", store.state().rev);
    runtime.block_on(futures::future::join_all(
        (0..CLIENTS).map(|client| write_on(&store, client)),
    ));
}

async fn write_on(store: &Store, client: usize) {
    for n in 0.. {
        let name = format!("a/{client}-{}", n % 10);
        let found = store
            .state()
            .get(&pods(), &key(&name))
            .map(|object| object.rev);
        let done = match found {
            Some(rev) if n % 7 == 6 => store.delete(&name, rev).await,
            Some(rev) => store.put(&name, Expect::Rev(rev), &n.to_string()).await,
            None => store.put(&name, Expect::Absent, &n.to_string()).await,
        };
        let done = done.unwrap();
        let gone = store.state().get(&pods(), &key(&name)).is_none();
        println!(
            "{} {name} {}",
            done.rev,
            if gone { "-".into() } else { n.to_string() }
        );
    }
}

/// What was acknowledged last for each object: revision and value, `-` for a deletion.
type Acknowledged = BTreeMap<String, (u64, String)>;

/// Runs a child until it acknowledged `limit` writes and returns how many it did before it died.
fn run_and_kill(path: &Path, limit: u64, known: &mut Acknowledged) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "store::tests::crash::child_that_writes_until_it_is_killed",
            "--nocapture",
        ])
        .env(FILE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let newest_known = known.values().map(|(rev, _)| *rev).max().unwrap_or(1);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (mut line, mut count, mut opened) = (String::new(), 0, false);
    // The kill may cut off the last line; only whole ones count.
    while output.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            [.., "open", rev] => {
                assert!(
                    rev.parse::<u64>().unwrap() >= newest_known,
                    "revision went back"
                );
                opened = true;
            }
            [rev, name, value] if name.starts_with("a/") => {
                let rev = rev.parse().unwrap();
                assert!(rev > newest_known, "revision {rev} was given out twice");
                known.insert(name.into(), (rev, value.into()));
                count += 1;
                if count == limit {
                    child.kill().unwrap();
                }
            }
            _ => {}
        }
        line.clear();
    }
    assert!(opened, "the child did not start");
    child.wait().unwrap();
    count
}

fn verify(path: &Path, known: &Acknowledged) {
    let store = Store::open(StoreConfig::new(Some(path.into())), at(0)).unwrap();
    let state = store.state();
    for (name, (rev, value)) in known {
        match state.get(&pods(), &key(name)) {
            // A write that was not acknowledged any more may have happened after it.
            Some(object) if object.rev > *rev => {}
            Some(object) => assert_eq!(render(object), format!("{name}={value}@{rev}")),
            None => assert!(value == "-" || state.rev > *rev, "{name} at {rev} is lost"),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(store.close());
}

#[test]
fn no_acknowledged_write_is_lost_when_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut known = Acknowledged::new();
    let mut total = 0;
    for round in 0..ROUNDS {
        // Spread, so that the kill hits different moments of opening, filling and rewriting the file.
        let limit = 40 + (round * 97) % 211;
        total += run_and_kill(&path, limit, &mut known);
        verify(&path, &known);
    }
    assert!(total >= 1000, "only {total} writes in {ROUNDS} rounds");
}
