//! The rules in the language of each target.

use std::fmt::Write;

use flotilla_loglevel::{Level, value};

use super::{JSON_KEYS, RULES, SIGNS};

/// What no rule of one line can do.
const LIMITS: [&str; 3] = [
    "Lines that continue a record (stack traces, klog's value blocks) do not get its level.",
    "klog's year and time zone are not known here; keep the time of the container runtime.",
    "A line that does not say its level keeps what it has; nothing is guessed from stdout or stderr.",
];

/// Said where priorities cannot be reckoned with.
const SYSLOG_LIMIT: &str =
    "# Syslog's priorities (`<14>` at the head of a line) stay without a level.\n";

/// Words whose level every target needs to know, in lower case.
const WORDS: [&str; 60] = [
    "trace",
    "trc",
    "trac",
    "trce",
    "t",
    "finest",
    "finer",
    "silly",
    "10",
    "debug",
    "dbg",
    "dbug",
    "debu",
    "debg",
    "d",
    "v",
    "vrb",
    "verb",
    "fine",
    "config",
    "verbose",
    "20",
    "info",
    "inf",
    "information",
    "informational",
    "log",
    "success",
    "i",
    "30",
    "notice",
    "note",
    "n",
    "warn",
    "warning",
    "wrn",
    "w",
    "40",
    "error",
    "err",
    "eror",
    "erro",
    "severe",
    "fail",
    "e",
    "50",
    "critical",
    "crit",
    "c",
    "alert",
    "emergency",
    "emerg",
    "fatal",
    "fata",
    "ftl",
    "panic",
    "pani",
    "dpanic",
    "f",
    "60",
];

/// Everything that means a level, in lower case: the words, the signs, slog's levels between its own (`INFO+2`), and
/// zap's without a name (`Level(-2)`).
fn words() -> Vec<(String, Level)> {
    let mut all: Vec<_> = WORDS
        .iter()
        .map(|word| ((*word).to_owned(), level(word)))
        .collect();
    all.extend(SIGNS.map(|(sign, level)| (sign.to_owned(), level)));
    let between = ["debug", "info", "warn", "error"]
        .into_iter()
        .flat_map(|base| {
            (-4..=4)
                .filter(|n| *n != 0)
                .map(move |n| format!("{base}{n:+}"))
        });
    let nameless = (-9..=5).map(|n| format!("level({n})"));
    all.extend(between.chain(nameless).map(|word| {
        let level = level(&word);
        (word, level)
    }));
    all
}

/// Syslog's severities in their order.
fn syslog() -> [&'static str; 8] {
    std::array::from_fn(|n| Level::of_syslog(n as u8).name())
}

/// The level of a word of [`WORDS`]; pino's numbers are among them.
fn level(word: &str) -> Level {
    match word {
        "10" => Level::Trace,
        "20" => Level::Debug,
        "30" => Level::Info,
        "40" => Level::Warn,
        "50" => Level::Error,
        "60" => Level::Critical,
        word => Level::of_severity(value(word.as_bytes())),
    }
}

fn comments(mark: &str) -> String {
    let mut out = format!("{mark} Log levels by what each line declares.\n");
    for limit in LIMITS {
        let _ = writeln!(out, "{mark} {limit}");
    }
    out
}

/// A string in double quotes as HCL, YAML and VRL read it.
fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\t', "\\t")
    )
}

/// What Vector's language cannot say.
const VECTOR_LIMITS: [&str; 3] = [
    "A key that stands twice in JSON: VRL keeps the last, the logger's is the first. Only at the beginning of the line is it found.",
    "slog's offsets beyond four (INFO+5), and keys that hold a level in somebody's own nested objects.",
    "A syslog message that is JSON or key=value pairs itself keeps what it has, for its own level may be another.",
];

/// The beginning of a syslog line without its priority whose message is JSON or pairs.
const SYSLOG_PAYLOAD: &str =
    r"[A-Z][a-z]{2} [ \d]\d [\d:.]+ (?:\S+ )?[^ :\[]+(?:\[[^\]]*\])?: *(?:\{|[A-Za-z_.]+=)";

pub(super) fn vector() -> String {
    let mut out = comments("#");
    for limit in VECTOR_LIMITS {
        let _ = writeln!(out, "# {limit}");
    }
    out.push_str("message = string(.message) ?? \"\"\nraw = \"\"\n");
    vector_tables(&mut out);
    vector_json(&mut out);
    for rule in RULES {
        let pattern = rule.pattern.replace('\'', "\\'");
        let _ = writeln!(
            out,
            "# {}\nif raw == \"\" {{ found = parse_regex(message, r'{pattern}') ?? {{}}; raw = downcase(string(found.level) ?? \"\") }}",
            rule.name
        );
    }
    let _ = write!(
        out,
        "# syslog's priorities\nif raw == \"\" && !match(message, r'^<\\d+>{SYSLOG_PAYLOAD}') {{\n  found = parse_regex(message, r'^<(?P<priority>\\d{{1,3}})>') ?? {{}}\n"
    );
    out.push_str("  priority = if is_null(found.priority) { 192 } else { to_int(found.priority) ?? 192 }\n  if priority < 192 { raw = string(get(syslog, [mod(priority, 8)]) ?? \"\") ?? \"\" }\n}\n");
    out.push_str("known = get(levels, [raw]) ?? null\nif is_null(known) { known = get(signs, [raw]) ?? null }\n");
    out.push_str("if is_string(known) { .level = known }\n");
    out
}

/// Words, signs that count only where a rule finds them, and syslog's severities.
fn vector_tables(out: &mut String) {
    let (signs, words): (Vec<_>, Vec<_>) = words()
        .into_iter()
        .partition(|(word, _)| SIGNS.iter().any(|(sign, _)| sign == word));
    for (name, entries) in [("levels", words), ("signs", signs)] {
        let entries: Vec<_> = entries
            .iter()
            .map(|(word, level)| format!("  {}: \"{}\"", quoted(word), level.name()))
            .collect();
        let _ = writeln!(out, "{name} = {{\n{}\n}}", entries.join(",\n"));
    }
    let _ = writeln!(out, "syslog = [{}]", syslog().map(quoted).join(", "));
}

/// The level that a JSON line says, by key and by what loggers leave out.
fn vector_json(out: &mut String) {
    out.push_str("if starts_with(message, \"{\") {\n");
    let take = |value: &str, out: &mut String| {
        let _ = writeln!(
            out,
            "  if raw == \"\" {{ word = downcase(to_string({value}) ?? \"\"); if is_string(get(levels, [word]) ?? null) {{ raw = word }} }}"
        );
    };
    out.push_str("  found = parse_regex(message, r'^\\{ *\"(?:level|severity)\": *\"(?P<level>[A-Za-z]+)\"') ?? {}\n");
    out.push_str("  word = downcase(string(found.level) ?? \"\"); if is_string(get(levels, [word]) ?? null) { raw = word }\n");
    out.push_str("  json = object(parse_json(message) ?? {}) ?? {}\n");
    for key in JSON_KEYS {
        take(&format!("json.{}", quoted(key)), out);
    }
    // Where loggers nest the level: loguru, ECS, tracing.
    for path in [
        "level.name",
        "log.level",
        "record.level.name",
        "fields.level",
    ] {
        take(&format!("json.{path}"), out);
    }
    out.push_str("  # MongoDB\n  s = string(json.s) ?? \"\"\n  if raw == \"\" && match(s, r'^(?:[IWEF]|D[1-5])$') { raw = downcase(s) }\n");
    out.push_str("  # Syslog's numbers, under the keys that mean them: journald, GELF 1.1.\n  number = json.PRIORITY\n");
    out.push_str("  if is_null(number) { number = json.\"syslog.severity\" }\n  if is_null(number) { number = json.syslog.severity }\n");
    out.push_str("  if is_null(number) && json.version == \"1.1\" && exists(json.short_message) { number = json.level }\n");
    out.push_str("  number = if is_null(number) { 8 } else { to_int(number) ?? 8 }\n  if raw == \"\" && number >= 0 && number < 8 { raw = string(get(syslog, [number]) ?? \"\") ?? \"\" }\n");
    out.push_str("  # Serilog leaves out the level of information.\n  if raw == \"\" && exists(json.\"@t\") && (exists(json.\"@m\") || exists(json.\"@mt\")) && !exists(json.\"@l\") { raw = \"info\" }\n");
    out.push_str("  # Kubernetes' JSON has no level key: info has `v`, errors have not.\n");
    out.push_str(
        "  if raw == \"\" && is_float(json.ts) && exists(json.caller) && exists(json.msg) {\n",
    );
    out.push_str("    raw = if exists(json.v) { \"info\" } else { \"error\" }\n  }\n}\n");
}

pub(super) fn datadog() -> String {
    let mut out = comments("#");
    out.push_str(
        "# Put this pipeline first: only the first status remapper of all pipelines counts.\n",
    );
    out.push_str("resource \"datadog_logs_custom_pipeline\" \"level\" {\n  name = \"level\"\n  is_enabled = true\n");
    out.push_str("  filter {\n    query = \"*\"\n  }\n");
    // Datadog advises at most ten rules for one parser.
    for (index, rules) in RULES.chunks(10).enumerate() {
        let _ = writeln!(
            out,
            "  processor {{\n    grok_parser {{\n      name = \"level, part {}\"\n      is_enabled = true\n      source = \"message\"\n      grok {{\n        support_rules = \"\"\n        match_rules = <<-EOT",
            index + 1
        );
        for rule in rules {
            let _ = writeln!(out, "          {} {}", rule.name, grok(rule.pattern));
        }
        out.push_str("        EOT\n      }\n    }\n  }\n");
    }
    let _ = writeln!(
        out,
        "  processor {{\n    grok_parser {{\n      name = \"syslog priority\"\n      is_enabled = true\n      source = \"message\"\n      grok {{\n        support_rules = \"\"\n        match_rules = <<-EOT\n          syslog_priority <%{{regex(\"\\\\d{{1,3}}\"):priority}}>%{{regex({})}}%{{data}}\n        EOT\n      }}\n    }}\n  }}",
        quoted(&format!("(?!{SYSLOG_PAYLOAD})"))
    );
    // The words come last: a line with a header of its own knows better than the transport.
    let priorities =
        (0..192u8).map(|priority| (priority.to_string(), Level::of_syslog(priority % 8)));
    datadog_lookup("syslog priorities", "priority", priorities, &mut out);
    datadog_lookup("level words", "declared", words().into_iter(), &mut out);
    out.push_str("  processor {\n    status_remapper {\n      name = \"level to status\"\n");
    out.push_str("      is_enabled = true\n      sources = [\"level\"]\n    }\n  }\n}\n");
    out
}

/// A table of words for an attribute.
fn datadog_lookup(
    name: &str,
    source: &str,
    words: impl Iterator<Item = (String, Level)>,
    out: &mut String,
) {
    let _ = writeln!(
        out,
        "  processor {{\n    lookup_processor {{\n      name = {}\n      is_enabled = true\n      source = {}\n      target = \"level\"\n      lookup_table = [",
        quoted(name),
        quoted(source)
    );
    for (word, level) in words {
        if let Some(status) = level.datadog() {
            let _ = writeln!(out, "        \"{word},{status}\",");
        }
    }
    out.push_str("      ]\n    }\n  }\n");
}

/// A rule as grok: the expression around the level, the level as an attribute, then the rest of the line.
fn grok(pattern: &str) -> String {
    let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
    let Some((before, rest)) = pattern.split_once("(?P<level>") else {
        return String::new();
    };
    let (level, after) = rest.split_at(group_end(rest));
    let part = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!("%{{regex({})}}", quoted(text))
        }
    };
    format!(
        "{}%{{regex({}):declared:lowercase}}{}%{{data}}",
        part(before),
        quoted(level),
        part(&after[1..])
    )
}

/// Where the group ends that was opened before `text`.
fn group_end(text: &str) -> usize {
    let (mut depth, mut escaped, mut class) = (1, false, false);
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => {
                escaped = false;
                continue;
            }
            '\\' => {
                escaped = true;
                continue;
            }
            '[' => class = true,
            ']' => class = false,
            '(' if !class => depth += 1,
            ')' if !class => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

pub(super) fn fluentbit() -> String {
    let mut out = comments("#");
    out.push_str(SYSLOG_LIMIT);
    out.push_str("# The level stays as it was written in `level`; Fluent Bit has no look-up of words without Lua.\n");
    out.push_str("parsers:\n");
    for rule in RULES {
        // Onigmo spells named groups without the P.
        let pattern = rule.pattern.replace("(?P<", "(?<");
        let _ = writeln!(
            out,
            "  - name: level_{}\n    format: regex\n    regex: '{}'",
            rule.name,
            pattern.replace('\'', "''")
        );
    }
    out.push_str("  - name: level_json\n    format: json\n");
    out.push_str("pipeline:\n  filters:\n    - name: parser\n      match: kube.*\n      key_name: log\n      reserve_data: on\n      preserve_key: on\n      parser:\n        - level_json\n");
    for rule in RULES {
        let _ = writeln!(out, "        - level_{}", rule.name);
    }
    out
}

pub(super) fn otelcol() -> String {
    let mut out = comments("#");
    out.push_str(SYSLOG_LIMIT);
    out.push_str("# Levels that are numbers in JSON (pino, bunyan) stay without a severity.\n");
    out.push_str("receivers:\n  filelog:\n    include: [/var/log/pods/*/*/*.log]\n    operators:\n      - type: container\n");
    out.push_str("      - type: json_parser\n        if: 'body startsWith \"{\"'\n        parse_to: attributes\n        on_error: send_quiet\n");
    for key in &JSON_KEYS[1..] {
        let _ = writeln!(
            out,
            "      - type: copy\n        if: 'attributes[\"level\"] == nil and attributes[\"{key}\"] != nil'\n        from: attributes[\"{key}\"]\n        to: attributes[\"level\"]"
        );
    }
    for rule in RULES {
        // The collector reads `$` as the beginning of a variable, and `$$` as a dollar.
        let _ = writeln!(
            out,
            "      - type: regex_parser\n        if: 'attributes[\"level\"] == nil'\n        regex: '{}'\n        on_error: send_quiet",
            rule.pattern.replace('\'', "''").replace('$', "$$")
        );
    }
    out.push_str("      - type: severity_parser\n        if: 'attributes[\"level\"] != nil'\n        parse_from: attributes.level\n        on_error: send_quiet\n        preset: none\n        mapping:\n");
    for (name, wanted) in [
        ("trace", Level::Trace),
        ("debug", Level::Debug),
        ("info", Level::Info),
        ("info2", Level::Notice),
        ("warn", Level::Warn),
        ("error", Level::Error),
        ("fatal", Level::Critical),
        ("fatal2", Level::Alert),
        ("fatal3", Level::Emergency),
    ] {
        let words: Vec<_> = words()
            .iter()
            .filter(|(_, level)| *level == wanted)
            .map(|(word, _)| quoted(word))
            .collect();
        let _ = writeln!(out, "          {name}: [{}]", words.join(", "));
    }
    out
}

pub(super) fn loki() -> String {
    let mut out = comments("#");
    out.push_str(SYSLOG_LIMIT);
    // The first key that is there, as JMESPath says it.
    let keys: Vec<_> = JSON_KEYS.into_iter().map(quoted).collect();
    let _ = writeln!(
        out,
        "pipeline_stages:\n  - cri: {{}}\n  - json:\n      expressions:\n        declared: '{}'",
        keys.join(" || ")
    );
    for rule in RULES {
        let pattern = rule
            .pattern
            .replace("(?P<level>", "(?P<declared>")
            .replace('\'', "''");
        let _ = writeln!(
            out,
            "  # {}\n  - regex:\n      expression: '{pattern}'",
            rule.name
        );
    }
    out.push_str("  - template:\n      source: detected_level\n      template: '{{ $l := ToLower .declared }}");
    for (index, wanted) in [
        Level::Trace,
        Level::Debug,
        Level::Info,
        Level::Notice,
        Level::Warn,
        Level::Error,
        Level::Critical,
        Level::Alert,
        Level::Emergency,
    ]
    .into_iter()
    .enumerate()
    {
        let words: Vec<_> = words()
            .iter()
            .filter(|(_, level)| *level == wanted)
            .map(|(word, _)| format!("(eq $l \"{word}\")"))
            .collect();
        let keyword = if index == 0 { "if" } else { "else if" };
        let _ = write!(
            out,
            "{{{{ {keyword} or {} }}}}{}",
            words.join(" "),
            wanted.loki()
        );
    }
    out.push_str("{{ else }}unknown{{ end }}'\n  - structured_metadata:\n      detected_level:\n");
    out
}
