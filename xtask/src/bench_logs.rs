//! Runs the log benchmark, which lives beside the code it measures.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

/// Builds and runs `crates/logs/examples/bench.rs`.
pub(crate) fn run(root: &Path) -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .args([
            "run",
            "--quiet",
            "--profile",
            "dist",
            "--package",
            "flotilla-logs",
            "--example",
            "bench",
        ])
        .current_dir(root)
        .status()?;
    if !status.success() {
        bail!("the log benchmark failed ({status})");
    }
    Ok(())
}
