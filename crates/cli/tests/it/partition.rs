//! The truth table of fail-over, on running clusters whose datagrams are really dropped.
//!
//! Source of the table: k8gb v0.21, target selection of applicationDNSEndpoint.go; primary is eu.
//! Runs as root in a network namespace of its own, where packet filters hurt nobody:
//! `unshare --net cargo test --package flotilla-cli --test it -- --ignored partition`.

use std::process::Command;

use flotilla_testkit::eventually;

use crate::failover::{Fleet, HOST, LIMIT};

/// Readiness of eu, us and za; cuts as (who asks, who is asked); what each one's own server answers.
struct Row {
    name: &'static str,
    ready: [bool; 3],
    cuts: &'static [(u8, u8)],
    answers: [&'static [&'static str]; 3],
}

const EVERY_CUT: &[(u8, u8)] = &[(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)];

const TABLE: [Row; 8] = [
    Row {
        name: "all healthy",
        ready: [true, true, true],
        cuts: &[],
        answers: [&["eu"], &["eu"], &["eu"]],
    },
    Row {
        name: "primary down",
        ready: [false, true, true],
        cuts: &[],
        answers: [&["us", "za"], &["us", "za"], &["us", "za"]],
    },
    Row {
        name: "primary and one secondary down",
        ready: [false, true, false],
        cuts: &[],
        answers: [&["us"], &["us"], &["us"]],
    },
    Row {
        name: "all down",
        ready: [false, false, false],
        cuts: &[],
        answers: [&[], &[], &[]],
    },
    Row {
        name: "only the primary up",
        ready: [true, false, false],
        cuts: &[],
        answers: [&["eu"], &["eu"], &["eu"]],
    },
    Row {
        name: "us cannot reach the healthy primary",
        ready: [true, true, true],
        cuts: &[(2, 1)],
        answers: [&["eu"], &["us", "za"], &["eu"]],
    },
    Row {
        name: "primary down and blind",
        ready: [false, true, true],
        cuts: &[(1, 2), (1, 3)],
        answers: [&[], &["us", "za"], &["us", "za"]],
    },
    Row {
        name: "nobody reaches anybody",
        ready: [true, true, true],
        cuts: EVERY_CUT,
        answers: [&["eu"], &["us"], &["za"]],
    },
];

#[test]
#[ignore = "needs root, a network namespace of its own, iptables, kubectl and dig"]
fn partition_truth_table_of_failover() {
    run("ip", "link set lo up");
    let fleet = Fleet::up(&[]);
    fleet.apply_everywhere("podinfo.yaml");
    for row in &TABLE {
        run("iptables", "-F INPUT");
        for (asking, asked) in row.cuts {
            run(
                "iptables",
                &format!("-A INPUT -s 127.1.{asking}.1 -d 127.1.{asked}.1 -j DROP"),
            );
        }
        for (cluster, ready) in ["eu", "us", "za"].into_iter().zip(row.ready) {
            fleet.set_ready(cluster, ready);
        }
        for (number, expected) in (1..).zip(row.answers) {
            let what = format!("{}, asked at server {number}", row.name);
            eventually(&what, LIMIT, &expected.to_vec(), || {
                fleet.answer(fleet.server(number), HOST)
            });
        }
    }
    run("iptables", "-F INPUT");
}

fn run(program: &str, line: &str) {
    let output = Command::new(program).args(line.split_whitespace()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {line}: {text}");
}
