//! The rules in the language of each target.

use std::fmt::Write;

use flotilla_loglevel::{Level, value};

use super::{JSON_KEYS, RULES};

/// What no rule of one line can do.
const LIMITS: [&str; 3] = [
    "Lines that continue a record (stack traces, klog's value blocks) do not get its level.",
    "klog's year and time zone are not known here; keep the time of the container runtime.",
    "A line that does not say its level keeps what it has; nothing is guessed from stdout or stderr.",
];

/// Words whose level every target needs to know, in lower case.
const WORDS: [&str; 49] = [
    "trace",
    "trc",
    "trac",
    "finest",
    "finer",
    "silly",
    "10",
    "debug",
    "dbg",
    "dbug",
    "debu",
    "debg",
    "fine",
    "config",
    "verbose",
    "20",
    "info",
    "inf",
    "information",
    "informational",
    "log",
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
    "fatal",
    "fata",
    "ftl",
    "panic",
    "pani",
    "dpanic",
    "f",
    "60",
];

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

pub(super) fn vector() -> String {
    let mut out = comments("#");
    out.push_str(
        "message = string(.message) ?? \"\"\nraw = \"\"\nif starts_with(message, \"{\") {\n",
    );
    out.push_str("  json = object(parse_json(message) ?? {}) ?? {}\n");
    for key in JSON_KEYS {
        let _ = writeln!(
            out,
            "  if raw == \"\" && exists(json.{}) {{ raw = to_string(json.{}) ?? \"\" }}",
            quoted(key),
            quoted(key)
        );
    }
    out.push_str("  # Kubernetes' JSON has no level key: info has `v`, errors have not.\n");
    out.push_str(
        "  if raw == \"\" && is_float(json.ts) && exists(json.caller) && exists(json.msg) {\n",
    );
    out.push_str("    raw = if exists(json.v) { \"info\" } else { \"error\" }\n  }\n}\n");
    for rule in RULES {
        let pattern = rule.pattern.replace('\'', "\\'");
        let _ = writeln!(
            out,
            "# {}\nif raw == \"\" {{ found = parse_regex(message, r'{pattern}') ?? {{}}; raw = string(found.level) ?? \"\" }}",
            rule.name
        );
    }
    let entries: Vec<_> = WORDS
        .iter()
        .map(|word| format!("  \"{word}\": \"{}\"", level(word).name()))
        .collect();
    let _ = write!(out, "levels = {{\n{}\n", entries.join(",\n"));
    out.push_str("}\nknown = get(levels, [downcase(raw)]) ?? null\n");
    out.push_str("if is_string(known) { .level = known }\n");
    out
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
    out.push_str("  processor {\n    lookup_processor {\n      name = \"level words\"\n      is_enabled = true\n");
    out.push_str("      source = \"declared\"\n      target = \"level\"\n      lookup_table = [\n");
    for word in WORDS {
        if let Some(status) = level(word).datadog() {
            let _ = writeln!(out, "        \"{word},{status}\",");
        }
    }
    out.push_str("      ]\n    }\n  }\n  processor {\n    status_remapper {\n      name = \"level to status\"\n");
    out.push_str("      is_enabled = true\n      sources = [\"level\"]\n    }\n  }\n}\n");
    out
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
    ] {
        let words: Vec<_> = WORDS
            .iter()
            .filter(|word| level(word) == wanted)
            .map(|word| quoted(word))
            .collect();
        let _ = writeln!(out, "          {name}: [{}]", words.join(", "));
    }
    out
}

pub(super) fn loki() -> String {
    let mut out = comments("#");
    out.push_str(
        "pipeline_stages:\n  - cri: {}\n  - json:\n      expressions:\n        declared: level\n",
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
    ]
    .into_iter()
    .enumerate()
    {
        let words: Vec<_> = WORDS
            .iter()
            .filter(|word| level(word) == wanted)
            .map(|word| format!("(eq $l \"{word}\")"))
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
