//! From an EndpointSlice that turns not ready to the moment every server agrees.
//!
//! Plainly on loopback, and in a network namespace of its own with a slow network, with a network that leaves only polling, and with ten
//! thousand hosts that go down at once.

pub(crate) mod many;

use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use flotilla_testkit::Flotilla;
use flotilla_testkit::tools::Kubectl;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use self::many::Many;
use crate::delay;
use crate::dns::{addresses, query};
use crate::report::Report;

const HOST: &str = "podinfo.cloud.example.com";
const RUNS: usize = 10;
const LIMIT: Duration = Duration::from_secs(30);
pub(crate) const CLUSTERS: [u8; 3] = [1, 2, 3];
/// Delay of the slow network, each way.
const DELAY: Duration = Duration::from_millis(100);
/// Polling as users have it, so that what is agreed sooner was pushed.
const POLL: &str = "30s";

/// Without a network of our own.
pub(crate) fn measure(binary: &Path, report: &mut Report) -> Result<()> {
    eprintln!("failover");
    let fleet = Fleet::up(binary, POLL)?;
    let (local, all) = fleet.flips()?;
    report.times(
        "readiness flip to the local server's answer",
        local,
        "≤ 50 ms",
    );
    let what = format!("readiness flip until all three agree, pushed, polling every {POLL}");
    report.times(&what, all, "≤ 1 s");
    Ok(())
}

/// In a network namespace of our own.
pub(crate) fn measure_apart(binary: &Path, report: &mut Report) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    {
        let fleet = Fleet::up(binary, POLL)?;
        runtime.block_on(delay::delay(&CLUSTERS, fleet.port(), DELAY))?;
        let (_, all) = fleet.flips()?;
        let what = "readiness flip until all three agree, pushed, 100 ms of network delay each way";
        report.times(what, all, "≤ 1 s");
        delay::clear()?;
    }
    {
        delay::cut_connections(&CLUSTERS)?;
        let fleet = Fleet::up(binary, "2s")?;
        let (_, all) = fleet.flips()?;
        let what = "readiness flip until all three agree, polling every 2 s, nothing can be pushed";
        report.times(what, all, "≤ 3 s");
        delay::clear()?;
    }
    let many = runtime.block_on(Many::up(binary, &["--poll-interval", POLL]))?;
    let all = runtime.block_on(flips_of_many(&many))?;
    report.times(
        "10,000 hosts down at once until all three agree, pushed",
        all,
        "≤ 1 s",
    );
    runtime.block_on(delay::delay(&CLUSTERS, many.flotilla.dns_port, DELAY))?;
    // Connections that were open before go on without the delay; these are cut and opened again.
    delay::cut_connections(&CLUSTERS)?;
    std::thread::sleep(Duration::from_secs(8));
    delay::iptables("-F OUTPUT")?;
    std::thread::sleep(Duration::from_secs(8));
    let all = runtime.block_on(flips_of_many(&many))?;
    let what =
        "10,000 hosts down at once until all three agree, pushed, 100 ms of network delay each way";
    report.times(what, all, "≤ 1 s");
    delay::clear()
}

async fn flips_of_many(many: &Many) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for ready in [false, true, false, true] {
        let start = many.set_ready(ready).await?;
        many.agreement(&CLUSTERS, if ready { &[1] } else { &[2, 3] })?;
        times.push(start.elapsed());
        // What is left to be written to the API servers belongs to this flip and not to the next.
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    Ok(times)
}

/// Three clusters with one host.
struct Fleet {
    flotilla: Flotilla,
    runtime: tokio::runtime::Runtime,
    slices: Api<EndpointSlice>,
}

impl Fleet {
    fn up(binary: &Path, poll: &str) -> Result<Fleet> {
        let arguments = [
            "--log",
            "error",
            "--data-dir",
            ":memory:",
            "--fleet",
            "eu,us,za",
            "--poll-interval",
            poll,
        ];
        let flotilla = Flotilla::up(binary, &arguments);
        let example = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../examples/gslb/podinfo.yaml"
        );
        for cluster in ["eu", "us", "za"] {
            let applied = Kubectl::context(&flotilla, cluster).run(&format!("apply -f {example}"));
            ensure!(applied.ok, "{}", applied.stderr);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let client = runtime.block_on(crate::api::client(&flotilla.kubeconfig(), Some("eu")))?;
        let fleet = Fleet {
            flotilla,
            runtime,
            slices: Api::namespaced(client, "podinfo"),
        };
        fleet.all_answer_from(&[1])?;
        Ok(fleet)
    }

    fn port(&self) -> u16 {
        self.flotilla.dns_port
    }

    /// Times until the own server answers and until all do, for some flips.
    fn flips(&self) -> Result<(Vec<Duration>, Vec<Duration>)> {
        let (mut local, mut all) = (Vec::new(), Vec::new());
        for run in 0..RUNS {
            let ready = run % 2 == 1;
            let start = self.runtime.block_on(set_ready(&self.slices, ready))?;
            let expected: &[u8] = if ready { &[1] } else { &[2, 3] };
            let mut agreed = [None; 3];
            while agreed.iter().any(Option::is_none) {
                for (number, time) in (1..).zip(&mut agreed) {
                    if time.is_none() && self.clusters(number)? == expected {
                        *time = Some(start.elapsed());
                    }
                }
                ensure!(start.elapsed() < LIMIT, "no agreement within {LIMIT:?}");
                std::thread::sleep(Duration::from_millis(1));
            }
            local.extend(agreed[0]);
            all.extend(agreed.into_iter().flatten().max());
        }
        Ok((local, all))
    }

    /// Which clusters the answer of the n-th server points to.
    fn clusters(&self, number: u8) -> Result<Vec<u8>> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        let query = query(HOST, 1);
        socket.send_to(&query, (delay::address(number), self.port()))?;
        let mut buffer = [0; 1500];
        let length = socket
            .recv(&mut buffer)
            .context("no answer from the DNS server")?;
        let mut clusters: Vec<u8> = addresses(&query, &buffer[..length])
            .iter()
            .map(|address| address[2])
            .collect();
        clusters.dedup();
        Ok(clusters)
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    fn all_answer_from(&self, expected: &[u8]) -> Result<()> {
        let start = Instant::now();
        for number in CLUSTERS {
            while self.clusters(number)? != expected {
                ensure!(start.elapsed() < LIMIT, "the fleet did not come up");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }
}

/// Flips the endpoint and returns when that was acknowledged.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
async fn set_ready(slices: &Api<EndpointSlice>, ready: bool) -> Result<Instant> {
    let patch: json_patch::Patch = serde_json::from_value(
        json!([{"op": "replace", "path": "/endpoints/0/conditions/ready", "value": ready}]),
    )?;
    slices
        .patch(
            "podinfo-1",
            &PatchParams::default(),
            &Patch::Json::<()>(patch),
        )
        .await
        .context("flip the endpoint")?;
    Ok(Instant::now())
}
