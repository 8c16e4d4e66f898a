//! `flotilla run gslb`: a restart while the API server is away, and encrypted transports.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use flotilla_testkit::tools::{Kubectl, capture, dig, dig_short};
use flotilla_testkit::{Flotilla, eventually, free_port};
use tempfile::TempDir;

use crate::binary;
use crate::running::Running;

const HOST: &str = "app.cloud.example.com";
const LIMIT: Duration = Duration::from_secs(30);

/// Starts `flotilla run gslb` with the state in `folder`.
fn start(folder: &TempDir, kubeconfig: &str, dns: SocketAddr, edge_port: u16) -> Running {
    start_with(folder, kubeconfig, dns, edge_port, &[])
}

/// The same with more arguments.
fn start_with(
    folder: &TempDir,
    kubeconfig: &str,
    dns: SocketAddr,
    edge_port: u16,
    more: &[&str],
) -> Running {
    let mut command = Command::new(binary());
    command
        .args(["run", "gslb", "--kubeconfig", kubeconfig])
        .arg("--dns-listen")
        .arg(dns.to_string())
        .arg("--data-dir")
        .arg(folder.path())
        .args(more)
        .env("CLUSTER_GEO_TAG", "eu")
        .env("DNS_ZONES", "example.com:cloud.example.com:30")
        .env("EDGE_DNS_SERVERS", format!("127.0.0.1:{edge_port}"))
        .env("CLUSTER_EXPOSED_IPS", "192.0.2.1")
        .env("METRICS_ADDRESS", format!("127.0.0.1:{}", free_port()))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Running::start(&mut command)
}

/// A DNSEndpoint with one host.
const ENDPOINT: &str = "
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: app, namespace: default, labels: {k8gb.io/dnstype: local}}
spec:
  endpoints:
    - {dnsName: app.cloud.example.com, recordType: A, recordTTL: 5, targets: [192.0.2.7]}";

#[test]
#[ignore = "needs kubectl, dig and curl"]
fn dig_and_curl_are_answered_over_tls_and_https() {
    let cluster = Flotilla::up(binary(), &["--data-dir", ":memory:"]);
    let kubectl = Kubectl::new(&cluster);
    kubectl.with_input("apply -f -", ENDPOINT).shows("created");
    let folder = TempDir::new().expect("folder");
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("made");
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("write");
        path.to_str().expect("a path of letters").to_owned()
    };
    let (cert, key) = (
        file("cert.pem", made.cert.pem()),
        file("key.pem", made.signing_key.serialize_pem()),
    );
    let kubeconfig = cluster.kubeconfig();
    let kubeconfig = kubeconfig.to_str().expect("a path of letters");
    let [plain, tls, https] = [(); 3].map(|()| SocketAddr::from(([127, 0, 0, 1], free_port())));
    let more = [
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--dns-tls-listen",
        &tls.to_string(),
        "--dns-https-listen",
        &https.to_string(),
    ];
    let running = start_with(&folder, kubeconfig, plain, cluster.dns_port, &more);
    let expected = vec!["192.0.2.7".to_owned()];
    eventually("the cluster is read", LIMIT, &expected, || {
        dig_short(plain, HOST, "A")
    });
    for (address, transport) in [(tls, "+tls"), (https, "+https"), (https, "+https-get")] {
        dig(address, &[HOST, "A", transport, "+short"]).shows("192.0.2.7");
    }
    // curl resolves the host over HTTPS; nobody listens where it then wants to connect.
    let mut curl = Command::new("curl");
    curl.args([
        "--doh-url",
        &format!("https://{https}/dns-query"),
        "--doh-insecure",
    ]);
    curl.args([
        "--verbose",
        "--connect-timeout",
        "1",
        &format!("http://{HOST}/"),
    ]);
    let answer = capture(curl, "");
    assert!(answer.stderr.contains("192.0.2.7"), "{}", answer.stderr);
    running.kill();
}

#[test]
#[ignore = "needs kubectl and dig"]
fn a_restart_without_an_api_server_answers_what_was_answered_before() {
    let cluster = Flotilla::up(binary(), &["--data-dir", ":memory:"]);
    let kubectl = Kubectl::new(&cluster);
    kubectl.with_input("apply -f -", ENDPOINT).shows("created");
    let folder = TempDir::new().expect("folder");
    // A copy, because the cluster's goes with it.
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::copy(cluster.kubeconfig(), &kubeconfig).expect("copy the kubeconfig");
    let kubeconfig = kubeconfig.to_str().expect("a path of letters");
    let server = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let started = || start(&folder, kubeconfig, server, cluster.dns_port);
    let answer = || dig_short(server, HOST, "A");
    let expected = vec!["192.0.2.7".to_owned()];

    let first = started();
    eventually("the cluster is read", LIMIT, &expected, answer);
    eventually("it is on disk", LIMIT, &true, || {
        folder.path().join("dns-zones").exists()
    });
    first.kill();
    let second = started();
    eventually("both are there", LIMIT, &expected, answer);
    second.kill();
    cluster.kill();

    let third = start(&folder, kubeconfig, server, server.port());
    eventually("no API server is there", LIMIT, &expected, answer);
    // RFC 8914: the reply says that nobody has confirmed it since.
    dig(server, &[HOST, "A"])
        .shows("Stale Answer")
        .shows("remembered from before a restart");
    third.kill();
}
