//! What names, labels and annotations may look like, in upstream's words.
//!
//! Every check returns the list of complaints; an empty list means the value is fine. Lengths are
//! bytes. The checks are written by hand because they run on every write, and the regular
//! expressions appear only in the texts.
//!
//! Source: Kubernetes v1.35, apimachinery `util/validation` and `api/validate/content`.

pub use self::meta::{
    ANNOTATIONS_BYTES_MAX, FIELD_MANAGER_BYTES_MAX, validate_annotations, validate_field_manager,
    validate_finalizers, validate_labels,
};

mod meta;

/// Longest DNS label.
pub const LABEL_BYTES_MAX: usize = 63;
/// Longest DNS name.
pub const SUBDOMAIN_BYTES_MAX: usize = 253;
/// Longest base that generated names keep: a label less the suffix.
pub const GENERATED_BASE_BYTES_MAX: usize = LABEL_BYTES_MAX - GENERATED_SUFFIX_LEN;
/// Characters of a generated suffix.
pub const GENERATED_SUFFIX_LEN: usize = 5;

/// Letters of generated suffixes: no vowels, nothing that looks like something else.
const SUFFIX_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

const LABEL_FMT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_FMT: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035_FMT: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_FMT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const QUALIFIED_TEXT: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must \
     start and end with an alphanumeric character";

/// Complaints about a value; empty when it is fine.
pub type Complaints = Vec<String>;

/// A name of `base` (cut to 58 bytes) and five letters chosen by `entropy`.
///
/// Each byte of `entropy` picks one letter; the slight bias of 256 mod 27 does no harm, because
/// callers retry on collision (up to 8 times).
pub fn generate(base: &str, entropy: [u8; GENERATED_SUFFIX_LEN]) -> String {
    let mut cut = base.len().min(GENERATED_BASE_BYTES_MAX);
    while !base.is_char_boundary(cut) {
        cut -= 1;
    }
    let mut name = String::with_capacity(cut + GENERATED_SUFFIX_LEN);
    name.push_str(&base[..cut]);
    name.extend(entropy.map(|b| char::from(SUFFIX_ALPHABET[usize::from(b) % 27])));
    name
}

/// An RFC 1123 label: lower-case letters, digits and inner dashes, at most 63 bytes.
pub fn dns1123_label(value: &str) -> Complaints {
    let mut out = too_long(value, LABEL_BYTES_MAX, "characters");
    if !is_label(value.as_bytes()) {
        if is_subdomain(value) {
            out.push("must not contain dots".into());
        } else {
            out.push(regex_text(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
                 or '-', and must start and end with an alphanumeric character",
                LABEL_FMT,
                &["my-name", "123-abc"],
            ));
        }
    }
    out
}

/// An RFC 1123 subdomain: labels joined by dots, at most 253 bytes.
pub fn dns1123_subdomain(value: &str) -> Complaints {
    subdomain(value, "characters")
}

/// A subdomain whose labels may also hold underscores, and begin with one: names of services, say.
pub fn dns1123_subdomain_with_underscore(value: &str) -> Complaints {
    let mut out = too_long(value, SUBDOMAIN_BYTES_MAX, "characters");
    let alnum = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_label = |label: &[u8]| {
        let label = label.strip_prefix(b"_").unwrap_or(label);
        is_between(label, alnum, |b| alnum(b) || b == b'-' || b == b'_')
    };
    if !value.as_bytes().split(|&b| b == b'.').all(is_label) {
        out.push(regex_text(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
             '_', '-' or '.', and must start and end with an alphanumeric character",
            r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    out
}

/// An RFC 1035 label: as RFC 1123, but starting with a letter.
pub fn dns1035_label(value: &str) -> Complaints {
    let mut out = too_long(value, LABEL_BYTES_MAX, "characters");
    let first_ok = value.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    if !first_ok || !is_label(value.as_bytes()) {
        out.push(regex_text(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
             with an alphabetic character, and end with an alphanumeric character",
            LABEL_1035_FMT,
            &["my-name", "abc-123"],
        ));
    }
    out
}

/// A subdomain below a wildcard, such as `*.example.com`.
pub fn wildcard_subdomain(value: &str) -> Complaints {
    let mut out = too_long(value, SUBDOMAIN_BYTES_MAX, "characters");
    if !value.strip_prefix("*.").is_some_and(is_subdomain) {
        out.push(regex_text(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS \
             subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and \
             end with an alphanumeric character",
            &format!(r"\*\.{SUBDOMAIN_FMT}"),
            &["*.example.com"],
        ));
    }
    out
}

/// A label key, finalizer or condition type: `[subdomain/]name` with a name of at most 63 bytes.
pub fn qualified_name(value: &str) -> Complaints {
    let examples = ["MyName", "my.name", "123-abc"];
    let mut out = Vec::new();
    let mut parts = value.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                out.push("prefix part must be non-empty".into());
            } else {
                out.extend(
                    subdomain(prefix, "bytes")
                        .iter()
                        .map(|m| format!("prefix part {m}")),
                );
            }
            name
        }
        _ => {
            let text = regex_text(QUALIFIED_TEXT, QUALIFIED_FMT, &examples);
            out.push(format!(
                "a valid label key {text} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            ));
            return out;
        }
    };
    if name.is_empty() {
        out.push("name part must be non-empty".into());
    } else {
        out.extend(
            too_long(name, LABEL_BYTES_MAX, "bytes")
                .iter()
                .map(|m| format!("name part {m}")),
        );
    }
    if !is_qualified_part(name.as_bytes()) {
        let text = regex_text(QUALIFIED_TEXT, QUALIFIED_FMT, &examples);
        out.push(format!("name part {text}"));
    }
    out
}

/// A label value: empty, or letters, digits, `-`, `_`, `.` between alphanumerics; at most 63 bytes.
pub fn label_value(value: &str) -> Complaints {
    let mut out = too_long(value, LABEL_BYTES_MAX, "bytes");
    if !value.is_empty() && !is_qualified_part(value.as_bytes()) {
        out.push(regex_text(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', \
             '_' or '.', and must start and end with an alphanumeric character",
            &format!("({QUALIFIED_FMT})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    out
}

/// A name that can stand in a URL path as one segment.
pub fn path_segment(value: &str) -> Complaints {
    if value == "." || value == ".." {
        return vec![format!("may not be '{value}'")];
    }
    path_segment_prefix(value)
}

/// The beginning of a [`path_segment`], as in generateName.
pub fn path_segment_prefix(value: &str) -> Complaints {
    let forbidden = ["/", "%"].into_iter().filter(|c| value.contains(c));
    forbidden
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}

/// A port number from 1 to 65535.
pub fn port_number(value: i64) -> Complaints {
    in_range(value, 1, 65535)
}

/// A number between two inclusive bounds.
pub fn in_range(value: i64, min: i64, max: i64) -> Complaints {
    if (min..=max).contains(&value) {
        return Vec::new();
    }
    vec![format!("must be between {min} and {max}, inclusive")]
}

/// An IANA service name: at most 15 bytes of `[-a-z0-9]` with a letter and single inner hyphens.
pub fn port_name(value: &str) -> Complaints {
    let mut out = too_long(value, 15, "characters");
    let charset = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
    if value.is_empty() || !value.as_bytes().iter().all(charset) {
        out.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !value.bytes().any(|b| b.is_ascii_lowercase()) {
        out.push("must contain at least one letter (a-z)".into());
    }
    if value.contains("--") {
        out.push("must not contain consecutive hyphens".into());
    }
    if value.starts_with('-') || value.ends_with('-') {
        out.push("must not begin or end with a hyphen".into());
    }
    out
}

/// Digits followed by `%`.
pub fn percent(value: &str) -> Complaints {
    let digits = value.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    let text = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![regex_text(text, "[0-9]+%", &["1%", "93%"])]
}

/// An HTTP header name of letters, digits and dashes.
pub fn http_header_name(value: &str) -> Complaints {
    if !value.is_empty()
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    {
        return Vec::new();
    }
    let text = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![regex_text(text, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

/// A C identifier.
pub fn c_identifier(value: &str) -> Complaints {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let digit_first = value.as_bytes().first().is_none_or(u8::is_ascii_digit);
    if !digit_first && value.bytes().all(word) {
        return Vec::new();
    }
    vec![regex_text(
        "a valid C identifier must start with alphabetic character or '_', followed by a string \
         of alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// An environment variable name of printable ASCII without `=` (the rule since v1.34).
pub fn env_var_name(value: &str) -> Complaints {
    let mut out = Vec::new();
    if value.is_empty() {
        out.push("environment variable name must be non-empty".into());
    }
    if value.chars().any(|c| c == '=' || !(' '..='~').contains(&c)) {
        out.push(
            "a valid environment variable name must consist only of printable ASCII characters \
             other than '='"
                .into(),
        );
    }
    out
}

/// A key of a ConfigMap or Secret.
pub fn config_map_key(value: &str) -> Complaints {
    let mut out = too_long(value, SUBDOMAIN_BYTES_MAX, "characters");
    if value.is_empty() || !value.bytes().all(is_qualified_inner) {
        out.push(regex_text(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match value {
        "." => out.push("must not be '.'".into()),
        ".." => out.push("must not be '..'".into()),
        _ if value.starts_with("..") => out.push("must not start with '..'".into()),
        _ => {}
    }
    out
}

/// `value` made ready for a check although a suffix will follow: a final dash is allowed there.
pub fn as_prefix(value: &str) -> std::borrow::Cow<'_, str> {
    match value.strip_suffix('-') {
        // Upstream cuts two characters and adds one, so that the checks see a shorter name.
        Some(head) if !head.is_empty() => {
            let mut shown = head.to_owned();
            shown.pop();
            shown.push('a');
            shown.into()
        }
        _ => value.into(),
    }
}

/// `text (e.g. 'a',  or 'b', regex used for validation is '…')`, odd spacing included.
fn regex_text(text: &str, regex: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|e| format!("'{e}', ")).collect();
    format!(
        "{text} (e.g. {}regex used for validation is '{regex}')",
        examples.join(" or ")
    )
}

fn too_long(value: &str, bytes_max: usize, unit: &str) -> Complaints {
    if value.len() <= bytes_max {
        return Vec::new();
    }
    vec![format!("must be no more than {bytes_max} {unit}")]
}

fn subdomain(value: &str, unit: &str) -> Complaints {
    let mut out = too_long(value, SUBDOMAIN_BYTES_MAX, unit);
    if !is_subdomain(value) {
        out.push(regex_text(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
             '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN_FMT,
            &["example.com"],
        ));
    }
    out
}

fn is_subdomain(value: &str) -> bool {
    value.as_bytes().split(|&b| b == b'.').all(is_label)
}

fn is_label(value: &[u8]) -> bool {
    let alnum = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    is_between(value, alnum, |b| alnum(b) || b == b'-')
}

fn is_qualified_part(value: &[u8]) -> bool {
    is_between(value, |b| b.is_ascii_alphanumeric(), is_qualified_inner)
}

fn is_qualified_inner(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')
}

/// Non-empty, with `edge` bytes at both ends and `inner` bytes all along.
fn is_between(value: &[u8], edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match (value.first(), value.last()) {
        (Some(&first), Some(&last)) => edge(first) && edge(last) && value.iter().all(|&b| inner(b)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
