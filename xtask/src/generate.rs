//! `cargo xtask gen`: the tables of built-in Kubernetes types, written from published sources.
//!
//! Two sources are joined. The JSON-schema definitions of a release (as in the PyPI package
//! `kubernetes-validate`, `kubernetes-json-schema/v1.35.0-local/_definitions.json`) give names,
//! types, required fields, list and map types and patch keys. The Go structs of the same release
//! (a folder laid out like `kubernetes/staging/src/k8s.io`) give protobuf tags, pointers, inlined
//! messages and declared defaults, see [`golang`]. Only facts are kept: no descriptions.
//!
//! Building Flotilla never needs the sources; the result is committed.

mod golang;
mod render;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const TARGET: &str = "crates/machinery/tables/types.txt";

/// Writes the table, or with `--check` only compares it with what is committed.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let (mut definitions, mut staging, mut check) = (None, None, false);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut path = || {
            rest.next()
                .map(PathBuf::from)
                .with_context(|| format!("{arg} wants a path"))
        };
        match arg.as_str() {
            "--definitions" => definitions = Some(path()?),
            "--staging" => staging = Some(path()?),
            "--check" => check = true,
            other => bail!("unknown argument {other}"),
        }
    }
    let definitions = definitions.context("--definitions is missing")?;
    let staging = staging.context("--staging is missing")?;
    let text = fs::read_to_string(&definitions)
        .with_context(|| format!("cannot read {}", definitions.display()))?;
    let json: serde_json::Value = serde_json::from_str(&text)?;
    let defs = json["$defs"]
        .as_object()
        .context("the definitions have no $defs")?;
    let table = render::table(defs, &golang::Packages::new(staging))?;
    let target = root.join(TARGET);
    if !check {
        return fs::write(&target, table).with_context(|| format!("cannot write {TARGET}"));
    }
    if fs::read_to_string(&target).unwrap_or_default() != table {
        bail!("{TARGET} is not what the sources give; run cargo xtask gen without --check");
    }
    Ok(())
}
