//! Which logger a JSON line comes from, told by the set of keys it uses.

use super::Kind;
use super::keys::Key;
use crate::Format;
use crate::record::{Record, Source, Span};

/// The keys seen, one bit for each spelling that tells loggers apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    level_ranks: u16,
    time_is_number: bool,
    v: bool,
    pid: bool,
    hostname: bool,
    target: bool,
    version: bool,
    error: bool,
    nested: bool,
    /// `level` stood inside a nested object.
    pub(crate) nested_level: bool,
    /// The keys whose values the record took.
    pub(crate) time: Span,
    pub(crate) message: Span,
    pub(crate) logger: Span,
}

impl Shape {
    #[inline(always)]
    pub(crate) fn see(&mut self, key: Key, kind: Kind) {
        match key {
            Key::Level(rank) => self.level_ranks |= 1 << rank,
            Key::Time => self.time_is_number |= kind == Kind::Number,
            Key::V => self.v = true,
            Key::Pid => self.pid = true,
            Key::Hostname => self.hostname = true,
            Key::Target => self.target = true,
            Key::Version => self.version = true,
            Key::Error => self.error = true,
            Key::Nested => self.nested = true,
            _ => {}
        }
    }

    fn has(&self, rank: u8) -> bool {
        self.level_ranks & 1 << rank != 0
    }

    /// Names the format, and fills in the levels that stand between the keys: Kubernetes' and Serilog's JSON.
    pub(crate) fn finish(&self, line: &[u8], numeric: bool, record: &mut Record) {
        record.confidence = 95;
        record.format = self.format(line, numeric, record);
        match record.format {
            // klog's V(n).Info carries `v`; klog.Error does not. Source: component-base/logs/json.
            Format::KubernetesJson => {
                record.set(
                    if self.v { 9 } else { 17 },
                    Source::JsonKey,
                    Span::default(),
                );
            }
            Format::SerilogJson if record.severity == 0 && !self.has(8) => {
                record.set(9, Source::JsonKey, Span::default());
            }
            Format::Gelf => self.gelf(line, record),
            Format::Json => record.confidence = 70,
            _ => {}
        }
    }

    fn format(&self, line: &[u8], numeric: bool, record: &Record) -> Format {
        let [time, message, logger] =
            [self.time, self.message, self.logger].map(|key| key.of(line));
        let capital = record
            .level_raw
            .of(line)
            .first()
            .is_some_and(u8::is_ascii_uppercase);
        match (time, message, logger) {
            (b"@t", ..) => Format::SerilogJson,
            (_, b"@message", _) => Format::HclogJson,
            (_, b"MESSAGE", _) | (b"__REALTIME_TIMESTAMP", ..) => Format::JournaldJson,
            (_, b"short_message", _) if self.version => Format::Gelf,
            (_, _, b"loggerName") => Format::Log4j2Json,
            (_, _, b"logger_name") => Format::LogstashJson,
            (_, _, b"Category") if self.has(5) => Format::DotnetJson,
            _ if self.has(11) && record.severity != 0 => Format::Mongodb,
            _ if self.has(7) || self.has(9) => Format::OtelJson,
            _ if self.has(6) && (self.has(0) || message != b"msg") && time == b"datetime" => {
                Format::MonologJson
            }
            _ if self.has(6) => Format::PythonJson,
            _ if self.nested && self.nested_level && self.has_only_nested() => {
                if time == b"@timestamp" {
                    Format::Ecs
                } else {
                    Format::LoguruJson
                }
            }
            _ if self.has(4) => Format::Ecs,
            _ if self.has(2) && !self.has(0) => Format::GcpJson,
            _ if numeric && self.pid && self.v => Format::Bunyan,
            _ if numeric => Format::Pino,
            _ if self.target && self.nested => Format::TracingJson,
            (_, b"event", _) if self.has(0) => Format::StructlogJson,
            (b"ts", b"msg", _) if self.has(0) => Format::ZapJson,
            (b"ts", b"msg", _) if self.is_kubernetes(record) => Format::KubernetesJson,
            (b"time", b"msg", _) if self.has(0) && capital => Format::SlogJson,
            (b"time", b"msg", _) if self.has(0) => Format::LogrusJson,
            (b"time", b"message", _) if self.has(0) => Format::ZerologJson,
            (_, b"message", _) if self.has(0) => Format::WinstonJson,
            (_, b"msg", _) if self.has(0) && !record.caller.is_empty() => Format::ZapJson,
            _ => Format::Json,
        }
    }

    fn has_only_nested(&self) -> bool {
        self.level_ranks == 0
    }

    /// `ts` as a number, `caller` and `msg`, no level key, and a `v` or none of anything else that would explain it.
    fn is_kubernetes(&self, record: &Record) -> bool {
        self.level_ranks == 0 && self.time_is_number && !record.caller.is_empty()
    }

    /// GELF's `level` is syslog's, but only version 1.1 says so.
    fn gelf(&self, line: &[u8], record: &mut Record) {
        if record.severity != 0 {
            return;
        }
        let mut members = super::Members::new(line, 0);
        while let Some((name, value)) = members.next() {
            let text = value.span.of(line);
            if name.of(line) == b"level" && text.len() == 1 {
                let severity = crate::Level::of_syslog(text[0].wrapping_sub(b'0')).severity();
                record.set(severity, Source::JsonKey, value.span);
                return;
            }
        }
    }
}
