//! Levels, and the words and numbers that loggers write for them.
//!
//! Every spelling ends up as one OpenTelemetry severity number (1 to 24), because that scale is the finest in use and
//! keeps slog's offsets (`INFO+2`). [`Level`] is the coarse name people filter by. A spelling that is not in the table
//! is no level at all: guessing from prefixes is how `DPANIC` becomes debug elsewhere.

/// How serious a record is, from [`Level::Trace`] up to [`Level::Emergency`].
///
/// `Unknown` means that the line does not say; it orders below everything, so `warn+` never includes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The line does not declare a level.
    #[default]
    Unknown,
    /// Finer than debug: `trace`, `silly`, `FINEST`, klog-style V-levels of zap below −1.
    Trace,
    /// `debug`, `verbose`, `FINE`, `CONFIG`.
    Debug,
    /// `info` and its many spellings, PostgreSQL's `LOG`, loguru's `SUCCESS`.
    Info,
    /// Normal but worth noticing: syslog's `notice`.
    Notice,
    /// `warn`, `warning`, `W`.
    Warn,
    /// `error`, `SEVERE`, .NET's `fail`.
    Error,
    /// `critical`, `fatal`, `panic`, `dpanic`.
    Critical,
    /// Syslog's `alert`.
    Alert,
    /// Syslog's `emerg`.
    Emergency,
}

/// Every level, lowest first.
pub const LEVELS: [Level; 10] = [
    Level::Unknown,
    Level::Trace,
    Level::Debug,
    Level::Info,
    Level::Notice,
    Level::Warn,
    Level::Error,
    Level::Critical,
    Level::Alert,
    Level::Emergency,
];

/// The highest severity number of OpenTelemetry.
pub const SEVERITY_MAX: u8 = 24;

impl Level {
    /// The word of our own output: `trace` … `emergency`, or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Unknown => "unknown",
            Level::Trace => "trace",
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Notice => "notice",
            Level::Warn => "warn",
            Level::Error => "error",
            Level::Critical => "critical",
            Level::Alert => "alert",
            Level::Emergency => "emergency",
        }
    }

    /// The level of an exact [`Level::name`].
    pub fn from_name(name: &str) -> Option<Level> {
        LEVELS.into_iter().find(|level| level.name() == name)
    }

    /// The level of an OpenTelemetry severity number; 0 and numbers above 24 are `Unknown`.
    ///
    /// Source: OpenTelemetry logs data model, "SeverityNumber"; 10 (`INFO2`) is our notice, as in its syslog table.
    pub fn of_severity(severity: u8) -> Level {
        match severity {
            1..=4 => Level::Trace,
            5..=8 => Level::Debug,
            9 | 11 | 12 => Level::Info,
            10 => Level::Notice,
            13..=16 => Level::Warn,
            17..=20 => Level::Error,
            21 => Level::Critical,
            22 => Level::Alert,
            23 | 24 => Level::Emergency,
            _ => Level::Unknown,
        }
    }

    /// The OpenTelemetry severity number of this level; 0 for `Unknown`.
    pub fn severity(self) -> u8 {
        match self {
            Level::Unknown => 0,
            Level::Trace => 1,
            Level::Debug => 5,
            Level::Info => 9,
            Level::Notice => 10,
            Level::Warn => 13,
            Level::Error => 17,
            Level::Critical => 21,
            Level::Alert => 22,
            Level::Emergency => 23,
        }
    }

    /// The syslog severity, 0 (emergency) to 7 (debug); `None` for `Unknown`. Source: RFC 5424 §6.2.1.
    pub fn syslog(self) -> Option<u8> {
        Some(match self {
            Level::Unknown => return None,
            Level::Trace | Level::Debug => 7,
            Level::Info => 6,
            Level::Notice => 5,
            Level::Warn => 4,
            Level::Error => 3,
            Level::Critical => 2,
            Level::Alert => 1,
            Level::Emergency => 0,
        })
    }

    /// The status word for Datadog, spelled so that its prefix rules read it back unchanged; `None` for `Unknown`.
    pub fn datadog(self) -> Option<&'static str> {
        Some(match self {
            Level::Unknown => return None,
            Level::Trace | Level::Debug => "debug",
            Level::Warn => "warning",
            Level::Emergency => "emerg",
            other => other.name(),
        })
    }

    /// The value of Loki's `detected_level`. Loki knows no notice and nothing above critical.
    pub fn loki(self) -> &'static str {
        match self {
            Level::Notice => "info",
            Level::Alert | Level::Emergency => "critical",
            other => other.name(),
        }
    }

    /// The level of a syslog severity 0 to 7. Source: RFC 5424 §6.2.1.
    pub fn of_syslog(severity: u8) -> Level {
        match severity {
            0 => Level::Emergency,
            1 => Level::Alert,
            2 => Level::Critical,
            3 => Level::Error,
            4 => Level::Warn,
            5 => Level::Notice,
            6 => Level::Info,
            7 => Level::Debug,
            _ => Level::Unknown,
        }
    }
}

/// Up to eight bytes as one integer, so that a word is recognised by one comparison.
const fn pack(word: &[u8]) -> u64 {
    let mut packed = 0;
    let mut i = 0;
    while i < word.len() {
        packed = packed << 8 | word[i] as u64;
        i += 1;
    }
    packed
}

macro_rules! packed_words {
    ($packed:expr; $($severity:literal: $($word:literal)+;)+) => {{
        match $packed {
            $($(packed if packed == const { pack($word) } => $severity,)+)+
            _ => 0,
        }
    }};
}

/// The severity number of a level word of at least two letters, in any case; 0 when the word is not one.
///
/// Single letters are not words here, because prose has them too: see [`letter`].
pub fn word(text: &[u8]) -> u8 {
    match text.len() {
        2..=8 => {
            let mut packed = 0u64;
            for byte in text {
                packed = packed << 8 | u64::from(byte | 0x20);
            }
            short_word(packed)
        }
        9 if text.eq_ignore_ascii_case(b"emergency") => 23,
        11 if text.eq_ignore_ascii_case(b"information") => 9,
        13 if text.eq_ignore_ascii_case(b"informational") => 9,
        _ => 0,
    }
}

/// Ordered by how often the words are seen, since the comparisons run in this order.
fn short_word(packed: u64) -> u8 {
    packed_words!(packed;
        9: b"info" b"inf";
        17: b"error";
        13: b"warn" b"warning";
        5: b"debug";
        1: b"trace";
        21: b"fatal" b"critical" b"crit" b"panic" b"dpanic";
        17: b"err" b"erro" b"eror" b"severe" b"fail";
        13: b"wrn";
        10: b"notice" b"note" b"notc";
        9: b"success" b"ok" b"log";
        5: b"dbg" b"dbug" b"debu" b"debg" b"dbu" b"deb" b"fine" b"verbose" b"vrb" b"verb" b"config";
        5: b"debug1" b"debug2" b"debug3" b"debug4" b"debug5" b"devel";
        1: b"trc" b"trce" b"finest" b"finer" b"silly" b"spam" b"trac";
        21: b"pani" b"pnc" b"fata" b"ftl" b"fat" b"fatl" b"crt" b"dpa";
        22: b"alert" b"alrt";
        23: b"emerg" b"emrg";
    )
}

/// Whether a level word is also an ordinary word of prose or a component's name (`log`, `ok`, `config`), so that it
/// needs more than its place to count.
pub(crate) fn is_weak(text: &[u8]) -> bool {
    const WEAK: [&[u8]; 11] = [
        b"log", b"ok", b"note", b"success", b"config", b"fine", b"fail", b"deb", b"verb", b"spam",
        b"devel",
    ];
    WEAK.iter().any(|weak| text.eq_ignore_ascii_case(weak))
}

/// The severity of a one-letter level as klog, glog, MongoDB, Android and Serilog's short forms use it.
pub fn letter(byte: u8) -> u8 {
    match byte {
        b'T' => 1,
        b'D' | b'V' => 5,
        b'I' => 9,
        b'N' => 10,
        b'W' => 13,
        b'E' => 17,
        b'F' | b'C' => 21,
        _ => 0,
    }
}

/// The severity of a level value as a structured logger writes it: a word, a letter, a slog offset (`WARN+1`), or
/// zap's form for levels without a name (`Level(-2)`).
///
/// Plain numbers are not levels here: their meaning depends on the key they stand under (see `json`).
pub fn value(text: &[u8]) -> u8 {
    if let [byte] = text {
        return letter(byte.to_ascii_uppercase());
    }
    let severity = word(text);
    if severity != 0 {
        severity
    } else {
        offset_value(text)
    }
}

/// `INFO+2`, `ERROR-1`, `Level(-4)`, `LEVEL(5)`, MongoDB's `D1`.
#[inline(never)]
fn offset_value(text: &[u8]) -> u8 {
    if let [b'D', b'1'..=b'5'] = text {
        return 5;
    }
    if text.len() > 7
        && text[..6].eq_ignore_ascii_case(b"level(")
        && let Some(level) = text[6..].strip_suffix(b")").and_then(small_number)
    {
        return match level {
            ..=-2 => 1,
            -1 => 5,
            0 => 9,
            1 => 13,
            2 => 17,
            _ => 21,
        };
    }
    let Some(at) = text.iter().position(|byte| matches!(byte, b'+' | b'-')) else {
        return 0;
    };
    let base = match word(&text[..at]) {
        base @ (5 | 9 | 13 | 17) => i32::from(base),
        _ => return 0,
    };
    small_number(&text[at..]).map_or(0, |offset| (base + offset).clamp(1, 24) as u8)
}

/// A signed decimal of at most four digits.
fn small_number(text: &[u8]) -> Option<i32> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] | digits => (1, digits),
    };
    if digits.is_empty() || digits.len() > 4 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(
        sign * digits
            .iter()
            .fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0')),
    )
}

#[cfg(test)]
mod tests;
