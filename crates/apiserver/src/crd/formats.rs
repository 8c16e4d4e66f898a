//! `format` of strings and numbers.
//!
//! Unknown formats mean nothing, as upstream; the CRD's author gets a warning. Names are compared
//! without dashes (`date-time` is `datetime`), except those that begin with `k8s-`.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apiserver/validation/formats.go` and
//! kube-openapi `pkg/validation/strfmt`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use super::regexp;
use super::structural::JsonType;

/// A format that values are checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are OpenAPI's")]
pub enum Format {
    BsonObjectId,
    Byte,
    Cidr,
    CreditCard,
    Date,
    DateTime,
    Duration,
    Email,
    HexColor,
    Hostname,
    Ipv4,
    Ipv6,
    Isbn,
    Isbn10,
    Isbn13,
    K8sLongName,
    K8sShortName,
    Mac,
    Password,
    RgbColor,
    Ssn,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
    Int32,
    Int64,
    Float,
    Double,
}

impl Format {
    /// The format called `name`, if it means something for values of type `ty`.
    pub fn parse(name: &str, ty: Option<JsonType>) -> Option<Self> {
        match ty {
            None | Some(JsonType::String) => Self::of_string(name),
            Some(JsonType::Integer) => match name {
                "int32" => Some(Self::Int32),
                "int64" => Some(Self::Int64),
                _ => None,
            },
            Some(JsonType::Number) => match name {
                "float" => Some(Self::Float),
                "double" => Some(Self::Double),
                _ => None,
            },
            Some(_) => None,
        }
    }

    fn of_string(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Self::BsonObjectId,
            "byte" => Self::Byte,
            "cidr" => Self::Cidr,
            "creditcard" => Self::CreditCard,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "email" => Self::Email,
            "hexcolor" => Self::HexColor,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "k8slongname" => Self::K8sLongName,
            "k8sshortname" => Self::K8sShortName,
            "mac" => Self::Mac,
            "password" => Self::Password,
            "rgbcolor" => Self::RgbColor,
            "ssn" => Self::Ssn,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            _ => return None,
        })
    }

    /// The name as error texts spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BsonObjectId => "bsonobjectid",
            Self::Byte => "byte",
            Self::Cidr => "cidr",
            Self::CreditCard => "creditcard",
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Duration => "duration",
            Self::Email => "email",
            Self::HexColor => "hexcolor",
            Self::Hostname => "hostname",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Isbn => "isbn",
            Self::Isbn10 => "isbn10",
            Self::Isbn13 => "isbn13",
            Self::K8sLongName => "k8s-long-name",
            Self::K8sShortName => "k8s-short-name",
            Self::Mac => "mac",
            Self::Password => "password",
            Self::RgbColor => "rgbcolor",
            Self::Ssn => "ssn",
            Self::Uri => "uri",
            Self::Uuid => "uuid",
            Self::Uuid3 => "uuid3",
            Self::Uuid4 => "uuid4",
            Self::Uuid5 => "uuid5",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Double => "double",
        }
    }

    /// Whether a string has this format; always true for number formats.
    pub fn is_valid(self, text: &str) -> bool {
        match self {
            Self::BsonObjectId => is_hex(text, 24),
            Self::Byte => is_base64(text),
            Self::Cidr => is_cidr(text),
            Self::CreditCard => is_credit_card(text),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
            Self::Duration => duration_nanos(text).is_some(),
            Self::Email => is_email(text),
            Self::HexColor => {
                let digits = text.strip_prefix('#').unwrap_or(text);
                is_hex(digits, 3) || is_hex(digits, 6)
            }
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => parse_v4_sloppy(text).is_some(),
            Self::Ipv6 => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
            Self::Isbn => is_isbn10(text) || is_isbn13(text),
            Self::Isbn10 => is_isbn10(text),
            Self::Isbn13 => is_isbn13(text),
            Self::K8sLongName => text.len() <= 253 && text.split('.').all(is_short_name),
            Self::K8sShortName => text.len() <= 63 && is_short_name(text),
            Self::Mac => is_mac(text),
            Self::RgbColor => is_rgb_color(text),
            Self::Ssn => is_ssn(text),
            Self::Uri => is_request_uri(text),
            Self::Uuid => is_uuid(text, None),
            Self::Uuid3 => is_uuid(text, Some(b'3')),
            Self::Uuid4 => is_uuid(text, Some(b'4')),
            Self::Uuid5 => is_uuid(text, Some(b'5')),
            Self::Password | Self::Int32 | Self::Int64 | Self::Float | Self::Double => true,
        }
    }
}

/// Nanoseconds of a duration: Go's notation (`1h30m`), or Scala's (`22 ns`, `2 weeks`).
pub fn duration_nanos(text: &str) -> Option<i64> {
    go_duration(text).or_else(|| scala_duration(text))
}

/// Go's `time.ParseDuration`.
pub fn go_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let whole = &rest[..number];
        rest = &rest[number..];
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            fraction = &after[..digits];
            rest = &after[digits..];
        }
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_len = rest
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(rest.len());
        let unit: i128 = match &rest[..unit_len] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        rest = &rest[unit_len..];
        let whole: i128 = if whole.is_empty() {
            0
        } else {
            whole.parse().ok()?
        };
        total = total.checked_add(whole.checked_mul(unit)?)?;
        let mut scale = unit;
        for digit in fraction.bytes() {
            scale /= 10;
            total += i128::from(digit - b'0') * scale;
        }
        if total > i128::from(i64::MAX) + 1 {
            return None;
        }
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// Units of the Scala notation: exact spellings; the last also as the beginning of a word.
const SCALA_UNITS: &[(&[&str], i64)] = &[
    (&["ns", "nano"], 1),
    (&["us", "µs", "micro"], 1_000),
    (&["ms", "milli"], 1_000_000),
    (&["s", "sec"], 1_000_000_000),
    (&["m", "min"], 60_000_000_000),
    (&["h", "hr", "hour"], 3_600_000_000_000),
    (&["d", "day"], 86_400_000_000_000),
    (&["w", "wk", "week"], 604_800_000_000_000),
];

fn scala_duration(text: &str) -> Option<i64> {
    static PART: LazyLock<Regex> =
        LazyLock::new(|| regexp::compile(r"(\d+)\s*([A-Za-zµ]+)").expect("a pattern of ours"));
    let mut total = None;
    for part in PART.captures_iter(text) {
        let factor: i64 = part[1].parse().ok()?;
        let unit = part[2].to_lowercase();
        for (spellings, nanos) in SCALA_UNITS {
            let last = spellings.last().expect("units have spellings");
            if spellings.contains(&unit.as_str()) || unit.starts_with(last) {
                let nanos = factor.wrapping_mul(*nanos);
                total = Some(i64::wrapping_add(total.unwrap_or(0), nanos));
            }
        }
    }
    total
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_base64(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.is_empty() || !bytes.len().is_multiple_of(4) {
        return false;
    }
    let padding = bytes.iter().rev().take_while(|b| **b == b'=').count();
    padding <= 2
        && bytes[..bytes.len() - padding]
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

/// IPv4 with leading zeroes, as Go before 1.17 read it, or IPv4 mapped into IPv6.
fn parse_v4_sloppy(text: &str) -> Option<IpAddr> {
    if !text.contains('.') {
        return None;
    }
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let mut octets = [0u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *octet = part
            .parse::<u32>()
            .ok()
            .and_then(|n| u8::try_from(n).ok())?;
    }
    parts
        .next()
        .is_none()
        .then(|| IpAddr::V4(Ipv4Addr::from(octets)))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let bits_max = if parse_v4_sloppy(address).is_some_and(|a| a.is_ipv4()) {
        32
    } else if address.parse::<Ipv6Addr>().is_ok() {
        128
    } else {
        return false;
    };
    !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && bits.parse::<u32>().is_ok_and(|n| n <= bits_max)
}

fn is_credit_card(text: &str) -> bool {
    static SHAPE: LazyLock<Regex> = LazyLock::new(|| {
        regexp::compile(concat!(
            r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}",
            r"|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$"
        ))
        .expect("a pattern of ours")
    });
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if !SHAPE.is_match(&digits) {
        return false;
    }
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, b)| {
            let digit = u32::from(b - b'0') * if at % 2 == 1 { 2 } else { 1 };
            if digit >= 10 { digit - 9 } else { digit }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// `YYYY-MM-DD`, a day that exists.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes
            .iter()
            .enumerate()
            .all(|(at, b)| at == 4 || at == 7 || b.is_ascii_digit())
        && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        regexp::compile(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$")
            .expect("a pattern of ours")
    });
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date)
        && TIME
            .captures(time)
            .is_some_and(|m| &m[1] <= "23" && &m[2] <= "59" && &m[3] <= "59")
}

/// The common part of RFC 5322: an optional display name and one address with a dot-atom or quoted
/// local part.
fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>') {
        Some(inner) => match inner.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let is_atext =
        |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii();
    let is_dot_atom = |s: &str| {
        s.split('.')
            .all(|a| !a.is_empty() && a.chars().all(is_atext))
    };
    let is_quoted = |s: &str| {
        s.len() >= 2 && s.starts_with('"') && s.ends_with('"') && !s.contains(['\n', '\r'])
    };
    let is_literal = |s: &str| s.starts_with('[') && s.ends_with(']');
    (is_dot_atom(local) || is_quoted(local)) && (is_dot_atom(domain) || is_literal(domain))
}

/// One label, or labels with a last one of letters only. Letters and symbols of any script count.
fn is_hostname(text: &str) -> bool {
    static LETTER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\p{L}$").expect("a pattern of ours"));
    static SYMBOL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\p{S}$").expect("a pattern of ours"));
    fn matches(pattern: &Regex, c: char) -> bool {
        pattern.is_match(c.encode_utf8(&mut [0; 4]))
    }
    let is_letter = |c: char| match c.is_ascii() {
        true => c.is_ascii_alphabetic(),
        false => matches(&LETTER, c),
    };
    let is_sign = |c: char| c.is_ascii_digit() || is_letter(c) || matches(&SYMBOL, c);
    if text.len() > 255 || text.split('.').any(|label| label.len() > 63) {
        return false;
    }
    let Some((labels, top)) = text.rsplit_once('.') else {
        // A single label has at most one dash, behind its first character.
        let mut chars = text.chars();
        let Some(first) = chars.next() else {
            return false;
        };
        let rest = chars.as_str();
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        return is_sign(first) && rest.chars().all(is_sign);
    };
    let n_top = top.chars().count();
    n_top >= 2
        && top.chars().all(is_letter)
        && labels.split('.').all(|label| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|c| c == '-' || is_sign(c))
        })
}

fn without_spaces_and_dashes(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && *c != '-')
        .collect()
}

fn is_isbn10(text: &str) -> bool {
    let text = without_spaces_and_dashes(text);
    let bytes = text.as_bytes();
    if bytes.len() != 10 || !bytes[..9].iter().all(u8::is_ascii_digit) {
        return false;
    }
    let last = match bytes[9] {
        b'X' => 10,
        b if b.is_ascii_digit() => u32::from(b - b'0'),
        _ => return false,
    };
    let sum: u32 = (1..)
        .zip(&bytes[..9])
        .map(|(weight, b)| weight * u32::from(b - b'0'))
        .sum();
    (sum + 10 * last).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let text = without_spaces_and_dashes(text);
    let bytes = text.as_bytes();
    if bytes.len() != 13 || !bytes.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = bytes[..12]
        .iter()
        .enumerate()
        .map(|(at, b)| u32::from(b - b'0') * if at % 2 == 1 { 3 } else { 1 })
        .sum();
    u32::from(bytes[12] - b'0') == (10 - sum % 10) % 10
}

fn is_short_name(text: &str) -> bool {
    let is_inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
    !text.is_empty()
        && text.as_bytes().iter().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, digits: usize| {
        let parts: Vec<&str> = text.split(separator).collect();
        (parts.iter().all(|p| is_hex(p, digits))).then_some(parts.len() * digits / 2)
    };
    let bytes = match text.as_bytes().get(2) {
        Some(b':') => groups(':', 2),
        Some(b'-') => groups('-', 2),
        _ => groups('.', 4),
    };
    matches!(bytes, Some(6 | 8 | 20))
}

fn is_rgb_color(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|t| t.strip_suffix(')')) else {
        return false;
    };
    let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    parts.len() == 3
        && parts.iter().all(|p| {
            p.bytes().all(|b| b.is_ascii_digit())
                && p.parse::<u32>().is_ok_and(|n| n <= 255)
                && (p.len() == 1 || !p.starts_with('0'))
        })
}

/// `123-45-6789`, also with spaces; exactly eleven characters.
fn is_ssn(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 11
        && bytes.iter().enumerate().all(|(at, b)| match at {
            3 | 6 => matches!(b, b'-' | b' '),
            _ => b.is_ascii_digit(),
        })
}

/// What Go's `url.ParseRequestURI` takes: an absolute URI or an absolute path.
fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    if text.starts_with('/') || text == "*" {
        return has_valid_escapes(text);
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        || !scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    {
        return false;
    }
    let Some(rest) = rest.strip_prefix("//") else {
        return true;
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    is_host_and_port(host) && has_valid_escapes(&rest[end..])
}

fn is_host_and_port(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((_, port)) => ("", port),
            None => return false,
        },
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let port_ok = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    port_ok && !name.contains([' ', '"', '<', '>', '\\', '^', '`', '{', '|', '}', '[', ']'])
}

fn has_valid_escapes(text: &str) -> bool {
    let path = text.split('?').next().unwrap_or_default();
    path.split('%')
        .skip(1)
        .all(|after| after.get(..2).is_some_and(|hex| is_hex(hex, 2)))
}

/// Hex digits with optional dashes between the groups; version 4 and 5 also fix the variant.
fn is_uuid(text: &str, version: Option<u8>) -> bool {
    let bytes = text.as_bytes();
    let mut digits = Vec::with_capacity(32);
    let mut dash_allowed = false;
    for &b in bytes {
        if b == b'-' && dash_allowed {
            dash_allowed = false;
            continue;
        }
        if !b.is_ascii_hexdigit() || digits.len() == 32 {
            return false;
        }
        digits.push(b.to_ascii_lowercase());
        dash_allowed = matches!(digits.len(), 8 | 12 | 16 | 20);
    }
    digits.len() == 32
        && !text.ends_with('-')
        && version.is_none_or(|v| digits[12] == v)
        && (!matches!(version, Some(b'4' | b'5')) || b"89ab".contains(&digits[16]))
}

#[cfg(test)]
mod tests;
