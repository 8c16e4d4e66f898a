//! The house's own chores.
//!
//! `cargo xtask <verb>`; run it without a verb for the list.

mod bench;
mod bench_logs;
mod generate;
mod logs_accuracy;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask <verb>

  gen     write the tables of built-in types: --definitions <file> --staging <dir> [--check]
  bench   build for release and measure: cargo xtask bench [boot|api|load|dns|failover]… or logs
  logs-accuracy  levels read from the labelled corpus, beside what other tools would read
  tidy    check the floors, the purity of modules, documents and dependencies
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let root = root()?;
    let (verb, rest) = match arguments {
        [verb, rest @ ..] => (verb.as_str(), rest),
        [] => ("help", arguments),
    };
    match verb {
        "gen" => generate::run(&root, rest),
        "bench" if rest == ["logs"] => bench_logs::run(&root),
        "bench" => bench::run(&root, rest),
        "logs-accuracy" => logs_accuracy::run(&root),
        "tidy" => tidy::run(&root, rest),
        "help" | "-h" | "--help" => {
            eprint!("{USAGE}");
            Ok(())
        }
        other => bail!("unknown verb {other:?}\n\n{USAGE}"),
    }
}

/// The folder of the workspace, whatever folder the command was typed in.
fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .map(Path::to_owned)
        .context("xtask stands in the workspace")
}
