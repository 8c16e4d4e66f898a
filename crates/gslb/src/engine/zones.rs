//! The engine's part about zones.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use flotilla_api::ZoneDelegationStatus;
use flotilla_dns::{catalog, name::Name, zone::hourly_serial};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Action, Effect, Engine, Target, Wanter};
use crate::{
    endpoints,
    expose::Lookup,
    key::Key,
    kinds::Kind,
    names, status,
    world::Dep,
    zone_plan::{self, Plan},
    zones::Zone,
};

impl Engine {
    /// Plans every zone again: there are few of them, and they depend on each other's servers rarely enough.
    pub(super) fn settle_zones(&mut self, now: Timestamp) {
        for setting in self.config.zones.clone() {
            let name = names::zone_object(&setting.zone);
            let existing = self.world.zones.get(&name);
            if existing.is_some_and(|zone| zone.deleting) {
                continue;
            }
            match zone_plan::generated(&setting, existing) {
                Some(object) => self.write(Target::Zone(name), Action::Apply(object)),
                None => {
                    self.sent.remove(&Target::Zone(name));
                }
            }
        }
        let (own, hostnames) = zone_plan::own_dns(&self.world, &self.config, &self.lookups);
        self.want(Wanter::OwnDns, hostnames);
        let zones: Vec<Zone> = self.world.zones.values().cloned().collect();
        self.tell_zones(&zones);
        let mut settings = BTreeMap::new();
        let mut plans = BTreeMap::new();
        for zone in &zones {
            let written = self
                .world
                .endpoints
                .get(&Key::new(
                    &self.config.namespace,
                    names::delegation_object(&zone.zone),
                ))
                .map(|view| view.spec.unpack());
            let plan = zone_plan::plan(zone, &self.config, &own, &self.lookups, written.as_ref());
            let unix = u64::try_from(now.as_second()).unwrap_or_default();
            // The serial is the one of the hour in which the servers changed last.
            let unchanged = self
                .plans
                .get(&zone.object)
                .is_some_and(|p| p.servers == plan.servers);
            let serial = match self.book.serial(&zone.zone) {
                Some(serial) if unchanged => serial,
                _ => hourly_serial(unix),
            };
            if plan.served
                && let Some(found) = zone_plan::settings(zone, &plan.servers, serial)
            {
                settings.insert(zone.zone.clone(), found);
            }
            self.settle_zone(zone, &plan, &own, now);
            plans.insert(zone.object.clone(), plan);
        }
        for gone in self
            .plans
            .keys()
            .filter(|name| !plans.contains_key(*name))
            .cloned()
            .collect::<Vec<_>>()
        {
            self.want(Wanter::Zone(gone), BTreeSet::new());
        }
        self.plans = plans;
        let changes = self.book.set_zones(settings);
        self.changes.extend(changes);
        self.tell_peers(&zones);
    }

    /// Tells the DNS server once which zones there are: it may remember some from before a restart that were deleted since. While
    /// the kind is unknown, as for a moment after an API server's start, that says nothing.
    fn tell_zones(&mut self, zones: &[Zone]) {
        if self.told_zones || !self.world.is_listed(Kind::ZoneDelegation) {
            return;
        }
        self.told_zones = true;
        let made = zones.iter().map(|zone| &zone.zone);
        let to_make = self.config.zones.iter().map(|setting| &setting.zone);
        let names = made
            .chain(to_make)
            .filter_map(|zone| Name::parse(zone).ok());
        let change = catalog::Change::RetainZones(names.collect());
        self.changes.push(change);
    }

    fn settle_zone(&mut self, zone: &Zone, plan: &Plan, own: &[IpAddr], now: Timestamp) {
        let name = zone.object.clone();
        self.want(Wanter::Zone(name.clone()), plan.lookups.clone());
        if plan.finalizer != zone.has_finalizer {
            self.write(
                Target::ZoneFinalizer(name.clone()),
                Action::Finalizer(plan.finalizer),
            );
        } else {
            self.sent.remove(&Target::ZoneFinalizer(name.clone()));
        }
        let pushed: Vec<String> = {
            let (prefix, own) = (&self.config.prefix, &self.config.geo_tag);
            let peers: BTreeSet<&str> = zone.peers(prefix, own).map(|(tag, _)| tag).collect();
            let tags = self.pushed.get(&zone.zone).into_iter().flatten();
            tags.filter(|tag| peers.contains(tag.as_str()))
                .cloned()
                .collect()
        };
        let is_other = plan.servers != zone.servers || pushed != zone.pushed;
        if (plan.finalizer || !zone.deleting) && is_other {
            let mut conditions = vec![status::ready(&plan.problems, &[], None, now)];
            // Where nobody ever pushed, nothing is said about it.
            if !(pushed.is_empty() && zone.pushed.is_empty()) {
                conditions.push(status::pushed(&pushed, now));
            }
            let status = ZoneDelegationStatus {
                conditions,
                dns_servers: plan.servers.clone(),
            };
            self.write(Target::ZoneStatus(name), Action::Status(json!(status)));
        } else {
            self.sent.remove(&Target::ZoneStatus(name));
        }
        if let Some(object) = &plan.delegation {
            self.write_delegation(zone, object);
        }
        self.update(zone, plan, own);
    }

    fn write_delegation(&mut self, zone: &Zone, object: &Value) {
        let key = Key::new(&self.config.namespace, names::delegation_object(&zone.zone));
        let existing = self.world.endpoints.get(&key);
        match (existing, object) {
            (None, Value::Null) => {}
            (Some(_), Value::Null) => self.write(Target::Endpoint(key), Action::Delete),
            (Some(existing), object)
                if json!(existing.spec.unpack()) == object["spec"]
                    && existing
                        .labels
                        .get(endpoints::DNS_TYPE)
                        .is_some_and(|v| v == "extdns") => {}
            _ => self.write(Target::Endpoint(key), Action::Apply(object.clone())),
        }
    }

    /// Asks for a dynamic update when the parent zone does not say what it should about us.
    fn update(&mut self, zone: &Zone, plan: &Plan, own: &[IpAddr]) {
        let Some(present) = plan.update else { return };
        let wanted: Vec<IpAddr> = if present { own.to_vec() } else { Vec::new() };
        if present && wanted.is_empty() {
            return;
        }
        let said = match self.lookups.get(&plan.own_name) {
            Some(Lookup::Addresses(found)) => Some(found.iter().copied().collect::<BTreeSet<_>>()),
            _ => None,
        };
        let right = said == Some(wanted.iter().copied().collect());
        let asked = self.updates.get(&zone.zone) == Some(&(present, wanted.clone()));
        if right || asked {
            return;
        }
        self.updates
            .insert(zone.zone.clone(), (present, wanted.clone()));
        // What was looked up before says nothing about what stands there after the change.
        self.lookups.remove(&plan.own_name);
        self.effects.push(Effect::Update {
            zone: zone.zone.clone(),
            parent: zone.parent.clone(),
            own_name: plan.own_name.clone(),
            addresses: wanted,
        });
    }

    /// A new look at one of our own name servers that shows something else than we asked for allows another update;
    /// tells whether it does.
    pub(super) fn allow_update(&mut self, name: &str, lookup: &Lookup) -> bool {
        let Lookup::Addresses(found) = lookup else {
            return false;
        };
        let found: BTreeSet<&IpAddr> = found.iter().collect();
        let owners = self.plans.iter().filter(|(_, plan)| plan.own_name == name);
        let zones: Vec<String> = owners
            .filter_map(|(object, _)| self.world.zones.get(object).map(|zone| zone.zone.clone()))
            .collect();
        let mut allowed = false;
        for zone in zones {
            let asked = self
                .updates
                .get(&zone)
                .map(|(_, addresses)| addresses.iter().collect());
            if asked.is_some_and(|asked: BTreeSet<&IpAddr>| asked != found) {
                self.updates.remove(&zone);
                allowed = true;
            }
        }
        allowed
    }

    /// Tells the shell whom to ask, when that changed, and decides the Gslbs again that depend on it.
    fn tell_peers(&mut self, zones: &[Zone]) {
        let mut peers: BTreeMap<String, BTreeMap<String, Vec<IpAddr>>> = BTreeMap::new();
        for zone in zones.iter().filter(|zone| !zone.deleting) {
            let by_tag = peers.entry(zone.zone.clone()).or_default();
            for (tag, address) in zone.peers(&self.config.prefix, &self.config.geo_tag) {
                if let Ok(ip) = address.parse() {
                    by_tag.entry(tag.to_owned()).or_default().push(ip);
                }
            }
        }
        if peers == self.peers {
            return;
        }
        let mut changed = BTreeSet::new();
        for (zone, by_tag) in &peers {
            if self.peers.get(zone) != Some(by_tag) {
                changed.insert(zone.clone());
                let effect = Effect::Peers {
                    zone: zone.clone(),
                    peers: by_tag.clone(),
                };
                self.effects.push(effect);
            }
        }
        for zone in self.peers.keys().filter(|zone| !peers.contains_key(*zone)) {
            changed.insert(zone.clone());
            let effect = Effect::Peers {
                zone: zone.clone(),
                peers: BTreeMap::new(),
            };
            self.effects.push(effect);
        }
        self.peers = peers;
        for zone in changed {
            let zone = Dep::Zone(zone);
            self.dirty.extend(self.world.readers(&zone).cloned());
        }
    }
}
