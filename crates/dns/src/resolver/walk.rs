//! The way from a question to its answer, one step at a time, without sockets or clocks.
//!
//! A walk starts at the deepest zone whose servers are known (a hint or a cached delegation), asks them, and goes down by referrals,
//! along aliases, and aside for addresses of servers that came without any. [`Walk::step`] says whom to ask what; [`Walk::take`] gives it
//! the reply. Only records inside the zone of the servers that sent them are believed. Everything is bounded: steps, depth of side
//! walks, aliases, servers per zone.

use std::net::{IpAddr, SocketAddr};

use super::cache::{Cache, Delegation, Known};
use crate::message::{FLAG_AA, Message, Question};
use crate::name::Name;
use crate::record::{Data, Rcode, Record, Soa, Type};

/// Questions asked on behalf of one client question.
const STEPS_MAX: usize = 40;
/// Side walks within side walks: the address of a server of the zone of a server.
const DEPTH_MAX: usize = 4;
/// Aliases followed.
const ALIASES_MAX: usize = 16;
/// Servers of one zone that are used.
const SERVERS_MAX: usize = 16;

/// Where a zone is served: the start of walks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The zone; the root for a resolver of everything.
    pub zone: Name,
    /// Its servers, with ports.
    pub servers: Vec<SocketAddr>,
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Response code.
    pub rcode: Rcode,
    /// Aliases and the records at their end.
    pub records: Vec<Record>,
    /// The SOA of a negative answer.
    pub soa: Option<Record>,
}

impl Answer {
    pub(super) fn failed(rcode: Rcode) -> Answer {
        Answer {
            rcode,
            records: Vec::new(),
            soa: None,
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Put this question to these servers and hand the reply to [`Walk::take`]. Port 0 stands for the port of delegated servers.
    Ask {
        /// Servers of one zone, any of which will do.
        servers: Vec<SocketAddr>,
        /// What to ask.
        question: Question,
    },
    /// The walk is over.
    Done(Answer),
}

/// A walk under way.
#[derive(Debug)]
pub struct Walk {
    /// The client's question at the bottom, side walks on top; never empty.
    frames: Vec<Frame>,
    n_steps: usize,
}

/// One name being looked for.
#[derive(Debug)]
struct Frame {
    name: Name,
    rtype: Type,
    /// Aliases passed so far.
    aliases: Vec<Record>,
    /// The zone whose servers are asked, and they.
    zone: Option<(Name, Delegation)>,
    /// Server names a side walk was made for.
    tried: Vec<Name>,
    /// Set once a zone's servers failed and the walk began anew from the hints.
    restarted: bool,
    answer: Option<Answer>,
}

impl Frame {
    fn new(question: Question) -> Frame {
        Frame {
            name: question.name,
            rtype: question.rtype,
            aliases: Vec::new(),
            zone: None,
            tried: Vec::new(),
            restarted: false,
            answer: None,
        }
    }

    fn question(&self) -> Question {
        Question {
            name: self.name.clone(),
            rtype: self.rtype,
        }
    }

    fn fail(&mut self, rcode: Rcode) {
        self.answer = Some(Answer::failed(rcode));
    }

    fn know(&mut self, known: Known) {
        let mut records = std::mem::take(&mut self.aliases);
        let (rcode, soa) = match known {
            Known::Records(found) => {
                records.extend(found);
                (Rcode::NOERROR, None)
            }
            Known::NoData(soa) => (Rcode::NOERROR, soa),
            Known::NxDomain(soa) => (Rcode::NXDOMAIN, soa),
        };
        self.answer = Some(Answer {
            rcode,
            records,
            soa,
        });
    }

    /// Goes on at the target of an alias.
    fn follow(&mut self, alias: Record, target: Name) {
        let seen = self.aliases.iter().any(|passed| passed.name == target);
        self.aliases.push(alias);
        self.zone = None;
        self.tried.clear();
        if seen || self.aliases.len() > ALIASES_MAX || target == self.name {
            return self.fail(Rcode::SERVFAIL);
        }
        self.name = target;
    }
}

impl Walk {
    /// A walk for `question`.
    pub fn new(question: Question) -> Walk {
        Walk {
            frames: vec![Frame::new(question)],
            n_steps: 0,
        }
    }

    /// The next thing to do.
    pub fn step(&mut self, hints: &[Hint], cache: &mut Cache, now_ms: u64) -> Step {
        loop {
            let depth = self.frames.len();
            let frame = self
                .frames
                .last_mut()
                .expect("the client's frame is never popped");
            if let Some(answer) = frame.answer.take() {
                match self.finish(answer) {
                    Some(answer) => return Step::Done(answer),
                    None => continue,
                }
            }
            if frame.zone.is_none() {
                consult(frame, cache, now_ms);
                if frame.answer.is_some() {
                    continue;
                }
                frame.zone = start(frame, hints, cache, now_ms);
            }
            let Some((zone, delegation)) = &frame.zone else {
                frame.fail(Rcode::REFUSED);
                continue;
            };
            if !delegation.servers.is_empty() {
                self.n_steps += 1;
                if self.n_steps > STEPS_MAX {
                    return Step::Done(Answer::failed(Rcode::SERVFAIL));
                }
                return Step::Ask {
                    servers: delegation.servers.clone(),
                    question: frame.question(),
                };
            }
            // A server inside the zone it serves cannot be found without glue.
            let side = delegation
                .names
                .iter()
                .find(|name| !frame.tried.contains(name) && !name.is_within(zone));
            match side.cloned().filter(|_| depth < DEPTH_MAX) {
                Some(name) => {
                    frame.tried.push(name.clone());
                    self.frames.push(Frame::new(Question {
                        name,
                        rtype: Type::A,
                    }));
                }
                None => frame.fail(Rcode::SERVFAIL),
            }
        }
    }

    /// Takes the reply to the last [`Step::Ask`]; `None` when no server gave a usable one.
    pub fn take(&mut self, reply: Option<Message>, cache: &mut Cache, now_ms: u64) {
        let frame = self
            .frames
            .last_mut()
            .expect("the client's frame is never popped");
        let Some((zone, _)) = frame.zone.clone() else {
            return;
        };
        let understood = reply.is_some_and(|reply| read(frame, &zone, &reply, cache, now_ms));
        if understood {
            return;
        }
        // The delegation may be out of date: forget it and begin anew, once.
        cache.forget(&zone);
        frame.zone = None;
        if frame.restarted {
            frame.fail(Rcode::SERVFAIL);
        }
        frame.restarted = true;
    }

    /// Ends the topmost frame: the client's answer, or addresses for the frame below.
    fn finish(&mut self, answer: Answer) -> Option<Answer> {
        if self.frames.len() == 1 {
            return Some(answer);
        }
        self.frames.pop();
        let (_, delegation) = self.frames.last_mut()?.zone.as_mut()?;
        delegation
            .servers
            .extend(addresses(answer.records.iter()).take(SERVERS_MAX));
        None
    }
}

/// Answers from the cache, passing aliases, as far as it goes.
fn consult(frame: &mut Frame, cache: &mut Cache, now_ms: u64) {
    while frame.answer.is_none() {
        if let Some(known) = cache.known(&frame.name, frame.rtype, now_ms) {
            return frame.know(known);
        }
        let alias = cache
            .known(&frame.name, Type::CNAME, now_ms)
            .filter(|_| frame.rtype != Type::CNAME);
        let Some(Known::Records(records)) = alias else {
            return;
        };
        let Some(alias) = records.into_iter().next() else {
            return;
        };
        let Data::Cname(target) = alias.data.clone() else {
            return;
        };
        frame.follow(alias, target);
    }
}

/// Where to begin: the deepest zone known, unless its servers have just failed.
fn start(
    frame: &Frame,
    hints: &[Hint],
    cache: &mut Cache,
    now_ms: u64,
) -> Option<(Name, Delegation)> {
    let above = hints.iter().filter(|hint| frame.name.is_within(&hint.zone));
    let hint = above.max_by_key(|hint| hint.zone.n_labels())?;
    let cached = cache
        .delegation(&frame.name, now_ms)
        .filter(|_| !frame.restarted);
    if let Some((zone, delegation)) =
        cached.filter(|(zone, _)| zone.n_labels() > hint.zone.n_labels())
    {
        return Some((zone, delegation));
    }
    let delegation = Delegation {
        names: Vec::new(),
        servers: hint.servers.clone(),
    };
    Some((hint.zone.clone(), delegation))
}

/// Reads a reply from a server of `zone`; false when it is of no use.
fn read(frame: &mut Frame, zone: &Name, reply: &Message, cache: &mut Cache, now_ms: u64) -> bool {
    if ![Rcode::NOERROR, Rcode::NXDOMAIN].contains(&reply.rcode) {
        return false;
    }
    let n_aliases = frame.aliases.len();
    // Walk along the answer section; each record must be inside the zone.
    loop {
        let here = |record: &&Record| record.name == frame.name && record.name.is_within(zone);
        let found = reply.answers.iter().filter(here).cloned();
        let (found, others) = found.partition::<Vec<_>, _>(|r| r.data.rtype() == frame.rtype);
        if !found.is_empty() {
            let known = Known::Records(found);
            cache.learn(frame.question(), known.clone(), now_ms);
            frame.know(known);
            return true;
        }
        let alias = others
            .into_iter()
            .find_map(|record| match record.data.clone() {
                Data::Cname(target) => Some((record, target)),
                _ => None,
            });
        let Some((alias, target)) = alias else { break };
        let question = Question {
            name: frame.name.clone(),
            rtype: Type::CNAME,
        };
        cache.learn(question, Known::Records(vec![alias.clone()]), now_ms);
        frame.follow(alias, target);
        if frame.answer.is_some() {
            return true;
        }
    }
    let soa = reply
        .authorities
        .iter()
        .find_map(|record| negative_soa(record, &frame.name, zone));
    let authoritative = reply.has(FLAG_AA) || soa.is_some();
    // The end of an alias is taken from this reply only if the same zone speaks for it; else it is looked for anew.
    let speaks = frame.name.is_within(zone)
        && authoritative
        && (n_aliases == frame.aliases.len() || soa.is_some());
    if reply.rcode == Rcode::NXDOMAIN && speaks {
        cache.learn(frame.question(), Known::NxDomain(soa.clone()), now_ms);
        frame.know(Known::NxDomain(soa));
        return true;
    }
    if speaks && (soa.is_some() || !refers(reply)) {
        cache.learn(frame.question(), Known::NoData(soa.clone()), now_ms);
        frame.know(Known::NoData(soa));
        return true;
    }
    descend(frame, zone, reply, cache, now_ms) || frame.aliases.len() > n_aliases
}

fn refers(reply: &Message) -> bool {
    reply
        .authorities
        .iter()
        .any(|record| record.data.rtype() == Type::NS)
}

/// The SOA of a negative answer, its TTL cut to its minimum.
fn negative_soa(record: &Record, name: &Name, zone: &Name) -> Option<Record> {
    let Data::Soa(Soa {
        minimum_seconds, ..
    }) = record.data
    else {
        return None;
    };
    if !name.is_within(&record.name) || !record.name.is_within(zone) {
        return None;
    }
    let ttl_seconds = record.ttl_seconds.min(minimum_seconds);
    Some(Record {
        ttl_seconds,
        ..record.clone()
    })
}

/// Follows a referral: it must lead strictly down, towards the name.
fn descend(
    frame: &mut Frame,
    zone: &Name,
    reply: &Message,
    cache: &mut Cache,
    now_ms: u64,
) -> bool {
    let leads_down = |record: &&Record| {
        record.data.rtype() == Type::NS
            && frame.name.is_within(&record.name)
            && record.name.is_within(zone)
            && record.name != *zone
    };
    let Some(first) = reply.authorities.iter().find(leads_down) else {
        return false;
    };
    let cut = first.name.clone();
    let servers = reply
        .authorities
        .iter()
        .filter(|r| r.name == cut)
        .filter_map(|r| match &r.data {
            Data::Ns(name) => Some((r, name)),
            _ => None,
        });
    let (records, names): (Vec<_>, Vec<_>) = servers.take(SERVERS_MAX).unzip();
    let glue = reply
        .additionals
        .iter()
        .filter(|r| names.contains(&&r.name) && r.name.is_within(zone));
    let ttl_seconds = records
        .iter()
        .copied()
        .chain(glue.clone())
        .map(|r| r.ttl_seconds)
        .min();
    let delegation = Delegation {
        servers: addresses(glue).take(SERVERS_MAX).collect(),
        names: names.iter().copied().cloned().collect(),
    };
    frame.tried.clear();
    if !delegation.servers.is_empty() {
        cache.delegate(
            cut.clone(),
            delegation.clone(),
            ttl_seconds.unwrap_or(0),
            now_ms,
        );
    }
    frame.zone = Some((cut, delegation));
    true
}

fn addresses<'a>(records: impl Iterator<Item = &'a Record>) -> impl Iterator<Item = SocketAddr> {
    records.filter_map(|record| match record.data {
        Data::A(address) => Some(SocketAddr::new(IpAddr::V4(address), 0)),
        Data::Aaaa(address) => Some(SocketAddr::new(IpAddr::V6(address), 0)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
