//! The engine's part about Gslbs of the legacy group that move to the current one.

use super::{
    Action, Effect, Engine, Target,
    effect::Importance,
    gslbs::{object_reference, owner_reference},
};
use crate::{
    key::Key,
    kinds::Kind,
    migrate::{self, Facts, Phase, Step},
    world::GslbId,
};

/// Who reports the events, as k8gb calls it.
const REPORTER: &str = "legacy-gslb-migrator";

impl Engine {
    /// A legacy Gslb may have to move when it, its copy or what it owns changes; and whether it is carried out depends on
    /// its copy.
    pub(super) fn follow_legacy(&mut self, kind: Kind, key: &Key) {
        let id = legacy_id(key);
        if kind == Kind::LegacyGslb || self.world.gslbs.contains_key(&id) {
            if kind == Kind::Gslb {
                self.dirty.insert(id);
            }
            self.dirty_legacy.insert(key.clone());
        }
    }

    /// Whether a Gslb decides what its hosts are answered with; all but legacy ones that moved do.
    pub(super) fn is_carried_out(&self, id: &GslbId) -> bool {
        let legacy = self.world.gslbs.get(id).filter(|_| id.legacy);
        legacy.is_none_or(|legacy| {
            migrate::is_carried_out(legacy, self.world.gslb(&canonical_id(&id.key)))
        })
    }

    /// Does what can be done about a legacy Gslb, and says what became of it.
    pub(super) fn settle_legacy(&mut self, key: &Key) {
        let Some(legacy) = self.world.gslb(&legacy_id(key)) else {
            self.legacy_phases.remove(key);
            return;
        };
        let canonical = self.world.gslb(&canonical_id(key));
        let phase = migrate::phase(legacy, canonical);
        let facts = Facts {
            legacy,
            canonical,
            ingress: self.world.ingresses.get(key),
            endpoint: self.world.endpoints.get(key),
        };
        let steps = migrate::steps(key, facts);
        let uid = legacy.uid.clone();
        let copied = canonical.is_some();
        let owner = canonical.map(|it| owner_reference(&canonical_id(key), &it.uid));
        if self.legacy_phases.insert(key.clone(), phase) != Some(phase) {
            self.say_phase(key, &uid, phase, copied);
        }
        for step in steps {
            let detach = |to| Action::Detach {
                uid: uid.clone(),
                to,
            };
            let (target, action) = match step {
                Step::Protect => (Target::Legacy(key.clone()), Action::Finalizer(true)),
                Step::Release => (Target::Legacy(key.clone()), Action::Finalizer(false)),
                Step::Create(object) => (Target::Gslb(key.clone()), Action::Create(object)),
                Step::DetachIngress => (Target::IngressOwners(key.clone()), detach(None)),
                Step::DetachEndpoint => {
                    (Target::EndpointOwners(key.clone()), detach(owner.clone()))
                }
                Step::Mark => {
                    let message =
                        "moved to k8gb.io; delete this object when its users know the new one";
                    self.say(key, &uid, Importance::Normal, "LegacyMigrated", message);
                    (Target::Legacy(key.clone()), Action::Mark)
                }
            };
            self.write(target, action);
        }
    }

    fn say_phase(&mut self, key: &Key, uid: &str, phase: Phase, copied: bool) {
        let (reason, message) = match phase {
            Phase::Active => (
                "LegacyDeprecated",
                "k8gb.absa.oss is an old group; the label k8gb.io/migration-requested: \"true\" moves this object to k8gb.io",
            ),
            Phase::Ignored => (
                "LegacyIgnored",
                "the Gslb of the same name in k8gb.io counts; this object is ignored",
            ),
            Phase::Requested if copied => (
                "LegacyIgnored",
                "the Gslb of the same name in k8gb.io exists already and is left as it is; this object is ignored",
            ),
            Phase::Migrated => (
                "LegacyIgnored",
                "this object has moved and is ignored; change the Gslb of the same name in k8gb.io",
            ),
            Phase::Requested | Phase::Leaving => return,
        };
        self.say(key, uid, Importance::Warning, reason, message);
    }

    fn say(
        &mut self,
        key: &Key,
        uid: &str,
        importance: Importance,
        reason: &'static str,
        message: &str,
    ) {
        self.effects.push(Effect::Say {
            regarding: object_reference(&legacy_id(key), uid),
            importance,
            reporter: REPORTER,
            reason,
            message: message.to_owned(),
        });
    }
}

fn legacy_id(key: &Key) -> GslbId {
    GslbId {
        legacy: true,
        key: key.clone(),
    }
}

fn canonical_id(key: &Key) -> GslbId {
    GslbId {
        legacy: false,
        key: key.clone(),
    }
}
