//! A fleet delegates its zones to itself in BIND's zone, by signed dynamic updates (RFC 2136).

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use flotilla_apiserver::{ApiServer, Config, Handle, kubeconfig};
use flotilla_testkit::tools::{Kubectl, capture, dig};
use flotilla_testkit::{eventually, free_port};
use tempfile::TempDir;

use crate::binary;
use crate::failover::LIMIT;
use crate::running::Running;

/// Of each cluster, as `tsig-keygen` makes them, and one that BIND does not have.
const SECRETS: [(&str, &str); 3] = [
    ("eu", "ZXUgbWF5IGNoYW5nZSBpdHMgb3duIG5hbWUgc2VydmVyLg=="),
    ("us", "dXMgbWF5IGNoYW5nZSBpdHMgb3duIG5hbWUgc2VydmVyLg=="),
    ("za", "bm9ib2R5IGtub3dzIHRoaXMgc2VjcmV0IG9mIHphIHlldC4="),
];

const DELEGATION: &str = "
apiVersion: k8gb.io/v1beta1
kind: ZoneDelegation
metadata: {name: cloud-example-com}
spec: {loadBalancedZone: cloud.example.com, parentZone: example.com, dnsZoneNegTTL: 5, doFinalize: true}";

/// The parent zone, with a policy as administrators write it: each key adds to the delegation and changes its own name server.
fn parent(folder: &Path, port: u16) -> Running {
    let zone = "$ORIGIN example.com.\n$TTL 300\n@ SOA ns hostmaster 1 7200 1800 86400 5\n@ NS ns\nns A 127.0.0.1\nwww A 192.0.2.80\n";
    fs::write(folder.join("example.zone"), zone).expect("write the zone");
    let mut config = format!(
        "options {{ directory \"{}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
         recursion no; pid-file none; session-keyfile none; dnssec-validation no; }};\ncontrols {{ }};\n",
        folder.display()
    );
    let mut policy = String::new();
    for (tag, secret) in &SECRETS[..2] {
        config += &format!("key \"{tag}\" {{ algorithm hmac-sha256; secret \"{secret}\"; }};\n");
        policy += &format!(
            "grant {tag} name cloud.example.com. NS; grant {tag} name gslb-ns-{tag}-cloud.example.com. A AAAA;\n"
        );
    }
    config += &format!(
        "zone \"example.com\" {{ type primary; file \"example.zone\"; allow-transfer {{ any; }};\n\
         update-policy {{ {policy} }}; }};\n"
    );
    let file = folder.join("named.conf");
    fs::write(&file, config).expect("write the configuration");
    let log = fs::File::create(folder.join("named.log")).expect("a log");
    let mut named = Command::new("/usr/sbin/named");
    named.args(["-g", "-c"]).arg(file);
    Running::start(named.stdout(Stdio::null()).stderr(log))
}

/// An API server alone, and the controller that updates the parent zone for it, whose log is `<tag>.log`.
struct Cluster {
    kubectl: Kubectl,
    _controller: Running,
    server: Handle,
}

impl Cluster {
    async fn start(
        folder: &Path,
        (tag, secret): (&str, &str),
        address: &str,
        parent: SocketAddr,
    ) -> Cluster {
        let config = Config {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            ..Config::default()
        };
        let server = ApiServer::start(config).await.expect("an API server");
        let state = folder.join(tag);
        fs::create_dir(&state).expect("a folder");
        let kubeconfig = state.join("kubeconfig");
        let context = server.kubeconfig(tag).expect("it listens");
        kubeconfig::write(&kubeconfig, &[context]).expect("write the kubeconfig");
        let kubectl = Kubectl::with_kubeconfig(&kubeconfig);
        let mut manifests = Command::new(binary());
        manifests.args([
            "gslb",
            "manifests",
            "--image",
            "registry.example/flotilla:1",
        ]);
        let manifests = capture(manifests, "");
        let apply = "apply --server-side -f -";
        kubectl.with_input(apply, manifests.out()).out();
        kubectl.with_input(apply, DELEGATION).out();

        let log = fs::File::create(folder.join(format!("{tag}.log"))).expect("a log");
        let dns = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut command = Command::new(binary());
        command
            .args(["run", "gslb", "--kubeconfig"])
            .arg(&kubeconfig)
            .arg("--dns-listen")
            .arg(dns.to_string())
            .arg("--data-dir")
            .arg(state);
        for (name, value) in [
            ("CLUSTER_GEO_TAG", tag),
            ("CLUSTER_EXPOSED_IPS", address),
            ("EDGE_DNS_SERVERS", &parent.to_string()),
            ("FLOTILLA_UPDATE_SERVER", &parent.to_string()),
            ("FLOTILLA_UPDATE_KEY_NAME", tag),
            ("FLOTILLA_UPDATE_KEY_SECRET", secret),
            ("METRICS_ADDRESS", &format!("127.0.0.1:{}", free_port())),
        ] {
            command.env(name, value);
        }
        Cluster {
            kubectl,
            _controller: Running::start(command.stdout(Stdio::null()).stderr(log)),
            server,
        }
    }

    /// Deletes the ZoneDelegation, which ends when the parent zone has forgotten this cluster.
    fn leave(&self) {
        let line = "delete zonedelegation cloud-example-com --timeout=60s";
        self.kubectl.run(line).shows("deleted");
    }
}

/// The records of the zone but for those of its apex, sorted: names with types and data.
fn records(parent: SocketAddr) -> Vec<String> {
    let answer = dig(parent, &["example.com", "AXFR", "+noall", "+answer"]);
    let lines = answer.stdout.lines().map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        match words.as_slice() {
            [name, _ttl, _class, kind, data @ ..] => format!("{name} {kind} {}", data.join(" ")),
            _ => line.to_owned(),
        }
    });
    let mut lines: Vec<_> = lines
        .filter(|line| !line.starts_with("example.com. "))
        .map(|line| line.replace(".example.com.", ""))
        .collect();
    lines.sort();
    lines.dedup();
    lines
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, dig and named"]
async fn clusters_add_and_remove_themselves_in_binds_zone() {
    let folder = TempDir::new().expect("folder");
    let parent_at = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let _bind = parent(folder.path(), parent_at.port());
    let expect = |what: &str, ours: &[&str]| {
        // What the administrator wrote stays.
        let lines = ours.iter().chain(&["ns A 127.0.0.1", "www A 192.0.2.80"]);
        let lines: Vec<String> = lines.map(|line| (*line).to_owned()).collect();
        eventually(what, LIMIT, &lines, || records(parent_at));
    };
    expect("the parent zone is served", &[]);
    let start =
        |number: usize, address| Cluster::start(folder.path(), SECRETS[number], address, parent_at);

    let eu = start(0, "192.0.2.1").await;
    let of_eu = ["cloud NS gslb-ns-eu-cloud", "gslb-ns-eu-cloud A 192.0.2.1"];
    expect("the zone is eu's", &of_eu);
    let us = start(1, "192.0.2.2").await;
    let of_both = [
        "cloud NS gslb-ns-eu-cloud",
        "cloud NS gslb-ns-us-cloud",
        "gslb-ns-eu-cloud A 192.0.2.1",
        "gslb-ns-us-cloud A 192.0.2.2",
    ];
    expect("it is delegated to both, without an owner", &of_both);

    // Whose key BIND does not know changes nothing, and is told why, once.
    let za = start(2, "192.0.2.3").await;
    let told = || {
        let log = fs::read_to_string(folder.path().join("za.log")).expect("the log");
        log.matches("The parent zone was not updated").count()
    };
    eventually("za is told that it was refused", LIMIT, &1, told);
    expect("za has changed nothing", &of_both);

    us.leave();
    expect("us took itself out, and nothing else", &of_eu);
    eu.leave();
    expect("the zone is as its administrator wrote it", &[]);
    assert_eq!(told(), 1, "the same refusal is not told again");
    for cluster in [eu, us, za] {
        cluster.server.stop().await;
    }
}
