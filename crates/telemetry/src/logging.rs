//! Where log lines go and how they look.
//!
//! Lines go to stderr, because stdout belongs to the answer of a command. On a terminal they are
//! made for eyes, elsewhere one JSON object per line whose `level` field says the true level.
//! `--log` wins over `RUST_LOG`; without both, our crates log at `info` and the rest at `warn`.

use std::io::IsTerminal;

use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::tracing_export;

/// What a line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Coloured text for a terminal.
    Pretty,
    /// One JSON object per line.
    Json,
}

/// Decided log settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Directives such as `info`, `warn,flotilla_gslb=debug`.
    pub filter: String,
    /// Look of a line.
    pub format: Format,
    /// Whether `Pretty` uses colours.
    pub colour: bool,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directives do not parse.
    #[error(
        "invalid log filter {filter:?}, expected a level or directives such as `warn,flotilla_gslb=debug`"
    )]
    Filter {
        /// What was asked for.
        filter: String,
        /// Where it fails to parse.
        #[source]
        source: ParseError,
    },
    /// Somebody else has set a subscriber before.
    #[error("cannot install the log subscriber")]
    Install(#[source] TryInitError),
}

impl Settings {
    /// Chooses settings from `--log`, `RUST_LOG`, `NO_COLOR` and whether stderr is a terminal.
    ///
    /// A bare level in `--log` applies to our crates and leaves libraries at `warn`, so that
    /// `--log debug` shows our decisions and not every TLS record.
    pub fn choose(
        flag: Option<&str>,
        rust_log: Option<&str>,
        no_color: bool,
        terminal: bool,
    ) -> Self {
        let wanted = flag
            .or(rust_log)
            .map(str::trim)
            .filter(|text| !text.is_empty());
        let filter = match wanted {
            None => house_level("info"),
            Some(level) if is_level(level) => house_level(level),
            Some(directives) => directives.to_owned(),
        };
        let format = if terminal {
            Format::Pretty
        } else {
            Format::Json
        };
        Self {
            filter,
            format,
            colour: terminal && !no_color,
        }
    }
}

/// Spans that are exported when a collector is configured: all of ours, whatever is logged.
const TRACED: &str = "off,flotilla=debug";

/// Installs the process-wide subscriber; `traces` adds the export of spans.
///
/// Filters belong to the layers: without a collector nobody wants our spans, and making them costs
/// a single check.
///
/// # Errors
/// When the filter does not parse or a subscriber is already installed.
pub fn install(settings: &Settings, traces: Option<&SdkTracerProvider>) -> Result<(), Error> {
    let filter = EnvFilter::try_new(&settings.filter).map_err(|source| Error::Filter {
        filter: settings.filter.clone(),
        source,
    })?;
    let lines = match settings.format {
        Format::Pretty => fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(settings.colour)
            .compact()
            .boxed(),
        Format::Json => fmt::layer()
            .with_writer(std::io::stderr)
            .json()
            .flatten_event(true)
            .boxed(),
    };
    let traces =
        traces.map(|provider| tracing_export::layer(provider).with_filter(EnvFilter::new(TRACED)));
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(traces)
        .try_init()
        .map_err(Error::Install)
}

/// Whether stderr is a terminal.
pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

fn is_level(text: &str) -> bool {
    ["off", "error", "warn", "info", "debug", "trace"]
        .iter()
        .any(|level| text.eq_ignore_ascii_case(level))
}

fn house_level(level: &str) -> String {
    if level.eq_ignore_ascii_case("off") || level.eq_ignore_ascii_case("error") {
        return level.to_owned();
    }
    // A directive matches every target that starts with its text, so this one covers all our
    // crates: flotilla_gslb, flotilla_dns and so on.
    format!("warn,flotilla={level}")
}

#[cfg(test)]
mod tests;
