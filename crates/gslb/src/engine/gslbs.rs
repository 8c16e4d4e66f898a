//! The engine's part about Gslbs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use flotilla_dns::zone::Entry;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Action, Effect, Engine, Target, Wanter, context};
use crate::{
    decide::{self, Asking, Decision, Resolved},
    endpoints, ingress,
    kinds::Kind,
    names,
    problem::{self, Problem},
    publish::{self, Source},
    sight, status,
    world::{EndpointView, GslbId, GslbView},
};

/// Warning events for one change of an object's problems.
const EVENTS_MAX: usize = 5;

impl Engine {
    /// Finds the hosts of a Gslb and lays claim to them; none when the Gslb is gone or has moved to the current group.
    pub(super) fn resolve(&mut self, id: &GslbId, now: Timestamp) -> Option<Resolved> {
        let ctx = context(&self.config, &self.view, &self.lookups, now);
        let gslb = self.world.gslbs.get(id).filter(|_| self.is_carried_out(id));
        let outcome = gslb.map(|gslb| {
            (
                decide::resolve(&self.world, id, gslb, ctx),
                gslb.created.clone(),
            )
        });
        let (hosts, created): (BTreeSet<String>, String) = match &outcome {
            Some((resolved, created)) if resolved.rules.is_some() => (
                resolved
                    .servers
                    .iter()
                    .map(|server| server.host.clone())
                    .collect(),
                created.clone(),
            ),
            _ => (BTreeSet::new(), String::new()),
        };
        let concerned = self.claims.set(id, &created, hosts);
        self.dirty.extend(concerned);
        outcome.map(|(resolved, _)| resolved)
    }

    /// Decides a resolved Gslb, or forgets one that is gone.
    pub(super) fn settle_gslb(&mut self, id: &GslbId, resolved: Option<Resolved>, now: Timestamp) {
        self.n_decisions += 1;
        let before = self.decisions.remove(id);
        if let Some(at) = before.as_ref().and_then(|before| before.again_at) {
            self.due.remove(&(at, id.clone()));
        }
        self.dirty_endpoints.insert(id.key.clone());
        let (Some(resolved), Some(gslb)) = (resolved, self.world.gslbs.get(id).cloned()) else {
            return self.forget(id, before);
        };
        for (host, family, observation) in decide::own_looks(&self.world, &resolved, now) {
            let own = self.config.geo_tag.clone();
            self.view.note(&host, &own, family, observation);
        }
        let ctx = context(&self.config, &self.view, &self.lookups, now);
        let taken = self.claims.taken(id);
        let decision = decide::decide(&self.world, resolved, &taken, ctx);
        self.world.set_reads(id, decision.resolved.reads.clone());
        self.want(
            Wanter::Gslb(id.clone()),
            decision.resolved.hostnames.clone(),
        );
        self.follow(before.as_deref(), &decision);
        self.publish_decision(id, &decision);
        if let Some(at) = decision.again_at {
            self.due.insert((at, id.clone()));
        }
        let owner = owner_reference(id, &gslb.uid);
        let existing = self.world.ingresses.get(&id.key);
        if let Some(object) = ingress::embedded(&id.key, &gslb, &owner, existing) {
            self.write(Target::Ingress(id.key.clone()), Action::Apply(object));
        }
        if !decision.is_waiting() {
            self.write_endpoint(id, &owner, &decision);
            self.write_status(id, &gslb, &decision, now);
        }
        let decision = Arc::new(decision);
        if before.as_ref() != Some(&decision) {
            self.effects.push(Effect::Decided {
                id: id.clone(),
                decision: Some(decision.clone()),
            });
        }
        self.decisions.insert(id.clone(), decision);
    }

    fn forget(&mut self, id: &GslbId, before: Option<Arc<Decision>>) {
        self.world.set_reads(id, BTreeSet::new());
        self.want(Wanter::Gslb(id.clone()), BTreeSet::new());
        self.sent.remove(&status_target(id));
        let changes = self
            .book
            .set(&Source::Decision(id.clone()), BTreeMap::new());
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
                let zone = decided.zone.clone();
                self.effects.push(Effect::Watch {
                    host: host.clone(),
                    zone,
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
                self.effects.push(Effect::Unwatch { host: host.clone() });
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
        let mut wanted = BTreeMap::new();
        let mut keep = Vec::new();
        if let Some(rules) = &decision.resolved.rules {
            for (host, decided) in &decision.hosts {
                if let Some(entry) = publish::entry_of_local(&decided.records.local, rules) {
                    for name in names::local_targets(host).asked() {
                        wanted.insert(name.to_owned(), entry.clone());
                    }
                }
                if let Some(sight) = &decided.sight {
                    wanted.insert(sight::name(host), publish::entry_of_sight(sight));
                }
                let source = Source::Decision(id.clone());
                let stale = self
                    .book
                    .entry(&source, host)
                    .is_some_and(|entry| decided.is_stale(entry, &decision.resolved.addresses));
                if decided.waiting && !stale {
                    keep.push(host.clone());
                } else {
                    let mut entry =
                        publish::entry_of_host(&decided.records, rules).unwrap_or_default();
                    let answered =
                        |family| !endpoints::targets_of(&decided.records, family).is_empty();
                    entry.why = publish::why_of(&decided.why, answered);
                    if entry != Entry::default() {
                        wanted.insert(host.clone(), entry);
                    }
                }
            }
        }
        let changes = self
            .book
            .set_keeping(&Source::Decision(id.clone()), wanted, keep);
        self.changes.extend(changes);
    }

    fn write_endpoint(&mut self, id: &GslbId, owner: &Value, decision: &Decision) {
        let records = decision
            .hosts
            .iter()
            .map(|(host, d)| (host.clone(), d.records.clone()))
            .collect();
        let spec = match &decision.resolved.rules {
            Some(rules) => endpoints::application(&records, rules),
            None => flotilla_api::DnsEndpointSpec::default(),
        };
        let existing = self.world.endpoints.get(&id.key);
        if existing.is_none() && spec.endpoints.is_empty() {
            return;
        }
        let object = endpoints::application_object(&id.key, owner.clone(), &spec);
        if existing.is_some_and(|existing| is_written(existing, &object, &spec)) {
            return;
        }
        self.write(Target::Endpoint(id.key.clone()), Action::Apply(object));
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
            for problem in decision.resolved.problems.iter().take(EVENTS_MAX) {
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

/// Whether the API server has what we want to write.
fn is_written(
    existing: &EndpointView,
    object: &Value,
    spec: &flotilla_api::DnsEndpointSpec,
) -> bool {
    existing.spec == *spec && is_marked(existing, object)
}

/// Whether a DNSEndpoint is the one that we sent.
pub(super) fn is_echo(existing: &EndpointView, object: &Value) -> bool {
    is_marked(existing, object) && json!(existing.spec) == object["spec"]
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
