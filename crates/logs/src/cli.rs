//! The arguments of `flotilla logs` and what they start.

mod run;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

pub use run::run;

/// Show logs with the level each line declares.
#[derive(Clone, Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Files to read (plain, gzip or zstd); `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    pub files: Vec<PathBuf>,
    /// What to show, and how.
    #[command(flatten)]
    pub show: Show,
    /// A verb in place of showing.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to show, and how.
#[derive(Clone, Debug, clap::Args)]
pub struct Show {
    /// Output format; JSON when standard output is not a terminal, pretty otherwise.
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<OutputKind>,
    /// Template for `-o template`, such as '{ts} {level} {msg}'.
    #[arg(long, value_name = "TEXT", required_if_eq("output", "template"))]
    pub template: Option<String>,
    /// Levels to show: `warn+` (and above), `info-` (and below), or a list.
    #[arg(long, value_name = "LEVELS")]
    pub level: Option<String>,
    /// Condition, such as 'logger ~ "^http" and status >= 500'.
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,
    /// Fields to show, in place of all.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub fields: Vec<String>,
    /// Count instead of showing: levels, formats, sources, and lines whose stream would have been misread.
    #[arg(long)]
    pub stats: bool,
    /// End with exit code 1 when a record has at least this level.
    #[arg(long, value_name = "LEVEL")]
    pub fail_on: Option<String>,
    /// Wait for more, also across rotation.
    #[arg(short, long)]
    pub follow: bool,
    /// Level of lines that say none.
    #[arg(long, value_enum, default_value = "unknown")]
    pub default_level: StreamDefault,
    /// Colours in pretty output.
    #[arg(long, value_enum, default_value = "auto")]
    pub color: When,
}

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputKind {
    /// One JSON object per record.
    Json,
    /// One line for people.
    Pretty,
    /// The record as it was.
    Raw,
    /// key=value pairs.
    Logfmt,
    /// As `--template` says.
    Template,
}

/// What a line without a level gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StreamDefault {
    /// Nothing: it stays unknown.
    Unknown,
    /// stdout means info, stderr means error, as Datadog assumes.
    Stream,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Verbs beside showing.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Print which formats a file holds, how surely, with examples.
    Formats {
        /// Files to read; `-` is standard input.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the level rules as configuration for another tool.
    Export {
        /// The tool.
        #[arg(long, value_enum)]
        to: crate::export::Target,
    },
    /// Tail a node's pod logs and ship them with their true level.
    Agent {
        /// The agent's YAML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Only check the file.
        #[arg(long)]
        check: bool,
    },
}
