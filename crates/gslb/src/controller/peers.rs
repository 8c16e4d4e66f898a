//! Asking the other clusters which addresses they vouch for.
//!
//! One task per peer and zone, so that a dead peer delays nobody else. Each host is asked about once per poll interval,
//! a little early and jittered so that questions spread out; new hosts and hosts of a peer that came back are asked
//! about at once. A peer that leaves three questions in a row unanswered counts as silent for all its hosts and is
//! probed with one question at a time until it answers, so its cost does not grow with the number of hosts. (k8gb asks
//! one question after the other with 2 s of patience: 500 hosts and one dead peer stall it for 17 minutes.)
//!
//! A peer that shares our key is not asked about hosts while its changes are pushed to us (`push`); its answers then come from a copy of
//! its zone. One task feeds both kinds of answers to the engine, so that none overtakes another, and polling goes on at once when
//! pushing ends.

mod push;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use flotilla_dns::{
    client::{self, Outcome},
    message::Question,
    name::Name,
    notify::{Notice, outbox::Recipient},
    record::{Data, Type},
    server::Notifier,
    tsig::Key,
};
use futures::{StreamExt, future::join, stream::FuturesUnordered};
use rand::RngExt;
use tokio::{
    sync::{Notify, mpsc},
    task::JoinSet,
    time::Instant,
};

use self::push::{Event, Pusher};
use super::{Metrics, Push, now};
use crate::{
    config::Config,
    engine::{Input, Said},
    names,
    view::{Answer, Family, Observation},
};

/// Hosts asked about at once per peer.
const IN_FLIGHT_MAX: usize = 64;
/// Unanswered questions in a row after which a peer counts as silent for all its hosts.
const SILENT_AFTER: u32 = 3;
/// Longest wait between probes of a silent peer.
const PROBE_MAX: Duration = Duration::from_secs(5);
/// Share of the interval by which questions are spread, so that many hosts do not march in step.
const JITTER: f64 = 0.1;

/// Hosts of a zone with the names of their local targets, in the order they are asked for.
type Hosts = BTreeMap<Arc<str>, Arc<[Name]>>;

/// What is to be asked, of whom.
#[derive(Default)]
struct Interest {
    /// The zone of each host.
    zones: HashMap<Arc<str>, String>,
    /// Shared with the pollers.
    by_zone: BTreeMap<String, Arc<Hosts>>,
    peers: BTreeMap<(String, String), Vec<IpAddr>>,
}

struct Shared {
    interest: Mutex<Interest>,
    /// Goes up with every change, so that a poller copies the hosts only when they are others.
    generation: AtomicU64,
    changed: Notify,
}

/// Front of the pollers.
pub(super) struct Peers(Arc<Shared>);

/// The front, and the future that polls.
pub(super) fn start(
    config: &Config,
    push: Option<Push>,
    metrics: Metrics,
    inputs: mpsc::Sender<Input>,
) -> (Peers, impl Future<Output = ()> + Send + 'static) {
    let shared = Arc::new(Shared {
        interest: Mutex::default(),
        generation: AtomicU64::new(0),
        changed: Notify::new(),
    });
    let settings = Settings {
        interval: config.poll_interval,
        ports: config.peer_ports(),
        client: client::Config {
            source: config.own_dns.first().copied(),
            ..client::Config::default()
        },
        key: push.as_ref().map(|push| push.key.clone()),
        metrics,
    };
    let (notifier, notices) = push.map(|push| (push.notifier, push.notices)).unzip();
    let supervisor = Supervisor {
        shared: shared.clone(),
        settings: Arc::new(settings),
        inputs,
        notifier,
        running: BTreeMap::new(),
        pollers: JoinSet::new(),
    };
    (Peers(shared), supervisor.run(notices))
}

struct Settings {
    /// Zero means once.
    interval: Duration,
    ports: Vec<u16>,
    client: client::Config,
    /// The key the fleet shares; without one nothing is pushed.
    key: Option<Key>,
    metrics: Metrics,
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Interest)) {
        change(&mut self.lock());
        self.generation.fetch_add(1, Ordering::Release);
        self.changed.notify_waiters();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Interest> {
        // Every change leaves the maps whole, whoever panicked after it.
        self.interest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peers {
    pub(super) fn watch(&self, host: String, zone: String) {
        let host: Arc<str> = host.into();
        let local = names::local_targets(&host);
        let local = local.asked().filter_map(|name| Name::parse(name).ok());
        let local: Arc<[Name]> = local.collect();
        self.0.change(|interest| {
            if let Some(old) = interest.zones.insert(host.clone(), zone.clone())
                && let Some(hosts) = interest.by_zone.get_mut(&old)
            {
                Arc::make_mut(hosts).remove(&host);
            }
            let hosts = interest.by_zone.entry(zone).or_default();
            Arc::make_mut(hosts).insert(host, local);
        });
    }

    pub(super) fn unwatch(&self, host: &str) {
        self.0.change(|interest| {
            if let Some(zone) = interest.zones.remove(host)
                && let Some(hosts) = interest.by_zone.get_mut(&zone)
            {
                Arc::make_mut(hosts).remove(host);
            }
        });
    }

    pub(super) fn set(&self, zone: &str, peers: BTreeMap<String, Vec<IpAddr>>) {
        self.0.change(|interest| {
            interest.peers.retain(|(known, _), _| known != zone);
            for (tag, addresses) in peers {
                interest.peers.insert((zone.to_owned(), tag), addresses);
            }
        });
    }
}

/// Notices that wait for one poller. More say nothing that these do not.
const NOTICES_MAX: usize = 16;

/// A running poller.
struct Running {
    addresses: Vec<IpAddr>,
    task: tokio::task::AbortHandle,
    notices: mpsc::Sender<Option<u32>>,
}

/// Runs one poller per peer and zone, again when its addresses change.
struct Supervisor {
    shared: Arc<Shared>,
    settings: Arc<Settings>,
    inputs: mpsc::Sender<Input>,
    notifier: Option<Notifier>,
    /// By zone and tag.
    running: BTreeMap<(String, String), Running>,
    pollers: JoinSet<()>,
}

impl Supervisor {
    async fn run(mut self, mut notices: Option<mpsc::Receiver<Notice>>) {
        let shared = self.shared.clone();
        loop {
            let changed = shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let wanted = shared.lock().peers.clone();
            self.follow(wanted);
            loop {
                tokio::select! {
                    () = &mut changed => break,
                    Some(_) = self.pollers.join_next() => break,
                    Some(notice) = received(&mut notices) => self.pass_on(&notice),
                }
            }
        }
    }

    fn follow(&mut self, wanted: BTreeMap<(String, String), Vec<IpAddr>>) {
        let mut zones: BTreeSet<String> = self.running.keys().map(|peer| peer.0.clone()).collect();
        let (metrics, ports) = (&self.settings.metrics, &self.settings.ports);
        self.running.retain(|peer, running| {
            let stays = wanted.get(peer) == Some(&running.addresses);
            if !stays {
                running.task.abort();
                metrics.forget_peer(&peer.0, &peer.1);
            }
            stays
        });
        zones.extend(wanted.keys().map(|peer| peer.0.clone()));
        if let Some(notifier) = &self.notifier {
            for zone in zones {
                let peers = wanted.iter().filter(|(peer, _)| peer.0 == zone);
                let recipients = peers.map(|((_, tag), addresses)| Recipient {
                    id: tag.clone(),
                    addresses: servers(addresses, ports),
                });
                if let Ok(name) = Name::parse(&zone) {
                    notifier.set(&name, recipients.collect());
                }
            }
        }
        for (peer, addresses) in wanted {
            if !self.running.contains_key(&peer) {
                let running = self.start(&peer, addresses);
                self.running.insert(peer, running);
            }
        }
    }

    fn start(&mut self, (zone, tag): &(String, String), addresses: Vec<IpAddr>) -> Running {
        let settings = &self.settings;
        let servers = servers(&addresses, &settings.ports);
        let (notices, received) = mpsc::channel(NOTICES_MAX);
        let push = settings.key.clone().and_then(|key| {
            Pusher::new(push::Setup {
                zone: zone.clone(),
                tag: tag.clone(),
                key,
                servers: servers.clone(),
                source: settings.client.source,
                interval: settings.interval,
                notices: received,
                metrics: settings.metrics.clone(),
            })
        });
        let poller = Poller {
            zone: zone.clone(),
            tag: tag.clone(),
            servers,
            shared: self.shared.clone(),
            settings: settings.clone(),
            inputs: self.inputs.clone(),
        };
        Running {
            addresses,
            task: self.pollers.spawn(poller.run(push)),
            notices,
        }
    }

    /// Tells the poller of the peer that speaks. A peer behind address translation speaks from an address nobody
    /// knows; then everybody in the zone is looked at.
    fn pass_on(&self, notice: &Notice) {
        let zone = notice.zone.to_string();
        let zone = zone.trim_end_matches('.');
        let of_zone = || self.running.iter().filter(|(peer, _)| peer.0 == zone);
        let is_known = |running: &Running| running.addresses.contains(&notice.from);
        let mut found = false;
        for (_, running) in of_zone().filter(|(_, running)| is_known(running)) {
            found = true;
            // Full means that there are reasons enough to look.
            let _ = running.notices.try_send(notice.serial);
        }
        for (_, running) in of_zone().filter(|_| !found) {
            let _ = running.notices.try_send(None);
        }
    }
}

/// The next notice; waits for ever when there are none to come.
async fn received(notices: &mut Option<mpsc::Receiver<Notice>>) -> Option<Notice> {
    match notices {
        Some(notices) => match notices.recv().await {
            Some(notice) => Some(notice),
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

/// Every address on the first port, then every address on the next one.
fn servers(addresses: &[IpAddr], ports: &[u16]) -> Vec<SocketAddr> {
    ports
        .iter()
        .flat_map(|port| addresses.iter().map(|ip| SocketAddr::new(*ip, *port)))
        .collect()
}

struct Poller {
    zone: String,
    tag: String,
    servers: Vec<SocketAddr>,
    shared: Arc<Shared>,
    settings: Arc<Settings>,
    inputs: mpsc::Sender<Input>,
}

/// When each host is due.
#[derive(Default)]
struct Schedule {
    due: BTreeSet<(Instant, Arc<str>)>,
    places: HashMap<Arc<str>, Option<Instant>>,
}

impl Schedule {
    /// Follows the set of hosts; new ones are due now, and returned.
    fn follow(&mut self, hosts: &Hosts, now: Instant) -> Vec<Arc<str>> {
        self.places.retain(|host, place| {
            let stays = hosts.contains_key(host);
            if let (false, Some(at)) = (stays, *place) {
                self.due.remove(&(at, host.clone()));
            }
            stays
        });
        let is_new = |host: &&Arc<str>| !self.places.contains_key(*host);
        let new: Vec<Arc<str>> = hosts.keys().filter(is_new).cloned().collect();
        for host in &new {
            self.put(host.clone(), now);
        }
        new
    }

    /// Makes every host due now, also those that were being asked about.
    fn restart(&mut self, hosts: &Hosts, now: Instant) {
        self.due.clear();
        self.places.clear();
        self.follow(hosts, now);
    }

    fn put(&mut self, host: Arc<str>, at: Instant) {
        self.due.insert((at, host.clone()));
        self.places.insert(host, Some(at));
    }

    fn take(&mut self, now: Instant) -> Option<Arc<str>> {
        if self.due.first().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        let (_, host) = self.due.pop_first()?;
        self.places.insert(host.clone(), None);
        Some(host)
    }

    /// Makes every host that waits due now.
    fn all_now(&mut self, now: Instant) {
        let hosts: Vec<Arc<str>> = std::mem::take(&mut self.due)
            .into_iter()
            .map(|(_, h)| h)
            .collect();
        for host in hosts {
            self.put(host, now);
        }
    }
}

impl Poller {
    async fn run(self, mut push: Option<Pusher>) {
        let mut schedule = Schedule::default();
        let mut asking = FuturesUnordered::new();
        let mut n_silent = 0u32;
        let mut probe_at = Instant::now();
        let mut hosts = Arc::<Hosts>::default();
        let mut seen = None;
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let generation = self.shared.generation.load(Ordering::Acquire);
            if seen != Some(generation) {
                seen = Some(generation);
                hosts = self
                    .shared
                    .lock()
                    .by_zone
                    .get(&self.zone)
                    .cloned()
                    .unwrap_or_default();
                let new = schedule.follow(&hosts, Instant::now());
                let new = new.iter().filter_map(|host| hosts.get_key_value(host));
                if let Some(push) = push.as_mut().filter(|push| push.is_live())
                    && self.pass_on(push, new).await.is_err()
                {
                    return;
                }
            }
            let pushed = push.as_ref().is_some_and(Pusher::is_live);
            let wake = loop {
                if pushed {
                    break None;
                }
                let now = Instant::now();
                let silent = n_silent >= SILENT_AFTER;
                let room = if silent { 1 } else { IN_FLIGHT_MAX };
                if asking.len() >= room || schedule.due.is_empty() {
                    break None;
                }
                if silent && now < probe_at {
                    break Some(probe_at);
                }
                if silent {
                    schedule.all_now(now);
                }
                match schedule.take(now) {
                    Some(host) => asking.push(self.ask(host, now)),
                    None => break schedule.due.first().map(|(at, _)| *at),
                }
            };
            tokio::select! {
                Some((host, answers, asked_at)) = asking.next() => {
                    let silent = answers.iter().all(|(_, o)| o.answer == Answer::Silence);
                    let was = n_silent;
                    n_silent = if silent { n_silent.saturating_add(1) } else { 0 };
                    if self.send(said(&host, answers).into()).await.is_err() {
                        return;
                    }
                    if let Some(next) = self.next(asked_at) && hosts.contains_key(&host) {
                        schedule.put(host, next);
                    }
                    if n_silent >= SILENT_AFTER {
                        probe_at = Instant::now() + self.settings.interval.min(PROBE_MAX);
                        if was < SILENT_AFTER {
                            tracing::warn!(zone = %self.zone, peer = %self.tag, "A peer does not answer");
                            if self.silence(&hosts).await.is_err() {
                                return;
                            }
                        }
                    } else if was >= SILENT_AFTER {
                        tracing::info!(zone = %self.zone, peer = %self.tag, "A peer answers again");
                        schedule.all_now(Instant::now());
                    }
                }
                event = next(&mut push) => {
                    // What was asked before is older than the copy.
                    asking.clear();
                    n_silent = 0;
                    if self.follow_push(push.as_mut(), event, &hosts, &mut schedule).await.is_err() {
                        return;
                    }
                }
                () = changed => {}
                () = sleep_until(wake) => {}
            }
        }
    }

    /// Carries out what happened to the session with the peer.
    async fn follow_push(
        &self,
        push: Option<&mut Pusher>,
        event: Event,
        hosts: &Hosts,
        schedule: &mut Schedule,
    ) -> Result<(), ()> {
        let Some(push) = push else { return Ok(()) };
        match event {
            Event::Live => {
                self.say_pushed(true).await?;
                self.pass_on(push, hosts).await
            }
            Event::Pulled(names) => {
                let changed: BTreeSet<String> = names.iter().filter_map(push::host_of).collect();
                let changed = changed.iter();
                let changed = changed.filter_map(|host| hosts.get_key_value(host.as_str()));
                self.pass_on(push, changed).await
            }
            Event::Broke => {
                // The copy was right until now; what is held of a silent peer counts from here.
                self.pass_on(push, hosts).await?;
                self.say_pushed(false).await?;
                schedule.restart(hosts, Instant::now());
                Ok(())
            }
        }
    }

    /// Tells the engine whether the peer pushes.
    async fn say_pushed(&self, live: bool) -> Result<(), ()> {
        let (zone, tag) = (self.zone.clone(), self.tag.clone());
        let input = Input::Pushed { zone, tag, live };
        self.inputs.send(input).await.map_err(drop)
    }

    /// Tells the engine what the copy of the peer's zone says about some hosts.
    async fn pass_on<'h>(
        &self,
        push: &mut Pusher,
        hosts: impl IntoIterator<Item = (&'h Arc<str>, &'h Arc<[Name]>)>,
    ) -> Result<(), ()> {
        let hosts = hosts.into_iter();
        let said = hosts.flat_map(|(host, names)| {
            let answers = Family::BOTH.map(|family| (family, push.observation(names, family)));
            said(host, answers)
        });
        self.send(said.collect()).await
    }

    /// When to ask again; never with an interval of zero.
    fn next(&self, asked_at: Instant) -> Option<Instant> {
        let interval = self.settings.interval;
        let early = JITTER * rand::rng().random::<f64>();
        (!interval.is_zero()).then(|| asked_at + interval.mul_f64(1.0 - early))
    }

    async fn ask(
        &self,
        host: Arc<str>,
        asked_at: Instant,
    ) -> (Arc<str>, [(Family, Observation); 2], Instant) {
        let (v4, v6) = join(
            self.family(&host, Family::V4),
            self.family(&host, Family::V6),
        )
        .await;
        (host, [(Family::V4, v4), (Family::V6, v6)], asked_at)
    }

    /// Asks under each name of the local targets until one has addresses.
    async fn family(&self, host: &str, family: Family) -> Observation {
        let mut last = Observation {
            answer: Answer::Silence,
            at: now(),
            server: None,
        };
        for name in names::local_targets(host).asked() {
            let Ok(name) = Name::parse(name) else {
                continue;
            };
            let question = Question {
                name,
                rtype: rtype(family),
            };
            let report = client::ask(&question, &self.servers, &self.settings.client).await;
            let server = report
                .attempts
                .iter()
                .find(|attempt| attempt.outcome.is_conclusive())
                .map(|attempt| attempt.server);
            last = Observation {
                answer: answer(&report.outcome, family),
                at: now(),
                server,
            };
            match &last.answer {
                Answer::Targets { addresses, .. } if addresses.is_empty() => {}
                _ => break,
            }
        }
        last
    }

    async fn send(&self, said: Vec<Said>) -> Result<(), ()> {
        if said.is_empty() {
            return Ok(());
        }
        let tag = self.tag.clone();
        let input = Input::Answers { tag, said };
        self.inputs.send(input).await.map_err(drop)
    }

    /// Reports silence for every host at once.
    async fn silence(&self, hosts: &Hosts) -> Result<(), ()> {
        let silence = || Observation {
            answer: Answer::Silence,
            at: now(),
            server: None,
        };
        let all = hosts
            .keys()
            .flat_map(|host| said(host, Family::BOTH.map(|family| (family, silence()))));
        self.send(all.collect()).await
    }
}

fn said(host: &Arc<str>, answers: [(Family, Observation); 2]) -> [Said; 2] {
    answers.map(|(family, observation)| Said {
        host: host.clone(),
        family,
        observation,
    })
}

/// What happens to the session with the peer; waits for ever without one.
async fn next(push: &mut Option<Pusher>) -> Event {
    match push {
        Some(push) => push.next().await,
        None => std::future::pending().await,
    }
}

fn rtype(family: Family) -> Type {
    match family {
        Family::V4 => Type::A,
        Family::V6 => Type::AAAA,
    }
}

/// What an outcome says. A peer that refuses or fails says nothing about health, unlike one that has no such record.
pub(crate) fn answer(outcome: &Outcome, family: Family) -> Answer {
    match outcome {
        Outcome::Answer(records) => {
            let mut addresses: Vec<IpAddr> = records
                .iter()
                .filter_map(|record| match record.data {
                    Data::A(ip) => Some(IpAddr::V4(ip)),
                    Data::Aaaa(ip) => Some(IpAddr::V6(ip)),
                    _ => None,
                })
                .filter(|ip| Family::of(ip) == family && !ip.is_unspecified())
                .collect();
            addresses.sort_unstable();
            addresses.dedup();
            let addresses = addresses.into();
            let ttl_seconds = records
                .iter()
                .map(|r| r.ttl_seconds)
                .min()
                .unwrap_or_default();
            Answer::Targets {
                addresses,
                ttl_seconds,
            }
        }
        Outcome::NoData { ttl_seconds } | Outcome::NxDomain { ttl_seconds } => {
            let ttl_seconds = ttl_seconds.unwrap_or_default();
            Answer::Targets {
                addresses: Arc::default(),
                ttl_seconds,
            }
        }
        Outcome::Referral(_) | Outcome::Failed(_) | Outcome::Timeout | Outcome::Error(_) => {
            Answer::Silence
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
