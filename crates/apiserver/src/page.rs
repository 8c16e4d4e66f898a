//! Continue tokens: where the next page of a list begins, and in which state of the store.
//!
//! A token is base64url JSON `{"v":"meta.k8s.io/v1","rv":…,"start":…}` as upstream writes it;
//! `start` is the last key of the page with a NUL behind it, which is the smallest key after it.
//! Revision −1 stands for "whatever is there now", and is only handed out together with a 410.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/storage/continue.go`.

use base64::{
    Engine, alphabet,
    engine::{GeneralPurpose, general_purpose::NO_PAD, general_purpose::URL_SAFE_NO_PAD},
};
use flotilla_machinery::status::Status;
use serde_json::{Value, json};

use crate::store::ObjectKey;

const VERSION: &str = "meta.k8s.io/v1";

/// A decoded token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// State to read from; `None` for the newest.
    pub rev: Option<u64>,
    /// First key of the page, inclusive.
    pub start: ObjectKey,
}

/// Base64 as Go reads it, where the last letter may have bits that mean nothing.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    NO_PAD.with_decode_allow_trailing_bits(true),
);

/// The token of the page behind `last`; `namespace` is the list's, or `None` for all.
pub fn encode(rev: Option<u64>, last: &ObjectKey, namespace: Option<&str>) -> String {
    let start = match namespace {
        Some(_) => format!("{}\0", last.name),
        None if last.namespace.is_empty() => format!("{}\0", last.name),
        None => format!("{}/{}\0", last.namespace, last.name),
    };
    let rev = rev.map_or(json!(-1), |rev| json!(rev));
    let token = json!({"v": VERSION, "rv": rev, "start": start});
    URL_SAFE_NO_PAD.encode(token.to_string())
}

/// Reads a token for a list of `namespace`, or of all.
///
/// # Errors
/// 400 when it was not made by [`encode`], or climbs out of the list with `..`.
pub fn decode(token: &str, namespace: Option<&str>) -> Result<Token, Status> {
    let invalid = |why: &str| {
        let text = format!("invalid continue token: continue key is not valid: {why}");
        Status::bad_request(text)
    };
    let bytes = LENIENT
        .decode(token.trim_end_matches('='))
        .map_err(|_| invalid("illegal base64 data"))?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|_| invalid(&not_json(&bytes)))?;
    if token["v"] != VERSION {
        return Err(invalid(&format!(
            "server does not recognize this encoded version {}",
            token["v"]
        )));
    }
    let rev = match token["rv"].as_i64() {
        None | Some(0) => return Err(invalid("incorrect encoded start resourceVersion")),
        Some(rev) => u64::try_from(rev).ok(),
    };
    let start = token["start"].as_str().filter(|s| !s.is_empty());
    let start = start.ok_or_else(|| invalid("the start key is empty"))?;
    if start.split('/').any(|part| part == ".." || part == ".") {
        return Err(invalid(start));
    }
    let start = match (namespace, start.split_once('/')) {
        (Some(ns), None) => ObjectKey::new(ns, start),
        (None, Some((ns, name))) => ObjectKey::new(ns, name),
        (None, None) => ObjectKey::new("", start),
        (Some(_), Some(_)) => return Err(invalid("it belongs to another list")),
    };
    Ok(Token { rev, start })
}

/// Why bytes are no JSON, in Go's words if the first byte says it.
fn not_json(bytes: &[u8]) -> String {
    let shown = match bytes.first() {
        None => return "unexpected end of JSON input".to_owned(),
        Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
            return "not JSON".to_owned();
        }
        Some(&first @ 0x80..=0xa0) => format!("\\u{first:04x}"),
        Some(&first) if first.is_ascii_control() => format!("\\x{first:02x}"),
        Some(&first) => char::from(first).to_string(),
    };
    format!("invalid character '{shown}' looking for beginning of value")
}

#[cfg(test)]
mod tests;
