use flotilla_loglevel::{FORMATS, Hint, Level, classify};
use regex::Regex;
use serde_json::{Map, Value};

use super::{RULES, Reader, Target, render};

#[test]
fn every_expression_compiles_and_names_its_level() {
    Reader::new().unwrap();
    for rule in RULES {
        assert_eq!(
            rule.pattern.matches("(?P<level>").count(),
            1,
            "{}",
            rule.name
        );
        assert!(!rule.pattern.contains("(?="), "{} looks around", rule.name);
    }
}

#[test]
fn the_rules_agree_with_us_on_common_lines() {
    let reader = Reader::new().unwrap();
    for line in [
        "I0911 07:22:25.408586       1 a.go:1] x",
        "2026-09-11T07:19:45Z\tINFO\tcontrollers.Spoke\trequeueing",
        "2026-09-11T04:39:22.159Z error logging/logging.go:16 x",
        "time=2026-09-11T06:13:28Z level=warn msg=x",
        "ts=2026-09-11T07:22:25.408Z caller=main.go:12 level=error msg=\"x\"",
        "msg=\"level=error is not the level\" level=info",
        "2026-09-11T07:22:25.408Z  INFO 1 --- [main] c.e.App : ERROR message",
        "[2026-09-11 07:22:25 +0000] [1] [WARNING] message",
        "2026/09/11 07:22:25 [warn] 7#7: *1 message",
        "2026-09-11 07:22:25.408 UTC [1] ERROR:  x",
        "t=2026-11-30T19:16:37+0000 lvl=crit msg=\"x\" n=599 level=info",
        "2026-11-30 19:25:57 [critical ] [ERROR] in brackets, but later n=594 status=error",
        "[2026/07/10 12:08:53] [ warn] [engine] [ERROR] in brackets, but later",
        "E0911 failed to get info",
        "0 errors found",
        "2026/09/11 07:22:25 finished with ERROR count 0",
    ] {
        let ours = classify(line.as_bytes(), &Hint::default()).level;
        assert_eq!(reader.level(line).unwrap_or(Level::Unknown), ours, "{line}");
    }
    assert!(FORMATS.len() > 100);
}

#[test]
fn every_target_says_what_it_cannot_do() {
    for target in [
        Target::Datadog,
        Target::Vector,
        Target::Fluentbit,
        Target::Otelcol,
        Target::Loki,
    ] {
        let text = render(target);
        assert!(
            text.starts_with("# Log levels") && text.contains("do not get its level"),
            "{target:?}"
        );
        assert!(!text.contains("%{regex(\"\")}"));
    }
    for target in [Target::Fluentbit, Target::Otelcol, Target::Loki] {
        let parsed: serde_json::Value = serde_saphyr::from_str(&render(target)).unwrap();
        assert!(parsed.is_object(), "{target:?}");
    }
}

fn yaml(target: Target) -> Value {
    serde_saphyr::from_str(&render(target)).unwrap()
}

/// Fails on a key that is not among the documented ones.
fn only(map: &Map<String, Value>, documented: &[&str]) {
    for key in map.keys() {
        assert!(documented.contains(&key.as_str()), "{key} in {map:?}");
    }
}

/// Fluent Bit's manual: data-pipeline/parsers/configuring-parser, data-pipeline/filters/parser, YAML configuration.
#[test]
fn the_export_for_fluent_bit_keeps_to_its_manual() {
    let config = yaml(Target::Fluentbit);
    only(config.as_object().unwrap(), &["parsers", "pipeline"]);
    let mut names = Vec::new();
    for parser in config["parsers"].as_array().unwrap() {
        only(parser.as_object().unwrap(), &["name", "format", "regex"]);
        let name = parser["name"].as_str().unwrap();
        assert!(!names.contains(&name), "{name} twice");
        names.push(name);
        match parser["format"].as_str().unwrap() {
            "json" => assert!(parser.get("regex").is_none(), "{name}"),
            "regex" => {
                let regex = parser["regex"].as_str().unwrap();
                // Onigmo's spelling of a group, and no variable of Fluent Bit's own.
                assert!(regex.contains("(?<level>") && !regex.contains("(?P<"));
                assert!(!regex.contains("${"), "{name}");
                Regex::new(regex).unwrap();
            }
            format => panic!("{format}"),
        }
    }
    only(config["pipeline"].as_object().unwrap(), &["filters"]);
    for filter in config["pipeline"]["filters"].as_array().unwrap() {
        let documented = [
            "name",
            "match",
            "key_name",
            "parser",
            "preserve_key",
            "reserve_data",
        ];
        only(filter.as_object().unwrap(), &documented);
        assert_eq!(filter["name"], "parser");
        let used = filter["parser"].as_array().unwrap();
        assert_eq!(used.len(), names.len());
        assert!(
            used.iter()
                .all(|name| names.contains(&name.as_str().unwrap()))
        );
    }
}

/// The collector's manual: pkg/stanza/docs/operators, docs/types/{severity,on_error,field}.
#[test]
fn the_export_for_the_collector_keeps_to_its_manual() {
    let config = yaml(Target::Otelcol);
    let filelog = &config["receivers"]["filelog"];
    only(filelog.as_object().unwrap(), &["include", "operators"]);
    let variable = Regex::new(r"(?:^|[^$])(?:\$\$)*\$(?:[^$]|$)").unwrap();
    let attribute = Regex::new(r#"^attributes\["[^"]+"\]$"#).unwrap();
    for operator in filelog["operators"].as_array().unwrap() {
        let kind = operator["type"].as_str().unwrap();
        let documented: &[&str] = match kind {
            "container" => &["type"],
            "json_parser" => &["type", "if", "parse_to", "on_error"],
            "regex_parser" => &["type", "if", "regex", "on_error"],
            "copy" => &["type", "if", "from", "to"],
            "severity_parser" => &["type", "if", "parse_from", "on_error", "preset", "mapping"],
            kind => panic!("{kind}"),
        };
        only(operator.as_object().unwrap(), documented);
        if let Some(on_error) = operator["on_error"].as_str() {
            assert!(["send", "send_quiet", "drop", "drop_quiet"].contains(&on_error));
        }
        for text in operator.as_object().unwrap().values() {
            let text = text.as_str().unwrap_or_default();
            assert!(!variable.is_match(text), "a single dollar in {text}");
        }
        match kind {
            "regex_parser" => {
                let regex = operator["regex"].as_str().unwrap().replace("$$", "$");
                assert!(regex.contains("(?P<level>"));
                Regex::new(&regex).unwrap();
            }
            "copy" => {
                for side in ["from", "to"] {
                    assert!(attribute.is_match(operator[side].as_str().unwrap()));
                }
            }
            "severity_parser" => {
                assert_eq!(operator["preset"], "none");
                for (name, words) in operator["mapping"].as_object().unwrap() {
                    let stem = name.trim_end_matches(['2', '3', '4']);
                    assert!(["trace", "debug", "info", "warn", "error", "fatal"].contains(&stem));
                    assert!(words.as_array().unwrap().iter().all(Value::is_string));
                }
            }
            _ => {}
        }
    }
}
