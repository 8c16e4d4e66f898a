//! The controller's hands: watches, questions and writes around an [`Engine`].
//!
//! One task owns the engine. Watches, peers and look-ups send it inputs through one bounded channel; it drains what is
//! there, settles once, and carries the effects out. Records go to the DNS engine before anything else, so a change of
//! readiness is answered for as soon as its event is here; what was decided is reported to the API server when things are
//! quiet. Nothing the task does waits for the network: writes go through a work queue, questions and look-ups run in
//! tasks of their own.

mod delegations;
mod events;
mod http;
mod lookups;
mod object;
mod peers;
mod sights;
mod signers;
mod watch;
mod write;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use flotilla_dns::{catalog::Publish, notify::Notice, server::Notifier, tsig::Key};
use flotilla_operator::{Tasks, leader};
use jiff::Timestamp;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::{
    sync::{mpsc, watch as latest},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::{
    config::Config,
    decide::Decision,
    delegate::Records,
    engine::{Effect, Engine, Input},
    metrics::Metrics,
    note::{Note, Turn},
    world::GslbId,
};

pub(crate) use peers::answer as peer_answer;
pub(crate) use sights::sighting;
pub use signers::Signing;

/// Inputs that wait for the engine; whoever sends more waits.
const INPUTS_MAX: usize = 4096;
/// Inputs taken in before the engine settles, so that a burst costs one decision per Gslb and not one per event.
const BATCH_MAX: usize = 1024;
/// Decisions are reported to the API server when no answer changed for this long: while much changes, answers come first,
/// and what is decided twice is written once.
const QUIET: Duration = Duration::from_millis(250);
/// Longest wait for that.
const PATIENCE: Duration = Duration::from_secs(1);

/// The GSLB of one cluster.
pub struct Gslb;

/// A running GSLB. Dropping it stops it; [`Handle::stop`] waits for the writes under way.
pub struct Handle {
    tasks: Tasks,
}

/// What the GSLB works with.
pub struct Environment {
    /// The cluster's API server.
    pub client: Client,
    /// The cluster's DNS server.
    pub dns: Arc<dyn Publish>,
    /// How the DNS server signs; none leaves answers unsigned.
    pub signing: Option<Signing>,
    /// Counters and gauges; see [`Gslb::metrics`].
    pub metrics: Metrics,
    /// How changes travel between clusters without being asked for; none leaves polling.
    pub push: Option<Push>,
    /// Elects the replica that writes to the API server and to the parent zone; all replicas answer. Without one we are
    /// the only replica.
    pub election: Option<leader::Settings>,
    /// Stops the GSLB when cancelled.
    pub stop: CancellationToken,
}

/// What it takes to push changes to the other clusters and to have theirs pushed.
pub struct Push {
    /// The key the fleet shares.
    pub key: Key,
    /// Tells the others about changes of our zones.
    pub notifier: Notifier,
    /// What our DNS server is told about theirs.
    pub notices: mpsc::Receiver<Notice>,
}

impl Gslb {
    /// Registers k8gb's metrics. With several clusters in a process give each a sub-registry with a label of its own.
    pub fn metrics(registry: &mut Registry, config: &Config) -> Metrics {
        Metrics::register(registry, &config.namespace)
    }

    /// Starts the GSLB of a cluster. The definitions of [`flotilla_api::crds`] should be installed; kinds that are absent
    /// are looked for again until they appear.
    ///
    /// Must be called inside a tokio runtime.
    pub fn start(environment: Environment, config: Config) -> Handle {
        let Environment {
            client,
            dns,
            signing,
            metrics,
            push,
            election,
            stop,
        } = environment;
        let mut tasks = Tasks::new(&stop);
        let leading = if config.serve_only {
            // Another operator leads, and for good.
            latest::channel(false).1
        } else {
            elect(&mut tasks, client.clone(), election)
        };
        let (inputs, received) = mpsc::channel(INPUTS_MAX);
        for kind in config.kinds() {
            tasks.spawn("watch", watch::run(client.clone(), kind, inputs.clone()));
        }
        let writer = write::Writer::new(leading.clone());
        tasks.spawn("write", writer.clone().run(client.clone()));
        let recorder = events::start(&mut tasks, client);
        let (peers, polling) = peers::start(&config, push, metrics.clone(), inputs.clone());
        tasks.spawn("peers", polling);
        let (sights, watching) = sights::start(&config, inputs.clone());
        tasks.spawn("sights", watching);
        let signers = signing.map(|signing| {
            let (signers, learning) = signers::start(&config, signing);
            tasks.spawn("signers", learning);
            signers
        });
        let delegations = delegations::start(&config, &metrics);
        if let Some(delegations) = delegations.clone() {
            tasks.spawn("delegations", delegations.run());
        }
        let (lookups, looking) = lookups::start(&config, inputs);
        tasks.spawn("lookups", looking);
        let engine = Engine::new(config).recalling(dns.served());
        let hands = Hands {
            dns,
            writer,
            recorder,
            peers,
            sights,
            signers,
            delegations,
            lookups,
            metrics,
            notes: BTreeMap::new(),
            leading,
        };
        tasks.spawn("engine", drive(engine, received, hands));
        Handle { tasks }
    }
}

impl Handle {
    /// Ends every task where it stands, as a killed process does: nothing is finished and no lease given up.
    pub fn abort(self) {
        self.tasks.abort();
    }

    /// Stops every task and waits for all of them.
    pub async fn stop(self) {
        self.tasks.stop().await;
    }
}

/// Everything effects are carried out with.
struct Hands {
    dns: Arc<dyn Publish>,
    writer: write::Writer,
    recorder: events::Recorder,
    peers: peers::Peers,
    sights: sights::Sights,
    signers: Option<signers::Signers>,
    delegations: Option<delegations::Delegations>,
    lookups: lookups::Lookups,
    metrics: Metrics,
    /// What was said about each Gslb last, where that is out of the ordinary.
    notes: BTreeMap<GslbId, Note>,
    leading: latest::Receiver<bool>,
}

/// Starts the election; whoever is alone leads.
fn elect(
    tasks: &mut Tasks,
    client: Client,
    election: Option<leader::Settings>,
) -> latest::Receiver<bool> {
    let (says, leading) = latest::channel(election.is_none());
    if let Some(settings) = election {
        let stop = tasks.token();
        tasks.spawn_graceful("election", leader::run(client, settings, says, stop));
    }
    leading
}

async fn drive(mut engine: Engine, mut inputs: mpsc::Receiver<Input>, mut hands: Hands) {
    let mut elected = hands.leading.clone();
    let mut calm = Calm::new(Instant::now());
    // From the first decision that was not reported to the last of its reports: one trace, as with k8gb.
    let mut round: Option<Span> = None;
    loop {
        let due = engine.next_due().map(|due| until(due, now()));
        let report = (!engine.is_reported()).then(|| calm.wait(Instant::now()));
        let wait = due.into_iter().chain(report).min();
        tokio::select! {
            biased;
            input = inputs.recv() => match input {
                Some(input) => engine.take(input),
                None => return,
            },
            () = changed(&mut elected) => if *elected.borrow() {
                engine.take(Input::Leading);
            },
            () = sleep(wait) => {}
        }
        for _ in 0..BATCH_MAX {
            match inputs.try_recv() {
                Ok(input) => engine.take(input),
                Err(_) => break,
            }
        }
        let span = round.get_or_insert_with(|| tracing::info_span!("Reconcile"));
        let effects = span.in_scope(|| engine.settle(now()));
        let publishes = |effect: &Effect| matches!(effect, Effect::Publish(_));
        if effects.iter().any(publishes) {
            calm.changed(Instant::now());
        }
        hands.carry_out_all(engine.config(), effects, span);
        if engine.is_reported() {
            round = None;
            calm.reported();
        } else if calm.wait(Instant::now()).is_zero() {
            let effects = tracing::info_span!(parent: &*span, "gslbDNSEndpoint")
                .in_scope(|| engine.report(now()));
            hands.carry_out_all(engine.config(), effects, span);
            // Everybody else may go first.
            tokio::task::yield_now().await;
        }
    }
}

/// When there is time to report: a while after the last change of answers, or when reports have waited for long.
struct Calm {
    changed_at: Instant,
    /// The first change that was not reported.
    waiting_since: Option<Instant>,
}

impl Calm {
    fn new(now: Instant) -> Calm {
        Calm {
            changed_at: now,
            waiting_since: None,
        }
    }

    fn changed(&mut self, now: Instant) {
        self.changed_at = now;
        self.waiting_since.get_or_insert(now);
    }

    fn reported(&mut self) {
        self.waiting_since = None;
    }

    /// How long to wait from now on.
    fn wait(&self, now: Instant) -> Duration {
        let latest = self.waiting_since.map_or(now, |since| since + PATIENCE);
        let at = (self.changed_at + QUIET).min(latest);
        at.saturating_duration_since(now)
    }
}

impl Hands {
    /// Carries out what was decided in a round.
    fn carry_out_all(&mut self, config: &Config, effects: Vec<Effect>, round: &Span) {
        let leads = *self.leading.borrow();
        for effect in effects {
            // A replica that follows answers and asks like any other; it only changes nothing outside.
            let writes = matches!(
                effect,
                Effect::Write(..) | Effect::Say { .. } | Effect::Update { .. }
            );
            if leads || !writes {
                self.carry_out(config, effect, round);
            }
        }
    }

    fn carry_out(&mut self, config: &Config, effect: Effect, round: &Span) {
        match effect {
            Effect::Publish(changes) => {
                let n_changes = changes.len();
                for error in self.dns.publish(changes) {
                    tracing::warn!(%error, "A DNS record was refused");
                }
                tracing::debug!(n_changes, "Answers changed");
            }
            Effect::Write(target, action) => self.writer.set(target, action, round.clone()),
            Effect::Say {
                regarding,
                importance,
                reporter,
                reason,
                message,
            } => self
                .recorder
                .say(regarding, importance, reporter, reason, message),
            Effect::Watch { host, zone } => self.peers.watch(host, zone),
            Effect::Unwatch { host } => self.peers.unwatch(&host),
            Effect::AskSights { host, zone, asking } => self.sights.ask(host, zone, asking),
            Effect::Peers { zone, peers } => {
                self.sights.set(&zone, peers.clone());
                if let Some(signers) = &self.signers {
                    signers.set(&zone, &peers);
                }
                self.peers.set(&zone, peers);
            }
            Effect::Resolve { name, name_server } => self.lookups.add(name, name_server),
            Effect::Forget { name } => self.lookups.remove(&name),
            Effect::Update {
                zone,
                parent,
                own_name,
                addresses,
            } => {
                let records = Records {
                    zone,
                    parent,
                    own_name,
                    addresses,
                    ttl_seconds: config.ns_ttl_seconds,
                };
                if let Some(settings) = config.update.clone() {
                    let source = config.own_dns.first().copied();
                    self.lookups.update(settings, source, records);
                } else if let Some(delegations) = &self.delegations {
                    delegations.set(records);
                }
            }
            Effect::Decided { id, decision } => {
                self.metrics
                    .decided(&id, decision.as_deref(), &config.geo_tag);
                self.log(id, decision.as_deref());
            }
        }
    }
}

impl Hands {
    /// Says what operators wait for, when it changes.
    fn log(&mut self, id: GslbId, decision: Option<&Decision>) {
        let next = decision.map(Note::of).unwrap_or_default();
        let before = self.notes.remove(&id).unwrap_or_default();
        let gslb = &id.key;
        for turn in before
            .turns(&next)
            .into_iter()
            .filter(|_| decision.is_some())
        {
            match turn {
                Turn::Share { percent } => {
                    tracing::info!(%gslb, percent, "This cluster takes another part of its share");
                }
                Turn::Kept { tag, votes } => {
                    let (n_lost, n_witnesses) = (votes.lost, votes.of);
                    tracing::warn!(%gslb, peer = tag, n_lost, n_witnesses, "A silent cluster is kept, too few others lost it");
                }
                Turn::Released { tag } => {
                    tracing::info!(%gslb, peer = tag, "A silent cluster is not kept any more");
                }
            }
        }
        if next != Note::default() {
            self.notes.insert(id, next);
        }
    }
}

/// The wall clock.
pub(crate) fn now() -> Timestamp {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place the shell reads the wall clock"
    )]
    Timestamp::now()
}

fn until(due: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(due.duration_since(now)).unwrap_or_default()
}

/// The election went otherwise; never when there is none any more.
async fn changed(elected: &mut latest::Receiver<bool>) {
    if elected.changed().await.is_err() {
        std::future::pending().await
    }
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        // A timer would round it up.
        Some(Duration::ZERO) => {}
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
