//! Names of signers and of the bundles they trust.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation/names.go`.

use flotilla_machinery::names::{self, LABEL_BYTES_MAX, SUBDOMAIN_BYTES_MAX};

use super::field::Field;

/// `example.com/name`: a domain of two labels at least, and a name.
pub(super) fn check_name(signer: &Field<'_, '_>) {
    let name = signer.text();
    if name.is_empty() {
        signer.required("");
        return;
    }
    let parts = name.split_once('/').filter(|(_, path)| !path.contains('/'));
    let Some((domain, path)) = parts else {
        let detail =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        signer.invalid(detail);
        return;
    };
    if domain.len() > SUBDOMAIN_BYTES_MAX {
        signer.too_long(SUBDOMAIN_BYTES_MAX);
    }
    labels(signer, domain, names::dns1123_label);
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        signer.invalid_as(domain, detail);
    }
    labels(signer, path, names::dns1123_subdomain);
    let bytes_max = 2 * SUBDOMAIN_BYTES_MAX + LABEL_BYTES_MAX + 2;
    if name.len() > bytes_max {
        signer.too_long(bytes_max);
    }
}

/// Complains about the first label that breaks the rule.
fn labels(signer: &Field<'_, '_>, part: &str, rule: fn(&str) -> Vec<String>) {
    let wrong = part
        .split('.')
        .map(|label| (label, rule(label)))
        .find(|(_, complaints)| !complaints.is_empty());
    if let Some((label, complaints)) = wrong {
        for complaint in complaints {
            signer.invalid_as(part, format!("validating label {label:?}: {complaint}"));
        }
    }
}

/// The name of a bundle, which begins with its signer if it has one: `example.com:name:bundle`.
pub(super) fn bundle_name(name: &str) -> Vec<String> {
    names::dns1123_subdomain(name.rsplit(':').next().unwrap_or_default())
}
