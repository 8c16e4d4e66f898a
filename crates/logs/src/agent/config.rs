//! The agent's settings, from one YAML file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

/// What the agent reads and where it ships.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Directories laid out as `/var/log/pods`: `NAMESPACE_POD_UID/CONTAINER/N.log`. Default: that one.
    #[serde(default = "directories")]
    pub directories: Vec<PathBuf>,
    /// Where the positions that were acknowledged are kept.
    pub checkpoint: PathBuf,
    /// Where records go.
    pub sink: Sink,
    /// What lines get that say no level: `unknown` (default), or `stream`: info for stdout, error for stderr.
    #[serde(default)]
    pub default_level: DefaultLevel,
    /// Pause between two looks for new files, in milliseconds. Default 1000, at least 10.
    #[serde(default = "scan_interval_ms")]
    pub scan_interval_ms: u64,
    /// Bytes gathered before a batch is sent. Default 1 MiB, 1 KiB to 4 MiB.
    #[serde(default = "batch_bytes")]
    pub batch_bytes: usize,
    /// Longest time a record waits for its batch, in milliseconds. Default 1000.
    #[serde(default = "batch_wait_ms")]
    pub batch_wait_ms: u64,
    /// Where metrics are served. Default: nowhere.
    #[serde(default)]
    pub metrics: Option<SocketAddr>,
}

/// What lines get that say no level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefaultLevel {
    /// Nothing.
    #[default]
    Unknown,
    /// info for stdout, error for stderr.
    Stream,
}

/// Where records go.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Sink {
    /// JSON lines on standard output.
    Stdout {},
    /// JSON lines appended to a file.
    File {
        /// The file; created when missing.
        path: PathBuf,
    },
    /// An OpenTelemetry collector.
    Otlp {
        /// Such as `http://collector:4318` (HTTP) or `http://collector:4317` (gRPC).
        endpoint: String,
        /// `http` (default) or `grpc`.
        #[serde(default)]
        protocol: Protocol,
        /// Headers of every request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// Loki's push API.
    Loki {
        /// Such as `http://loki:3100`.
        endpoint: String,
        /// Sent as `X-Scope-OrgID`.
        #[serde(default)]
        tenant: Option<String>,
        /// Headers of every request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// Datadog's intake, version 2.
    Datadog {
        /// Such as `https://http-intake.logs.datadoghq.eu`.
        endpoint: String,
        /// Sent as `DD-API-KEY`.
        api_key: String,
    },
}

impl Sink {
    /// Longest record, in bytes; a longer line is shipped in parts. Loki's default `max_line_size` is 256 KiB, and a record
    /// of Datadog's, escapes included, may have 1 MB.
    pub(crate) fn record_bytes_max(&self) -> usize {
        match self {
            Sink::Loki { .. } | Sink::Datadog { .. } => 256 << 10,
            Sink::Stdout {} | Sink::File { .. } | Sink::Otlp { .. } => 1 << 20,
        }
    }
}

/// How OTLP is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Protobuf over HTTP, `/v1/logs`.
    #[default]
    Http,
    /// gRPC.
    Grpc,
}

fn directories() -> Vec<PathBuf> {
    vec![PathBuf::from("/var/log/pods")]
}

fn scan_interval_ms() -> u64 {
    1000
}

fn batch_bytes() -> usize {
    1 << 20
}

fn batch_wait_ms() -> u64 {
    1000
}

/// Why a configuration is refused; the text names line and column.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not YAML, a key that does not exist, or a value of the wrong kind.
    #[error("{0}")]
    Yaml(String),
    /// A value out of its range.
    #[error("line {line} column {column}: {key} must be {expected}")]
    Range {
        /// The key.
        key: &'static str,
        /// What it must be.
        expected: &'static str,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
}

impl Config {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn parse(text: &str) -> Result<Config, Error> {
        let config: Config =
            serde_saphyr::from_str(text).map_err(|error| Error::Yaml(error.to_string()))?;
        let check = |key: &'static str, is_right: bool, expected: &'static str| {
            if is_right {
                Ok(())
            } else {
                Err(out_of_range(text, key, expected))
            }
        };
        check(
            "scan_interval_ms",
            config.scan_interval_ms >= 10,
            "at least 10",
        )?;
        check(
            "batch_bytes",
            (1 << 10..=4 << 20).contains(&config.batch_bytes),
            "1024 to 4194304",
        )?;
        check("batch_wait_ms", config.batch_wait_ms >= 1, "at least 1")?;
        check(
            "directories",
            !config.directories.is_empty(),
            "at least one directory",
        )?;
        if let Sink::Otlp { endpoint, .. }
        | Sink::Loki { endpoint, .. }
        | Sink::Datadog { endpoint, .. } = &config.sink
        {
            let is_url = endpoint.starts_with("http://") || endpoint.starts_with("https://");
            check(
                "endpoint",
                is_url && endpoint.parse::<http::Uri>().is_ok(),
                "an http:// or https:// address",
            )?;
        }
        Ok(config)
    }
}

/// Finds the key in the text, so that the mistake can be pointed at.
fn out_of_range(text: &str, key: &'static str, expected: &'static str) -> Error {
    let place = text
        .lines()
        .enumerate()
        .find_map(|(index, line)| Some((index + 1, line.find(key)? + 1)));
    let (line, column) = place.unwrap_or((1, 1));
    Error::Range {
        key,
        expected,
        line,
        column,
    }
}

#[cfg(test)]
mod tests;
