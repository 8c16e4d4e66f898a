//! Asking other name servers, without letting a dead one delay the answer.
//!
//! [`ask`] puts one question to a set of servers: the first at once, the next whenever one fails or stays silent for the hedge time,
//! and round again until the deadline, because datagrams get lost. Late replies still count. The first conclusive outcome wins;
//! silence ("unknown") and a negative answer ("known to be absent") are never confused, since callers decide fail-over by them.
//!
//! A reply is believed only if it comes from the address asked (the socket is connected), carries the random id and repeats the
//! question; every attempt has its own socket and so its own random source port. A truncated reply is asked again over TCP. What
//! is held per attempt is one message, at most 65,535 octets.

pub mod stream;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, UdpSocket};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::message::{
    self, FLAG_AA, FLAG_QR, FLAG_RD, FLAG_TC, Message, OPCODE_MASK, Question, UDP_OCTETS_MAX,
};
use crate::name::Name;
use crate::record::{Data, Rcode, Record, Type};

/// Longest chain of aliases followed within one reply.
const CNAME_HOPS_MAX: usize = 16;
/// Datagrams sent per question over all servers together.
const ATTEMPTS_MAX: usize = 16;

/// How to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Silence after which the next server is asked as well. Default 400 ms.
    pub hedge: Duration,
    /// Time after which the outcome is [`Outcome::Timeout`]. Default 2 s, as k8gb waits.
    pub deadline: Duration,
    /// Whether to ask for recursion: for resolvers, not for authoritative servers. Default no.
    pub recursion_desired: bool,
    /// UDP size announced by EDNS; `None` sends no OPT record. Default 1232.
    pub udp_octets: Option<u16>,
    /// Address to ask from, for hosts with several; used for servers of its own family. Default: the kernel chooses.
    pub source: Option<IpAddr>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            hedge: Duration::from_millis(400),
            deadline: Duration::from_secs(2),
            recursion_desired: false,
            udp_octets: Some(UDP_OCTETS_MAX as u16),
            source: None,
        }
    }
}

impl Config {
    /// Where a socket for `server` is bound: the configured source, or any address of the server's family.
    fn source_for(&self, server: SocketAddr) -> SocketAddr {
        let any = match server {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let source = self
            .source
            .filter(|source| source.is_ipv4() == server.is_ipv4());
        SocketAddr::new(source.unwrap_or(any), 0)
    }
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Records of the type asked for, aliases followed.
    Answer(Vec<Record>),
    /// The name exists and has no such records.
    NoData {
        /// Seconds this may be believed, if the reply said so.
        ttl_seconds: Option<u32>,
    },
    /// The name does not exist.
    NxDomain {
        /// Seconds this may be believed, if the reply said so.
        ttl_seconds: Option<u32>,
    },
    /// The server is not responsible and names those who are.
    Referral(Box<Message>),
    /// The server could or would not answer.
    Failed(Rcode),
    /// Nobody replied in time: the answer is unknown.
    Timeout,
    /// The server cannot be reached or talks nonsense.
    Error(Error),
}

impl Outcome {
    /// Whether this settles the question, so that no further server need be asked.
    pub fn is_conclusive(&self) -> bool {
        matches!(
            self,
            Outcome::Answer(_)
                | Outcome::NoData { .. }
                | Outcome::NxDomain { .. }
                | Outcome::Referral(_)
        )
    }

    /// The IP addresses of an answer; empty for every other outcome.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let Outcome::Answer(records) = self else {
            return Vec::new();
        };
        let address = |record: &Record| match record.data {
            Data::A(address) => Some(IpAddr::V4(address)),
            Data::Aaaa(address) => Some(IpAddr::V6(address)),
            _ => None,
        };
        records.iter().filter_map(address).collect()
    }

    /// Reads a reply.
    pub fn of(reply: Message, question: &Question) -> Outcome {
        match reply.rcode {
            Rcode::NOERROR => {}
            Rcode::NXDOMAIN => {
                return Outcome::NxDomain {
                    ttl_seconds: negative_ttl(&reply),
                };
            }
            rcode => return Outcome::Failed(rcode),
        }
        let records = follow(&reply.answers, question);
        if !records.is_empty() {
            return Outcome::Answer(records);
        }
        let ttl_seconds = negative_ttl(&reply);
        let delegates = |record: &Record| record.data.rtype() == Type::NS;
        let refers = !reply.has(FLAG_AA) && ttl_seconds.is_none();
        if refers && reply.answers.is_empty() && reply.authorities.iter().any(delegates) {
            return Outcome::Referral(Box::new(reply));
        }
        Outcome::NoData { ttl_seconds }
    }
}

/// Why a server could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The network refused.
    #[error("{action} failed: {kind}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// What the operating system said.
        kind: io::ErrorKind,
    },
    /// The reply is not a DNS message.
    #[error("malformed reply")]
    Malformed(#[from] message::Error),
    /// No servers were given.
    #[error("no server to ask")]
    NoServer,
}

/// One server's part in a [`Report`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Whom was asked.
    pub server: SocketAddr,
    /// Time from the start of the question to this server's outcome.
    pub after: Duration,
    /// What it said; [`Outcome::Timeout`] while silent.
    pub outcome: Outcome,
}

/// The outcome of a question and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The first conclusive outcome; else the first failure that is not silence; else [`Outcome::Timeout`].
    pub outcome: Outcome,
    /// The reply behind a conclusive outcome.
    pub reply: Option<Message>,
    /// Every datagram's fate, in the order they were settled; the silent ones last.
    pub attempts: Vec<Attempt>,
}

/// Puts one question to `servers`, in the given order.
pub async fn ask(question: &Question, servers: &[SocketAddr], cfg: &Config) -> Report {
    if servers.is_empty() {
        let outcome = Outcome::Error(Error::NoServer);
        return Report {
            outcome,
            reply: None,
            attempts: Vec::new(),
        };
    }
    let start = Instant::now();
    let deadline = start + cfg.deadline;
    let mut turn = servers
        .iter()
        .copied()
        .cycle()
        .take(ATTEMPTS_MAX.max(servers.len()));
    let mut failed_in_a_row = 0;
    let mut asking = FuturesUnordered::new();
    let mut silent = Vec::new();
    let mut attempts = Vec::new();
    let mut next_at = Some(start);
    loop {
        if next_at.is_some_and(|at| at <= Instant::now()) {
            next_at = turn.next().map(|server| {
                silent.push(server);
                asking
                    .push(async move { (server, exchange(question, server, cfg, deadline).await) });
                Instant::now() + cfg.hedge
            });
        }
        let wake = next_at.unwrap_or(deadline).min(deadline);
        tokio::select! {
            biased;
            Some((server, result)) = asking.next() => {
                if let Some(position) = silent.iter().position(|other| *other == server) {
                    silent.remove(position);
                }
                let (outcome, reply) = settle(result, question);
                let conclusive = outcome.is_conclusive();
                attempts.push(Attempt { server, after: start.elapsed(), outcome: outcome.clone() });
                if conclusive {
                    return report((outcome, reply), attempts, &silent, start);
                }
                // A server that fails at once is not asked again at once: each gets one immediate try.
                failed_in_a_row += 1;
                if failed_in_a_row < servers.len() && next_at.is_some() {
                    next_at = Some(Instant::now());
                } else if asking.is_empty() && failed_in_a_row >= servers.len() {
                    let first = first_failure(&attempts);
                    return report((first, None), attempts, &silent, start);
                }
            }
            () = sleep_until(wake) => {
                if wake == deadline {
                    let first = first_failure(&attempts);
                    return report((first, None), attempts, &silent, start);
                }
            }
        }
    }
}

/// One question to one server: UDP, then TCP when the reply is truncated. The reply has the right id and question.
///
/// # Errors
/// [`Failure`]: silence until `deadline`, or an error.
pub async fn exchange(
    question: &Question,
    server: SocketAddr,
    cfg: &Config,
    deadline: Instant,
) -> Result<Message, Failure> {
    let id = rand::random::<u16>();
    let flags = if cfg.recursion_desired { FLAG_RD } else { 0 };
    let query = message::encode_query(id, flags, question, cfg.udp_octets);
    let work = async {
        let source = cfg.source_for(server);
        let reply = over_udp(&query, question, server, source).await?;
        if reply.has(FLAG_TC) {
            over_tcp(&query, question, server, source).await
        } else {
            Ok(reply)
        }
    };
    match timeout_at(deadline, work).await {
        Ok(result) => result.map_err(Failure::Error),
        Err(_) => Err(Failure::Timeout),
    }
}

/// Why an exchange brought no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No reply in time.
    #[error("no reply in time")]
    Timeout,
    /// The exchange broke.
    #[error("exchange failed")]
    Error(#[from] Error),
}

async fn over_udp(
    query: &[u8],
    question: &Question,
    server: SocketAddr,
    source: SocketAddr,
) -> Result<Message, Error> {
    let socket = UdpSocket::bind(source)
        .await
        .map_err(io_error("opening a socket"))?;
    socket
        .connect(server)
        .await
        .map_err(io_error("connecting"))?;
    socket.send(query).await.map_err(io_error("sending"))?;
    let mut buffer = vec![0; message::TCP_OCTETS_MAX];
    loop {
        let octets = socket
            .recv(&mut buffer)
            .await
            .map_err(io_error("receiving"))?;
        // Whatever does not belong to this query is ignored, not an error: it may be an attempt to make us give up.
        if buffer[..octets].get(..2) != query.get(..2) {
            continue;
        }
        match Message::parse(&buffer[..octets]) {
            Ok(reply) if belongs(&reply, question) => return Ok(reply),
            Ok(_) => {}
            Err(error) if looks_truncated(&buffer[..octets]) => {
                tracing::trace!(%server, %error, "Truncated reply is cut inside a record");
                return over_tcp(query, question, server, source).await;
            }
            Err(error) => return Err(Error::Malformed(error)),
        }
    }
}

async fn over_tcp(
    query: &[u8],
    question: &Question,
    server: SocketAddr,
    source: SocketAddr,
) -> Result<Message, Error> {
    let socket = match server {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let socket = socket.map_err(io_error("opening a socket over TCP"))?;
    if !source.ip().is_unspecified() {
        socket.bind(source).map_err(io_error("binding over TCP"))?;
    }
    let mut stream = socket
        .connect(server)
        .await
        .map_err(io_error("connecting over TCP"))?;
    let framed = [&(query.len() as u16).to_be_bytes(), query].concat();
    stream
        .write_all(&framed)
        .await
        .map_err(io_error("sending over TCP"))?;
    let octets = stream
        .read_u16()
        .await
        .map_err(io_error("receiving over TCP"))?;
    let mut buffer = vec![0; usize::from(octets)];
    stream
        .read_exact(&mut buffer)
        .await
        .map_err(io_error("receiving over TCP"))?;
    let reply = Message::parse(&buffer)?;
    if buffer[..2] != query[..2] || !belongs(&reply, question) {
        return Err(Error::Malformed(message::Error::BadName));
    }
    Ok(reply)
}

fn belongs(reply: &Message, question: &Question) -> bool {
    let same_question = match &reply.question {
        Some(echoed) => echoed == question,
        // Servers that cannot read a query answer FORMERR or NOTIMP without a question.
        None => reply.rcode != Rcode::NOERROR && reply.rcode != Rcode::NXDOMAIN,
    };
    reply.has(FLAG_QR) && reply.flags & OPCODE_MASK == 0 && same_question
}

fn looks_truncated(reply: &[u8]) -> bool {
    reply
        .get(2..4)
        .is_some_and(|flags| u16::from_be_bytes([flags[0], flags[1]]) & FLAG_TC != 0)
}

fn io_error(action: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Io {
        action,
        kind: error.kind(),
    }
}

fn first_failure(attempts: &[Attempt]) -> Outcome {
    let failures = attempts.iter().map(|attempt| &attempt.outcome);
    failures
        .into_iter()
        .find(|outcome| **outcome != Outcome::Timeout)
        .cloned()
        .unwrap_or(Outcome::Timeout)
}

fn settle(result: Result<Message, Failure>, question: &Question) -> (Outcome, Option<Message>) {
    match result {
        Ok(reply) => (Outcome::of(reply.clone(), question), Some(reply)),
        Err(Failure::Timeout) => (Outcome::Timeout, None),
        Err(Failure::Error(error)) => (Outcome::Error(error), None),
    }
}

fn report(
    (outcome, reply): (Outcome, Option<Message>),
    mut attempts: Vec<Attempt>,
    silent: &[SocketAddr],
    start: Instant,
) -> Report {
    let after = start.elapsed();
    let timeout = |server: &SocketAddr| Attempt {
        server: *server,
        after,
        outcome: Outcome::Timeout,
    };
    attempts.extend(silent.iter().map(timeout));
    Report {
        outcome,
        reply,
        attempts,
    }
}

/// The records of the wanted type at the end of the alias chain.
fn follow(answers: &[Record], question: &Question) -> Vec<Record> {
    let mut name: &Name = &question.name;
    for _ in 0..CNAME_HOPS_MAX {
        let here = answers.iter().filter(|record| record.name == *name);
        let wanted =
            |record: &&Record| question.rtype == Type::ANY || record.data.rtype() == question.rtype;
        let found = here.clone().filter(wanted).cloned().collect::<Vec<_>>();
        if !found.is_empty() {
            return found;
        }
        let alias = here.clone().find_map(|record| match &record.data {
            Data::Cname(target) => Some(target),
            _ => None,
        });
        match alias {
            Some(target) => name = target,
            None => return Vec::new(),
        }
    }
    Vec::new()
}

/// How long a negative answer holds: the smaller of the SOA's TTL and minimum (RFC 2308 §5).
fn negative_ttl(reply: &Message) -> Option<u32> {
    reply
        .authorities
        .iter()
        .find_map(|record| match &record.data {
            Data::Soa(soa) => Some(record.ttl_seconds.min(soa.minimum_seconds)),
            _ => None,
        })
}

#[cfg(test)]
mod tests;
