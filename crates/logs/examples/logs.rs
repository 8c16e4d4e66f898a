//! `flotilla logs` alone, without the rest of the binary.

use std::process::ExitCode;

use clap::Parser;
use flotilla_logs::cli::{Args, run};

fn main() -> anyhow::Result<ExitCode> {
    run(&Args::parse())
}
