//! Expressions that find the level, in an order in which the first match counts.
//!
//! What they find is a word that a table turns into a level. Some formats say their level by a sign, or by what they are:
//! Redis' `#`, a Python traceback. Then the sign or the telling word is found, and [`SIGNS`] knows it.
//!
//! They use only what Rust's regex, RE2 and Onigmo have in common: no look-around, no back references, groups named with
//! `(?P<level>…)`.

use flotilla_loglevel::Level;

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Short name, `[a-z_]`.
    pub name: &'static str,
    /// The expression; its group `level` is the level as written.
    pub pattern: &'static str,
}

/// JSON keys that carry a level, best first.
pub const JSON_KEYS: [&str; 13] = [
    "level",
    "Level",
    "severity",
    "@level",
    "lvl",
    "log.level",
    "loglevel",
    "LogLevel",
    "levelname",
    "level_name",
    "severity_text",
    "severityText",
    "@l",
];

/// Words and signs, in lower case, that mean a level only where a rule finds them.
pub const SIGNS: [(&str, Level); 40] = [
    (".", Level::Debug),
    ("-", Level::Debug),
    ("*", Level::Notice),
    ("#", Level::Warn),
    ("traceback", Level::Error),
    ("exception", Level::Error),
    ("throwable", Level::Error),
    ("uncaught", Level::Error),
    ("unhandledpromiserejection", Level::Error),
    ("node:internal", Level::Error),
    ("goroutine", Level::Critical),
    ("fatal error", Level::Critical),
    ("unexpected fault address", Level::Critical),
    ("sigsegv", Level::Critical),
    ("sigquit", Level::Critical),
    ("segmentation fault", Level::Critical),
    ("panicked", Level::Critical),
    ("fatal python error", Level::Critical),
    ("unhandled exception", Level::Critical),
    ("core error", Level::Critical),
    ("compile error", Level::Critical),
    ("parse error", Level::Error),
    ("recoverable fatal error", Level::Error),
    ("catchable fatal error", Level::Error),
    ("user error", Level::Error),
    ("core warning", Level::Warn),
    ("compile warning", Level::Warn),
    ("user warning", Level::Warn),
    ("deprecated", Level::Warn),
    ("user deprecated", Level::Warn),
    ("user notice", Level::Notice),
    ("strict standards", Level::Notice),
    ("http", Level::Info),
    ("timing", Level::Info),
    ("sill", Level::Debug),
    ("d1", Level::Debug),
    ("d2", Level::Debug),
    ("d3", Level::Debug),
    ("d4", Level::Debug),
    ("d5", Level::Debug),
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

macro_rules! escape {
    () => {
        r"\x1b\[[\d;]*m"
    };
}

macro_rules! fine {
    () => {
        r"(?P<level>FINEST|FINER|FINE|CONFIG)"
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
        name: "level_first_winston",
        pattern: r"^(?P<level>silly|verbose): ",
    },
    Rule {
        name: "level_first_java",
        pattern: concat!(r"^", fine!(), r": "),
    },
    Rule {
        name: "level_word",
        pattern: concat!(r"^", capitals!(), r" +\["),
    },
    Rule {
        name: "coloured",
        pattern: concat!(
            r"^(?:",
            escape!(),
            r"(?:",
            escape!(),
            r")*(?:",
            stamp!(),
            r")?|",
            stamp!(),
            r"[ \t|\[]*",
            escape!(),
            r")",
            r"(?:",
            escape!(),
            r"|[ \t|\[])*",
            r"(?P<level>(?i:trace|trac|trc|silly|debug|debu|dbg|verbose|information|info|inf|notice|warning|warn|wrn|error|erro|err",
            r"|severe|critical|crit|fatal|fata|ftl|dpanic|panic|pani|success|alert|emergency|emerg|level\(-?\d+\)))",
            r" *(?:",
            escape!(),
            r"|[:\]|])"
        ),
    },
    Rule {
        name: "redis",
        pattern: r"^\d+:[A-Z] \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2}\.\d+ (?P<level>[.*#-]) ",
    },
    Rule {
        name: "nats",
        pattern: r"^\[\d+\] \d{4}/\d{2}/\d{2} \d{2}:\d{2}:\d{2}(?:\.\d+)? \[(?P<level>TRC|DBG|INF|WRN|ERR|FTL)\] ",
    },
    Rule {
        name: "slog_term",
        pattern: r"^[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}\.\d+ (?P<level>TRCE|DEBG|INFO|WARN|ERRO|CRIT) ",
    },
    Rule {
        name: "seconds_since_start",
        pattern: concat!(r"^(?: *\d+\.\d+s|\[ *\d+\.\d+s\]) +", capitals!(), r" "),
    },
    Rule {
        name: "chromium",
        pattern: r"^\[(?:\d+:){0,2}\d{4}/\d{6}\.\d+:(?P<level>INFO|WARNING|ERROR|FATAL|VERBOSE)\d*:[^\]]+\] ",
    },
    Rule {
        name: "clickhouse",
        pattern: r"^\d{4}\.\d{2}\.\d{2} \d{2}:\d{2}:\d{2}\.\d+ \[ \d+ \] \{[^}]*\} <(?P<level>Trace|Debug|Information|Notice|Warning|Error|Critical|Fatal)> ",
    },
    Rule {
        name: "dotnet",
        pattern: r"^(?P<level>trce|dbug|info|warn|fail|crit): \S+\[\d+\]$",
    },
    Rule {
        name: "erlang",
        pattern: concat!(r"^=", capitals!(), r" REPORT===="),
    },
    Rule {
        name: "geth",
        pattern: concat!(r"^", capitals!(), r" *\[\d{2}-\d{2}\|[\d:.]+\] "),
    },
    Rule {
        name: "tomcat",
        pattern: concat!(r"^\d{2}-[A-Z][a-z]{2}-\d{4} [\d:.]+ ", fine!(), r" "),
    },
    Rule {
        name: "jenkins",
        pattern: concat!(r"^", iso!(), r"\s\[id=\d+\]\t", fine!(), r"\t"),
    },
    Rule {
        name: "tornado",
        pattern: r"^\[(?P<level>[DIWEC]) (?:\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d+)?|\d{6} \d{2}:\d{2}:\d{2}) [^\]]+\] ",
    },
    Rule {
        name: "lambda",
        pattern: concat!(
            r"^",
            iso!(),
            r"\t(?:[0-9a-f-]{36}|undefined)\t",
            capitals!(),
            r"\t"
        ),
    },
    Rule {
        name: "logcat",
        pattern: r"^\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d+ +\d+ +\d+ (?P<level>[VDIWEF]) ",
    },
    Rule {
        name: "nest",
        pattern: r"^\[Nest\] \d+ +- \d{2}/\d{2}/\d{4}, [\d:]+ [AP]M +(?P<level>VERBOSE|DEBUG|LOG|WARN|ERROR|FATAL) ",
    },
    Rule {
        name: "npm",
        pattern: r"^npm (?P<level>ERR|error|WARN|warn|notice|info|http|timing|verb|sill)\b",
    },
    Rule {
        name: "php",
        pattern: r"^PHP (?P<level>(?:Core |Compile |User |Recoverable fatal |Catchable fatal |Parse |Fatal )?[Ee]rror|(?:Core |Compile |User )?Warning|(?:User )?Deprecated|(?:User )?Notice|Strict Standards): ",
    },
    Rule {
        name: "serilog_verbose",
        pattern: concat!(r"^\[", stamp!(), r" (?P<level>VRB)\] "),
    },
    Rule {
        name: "loguru_success",
        pattern: concat!(r"^", iso!(), r" \| (?P<level>SUCCESS) +\| "),
    },
    Rule {
        name: "supervisor",
        pattern: concat!(r"^", iso!(), r" (?P<level>TRAC) "),
    },
    Rule {
        name: "slf4j_simple",
        pattern: concat!(r"^\[[^\]]+\] ", capitals!(), r" \S+ - "),
    },
    Rule {
        name: "rust_panic",
        pattern: r"^thread '[^']*' (?:\(\d+\) )?(?P<level>panicked) at ",
    },
    Rule {
        name: "runtime_dump",
        pattern: r"^(?P<level>fatal error|goroutine|unexpected fault address|SIGSEGV|SIGQUIT|Traceback|Fatal Python error|[Uu]nhandled [Ee]xception|Uncaught|UnhandledPromiseRejection|node:internal|Segmentation fault)(?:: | \d+ \[|: segmentation violation|: quit| \(most recent call last\):|/| )",
    },
    Rule {
        name: "python_group",
        pattern: r"^Exception Group (?P<level>Traceback) \(most recent call last\):",
    },
    Rule {
        name: "java_thread",
        pattern: r"^(?P<level>Exception) in thread ",
    },
    Rule {
        name: "exception",
        pattern: r"^(?:[A-Za-z0-9_$]+\.)+(?:[A-Z][A-Za-z0-9_$]*)?(?P<level>Exception|Error|Throwable)(?::|$)",
    },
];
