//! Requests for certificates: who asks is filled in, and mistakes are found.
//!
//! Source: Kubernetes v1.35, `pkg/registry/certificates/certificates/strategy.go`,
//! `pkg/apis/certificates/validation/validation.go`.

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{
    field::{Field, check},
    rules::Errors,
    signers,
};

/// Shortest life of a certificate: ten minutes.
const SECONDS_MIN: i64 = 600;

/// What certificates may be used for, sorted.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// Checks a request.
pub(super) fn request(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        let request = spec.at("request");
        if !is_request(request.text()) {
            request.invalid_text("PEM block type must be CERTIFICATE REQUEST");
        }
        let usages = spec.at("usages");
        if usages.list().is_empty() {
            usages.required("");
        }
        for usage in usages.items() {
            usage.supported(&USAGES);
        }
        let mut seen = BTreeSet::new();
        for usage in usages.items() {
            if !seen.insert(usage.text().to_owned()) {
                usage.duplicate();
            }
        }
        signer(&spec.at("signerName"));
        let seconds = spec.at("expirationSeconds");
        if seconds
            .number()
            .is_some_and(|seconds| seconds < SECONDS_MIN)
        {
            let detail = "may not specify a duration less than 600 seconds (10 minutes)";
            seconds.invalid(detail);
        }
    });
}

fn signer(name: &Field<'_, '_>) {
    if name.text() == "kubernetes.io/legacy-unknown" {
        name.invalid("the legacy signerName is not allowed via this API version");
    } else {
        signers::check_name(name);
    }
}

/// Whether the first PEM block is a request.
fn is_request(encoded: &str) -> bool {
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let begin = text.find("-----BEGIN ").map(|at| &text[at..]);
    begin.is_some_and(|text| text.starts_with("-----BEGIN CERTIFICATE REQUEST-----"))
}
