//! What a Gslb asks for beyond k8gb, in annotations, with defaults from the cluster's settings.
//!
//! | annotation | default from | meaning |
//! |---|---|---|
//! | `flotilla.dev/failover-witness` | `FLOTILLA_FAILOVER_WITNESS` | fail-over needs most of the other clusters to have lost the primary too |
//! | `flotilla.dev/failback-hold-seconds` | `FLOTILLA_FAILBACK_HOLD_SECONDS` | how long a cluster that came back is watched before it is used |
//! | `flotilla.dev/drain` | – | `true`, or the instant (RFC 3339) at which this cluster begins to leave |
//! | `flotilla.dev/undrained-at` | – | the instant at which it began to come back |
//! | `flotilla.dev/drain-seconds` | `FLOTILLA_DRAIN_SECONDS` | how long leaving and coming back take |
//! | `flotilla.dev/answer-count` | – | how many addresses of the targets one answer has, drawn by weight |
//!
//! An annotation that cannot be read is said in the condition and its default applies: a typing mistake in an extra
//! must not take a host off the net.

use std::{collections::BTreeMap, num::NonZeroU16};

use jiff::{SignedDuration, Timestamp};

use crate::{
    problem::{Kind, Problem},
    ramp::Drain,
};

/// Annotation that asks for witnessed fail-over.
pub const WITNESS: &str = "flotilla.dev/failover-witness";
/// Annotation with the hold-down of a cluster that came back, in seconds.
pub const HOLD: &str = "flotilla.dev/failback-hold-seconds";
/// Annotation that takes this cluster out of the answers of the whole fleet while it is `true`, or from an instant on.
pub const DRAIN: &str = "flotilla.dev/drain";
/// Annotation with the instant at which the cluster began to come back.
pub const UNDRAINED_AT: &str = "flotilla.dev/undrained-at";
/// Annotation with how long a drain, and the way back, take, in seconds.
pub const DRAIN_SECONDS: &str = "flotilla.dev/drain-seconds";
/// Annotation with the number of addresses in one answer.
pub const ANSWERS: &str = "flotilla.dev/answer-count";
/// Longest hold-down and drain: a week. More is a mistake in the unit.
pub const SECONDS_MAX: u64 = 7 * 24 * 3600;
/// Most addresses an answer can be limited to.
const ANSWERS_MAX: u64 = 1000;

/// What applies where an annotation says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// `FLOTILLA_FAILOVER_WITNESS`, off.
    pub witness: bool,
    /// `FLOTILLA_FAILBACK_HOLD_SECONDS`, 0.
    pub hold_seconds: u64,
    /// `FLOTILLA_DRAIN_SECONDS`, 0.
    pub drain_seconds: u64,
}

/// What a Gslb asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether a silent primary is given up only when most other clusters lost it too.
    pub witness: bool,
    /// How long a cluster that came back is watched before it is used again; zero uses it at once.
    pub hold: SignedDuration,
    /// Whether this cluster takes itself out.
    pub drain: Drain,
    /// How long that takes.
    pub drain_period: SignedDuration,
    /// Addresses in one answer; all when none.
    pub answers: Option<NonZeroU16>,
}

impl Options {
    /// Whether clusters have to tell each other whom they see.
    pub fn needs_sights(&self) -> bool {
        self.witness || self.drain_period > SignedDuration::ZERO
    }

    /// Whether this cluster says whom it sees.
    pub fn tells(&self) -> bool {
        self.needs_sights() || self.hold > SignedDuration::ZERO
    }
}

/// Reads the annotations; each that cannot be read is a problem, and its default applies.
pub fn read(annotations: &BTreeMap<String, String>, defaults: Defaults) -> (Options, Vec<Problem>) {
    let mut r = Reader {
        annotations,
        problems: Vec::new(),
    };
    let witness = r.switch(WITNESS, defaults.witness);
    let hold = r.number(HOLD, SECONDS_MAX, Some(defaults.hold_seconds));
    let period = r.number(DRAIN_SECONDS, SECONDS_MAX, Some(defaults.drain_seconds));
    let drain = r.drain();
    let answers = r
        .number(ANSWERS, ANSWERS_MAX, None)
        .and_then(|n| NonZeroU16::new(u16::try_from(n).ok()?));
    let seconds = |n: Option<u64>| {
        SignedDuration::from_secs(n.and_then(|n| i64::try_from(n).ok()).unwrap_or_default())
    };
    let options = Options {
        witness,
        hold: seconds(hold),
        drain,
        drain_period: seconds(period),
        answers,
    };
    (options, r.problems)
}

struct Reader<'a> {
    annotations: &'a BTreeMap<String, String>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn text(&self, key: &str) -> Option<&str> {
        let text = self.annotations.get(key).map(|text| text.trim());
        text.filter(|text| !text.is_empty())
    }

    fn wrong(&mut self, key: &str, message: String) {
        let field = format!("metadata.annotations[{key}]");
        let problem = Problem::new(Kind::InvalidSpec, field, message);
        self.problems.push(problem);
    }

    fn switch(&mut self, key: &str, default: bool) -> bool {
        match self.text(key).map(str::to_owned).as_deref() {
            None => default,
            Some("true") => true,
            Some("false") => false,
            Some(other) => {
                self.wrong(
                    key,
                    format!("{other:?} is neither true nor false; {default} applies"),
                );
                default
            }
        }
    }

    fn number(&mut self, key: &str, max: u64, default: Option<u64>) -> Option<u64> {
        let Some(text) = self.text(key).map(str::to_owned) else {
            return default;
        };
        match text.parse::<u64>() {
            Ok(number) if number <= max => Some(number),
            _ => {
                let applies = default.map_or("it does not apply".to_owned(), |default| {
                    format!("{default} applies")
                });
                self.wrong(
                    key,
                    format!("{text:?} is no number from 0 to {max}; {applies}"),
                );
                default
            }
        }
    }

    fn instant(&mut self, key: &str, text: &str) -> Option<Timestamp> {
        let instant = text.parse().ok();
        if instant.is_none() {
            let example = "2026-12-01T02:00:00Z";
            self.wrong(
                key,
                format!("{text:?} is no instant such as {example}; it is ignored"),
            );
        }
        instant
    }

    fn drain(&mut self) -> Drain {
        let back = self.text(UNDRAINED_AT).map(str::to_owned);
        match self.text(DRAIN).map(str::to_owned).as_deref() {
            Some("true") => Drain::Out(None),
            None | Some("false") => back
                .and_then(|text| self.instant(UNDRAINED_AT, &text))
                .map_or(Drain::Off, Drain::Back),
            Some(text) => self
                .instant(DRAIN, text)
                .map_or(Drain::Off, |since| Drain::Out(Some(since))),
        }
    }
}

#[cfg(test)]
mod tests;
