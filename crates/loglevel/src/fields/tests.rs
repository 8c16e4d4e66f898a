use crate::{FieldValue, Hint, Notes, classify, classify_noting};

fn fields(line: &str) -> String {
    let record = classify(line.as_bytes(), &Hint::default());
    let show = |value| match value {
        FieldValue::Text(text) => String::from_utf8_lossy(text).into_owned(),
        FieldValue::Escaped(text) => format!("'{}'", String::from_utf8_lossy(text)),
        FieldValue::Json(text) => format!("<{}>", String::from_utf8_lossy(text)),
    };
    let mut notes = Notes::default();
    let noted = classify_noting(line.as_bytes(), &Hint::default(), &mut notes);
    assert_eq!(noted, record);
    assert!(
        record
            .fields_noted(line.as_bytes(), &notes)
            .eq(record.fields(line.as_bytes())),
        "fields depend on notes: {line}"
    );
    let list: Vec<_> = record
        .fields(line.as_bytes())
        .map(|field| {
            format!(
                "{}={}",
                String::from_utf8_lossy(field.key),
                show(field.value)
            )
        })
        .collect();
    list.join(" ")
}

#[test]
fn only_what_the_record_does_not_name_is_a_field() {
    let table = [
        (
            r#"I0911 07:22:25.408586 1 a.go:1] "Pod x" pod="a/b" n=3"#,
            "pod='a/b' n=3",
        ),
        (
            r#"level=info msg="a b" n=3 ok who="me \"x\"""#,
            r#"n=3 ok=<true> who='me \"x\"'"#,
        ),
        (
            r#"{"level":"info","msg":"m","n":3,"o":{"a":[1]},"s":"x"}"#,
            r#"n=<3> o=<{"a":[1]}> s='x'"#,
        ),
        (
            "2026-09-11T07:19:45Z\tINFO\tm\t{\"a\": 1, \"b\":\"c\"}",
            "a=<1> b='c'",
        ),
        ("10:45AM INF a message here key=value n=1", "key=value n=1"),
        (
            "WARN[0003] a message here                key=value",
            "key=value",
        ),
        ("2026/09/11 07:22:25 plain", ""),
        (r#"{"level":"info","cut":"#, ""),
    ];
    for (line, expected) in table {
        assert_eq!(fields(line), expected, "{line}");
    }
}

#[test]
fn lines_with_very_many_pairs_lose_none() {
    for n_pairs in [30, 31, 32, 33, 100] {
        let pairs: Vec<_> = (0..n_pairs).map(|n| format!("k{n}=v")).collect();
        let members: Vec<_> = (0..n_pairs).map(|n| format!("\"k{n}\":1")).collect();
        let logfmt = format!("level=info {}", pairs.join(" "));
        let json = format!("{{\"level\":\"info\",{}}}", members.join(","));
        for line in [logfmt, json] {
            assert_eq!(fields(&line).split(' ').count(), n_pairs, "{line}");
        }
    }
}

#[test]
fn an_error_is_found_wherever_it_stands() {
    let line = br#"{"level":"error","ts":1.7e9,"logger":"l","caller":"c","msg":"m","error":"e"}"#;
    assert_eq!(classify(line, &Hint::default()).error.of(line), b"e");
}
