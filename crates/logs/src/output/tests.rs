use flotilla_loglevel::time::Context;
use serde_json::Value;

use super::{Output, Template, write};
use crate::stream::{Stream, Wrapper};

fn shown(text: &str, output: &Output, fields: &[&str]) -> String {
    let fields: Vec<_> = fields.iter().map(|&field| field.to_owned()).collect();
    let context = Context {
        observed: Some(1_789_111_345_000_000_000),
        zone_seconds: Some(0),
    };
    let (mut stream, mut out) = (Stream::new(Wrapper::Detect, context), Vec::new());
    stream.push(text.as_bytes(), 0, |entry| {
        write(entry, output, &fields, &mut out)
    });
    stream.finish(0, |entry| write(entry, output, &fields, &mut out));
    String::from_utf8(out).unwrap()
}

#[test]
fn json_has_the_documented_keys() {
    let text = "2026-09-11T07:22:25.5Z stderr F I0911 07:22:25.408586       1 a.go:1] \"Pod x\" pod=\"a/b\" n=3\n";
    let expected = r#"{"ts":"2026-09-11T07:22:25.408586000Z","observed_ts":"2026-09-11T07:22:25.500000000Z","level":"info","severity_number":9,"syslog":6,"level_source":"header","format":"klog","level_raw":"I","stream":"stderr","caller":"a.go:1","thread":"1","msg":"Pod x","fields":{"pod":"a/b","n":"3"}}"#;
    assert_eq!(shown(text, &Output::Json, &[]).trim_end(), expected);
}

#[test]
fn whatever_comes_in_valid_json_comes_out() {
    let lines = [
        r#"{"level":"info","msg":"a\u00e9","n":1,"o":{"b":[1,2]},"bad":01,"s":"x"}"#,
        r#"{"level":"info","msg":"cut off"#,
        r#"{"level":"info","a":{"b":"#,
        "level=info msg=\"go \\x1b \\a\" k=\"\\q\"",
        "level=info =x \"=\" a=b",
        "2026-09-11T07:19:45Z\tINFO\tl\tm\t{\"a\": nope}",
        "\u{1b}[31mERROR\u{1b}[0m: x",
        "E0911 07:22:25.408586 1 a.go:1] \"x\" err=<\n\ttwo \"lines\"\n >",
    ];
    for line in lines {
        for row in shown(line, &Output::Json, &[]).lines() {
            let value: Value =
                serde_json::from_str(row).unwrap_or_else(|error| panic!("{error}: {row}"));
            assert!(value["level"].is_string());
        }
    }
}

#[test]
fn people_and_scripts_get_their_forms() {
    let line = r#"{"level":"warn","ts":1789111345.5,"logger":"http","msg":"slow \"x\"","n":1,"path":"/a b"}"#;
    let pretty = shown(line, &Output::Pretty { color: false }, &[]);
    assert_eq!(
        pretty,
        "07:22:25.500 WARN  http: slow \"x\" n=1 path=\"/a b\"\n"
    );
    let logfmt = shown(line, &Output::Logfmt, &["path"]);
    assert_eq!(
        logfmt,
        "time=2026-09-11T07:22:25.500000000Z level=warn logger=http msg=\"slow \\\"x\\\"\" path=\"/a b\"\n"
    );
    assert_eq!(shown(line, &Output::Raw, &[]), format!("{line}\n"));
    let template = Output::Template(Template::parse("{{{level}} {n} {missing}|{msg}").unwrap());
    assert_eq!(shown(line, &template, &[]), "{warn} 1 |slow \"x\"\n");
    assert_eq!(Template::parse("a {level").unwrap_err().column, 3);
}

#[test]
fn a_terminal_gets_no_control_bytes_from_a_log() {
    let pretty = shown(
        "level=info msg=\"\\x1b[2Jgone \\a\"",
        &Output::Pretty { color: false },
        &[],
    );
    assert!(
        !pretty.contains('\u{1b}') && !pretty.contains('\u{7}'),
        "{pretty:?}"
    );
}

#[test]
fn parts_of_a_line_say_which_ones_they_are() {
    let (head, tail) = (format!("level=warn msg=\"{}", "a".repeat(48)), "\"long\"");
    let text = format!("2026-09-11T07:22:25.5Z stderr F {head}{tail}\n");
    let mut stream = Stream::new(Wrapper::Detect, Context::default()).with_record_limit(64);
    let (mut json, mut raw) = (Vec::new(), Vec::new());
    let mut each = |entry: &crate::entry::Entry<'_>| {
        write(entry, &Output::Json, &[], &mut json);
        write(entry, &Output::Raw, &[], &mut raw);
    };
    stream.push(text.as_bytes(), 0, &mut each);
    stream.finish(0, &mut each);
    assert_eq!(raw, format!("{head}{tail}\n").as_bytes());
    let parts: Vec<Value> = String::from_utf8(json)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [first, last] = &parts[..] else {
        panic!("{parts:?}")
    };
    assert_eq!(first["partial_id"], last["partial_id"]);
    for (part, ordinal, is_last, message) in
        [(first, 1, false, head.as_str()), (last, 2, true, tail)]
    {
        assert_eq!(part["partial_message"], true);
        assert_eq!(part["partial_ordinal"], ordinal);
        assert_eq!(part["partial_last"], is_last);
        assert_eq!(
            (&part["level"], &part["msg"]),
            (&"warn".into(), &message.into())
        );
    }
}
