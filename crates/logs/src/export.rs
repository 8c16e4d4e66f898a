//! The same level rules as configuration for other tools.
//!
//! One table (`rules`) of expressions, each with a group `level`, and one table of words; every target renders both in
//! its own language. What a target cannot express (records of several lines inherit a level, klog's year and zone) is said
//! in a comment of the output.

mod render;
mod rules;

use clap::ValueEnum;
use flotilla_loglevel::{Level, value};
use regex::Regex;

pub use rules::{JSON_KEYS, RULES, Rule, SIGNS};

/// A tool whose configuration can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// Datadog: a log pipeline for Terraform with grok rules.
    Datadog,
    /// Vector: a remap program in VRL.
    Vector,
    /// Fluent Bit: parsers and a Lua-free filter chain.
    Fluentbit,
    /// OpenTelemetry Collector: filelog operators.
    Otelcol,
    /// Loki: pipeline stages of Promtail and Alloy.
    Loki,
}

/// The configuration for a tool.
pub fn render(target: Target) -> String {
    match target {
        Target::Datadog => render::datadog(),
        Target::Vector => render::vector(),
        Target::Fluentbit => render::fluentbit(),
        Target::Otelcol => render::otelcol(),
        Target::Loki => render::loki(),
    }
}

/// The exported rules as a reader of their own, to compare with ours: what every target does at best.
#[derive(Debug)]
pub struct Reader(Vec<Regex>);

impl Reader {
    /// Compiles the expressions.
    ///
    /// # Errors
    /// An expression of the table that is not one; a test proves there is none.
    pub fn new() -> Result<Reader, regex::Error> {
        RULES
            .iter()
            .map(|rule| Regex::new(rule.pattern))
            .collect::<Result<_, _>>()
            .map(Reader)
    }

    /// The level the rules give to a text line; `None` when none matches.
    pub fn level(&self, line: &str) -> Option<Level> {
        let found = self.0.iter().find_map(|rule| rule.captures(line))?;
        let raw = found.name("level")?.as_str();
        let sign = SIGNS
            .iter()
            .find(|(sign, _)| raw.eq_ignore_ascii_case(sign));
        Some(match value(raw.as_bytes()) {
            0 => sign.map_or(Level::Unknown, |(_, level)| *level),
            severity => Level::of_severity(severity),
        })
    }
}

#[cfg(test)]
mod tests;
