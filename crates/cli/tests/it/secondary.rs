//! BIND, NSD and Knot keep copies of a balanced zone: told by NOTIFY, they fetch what changed by IXFR.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use flotilla_testkit::tools::{Kubectl, dig_short};
use flotilla_testkit::{Flotilla, eventually, free_port};
use tempfile::TempDir;

use crate::binary;
use crate::failover::LIMIT;
use crate::running::Running;

/// The key as BIND reads it.
const KEY: &str = "key \"copy\" {\n\talgorithm hmac-sha256;\n\tsecret \"Y29weSBvZiB0aGUgem9uZSBmb3IgYmluZA==\";\n};\n";

const SECRET: &str = "Y29weSBvZiB0aGUgem9uZSBmb3IgYmluZA==";

/// A program that keeps a copy of the zone. The zone's refresh time is two hours, so only NOTIFY can make it look.
struct Secondary {
    program: &'static str,
    arguments: &'static [&'static str],
    /// Its configuration: folder, its own port, the primary.
    config: fn(&Path, u16, SocketAddr) -> String,
}

impl Secondary {
    fn start(&self, folder: &Path, port: u16, primary: SocketAddr) -> Running {
        let file = folder.join("config");
        fs::write(&file, (self.config)(folder, port, primary)).expect("write the configuration");
        let log = || fs::File::create(folder.join("log")).expect("a log");
        let mut command = Command::new(self.program);
        command.args(self.arguments).arg(file).current_dir(folder);
        Running::start(command.stdout(Stdio::null()).stderr(log()))
    }
}

const BIND: Secondary = Secondary {
    program: "/usr/sbin/named",
    arguments: &["-g", "-c"],
    config: |folder, port, primary| {
        format!(
            "{KEY}options {{ directory \"{}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
             recursion no; pid-file none; session-keyfile none; dnssec-validation no; }};\n\
             controls {{ }};\n\
             zone \"cloud.example.com\" {{ type secondary; file \"copy\"; masterfile-format text;\n\
             primaries {{ {} port {} key \"copy\"; }}; }};\n",
            folder.display(),
            primary.ip(),
            primary.port(),
        )
    },
};

const NSD: Secondary = Secondary {
    program: "/usr/sbin/nsd",
    arguments: &["-d", "-c"],
    config: |folder, port, primary| {
        let folder = folder.display();
        let (ip, from) = (primary.ip(), primary.port());
        format!(
            "server:\n  ip-address: 127.0.0.1@{port}\n  username: \"\"\n  zonesdir: \"{folder}\"\n  pidfile: \"\"\n  \
             zonelistfile: \"{folder}/zones\"\n  xfrdfile: \"\"\n  xfrdir: \"{folder}\"\n\
             remote-control:\n  control-enable: no\n\
             key:\n  name: copy\n  algorithm: hmac-sha256\n  secret: \"{SECRET}\"\n\
             zone:\n  name: cloud.example.com\n  zonefile: copy\n  request-xfr: {ip}@{from} copy\n  \
             allow-notify: {ip} NOKEY\n  allow-notify: {ip} copy\n"
        )
    },
};

const KNOT: Secondary = Secondary {
    program: "/usr/sbin/knotd",
    arguments: &["-c"],
    config: |folder, port, primary| {
        let folder = folder.display();
        let (ip, from) = (primary.ip(), primary.port());
        format!(
            "server:\n  listen: 127.0.0.1@{port}\n  rundir: {folder}\n\
             control:\n  listen: {folder}/control\n\
             log:\n- target: stderr\n  any: info\n\
             database:\n  storage: {folder}\n\
             key:\n- id: copy\n  algorithm: hmac-sha256\n  secret: {SECRET}\n\
             remote:\n- id: primary\n  address: {ip}@{from}\n  key: copy\n\
             acl:\n- id: told\n  address: {ip}\n  action: notify\n\
             - id: told-with-key\n  address: {ip}\n  key: copy\n  action: notify\n\
             zone:\n- domain: cloud.example.com\n  storage: {folder}\n  file: copy\n  master: primary\n  \
             acl: [told, told-with-key]\n"
        )
    },
};

/// A DNSEndpoint with these addresses at one host, and one beside it that never changes.
fn endpoint(targets: &str) -> String {
    format!(
        "apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {{name: app, namespace: default, labels: {{k8gb.io/dnstype: local}}}}
spec:
  endpoints:
  - {{dnsName: app.cloud.example.com, recordType: A, recordTTL: 5, targets: [{targets}]}}
  - {{dnsName: b.cloud.example.com, recordType: A, recordTTL: 5, targets: [192.0.2.77]}}
  - {{dnsName: c.cloud.example.com, recordType: A, recordTTL: 5, targets: [192.0.2.78]}}
  - {{dnsName: d.cloud.example.com, recordType: A, recordTTL: 5, targets: [192.0.2.79]}}
"
    )
}

#[test]
#[ignore = "needs kubectl, dig and named"]
fn bind_as_a_secondary_follows_every_change() {
    // BIND keeps a journal of what came as a difference, and none of what came whole.
    follows_every_change(&BIND, |folder, _| folder.join("copy.jnl").exists());
}

#[test]
#[ignore = "needs kubectl, dig and nsd"]
fn nsd_as_a_secondary_follows_every_change() {
    // NSD does not say how the zone came.
    follows_every_change(&NSD, |_, _| true);
}

#[test]
#[ignore = "needs kubectl, dig and knotd"]
fn knot_as_a_secondary_follows_every_change() {
    follows_every_change(&KNOT, |_, log| log.contains("IXFR, incoming"));
}

/// `came_as_differences` looks into the folder and the log.
fn follows_every_change(secondary: &Secondary, came_as_differences: fn(&Path, &str) -> bool) {
    let folder = TempDir::new().expect("a folder");
    let keys = folder.path().join("key");
    fs::write(&keys, KEY).expect("write the key");
    let keys = keys.display().to_string();
    let copy: SocketAddr = format!("127.0.0.1:{}", free_port())
        .parse()
        .expect("address");
    let copy_address = copy.to_string();
    let arguments = [
        "--data-dir",
        ":memory:",
        "--transfer-key-file",
        &keys,
        "--secondary",
        &copy_address,
    ];
    let flotilla = Flotilla::up(binary(), &arguments);
    let kubectl = Kubectl::new(&flotilla);
    kubectl
        .with_input("apply -f -", &endpoint("192.0.2.1"))
        .out();
    let primary = SocketAddr::from(([127, 0, 0, 1], flotilla.dns_port));
    let answers = |server, host: &str| dig_short(server, &format!("{host}.cloud.example.com"), "A");
    eventually(
        "the primary answers",
        LIMIT,
        &vec!["192.0.2.1".to_owned()],
        || answers(primary, "app"),
    );

    let running = secondary.start(folder.path(), copy.port(), primary);
    eventually(
        "the copy is there",
        LIMIT,
        &vec!["192.0.2.1".to_owned()],
        || answers(copy, "app"),
    );
    for last in 2..5 {
        let address = format!("192.0.2.{last}");
        kubectl.with_input("apply -f -", &endpoint(&address)).out();
        eventually("the copy follows", LIMIT, &vec![address.clone()], || {
            answers(copy, "app")
        });
        assert_eq!(answers(copy, "b"), ["192.0.2.77"]);
    }
    let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    assert!(
        came_as_differences(folder.path(), &log),
        "no difference came:\n{log}"
    );
    kubectl.run("delete dnsendpoint app").out();
    eventually("the copy forgets", LIMIT, &Vec::<String>::new(), || {
        answers(copy, "app")
    });
    drop(running);
}
