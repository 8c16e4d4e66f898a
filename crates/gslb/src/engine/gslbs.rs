//! The engine's part about Gslbs.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
    sync::Arc,
};

use flotilla_api::DnsEndpointSpec;
use flotilla_dns::{name::Name, zone::Entry};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Action, Effect, Engine, Target, Wanter, context};
use crate::{
    decide::{self, Asking, Decision, HostDecision, Resolved},
    endpoints, ingress,
    kinds::Kind,
    packed::Packed,
    problem::{self, Problem},
    publish::{self, Source},
    sight,
    spec::Rules,
    status,
    world::{EndpointView, GslbId, GslbView},
};

/// Warning events for one change of an object's problems.
const EVENTS_MAX: usize = 5;

/// What is published about a host, in entries that all hosts with the same decision share.
#[derive(Clone)]
struct Entries {
    host: Option<Arc<Entry>>,
    local: Option<Arc<Entry>>,
    sight: Option<Arc<Entry>>,
}

impl Entries {
    fn of(decided: &HostDecision, rules: &Rules) -> Entries {
        let mut host = publish::entry_of_host(&decided.records, rules).unwrap_or_default();
        let answered = |family| !endpoints::targets_of(&decided.records, family).is_empty();
        host.why = publish::why_of(&decided.why, answered);
        Entries {
            host: (host != Entry::default()).then(|| Arc::new(host)),
            local: publish::entry_of_local(&decided.records.local, rules).map(Arc::new),
            sight: decided
                .sight
                .as_ref()
                .map(|sight| Arc::new(publish::entry_of_sight(sight))),
        }
    }
}

impl Engine {
    /// Finds the hosts of a Gslb and lays claim to them; none when the Gslb is gone or has moved to the current group.
    pub(super) fn resolve(&mut self, id: &GslbId, now: Timestamp) -> Option<Arc<Resolved>> {
        let ctx = context(&self.config, &self.view, &self.lookups, now);
        let gslb = self.world.gslbs.get(id).filter(|_| self.is_carried_out(id));
        let mut created = String::new();
        let mut hosts = BTreeSet::new();
        let mut outcome = None;
        if let Some(gslb) = gslb {
            let mut resolved = decide::resolve(&self.world, id, gslb, ctx);
            if resolved.rules.is_some() {
                hosts.extend(resolved.places.keys().cloned());
                created.clone_from(&gslb.created);
            }
            let reads = mem::take(&mut resolved.reads);
            self.world.set_reads(id, reads);
            outcome = Some(Arc::new(resolved));
        }
        let concerned = self.claims.set(id, &created, hosts);
        self.stirred.extend(concerned);
        outcome
    }

    /// Decides a resolved Gslb, or forgets one that is gone.
    pub(super) fn settle_gslb(
        &mut self,
        id: &GslbId,
        resolved: Option<Arc<Resolved>>,
        now: Timestamp,
    ) {
        self.n_decisions += 1;
        let before = self.decisions.remove(id);
        if let Some(at) = before.as_ref().and_then(|before| before.again_at) {
            self.due.remove(&(at, id.clone()));
        }
        self.dirty_endpoints.insert(id.key.clone());
        let Some(resolved) = resolved else {
            return self.forget(id, before);
        };
        for (host, family, observation) in decide::own_looks(&self.world, &resolved, now) {
            let own = self.config.geo_tag.clone();
            self.view.note(&host, &own, family, observation);
        }
        let ctx = context(&self.config, &self.view, &self.lookups, now);
        let taken = self.claims.taken(id);
        let decision = Arc::new(decide::decide(&self.world, &resolved, &taken, ctx));
        if before
            .as_ref()
            .is_none_or(|it| !Arc::ptr_eq(&it.resolved, &resolved))
        {
            self.want(Wanter::Gslb(id.clone()), resolved.hostnames.clone());
        }
        self.follow(before.as_deref(), &decision);
        self.publish_decision(id, &decision);
        if let Some(at) = decision.again_at {
            self.due.insert((at, id.clone()));
        }
        let is_news = before.as_ref() != Some(&decision);
        *self.unreported.entry(id.clone()).or_default() |= is_news;
        self.decisions.insert(id.clone(), decision);
    }

    /// Tells the API server and the metrics what was decided.
    pub(super) fn report_gslb(&mut self, id: &GslbId, is_news: bool, now: Timestamp) {
        let decision = self.decisions.get(id).cloned();
        let (Some(decision), Some(gslb)) = (decision, self.world.gslbs.get(id).cloned()) else {
            return;
        };
        let owner = owner_reference(id, &gslb.uid);
        let existing = self.world.ingresses.get(&id.key);
        if let Some(object) = ingress::embedded(&id.key, &gslb, &owner, existing) {
            self.write(Target::Ingress(id.key.clone()), Action::Apply(object));
        }
        if !decision.is_waiting() {
            self.write_endpoint(id, &owner, &decision);
            self.write_status(id, &gslb, &decision, now);
        }
        if is_news {
            self.effects.push(Effect::Decided {
                id: id.clone(),
                decision: Some(decision),
            });
        }
    }

    fn forget(&mut self, id: &GslbId, before: Option<Arc<Decision>>) {
        self.world.set_reads(id, BTreeSet::new());
        self.want(Wanter::Gslb(id.clone()), BTreeSet::new());
        self.sent.remove(&status_target(id));
        self.unreported.remove(id);
        let changes = self.book.set(&Source::Decision(id.clone()), Vec::new());
        self.changes.extend(changes);
        if let Some(before) = before {
            self.follow(Some(&before), &Decision::default());
            self.effects.push(Effect::Decided {
                id: id.clone(),
                decision: None,
            });
        }
        let kind = if id.legacy {
            Kind::LegacyGslb
        } else {
            Kind::Gslb
        };
        if let Some(error) = self.world.unreadable.get(&(kind, id.key.clone())) {
            let problem = Problem::new(problem::Kind::InvalidSpec, "spec", error.clone());
            let regarding = object_reference(id, "");
            self.warn(regarding, problem.kind.event_reason(), problem.to_string());
        }
    }

    /// Tells the shell which hosts to ask about.
    fn follow(&mut self, before: Option<&Decision>, now: &Decision) {
        let old = before.map(|decision| &decision.hosts);
        for (host, decided) in &now.hosts {
            if old
                .and_then(|old| old.get(host))
                .is_none_or(|old| old.zone != decided.zone)
            {
                self.effects.push(Effect::Watch {
                    host: host.to_string(),
                    zone: decided.zone.to_string(),
                });
            }
            let asked = old.and_then(|old| old.get(host));
            let before = asked.map_or(Asking::No, |old| old.asking);
            if before != decided.asking || asked.is_some_and(|old| old.zone != decided.zone) {
                self.ask_sights(host, &decided.zone, decided.asking);
            }
        }
        for host in old.into_iter().flat_map(BTreeMap::keys) {
            if !now.hosts.contains_key(host) && self.claims.winner(host).is_none() {
                self.view.forget(host);
                self.effects.push(Effect::Unwatch {
                    host: host.to_string(),
                });
                if let Some(old) = old.and_then(|old| old.get(host))
                    && old.asking != Asking::No
                {
                    self.ask_sights(host, &old.zone, Asking::No);
                }
            }
        }
    }

    fn ask_sights(&mut self, host: &str, zone: &str, asking: Asking) {
        self.effects.push(Effect::AskSights {
            host: host.to_owned(),
            zone: zone.to_owned(),
            asking,
        });
    }

    /// Publishes local targets at once, and the host unless it waits for a peer.
    fn publish_decision(&mut self, id: &GslbId, decision: &Decision) {
        let mut wanted = Vec::new();
        let source = Source::Decision(id.clone());
        if let Some(rules) = &decision.resolved.rules {
            let addresses = &decision.resolved.addresses;
            // By the decision's address: hosts that are alike share it.
            let mut made: HashMap<*const HostDecision, Entries> = HashMap::new();
            for (host, decided) in &decision.hosts {
                let Some(place) = decision.resolved.places.get(host) else {
                    continue;
                };
                let entries = made
                    .entry(Arc::as_ptr(decided))
                    .or_insert_with(|| Entries::of(decided, rules))
                    .clone();
                let local = entries.local.into_iter();
                wanted.extend(local.flat_map(|entry| {
                    place
                        .local
                        .iter()
                        .map(move |name| (name.clone(), entry.clone()))
                }));
                if let Some(entry) = entries.sight
                    && let Ok(name) = place.name.child(sight::LABEL)
                {
                    wanted.push((name, entry));
                }
                let before = decided
                    .waiting
                    .then(|| self.book.entry(&source, &place.name));
                let entry = match before {
                    Some(None) => None,
                    Some(Some(before)) if !decided.is_stale(before, addresses) => {
                        Some(before.clone())
                    }
                    _ => entries.host,
                };
                wanted.extend(entry.map(|entry| (place.name.clone(), entry)));
            }
        }
        let changes = self.book.set(&source, wanted);
        self.changes.extend(changes);
    }

    /// A host that waits for a peer is answered as before the restart meanwhile, where no DNSEndpoint says more: it may not have
    /// been written any more when the process was killed.
    pub(super) fn settle_recalled(&mut self) {
        let Some(recalled) = self.recalled.take() else {
            return;
        };
        let mut wanted = Vec::new();
        for decision in self.decisions.values().filter(|it| it.is_waiting()) {
            self.recalled = Some(recalled.clone());
            let resolved = &decision.resolved;
            for (host, decided) in decision.hosts.iter().filter(|(_, it)| it.waiting) {
                let entry = resolved.places.get(host).and_then(|place| {
                    let zone = recalled.zone(&Name::parse(&decided.zone).ok()?)?;
                    Some((place.name.clone(), zone.entry(&place.name)?))
                });
                let good = entry.filter(|(_, entry)| {
                    !entry.sets.is_empty() && !decided.is_stale(entry, &resolved.addresses)
                });
                wanted.extend(good.map(|(name, entry)| (name, Arc::new(entry))));
            }
        }
        let changes = self.book.set(&Source::Recalled, wanted);
        self.changes.extend(changes);
    }

    fn write_endpoint(&mut self, id: &GslbId, owner: &Value, decision: &Decision) {
        let records = decision
            .hosts
            .iter()
            .map(|(host, d)| (host.to_string(), d.records.clone()))
            .collect();
        let spec = match &decision.resolved.rules {
            Some(rules) => endpoints::application(&records, rules),
            None => DnsEndpointSpec::default(),
        };
        let existing = self.world.endpoints.get(&id.key);
        if existing.is_none() && spec.endpoints.is_empty() {
            return;
        }
        let object = endpoints::application_object(&id.key, owner.clone(), &spec);
        let marked = existing.filter(|existing| is_marked(existing, &object));
        let action = match marked {
            Some(existing) if existing.spec == Packed::of(&spec) => return,
            Some(_) => Action::Respec(object),
            None => Action::Apply(object),
        };
        self.write(Target::Endpoint(id.key.clone()), action);
    }

    fn write_status(&mut self, id: &GslbId, gslb: &GslbView, decision: &Decision, now: Timestamp) {
        let before = gslb.status.as_ref();
        let wanted =
            status::of_decision(decision, &self.config.geo_tag, before, gslb.generation, now);
        if before == Some(&wanted) {
            self.sent.remove(&status_target(id));
            return;
        }
        let message = |conditions: &[flotilla_api::Condition]| {
            conditions
                .iter()
                .find(|c| c.kind == "Ready")
                .map(|c| c.message.clone())
        };
        let news =
            message(&wanted.conditions) != before.and_then(|status| message(&status.conditions));
        let target = status_target(id);
        let action = Action::Status(json!(wanted));
        if news && self.sent.get(&target) != Some(&action) {
            let regarding = object_reference(id, &gslb.uid);
            for problem in decision.problems.iter().take(EVENTS_MAX) {
                self.warn(
                    regarding.clone(),
                    problem.kind.event_reason(),
                    problem.to_string(),
                );
            }
        }
        self.write(target, action);
    }
}

/// Whether a DNSEndpoint is the one that we sent.
pub(super) fn is_echo(existing: &EndpointView, object: &Value) -> bool {
    let sent = || DnsEndpointSpec::deserialize(&object["spec"]).ok();
    is_marked(existing, object) && sent().is_some_and(|sent| existing.spec == Packed::of(&sent))
}

/// Whether labels, annotations and owner of a DNSEndpoint are those we want.
fn is_marked(existing: &EndpointView, object: &Value) -> bool {
    let owner = object["metadata"]["ownerReferences"][0]["uid"]
        .as_str()
        .unwrap_or_default();
    json!(existing.labels) == object["metadata"]["labels"]
        && json!(existing.annotations) == object["metadata"]["annotations"]
        && existing.owners.contains(owner)
}

pub(super) fn status_target(id: &GslbId) -> Target {
    Target::GslbStatus {
        legacy: id.legacy,
        key: id.key.clone(),
    }
}

fn api_version(id: &GslbId) -> &'static str {
    if id.legacy {
        "k8gb.absa.oss/v1beta1"
    } else {
        "k8gb.io/v1beta1"
    }
}

pub(super) fn owner_reference(id: &GslbId, uid: &str) -> Value {
    json!({
        "apiVersion": api_version(id),
        "kind": "Gslb",
        "name": id.key.name,
        "uid": uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

pub(super) fn object_reference(id: &GslbId, uid: &str) -> Value {
    json!({
        "apiVersion": api_version(id),
        "kind": "Gslb",
        "namespace": id.key.namespace,
        "name": id.key.name,
        "uid": uid,
    })
}
