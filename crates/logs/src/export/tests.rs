use flotilla_loglevel::{FORMATS, Hint, Level, classify};

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
