//! What a DNS query costs the server, at a fixed rate on loopback.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use flotilla_dns::bench::{self, Mix};
use flotilla_testkit::Flotilla;

use crate::boot::cpu_time;
use crate::report::Report;

/// Queries per second that are offered; well below what one core answers, so that none are lost.
const RATE: u64 = 50_000;
/// Queries per second at which our server and a bare echo are compared.
const FIXED_RATE: usize = 100_000;
const TIME: Duration = Duration::from_secs(5);
/// Queries sent in a row before the sender looks at the clock again.
const BURST: u64 = 50;

pub(crate) fn measure(binary: &Path, report: &mut Report) -> Result<()> {
    eprintln!("dns");
    let flotilla = Flotilla::up(binary, &["--log", "error", "--data-dir", ":memory:"]);
    let server: SocketAddr = format!("127.0.0.1:{}", flotilla.dns_port).parse()?;
    let cases = [
        ("SOA of the zone", "cloud.example.com", 6),
        ("NXDOMAIN", "nobody.cloud.example.com", 1),
    ];
    for (what, name, kind) in cases {
        let before = cpu_time(flotilla.id())?;
        let answered = load(server, &query(name, kind))?;
        let used = cpu_time(flotilla.id())?.saturating_sub(before);
        let each = used.as_secs_f64() * 1e6 / answered as f64;
        let sent = RATE * TIME.as_secs();
        let value = format!(
            "{each:.2} µs at {RATE}/s, {:.2} % answered",
            100.0 * answered as f64 / sent as f64
        );
        report.add(format!("DNS server CPU per query, {what}"), value, "");
    }
    engine(report)
}

/// The engine alone, in this process: what an answer costs, and a change, as zones grow.
fn engine(report: &mut Report) -> Result<()> {
    for (name, mix) in [
        ("plain", Mix::Plain),
        ("NXDOMAIN", Mix::Missing),
        ("weighted", Mix::Weighted),
    ] {
        for n_hosts in [10, 1_000, 100_000, 1_000_000] {
            let nanos = bench::answer_nanos(n_hosts, mix)?;
            let what = format!("one DNS answer without sockets, {name}, {n_hosts} hosts");
            report.add(what, format!("{nanos:.0} ns"), "");
        }
    }
    for (name, mix) in [("plain", Mix::Plain), ("NXDOMAIN", Mix::Missing)] {
        let (cached, first) = bench::signed_nanos(mix)?;
        let what = format!("one signed DNS answer without sockets, {name}");
        let value = format!("{cached:.0} ns from the cache, {first:.0} ns signed first");
        report.add(what, value, "");
    }
    let echo = bench::echo(FIXED_RATE, TIME)?;
    report.add(
        format!("UDP echo with the same system calls, at {FIXED_RATE}/s"),
        echo.to_string(),
        "",
    );
    let load = bench::load(1_000, Mix::Plain, FIXED_RATE, TIME)?;
    report.add(
        format!("DNS server, 1,000 hosts, at {FIXED_RATE}/s"),
        load.to_string(),
        "≤ 1.15 × echo",
    );
    let rebuild = bench::rebuild(1_000_000, 2_000)?;
    report.add(
        "1,000,000 hosts",
        rebuild.to_string(),
        "≤ 5 ms, ≤ 250 octets",
    );
    Ok(())
}

/// Offers [`RATE`] queries a second for [`TIME`] and counts the answers.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn load(server: SocketAddr, query: &[u8]) -> Result<u64> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    let answered = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicBool::new(false));
    let receiver = {
        let (socket, answered, done) = (socket.try_clone()?, answered.clone(), done.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 1500];
            loop {
                match socket.recv(&mut buffer) {
                    Ok(_) => _ = answered.fetch_add(1, Ordering::Relaxed),
                    Err(_) if done.load(Ordering::Relaxed) => return,
                    Err(_) => {}
                }
            }
        })
    };
    let start = Instant::now();
    let mut sent = 0;
    while sent < RATE * TIME.as_secs() {
        for _ in 0..BURST {
            socket.send(query).context("send a query")?;
        }
        sent += BURST;
        let due = Duration::from_secs_f64(sent as f64 / RATE as f64);
        std::thread::sleep(due.saturating_sub(start.elapsed()));
    }
    done.store(true, Ordering::Relaxed);
    receiver.join().ok().context("the receiver panicked")?;
    Ok(answered.load(Ordering::Relaxed))
}

/// A query for one name and type, class IN, no recursion wanted (RFC 1035 §4.1).
pub(crate) fn query(name: &str, kind: u16) -> Vec<u8> {
    let mut message = vec![0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).unwrap_or(63));
        message.extend_from_slice(label.as_bytes());
    }
    message.push(0);
    message.extend_from_slice(&kind.to_be_bytes());
    message.extend_from_slice(&[0, 1]);
    message
}

/// The IPv4 addresses at the end of an answer to [`query`]: every A record's data is its last four
/// bytes, and with a compressed owner a record is 16 bytes long.
pub(crate) fn addresses(query: &[u8], answer: &[u8]) -> Vec<[u8; 4]> {
    let count = usize::from(u16::from_be_bytes([answer[6], answer[7]]));
    let records = answer.get(query.len()..).unwrap_or_default();
    let mut found: Vec<[u8; 4]> = records
        .chunks_exact(16)
        .take(count)
        .filter(|record| record[2..4] == [0, 1])
        .map(|record| [record[12], record[13], record[14], record[15]])
        .collect();
    found.sort_unstable();
    found
}
