//! Three clusters that fail over by DNS, seen through dig.

use std::net::SocketAddr;
use std::time::Duration;

use flotilla_testkit::tools::{Kubectl, dig, dig_short};
use flotilla_testkit::{Flotilla, eventually, run};

use crate::{binary, example};

pub(crate) const HOST: &str = "podinfo.cloud.example.com";
const CLUSTERS: [&str; 3] = ["eu", "us", "za"];
/// Longer than the fleet may take, so that a slow machine fails no test; speed is measured by
/// `cargo xtask bench`.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Fleet {
    flotilla: Flotilla,
}

impl Fleet {
    pub(crate) fn up(arguments: &[&str]) -> Self {
        let mut all = vec![
            "--fleet",
            "eu,us,za",
            "--data-dir",
            ":memory:",
            "--poll-interval",
            "1s",
        ];
        all.extend(arguments);
        Self {
            flotilla: Flotilla::up(binary(), &all),
        }
    }

    pub(crate) fn kubectl(&self, cluster: &str) -> Kubectl {
        Kubectl::context(&self.flotilla, cluster)
    }

    pub(crate) fn apply_everywhere(&self, file: &str) {
        for cluster in CLUSTERS {
            self.kubectl(cluster)
                .run(&format!("apply -f {}", example(file)))
                .out();
        }
    }

    /// Makes the endpoints of podinfo in `cluster` ready or not.
    pub(crate) fn set_ready(&self, cluster: &str, ready: bool) {
        let patch = format!(
            r#"[{{"op":"replace","path":"/endpoints/0/conditions/ready","value":{ready}}}]"#
        );
        let line = [
            "-n",
            "podinfo",
            "patch",
            "endpointslice",
            "podinfo-1",
            "--type=json",
            "-p",
        ];
        self.kubectl(cluster)
            .args(&[&line[..], &[&patch]].concat(), "")
            .shows("patched");
    }

    pub(crate) fn resolver(&self) -> SocketAddr {
        format!("127.0.0.1:{}", self.flotilla.dns_port)
            .parse()
            .expect("address")
    }

    /// The DNS server of the n-th cluster, counted from 1.
    pub(crate) fn server(&self, number: usize) -> SocketAddr {
        format!("127.1.{number}.1:{}", self.flotilla.dns_port)
            .parse()
            .expect("address")
    }

    /// Which clusters the answer of `server` points to, by the network of the addresses.
    pub(crate) fn answer(&self, server: SocketAddr, host: &str) -> Vec<&'static str> {
        let addresses = dig_short(server, host, "A");
        let mut clusters: Vec<&str> = CLUSTERS
            .into_iter()
            .enumerate()
            .filter(|(index, _)| {
                let prefix = format!("127.1.{}.", index + 1);
                addresses.iter().any(|address| address.starts_with(&prefix))
            })
            .map(|(_, cluster)| cluster)
            .collect();
        if addresses
            .iter()
            .any(|address| !address.starts_with("127.1."))
        {
            clusters.push("something else");
        }
        clusters
    }

    #[track_caller]
    fn expect(&self, what: &str, expected: &[&'static str]) {
        eventually(what, LIMIT, &expected.to_vec(), || {
            self.answer(self.resolver(), HOST)
        });
    }
}

#[test]
#[ignore = "needs kubectl and dig"]
fn a_host_fails_over_and_comes_back() {
    let fleet = Fleet::up(&[]);
    fleet.apply_everywhere("podinfo.yaml");
    fleet.expect("eu is primary", &["eu"]);
    for number in 1..=3 {
        eventually("every server agrees", LIMIT, &vec!["eu"], || {
            fleet.answer(fleet.server(number), HOST)
        });
    }
    fleet.set_ready("eu", false);
    fleet.expect("the secondaries take over", &["us", "za"]);
    fleet.set_ready("us", false);
    fleet.expect("one secondary is left", &["za"]);
    fleet.set_ready("eu", true);
    fleet.expect("the primary is back", &["eu"]);
    fleet
        .kubectl("eu")
        .run("-n podinfo get gslb podinfo")
        .shows("failover")
        .shows("eu");

    let explained = run(
        binary(),
        &[
            "gslb",
            "explain",
            HOST,
            "--kubeconfig",
            &fleet.flotilla.kubeconfig().to_string_lossy(),
        ],
    );
    let text = String::from_utf8_lossy(&explained.stdout);
    assert!(explained.status.success(), "{explained:?}");
    for word in ["eu", "us", "za", "failover", "127.1.1."] {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
}

#[test]
#[ignore = "needs kubectl and dig"]
fn round_robin_answers_with_every_healthy_cluster() {
    let fleet = Fleet::up(&[]);
    fleet.apply_everywhere("podinfo-roundrobin.yaml");
    let host = "roundrobin.cloud.example.com";
    let look = || fleet.answer(fleet.resolver(), host);
    eventually("all three answer", LIMIT, &CLUSTERS.to_vec(), look);
}

#[test]
#[ignore = "needs kubectl and dig"]
fn every_server_is_authoritative_and_says_no_properly() {
    let fleet = Fleet::up(&[]);
    fleet.apply_everywhere("podinfo.yaml");
    fleet.expect("eu is primary", &["eu"]);
    let server = fleet.server(1);
    let answer = dig(server, &[HOST, "A", "+norecurse"]);
    assert!(answer.out().contains("flags: qr aa;"), "{answer:?}");
    let nodata = dig(server, &[HOST, "AAAA"]);
    assert!(nodata.out().contains("status: NOERROR"), "{nodata:?}");
    assert!(nodata.stdout.contains("SOA"), "{nodata:?}");
    let missing = dig(server, &["nobody.cloud.example.com", "A"]);
    assert!(missing.out().contains("status: NXDOMAIN"), "{missing:?}");
    let foreign = dig(server, &["example.org", "A"]);
    assert!(foreign.out().contains("status: REFUSED"), "{foreign:?}");
    let tcp = dig(server, &[HOST, "A", "+tcp"]);
    assert!(tcp.out().contains("127.1.1."), "{tcp:?}");
    let local = dig_short(server, &format!("localtargets-{HOST}"), "A");
    assert!(
        !local.is_empty() && local.iter().all(|a| a.starts_with("127.1.1.")),
        "{local:?}"
    );
}
