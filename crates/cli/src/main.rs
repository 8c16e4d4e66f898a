//! The `flotilla` command: arguments, wiring, nothing else.

mod args;
mod cluster;
mod connect;
mod edge;
mod environment;
mod geo;
mod greeting;
mod gslb;
mod nameserver;
mod open_files;
mod plan;
mod run;
mod up;
mod why;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser};

use args::{Cli, Command};
use flotilla_telemetry::logging;

fn main() -> ExitCode {
    let cli = Cli::parse();
    open_files::raise();
    match run(&cli) {
        Ok(code) => code,
        Err(error) => {
            // The whole chain in one line; causes do not repeat themselves.
            eprintln!("flotilla: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode> {
    match &cli.command {
        Command::Up(args) => up::run(args, cli.log.as_deref())?,
        Command::Run(command) => run::run(command, cli.log.as_deref())?,
        Command::Gslb(command) => gslb::run(command, cli.log.as_deref())?,
        Command::Logs(args) => {
            logging::install(&environment::log_settings(cli.log.as_deref()), None)?;
            return flotilla_logs::cli::run(args);
        }
        Command::Why(args) => why::run(args, cli.log.as_deref())?,
        Command::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "flotilla", &mut script);
            say(&String::from_utf8_lossy(&script))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints an answer. A reader that has gone away is no error: `flotilla … | head` is normal.
fn say(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
