//! Bad input gets one clear error and breaks nothing else.

use std::net::{TcpListener, UdpSocket};

use flotilla_testkit::tools::{Kubectl, capture, dig};
use flotilla_testkit::{Flotilla, free_port, run};
use tempfile::TempDir;

use crate::{binary, example};

/// Runs the binary, which must fail with one message that holds every word.
#[track_caller]
fn refuses(arguments: &[&str], words: &[&str]) {
    let output = run(binary(), arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{arguments:?} should have failed");
    for word in words {
        assert!(text.contains(word), "{arguments:?}: no {word:?} in\n{text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn a_fleet_name_used_twice_is_refused() {
    refuses(
        &["up", "--fleet", "eu,eu", "--data-dir", ":memory:"],
        &["--fleet names \"eu\" twice"],
    );
}

#[test]
fn an_occupied_port_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = taken.local_addr().expect("address").port().to_string();
    let dns = free_port().to_string();
    let arguments = [
        "up",
        "--data-dir",
        ":memory:",
        "--port",
        &port,
        "--dns-port",
        &dns,
    ];
    refuses(&arguments, &[&format!("127.0.0.1:{port}"), "--port"]);

    let taken = UdpSocket::bind("127.0.0.1:0").expect("bind");
    let dns = taken.local_addr().expect("address").port().to_string();
    let arguments = [
        "up",
        "--data-dir",
        ":memory:",
        "--port",
        "0",
        "--dns-port",
        &dns,
    ];
    refuses(&arguments, &[&format!("127.0.0.1:{dns}"), "--dns-port"]);
}

#[test]
fn an_unusable_data_directory_is_named() {
    let folder = TempDir::new().expect("folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").expect("write");
    let path = file.join("data").to_string_lossy().into_owned();
    refuses(
        &["up", "--data-dir", &path, "--port", "0"],
        &[&path, "--data-dir"],
    );
}

#[test]
fn a_read_only_data_directory_is_named() {
    // Nobody can make a folder there, not even root.
    refuses(
        &["up", "--data-dir", "/proc/flotilla", "--port", "0"],
        &["/proc/flotilla", "--data-dir"],
    );
}

#[test]
fn a_broken_token_file_is_named_with_its_line() {
    let folder = TempDir::new().expect("folder");
    let file = folder.path().join("tokens.csv");
    std::fs::write(&file, "good,ada,1\nonly-a-token\n").expect("write");
    let path = file.to_string_lossy().into_owned();
    let arguments = [
        "up",
        "--data-dir",
        ":memory:",
        "--port",
        "0",
        "--token-auth-file",
        &path,
    ];
    refuses(&arguments, &[&path, "--token-auth-file", "line 2"]);
}

#[test]
fn a_data_directory_in_use_is_named() {
    let folder = TempDir::new().expect("folder");
    let _first = Flotilla::up_in(binary(), folder.path(), &[]);
    let path = folder.path().to_string_lossy().into_owned();
    let dns = free_port().to_string();
    refuses(
        &["up", "--data-dir", &path, "--port", "0", "--dns-port", &dns],
        &[&path, "use"],
    );
}

#[test]
#[ignore = "needs kubectl and dig"]
fn bad_requests_get_clear_errors_and_the_server_goes_on() {
    let flotilla = Flotilla::up(binary(), &["--data-dir", ":memory:"]);
    let kubectl = Kubectl::new(&flotilla);
    let unknown = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatum: {b: c}\n";
    let refused = kubectl.with_input("create --validate=strict -f -", unknown);
    assert!(
        refused.err().contains("unknown field \"datum\""),
        "{refused:?}"
    );

    let big = format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"a\"}},\"data\":{{\"x\":\"{}\"}}}}",
        "x".repeat(4 << 20)
    );
    let too_big = kubectl.with_input(
        "create --raw /api/v1/namespaces/default/configmaps -f -",
        &big,
    );
    let text = too_big.err();
    assert!(
        text.contains("too large") || text.contains("limit"),
        "{}",
        &text[..text.len().min(500)]
    );

    let garbage = UdpSocket::bind("127.0.0.1:0").expect("bind");
    let server: std::net::SocketAddr = format!("127.0.0.1:{}", flotilla.dns_port)
        .parse()
        .expect("address");
    for length in [0, 1, 11, 12, 13, 40, 512, 4096] {
        let bytes: Vec<u8> = (0..length).map(|i| (i * 37 % 251) as u8).collect();
        garbage.send_to(&bytes, server).expect("send");
    }
    assert!(
        dig(server, &["cloud.example.com", "SOA"])
            .out()
            .contains("status: NOERROR")
    );
    kubectl.run("get --raw /readyz").shows("ok");
}

#[test]
#[ignore = "needs kubectl"]
fn broken_gslbs_are_refused_with_the_field() {
    let flotilla = Flotilla::up(binary(), &["--data-dir", ":memory:"]);
    let kubectl = Kubectl::new(&flotilla);
    for (file, field) in [
        ("missing-strategy.yaml", "spec.strategy"),
        ("no-http.yaml", "http"),
    ] {
        let mut command = kubectl.command();
        command.args(["apply", "-f", &example(file)]);
        let refused = capture(command, "");
        assert!(refused.err().contains(field), "{file}: {refused:?}");
    }
}

#[test]
fn chart_values_that_cannot_be_read_are_named_by_file_and_line() {
    let folder = TempDir::new().expect("folder");
    let file = folder.path().join("values.yaml");
    std::fs::write(&file, "k8gb:\n  clusterGeoTag: eu\n broken: 1\n").expect("write");
    let path = file.to_string_lossy().into_owned();
    refuses(&["gslb", "import-values", &path], &[&format!("{path}:3: ")]);
    refuses(&["gslb", "import-values", "/absent"], &["/absent"]);
}

#[test]
fn a_partition_that_names_one_cluster_is_refused() {
    let host = "app.cloud.example.com";
    refuses(
        &["gslb", "what-if", host, "--partition", "eu"],
        &["--partition", "eu,us"],
    );
}
