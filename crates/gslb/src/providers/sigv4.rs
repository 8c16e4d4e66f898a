//! AWS Signature Version 4: what is signed, and the header that proves it.
//!
//! Source: AWS General Reference, "Create a signed AWS API request"; the example there is a test.

use std::fmt::Write;

use jiff::Timestamp;
use ring::{digest, hmac};

use super::credentials::Keys;

/// A request to be signed.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// GET or POST.
    pub method: &'a str,
    /// Host and, unless it is the scheme's own, port.
    pub host: &'a str,
    /// Path, encoded.
    pub path: &'a str,
    /// Parameters, not encoded.
    pub query: &'a [(&'a str, &'a str)],
    /// Body.
    pub body: &'a [u8],
    /// Region of the service; Route 53 lives in `us-east-1`.
    pub region: &'a str,
    /// Name of the service, `route53`.
    pub service: &'a str,
}

/// Headers that sign a request: name and value each.
pub fn sign(request: &Request<'_>, keys: &Keys, now: Timestamp) -> Vec<(&'static str, String)> {
    let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let day = &time[..8];
    let mut headers = vec![
        ("host", request.host.to_owned()),
        ("x-amz-date", time.clone()),
    ];
    if let Some(token) = &keys.session_token {
        headers.push(("x-amz-security-token", token.0.clone()));
    }
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let mut canonical = format!(
        "{}\n{}\n{}\n",
        request.method,
        request.path,
        query(request.query)
    );
    for (name, value) in &headers {
        // Writing to a string cannot fail.
        let _ = writeln!(canonical, "{name}:{}", value.trim());
    }
    let _ = write!(canonical, "\n{names}\n{}", hash(request.body));
    let scope = format!("{day}/{}/{}/aws4_request", request.region, request.service);
    let text = format!(
        "AWS4-HMAC-SHA256\n{time}\n{scope}\n{}",
        hash(canonical.as_bytes())
    );
    let secret = format!("AWS4{}", keys.secret_access_key.0);
    let mut key = secret.into_bytes();
    for part in [day, request.region, request.service, "aws4_request", &text] {
        key = mac(&key, part);
    }
    let id = &keys.access_key_id;
    let signature = hex(&key);
    headers.push((
        "authorization",
        format!(
            "AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}"
        ),
    ));
    headers
}

/// Parameters, sorted and encoded, as they are signed and sent.
pub fn query(parameters: &[(&str, &str)]) -> String {
    let mut encoded: Vec<String> = parameters
        .iter()
        .map(|(key, value)| format!("{}={}", encode(key), encode(value)))
        .collect();
    encoded.sort();
    encoded.join("&")
}

/// Percent-encodes everything but the unreserved characters (RFC 3986 §2.3).
pub fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

fn hash(data: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, data).as_ref())
}

fn hex(data: &[u8]) -> String {
    data.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
