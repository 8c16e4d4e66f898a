//! Who owns whom, and what garbage collection has to do about it.
//!
//! The graph knows every object by uid: its owners, its dependents and how far its deletion is. Watches feed it with
//! [`Graph::observe`], which returns the objects to look at; [`Graph::decide`] says what to do with one of them. The cost of an
//! event is its own edges and the dependents of what vanished, never the size of the cluster.
//!
//! An owner that is not in the graph may exist anyway, because its watch is late: then the answer is to ask the server
//! ([`Action::Verify`]) and to tell the graph what it said. Nothing is deleted on the strength of a missing event.
//!
//! Source: Kubernetes v1.35, pkg/controller/garbagecollector.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

/// Finalizer of an owner that waits for its blocking dependents to go first.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an owner whose dependents are to stay.
pub const ORPHAN: &str = "orphan";

/// Absent owners that are remembered, so that a thousand dependents ask the server once.
const ABSENT_MAX: usize = 10_000;

/// An object's unique id.
pub type Uid = Arc<str>;

/// Where an object lives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// `v1`, `apps/v1`, …
    pub api_version: Arc<str>,
    /// Kind.
    pub kind: Arc<str>,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// An owner reference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerRef {
    /// uid of the owner.
    pub uid: Uid,
    /// `v1`, `apps/v1`, …
    pub api_version: Arc<str>,
    /// Kind of the owner.
    pub kind: Arc<str>,
    /// Name of the owner.
    pub name: Arc<str>,
    /// Whether the owner may not go before this object, when it is deleted in the foreground.
    pub blocks: bool,
}

/// What garbage collection sees of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Where it lives.
    pub place: Place,
    /// Its owners in order.
    pub owners: Vec<OwnerRef>,
    /// Whether its deletion began.
    pub deleting: bool,
    /// Its finalizers.
    pub finalizers: Vec<String>,
}

/// How the deletion of an object treats its dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They follow later.
    Background,
    /// They go first.
    Foreground,
    /// They stay.
    Orphan,
}

/// What to do with one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Keep,
    /// Ask the server whether this owner exists, tell [`Graph::owner_is`], and decide again.
    Verify {
        /// The reference to follow, from an object in `namespace`.
        owner: OwnerRef,
        /// Namespace of the dependent; empty for cluster-scoped ones.
        namespace: Arc<str>,
    },
    /// Delete it, if it still has this uid.
    Delete(Propagation),
    /// Remove the references to these owners.
    Release(Vec<Uid>),
    /// Remove this finalizer: what it waited for is done.
    Finish(&'static str),
    /// Remove the reference to the object from each of these dependents; when none is left decide again.
    OrphanDependents(Vec<Uid>),
}

/// What the server says about an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It exists with that uid.
    Present,
    /// It does not exist, or another object has its name.
    Absent,
    /// A cluster-scoped object names a namespaced owner, which cannot be followed; it is never collected for it.
    Unresolvable,
}

/// All objects and their owners.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: HashMap<Uid, Node>,
    /// Dependents of an owner, whether the owner is known or not.
    dependents: HashMap<Uid, BTreeSet<Uid>>,
    /// Owners that the server does not have, by uid and the namespace they were looked for in.
    absent: HashSet<(Uid, Arc<str>)>,
    /// Owners that the server has although no watch showed them yet, or that cannot be followed.
    trusted: HashSet<(Uid, Arc<str>)>,
}

#[derive(Debug)]
struct Node {
    seen: Seen,
}

/// The owners of an object by what became of them.
#[derive(Default)]
struct Owners {
    solid: Vec<Uid>,
    /// They wait, in foreground deletion, for their dependents.
    waiting: Vec<Uid>,
    dangling: Vec<Uid>,
}

impl Graph {
    /// Takes the newest version of an object, or its disappearance, and returns the objects to look at.
    pub fn observe(&mut self, uid: &Uid, seen: Option<Seen>) -> BTreeSet<Uid> {
        match seen {
            Some(seen) => self.update(uid, seen),
            None => self.forget(uid),
        }
    }

    fn update(&mut self, uid: &Uid, seen: Seen) -> BTreeSet<Uid> {
        let mut look = BTreeSet::new();
        let before = self.nodes.get(uid).map(|node| node.seen.clone());
        for owner in before.iter().flat_map(|before| &before.owners) {
            self.unlink(&owner.uid, uid);
        }
        for owner in &seen.owners {
            self.dependents
                .entry(owner.uid.clone())
                .or_default()
                .insert(uid.clone());
        }
        let old_owners = before
            .as_ref()
            .map(|before| before.owners.as_slice())
            .unwrap_or_default();
        if !seen.owners.is_empty() && seen.owners != old_owners {
            look.insert(uid.clone());
        }
        // An owner that waits for this one may go on, because it does not block any more.
        look.extend(
            old_owners
                .iter()
                .filter(|owner| !seen.owners.contains(owner))
                .map(|owner| owner.uid.clone()),
        );
        let began = seen.deleting && before.as_ref().is_none_or(|before| !before.deleting);
        let waits = |seen: &Seen| seen.deleting && (seen.has(FOREGROUND) || seen.has(ORPHAN));
        if waits(&seen) && before.as_ref().is_none_or(|before| !waits(before)) {
            look.insert(uid.clone());
            if seen.has(FOREGROUND) {
                look.extend(self.dependents_of(uid).cloned());
            }
        }
        if began {
            look.extend(seen.owners.iter().map(|owner| owner.uid.clone()));
        }
        let namespace = seen.place.namespace.clone();
        self.absent.remove(&(uid.clone(), namespace.clone()));
        self.trusted.remove(&(uid.clone(), namespace));
        self.nodes.insert(uid.clone(), Node { seen });
        look
    }

    fn forget(&mut self, uid: &Uid) -> BTreeSet<Uid> {
        let Some(node) = self.unwatch(uid) else {
            return BTreeSet::new();
        };
        let mut look: BTreeSet<_> = self.dependents_of(uid).cloned().collect();
        look.extend(node.seen.owners.into_iter().map(|owner| owner.uid));
        // A cluster-scoped owner counts in all namespaces; for those the server is asked once each.
        self.remember(uid.clone(), node.seen.place.namespace);
        look
    }

    /// Forgets an object that nobody watches any more, for example because its kind is served in another version now. Unlike
    /// one that was seen to go, it is not taken for absent: whoever names it as owner asks the server.
    pub fn lose_sight(&mut self, uid: &str) {
        self.unwatch(uid);
    }

    fn unwatch(&mut self, uid: &str) -> Option<Node> {
        let node = self.nodes.remove(uid)?;
        for owner in &node.seen.owners {
            self.unlink(&owner.uid, uid);
        }
        Some(node)
    }

    /// Tells what the server answered to [`Action::Verify`].
    pub fn owner_is(&mut self, owner: &OwnerRef, namespace: &str, answer: Answer) {
        let key = (owner.uid.clone(), namespace.into());
        match answer {
            Answer::Absent => self.remember(key.0, key.1),
            Answer::Present | Answer::Unresolvable => {
                bound(&mut self.trusted);
                self.trusted.insert(key);
            }
        }
    }

    /// Where the object with this uid lives, if it is known.
    pub fn place(&self, uid: &str) -> Option<&Place> {
        self.nodes.get(uid).map(|node| &node.seen.place)
    }

    /// What to do with one object. One step: look again when a watch showed its effect.
    pub fn decide(&self, uid: &str) -> Action {
        let Some(Node { seen }) = self.nodes.get(uid) else {
            return Action::Keep;
        };
        if seen.deleting {
            return self.decide_deleting(uid, seen);
        }
        if seen.owners.is_empty() {
            return Action::Keep;
        }
        let owners = match self.classify(seen) {
            Ok(owners) => owners,
            Err(verify) => return *verify,
        };
        if !owners.solid.is_empty() {
            let gone: Vec<_> = owners.dangling.into_iter().chain(owners.waiting).collect();
            return if gone.is_empty() {
                Action::Keep
            } else {
                Action::Release(gone)
            };
        }
        if !owners.waiting.is_empty() && self.dependents_of(uid).next().is_some() {
            // Its own dependents go first, as everywhere in a foreground deletion.
            return Action::Delete(Propagation::Foreground);
        }
        Action::Delete(if seen.has(ORPHAN) {
            Propagation::Orphan
        } else if seen.has(FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        })
    }

    fn decide_deleting(&self, uid: &str, seen: &Seen) -> Action {
        if seen.has(ORPHAN) {
            let dependents: Vec<_> = self.dependents_of(uid).cloned().collect();
            return if dependents.is_empty() {
                Action::Finish(ORPHAN)
            } else {
                Action::OrphanDependents(dependents)
            };
        }
        if seen.has(FOREGROUND) {
            let mut blocking = self
                .dependents_of(uid)
                .filter(|dependent| self.blocks(dependent, uid));
            let blocked = blocking.any(|dependent| !self.waits_for(dependent, uid));
            return if blocked {
                Action::Keep
            } else {
                Action::Finish(FOREGROUND)
            };
        }
        Action::Keep
    }

    /// Sorts owners into solid, waiting and dangling ones, or says which to ask about first.
    fn classify(&self, seen: &Seen) -> Result<Owners, Box<Action>> {
        let mut owners = Owners::default();
        let namespace = &seen.place.namespace;
        for owner in &seen.owners {
            let known = self
                .nodes
                .get(&owner.uid)
                .filter(|node| node.seen.place.fits(owner, namespace));
            let key = (owner.uid.clone(), namespace.clone());
            match known {
                Some(node) if node.seen.deleting && node.seen.has(FOREGROUND) => {
                    owners.waiting.push(owner.uid.clone())
                }
                Some(_) => owners.solid.push(owner.uid.clone()),
                None if self.absent.contains(&key) => owners.dangling.push(owner.uid.clone()),
                None if self.trusted.contains(&key) => owners.solid.push(owner.uid.clone()),
                None => {
                    let (owner, namespace) = (owner.clone(), namespace.clone());
                    return Err(Box::new(Action::Verify { owner, namespace }));
                }
            }
        }
        Ok(owners)
    }

    /// Whether the foreground deletion of `waiting` waits, over any number of steps, for `uid`. Objects that wait for each other
    /// in a circle would never go; they do not count as blocking.
    fn waits_for(&self, waiting: &str, uid: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut stack = vec![waiting];
        while let Some(next) = stack.pop() {
            if next == uid {
                return true;
            }
            let foreground = self
                .nodes
                .get(next)
                .is_some_and(|node| node.seen.deleting && node.seen.has(FOREGROUND));
            if foreground && seen.insert(next) {
                let blocking = self
                    .dependents_of(next)
                    .filter(|dependent| self.blocks(dependent, next));
                stack.extend(blocking.map(|uid| &**uid));
            }
        }
        false
    }

    fn blocks(&self, dependent: &str, owner: &str) -> bool {
        let owners = self
            .nodes
            .get(dependent)
            .map(|node| node.seen.owners.as_slice());
        owners
            .unwrap_or_default()
            .iter()
            .any(|found| *found.uid == *owner && found.blocks)
    }

    fn dependents_of(&self, uid: &str) -> impl Iterator<Item = &Uid> {
        self.dependents.get(uid).into_iter().flatten()
    }

    fn unlink(&mut self, owner: &str, dependent: &str) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    fn remember(&mut self, uid: Uid, namespace: Arc<str>) {
        bound(&mut self.absent);
        self.trusted.remove(&(uid.clone(), namespace.clone()));
        self.absent.insert((uid, namespace));
    }
}

impl Seen {
    fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|found| found == finalizer)
    }
}

impl Place {
    /// Whether a reference from an object in `namespace` means the object that lives here. Its version may differ.
    fn fits(&self, owner: &OwnerRef, namespace: &str) -> bool {
        let group = |version: &str| {
            version
                .split_once('/')
                .map_or(String::new(), |(group, _)| group.into())
        };
        let reachable = self.namespace.is_empty() || *self.namespace == *namespace;
        reachable
            && self.kind == owner.kind
            && self.name == owner.name
            && group(&self.api_version) == group(&owner.api_version)
    }
}

/// Forgets everything when there is too much: it is only asked about again.
fn bound(set: &mut HashSet<(Uid, Arc<str>)>) {
    if set.len() >= ABSENT_MAX {
        set.clear();
    }
}

#[cfg(test)]
mod tests;
