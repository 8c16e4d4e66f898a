//! BIND keeps a copy of a balanced zone: told by NOTIFY, it fetches what changed by IXFR.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use flotilla_testkit::tools::{Kubectl, dig_short};
use flotilla_testkit::{Flotilla, eventually, free_port};
use tempfile::TempDir;

use crate::binary;
use crate::failover::LIMIT;

const KEY: &str = "key \"copy\" {\n\talgorithm hmac-sha256;\n\tsecret \"Y29weSBvZiB0aGUgem9uZSBmb3IgYmluZA==\";\n};\n";

/// A running `named`, killed when dropped.
struct Named(Child);

impl Named {
    /// Starts BIND as secondary of the zone at `primary`. Its refresh time is two hours, so only NOTIFY can make it look.
    fn start(folder: &Path, port: u16, primary: SocketAddr) -> Named {
        let config = format!(
            "{KEY}options {{ directory \"{}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
             recursion no; pid-file none; session-keyfile none; dnssec-validation no; }};\n\
             controls {{ }};\n\
             zone \"cloud.example.com\" {{ type secondary; file \"copy\"; masterfile-format text;\n\
             primaries {{ {} port {} key \"copy\"; }}; }};\n",
            folder.display(),
            primary.ip(),
            primary.port(),
        );
        let file = folder.join("named.conf");
        fs::write(&file, config).expect("write named.conf");
        let mut command = Command::new("/usr/sbin/named");
        command.arg("-g").arg("-c").arg(file).stdout(Stdio::null());
        let log = fs::File::create(folder.join("log")).expect("a log");
        Named(command.stderr(log).spawn().expect("start named"))
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

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
    let folder = TempDir::new().expect("a folder");
    let keys = folder.path().join("key");
    fs::write(&keys, KEY).expect("write the key");
    let keys = keys.display().to_string();
    let copy: SocketAddr = format!("127.0.0.1:{}", free_port())
        .parse()
        .expect("address");
    let secondary = copy.to_string();
    let arguments = [
        "--data-dir",
        ":memory:",
        "--transfer-key-file",
        &keys,
        "--secondary",
        &secondary,
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

    let named = Named::start(folder.path(), copy.port(), primary);
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
    // BIND keeps a journal of what came as a difference, and none of what came whole.
    let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    assert!(
        folder.path().join("copy.jnl").exists(),
        "no difference came:\n{log}"
    );
    kubectl.run("delete dnsendpoint app").out();
    eventually("the copy forgets", LIMIT, &Vec::<String>::new(), || {
        answers(copy, "app")
    });
    drop(named);
}
