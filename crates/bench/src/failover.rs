//! From an EndpointSlice that turns not ready to the moment every server agrees.

use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use flotilla_testkit::Flotilla;
use flotilla_testkit::tools::Kubectl;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use crate::dns::{addresses, query};
use crate::report::Report;

const HOST: &str = "podinfo.cloud.example.com";
const RUNS: usize = 10;
const LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn measure(binary: &Path, report: &mut Report) -> Result<()> {
    eprintln!("failover");
    let arguments = [
        "--log",
        "error",
        "--data-dir",
        ":memory:",
        "--fleet",
        "eu,us,za",
        "--poll-interval",
        "2s",
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
    let servers = Servers {
        port: flotilla.dns_port,
    };
    servers.all_answer_from(&[1])?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let kubeconfig = flotilla.kubeconfig();
    let client = runtime.block_on(crate::api::client(&kubeconfig, Some("eu")))?;
    let slices: Api<EndpointSlice> = Api::namespaced(client, "podinfo");
    let (mut local, mut fleet) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let ready = run % 2 == 1;
        let start = runtime.block_on(set_ready(&slices, ready))?;
        let expected: &[u8] = if ready { &[1] } else { &[2, 3] };
        let mut agreed = [None; 3];
        while agreed.iter().any(Option::is_none) {
            for (number, time) in (1..).zip(&mut agreed) {
                if time.is_none() && servers.clusters(number)? == expected {
                    *time = Some(start.elapsed());
                }
            }
            ensure!(start.elapsed() < LIMIT, "no agreement within {LIMIT:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        local.extend(agreed[0]);
        fleet.extend(agreed.into_iter().flatten().max());
    }
    report.times(
        "readiness flip to the local server's answer",
        local,
        "≤ 50 ms",
    );
    report.times(
        "readiness flip until all three agree, polling every 2 s",
        fleet,
        "≤ 3 s",
    );
    Ok(())
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

struct Servers {
    port: u16,
}

impl Servers {
    /// Which clusters the answer of the n-th server points to.
    fn clusters(&self, number: u8) -> Result<Vec<u8>> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        let query = query(HOST, 1);
        socket.send_to(&query, format!("127.1.{number}.1:{}", self.port))?;
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
        for number in 1..=3 {
            while self.clusters(number)? != expected {
                ensure!(start.elapsed() < LIMIT, "the fleet did not come up");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }
}
