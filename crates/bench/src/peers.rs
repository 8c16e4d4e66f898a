//! Our DNS engine beside NSD, Knot and BIND, all serving the same zone: what a query costs the server.
//!
//! Each server is a process pinned to the first core, `dnsperf` one pinned to the second. One core of dnsperf cannot saturate these servers,
//! so queries come at a fixed rate and the processor time of the server is what is compared; an echo server with the same
//! system calls is the floor. The rate is the highest of [`RATES`] at which the echo server loses nothing. Ours is this program
//! with the engine in it and nothing else, as the others are.

mod config;

use std::fmt::Write as _;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use flotilla_dns::bench::{self, Mix, Serving};
use flotilla_dns::geo::Geo;
use flotilla_testkit::free_port;
use maxminddb_writer::Database;
use maxminddb_writer::metadata::IpVersion;
use maxminddb_writer::paths::IpAddrWithMask;

use crate::boot::cpu_time;
use crate::dns::query;
use crate::report::{Report, shown};

/// Queries per second that are offered, the first that the machine can carry.
const RATES: [u64; 4] = [150_000, 100_000, 50_000, 25_000];
/// Time of one run.
const TIME: Duration = Duration::from_secs(4);
/// Queries prepared per run; enough to leave the caches at a million names.
const QUERIES: usize = 200_000;
/// Longest wait for a server to load a million names.
const LOAD_LIMIT: Duration = Duration::from_secs(180);
/// Names in the zone.
const SIZES: [usize; 4] = [10, 1_000, 100_000, 1_000_000];
/// Size at which every mix is asked, of everybody who can answer it.
const MIX_SIZE: usize = 1_000;

/// What is asked, in words.
const MIXES: [(&str, Mix); 5] = [
    ("A", Mix::Plain),
    ("NXDOMAIN", Mix::Missing),
    ("mixed case", Mix::MixedCase),
    ("weighted", Mix::Weighted),
    ("by place, with client subnet", Mix::Nearest),
];

/// Measures everybody who is installed.
pub(crate) fn measure(report: &mut Report) -> Result<()> {
    eprintln!("dns peers");
    for tool in ["dnsperf", "taskset"] {
        if find(tool).is_none() {
            report.add(
                "DNS beside other servers",
                format!("skipped: {tool} is not installed"),
                "",
            );
            return Ok(());
        }
    }
    if std::thread::available_parallelism()?.get() < 2 {
        report.add(
            "DNS beside other servers",
            "skipped: it takes two cores".into(),
            "",
        );
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let floor = floor(folder.path(), report)?;
    for n_names in SIZES {
        fs::write(folder.path().join("zone"), zone_file(n_names))?;
        for peer in config::PEERS {
            let what = format!("{}, A, {n_names} names", peer.name);
            let Some(program) = find(peer.program) else {
                report.add(
                    what,
                    format!("skipped: {} is not installed", peer.program),
                    "",
                );
                continue;
            };
            let server = Server::start(folder.path(), n_names, |port| {
                (peer.command)(&program, folder.path(), port)
            })?;
            server.row(&what, Mix::Plain, n_names, &floor, "", report)?;
            if n_names == MIX_SIZE {
                for (words, mix) in [MIXES[1], MIXES[2]] {
                    let what = format!("{}, {words}, {n_names} names", peer.name);
                    server.row(&what, mix, n_names, &floor, "", report)?;
                }
                server.latency(peer.name, n_names, &floor, "", report)?;
            }
        }
        ours(folder.path(), n_names, &floor, report)?;
    }
    Ok(())
}

/// The echo server, and the rate the machine carries.
struct Floor {
    rate: u64,
    micros: f64,
}

fn floor(folder: &Path, report: &mut Report) -> Result<Floor> {
    let server = Server::start(folder, 0, |port| own("echo", port, 0))?;
    for rate in RATES {
        let run = server.load(Mix::Plain, 1_000, rate, &[])?;
        if run.lost <= 0.002 {
            let micros = run.micros;
            let value = format!("{micros:.2} µs");
            report.add(
                format!("server CPU per query at {rate}/s, echo"),
                value,
                "the floor",
            );
            let floor = Floor { rate, micros };
            // What of an answer time is the machine's and dnsperf's own.
            server.latency("echo", 1_000, &floor, "the floor", report)?;
            return Ok(floor);
        }
    }
    bail!(
        "the machine is too busy: {}/s are lost even by an echo server",
        RATES[3]
    )
}

fn ours(folder: &Path, n_names: usize, floor: &Floor, report: &mut Report) -> Result<()> {
    let mixes = if n_names == MIX_SIZE {
        &MIXES[..]
    } else {
        &MIXES[..1]
    };
    for (words, mix) in mixes {
        let kind = match mix {
            Mix::Weighted => "weighted",
            Mix::Nearest => "nearest",
            _ => "plain",
        };
        let server = Server::start(folder, n_names, |port| own(kind, port, n_names))?;
        let what = format!("flotilla, {words}, {n_names} names");
        let target = if *mix == Mix::Plain {
            "≤ 1.15 × echo, ≤ 0.9 × Knot"
        } else {
            ""
        };
        server.row(&what, *mix, n_names, floor, target, report)?;
        if n_names == MIX_SIZE && *mix == Mix::Plain {
            server.latency("flotilla", n_names, floor, "≤ 200 µs", report)?;
        }
    }
    Ok(())
}

/// This program as a server; see [`serve`].
fn own(kind: &str, port: u16, n_names: usize) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", kind, &port.to_string(), &n_names.to_string()]);
    Ok(command)
}

/// What the program does when it is started as a server: runs until it is killed.
pub(crate) fn serve(arguments: &[String]) -> Result<()> {
    let [kind, port, n_names] = arguments else {
        bail!("usage: flotilla-bench serve KIND PORT NAMES")
    };
    let address = SocketAddr::from(([127, 0, 0, 1], port.parse()?));
    let mix = match kind.as_str() {
        "echo" => return Ok(bench::echo_at(address)?),
        "weighted" => Mix::Weighted,
        "nearest" => Mix::Nearest,
        _ => Mix::Plain,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let geo = (mix == Mix::Nearest).then(places).transpose()?;
    let _inside = runtime.enter();
    let serving = Serving::start(address, n_names.parse()?, mix, geo)?;
    runtime.block_on(std::future::pending::<()>());
    drop(serving);
    Ok(())
}

/// A database in which every cluster's addresses, and the clients asked for, have a place.
fn places() -> Result<Geo> {
    let mut database = Database::default();
    database.metadata.ip_version = IpVersion::V4;
    database.metadata.binary_format_major_version = 2;
    for (network, bits, place) in [
        ([10, 1, 0, 0], 16, "one"),
        ([10, 2, 0, 0], 16, "two"),
        ([10, 3, 0, 0], 16, "three"),
        ([192, 0, 2, 0], 24, "one"),
    ] {
        let data = database.insert_value(serde_json::json!({ "datacenter": place }))?;
        database.insert_node(IpAddrWithMask::new(network.into(), bits), data);
    }
    Ok(Geo::new(database.write_to(Vec::new())?, &["datacenter"])?)
}

/// A server under test.
struct Server {
    child: Child,
    port: u16,
    queries: PathBuf,
}

/// What came of one load.
struct Run {
    micros: f64,
    lost: f64,
}

impl Server {
    /// Starts a server on the first core and waits until it answers.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    fn start(
        folder: &Path,
        n_names: usize,
        command: impl FnOnce(u16) -> Result<Command>,
    ) -> Result<Server> {
        let port = free_port();
        let command = command(port)?;
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", "0"]).arg(command.get_program());
        pinned.args(command.get_args());
        pinned.stdout(Stdio::null()).stderr(Stdio::null());
        let child = pinned.spawn().context("start a server")?;
        let server = Server {
            child,
            port,
            queries: folder.join("queries"),
        };
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        let last = n_names.saturating_sub(1);
        let question = query(&format!("host-{last:07}.cloud.example.com"), 1);
        let start = Instant::now();
        let mut buffer = [0; 1500];
        loop {
            // A server that is not there yet refuses; that is waited out like silence.
            let _ = socket.send_to(&question, ("127.0.0.1", port));
            let reply = socket.recv(&mut buffer);
            // An answer with records; the echo server has none and sends the question back.
            if matches!(reply, Ok(octets) if octets > question.len() || n_names == 0) {
                return Ok(server);
            }
            ensure!(
                start.elapsed() < LOAD_LIMIT,
                "a server does not answer within {LOAD_LIMIT:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn row(
        &self,
        what: &str,
        mix: Mix,
        n_names: usize,
        floor: &Floor,
        target: &str,
        report: &mut Report,
    ) -> Result<()> {
        let run = self.load(mix, n_names, floor.rate, &[])?;
        let value = format!(
            "{:.2} µs ({:.2} × echo), {:.2} % lost",
            run.micros,
            run.micros / floor.micros,
            100.0 * run.lost
        );
        let what = format!("server CPU per query at {}/s, {what}", floor.rate);
        report.add(what, value, target);
        Ok(())
    }

    /// Answer times at half the rate, as dnsperf saw each.
    fn latency(
        &self,
        name: &str,
        n_names: usize,
        floor: &Floor,
        target: &str,
        report: &mut Report,
    ) -> Result<()> {
        let rate = floor.rate / 2;
        self.write_queries(Mix::Plain, n_names)?;
        let output = self.dnsperf(rate, &["-v"])?;
        let mut times = output
            .lines()
            .filter(|line| line.starts_with("> "))
            .filter_map(|line| line.split_whitespace().last()?.parse::<f64>().ok())
            .collect::<Vec<_>>();
        ensure!(!times.is_empty(), "dnsperf reported no times");
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let seconds = times[((times.len() - 1) as f64 * share) as usize];
            shown(Duration::from_secs_f64(seconds.max(0.0)))
        };
        let value = format!("p50 {} p99 {}", at(0.5), at(0.99));
        let what = format!("answer time at {rate}/s, {name}, A, {n_names} names");
        report.add(what, value, target);
        Ok(())
    }

    fn load(&self, mix: Mix, n_names: usize, rate: u64, more: &[&str]) -> Result<Run> {
        self.write_queries(mix, n_names)?;
        let subnet: &[&str] = match mix {
            // 192.0.2.0/24, source prefix 24.
            Mix::Nearest => &["-e", "-E", "8:00011800c00002"],
            _ => more,
        };
        let before = self.cpu()?;
        let output = self.dnsperf(rate, subnet)?;
        let used = self.cpu()?.saturating_sub(before);
        let field = |name: &str| -> Result<f64> {
            let line = output
                .lines()
                .find(|line| line.trim_start().starts_with(name));
            let value = line.and_then(|line| line.split(':').nth(1)?.split_whitespace().next());
            value
                .and_then(|value| value.parse().ok())
                .with_context(|| format!("dnsperf: {name}"))
        };
        let (sent, completed) = (field("Queries sent")?, field("Queries completed")?);
        // What dnsperf itself could not send in time counts as lost, too: it waited for the server.
        let offered = (rate as f64 * TIME.as_secs_f64()).max(sent);
        Ok(Run {
            micros: used.as_secs_f64() * 1e6 / completed.max(1.0),
            lost: (1.0 - completed / offered).max(0.0),
        })
    }

    fn write_queries(&self, mix: Mix, n_names: usize) -> Result<()> {
        let mut text = String::new();
        for question in bench::questions(n_names, mix, QUERIES) {
            let _ = writeln!(text, "{question} A");
        }
        fs::write(&self.queries, text).context("write the queries")
    }

    fn dnsperf(&self, rate: u64, more: &[&str]) -> Result<String> {
        let output = Command::new("taskset")
            .args([
                "-c",
                "1",
                "dnsperf",
                "-s",
                "127.0.0.1",
                "-T",
                "1",
                "-c",
                "8",
                "-q",
                "2000",
            ])
            .args([
                "-t",
                "1",
                "-p",
                &self.port.to_string(),
                "-Q",
                &rate.to_string(),
            ])
            .args(["-l", &TIME.as_secs().to_string()])
            .args(more)
            .arg("-d")
            .arg(&self.queries)
            .output()
            .context("run dnsperf")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            output.status.success(),
            "dnsperf: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(text)
    }

    /// Processor time of the server and its children so far.
    fn cpu(&self) -> Result<Duration> {
        let mut family = vec![self.child.id()];
        let mut at = 0;
        while at < family.len() {
            family.extend(children(family[at]));
            at += 1;
        }
        // A child that ends meanwhile had nothing to do with the load.
        Ok(family.into_iter().filter_map(|id| cpu_time(id).ok()).sum())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for id in children(self.child.id()) {
            flotilla_testkit::interrupt_process(id);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The direct children of a process.
fn children(id: u32) -> Vec<u32> {
    let path = format!("/proc/{id}/task/{id}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|id| id.parse().ok())
        .collect()
}

/// A program in the usual folders, those of servers included.
fn find(program: &str) -> Option<PathBuf> {
    let folders = [
        "/usr/sbin",
        "/usr/bin",
        "/sbin",
        "/bin",
        "/usr/local/sbin",
        "/usr/local/bin",
    ];
    let paths = folders.iter().map(|folder| Path::new(folder).join(program));
    paths.into_iter().find(|path| path.exists())
}

/// The zone as text: what [`bench::zones`] has with [`Mix::Plain`].
fn zone_file(n_names: usize) -> String {
    let mut text = String::from(
        "$ORIGIN cloud.example.com.\n$TTL 30\n\
         @ IN SOA ns1.dns hostmaster.dns 1 7200 1800 86400 30\n@ IN NS ns1.dns\nns1.dns IN A 127.0.0.1\n",
    );
    for number in 0..n_names {
        let [_, _, high, low] = (number as u32).to_be_bytes();
        for cluster in 1..=3 {
            let _ = writeln!(text, "host-{number:07} IN A 10.{cluster}.{high}.{low}");
        }
    }
    text
}
