use super::{Pattern, compile};

/// Pattern, texts that match, texts that do not.
const CASES: &[(&str, &[&str], &[&str])] = &[
    (r"^\d+$", &["12"], &["١٢", "", "1a"]),
    (r"^\w+$", &["a_1"], &["é"]),
    (r"^\s$", &[" ", "\t"], &["\u{a0}"]),
    (r"^[\d.]+$", &["1.2"], &["1,2"]),
    (r"^[^\W_]+$", &["ab1"], &["a_b"]),
    (r"^[a[b]+$", &["a[b"], &["c"]),
    (r"^[]a]+$", &["]a"], &["b"]),
    (r"^[^]a]+$", &["b"], &["]", "a"]),
    (r"^[&&~~]+$", &["&~"], &["a"]),
    (r"^[[:alpha:]-]+$", &["ab-"], &["1"]),
    (r"^a{2}$", &["aa"], &["a", "a{2}"]),
    (r"^a{,2}$", &["a{,2}"], &["aa"]),
    (r"^{x}$", &["{x}"], &["x"]),
    (r"^\Qa.b\E$", &["a.b"], &["axb"]),
    (r"^\<a\>$", &["<a>"], &["a"]),
    (r"^\x{41}\x42\p{L}$", &["ABé"], &["AB1"]),
    (r"^(?i)abc$", &["ABC"], &["AB"]),
    (r"a\z", &["ba"], &["ab"]),
    (r"^\/[^\/]*$", &["/a"], &["/a/"]),
    (r"^\101$", &["A"], &["B"]),
    (r"\bfoo\b", &["a foo b"], &["afoob"]),
    (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", &["a-b"], &["-a", "a-"]),
];

#[test]
fn go_patterns_match_what_go_matches() {
    for (pattern, yes, no) in CASES {
        let compiled = compile(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        for text in *yes {
            assert!(compiled.is_match(text), "{pattern} should match {text:?}");
        }
        for text in *no {
            assert!(
                !compiled.is_match(text),
                "{pattern} should not match {text:?}"
            );
        }
    }
}

/// What Go 1.26 says of each.
const MISTAKES: [(&str, &str); 33] = [
    ("(", "missing closing ): `(`"),
    ("a(b(c", "missing closing ): `a(b(c`"),
    ("a)", "unexpected ): `a)`"),
    ("x[a", "missing closing ]: `[a`"),
    ("[z-a]x", "invalid character class range: `z-a`"),
    (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
    ("*", "missing argument to repetition operator: `*`"),
    ("a|+?", "missing argument to repetition operator: `+?`"),
    (r"a\", "trailing backslash at end of expression: ``"),
    (r"\y", r"invalid escape sequence: `\y`"),
    (r"\8", r"invalid escape sequence: `\8`"),
    (r"\1", r"invalid escape sequence: `\1`"),
    (r"\xg", r"invalid escape sequence: `\xg`"),
    ("(?=a)b", "invalid or unsupported Perl syntax: `(?=`"),
    ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
    ("(?z)", "invalid or unsupported Perl syntax: `(?z`"),
    ("(?>a)", "invalid or unsupported Perl syntax: `(?>`"),
    ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
    ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
    ("x(?<n", "invalid named capture: `(?<n`"),
    ("(?P<n", "invalid named capture: `(?P<n`"),
    ("a{3,1}", "invalid repeat count: `{3,1}`"),
    ("a**", "invalid nested repetition operator: `**`"),
    ("a+?*x", "invalid nested repetition operator: `+?*`"),
    ("a*??", "invalid nested repetition operator: `*??`"),
    ("a{2}{3}?y", "invalid nested repetition operator: `{2}{3}?`"),
    ("a{1001}", "invalid repeat count: `{1001}`"),
    ("a{2,1001}?b", "invalid repeat count: `{2,1001}`"),
    ("a{1001,}", "invalid repeat count: `{1001,}`"),
    ("x(a{40}b){30}?y", "invalid repeat count: `{30}?`"),
    ("((a{10}){10}){11}", "invalid repeat count: `{11}`"),
    ("((a{0,}){600}){2}", "invalid repeat count: `{2}`"),
    ("a{99999999999}b", "invalid repeat count: `{99999999999}`"),
];

#[test]
fn mistakes_are_named_as_go_names_them() {
    for (pattern, why) in MISTAKES {
        let error = compile(pattern).expect_err(pattern);
        assert_eq!(error, format!("error parsing regexp: {why}"), "{pattern}");
    }
}

#[test]
fn giants_are_refused() {
    let pattern = r"(\pL{10}\pN{10}){100}";
    let why = compile(pattern).expect_err(pattern);
    assert_eq!(
        why,
        format!("error parsing regexp: expression too large: `{pattern}`")
    );
}

#[test]
fn a_catastrophic_pattern_takes_linear_time() {
    let pattern = Pattern::new("^(a+)+$");
    let text = "a".repeat(50_000) + "b";
    assert_eq!(pattern.is_match(&text), Ok(false));
}

#[test]
fn repetitions_that_go_takes_compile() {
    for pattern in [
        "(a{1000})*",
        "(a{30}){33}",
        "(a*)*",
        "(a{0}){1000}",
        "a{0,1000}",
    ] {
        assert_eq!(compile(pattern).err(), None, "{pattern}");
    }
}
