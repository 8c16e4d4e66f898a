//! A small resolver: walks delegations from configured zones down, as any client's resolver would.
//!
//! It exists so that a fleet on one machine can be asked like the real thing: it knows only where the parent zones are served, and finds
//! everything else by referrals. It is not a resolver for the internet: names outside the configured zones are refused.
//! What to ask next is decided in [`walk`], a pure state machine over a bounded [`cache`]; this module moves its datagrams, shares one
//! walk among clients with the same question, and listens.

pub mod cache;
mod front;
pub mod walk;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use rand::seq::SliceRandom;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::client;
use crate::message::Question;
use crate::record::Rcode;
use crate::server::{self, Bound, Limits, Metrics};
use cache::Cache;
use walk::{Answer, Hint, Step, Walk};

/// Questions walked at once; further ones get SERVFAIL, which clients retry.
const WALKS_MAX: usize = 512;

/// How to resolve.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the known zones are served: where walks begin.
    pub hints: Vec<Hint>,
    /// Port of servers found by referral; records carry none. The internet's is 53, a fleet's 1053.
    pub delegated_port: u16,
    /// How servers are asked. The deadline applies per step.
    pub ask: client::Config,
    /// Most names the cache holds. Default 20,000.
    pub cache_entries_max: usize,
}

impl Config {
    /// Defaults for the given hints and port.
    pub fn new(hints: Vec<Hint>, delegated_port: u16) -> Config {
        Config {
            hints,
            delegated_port,
            ask: client::Config::default(),
            cache_entries_max: 20_000,
        }
    }
}

type Walking = Shared<BoxFuture<'static, Arc<Answer>>>;

/// A resolver without sockets of its own. Cheap to clone.
#[derive(Clone)]
pub struct Resolver {
    shared: Arc<Inner>,
}

struct Inner {
    cfg: Config,
    started: Instant,
    cache: Mutex<Cache>,
    walking: Mutex<HashMap<Question, Walking>>,
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver")
            .field("cfg", &self.shared.cfg)
            .finish_non_exhaustive()
    }
}

impl Resolver {
    /// A resolver with an empty cache.
    pub fn new(cfg: Config) -> Resolver {
        let cache = Mutex::new(Cache::new(cfg.cache_entries_max));
        let walking = Mutex::default();
        Resolver {
            shared: Arc::new(Inner {
                cfg,
                started: Instant::now(),
                cache,
                walking,
            }),
        }
    }

    /// Resolves one question. Equal questions at the same time share one walk.
    pub async fn resolve(&self, question: &Question) -> Arc<Answer> {
        let walking = {
            let mut walking = lock(&self.shared.walking);
            match walking.get(question) {
                Some(walking) => walking.clone(),
                None if walking.len() >= WALKS_MAX => {
                    return Arc::new(Answer::failed(Rcode::SERVFAIL));
                }
                None => {
                    let started = self.clone().walk(question.clone()).boxed().shared();
                    walking.insert(question.clone(), started.clone());
                    started
                }
            }
        };
        // If this client goes away another one polls on; the last one's guard clears the entry.
        let _guard = Finished {
            resolver: self,
            question,
        };
        walking.await
    }

    async fn walk(self, question: Question) -> Arc<Answer> {
        let shared = &*self.shared;
        let mut walk = Walk::new(question);
        loop {
            let step = walk.step(&shared.cfg.hints, &mut lock(&shared.cache), self.now_ms());
            let (mut servers, question) = match step {
                Step::Done(answer) => return Arc::new(answer),
                Step::Ask { servers, question } => (servers, question),
            };
            for server in servers.iter_mut().filter(|server| server.port() == 0) {
                server.set_port(shared.cfg.delegated_port);
            }
            // Spread over the servers, as resolvers that do not know them yet do.
            servers.shuffle(&mut rand::rng());
            let report = client::ask(&question, &servers, &shared.cfg.ask).await;
            tracing::debug!(name = %question.name, rtype = %question.rtype, ?servers,
                outcome = ?report.outcome, "Asked on the way down");
            walk.take(report.reply, &mut lock(&shared.cache), self.now_ms());
        }
    }

    fn now_ms(&self) -> u64 {
        self.shared.started.elapsed().as_millis() as u64
    }
}

/// Clears a finished or abandoned walk from the table.
struct Finished<'a> {
    resolver: &'a Resolver,
    question: &'a Question,
}

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        let mut walking = lock(&self.resolver.shared.walking);
        // The table holds one handle and our caller the other; more mean that others still wait.
        let is_last = walking.get(self.question).is_some_and(|walk| {
            walk.peek().is_some() || walk.strong_count().is_none_or(|count| count <= 2)
        });
        if is_last {
            walking.remove(self.question);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Cache and table are whole between any two statements; a panic elsewhere does not spoil them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A resolver that listens on UDP and TCP.
#[derive(Debug)]
pub struct ResolverServer {
    address: SocketAddr,
    resolver: Resolver,
    tasks: JoinSet<()>,
    stopping: CancellationToken,
}

impl ResolverServer {
    /// Binds `address` (port 0 picks one) and starts to answer. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn start(
        address: SocketAddr,
        cfg: Config,
        metrics: &Metrics,
    ) -> Result<ResolverServer, server::Error> {
        let bound = Bound::bind(address, 1)?;
        let resolver = Resolver::new(cfg);
        let stopping = CancellationToken::new();
        let counters = metrics.worker("resolver");
        let mut tasks = JoinSet::new();
        let front = Arc::new(front::Front {
            resolver: resolver.clone(),
            counters,
        });
        for socket in bound.datagrams {
            tasks.spawn(front::serve_udp(
                socket,
                Arc::clone(&front),
                stopping.clone(),
            ));
        }
        let limits = Limits::default();
        tasks.spawn(server::serve_tcp(
            bound.stream,
            None,
            limits,
            front,
            stopping.clone(),
        ));
        Ok(ResolverServer {
            address: bound.address,
            resolver,
            tasks,
            stopping,
        })
    }

    /// The address listened on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The resolver behind it.
    pub fn resolver(&self) -> &Resolver {
        &self.resolver
    }

    /// Stops listening and returns when everything has ended.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

impl Drop for ResolverServer {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

#[cfg(test)]
mod tests;
