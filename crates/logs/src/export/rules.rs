//! Expressions that find the level, in an order in which the first match counts.
//!
//! They use only what Rust's regex, RE2 and Onigmo have in common: no look-around, no back references, groups named with
//! `(?P<level>…)`.

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Short name, `[a-z_]`.
    pub name: &'static str,
    /// The expression; its group `level` is the level as written.
    pub pattern: &'static str,
}

/// JSON keys that carry a level, best first.
pub const JSON_KEYS: [&str; 12] = [
    "level",
    "Level",
    "severity",
    "@level",
    "lvl",
    "log.level",
    "loglevel",
    "LogLevel",
    "levelname",
    "severity_text",
    "severityText",
    "@l",
];

macro_rules! iso {
    () => {
        r"\d{4}-\d{2}-\d{2}[T ] ?\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?: ?(?:Z|[+-]\d{2}:?\d{2}|UTC|GMT|CET))?"
    };
}

macro_rules! stamp {
    () => {
        concat!(
            r"(?:", iso!(), r"|\d{4}[/.]\d{2}[/.]\d{2} \d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?: [+-]\d{2}:\d{2})?",
            r"|\d{2}/\d{2}/\d{2} \d{2}:\d{2}:\d{2}|\d{2}:\d{2}:\d{2}(?:[.,]\d+)?|\d{1,2}:\d{2}(?:AM|PM)",
            r"|\d{2}-[A-Z][a-z]{2}-\d{4} \d{2}:\d{2}:\d{2}(?:\.\d+)?)"
        )
    };
}

macro_rules! capitals {
    () => {
        concat!(
            r"(?P<level>TRACE|TRC|DEBUG|DBG|DEBG|INFO|INF|NOTICE|WARNING|WARN|WRN|ERROR|ERRO|ERR|SEVERE|CRITICAL|CRIT",
            r"|FATAL|FTL|PANIC|ALERT|EMERGENCY|EMERG)"
        )
    };
}

macro_rules! any_case {
    () => {
        concat!(
            r"(?P<level>(?i:trace|trc|debug|dbg|information|info|inf|notice|note|warning|warn|wrn|error|err|severe",
            r"|critical|crit|fatal|ftl|panic|alert|emergency|emerg))"
        )
    };
}

/// The rules.
pub const RULES: &[Rule] = &[
    Rule {
        name: "klog",
        pattern: r"^(?P<level>[IWEF])(?:\d{4}|\d{6}|\d{8}) \d{2}:\d{2}:\d{2}\.\d{6} +\d+ ",
    },
    Rule {
        name: "klog_behind_a_stamp",
        pattern: r"^(?:<\d+>)?(?:\d{4}-\d{2}-\d{2}T[\d:.]+Z|[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \S+ \S+:) (?P<level>[IWEF])\d{4} \d{2}:\d{2}:\d{2}\.\d{6} +\d+ ",
    },
    Rule {
        name: "zap_tab",
        pattern: concat!(
            r"^(?:",
            iso!(),
            r"|\d{10,13}(?:\.\d+)?|\d\.\d+e\+\d{2})\t(?P<level>(?i:debug|info|warn|error|dpanic|panic|fatal|trace)|(?:Level|LEVEL)\(-?\d+\))(?:\t|$)"
        ),
    },
    Rule {
        name: "zap_space",
        pattern: r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2}) (?P<level>debug|info|warn|error|dpanic|panic|fatal) ",
    },
    Rule {
        name: "tensorflow",
        pattern: r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{6}: (?P<level>[IWEF]) \S+:\d+\] ",
    },
    Rule {
        name: "postgres",
        pattern: concat!(
            r"^",
            iso!(),
            r" [A-Z]{0,4} ?\[\d+\] (?:\S+@\S+ )?(?P<level>DEBUG|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC)\d?:  "
        ),
    },
    Rule {
        name: "celery",
        pattern: concat!(r"^\[", iso!(), r": ", capitals!(), r"/"),
    },
    Rule {
        name: "datadog_agent",
        pattern: concat!(r"^", iso!(), r" \| [A-Z-]+ \| ", capitals!(), r" \|"),
    },
    Rule {
        name: "python_dash",
        pattern: concat!(r"^", iso!(), r" - \S+ - ", capitals!(), r" - "),
    },
    Rule {
        name: "dated_brackets",
        pattern: concat!(
            r"^\[?",
            stamp!(),
            r"\]? ?(?:(?:\[[^\]]*\]|\d+) ?){0,2}?[\[<] *",
            any_case!(),
            r" *[\]>]"
        ),
    },
    Rule {
        name: "dated_word",
        pattern: concat!(
            r"^\[?",
            stamp!(),
            r"\]?[ \t|]+(?:(?:\[[^\]]*\]|\{[^}]*\}|\(\S+\)|\d+|-|pid=\S+|tid=\S+|class=\S+|jid=\S+)[ \t]+){0,5}?",
            capitals!(),
            r"(?:[ \t:|\]\[]|$)"
        ),
    },
    Rule {
        name: "dated_pipes",
        pattern: concat!(r"^", iso!(), r"\|(?:\d+\|\S+\|)?", capitals!(), r"\|"),
    },
    Rule {
        name: "monolog",
        pattern: concat!(r"^\[", iso!(), r"\] \w+\.", capitals!(), r": "),
    },
    Rule {
        name: "telegraf",
        pattern: r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z (?P<level>[TDIWE])! ",
    },
    Rule {
        name: "apache",
        pattern: concat!(
            r"^\[[A-Z][a-z]{2} [A-Z][a-z]{2} \d{2} [\d:.]+ \d{4}\] \[\w*:",
            any_case!(),
            r"\]"
        ),
    },
    Rule {
        name: "logfmt",
        pattern: r#"^(?:[A-Za-z_][\w.@/-]*=(?:"(?:[^"\\]|\\.)*"|[^" ]*) +){0,12}?(?:level|lvl|severity|log\.level)="?(?P<level>[A-Za-z]+(?:[+-]\d+)?)"?(?: |$)"#,
    },
    Rule {
        name: "logrus_tty",
        pattern: r"^(?P<level>TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[\d+\] ",
    },
    Rule {
        name: "ruby",
        pattern: concat!(r"^[A-Z], \[", iso!(), r" #\d+\] +", capitals!(), r" "),
    },
    Rule {
        name: "python_basic",
        pattern: concat!(r"^", capitals!(), r":[\w.]+:"),
    },
    Rule {
        name: "level_in_brackets",
        pattern: concat!(r"^\[", capitals!(), r"\]\s"),
    },
    Rule {
        name: "level_first",
        pattern: concat!(r"^", any_case!(), r": +"),
    },
    Rule {
        name: "level_word",
        pattern: concat!(r"^", capitals!(), r" +\["),
    },
];
