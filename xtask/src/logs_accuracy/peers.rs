//! The rules other tools use to guess a level, re-expressed: Datadog with the article's pipeline, Loki, Headlamp.

use anyhow::Result;
use flotilla_loglevel::Level;
use regex::Regex;
use serde_json::Value;

/// Compiled rules.
pub(crate) struct Peers {
    klog: Regex,
    zap: Regex,
    logfmt_with_time: Regex,
    logfmt: Regex,
    words: Vec<(Regex, Level)>,
    loki: Vec<(Regex, Level)>,
}

/// The levels all of them can express.
pub(crate) fn fold(level: Level) -> Level {
    match level {
        Level::Trace => Level::Debug,
        Level::Notice => Level::Info,
        Level::Alert | Level::Emergency => Level::Critical,
        other => other,
    }
}

impl Peers {
    pub(crate) fn new() -> Result<Peers> {
        let word = |text: &str| Regex::new(&format!(r"(?i)\b(?:{text})\b"));
        Ok(Peers {
            klog: Regex::new(r"^([IWEF])\d{4} \d{2}:\d{2}:\d{2}\.\d+\s+\d+\s+[^\]]+\]\s?")?,
            zap: Regex::new(
                r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})[\t ]+(DEBUG|INFO|WARN|ERROR|DPANIC|PANIC|FATAL|debug|info|warn|error|dpanic|panic|fatal)[\t ]+",
            )?,
            logfmt_with_time: Regex::new(r"^time=\S+\s+level=(\w+)\s+")?,
            logfmt: Regex::new(r"^level=(\w+)\s+")?,
            words: vec![
                (word("error|err|fatal|panic|critical")?, Level::Error),
                (word("warn|warning")?, Level::Warn),
                (word("info")?, Level::Info),
                (word("debug|trace")?, Level::Debug),
            ],
            loki: vec![
                (word("trace|debug")?, Level::Debug),
                (word("fatal|critical")?, Level::Critical),
                (word("error|err")?, Level::Error),
                (word("warning|warn")?, Level::Warn),
                (word("info")?, Level::Info),
            ],
        })
    }

    /// A line from stderr in Datadog: error by stream, then the JSON pre-processing, then the article's pipeline.
    ///
    /// Source: the agent's and the status remapper's documentation, as collected in the article of 2026-09.
    pub(crate) fn article(&self, line: &str) -> Level {
        if let Some(value) = json(line) {
            let keys = ["status", "severity", "level", "syslog.severity"];
            if let Some(value) = keys.iter().find_map(|key| value.get(key)) {
                return remapped(value);
            }
        }
        let found = |rule: &Regex| rule.captures(line).map(|found| found[1].to_lowercase());
        let table: &[(&str, Level)] = &[
            ("debug", Level::Debug),
            ("trace", Level::Debug),
            ("info", Level::Info),
            ("i", Level::Info),
            ("warn", Level::Warn),
            ("warning", Level::Warn),
            ("w", Level::Warn),
            ("error", Level::Error),
            ("e", Level::Error),
            ("f", Level::Critical),
            ("dpanic", Level::Critical),
            ("panic", Level::Critical),
            ("fatal", Level::Critical),
        ];
        let level = |word: String| {
            table
                .iter()
                .find(|(known, _)| *known == word)
                .map(|(_, level)| *level)
        };
        let without_warn = |word: String| {
            if word == "warn" || word == "dpanic" {
                None
            } else {
                level(word)
            }
        };
        found(&self.klog)
            .map(level)
            .or_else(|| found(&self.zap).map(level))
            .or_else(|| found(&self.logfmt_with_time).map(without_warn))
            .or_else(|| found(&self.logfmt).map(without_warn))
            .flatten()
            .unwrap_or(Level::Error)
    }

    /// Loki's `detected_level`: a key of a JSON object or of anything with an `=`, else the first of a list of words.
    ///
    /// Source: Loki 3.6, pkg/distributor/field_detection.go.
    pub(crate) fn loki(&self, line: &str) -> Level {
        let is_level = |key: &str| {
            ["level", "severity", "lvl", "log_level", "severity_text"]
                .contains(&key.to_lowercase().as_str())
        };
        let value = match json(line) {
            Some(Value::Object(object)) => object
                .iter()
                .find(|(key, _)| is_level(key))
                .and_then(|(_, value)| value.as_str().map(str::to_owned)),
            _ if line.contains('=') => line.split_whitespace().find_map(|pair| {
                let (key, value) = pair.split_once('=')?;
                is_level(key).then(|| value.trim_matches('"').to_owned())
            }),
            _ => None,
        };
        match value.as_deref().map(str::to_lowercase).as_deref() {
            Some("trace" | "trc" | "debug" | "dbg") => Level::Debug,
            Some("info" | "inf" | "information") => Level::Info,
            Some("warn" | "wrn" | "warning") => Level::Warn,
            Some("error" | "err") => Level::Error,
            Some("critical" | "fatal") => Level::Critical,
            _ => first_word(&self.loki, line),
        }
    }

    /// Headlamp's severity filter: the word `error` anywhere makes a line an error, then warn, info, debug.
    pub(crate) fn headlamp(&self, line: &str) -> Level {
        first_word(&self.words, line)
    }
}

fn json(line: &str) -> Option<Value> {
    if line.starts_with('{') {
        serde_json::from_str(line).ok()
    } else {
        None
    }
}

fn first_word(rules: &[(Regex, Level)], line: &str) -> Level {
    rules
        .iter()
        .find(|(rule, _)| rule.is_match(line))
        .map_or(Level::Unknown, |(_, level)| *level)
}

/// Datadog's status remapper: prefixes of the lower-case value; a number is syslog's.
fn remapped(value: &Value) -> Level {
    if let Some(number) = value.as_u64() {
        return if number < 8 {
            fold(Level::of_syslog(number as u8))
        } else {
            Level::Info
        };
    }
    let text = value.as_str().unwrap_or_default().to_lowercase();
    match text.as_bytes() {
        [b'f' | b'a' | b'c', ..] => Level::Critical,
        [b'e', b'm', b'e', b'r', b'g', ..] => Level::Critical,
        [b'e', b'r', b'r', ..] => Level::Error,
        [b'w', ..] => Level::Warn,
        [b'd' | b't' | b'v', ..] => Level::Debug,
        _ => Level::Info,
    }
}
