//! Measurements of this crate as plain functions, called by `cargo xtask bench dns` with real sizes and by a test with tiny ones.
//!
//! CPU time is what the kernel accounts to the worker threads (`/proc/self/task/*/schedstat`), so a busy machine disturbs it little.

#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::answer::{self, Context, Request, Transport};
use crate::catalog::{Change, Publish, Zones};
use crate::dnssec::Signer;
use crate::dnssec::key::SigningKey;
use crate::geo::Geo;
use crate::message::{Question, encode_query};
use crate::name::{self, Name};
use crate::order::Entropy;
use crate::record::{Data, Type};
use crate::server::{Batch, Config, Metrics, Server};
use crate::zone::{Entry, RecordSet, Settings};

/// Name given to the measured server; its threads are found by it.
const SERVER: &str = "bench";
/// Different queries prepared per load; enough to leave the caches at a million hosts.
const QUERIES_MAX: usize = 200_000;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// Existing hosts of three addresses in fixed order.
    Plain,
    /// Existing hosts of three weighted clusters.
    Weighted,
    /// Names that do not exist.
    Missing,
    /// Existing hosts, letters in random case.
    MixedCase,
    /// Existing hosts of which the client gets the address near it.
    Nearest,
}

/// Result of [`load`].
#[derive(Debug, Clone)]
pub struct Load {
    /// Queries sent.
    pub n_sent: usize,
    /// Replies received.
    pub n_received: usize,
    /// Replies per second over the whole run.
    pub replies_per_second: f64,
    /// CPU time of the server's threads per reply, in nanoseconds.
    pub cpu_nanos_per_reply: f64,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = 100.0 * (1.0 - self.n_received as f64 / self.n_sent.max(1) as f64);
        write!(
            f,
            "{:.0} replies/s, {:.2} % lost, {:.2} µs server CPU per reply",
            self.replies_per_second,
            lost,
            self.cpu_nanos_per_reply / 1000.0
        )
    }
}

/// Result of [`rebuild`].
#[derive(Debug, Clone)]
pub struct Rebuild {
    /// Time to load all hosts at once.
    pub load: Duration,
    /// Median time from one change handed in to its being answered.
    pub change_median: Duration,
    /// Longest such time.
    pub change_max: Duration,
    /// Octets held per host, everything included.
    pub octets_per_host: usize,
}

impl fmt::Display for Rebuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "loaded in {:?}, change to answer {:?} (median) {:?} (max), {} octets per host",
            self.load, self.change_median, self.change_max, self.octets_per_host
        )
    }
}

fn zone_name() -> Result<Name, name::Error> {
    Name::parse("cloud.example.com")
}

fn host_name(number: usize) -> Result<Name, name::Error> {
    Name::parse(&format!("host-{number:07}.cloud.example.com"))
}

/// Three addresses, one per cluster.
fn entry(number: usize, mix: Mix) -> Entry {
    let [_, _, high, low] = (number as u32).to_be_bytes();
    let address = |cluster: u8| Data::A([10, cluster, high, low].into());
    let set = match mix {
        Mix::Weighted => {
            let groups = (1..=3).map(|cluster| (u32::from(cluster), vec![address(cluster)]));
            RecordSet::weighted(30, groups.collect(), None)
        }
        Mix::Nearest => RecordSet::nearest(30, (1..=3).map(address).collect()),
        Mix::Plain | Mix::Missing | Mix::MixedCase => {
            RecordSet::fixed(30, (1..=3).map(address).collect())
        }
    };
    Entry::of(set)
}

/// Zones with `n_hosts` hosts.
///
/// # Errors
/// When a name cannot be built, which the numbers used here do not cause.
pub fn zones(n_hosts: usize, mix: Mix) -> Result<Arc<Zones>, name::Error> {
    let zones = Zones::new();
    let zone = zone_name()?;
    let mut changes = vec![Change::Zone(Settings::k8gb(zone.clone(), 0, 30, vec![])?)];
    for number in 0..n_hosts {
        let (name, entry) = (host_name(number)?, entry(number, mix));
        changes.push(Change::Set {
            zone: zone.clone(),
            name,
            entry: entry.into(),
        });
    }
    zones.publish(changes);
    Ok(zones)
}

/// Loads a server on a loopback port with `queries_per_second` for `duration`, from one generator thread in this process.
///
/// # Errors
/// When sockets or `/proc` fail.
pub fn load(
    n_hosts: usize,
    mix: Mix,
    queries_per_second: usize,
    duration: Duration,
) -> io::Result<Load> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let _entered = runtime.enter();
    let zones = zones(n_hosts, mix).map_err(io::Error::other)?;
    let cfg = Config::new(SERVER, vec![SocketAddr::from(([127, 0, 0, 1], 0))]);
    let server = Server::start(&cfg, &zones, &Metrics::default()).map_err(io::Error::other)?;
    let queries = queries(n_hosts, mix).map_err(io::Error::other)?;
    let result = measure(
        server.addresses()[0],
        &queries,
        queries_per_second,
        duration,
    );
    runtime.block_on(server.stop());
    result
}

/// A server with nothing but generated hosts, for programs that measure it from outside.
#[derive(Debug)]
pub struct Serving {
    /// Answers until it is dropped.
    pub server: Server,
}

impl Serving {
    /// Serves `n_hosts` hosts with one worker on `address`; `geo` says what is near for [`Mix::Nearest`]. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn start(
        address: SocketAddr,
        n_hosts: usize,
        mix: Mix,
        geo: Option<Geo>,
    ) -> io::Result<Serving> {
        let zones = zones(n_hosts, mix).map_err(io::Error::other)?;
        let cfg = Config::new(SERVER, vec![address]);
        cfg.geo.set(geo);
        let server = Server::start(&cfg, &zones, &Metrics::default()).map_err(io::Error::other)?;
        Ok(Serving { server })
    }
}

/// Sends every datagram back, for ever.
///
/// # Errors
/// When the address cannot be bound.
pub fn echo_at(address: SocketAddr) -> io::Result<()> {
    let socket = UdpSocket::bind(address)?;
    let mut batch = Batch::new();
    loop {
        if batch.receive(&socket).is_ok() {
            batch.answer_all(copy);
            batch.send(&socket);
        }
    }
}

fn copy(query: &[u8], _: IpAddr, out: &mut [u8]) -> usize {
    out[..query.len()].copy_from_slice(query);
    // Marked as a reply, because generators of load believe nothing else.
    if let Some(flags) = out[..query.len()].get_mut(2) {
        *flags |= 0x80;
    }
    query.len()
}

/// The same load on a thread that only sends the queries back: what the system calls alone cost.
///
/// # Errors
/// When sockets or `/proc` fail.
pub fn echo(queries_per_second: usize, duration: Duration) -> io::Result<Load> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    let address = socket.local_addr()?;
    let done = Arc::<AtomicBool>::default();
    let its_done = Arc::clone(&done);
    let echoing = thread::Builder::new()
        .name(format!("dns {SERVER}"))
        .spawn(move || {
            let mut batch = Batch::new();
            while !its_done.load(Ordering::Relaxed) {
                if batch.receive(&socket).is_ok() {
                    batch.answer_all(copy);
                    batch.send(&socket);
                }
            }
        })?;
    let queries = queries(1000, Mix::Plain).map_err(io::Error::other)?;
    let result = measure(address, &queries, queries_per_second, duration);
    done.store(true, Ordering::Relaxed);
    echoing
        .join()
        .map_err(|_| io::Error::other("the echo thread panicked"))?;
    result
}

/// Nanoseconds per answer without sockets: the best of several rounds over random queries.
///
/// # Errors
/// When a name cannot be built, which the numbers used here do not cause.
pub fn answer_nanos(n_hosts: usize, mix: Mix) -> Result<f64, name::Error> {
    let queries = queries(n_hosts, mix)?;
    let zones = zones(n_hosts, mix)?;
    Ok(nanos(&zones, &queries, None, 5))
}

/// Nanoseconds per signed answer without sockets: for sets whose signatures have been made before, and for sets signed the first
/// time, which denials of random names always are.
///
/// # Errors
/// When a name cannot be built, which the numbers used here do not cause.
///
/// # Panics
/// When the system gives no random numbers for a key.
pub fn signed_nanos(mix: Mix) -> Result<(f64, f64), name::Error> {
    const N_HOSTS: usize = 1000;
    let mut queries = queries(N_HOSTS, mix)?;
    for query in &mut queries {
        // The DO bit.
        let flags = query.len() - 4;
        query[flags] = 0x80;
    }
    let (key, _) = SigningKey::generate().expect("the system has random numbers");
    let signer = Signer::new(key);
    let zones = zones(N_HOSTS, mix)?;
    queries.sort_by(|a, b| a[2..].cmp(&b[2..]));
    queries.dedup_by(|a, b| a[2..] == b[2..]);
    let first = nanos(&zones, &queries, Some(&signer), 1);
    Ok((nanos(&zones, &queries, Some(&signer), 5), first))
}

/// The best of `n_rounds`.
fn nanos(zones: &Zones, queries: &[Vec<u8>], signer: Option<&Signer>, n_rounds: usize) -> f64 {
    let catalog = zones.snapshot();
    let mut entropy = Entropy::new(1);
    let context = Context {
        catalog: &catalog,
        cookies: None,
        geo: None,
        signer,
        now_seconds: 0,
    };
    let client = IpAddr::from([127, 0, 0, 1]);
    let mut out = [0; 1232];
    let mut best = f64::INFINITY;
    for _ in 0..n_rounds {
        let start = Instant::now();
        for query in queries {
            let request = Request {
                query,
                client,
                transport: Transport::Udp,
            };
            answer::answer(&context, &request, &mut entropy, &mut out);
        }
        best = best.min(start.elapsed().as_nanos() as f64 / queries.len() as f64);
    }
    best
}

fn measure(
    server: SocketAddr,
    queries: &[Vec<u8>],
    queries_per_second: usize,
    duration: Duration,
) -> io::Result<Load> {
    let before = worker_cpu()?;
    let start = Instant::now();
    let (n_sent, n_received) = generate(server, queries, queries_per_second, duration)?;
    let seconds = start.elapsed().as_secs_f64();
    let cpu = worker_cpu()?.saturating_sub(before);
    Ok(Load {
        n_sent,
        n_received,
        replies_per_second: n_received as f64 / seconds,
        cpu_nanos_per_reply: cpu.as_nanos() as f64 / n_received.max(1) as f64,
    })
}

/// Queries for random hosts.
fn queries(n_hosts: usize, mix: Mix) -> Result<Vec<Vec<u8>>, name::Error> {
    let mut entropy = Entropy::new(1);
    (0..QUERIES_MAX.min(n_hosts.max(1) * 4))
        .map(|_| {
            let question = Question {
                name: host_name(draw(n_hosts, mix, &mut entropy))?,
                rtype: Type::A,
            };
            let mut query = encode_query(entropy.draw() as u16, 0, &question, Some(1232));
            if mix == Mix::MixedCase {
                mix_case(&mut query[12..], &mut entropy);
            }
            Ok(query)
        })
        .collect()
}

/// Names of random hosts as text, for generators of load.
pub fn questions(n_hosts: usize, mix: Mix, n_questions: usize) -> Vec<String> {
    let mut entropy = Entropy::new(1);
    let question = |_| {
        let number = draw(n_hosts, mix, &mut entropy);
        let mut name = format!("host-{number:07}.cloud.example.com").into_bytes();
        if mix == Mix::MixedCase {
            mix_case(&mut name, &mut entropy);
        }
        String::from_utf8_lossy(&name).into_owned()
    };
    (0..n_questions).map(question).collect()
}

/// The number of a host that exists, or of one that does not.
fn draw(n_hosts: usize, mix: Mix, entropy: &mut Entropy) -> usize {
    let first = if mix == Mix::Missing { n_hosts } else { 0 };
    first + entropy.below(n_hosts.max(1) as u64) as usize
}

fn mix_case(octets: &mut [u8], entropy: &mut Entropy) {
    for octet in octets
        .iter_mut()
        .filter(|octet| octet.is_ascii_alphabetic())
    {
        if entropy.below(2) == 0 {
            octet.make_ascii_uppercase();
        }
    }
}

/// Sends at a steady rate and counts what comes back.
fn generate(
    server: SocketAddr,
    queries: &[Vec<u8>],
    queries_per_second: usize,
    duration: Duration,
) -> io::Result<(usize, usize)> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    let receiver = socket.try_clone()?;
    let done = Arc::<AtomicBool>::default();
    let its_done = Arc::clone(&done);
    let receiving = thread::spawn(move || {
        let mut buffer = [0; 1500];
        let mut n_received = 0;
        loop {
            match receiver.recv(&mut buffer) {
                Ok(_) => n_received += 1,
                Err(_) if its_done.load(Ordering::Relaxed) => return n_received,
                Err(_) => {}
            }
        }
    });
    let start = Instant::now();
    let mut n_sent = 0;
    let mut all = queries.iter().cycle();
    while start.elapsed() < duration {
        let due = (start.elapsed().as_secs_f64() * queries_per_second as f64) as usize;
        while n_sent < due {
            let Some(query) = all.next() else { break };
            socket.send(query)?;
            n_sent += 1;
        }
        thread::sleep(Duration::from_micros(200));
    }
    done.store(true, Ordering::Relaxed);
    let n_received = receiving
        .join()
        .map_err(|_| io::Error::other("the receiver panicked"))?;
    Ok((n_sent, n_received))
}

/// CPU time of the measured server's worker threads so far.
fn worker_cpu() -> io::Result<Duration> {
    let mut nanos = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let path = task?.path();
        let name = fs::read_to_string(path.join("comm"))?;
        if name.trim_end() == format!("dns {SERVER}") {
            let times = fs::read_to_string(path.join("schedstat"))?;
            let on_cpu = times
                .split_whitespace()
                .next()
                .and_then(|text| text.parse::<u64>().ok());
            nanos += on_cpu.ok_or_else(|| io::Error::other("schedstat has no first field"))?;
        }
    }
    Ok(Duration::from_nanos(nanos))
}

/// Measures loading, single changes and memory at `n_hosts` hosts.
///
/// # Errors
/// When a name cannot be built, which the numbers used here do not cause.
pub fn rebuild(n_hosts: usize, n_changes: usize) -> Result<Rebuild, name::Error> {
    let start = Instant::now();
    let zones = zones(n_hosts, Mix::Weighted)?;
    let load = start.elapsed();
    let zone = zone_name()?;
    let mut entropy = Entropy::new(2);
    let mut times = Vec::new();
    for _ in 0..n_changes {
        let number = entropy.below(n_hosts.max(1) as u64) as usize;
        let name = host_name(number)?;
        let entry = entry(number + 1, Mix::Plain);
        let change = Change::Set {
            zone: zone.clone(),
            name: name.clone(),
            entry: entry.clone().into(),
        };
        let start = Instant::now();
        zones.publish(vec![change]);
        let snapshot = zones.snapshot();
        let seen = snapshot.zone(&zone).and_then(|zone| zone.entry(&name));
        times.push(start.elapsed());
        assert_eq!(seen, Some(entry), "the change is visible");
    }
    times.sort_unstable();
    let memory = zones
        .snapshot()
        .zone(&zone)
        .map_or(0, |zone| zone.memory_octets());
    Ok(Rebuild {
        load,
        change_median: times.get(times.len() / 2).copied().unwrap_or_default(),
        change_max: times.last().copied().unwrap_or_default(),
        octets_per_host: memory / n_hosts.max(1),
    })
}

#[cfg(test)]
mod tests;
