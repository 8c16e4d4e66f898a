//! Small clusters in which objects come and go, played against a model server.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A server with just enough behaviour: deletion with finalizers and propagation, and owner references.
#[derive(Default)]
struct Cluster {
    objects: BTreeMap<Uid, Seen>,
    graph: Graph,
    queue: BTreeSet<Uid>,
    log: Vec<String>,
    /// Changes that no watch has shown yet.
    pending: Vec<(Uid, Option<Seen>)>,
}

impl Cluster {
    /// `name[@namespace] [< owner | <! owner]…`; `<!` blocks. Uids are names; namespaces default to `ns`.
    fn with(lines: &[&str]) -> Self {
        let mut cluster = Self::default();
        for line in lines {
            let mut words = line.split(' ');
            let (name, namespace) = split(words.next().unwrap());
            let mut seen = Seen {
                place: place(name, namespace),
                owners: Vec::new(),
                deleting: false,
                finalizers: Vec::new(),
            };
            while let (Some(arrow), Some(owner)) = (words.next(), words.next()) {
                seen.owners.push(owner_ref(owner, arrow == "<!"));
            }
            cluster.write(name, Some(seen));
        }
        cluster
    }

    fn write(&mut self, uid: &str, seen: Option<Seen>) {
        match &seen {
            Some(seen) => self.objects.insert(uid.into(), seen.clone()),
            None => self.objects.remove(uid),
        };
        self.pending.push((uid.into(), seen));
    }

    fn delete(&mut self, uid: &str, how: Propagation) {
        let Some(mut seen) = self.objects.get(uid).cloned() else {
            return;
        };
        seen.finalizers
            .retain(|finalizer| finalizer != FOREGROUND && finalizer != ORPHAN);
        match how {
            Propagation::Background => {}
            Propagation::Foreground => seen.finalizers.push(FOREGROUND.into()),
            Propagation::Orphan => seen.finalizers.push(ORPHAN.into()),
        }
        seen.deleting = true;
        self.finish(uid, seen);
    }

    fn finish(&mut self, uid: &str, seen: Seen) {
        let done = seen.deleting && seen.finalizers.is_empty();
        self.write(uid, (!done).then_some(seen));
    }

    fn deliver(&mut self) {
        for (uid, seen) in std::mem::take(&mut self.pending) {
            self.queue.extend(self.graph.observe(&uid, seen));
        }
    }

    /// Works until nothing is left to do. Every action is checked against what exists.
    fn run(&mut self) -> &mut Self {
        for _ in 0..2000 {
            self.deliver();
            let Some(uid) = self.queue.pop_first() else {
                return self;
            };
            let action = self.graph.decide(&uid);
            self.act(&uid, action);
        }
        panic!("garbage collection does not come to an end: {:?}", self.log);
    }

    fn act(&mut self, uid: &str, action: Action) {
        let change = |cluster: &mut Self, change: &dyn Fn(&mut Seen)| {
            if let Some(mut seen) = cluster.objects.get(uid).cloned() {
                change(&mut seen);
                cluster.finish(uid, seen);
            }
        };
        match action {
            Action::Keep => return,
            Action::Verify {
                ref owner,
                ref namespace,
            } => {
                let found = self.objects.get(&owner.uid);
                let answer = match found {
                    Some(seen) if seen.place.fits(owner, namespace) => Answer::Present,
                    Some(seen) if namespace.is_empty() && !seen.place.namespace.is_empty() => {
                        Answer::Unresolvable
                    }
                    _ => Answer::Absent,
                };
                self.graph.owner_is(owner, namespace, answer);
                self.queue.insert(uid.into());
                return;
            }
            Action::Delete(how) => self.delete(uid, how),
            Action::Release(ref owners) => change(self, &|seen| {
                seen.owners.retain(|owner| !owners.contains(&owner.uid))
            }),
            Action::Finish(finalizer) => change(self, &|seen| {
                seen.finalizers.retain(|found| found != finalizer)
            }),
            Action::OrphanDependents(ref dependents) => {
                for dependent in dependents {
                    if let Some(mut seen) = self.objects.get(dependent).cloned() {
                        seen.owners.retain(|owner| *owner.uid != *uid);
                        self.finish(dependent, seen);
                    }
                }
                self.queue.insert(uid.into());
            }
        }
        self.log.push(format!("{uid} {action:?}"));
    }

    fn left(&self) -> String {
        let left = self.objects.iter().map(|(uid, seen)| {
            let owners: Vec<_> = seen.owners.iter().map(|owner| &*owner.uid).collect();
            let deleting = if seen.deleting { "†" } else { "" };
            format!("{uid}{deleting}({})", owners.join(","))
        });
        left.collect::<Vec<_>>().join(" ")
    }
}

fn split(text: &str) -> (&str, &str) {
    text.split_once('@').unwrap_or((text, "ns"))
}

fn place(name: &str, namespace: &str) -> Place {
    Place {
        api_version: "v1".into(),
        kind: "Thing".into(),
        namespace: if namespace == "-" { "" } else { namespace }.into(),
        name: name.into(),
    }
}

fn owner_ref(name: &str, blocks: bool) -> OwnerRef {
    OwnerRef {
        uid: name.into(),
        api_version: "v1".into(),
        kind: "Thing".into(),
        name: name.into(),
        blocks,
    }
}

fn after(lines: &[&str], uid: &str, how: Propagation) -> String {
    let mut cluster = Cluster::with(lines);
    cluster.run();
    assert!(
        cluster.log.is_empty(),
        "nothing to do at first: {:?}",
        cluster.log
    );
    cluster.delete(uid, how);
    cluster.run().left()
}

const CHAIN: [&str; 4] = ["a", "b <! a", "c < b", "d"];

#[test]
fn background_takes_the_dependents_along() {
    assert_eq!(after(&CHAIN, "a", Propagation::Background), "d()");
}

#[test]
fn foreground_takes_the_dependents_first() {
    assert_eq!(after(&CHAIN, "a", Propagation::Foreground), "d()");
    let mut cluster = Cluster::with(&["a", "b <! a", "c < a"]);
    cluster.run();
    let mut held = cluster.objects["b"].clone();
    held.finalizers.push("held".into());
    cluster.write("b", Some(held.clone()));
    cluster.delete("a", Propagation::Foreground);
    assert_eq!(cluster.run().left(), "a†() b†(a)", "b blocks a, c did not");
    held.finalizers.clear();
    held.deleting = true;
    cluster.finish("b", held);
    assert_eq!(cluster.run().left(), "");
}

#[test]
fn orphans_stay_and_lose_only_that_owner() {
    assert_eq!(
        after(&["a", "x", "b < a < x", "c < a"], "a", Propagation::Orphan),
        "b(x) c() x()"
    );
}

#[test]
fn an_object_with_another_owner_stays_and_forgets_the_lost_one() {
    assert_eq!(
        after(&["a", "x", "b < a < x"], "a", Propagation::Background),
        "b(x) x()"
    );
    assert_eq!(
        after(&["a", "x", "b <! a < x"], "a", Propagation::Foreground),
        "b(x) x()"
    );
}

#[test]
fn absent_owners_are_asked_about_once() {
    let mut cluster = Cluster::with(&["b < gone", "c < gone"]);
    assert_eq!(cluster.run().left(), "");
    assert_eq!(
        cluster.log,
        ["b Delete(Background)", "c Delete(Background)"]
    );
}

#[test]
fn owners_that_no_watch_showed_yet_are_not_taken_for_absent() {
    let mut cluster = Cluster::with(&["a", "b < a"]);
    // The watch of the owner is late.
    let late = cluster.pending.remove(0);
    assert_eq!(cluster.run().left(), "a() b(a)");
    cluster.pending.push(late);
    assert_eq!(cluster.run().left(), "a() b(a)");
    cluster.delete("a", Propagation::Background);
    assert_eq!(cluster.run().left(), "");
}

#[test]
fn an_owner_in_another_namespace_is_none() {
    let mut cluster = Cluster::with(&["a@one", "b@two < a"]);
    assert_eq!(cluster.run().left(), "a()");
}

#[test]
fn a_cluster_scoped_owner_counts_everywhere() {
    assert_eq!(
        after(
            &["a@-", "b@one < a", "c@two < a"],
            "a",
            Propagation::Background
        ),
        ""
    );
}

#[test]
fn k8s_65200_a_cluster_scoped_object_is_never_collected_for_a_namespaced_owner() {
    let mut cluster = Cluster::with(&["a@one", "b@- < a"]);
    assert_eq!(cluster.run().left(), "a() b(a)");
}

#[test]
fn another_object_of_the_same_name_is_not_the_owner() {
    let mut cluster = Cluster::with(&["a", "b < a"]);
    cluster.run();
    let mut other = cluster.objects["b"].clone();
    other.owners[0].uid = "older".into();
    cluster.write("b", Some(other));
    assert_eq!(cluster.run().left(), "a()");
}

#[test]
fn a_circle_in_foreground_deletion_comes_to_its_end() {
    assert_eq!(
        after(
            &["a <! c", "b <! a", "c <! b"],
            "a",
            Propagation::Foreground
        ),
        ""
    );
    assert_eq!(after(&["a <! a"], "a", Propagation::Foreground), "");
    assert_eq!(
        after(&["a <! b", "b <! a < a"], "b", Propagation::Foreground),
        ""
    );
}

#[test]
fn a_dependent_created_while_its_owner_goes_follows_it() {
    let mut cluster = Cluster::with(&["a", "b <! a"]);
    cluster.run();
    let mut held = cluster.objects["b"].clone();
    held.finalizers.push("held".into());
    cluster.write("b", Some(held));
    cluster.delete("a", Propagation::Foreground);
    cluster.run();
    let mut late = cluster.objects["b"].clone();
    (late.place.name, late.deleting, late.finalizers) = ("late".into(), false, Vec::new());
    cluster.write("late", Some(late));
    assert_eq!(cluster.run().left(), "a†() b†(a)");
}

#[test]
fn owners_of_a_kind_that_is_watched_no_more_are_not_taken_for_absent() {
    let mut cluster = Cluster::with(&["a", "b < a"]);
    cluster.run();
    cluster.graph.lose_sight("a");
    cluster.queue.insert("b".into());
    assert_eq!(cluster.run().left(), "a() b(a)");
    // Another watch shows it again, and it counts as before.
    let again = cluster.objects["a"].clone();
    cluster.write("a", Some(again));
    cluster.run();
    cluster.delete("a", Propagation::Background);
    assert_eq!(cluster.run().left(), "");
}

#[test]
fn an_edge_costs_nothing_when_it_is_gone() {
    let mut cluster = Cluster::with(&["a", "b < a"]);
    cluster.run();
    cluster.delete("b", Propagation::Background);
    cluster.delete("a", Propagation::Background);
    cluster.run();
    assert!(cluster.graph.nodes.is_empty() && cluster.graph.dependents.is_empty());
}

proptest! {
    /// Nobody without living owner survives, and nobody with one is lost, whatever the order of deletions.
    #[test]
    fn in_the_end_exactly_the_owned_and_the_free_are_left(
        owners in prop::collection::vec(prop::collection::vec((0..12_usize, any::<bool>()), 0..3), 12),
        deletions in prop::collection::vec((0..12_usize, 0..2_u8), 1..6),
    ) {
        let lines: Vec<_> = owners
            .iter()
            .enumerate()
            .map(|(n, owners)| {
                // Owners have lower numbers: no circles here.
                let owners = owners.iter().filter(|(owner, _)| *owner < n);
                let owners = owners.map(|(owner, blocks)| format!(" {} o{owner}", if *blocks { "<!" } else { "<" }));
                format!("o{n}{}", owners.collect::<String>())
            })
            .collect();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let mut cluster = Cluster::with(&lines);
        cluster.run();
        let mut alive: BTreeMap<Uid, Vec<Uid>> = cluster
            .objects
            .iter()
            .map(|(uid, seen)| (uid.clone(), seen.owners.iter().map(|owner| owner.uid.clone()).collect()))
            .collect();
        for (n, how) in deletions {
            let how = if how == 0 { Propagation::Background } else { Propagation::Foreground };
            let uid = Uid::from(format!("o{n}"));
            cluster.delete(&uid, how);
            cluster.run();
            let mut gone = vec![uid];
            while let Some(uid) = gone.pop() {
                if alive.remove(&uid).is_none() {
                    continue;
                }
                for (dependent, owners) in &mut alive {
                    let owned = owners.len();
                    owners.retain(|owner| *owner != uid);
                    if owned > 0 && owners.is_empty() {
                        gone.push(dependent.clone());
                    }
                }
            }
            let left: Vec<_> = cluster.objects.keys().cloned().collect();
            let expected: Vec<_> = alive.keys().cloned().collect();
            prop_assert_eq!(left, expected);
        }
    }
}
