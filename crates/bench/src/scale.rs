//! Ten thousand hosts in three clusters: what a black-holed peer costs the others, what idling costs, and whether anything is written
//! without need. Runs in a network namespace of its own.

use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::json;

use crate::boot::{cpu_time, resident_kilobytes};
use crate::delay::{self, address};
use crate::dns::query;
use crate::failover::CLUSTERS;
use crate::failover::many::{HOSTS_EACH, Many, N_HOSTS, TAGS};
use crate::report::Report;

/// Time of idling.
const IDLE: Duration = Duration::from_secs(30);
/// What is left to do after a change is done by then.
const SETTLE: Duration = Duration::from_secs(10);
/// Zones that are made one after the other.
const N_ZONES: usize = 10;
/// Changes of one Gslb's health.
const N_FLIPS: usize = 10;

pub(crate) fn measure_apart(binary: &Path, report: &mut Report) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let many = runtime.block_on(Many::up(binary, &["--poll-interval", "30s"]))?;
    std::thread::sleep(SETTLE);
    idle(&runtime, &many, report)?;
    let mut times = Vec::new();
    for number in 0..N_ZONES {
        times.push(runtime.block_on(zone(&many, number))?);
    }
    report.times(
        "ZoneDelegation created to its first answer",
        times,
        "≤ 100 ms",
    );
    let mut times = Vec::new();
    for number in 0..N_FLIPS {
        let ready = number % 2 == 1;
        let start = runtime.block_on(many.set_first_ready(ready))?;
        let expected: &[u8] = if ready { &[1] } else { &[2, 3] };
        many.agreement_on(HOSTS_EACH, &CLUSTERS, expected)?;
        times.push(start.elapsed());
        std::thread::sleep(SETTLE / 5);
    }
    let what = format!("{HOSTS_EACH} hosts of one Gslb down or up until all three agree");
    report.times(&what, times, "≤ 1 s");
    let flip = |servers: &[u8]| -> Result<Flips> {
        let mut flips = Flips::default();
        let cpu = || cpu_time(many.flotilla.id());
        for ready in [false, true] {
            let before = cpu()?;
            let start = runtime.block_on(many.set_ready(ready))?;
            // The third cluster vouches for itself as long as it is heard or held.
            let expected: &[u8] = match (ready, servers.len()) {
                (true, _) => &[1],
                (false, 2) => &[2],
                (false, _) => &[2, 3],
            };
            many.agreement(servers, expected)?;
            flips.times.push(start.elapsed());
            flips.agreeing.push(cpu()?.saturating_sub(before));
            std::thread::sleep(SETTLE);
            flips.all.push(cpu()?.saturating_sub(before));
        }
        Ok(flips)
    };
    let flips = flip(&[1, 2, 3])?;
    let what = format!("{N_HOSTS} hosts down or up at once until all three agree");
    report.times(&what, flips.times, "≤ 1 s");
    let what = "processor time for it, all three clusters and their API servers";
    report.times(what, flips.agreeing, "");
    report.times("the same with everything written", flips.all, "");
    delay::black_hole(3, &CLUSTERS)?;
    // Until the others know: a keep-alive, its time-out, three questions.
    std::thread::sleep(3 * SETTLE);
    let what = format!("{N_HOSTS} hosts down or up at once until eu and us agree, za black-holed");
    report.times(&what, flip(&[1, 2])?.times, "as without");
    delay::clear()
}

/// What changes of all hosts took.
#[derive(Default)]
struct Flips {
    /// Until the servers agreed.
    times: Vec<Duration>,
    /// Processor time until then.
    agreeing: Vec<Duration>,
    /// Processor time until everything was written.
    all: Vec<Duration>,
}

fn idle(runtime: &tokio::runtime::Runtime, many: &Many, report: &mut Report) -> Result<()> {
    let before = runtime.block_on(many.versions())?;
    let cpu = cpu_time(many.flotilla.id())?;
    std::thread::sleep(IDLE);
    let used = cpu_time(many.flotilla.id())?.saturating_sub(cpu);
    let after = runtime.block_on(many.versions())?;
    let share = 100.0 * used.as_secs_f64() / IDLE.as_secs_f64();
    let n_clusters = TAGS.len();
    let value = format!(
        "{share:.2} % of a core, {:.2} % per cluster",
        share / n_clusters as f64
    );
    report.add(
        format!("{N_HOSTS} hosts × {n_clusters}, idle"),
        value,
        "< 2 %",
    );
    let n_written = after.difference(&before).count();
    let value = format!("{n_written} of {}", before.len());
    report.add(format!("objects written in {IDLE:?} of idling"), value, "0");
    let megabytes = resident_kilobytes(many.flotilla.id())? as f64 / 1024.0;
    report.add(
        format!("resident memory, {N_HOSTS} hosts × {n_clusters}"),
        format!("{megabytes:.0} MB"),
        "",
    );
    Ok(())
}

/// Time from a ZoneDelegation's creation to the first answer for its zone.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
async fn zone(many: &Many, number: usize) -> Result<Duration> {
    let zone = format!("zone-{number}.example.com");
    let object: DynamicObject = serde_json::from_value(
        json!({"apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation", "metadata": {"name": format!("zone-{number}")},
            "spec": {"loadBalancedZone": zone, "parentZone": "example.com", "dnsZoneNegTTL": 5}}),
    )?;
    let kind = GroupVersionKind::gvk("k8gb.io", "v1beta1", "ZoneDelegation");
    let zones: Api<DynamicObject> = Api::all_with(
        many.clients[0].clone(),
        &ApiResource::from_gvk_with_plural(&kind, "zonedelegations"),
    );
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect((address(1), many.flotilla.dns_port))?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    zones.create(&PostParams::default(), &object).await?;
    let start = Instant::now();
    let question = query(&zone, 6);
    let mut buffer = [0; 1500];
    loop {
        socket.send(&question)?;
        let octets = socket.recv(&mut buffer)?;
        if octets > question.len() && buffer[7] == 1 {
            return Ok(start.elapsed());
        }
        ensure!(
            start.elapsed() < Duration::from_secs(10),
            "zone {zone} is not served"
        );
        std::thread::sleep(Duration::from_micros(500));
    }
}
