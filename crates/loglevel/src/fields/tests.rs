use crate::{FieldValue, Hint, classify};

fn fields(line: &str) -> String {
    let record = classify(line.as_bytes(), &Hint::default());
    let show = |value| match value {
        FieldValue::Text(text) => String::from_utf8_lossy(text).into_owned(),
        FieldValue::Escaped(text) => format!("'{}'", String::from_utf8_lossy(text)),
        FieldValue::Json(text) => format!("<{}>", String::from_utf8_lossy(text)),
    };
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
