//! Builds the release binary and the measuring program, then runs the one against the other.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub(crate) fn run(root: &Path, suites: &[String]) -> Result<()> {
    let target = target_folder(root)?;
    for package in ["flotilla-cli", "flotilla-bench"] {
        cargo(
            root,
            &["build", "--release", "--locked", "--package", package],
        )?;
    }
    let release = Path::new(&target).join("release");
    let status = Command::new(release.join("flotilla-bench"))
        .arg(release.join("flotilla"))
        .args(suites)
        .status()
        .context("run flotilla-bench")?;
    if !status.success() {
        bail!("flotilla-bench failed ({status})");
    }
    Ok(())
}

fn target_folder(root: &Path) -> Result<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .current_dir(root)
        .output()
        .context("run cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("read cargo metadata")?;
    let folder = metadata["target_directory"]
        .as_str()
        .context("cargo metadata names the target")?;
    Ok(folder.to_owned())
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root)
        .status()?;
    if !status.success() {
        bail!("cargo {} failed ({status})", arguments.join(" "));
    }
    Ok(())
}
