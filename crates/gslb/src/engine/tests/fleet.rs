//! Clusters made of an engine, a small object store and a DNS table, linked by a simulated network.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use flotilla_dns::{
    catalog::{Catalog, Change as DnsChange},
    name::Name,
    record::Data,
    snapshot,
    zone::{Entry, Zone},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    config::Config,
    decide::Asking,
    engine::{Action, Effect, Engine, Input, Said, Target},
    expose::Lookup,
    key::Key,
    kinds::Kind,
    names,
    sight::{self, Sight, Sighting},
    view::{Answer, Family, Observation},
    world::Change,
};

pub(super) const ZONE: &str = "cloud.example.com";
pub(super) const PARENT: &str = "example.com";
pub(super) const HOST: &str = "app.cloud.example.com";
/// How long a question waits for its answer.
pub(super) const TIMEOUT_MS: i64 = 2_000;
/// Time between reports to the API server, where they come later than answers.
const REPORT_MS: i64 = 900;
/// The lists of one start come within so long, in any order.
const LISTS_MS: u64 = 300;
/// Time between two looks at whether the snapshot on disk is outdated.
const SAVE_MS: i64 = 130;

/// The settings of a cluster in the fleet `tags`.
pub(super) fn config(tag: &str, tags: &[&str], poll_seconds: u64) -> Config {
    let n = tags.iter().position(|t| *t == tag).unwrap() + 1;
    let env: BTreeMap<&str, String> = [
        ("CLUSTER_GEO_TAG", tag.to_owned()),
        ("EXT_GSLB_CLUSTERS_GEO_TAGS", tags.join(",")),
        ("DNS_ZONES", format!("{PARENT}:{ZONE}:30")),
        ("EDGE_DNS_SERVERS", "127.1.0.1:1053".into()),
        ("RECONCILE_REQUEUE_SECONDS", poll_seconds.to_string()),
        ("FLOTILLA_UPDATE_SERVER", "127.1.0.1:1053".into()),
        ("FLOTILLA_UPDATE_KEY_NAME", "fleet".into()),
        ("FLOTILLA_UPDATE_KEY_SECRET", "c2VjcmV0".into()),
    ]
    .into();
    let mut config = Config::parse(&|name| env.get(name).cloned())
        .unwrap()
        .config;
    config.own_dns = vec![[127, 1, u8::try_from(n).unwrap(), 1].into()];
    config
}

/// One cluster.
pub(super) struct Cluster {
    pub(super) tag: String,
    pub(super) engine: Engine,
    pub(super) objects: BTreeMap<(Kind, Key), Value>,
    /// What its DNS server answers with.
    dns: Catalog,
    /// The snapshot on its disk, and whether it is outdated.
    disk: Option<Vec<u8>>,
    dirty: bool,
    /// What it answered with when its process started.
    recalled: Catalog,
    /// The kinds whose objects it has been told; all but for a while after a start without an API server.
    listed: BTreeSet<Kind>,
    pub(super) hosts: BTreeMap<String, String>,
    pub(super) peers: BTreeMap<String, BTreeMap<String, Vec<IpAddr>>>,
    pub(super) names: BTreeSet<String>,
    /// Hosts about which the peers are asked whom they see.
    pub(super) asking: BTreeMap<String, Asking>,
    pub(super) warnings: Vec<String>,
    /// Names whose records were taken away.
    pub(super) withdrawn: BTreeSet<String>,
    pub(super) updates: Vec<(String, Vec<IpAddr>)>,
    /// Writes to the object store so far.
    pub(super) n_writes: usize,
    /// Decisions that differed from the ones before.
    pub(super) n_decided: usize,
    /// Publications, and changes in them.
    pub(super) n_published: (usize, usize),
    n_objects: u64,
    /// Whether decisions are told to the API server only by [`Cluster::report`], as the shell does it when things are quiet.
    pub(super) reports_later: bool,
    /// Whether answers changed since somebody looked.
    changed: bool,
}

impl Cluster {
    pub(super) fn new(config: Config) -> Cluster {
        Cluster {
            tag: config.geo_tag.clone(),
            engine: Engine::new(config),
            objects: BTreeMap::new(),
            dns: Catalog::default(),
            disk: None,
            dirty: false,
            recalled: Catalog::default(),
            listed: BTreeSet::new(),
            hosts: BTreeMap::new(),
            peers: BTreeMap::new(),
            names: BTreeSet::new(),
            asking: BTreeMap::new(),
            warnings: Vec::new(),
            withdrawn: BTreeSet::new(),
            updates: Vec::new(),
            n_writes: 0,
            n_decided: 0,
            n_published: (0, 0),
            n_objects: 0,
            reports_later: false,
            changed: false,
        }
    }

    /// Lists every kind, as watches do when they start.
    pub(super) fn start(&mut self, now: Timestamp) {
        Kind::ALL.into_iter().for_each(|kind| self.list(kind));
        self.settle(now);
    }

    /// Lists one kind.
    fn list(&mut self, kind: Kind) {
        self.listed.insert(kind);
        let objects = self
            .objects
            .iter()
            .filter(|((k, _), _)| *k == kind)
            .map(|(_, o)| o.clone());
        let listed = Change::Listed(objects.collect());
        self.engine.take(Input::Watch(kind, listed));
    }

    /// Whether its process does not know all objects yet.
    pub(super) fn is_blind(&self) -> bool {
        self.listed.len() < Kind::ALL.len()
    }

    /// Puts an object as a user would and lets the engine see it.
    pub(super) fn put(&mut self, kind: Kind, mut object: Value, now: Timestamp) {
        self.n_objects += 1;
        let metadata = &mut object["metadata"];
        let key = Key::new(
            metadata["namespace"].as_str().unwrap_or_default(),
            metadata["name"].as_str().unwrap(),
        );
        if metadata["uid"].is_null() {
            metadata["uid"] = json!(format!("uid-{}-{key}", kind.home().plural));
        }
        if metadata["creationTimestamp"].is_null() {
            metadata["creationTimestamp"] =
                json!(format!("2026-01-01T00:00:{:02}Z", self.n_objects % 60));
        }
        self.objects.insert((kind, key), object.clone());
        if self.listed.contains(&kind) {
            self.engine.take(Input::Watch(kind, Change::Put(object)));
            self.settle(now);
        }
    }

    pub(super) fn delete(&mut self, kind: Kind, key: &Key, now: Timestamp) {
        self.objects.remove(&(kind, key.clone()));
        self.engine
            .take(Input::Watch(kind, Change::Gone(key.clone())));
        self.settle(now);
    }

    pub(super) fn answer(
        &mut self,
        host: &str,
        tag: &str,
        family: Family,
        answer: Answer,
        now: Timestamp,
    ) {
        let observation = Observation {
            answer,
            at: now,
            server: None,
        };
        let said = Said {
            host: host.into(),
            family,
            observation,
        };
        self.engine.take(Input::Answers {
            tag: tag.to_owned(),
            said: vec![said],
        });
        self.settle(now);
    }

    pub(super) fn lookup(&mut self, name: &str, lookup: Lookup, now: Timestamp) {
        self.engine.take(Input::Lookup {
            name: name.to_owned(),
            lookup,
        });
        self.settle(now);
    }

    /// Settles and carries out effects until nothing follows.
    pub(super) fn settle(&mut self, now: Timestamp) {
        for _ in 0..50 {
            let mut effects = self.engine.settle(now);
            while !self.reports_later && !self.engine.is_reported() {
                effects.extend(self.engine.report(now));
            }
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.carry_out(effect);
            }
        }
        panic!("the engine of {} does not come to rest", self.tag);
    }

    /// Tells what was decided, but no more than this many effects of it: what a process does that is killed then.
    pub(super) fn report(&mut self, n_effects_max: usize, now: Timestamp) {
        let mut n_left = n_effects_max;
        while !self.engine.is_reported() {
            for effect in self.engine.report(now) {
                if n_left == 0 {
                    return;
                }
                n_left -= 1;
                self.carry_out(effect);
            }
        }
        self.settle(now);
    }

    /// Writes the snapshot when it is outdated.
    fn save(&mut self, now: Timestamp) {
        if std::mem::take(&mut self.dirty) {
            let file = snapshot::encode(&self.dns, unix_seconds(now)).unwrap();
            self.disk = Some(file);
        }
    }

    /// The DNS server starts with what is on disk.
    fn recall(&mut self) {
        if let Some(file) = &self.disk {
            let zones = snapshot::decode(file).unwrap();
            self.dns = self.dns.with_zones(zones);
            self.recalled = self.dns.clone();
            let engine = Engine::new(self.engine.config().clone());
            self.engine = engine.recalling(self.recalled.clone().into());
        }
    }

    /// The process dies: what it knew, answered and had not written is gone; what it wrote is not.
    fn die(&mut self) {
        let mut next = Cluster::new(self.engine.config().clone());
        next.objects = std::mem::take(&mut self.objects);
        next.n_objects = self.n_objects;
        next.reports_later = self.reports_later;
        next.disk = self.disk.take();
        next.changed = true;
        *self = next;
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Publish(changes) => {
                self.changed = true;
                self.n_published.0 += 1;
                self.n_published.1 += changes.len();
                self.publish(changes);
            }
            Effect::Write(target, action) => self.write(&target, action),
            Effect::Say {
                reason, message, ..
            } => self.warnings.push(format!("{reason} {message}")),
            Effect::Watch { host, zone } => {
                self.hosts.insert(host, zone);
            }
            Effect::Unwatch { host } => {
                self.hosts.remove(&host);
            }
            Effect::AskSights { host, asking, .. } => {
                if asking == Asking::No {
                    self.asking.remove(&host);
                } else {
                    self.asking.insert(host, asking);
                }
            }
            Effect::Peers { zone, peers } => {
                self.peers.insert(zone, peers);
            }
            Effect::Resolve { name, .. } => {
                self.names.insert(name);
            }
            Effect::Forget { name } => {
                self.names.remove(&name);
            }
            Effect::Update {
                own_name,
                addresses,
                ..
            } => self.updates.push((own_name, addresses)),
            Effect::Decided { .. } => self.n_decided += 1,
        }
    }

    fn publish(&mut self, changes: Vec<DnsChange>) {
        for change in &changes {
            match change {
                // An entry without records only says why there are none.
                DnsChange::Set { name, entry, .. } if entry.sets.is_empty() => {
                    self.withdrawn.insert(name.to_string());
                }
                DnsChange::Remove { name, .. } => {
                    self.withdrawn.insert(name.to_string());
                }
                _ => {}
            }
        }
        self.dns = self.dns.with(changes).0;
        self.dirty = true;
    }

    fn write(&mut self, target: &Target, action: Action) {
        self.n_writes += 1;
        let at = target.object();
        let mut object = self.objects.get(&at).cloned().unwrap_or(Value::Null);
        match action {
            Action::Apply(wanted) if object.is_null() => {
                object = wanted;
                object["metadata"]["uid"] = json!(format!("uid-{}", at.1));
                object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:59Z");
            }
            Action::Apply(wanted) => {
                object["spec"] = wanted["spec"].clone();
                for part in ["labels", "annotations", "ownerReferences"] {
                    object["metadata"][part] = wanted["metadata"][part].clone();
                }
            }
            // One that is gone meanwhile stays so.
            Action::Respec(_) if object.is_null() => return,
            Action::Respec(wanted) => object["spec"] = wanted["spec"].clone(),
            Action::Delete => {
                self.objects.remove(&at);
                return self.engine.take(Input::Watch(at.0, Change::Gone(at.1)));
            }
            Action::Create(wanted) => {
                if object.is_null() {
                    object = wanted;
                    object["metadata"]["uid"] = json!(format!("uid-new-{}", at.1));
                    object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:59Z");
                }
            }
            Action::Mark => {
                object["metadata"]["labels"]["k8gb.io/migrated-to-k8gb-io"] = json!("true");
            }
            Action::Detach { uid, to } => {
                let owners = object["metadata"]["ownerReferences"].as_array_mut();
                let owners = owners.expect("an object with owners");
                owners.retain(|owner| owner["uid"] != uid.as_str());
                owners.extend(to.filter(|_| owners.is_empty()));
            }
            Action::Finalizer(true) if matches!(target, Target::Legacy(_)) => {
                object["metadata"]["finalizers"] = json!(["k8gb.io/legacy-migration-protection"]);
            }
            Action::Status(status) => object["status"] = status,
            Action::Finalizer(true) => {
                object["metadata"]["finalizers"] = json!(["k8gb.io/finalizer"]);
            }
            Action::Finalizer(false) => {
                object["metadata"]["finalizers"] = json!([]);
                if !object["metadata"]["deletionTimestamp"].is_null() {
                    self.objects.remove(&at);
                    return self.engine.take(Input::Watch(at.0, Change::Gone(at.1)));
                }
            }
        }
        self.objects.insert(at.clone(), object.clone());
        self.engine.take(Input::Watch(at.0, Change::Put(object)));
    }

    /// What this cluster's DNS server has at a name, if there are records.
    pub(super) fn record(&self, name: &str) -> Option<Entry> {
        record(&self.dns, name)
    }

    /// What it had there when its process started.
    pub(super) fn recalled(&self, name: &str) -> Option<Entry> {
        record(&self.recalled, name)
    }

    /// A zone that this cluster's DNS server has.
    pub(super) fn zone(&self, apex: &str) -> Option<&Zone> {
        self.dns.zone(&Name::parse(apex).unwrap())
    }

    /// The addresses this cluster's DNS server has for a name.
    pub(super) fn addresses(&self, name: &str, family: Family) -> Vec<IpAddr> {
        let entry = self.record(name).unwrap_or_default();
        let data = entry.sets.iter().flat_map(|set| &set.data);
        let mut ips: Vec<IpAddr> = data
            .filter_map(|data| match data {
                Data::A(ip) => Some(IpAddr::V4(*ip)),
                Data::Aaaa(ip) => Some(IpAddr::V6(*ip)),
                _ => None,
            })
            .filter(|ip| Family::of(ip) == family)
            .collect();
        ips.sort();
        ips
    }

    /// What this cluster's DNS server says about whom it sees.
    pub(super) fn sight(&self, host: &str) -> Sighting {
        let text = self.record(&sight::name(host)).and_then(|entry| {
            match entry.sets.first()?.data.first()? {
                Data::Txt(parts) => String::from_utf8(parts.concat()).ok(),
                _ => None,
            }
        });
        let sight = text.and_then(|text| Sight::parse(&text));
        sight.map_or(Sighting::NotKept, Sighting::Said)
    }

    /// The IPv4 addresses of a host, as text.
    pub(super) fn dig(&self, name: &str) -> String {
        let ips = self.addresses(name, Family::V4);
        ips.iter()
            .map(IpAddr::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    }

    pub(super) fn status(&self, key: &Key) -> &Value {
        &self.objects[&(Kind::Gslb, key.clone())]["status"]
    }
}

fn record(dns: &Catalog, name: &str) -> Option<Entry> {
    let name = Name::parse(name).unwrap();
    let mut zones = dns.zones().into_iter();
    let entry = zones.find_map(|zone| zone.entry(&name));
    entry.filter(|entry| !entry.sets.is_empty())
}

fn unix_seconds(now: Timestamp) -> u64 {
    now.as_second().try_into().unwrap()
}

/// The objects of an application: Service, slice, Ingress with an address.
pub(super) fn application(cluster: &mut Cluster, address: &str, ready: bool, now: Timestamp) {
    cluster.put(
        Kind::Service,
        json!({"metadata": {"namespace": "test", "name": "app"}, "spec": {"type": "ClusterIP"}}),
        now,
    );
    set_ready(cluster, ready, now);
    cluster.put(
        Kind::Ingress,
        json!({
            "metadata": {"namespace": "test", "name": "app"},
            "spec": {"rules": [{"host": HOST, "http": {"paths": [
                {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "app"}}}]}}]},
            "status": {"loadBalancer": {"ingress": [{"ip": address}]}},
        }),
        now,
    );
}

pub(super) fn set_ready(cluster: &mut Cluster, ready: bool, now: Timestamp) {
    cluster.put(
        Kind::EndpointSlice,
        json!({
            "metadata": {"namespace": "test", "name": "app-1",
                "labels": {"kubernetes.io/service-name": "app"}},
            "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": ready}}],
        }),
        now,
    );
}

pub(super) fn gslb(strategy: Value) -> Value {
    json!({
        "metadata": {"namespace": "test", "name": "app", "generation": 1},
        "spec": {
            "resourceRef": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "app"},
            "strategy": strategy,
        },
    })
}

/// A fleet, the network between its clusters, and the edge server.
pub(super) struct Fleet {
    pub(super) now: Timestamp,
    pub(super) clusters: BTreeMap<String, Cluster>,
    /// One-way cuts: packets from the first to the second are lost. The edge is called `edge`.
    pub(super) cuts: BTreeSet<(String, String)>,
    pub(super) delay_ms: i64,
    /// Glue and NS as the edge server knows them.
    pub(super) edge: BTreeMap<String, Vec<IpAddr>>,
    poll_ms: i64,
    queue: BTreeMap<(Timestamp, u64), Happening>,
    sequence: u64,
    /// Chance in 256 that a question or its answer is lost; the generator's state is beside it.
    pub(super) loss: u8,
    pub(super) entropy: u64,
    /// Clusters that do not run, and when the others were started last.
    pub(super) down: BTreeSet<String>,
    pub(super) started: BTreeMap<String, Timestamp>,
    /// How many were killed with decisions that they answered by and had not written.
    pub(super) n_killed_in_between: usize,
    /// Clusters that answer as k8gb does: IPv4 only, one name for local targets, no view.
    pub(super) k8gb: BTreeSet<String>,
}

enum Happening {
    Poll {
        cluster: String,
    },
    Answer {
        cluster: String,
        host: String,
        tag: String,
        family: Family,
        answer: Answer,
    },
    Edge {
        cluster: String,
    },
    /// Time to ask the peers whom they see; urgent or not.
    Sights {
        cluster: String,
        asking: Asking,
    },
    Sighted {
        cluster: String,
        host: String,
        tag: String,
        sighting: Sighting,
    },
    Looked {
        cluster: String,
        name: String,
        lookup: Lookup,
    },
    /// Time to tell the API server what was decided.
    Report {
        cluster: String,
    },
    /// Time to write the snapshot.
    Save {
        cluster: String,
    },
    /// The process starts; its API server is there after a while.
    Start {
        cluster: String,
        away_ms: i64,
    },
    /// A watch of a process that started has its first list.
    Listed {
        cluster: String,
        kind: Kind,
    },
}

impl Happening {
    /// Whether it is on its way to the process of a cluster, and lost with it.
    fn is_on_its_way_to(&self, tag: &str) -> bool {
        matches!(self,
            Happening::Answer { cluster, .. }
            | Happening::Sighted { cluster, .. }
            | Happening::Looked { cluster, .. } if cluster == tag)
    }
}

impl Fleet {
    pub(super) fn new(tags: &[&str], poll_seconds: u64) -> Fleet {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let clusters = tags
            .iter()
            .map(|tag| {
                (
                    (*tag).to_owned(),
                    Cluster::new(config(tag, tags, poll_seconds)),
                )
            })
            .collect();
        let mut fleet = Fleet {
            now,
            clusters,
            cuts: BTreeSet::new(),
            delay_ms: 5,
            edge: BTreeMap::new(),
            poll_ms: i64::try_from(poll_seconds).unwrap() * 1000,
            queue: BTreeMap::new(),
            sequence: 0,
            loss: 0,
            entropy: 1,
            down: BTreeSet::new(),
            started: BTreeMap::new(),
            n_killed_in_between: 0,
            k8gb: BTreeSet::new(),
        };
        for (index, tag) in tags.iter().enumerate() {
            fleet.clusters.get_mut(*tag).unwrap().start(now);
            let offset = i64::try_from(index).unwrap() * 37;
            fleet.at(
                offset,
                Happening::Poll {
                    cluster: (*tag).to_owned(),
                },
            );
            for asking in [Asking::Calmly, Asking::Urgently] {
                let cluster = (*tag).to_owned();
                fleet.at(offset + 2, Happening::Sights { cluster, asking });
            }
            fleet.at(
                offset + 1,
                Happening::Edge {
                    cluster: (*tag).to_owned(),
                },
            );
        }
        fleet
    }

    fn at(&mut self, delay_ms: i64, happening: Happening) {
        self.sequence += 1;
        let at = self.now + SignedDuration::from_millis(delay_ms);
        self.queue.insert((at, self.sequence), happening);
    }

    fn random(&mut self) -> u64 {
        // xorshift64: enough for losing packets.
        self.entropy ^= self.entropy << 13;
        self.entropy ^= self.entropy >> 7;
        self.entropy ^= self.entropy << 17;
        self.entropy
    }

    fn reaches(&mut self, from: &str, to: &str) -> bool {
        let lost = (self.random() & 0xff) < u64::from(self.loss);
        let up = !self.down.contains(from) && !self.down.contains(to);
        up && !lost && !self.cuts.contains(&(from.to_owned(), to.to_owned()))
    }

    /// Lets time pass.
    pub(super) fn run(&mut self, ms: i64, check: &mut dyn FnMut(&Fleet)) {
        let end = self.now + SignedDuration::from_millis(ms);
        while let Some((&(at, sequence), _)) = self.queue.first_key_value() {
            let due = self
                .clusters
                .values()
                .filter_map(|c| c.engine.next_due())
                .min();
            if let Some(due) = due.filter(|due| *due < at && *due <= end) {
                self.now = due.max(self.now);
                let now = self.now;
                self.clusters
                    .values_mut()
                    .for_each(|cluster| cluster.settle(now));
                check(self);
                continue;
            }
            if at > end {
                break;
            }
            self.now = at;
            if let Some(happening) = self.queue.remove(&(at, sequence)) {
                self.happen(happening);
            }
            self.apply_updates();
            self.look(check);
        }
        self.now = end;
        check(self);
    }

    /// Checks when an answer changed; the end of [`Fleet::run`] catches answers that stayed too long.
    fn look(&mut self, check: &mut dyn FnMut(&Fleet)) {
        let mut changed = false;
        for cluster in self.clusters.values_mut() {
            changed |= std::mem::take(&mut cluster.changed);
        }
        if changed {
            check(self);
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Poll { cluster } => {
                self.poll(&cluster);
                self.at(self.poll_ms, Happening::Poll { cluster });
            }
            Happening::Answer {
                cluster,
                host,
                tag,
                family,
                answer,
            } => {
                let now = self.now;
                self.cluster(&cluster)
                    .answer(&host, &tag, family, answer, now);
            }
            Happening::Edge { cluster } => {
                let names = self.clusters[&cluster].names.clone();
                for name in names {
                    let there = self.reaches(&cluster, "edge") && self.reaches("edge", &cluster);
                    let (delay, lookup) = if there {
                        let found = self.edge.get(&name).cloned().unwrap_or_default();
                        (2 * self.delay_ms, Lookup::Addresses(found))
                    } else {
                        (TIMEOUT_MS, Lookup::Failed("timeout".into()))
                    };
                    self.at(
                        delay,
                        Happening::Looked {
                            cluster: cluster.clone(),
                            name,
                            lookup,
                        },
                    );
                }
                self.at(1_000, Happening::Edge { cluster });
            }
            Happening::Sights { cluster, asking } => {
                self.ask_sights(&cluster, asking);
                let again = match asking {
                    Asking::Urgently => 1_000.min(self.poll_ms),
                    _ => self.poll_ms,
                };
                self.at(again, Happening::Sights { cluster, asking });
            }
            Happening::Sighted {
                cluster,
                host,
                tag,
                sighting,
            } => {
                let at = self.now;
                let cluster = self.cluster(&cluster);
                cluster.engine.take(Input::Sighting {
                    host,
                    tag,
                    sighting,
                    at,
                });
                cluster.settle(at);
            }
            Happening::Looked {
                cluster,
                name,
                lookup,
            } => {
                let now = self.now;
                self.cluster(&cluster).lookup(&name, lookup, now);
            }
            Happening::Report { cluster } => {
                let now = self.now;
                if !self.down.contains(&cluster) {
                    self.cluster(&cluster).report(usize::MAX, now);
                }
                self.at(REPORT_MS, Happening::Report { cluster });
            }
            Happening::Save { cluster } => {
                let now = self.now;
                if !self.down.contains(&cluster) {
                    self.cluster(&cluster).save(now);
                }
                self.at(SAVE_MS, Happening::Save { cluster });
            }
            Happening::Start { cluster, away_ms } => self.start(&cluster, away_ms),
            Happening::Listed { cluster, kind } => self.listed(&cluster, kind),
        }
    }

    fn poll(&mut self, cluster: &str) {
        let asker = &self.clusters[cluster];
        let mut questions = Vec::new();
        for (host, zone) in &asker.hosts {
            for tag in asker.peers.get(zone).into_iter().flat_map(BTreeMap::keys) {
                questions.push((host.clone(), tag.clone()));
            }
        }
        for (host, tag) in questions {
            for family in Family::BOTH {
                let there = self.reaches(cluster, &tag);
                // What the peer says is fixed when the question arrives.
                let is_k8gb = self.k8gb.contains(&tag);
                let addresses = names::local_targets(&host)
                    .asked()
                    .take(if is_k8gb { 1 } else { 2 })
                    .map(|name| self.clusters[&tag].addresses(name, family))
                    .find(|ips| !ips.is_empty())
                    .filter(|_| !is_k8gb || family == Family::V4)
                    .unwrap_or_default();
                let back = self.reaches(&tag, cluster);
                let (delay, answer) = if there && back {
                    (
                        2 * self.delay_ms,
                        Answer::Targets {
                            addresses: addresses.into(),
                            ttl_seconds: 30,
                        },
                    )
                } else {
                    (TIMEOUT_MS, Answer::Silence)
                };
                let (cluster, host, tag) = (cluster.to_owned(), host.clone(), tag.clone());
                self.at(
                    delay,
                    Happening::Answer {
                        cluster,
                        host,
                        tag,
                        family,
                        answer,
                    },
                );
            }
        }
    }

    /// Asks for the views of the hosts that are to be asked about this eagerly.
    fn ask_sights(&mut self, cluster: &str, asking: Asking) {
        let asker = &self.clusters[cluster];
        let hosts = asker.asking.iter().filter(|(_, how)| **how == asking);
        let mut questions = Vec::new();
        for (host, _) in hosts {
            let zone = asker.hosts.get(host).cloned().unwrap_or_default();
            for tag in asker.peers.get(&zone).into_iter().flat_map(BTreeMap::keys) {
                questions.push((host.clone(), tag.clone()));
            }
        }
        for (host, tag) in questions {
            let there = self.reaches(cluster, &tag);
            let said = match self.k8gb.contains(&tag) {
                true => Sighting::NotKept,
                false => self.clusters[&tag].sight(&host),
            };
            let (delay, sighting) = if there && self.reaches(&tag, cluster) {
                (2 * self.delay_ms, said)
            } else {
                (TIMEOUT_MS, Sighting::Silence)
            };
            let cluster = cluster.to_owned();
            self.at(
                delay,
                Happening::Sighted {
                    cluster,
                    host,
                    tag,
                    sighting,
                },
            );
        }
    }

    /// Dynamic updates reach the edge unless it is cut off.
    fn apply_updates(&mut self) {
        for tag in self.clusters.keys().cloned().collect::<Vec<_>>() {
            let updates = std::mem::take(&mut self.cluster(&tag).updates);
            for (name, addresses) in updates {
                if !self.reaches(&tag, "edge") {
                    continue;
                }
                if addresses.is_empty() {
                    self.edge.remove(&name);
                } else {
                    self.edge.insert(name, addresses);
                }
            }
        }
    }

    /// From now on every cluster writes some time after it answered.
    pub(super) fn report_later(&mut self) {
        for tag in self.clusters.keys().cloned().collect::<Vec<_>>() {
            self.cluster(&tag).reports_later = true;
            self.at(REPORT_MS, Happening::Report { cluster: tag });
        }
    }

    /// From now on every cluster keeps a snapshot of its answers on disk.
    pub(super) fn keep_snapshots(&mut self) {
        for tag in self.clusters.keys().cloned().collect::<Vec<_>>() {
            self.at(SAVE_MS, Happening::Save { cluster: tag });
        }
    }

    /// Kills a cluster's process, which is started again after a while, and has its API server some time after that.
    pub(super) fn kill(&mut self, tag: &str, down_ms: i64, away_ms: i64) {
        if self.clusters[tag].is_blind() || !self.down.insert(tag.to_owned()) {
            return;
        }
        self.queue
            .retain(|_, happening| !happening.is_on_its_way_to(tag));
        let in_between = !self.clusters[tag].engine.is_reported();
        self.n_killed_in_between += usize::from(in_between);
        self.cluster(tag).die();
        let cluster = tag.to_owned();
        self.at(down_ms, Happening::Start { cluster, away_ms });
    }

    fn start(&mut self, tag: &str, away_ms: i64) {
        if !self.down.remove(tag) {
            return;
        }
        self.started.insert(tag.to_owned(), self.now);
        self.cluster(tag).recall();
        for kind in Kind::ALL {
            let late_ms = i64::try_from(self.random() % LISTS_MS).unwrap();
            let cluster = tag.to_owned();
            self.at(away_ms + late_ms, Happening::Listed { cluster, kind });
        }
    }

    fn listed(&mut self, tag: &str, kind: Kind) {
        let now = self.now;
        let cluster = self.cluster(tag);
        cluster.list(kind);
        cluster.settle(now);
        if !cluster.is_blind() {
            self.started.insert(tag.to_owned(), now);
        }
    }

    pub(super) fn cluster(&mut self, tag: &str) -> &mut Cluster {
        self.clusters.get_mut(tag).unwrap()
    }

    pub(super) fn cut(&mut self, from: &str, to: &str) {
        self.cuts.insert((from.to_owned(), to.to_owned()));
    }

    /// What each cluster answers for a host, in order of tags.
    pub(super) fn dig(&self, name: &str) -> Vec<String> {
        self.clusters
            .values()
            .map(|cluster| cluster.dig(name))
            .collect()
    }
}
