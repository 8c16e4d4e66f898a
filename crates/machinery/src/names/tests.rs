use serde_json::json;

use super::*;

fn fine(check: fn(&str) -> Complaints, values: &[&str]) {
    for value in values {
        assert_eq!(check(value), Vec::<String>::new(), "{value}");
    }
}

fn refused(check: fn(&str) -> Complaints, values: &[&str]) {
    for value in values {
        assert_ne!(check(value), Vec::<String>::new(), "{value}");
    }
}

// Source of the tables: Kubernetes v1.35.4, apimachinery util/validation/validation_test.go and
// api/validate/content/*_test.go.

#[test]
fn labels_and_subdomains() {
    let long63 = "a".repeat(63);
    let long253 = ["a"; 127].join(".");
    fine(
        dns1123_label,
        &[
            "a",
            "ab",
            "abc",
            "a1",
            "a-1",
            "a--1--2--b",
            "0",
            "01",
            "1a",
            "1-a-2",
            &long63,
        ],
    );
    refused(
        dns1123_label,
        &[
            "",
            "A",
            "aBc",
            "-",
            "a-",
            "-a",
            "1-",
            "_",
            "a_b",
            ".",
            "a.b",
            "a b",
            " a",
            &"a".repeat(64),
        ],
    );
    fine(
        dns1123_subdomain,
        &["a", "a.b.c", "0.1", "a-b.c--d", "1.2.3.4.5", &long253],
    );
    refused(
        dns1123_subdomain,
        &[
            "",
            "A",
            "a.",
            ".a",
            "a..b",
            "a.-b",
            "a-.b",
            "a@b",
            "a,b",
            "1.A",
            &"a".repeat(254),
        ],
    );
    fine(
        dns1035_label,
        &["a", "ab", "a1", "a-1", "a--1--2--b", &long63],
    );
    refused(
        dns1035_label,
        &["0", "01", "1a", "a-", "", "A", "a.b", &"a".repeat(64)],
    );
    fine(
        wildcard_subdomain,
        &["*.example.com", "*.bar.com", "*.foo.bar.com"],
    );
    refused(
        wildcard_subdomain,
        &["*.*.bar.com", "*.foo.*.com", "*bar.com", "f*.bar.com", "*"],
    );
}

#[test]
fn qualified_names_and_label_values() {
    let long = format!("{}/{}", "a".repeat(253), "b".repeat(63));
    fine(
        qualified_name,
        &[
            "simple",
            "now-with-dashes",
            "1-starts-with-num",
            "1234",
            "simple/simple",
            "1.2.3.4/5678",
            "Uppercase_Is_OK_123",
            "example.com/Uppercase_Is_OK_123",
            "requests.storage-foo",
            &long,
        ],
    );
    refused(
        qualified_name,
        &[
            "nospecialchars%^=@",
            "cantendwithadash-",
            "-cantstartwithadash-",
            "only/one/slash",
            "Example.com/abc",
            "example_com/abc",
            "example.com/",
            "/simple",
            "",
            &format!("{}/abc", "a".repeat(254)),
            &"a".repeat(64),
        ],
    );
    fine(
        label_value,
        &[
            "simple",
            "now-with-dashes",
            "1.2",
            "1_2",
            "end_with-dash.x",
            "",
            "A",
        ],
    );
    refused(
        label_value,
        &[
            "nospecialchars%^=@",
            "Tama-nui-te-rā.is.Māori.sun",
            "-starts",
            "ends-",
            "a/b",
        ],
    );
}

#[test]
fn other_names() {
    fine(path_segment, &["a", "A:b c", "...", "x.y"]);
    refused(path_segment, &[".", "..", "a/b", "a%b"]);
    fine(
        port_name,
        &[
            "telnet",
            "re-mail-ck",
            "pop3",
            "a",
            "a-1",
            "1-a",
            "1-a-b-2-c",
            "1a",
        ],
    );
    refused(
        port_name,
        &[
            "longerthan15characters",
            "",
            "12345678",
            "-begins",
            "ends-",
            "a--b",
            "UPPER",
        ],
    );
    fine(percent, &["0%", "00000%", "1%", "100%"]);
    refused(percent, &["", "0", "%", "0x10%", "1.5%", "-1%", "1%%"]);
    fine(c_identifier, &["a", "_", "_a1", "ABC_9"]);
    refused(c_identifier, &["", "1", "a-b", ".", "a b"]);
    fine(
        config_map_key,
        &[
            "a",
            ".a",
            "a.b",
            "...a".get(2..).unwrap(),
            "KEY_name-1",
            &"a".repeat(253),
        ],
    );
    refused(
        config_map_key,
        &["", ".", "..", "..a", "a/b", "a b", &"a".repeat(254)],
    );
    fine(http_header_name, &["Accept", "X-1", "-"]);
    refused(http_header_name, &["", "a b", "a_b", "a:"]);
    fine(env_var_name, &["a", "1A", "a b", ".."]);
    refused(env_var_name, &["", "a=b", "ä", "a\n"]);
}

#[test]
fn complaints_are_upstreams() {
    assert_eq!(
        dns1123_subdomain("A_b"),
        [
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
          or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
          regex used for validation is \
          '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ]
    );
    assert_eq!(
        dns1123_label("A"),
        [
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
          and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', \
          regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
        ]
    );
    assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
    assert_eq!(
        dns1123_label(&"a".repeat(64)),
        ["must be no more than 63 characters"]
    );
    assert_eq!(
        label_value(&"a".repeat(64)),
        ["must be no more than 63 bytes"]
    );
    assert_eq!(
        qualified_name("/"),
        [
            "prefix part must be non-empty",
            "name part must be non-empty",
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and \
          end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
          used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        ]
    );
    assert_eq!(port_number(0), ["must be between 1 and 65535, inclusive"]);
}

#[test]
fn generated_names_keep_58_bytes_of_the_base() {
    assert_eq!(generate("web-", [0, 1, 2, 26, 27]), "web-bcd9b");
    let long = generate(&"x".repeat(80), [0; 5]);
    assert_eq!(long.len(), 63);
    assert!(generate(&"é".repeat(40), [0; 5]).len() <= 63);
}

#[test]
fn a_generated_name_may_follow_a_dash() {
    assert_eq!(as_prefix("web-"), "wea");
    assert_eq!(as_prefix("-"), "-");
    assert_eq!(dns1123_label(&as_prefix("web-")), Vec::<String>::new());
    assert_ne!(dns1123_label(&as_prefix("web--x-")), vec!["x"]);
}

#[test]
fn metadata_fields_are_checked_as_a_whole() {
    let map = json!({"a/b/c": "x", "ok": "not ok"});
    let errors = validate_labels(map.as_object().unwrap(), "metadata.labels");
    assert_eq!(errors.len(), 2);
    assert!(errors[0].to_string().starts_with(
        "metadata.labels: Invalid value: \"a/b/c\": a valid label key must consist of"
    ));
    let map = json!({"Example.com/UPPER": "fine"});
    assert!(validate_annotations(map.as_object().unwrap(), "metadata.annotations").is_empty());
    let map = json!({"big": "x".repeat(256 * 1024)});
    assert_eq!(
        validate_annotations(map.as_object().unwrap(), "metadata.annotations")[0].to_string(),
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    );
    let errors = validate_finalizers(&["orphan", "foregroundDeletion"], "metadata.finalizers");
    assert_eq!(
        errors[0].to_string(),
        "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan \
         and foregroundDeletion cannot be both set"
    );
    assert_eq!(
        validate_field_manager("a\u{7}", "fieldManager")[0].to_string(),
        "fieldManager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)"
    );
}
