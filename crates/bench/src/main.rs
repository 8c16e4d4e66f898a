//! Measures a running `flotilla` from outside, as its users would.
//!
//! `cargo xtask bench [boot|api|dns|failover]` builds the release binary and this program and runs
//! it. Every figure comes with its unit and, where there is one, its target; nothing here fails
//! because something is slow.

mod api;
mod boot;
mod dns;
mod failover;
mod report;

use std::path::PathBuf;

use anyhow::{Result, bail};

use report::Report;

const SUITES: [&str; 4] = ["boot", "api", "dns", "failover"];

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        bail!(
            "usage: flotilla-bench BINARY [SUITE…]; suites: {}",
            SUITES.join(", ")
        );
    }
    let binary = PathBuf::from(arguments.remove(0));
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
        runtime.block_on(api::measure(&binary, &mut report))?;
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
