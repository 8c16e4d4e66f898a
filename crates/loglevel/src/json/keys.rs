//! The keys that loggers use, what they mean, and how a level value under each is read.

use crate::level;

/// What a top-level key means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Carries the level; the number is its rank, lower wins.
    Level(u8),
    Time,
    Message,
    Logger,
    Caller,
    Thread,
    Error,
    /// An object whose members are read too.
    Nested,
    /// klog's verbosity in Kubernetes JSON, bunyan's version.
    V,
    Pid,
    Hostname,
    Target,
    Version,
    Other,
}

/// Rank of `log.level`, written dotted or nested.
pub(crate) const NESTED_RANK: u8 = 4;
/// Rank of `syslog.severity`.
pub(crate) const SYSLOG_RANK: u8 = 12;
/// Rank of journald's `PRIORITY`.
const PRIORITY_RANK: u8 = 13;
/// Rank of OpenTelemetry's severity number.
const NUMBER_RANK: u8 = 9;
/// Rank of `status`, which is a level only when it says so in words.
const STATUS_RANK: u8 = 10;
/// Rank of MongoDB's one-letter `s`.
const MONGO_RANK: u8 = 11;
/// Rank of Python's `levelno`, whose numbers are not pino's.
const LEVELNO_RANK: u8 = 14;

/// The meaning of a key. Grouped by length, because that is one comparison for most keys of most lines.
#[inline(always)]
pub(crate) fn key(name: &[u8]) -> Key {
    match name.len() {
        1 => one(name[0]),
        2 => two(name),
        3 => three(name),
        4 => four(name),
        5 => five(name),
        6 => six(name),
        7 => seven(name),
        8 => eight(name),
        9 => nine(name),
        10.. => long(name),
        0 => Key::Other,
    }
}

fn one(name: u8) -> Key {
    match name {
        b's' => Key::Level(MONGO_RANK),
        b't' => Key::Time,
        b'v' => Key::V,
        b'c' => Key::Logger,
        _ => Key::Other,
    }
}

fn two(name: &[u8]) -> Key {
    match name {
        b"ts" | b"@t" => Key::Time,
        b"@m" => Key::Message,
        b"@l" => Key::Level(8),
        b"@x" => Key::Error,
        _ => Key::Other,
    }
}

fn three(name: &[u8]) -> Key {
    match name {
        b"msg" | b"@mt" => Key::Message,
        b"lvl" => Key::Level(3),
        b"err" => Key::Error,
        b"pid" => Key::Pid,
        b"log" => Key::Nested,
        b"ctx" => Key::Thread,
        _ => Key::Other,
    }
}

fn four(name: &[u8]) -> Key {
    match name {
        b"time" => Key::Time,
        b"name" => Key::Logger,
        b"body" => Key::Message,
        b"file" => Key::Caller,
        _ => Key::Other,
    }
}

fn five(name: &[u8]) -> Key {
    match name {
        b"level" => Key::Level(0),
        b"Level" => Key::Level(1),
        b"event" => Key::Message,
        b"error" => Key::Error,
        b"scope" => Key::Logger,
        _ => Key::Other,
    }
}

fn six(name: &[u8]) -> Key {
    match name {
        b"logger" => Key::Logger,
        b"caller" | b"source" => Key::Caller,
        b"status" => Key::Level(STATUS_RANK),
        b"@level" => Key::Level(2),
        b"target" => Key::Target,
        b"fields" | b"record" | b"syslog" => Key::Nested,
        b"thread" => Key::Thread,
        _ => Key::Other,
    }
}

fn seven(name: &[u8]) -> Key {
    match name {
        b"message" | b"Message" | b"MESSAGE" => Key::Message,
        b"version" => Key::Version,
        b"channel" | b"@module" => Key::Logger,
        b"asctime" | b"instant" => Key::Time,
        b"levelno" => Key::Level(LEVELNO_RANK),
        _ => Key::Other,
    }
}

fn eight(name: &[u8]) -> Key {
    match name {
        b"severity" | b"Severity" => Key::Level(2),
        b"loglevel" | b"logLevel" | b"LogLevel" => Key::Level(5),
        b"@message" => Key::Message,
        b"hostname" => Key::Hostname,
        b"datetime" => Key::Time,
        b"Category" => Key::Logger,
        b"PRIORITY" => Key::Level(PRIORITY_RANK),
        _ => Key::Other,
    }
}

fn nine(name: &[u8]) -> Key {
    match name {
        b"timestamp" | b"Timestamp" => Key::Time,
        b"log.level" => Key::Level(NESTED_RANK),
        b"log_level" => Key::Level(5),
        b"levelname" => Key::Level(6),
        b"exception" | b"Exception" => Key::Error,
        _ => Key::Other,
    }
}

fn long(name: &[u8]) -> Key {
    match name {
        b"@timestamp" | b"timeMillis" | b"timeUnixNano" | b"__REALTIME_TIMESTAMP" => Key::Time,
        b"level_name" => Key::Level(6),
        b"log.logger" | b"logger_name" | b"loggerName" | b"SourceContext" => Key::Logger,
        b"severity_text" | b"severityText" | b"SeverityText" => Key::Level(7),
        b"severityNumber" | b"severity_number" | b"SeverityNumber" => Key::Level(NUMBER_RANK),
        b"syslog.severity" => Key::Level(SYSLOG_RANK),
        b"short_message" => Key::Message,
        b"MessageTemplate" => Key::Message,
        b"thread_name" | b"threadName" | b"process.thread.name" => Key::Thread,
        b"error.message" => Key::Error,
        _ => Key::Other,
    }
}

/// The severity of a text value under a level key of this rank.
pub(crate) fn string_severity(rank: u8, text: &[u8]) -> u8 {
    match rank {
        // A state such as "ok" is what the line is about, not how serious the line is.
        STATUS_RANK => match level::word(text) {
            9 if !text.eq_ignore_ascii_case(b"info") => 0,
            severity => severity,
        },
        MONGO_RANK => match text {
            [b'I' | b'W' | b'E' | b'F'] => level::letter(text[0]),
            [b'D', b'1'..=b'5'] => 5,
            _ => 0,
        },
        PRIORITY_RANK | SYSLOG_RANK if text.len() == 1 && text[0].is_ascii_digit() => {
            level::Level::of_syslog(text[0] - b'0').severity()
        }
        _ => match level::value(text) {
            // A number in quotes is read like the number.
            0 if text.first().is_some_and(u8::is_ascii_digit) => number_severity(rank, text),
            severity => severity,
        },
    }
}

/// The severity of a number under a level key of this rank; 0 where its meaning would be a guess.
///
/// 10 to 60 under `level` are pino's and bunyan's. 0 to 7 are syslog's only under keys that say so: zerolog, log15 and
/// others use the same digits with other meanings.
pub(crate) fn number_severity(rank: u8, text: &[u8]) -> u8 {
    if text.len() > 3 || !text.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    let number = text
        .iter()
        .fold(0u16, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    match (rank, number) {
        (PRIORITY_RANK | SYSLOG_RANK, 0..=7) => level::Level::of_syslog(number as u8).severity(),
        (NUMBER_RANK, 1..=24) => number as u8,
        (LEVELNO_RANK, 10..=60) => [0, 5, 9, 13, 17, 21, 21][usize::from(number / 10)],
        (0 | 1, 10..=60) => [0, 1, 5, 9, 13, 17, 21][usize::from(number / 10)],
        // Google Cloud's LogSeverity, which are also Monolog's steps.
        (2, 100 | 200 | 300 | 400 | 500 | 600 | 700 | 800) => {
            [0, 5, 9, 10, 13, 17, 21, 22, 23][usize::from(number / 100)]
        }
        _ => 0,
    }
}
