//! Which logger writes this timestamp, these brackets and this spelling of the level.

use super::Head;
use crate::Format;
use crate::scan::{shaped, skip_blanks};
use crate::stamp::{Shape, Stamp};
use crate::tokens::Found;

/// The format of a dated line with a level.
pub(super) fn name(line: &[u8], head: &Head, found: &Found) -> Format {
    if head.bracketed {
        in_brackets(line, &head.stamp, found)
    } else {
        bare(line, head.at, &head.stamp, found)
    }
}

fn rest<'a>(line: &'a [u8], found: &Found) -> &'a [u8] {
    line.get(found.token.end..).unwrap_or(&[])
}

/// `[time] …`, `[time LEVEL …]`.
fn in_brackets(line: &[u8], stamp: &Stamp, found: &Found) -> Format {
    let after = rest(line, found);
    let closed = line.get(stamp.end) == Some(&b']');
    let glued = line.get(stamp.end + 1) == Some(&b'[');
    let wrapped = found.token.wrap == b'[';
    match stamp.shape {
        Shape::Weekday => Format::ApacheError,
        Shape::DayMonthName => Format::PhpFpm,
        _ if !closed && found.token.wrap == 0 => match stamp.shape {
            Shape::Clock | Shape::IsoSpace => Format::SerilogText,
            _ => Format::EnvLogger,
        },
        _ if glued && found.index == 0 => Format::Elasticsearch,
        _ if glued => Format::Envoy,
        _ if found.raw.start as usize > found.token.start && found.token.wrap == 0 => {
            Format::Monolog
        }
        _ if found.before.is_some_and(|token| token.wrap == b'{') => Format::Airflow,
        _ if wrapped && found.index == 1 && stamp.zoned => Format::Gunicorn,
        Shape::Slash if wrapped && stamp.fraction => Format::Pingcap,
        Shape::Slash if wrapped => Format::FluentBit,
        _ if wrapped && found.index == 0 && stamp.shape == Shape::IsoT => Format::Log4js,
        _ if wrapped && found.index <= 2 => Format::Spdlog,
        Shape::Clock if after.starts_with(b" (") || after.starts_with(b":") => Format::PinoPretty,
        Shape::Clock => Format::PinoPretty,
        _ if found.token.wrap == 0 && found.index == 0 => Format::Kafka,
        _ => Format::Bracketed,
    }
}

fn bare(line: &[u8], at: usize, stamp: &Stamp, found: &Found) -> Format {
    let after = rest(line, found);
    let wrapped = found.token.wrap == b'[';
    let short = found.raw.end - found.raw.start == 3;
    let pipe = line.get(stamp.end) == Some(&b'|');
    match stamp.shape {
        _ if pipe && stamp.shape == Shape::IsoT => Format::Ovs,
        _ if pipe => Format::Nlog,
        Shape::IsoT => iso_t(line, stamp, found),
        Shape::IsoSpace => iso_space(line, stamp, found),
        Shape::Epoch => Format::ZapConsole,
        Shape::Slash if wrapped && after.first() == Some(&b' ') && is_nginx(line, found) => {
            Format::NginxError
        }
        Shape::Slash if wrapped && at > 0 => Format::Nats,
        Shape::Slash if wrapped => Format::Logutils,
        Shape::Slash if found.index == 0 => Format::SlogDefault,
        Shape::Dot => Format::Clickhouse,
        Shape::ShortSlash => Format::Spark,
        Shape::DayMonthName => Format::Tomcat,
        Shape::Clock12 => Format::ZerologConsole,
        Shape::American => Format::Nestjs,
        Shape::Clock if wrapped && found.index == 0 => Format::Elixir,
        Shape::Clock if found.index >= 1 => Format::Logback,
        Shape::Clock if short => Format::ZerologConsole,
        Shape::Clock if stamp.comma || after.starts_with(b"  [") => Format::Jboss,
        Shape::MonthName => Format::SlogRs,
        _ if wrapped => Format::Bracketed,
        _ => Format::Leveled,
    }
}

/// nginx: process, `#`, thread, colon after the level.
fn is_nginx(line: &[u8], found: &Found) -> bool {
    let at = found.token.end + 1;
    let hash = crate::scan::digits_end(line, at);
    hash > at && line.get(hash) == Some(&b'#')
}

fn iso_t(line: &[u8], stamp: &Stamp, found: &Found) -> Format {
    let after = rest(line, found);
    let text = found.raw.of(line);
    let lower = text.first().is_some_and(u8::is_ascii_lowercase);
    if line.get(stamp.end) == Some(&b'\t') {
        return if found.index == 1 {
            Format::Lambda
        } else {
            Format::ZapConsole
        };
    }
    if line.get(found.token.start.wrapping_sub(1)) == Some(&b'\t') {
        return Format::Jenkins;
    }
    if found.token.wrap == b'[' {
        return match found.index {
            0 if lower => Format::StructlogConsole,
            0 => Format::Hclog,
            _ => Format::Mysql,
        };
    }
    if found.first.inner.of(line).starts_with(b"pid=") {
        return Format::Sidekiq;
    }
    if found.index >= 1 {
        return if found.first.wrap == b'[' {
            Format::Logback
        } else {
            Format::Leveled
        };
    }
    let pid = skip_blanks(line, found.token.end);
    let pid_end = crate::scan::digits_end(line, pid);
    if pid_end > pid && shaped(line, pid_end, b" --- [") {
        Format::SpringBoot
    } else if text.len() == 3 && !lower {
        Format::ZerologConsole
    } else if lower || is_caller(line, pid) || after.starts_with(b"\t") {
        Format::ZapConsole
    } else if has_target(line, pid) {
        Format::Tracing
    } else {
        Format::Leveled
    }
}

/// `logging/logging.go:16`: a word with a file ending, a colon and a line number.
pub(super) fn is_caller(line: &[u8], at: usize) -> bool {
    let text = &line[at.min(line.len())..crate::scan::word_end(line, at)];
    let Some(colon) = text.iter().rposition(|byte| *byte == b':') else {
        return false;
    };
    text[..colon].contains(&b'.')
        && colon + 1 < text.len()
        && text[colon + 1..].iter().all(u8::is_ascii_digit)
}

/// `target: message`, also behind tracing's spans (`span{field=1}: target: message`) and `ThreadId(01) `.
fn has_target(line: &[u8], at: usize) -> bool {
    let text = &line[at.min(line.len())..crate::scan::word_end(line, at)];
    text.ends_with(b":") || text.starts_with(b"ThreadId(") || text.contains(&b'{')
}

fn iso_space(line: &[u8], stamp: &Stamp, found: &Found) -> Format {
    let after = rest(line, found);
    let text = found.raw.of(line);
    match (found.token.wrap, found.index) {
        (b'|', 0) => Format::Loguru,
        (b'|', _) => Format::DatadogAgent,
        (b'[', 0) if after.starts_with(b"[") => Format::Calico,
        (b'[', 0) if after.starts_with(b":") => Format::Fluentd,
        (b'[', 0) if after.starts_with(b" <") => Format::Rabbitmq,
        (b'[', 0) if text.len() == 3 => Format::SerilogText,
        (b'[', 0) if !stamp.zoned && text.first().is_some_and(u8::is_ascii_lowercase) => {
            Format::StructlogConsole
        }
        (b'[', 0) => Format::Bracketed,
        (b'[', 1) if text.first().is_some_and(u8::is_ascii_uppercase) => Format::Mysql,
        (0, 0) if after.starts_with(b"  [") || after.starts_with(b" [") => {
            bracket_after(line, found)
        }
        (0, 0) if text.len() == 3 && text != b"LOG" => Format::ZerologConsole,
        (0, 0) => Format::Log4j,
        (0, _)
            if found
                .before
                .is_some_and(|token| token.inner.of(line) == b"-") =>
        {
            if found.first.wrap == b'[' {
                Format::Zookeeper
            } else {
                Format::PythonDash
            }
        }
        (0, 1) if found.first.wrap == b'[' => bracket_first(line, found),
        (0, 1) if found.first.inner.of(line).iter().all(u8::is_ascii_digit) => Format::Odoo,
        _ => Format::Leveled,
    }
}

fn bracket_first(line: &[u8], found: &Found) -> Format {
    match line.get(found.token.start - 1) {
        Some(b'\t') => Format::Jenkins,
        _ => Format::Logback,
    }
}

/// `INFO  [io.quarkus] (main) message` or log4j's `INFO  [main] class: message`.
fn bracket_after(line: &[u8], found: &Found) -> Format {
    match crate::tokens::token(line, found.token.end) {
        Some(token) if line.get(token.end..token.end + 2) == Some(b" (") => Format::Jboss,
        _ => Format::Log4j,
    }
}
