//! Other people's resolvers walk from a root through BIND 9 to our servers, and validate what we sign.
//!
//! Unbound, BIND and Knot Resolver, with strict QNAME minimisation and, where they have it, letters in random case. The parent
//! zone is BIND's. Runs as root in a network namespace of its own, where everybody may listen on port 53:
//! `unshare --net cargo test --package flotilla-cli --test it -- --ignored walks`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use flotilla_testkit::tools::{Answer, Kubectl, capture, dig, dig_short};
use flotilla_testkit::{Flotilla, eventually};
use tempfile::TempDir;

use crate::binary;
use crate::running::Running;

const CLUSTERS: [&str; 3] = ["eu", "us", "za"];
const ZONE: &str = "cloud.example.com";
const HOST: &str = "app.cloud.example.com";
const LIMIT: Duration = Duration::from_secs(60);
/// Root and parent zone, and the three resolvers.
const ROOT: &str = "127.2.0.1";
const PARENT: &str = "127.2.0.2";
const UNBOUND: &str = "127.3.0.1";
const BIND: &str = "127.3.0.2";
const KNOT: &str = "127.3.0.3";
/// Hosts of the χ² test: each is asked for once, so each is one draw.
const N_DRAWS: usize = 300;

/// Starts a server of somebody else.
fn start(folder: &Path, line: &str) -> Running {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a program");
    let log = fs::File::create(folder.join(format!("{}.log", words.clone().last().unwrap_or("x"))));
    let log = log.expect("a log file");
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("the log again"))
        .stderr(log);
    Running::start(&mut command)
}

fn server(ip: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().expect("an address"), 53)
}

/// Addresses of loopback that BIND must see as its own.
fn addresses() {
    let run = |line: &str| {
        let status = Command::new("ip").args(line.split_whitespace()).status();
        assert!(status.expect("ip runs").success(), "ip {line}");
    };
    run("link set lo up");
    for ip in [ROOT, PARENT, UNBOUND, BIND, KNOT] {
        run(&format!("addr add {ip}/32 dev lo"));
    }
}

/// Root and parent zone: BIND 9, from text files as an administrator writes them.
fn authorities(folder: &Path) -> Running {
    let path = folder.display();
    let mut example = format!(
        "$ORIGIN example.com.\n$TTL 300\n@ SOA ns hostmaster 1 7200 1800 86400 5\n@ NS ns\nns A {PARENT}\n"
    );
    for (number, cluster) in (1..).zip(CLUSTERS) {
        let _ = write!(
            example,
            "cloud NS gslb-ns-{cluster}-cloud\ngslb-ns-{cluster}-cloud A 127.1.{number}.1\n"
        );
    }
    let files = [
        (
            "root.zone",
            format!(
                "$TTL 300\n. SOA ns.root. hostmaster.root. 1 7200 1800 86400 5\n. NS ns.root.\nns.root. A {ROOT}\n\
                 example.com. NS ns.example.com.\nns.example.com. A {PARENT}\n"
            ),
        ),
        ("example.zone", example),
        ("hints", format!(". 3600 NS ns.root.\nns.root. 3600 A {ROOT}\n")),
        (
            "authority.conf",
            format!(
                "options {{ directory \"{path}\"; listen-on {{ {ROOT}; {PARENT}; }}; listen-on-v6 {{ none; }};
                   recursion no; pid-file none; session-keyfile none; dnssec-validation no; }};
                 controls {{}};
                 view root {{ match-destinations {{ {ROOT}; }}; zone \".\" {{ type primary; file \"root.zone\"; }}; }};
                 view example {{ match-destinations {{ {PARENT}; }};
                   zone \"example.com\" {{ type primary; file \"example.zone\"; }}; }};"
            ),
        ),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("write");
    }
    start(folder, "named -g -c authority.conf")
}

/// The resolvers, which trust the keys in `anchors`: flags, protocol, algorithm and key of each.
fn resolvers(folder: &Path, anchors: &[String]) -> Vec<Running> {
    let path = folder.display();
    let mut unbound = format!(
        "server:\n interface: {UNBOUND}\n outgoing-interface: {UNBOUND}\n access-control: 127.0.0.0/8 allow\n directory: \"{path}\"\n chroot: \"\"\n \
         username: \"\"\n pidfile: \"\"\n use-syslog: no\n do-ip6: no\n do-not-query-localhost: no\n \
         root-hints: \"hints\"\n qname-minimisation: yes\n qname-minimisation-strict: yes\n use-caps-for-id: yes\n \
         module-config: \"validator iterator\"\n"
    );
    let mut bind = format!(
        "options {{ directory \"{path}\"; listen-on {{ {BIND}; }}; listen-on-v6 {{ none; }}; query-source address {BIND};
           recursion yes; allow-recursion {{ any; }}; pid-file none; session-keyfile none; empty-zones-enable no;
           dnssec-validation yes; qname-minimization strict; }};
         controls {{}};
         zone \".\" {{ type hint; file \"hints\"; }};
         trust-anchors {{\n"
    );
    let mut knot = format!(
        "net.listen('{KNOT}', 53, {{ kind = 'dns' }})\nmodules = {{ 'hints > iterate' }}\n\
         hints.root({{ ['ns.root.'] = '{ROOT}' }})\ncache.size = 10*MB\ntrust_anchors.remove('.')\n\
         policy.add(policy.all(policy.FLAGS('ALLOW_LOCAL')))\n"
    );
    for anchor in anchors {
        let words = anchor.split_whitespace().collect::<Vec<_>>();
        let (numbers, key) = words.split_at(3);
        let (numbers, key) = (numbers.join(" "), key.concat());
        let _ = writeln!(unbound, " trust-anchor: \"{ZONE}. DNSKEY {numbers} {key}\"");
        let _ = writeln!(bind, "{ZONE}. static-key {numbers} \"{key}\";");
        let _ = writeln!(knot, "trust_anchors.add('{ZONE}. DNSKEY {numbers} {key}')");
    }
    bind.push_str("};\n");
    let anchors = bind.find("trust-anchors").expect("they are in it");
    fs::write(folder.join("anchors"), &bind[anchors..]).expect("write");
    for (name, text) in [
        ("unbound.conf", unbound),
        ("bind.conf", bind),
        ("knot.conf", knot),
    ] {
        fs::write(folder.join(name), text).expect("write");
    }
    fs::create_dir(folder.join("knot")).expect("a folder");
    vec![
        start(folder, "unbound -d -c unbound.conf"),
        start(folder, "named -g -c bind.conf"),
        start(folder, "kresd -n -c ../knot.conf knot"),
    ]
}

/// Everything the walk meets: hosts by name, in each cluster the same.
fn records() -> String {
    let mut text = "
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: walk, namespace: default, labels: {k8gb.io/dnstype: local}}
spec:
  endpoints:
    - {dnsName: app.cloud.example.com, recordType: A, recordTTL: 30, targets: [192.0.2.5, 192.0.2.6]}
    - {dnsName: deep.ent.cloud.example.com, recordType: A, recordTTL: 30, targets: [192.0.2.7]}
    - {dnsName: '*.wild.cloud.example.com', recordType: A, recordTTL: 30, targets: [192.0.2.8]}
    - {dnsName: alias.cloud.example.com, recordType: CNAME, recordTTL: 30, targets: [app.cloud.example.com]}
    - {dnsName: text.cloud.example.com, recordType: TXT, recordTTL: 30, targets: [hello]}
"
    .to_owned();
    // More than fit a datagram, and no more than BIND takes (`max-records-per-type`, 100).
    let many = (1..=90)
        .map(|last| format!("192.0.2.{last}"))
        .collect::<Vec<_>>();
    let _ = writeln!(
        text,
        "    - {{dnsName: many.cloud.example.com, recordType: A, recordTTL: 30, targets: [{}]}}",
        many.join(", ")
    );
    text
}

/// One Gslb with many hosts, of which each answer has one address, drawn by weight.
fn draws() -> String {
    let mut text = "
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: draw-1, namespace: default, labels: {kubernetes.io/service-name: draw}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.10], conditions: {ready: true}}]
ports: [{name: http, port: 80, protocol: TCP}]
---
apiVersion: v1
kind: Service
metadata: {name: draw, namespace: default}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: k8gb.io/v1beta1
kind: Gslb
metadata: {name: draw, namespace: default, annotations: {flotilla.dev/answer-count: '1'}}
spec:
  resourceRef: {apiVersion: networking.k8s.io/v1, kind: Ingress, name: draw}
  strategy: {type: roundRobin, dnsTtlSeconds: 60, weight: {eu: 5, us: 3, za: 2}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: draw, namespace: default}
spec:
  rules:
"
    .to_owned();
    for draw in 0..N_DRAWS {
        let _ = writeln!(
            text,
            "    - {{host: draw-{draw}.{ZONE}, http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: draw, port: {{name: http}}}}}}}}]}}}}"
        );
    }
    text
}

struct World {
    flotilla: Flotilla,
    folder: TempDir,
    servers: Vec<Running>,
}

fn world() -> World {
    addresses();
    let folder = TempDir::new().expect("folder");
    let mut servers = vec![authorities(folder.path())];
    let arguments = [
        "--fleet",
        "eu,us,za",
        "--data-dir",
        ":memory:",
        "--poll-interval",
        "1s",
        "--dns-port",
        "53",
        "--dnssec",
    ];
    let flotilla = Flotilla::up(binary(), &arguments);
    for cluster in CLUSTERS {
        let kubectl = Kubectl::context(&flotilla, cluster);
        kubectl
            .with_input("apply -f -", &records())
            .shows("created");
        kubectl.with_input("apply -f -", &draws()).shows("created");
    }
    let keys = |number: usize| {
        let answer = dig(
            server(&format!("127.1.{number}.1")),
            &[ZONE, "DNSKEY", "+short"],
        );
        let mut keys = answer.stdout.lines().map(str::to_owned).collect::<Vec<_>>();
        keys.sort();
        keys
    };
    let n_keys = |number: usize| keys(number).len();
    for number in 1..=3 {
        eventually("every cluster knows the keys of all", LIMIT, &3, || {
            n_keys(number)
        });
    }
    assert_eq!(keys(1), keys(2));
    assert_eq!(keys(1), keys(3));
    servers.extend(resolvers(folder.path(), &keys(1)));
    for ip in [UNBOUND, BIND, KNOT] {
        eventually("the resolver answers", LIMIT, &true, || {
            dig(server(ip), &[HOST, "A"]).stdout.contains("NOERROR")
        });
    }
    World {
        flotilla,
        folder,
        servers,
    }
}

/// Whether a resolver found the answer secure.
fn is_secure(answer: &Answer) -> bool {
    let flags = answer
        .stdout
        .lines()
        .find(|line| line.starts_with(";; flags:"));
    flags.is_some_and(|line| {
        line.split(';')
            .nth(2)
            .is_some_and(|flags| flags.contains(" ad"))
    })
}

/// Rows: name, type, code, records in the answer section (signatures not counted).
const TABLE: [(&str, &str, &str, usize); 15] = [
    (HOST, "A", "NOERROR", 2),
    ("ApP.cLoUd.ExAmPlE.cOm", "A", "NOERROR", 2),
    (HOST, "AAAA", "NOERROR", 0),
    ("missing.cloud.example.com", "A", "NXDOMAIN", 0),
    ("deep.missing.cloud.example.com", "A", "NXDOMAIN", 0),
    ("x.app.cloud.example.com", "A", "NXDOMAIN", 0),
    ("ent.cloud.example.com", "A", "NOERROR", 0),
    ("deep.ent.cloud.example.com", "A", "NOERROR", 1),
    ("any.wild.cloud.example.com", "A", "NOERROR", 1),
    ("any.wild.cloud.example.com", "TXT", "NOERROR", 0),
    ("alias.cloud.example.com", "A", "NOERROR", 3),
    ("many.cloud.example.com", "A", "NOERROR", 90),
    ("text.cloud.example.com", "TXT", "NOERROR", 1),
    (ZONE, "SOA", "NOERROR", 1),
    (ZONE, "NS", "NOERROR", 3),
];

#[test]
#[ignore = "needs root, a network namespace of its own, bind9, unbound, knot-resolver, kubectl and dig"]
fn walks_of_three_resolvers_through_bind_end_in_secure_answers() {
    let world = world();
    for (resolver, ip) in [("unbound", UNBOUND), ("bind", BIND), ("knot", KNOT)] {
        for (name, rtype, rcode, n_answers) in TABLE {
            let answer = dig(server(ip), &[name, rtype, "+dnssec", "+time=5"]);
            let what = format!("{name} {rtype} through {resolver}:\n{}", answer.stdout);
            assert!(
                answer.stdout.contains(&format!("status: {rcode}")),
                "{what}"
            );
            assert!(is_secure(&answer), "not secure: {what}");
            let records = answer
                .stdout
                .lines()
                .skip_while(|line| *line != ";; ANSWER SECTION:");
            let records = records.skip(1).take_while(|line| !line.is_empty());
            let n_found = records.filter(|line| !line.contains("\tRRSIG\t")).count();
            assert_eq!(n_found, n_answers, "{what}");
        }
        // Many names, so that every cluster is asked and their keys and denials mix in one cache.
        for number in 0..30 {
            let name = format!("mixed-{number}.cloud.example.com");
            let answer = dig(server(ip), &[&name, "A", "+dnssec", "+time=5"]);
            assert!(
                is_secure(&answer),
                "{name} through {resolver}:\n{}",
                answer.stdout
            );
        }
    }
    delv_validates_every_cluster(world.folder.path());
    shares_hold_behind_a_resolver();
    world.flotilla.interrupt();
    drop(world.servers);
    drop(world.folder);
}

/// BIND's own validator asks each cluster by itself.
fn delv_validates_every_cluster(folder: &Path) {
    let anchors = folder.join("anchors");
    for number in 1..=3 {
        for (name, rtype, _, _) in TABLE {
            let mut delv = Command::new("delv");
            delv.arg("-a").arg(&anchors);
            delv.arg(format!("+root={ZONE}"))
                .arg(format!("@127.1.{number}.1"));
            delv.args([name, rtype]);
            let answer = capture(delv, "");
            let validated = answer.stdout.contains("fully validated");
            assert!(validated, "{name} {rtype} at cluster {number}: {answer:?}");
        }
    }
}

/// One address of one cluster by weight 5:3:2, through BIND, which shuffles whatever it has: expected shares hold.
fn shares_hold_behind_a_resolver() {
    for number in 1..=3 {
        let address = server(&format!("127.1.{number}.1"));
        let last = format!("draw-{}.{ZONE}", N_DRAWS - 1);
        let clusters = || {
            let answers = (0..20).flat_map(|_| dig_short(address, &last, "A"));
            answers
                .map(|ip| cluster(&ip))
                .collect::<BTreeSet<_>>()
                .len()
        };
        eventually("every cluster knows of all", LIMIT, &3, clusters);
    }
    let mut counts = [0f64; 3];
    let names = (0..N_DRAWS).map(|draw| format!("draw-{draw}.{ZONE}"));
    for names in names.collect::<Vec<_>>().chunks(50) {
        let mut arguments = vec!["+short", "+time=5"];
        arguments.extend(names.iter().map(String::as_str));
        for line in dig(server(BIND), &arguments).stdout.lines() {
            counts[cluster(line)] += 1.0;
        }
    }
    assert_eq!(counts.iter().sum::<f64>(), N_DRAWS as f64, "{counts:?}");
    let expected = [0.5, 0.3, 0.2].map(|share| share * N_DRAWS as f64);
    let pairs = counts.iter().zip(expected);
    let squares = pairs.map(|(count, expected)| (count - expected).powi(2) / expected);
    let chi_square = squares.sum::<f64>();
    // Two degrees of freedom: right shares exceed this once in a million runs.
    assert!(chi_square < 27.6, "χ² = {chi_square:.1} of {counts:?}");
}

/// The number of the cluster an address belongs to, from 0.
fn cluster(ip: &str) -> usize {
    let number = ip
        .strip_prefix("127.1.")
        .and_then(|rest| rest.split('.').next());
    let number = number.and_then(|number| number.parse::<usize>().ok());
    number.unwrap_or_else(|| panic!("{ip} is no cluster's")) - 1
}
