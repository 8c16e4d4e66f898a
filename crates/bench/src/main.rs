//! Measures a running `flotilla` from outside, as its users would.
//!
//! `cargo xtask bench [boot|api|load|dns|peers|failover|scale]` builds the release binary and this program and runs
//! it. Every figure comes with its unit and, where there is one, its target; nothing here fails
//! because something is slow. What needs a network that can be slowed down or cut runs as root in a
//! network namespace, by this program calling itself.

mod api;
mod boot;
mod delay;
mod dns;
mod failover;
mod load;
mod peers;
mod report;
mod scale;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use report::Report;

const SUITES: [&str; 7] = ["boot", "api", "load", "dns", "peers", "failover", "scale"];

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        bail!(
            "usage: flotilla-bench BINARY [SUITE…] [--beside KUBECONFIG]; suites: {}; --beside also measures the API server of a \
             kubeconfig",
            SUITES.join(", ")
        );
    }
    let binary = PathBuf::from(arguments.remove(0));
    match binary.to_str() {
        Some("serve") => return peers::serve(&arguments),
        Some("apart") => return measure_apart(&arguments),
        _ => {}
    }
    let beside = arguments.iter().position(|word| word == "--beside");
    let beside = beside.and_then(|at| arguments.drain(at..).nth(1));
    let beside = beside.map(PathBuf::from);
    if let Some(unknown) = arguments
        .iter()
        .find(|suite| !SUITES.contains(&suite.as_str()))
    {
        bail!("unknown suite {unknown:?}; suites: {}", SUITES.join(", "));
    }
    let wanted = |suite: &str| arguments.is_empty() || arguments.iter().any(|s| s == suite);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut report = Report::default();
    if wanted("boot") {
        boot::measure(&binary, &mut report)?;
    }
    if wanted("api") {
        runtime.block_on(api::measure(&binary, beside.as_deref(), &mut report))?;
    }
    if wanted("load") {
        runtime.block_on(load::measure(&binary, &mut report))?;
    }
    if wanted("dns") {
        dns::measure(&binary, &mut report)?;
    }
    if wanted("peers") {
        peers::measure(&mut report)?;
    }
    if wanted("failover") {
        failover::measure(&binary, &mut report)?;
        apart(&binary, "failover", &mut report)?;
    }
    if wanted("scale") {
        eprintln!("scale");
        apart(&binary, "scale", &mut report)?;
    }
    report.print();
    Ok(())
}

/// Runs a suite in a network namespace of its own and takes its figures over.
fn apart(binary: &Path, suite: &str, report: &mut Report) -> Result<()> {
    let script = "ip link set lo up && exec \"$@\"";
    let output = Command::new("unshare")
        .args(["--net", "sh", "-c", script, "sh"])
        .arg(std::env::current_exe()?)
        .arg("apart")
        .arg(binary)
        .arg(suite)
        .stderr(Stdio::inherit())
        .output();
    let succeeded = output.as_ref().is_ok_and(|output| output.status.success());
    if let Ok(output) = output {
        report.take_rows(&String::from_utf8_lossy(&output.stdout));
    }
    if !succeeded {
        let why = "broke off; it takes root, unshare, ip and iptables";
        let what = format!("{suite} in a network namespace");
        report.add(what, why.to_owned(), "");
    }
    Ok(())
}

/// The other side of [`apart`].
fn measure_apart(arguments: &[String]) -> Result<()> {
    let [binary, suite] = arguments else {
        bail!("usage: flotilla-bench apart BINARY SUITE")
    };
    let mut report = Report::default();
    let measured = match suite.as_str() {
        "failover" => failover::measure_apart(binary.as_ref(), &mut report),
        _ => scale::measure_apart(binary.as_ref(), &mut report),
    };
    // What was measured before something failed is worth having.
    report.print_rows();
    measured.with_context(|| format!("the suite {suite} broke off"))
}
