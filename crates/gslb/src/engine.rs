//! The controller without its hands: inputs come in, effects come out.
//!
//! An [`Engine`] holds everything one cluster knows and decides. The shell feeds it watch events, peers' answers and
//! looked-up names with [`Engine::take`], and asks it to [`Engine::settle`]; what comes back is everything to be done
//! outside: records to publish, objects to write, names to look up, peers to ask. The engine has no clock, no sockets
//! and no tasks, so a whole fleet of them runs in a test under a virtual clock.
//!
//! Answers come first: [`Engine::settle`] does all that clients notice. What was decided is told to the API server and to
//! the metrics by [`Engine::report`], one Gslb at a time, when the shell has time for it.
//!
//! Work is proportional to what changed: an event makes the Gslbs that read its object dirty, and only those are
//! resolved and decided again; when only health or a peer's answer changed they are not even resolved. Nothing is decided
//! before every kind has been listed once, because until then absence means nothing.

mod claims;
mod effect;
mod gslbs;
mod legacy;
mod zones;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map},
    sync::Arc,
};

use flotilla_dns::{
    catalog::{self, Catalog},
    name::Name,
    zone::Entry,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    config::Config,
    decide::{Context, Decision},
    endpoints,
    expose::Lookup,
    ingress,
    key::Key,
    kinds::Kind,
    migrate::Phase,
    publish::{self, Book},
    sight::Sighting,
    view::{Family, Observation, View},
    world::{self, Change, Dep, GslbId, GslbView, World},
    zone_plan::{self, Plan},
};

use self::claims::Claims;
pub use self::effect::{Action, Effect, Importance, Target};

/// Who reports events, as k8gb calls itself.
const REPORTER: &str = "gslb-controller";

/// What a peer said about a host.
#[derive(Clone, Debug)]
pub struct Said {
    /// The host it was asked about.
    pub host: Arc<str>,
    /// The family it was asked for.
    pub family: Family,
    /// What it said.
    pub observation: Observation,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// An object changed.
    Watch(Kind, Change),
    /// A peer answered, or did not.
    Answers {
        /// Its tag.
        tag: String,
        /// What it said about each host. What is known together belongs into one input, so that each Gslb is decided once.
        said: Vec<Said>,
    },
    /// A peer said whom it sees, or did not.
    Sighting {
        /// The host it was asked about.
        host: String,
        /// Its tag.
        tag: String,
        /// What it said.
        sighting: Sighting,
        /// When.
        at: Timestamp,
    },
    /// From now on we are the one that writes; what was asked for before was not carried out.
    Leading,
    /// A peer's changes are pushed to us from now on, or no more.
    Pushed {
        /// The zone.
        zone: String,
        /// The peer's tag.
        tag: String,
        /// Whether they are.
        live: bool,
    },
    /// A name was looked up.
    Lookup {
        /// The name.
        name: String,
        /// What came of it.
        lookup: Lookup,
    },
}

/// Who wants a name looked up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wanter {
    Gslb(GslbId),
    Zone(String),
    OwnDns,
}

/// Everything one cluster knows and has decided.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    world: World,
    view: View,
    lookups: BTreeMap<String, Lookup>,
    book: Book,
    claims: Claims,
    decisions: BTreeMap<GslbId, Arc<Decision>>,
    plans: BTreeMap<String, Plan>,
    /// Peers last told to the shell, by zone.
    peers: BTreeMap<String, BTreeMap<String, Vec<std::net::IpAddr>>>,
    wanted: BTreeMap<Wanter, BTreeSet<String>>,
    wanted_count: BTreeMap<String, usize>,
    /// What was last sent to the API server and has not come back by a watch yet.
    sent: BTreeMap<Target, Action>,
    /// Dynamic updates last asked for, by zone: present or not, and with which addresses.
    updates: BTreeMap<String, (bool, Vec<std::net::IpAddr>)>,
    /// Peers whose changes are pushed to us, by zone.
    pushed: BTreeMap<String, BTreeSet<String>>,
    /// Gslbs to resolve and decide.
    dirty: BTreeSet<GslbId>,
    /// Gslbs to decide: what they are about is as before.
    stirred: BTreeSet<GslbId>,
    /// Gslbs whose decision has not been told to the API server yet, and whether it is another one than before.
    unreported: BTreeMap<GslbId, bool>,
    dirty_zones: bool,
    /// The DNS server has been told which zones there are.
    told_zones: bool,
    dirty_endpoints: BTreeSet<Key>,
    dirty_ingresses: BTreeSet<Key>,
    dirty_legacy: BTreeSet<Key>,
    /// How far each legacy Gslb was when it was looked at last.
    legacy_phases: BTreeMap<Key, Phase>,
    /// Ingresses that say where our DNS server is reached.
    dns_sources: BTreeSet<Key>,
    /// When to decide a Gslb again although nothing happens.
    due: BTreeSet<(Timestamp, GslbId)>,
    /// What was answered before a restart, as long as a host waits for its first answer after it.
    recalled: Option<Arc<Catalog>>,
    changes: Vec<catalog::Change>,
    effects: Vec<Effect>,
    n_decisions: u64,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(config: Config) -> Engine {
        let mut world = World::default();
        let matters: BTreeSet<Kind> = config.kinds().collect();
        for kind in Kind::ALL {
            if !matters.contains(&kind) {
                world.apply(kind, Change::Absent);
            }
        }
        Engine {
            config,
            world,
            view: View::default(),
            lookups: BTreeMap::new(),
            book: Book::default(),
            claims: Claims::default(),
            decisions: BTreeMap::new(),
            plans: BTreeMap::new(),
            peers: BTreeMap::new(),
            wanted: BTreeMap::new(),
            wanted_count: BTreeMap::new(),
            sent: BTreeMap::new(),
            updates: BTreeMap::new(),
            pushed: BTreeMap::new(),
            dirty: BTreeSet::new(),
            stirred: BTreeSet::new(),
            unreported: BTreeMap::new(),
            dirty_zones: true,
            told_zones: false,
            dirty_endpoints: BTreeSet::new(),
            dirty_ingresses: BTreeSet::new(),
            dirty_legacy: BTreeSet::new(),
            legacy_phases: BTreeMap::new(),
            dns_sources: BTreeSet::new(),
            due: BTreeSet::new(),
            recalled: None,
            changes: Vec::new(),
            effects: Vec::new(),
            n_decisions: 0,
        }
    }

    /// Goes on with what was answered before a restart, where there is nothing better.
    pub fn recalling(mut self, answers: Arc<Catalog>) -> Engine {
        self.recalled = Some(answers);
        self
    }

    /// Takes in what happened; nothing is decided yet.
    pub fn take(&mut self, input: Input) {
        match input {
            Input::Watch(kind, change) => self.watch(kind, change),
            Input::Answers { tag, said } => self.answered(&tag, said),
            Input::Sighting {
                host,
                tag,
                sighting,
                at,
            } => {
                if let Some(owner) = self.claims.winner(&host).cloned()
                    && self.view.note_sighting(&host, &tag, sighting, at)
                {
                    self.stirred.insert(owner);
                }
            }
            Input::Leading => self.start_over(),
            Input::Lookup { name, lookup } => self.looked_up(name, lookup),
            Input::Pushed { zone, tag, live } => {
                let tags = self.pushed.entry(zone).or_default();
                self.dirty_zones |= if live {
                    tags.insert(tag)
                } else {
                    tags.remove(&tag)
                };
            }
        }
    }

    fn answered(&mut self, tag: &str, said: Vec<Said>) {
        for said in said {
            if let Some(owner) = self.claims.winner(&said.host)
                && self
                    .view
                    .note(&said.host, tag, said.family, said.observation)
                && !self.stirred.contains(owner)
            {
                self.stirred.insert(owner.clone());
            }
        }
    }

    /// Forgets what was sent, and looks at everything again: each wish that differs from what is there is sent anew.
    fn start_over(&mut self) {
        self.sent.clear();
        self.updates.clear();
        self.dirty_zones = true;
        self.dirty.extend(self.world.gslbs.keys().cloned());
        self.dirty_ingresses
            .extend(self.world.ingresses.keys().cloned());
        let legacy = self.world.gslbs.keys().filter(|id| id.legacy);
        self.dirty_legacy.extend(legacy.map(|id| id.key.clone()));
    }

    /// Decides everything that what happened, or the time, makes necessary, as far as clients notice it.
    pub fn settle(&mut self, now: Timestamp) -> Vec<Effect> {
        if !self.world.is_synced() {
            return Vec::new();
        }
        while let Some((at, _)) = self.due.first()
            && *at <= now
            && let Some((_, id)) = self.due.pop_first()
        {
            self.stirred.insert(id);
        }
        if std::mem::take(&mut self.dirty_zones) {
            self.settle_zones(now);
        }
        for key in std::mem::take(&mut self.dirty_ingresses) {
            self.settle_ingress(&key);
        }
        // Every Gslb is resolved before any is decided, so that a host that moves has one owner at a time.
        let mut resolved = BTreeMap::new();
        while let Some(id) = self.dirty.pop_first() {
            if let btree_map::Entry::Vacant(place) = resolved.entry(id) {
                let outcome = self.resolve(place.key(), now);
                place.insert(outcome);
            }
        }
        for id in std::mem::take(&mut self.stirred) {
            if let Some(decision) = self.decisions.get(&id) {
                let known = || Some(decision.resolved.clone());
                resolved.entry(id).or_insert_with(known);
            }
        }
        for (id, outcome) in resolved {
            self.settle_gslb(&id, outcome, now);
        }
        for key in std::mem::take(&mut self.dirty_endpoints) {
            self.settle_endpoint(&key);
        }
        self.settle_recalled();
        for key in std::mem::take(&mut self.dirty_legacy) {
            // Whoever reads that one has moved finds everything else written, or on its way.
            for legacy in [true, false] {
                let key = key.clone();
                let id = GslbId { legacy, key };
                if let Some(is_news) = self.unreported.remove(&id) {
                    self.report_gslb(&id, is_news, now);
                }
            }
            self.settle_legacy(&key);
        }
        if !self.changes.is_empty() {
            // Records first: nothing outside may be ahead of what we answer.
            self.effects
                .insert(0, Effect::Publish(std::mem::take(&mut self.changes)));
        }
        std::mem::take(&mut self.effects)
    }

    /// Tells the API server and the metrics what was decided about one Gslb. To be called until everything is reported, after
    /// [`Engine::settle`].
    pub fn report(&mut self, now: Timestamp) -> Vec<Effect> {
        if let Some((id, is_news)) = self.unreported.pop_first() {
            self.report_gslb(&id, is_news, now);
        }
        std::mem::take(&mut self.effects)
    }

    /// Whether nothing is left for [`Engine::report`].
    pub fn is_reported(&self) -> bool {
        self.unreported.is_empty()
    }

    /// When [`Engine::settle`] wants to be called although nothing happens.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// What was decided for a Gslb last.
    pub fn decision(&self, id: &GslbId) -> Option<&Decision> {
        self.decisions.get(id).map(Arc::as_ref)
    }

    /// How often a Gslb was decided, whether that changed anything or not: what events cost.
    pub fn n_decisions(&self) -> u64 {
        self.n_decisions
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn watch(&mut self, kind: Kind, change: Change) {
        let before = self.before(kind, &change);
        let mut touched = self.world.apply(kind, change);
        if let Some((id, before)) = before
            && self.is_own_status(&id, &before)
        {
            // Nothing but what we wrote ourselves, which was decided already.
            self.sent.remove(&gslbs::status_target(&id));
            touched.gslbs.remove(&id);
            touched.objects.clear();
        }
        self.dirty.extend(touched.gslbs);
        self.stirred.extend(touched.health);
        for (kind, key) in touched.objects {
            match kind {
                Kind::Gslb | Kind::LegacyGslb | Kind::Ingress | Kind::DnsEndpoint => {
                    self.follow_legacy(kind, &key);
                }
                _ => {}
            }
            match kind {
                Kind::ZoneDelegation => self.dirty_zones = true,
                Kind::DnsEndpoint => {
                    let sent = self.sent.remove(&Target::Endpoint(key.clone()));
                    self.sent.remove(&Target::EndpointOwners(key.clone()));
                    self.dirty_zones |= key.namespace == self.config.namespace;
                    if sent.is_some_and(|sent| self.is_own_endpoint(&key, &sent)) {
                        continue;
                    }
                    self.owner_of_endpoint(&key);
                    self.dirty_endpoints.insert(key);
                }
                Kind::Ingress => {
                    self.dirty_zones |= self.follow_dns_source(&key);
                    self.sent.remove(&Target::Ingress(key.clone()));
                    self.sent.remove(&Target::IngressOwners(key.clone()));
                    self.dirty_ingresses.insert(key);
                }
                Kind::Service => self.dirty_zones |= key.namespace == self.config.namespace,
                Kind::Gslb => {
                    self.sent.remove(&Target::Gslb(key.clone()));
                    self.dirty_ingresses.insert(key.clone());
                    self.dirty_endpoints.insert(key);
                }
                Kind::LegacyGslb => {
                    self.sent.remove(&Target::Legacy(key.clone()));
                    self.dirty_endpoints.insert(key);
                }
                _ => {}
            }
        }
    }

    /// The Gslb that a change is about, as it was before.
    fn before(&self, kind: Kind, change: &Change) -> Option<(GslbId, Arc<GslbView>)> {
        let Change::Put(object) = change else {
            return None;
        };
        let legacy = match kind {
            Kind::Gslb => false,
            Kind::LegacyGslb => true,
            _ => return None,
        };
        let key = world::key(object);
        let id = GslbId { legacy, key };
        let view = self.world.gslbs.get(&id)?.clone();
        Some((id, view))
    }

    /// Whether a Gslb differs from an earlier version by the status alone that we sent.
    fn is_own_status(&self, id: &GslbId, before: &GslbView) -> bool {
        let Some(now) = self.world.gslbs.get(id) else {
            return false;
        };
        let sent = self.sent.get(&gslbs::status_target(id));
        let Some(Action::Status(sent)) = sent else {
            return false;
        };
        now.is_same_but_status(before) && json!(now.status) == *sent
    }

    /// Whether a DNSEndpoint is what we sent.
    fn is_own_endpoint(&self, key: &Key, sent: &Action) -> bool {
        let Some(view) = self.world.endpoints.get(key) else {
            return false;
        };
        match sent {
            Action::Apply(sent) | Action::Respec(sent) => gslbs::is_echo(view, sent),
            _ => false,
        }
    }

    /// Whether an Ingress says, or said, where our DNS server is reached.
    fn follow_dns_source(&mut self, key: &Key) -> bool {
        let is = self
            .world
            .ingresses
            .get(key)
            .is_some_and(zone_plan::is_dns_source);
        let was = if is {
            !self.dns_sources.insert(key.clone())
        } else {
            self.dns_sources.remove(key)
        };
        is || was
    }

    /// A DNSEndpoint that somebody changed is written again by the Gslb it belongs to.
    fn owner_of_endpoint(&mut self, key: &Key) {
        for legacy in [false, true] {
            let id = GslbId {
                legacy,
                key: key.clone(),
            };
            if self.decisions.contains_key(&id) {
                self.unreported.entry(id).or_default();
            }
        }
    }

    fn looked_up(&mut self, name: String, lookup: Lookup) {
        if !self.wanted_count.contains_key(&name) {
            return;
        }
        let failed_again = matches!(lookup, Lookup::Failed(_))
            && matches!(self.lookups.get(&name), Some(Lookup::Addresses(_)));
        if failed_again {
            // The last good answer stays; one lost datagram must not take addresses away.
            return;
        }
        self.dirty_zones |= self.allow_update(&name, &lookup);
        if self.lookups.get(&name) == Some(&lookup) {
            return;
        }
        self.dirty
            .extend(self.world.readers(&Dep::Lookup(name.clone())).cloned());
        self.dirty_zones |= self
            .wanted
            .iter()
            .any(|(wanter, names)| !matches!(wanter, Wanter::Gslb(_)) && names.contains(&name));
        self.lookups.insert(name, lookup);
    }

    /// Publishes a DNSEndpoint of somebody else, or one of ours that is still being decided.
    fn settle_endpoint(&mut self, key: &Key) {
        let source = publish::Source::Endpoint(key.clone());
        let wanted = self.entries_of_endpoint(key);
        let wanted = wanted.into_iter().filter_map(|(name, entry)| {
            let name = Name::parse(&name).ok()?;
            Some((name, Arc::new(entry)))
        });
        let changes = self.book.set(&source, wanted.collect());
        self.changes.extend(changes);
    }

    fn entries_of_endpoint(&self, key: &Key) -> BTreeMap<String, Entry> {
        let view = self.world.endpoints.get(key);
        let Some(view) = view.filter(|view| endpoints::is_local(&view.labels)) else {
            return BTreeMap::new();
        };
        let owner = [false, true]
            .into_iter()
            .map(|legacy| GslbId {
                legacy,
                key: key.clone(),
            })
            .find(|id| self.world.gslbs.contains_key(id));
        match owner.and_then(|id| self.decisions.get(&id)) {
            Some(decision) if !decision.is_waiting() => BTreeMap::new(),
            Some(decision) => {
                let mut entries = publish::entries_of_endpoint(&view.spec.unpack());
                entries.retain(|name, entry| {
                    decision.hosts.get(name.as_str()).is_some_and(|host| {
                        host.waiting && !host.is_stale(entry, &decision.resolved.addresses)
                    })
                });
                entries
            }
            // What we wrote for a Gslb that is gone, or do not know yet.
            None if view.owned_by_gslb && !self.config.serve_only => BTreeMap::new(),
            None => publish::entries_of_endpoint(&view.spec.unpack()),
        }
    }

    /// An annotated Ingress creates a Gslb.
    fn settle_ingress(&mut self, key: &Key) {
        let Some(view) = self.world.ingresses.get(key) else {
            return;
        };
        let id = GslbId {
            legacy: false,
            key: key.clone(),
        };
        let existing = self.world.gslb(&id);
        if let Some(object) = ingress::annotated(key, view, existing) {
            self.write(Target::Gslb(key.clone()), Action::Apply(object));
        }
    }

    /// Sends a write unless the same one is under way.
    fn write(&mut self, target: Target, action: Action) {
        if self.sent.get(&target) != Some(&action) {
            self.sent.insert(target.clone(), action.clone());
            self.effects.push(Effect::Write(target, action));
        }
    }

    /// Replaces the names somebody wants looked up.
    fn want(&mut self, wanter: Wanter, names: BTreeSet<String>) {
        let before = self.wanted.remove(&wanter).unwrap_or_default();
        for name in names.difference(&before) {
            let count = self.wanted_count.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 {
                let name_server = !matches!(wanter, Wanter::Gslb(_));
                self.effects.push(Effect::Resolve {
                    name: name.clone(),
                    name_server,
                });
            }
        }
        for name in before.difference(&names) {
            if let Some(count) = self.wanted_count.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.wanted_count.remove(name);
                    self.lookups.remove(name);
                    self.effects.push(Effect::Forget { name: name.clone() });
                }
            }
        }
        if !names.is_empty() {
            self.wanted.insert(wanter, names);
        }
    }

    fn warn(&mut self, regarding: Value, reason: &'static str, message: String) {
        self.effects.push(Effect::Say {
            regarding,
            importance: Importance::Warning,
            reporter: REPORTER,
            reason,
            message,
        });
    }
}

/// What decisions read besides the world; a free function so that the world may be borrowed at the same time.
fn context<'a>(
    config: &'a Config,
    view: &'a View,
    lookups: &'a BTreeMap<String, Lookup>,
    now: Timestamp,
) -> Context<'a> {
    Context {
        config,
        view,
        lookups,
        now,
    }
}

#[cfg(test)]
mod tests;
