//! Measures a running `flotilla` from outside, as its users would.
//!
//! `cargo xtask bench [boot|api|load|dns|failover]` builds the release binary and this program and runs
//! it. Every figure comes with its unit and, where there is one, its target; nothing here fails
//! because something is slow.

mod api;
mod boot;
mod dns;
mod failover;
mod load;
mod report;

use std::path::PathBuf;

use anyhow::{Result, bail};

use report::Report;

const SUITES: [&str; 5] = ["boot", "api", "load", "dns", "failover"];

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
    if wanted("failover") {
        failover::measure(&binary, &mut report)?;
    }
    report.print();
    Ok(())
}
