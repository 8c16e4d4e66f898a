//! Volumes that put several sources into one folder.

use std::collections::BTreeSet;

use flotilla_machinery::names;

use super::volumes::{downward_file, key_to_path, mode, own_path};
use crate::strategy::{
    field::Field,
    fill::text,
    golang::{record, shapes},
    signers,
};

/// Shortest life of a token: ten minutes.
const TOKEN_SECONDS_MIN: i64 = 600;
/// Longest life of a token.
const TOKEN_SECONDS_MAX: i64 = 1 << 32;
/// Shortest and longest life of a certificate: an hour, 91 days; a day for Kubernetes' own signers.
const CERTIFICATE_SECONDS: [i64; 3] = [3600, 91 * 86400, 86400];

const KEY_TYPES: [&str; 6] = [
    "RSA3072",
    "RSA4096",
    "ECDSAP256",
    "ECDSAP384",
    "ECDSAP521",
    "ED25519",
];

pub(super) fn check(volume: &Field<'_, '_>) {
    mode(&volume.at("defaultMode"));
    let sources = volume.at("sources");
    let mut taken = BTreeSet::new();
    for source in sources.items() {
        let mut n = 0;
        for (key, rule) in RULES {
            let part = source.at(key);
            if part.is_set() {
                n += 1;
                rule(&part, volume, &mut taken);
            }
        }
        if n > 1 {
            source.forbidden("may not specify more than 1 volume type per source");
        }
    }
}

/// A kind of source, with its rule: the source, the volume, and the paths that are taken.
type Rule = for<'v> fn(&Field<'_, 'v>, &Field<'_, 'v>, &mut BTreeSet<&'v str>);

const RULES: [(&str, Rule); 6] = [
    ("secret", files),
    ("configMap", files),
    ("downwardAPI", |part, volume, taken| {
        for item in part.at("items").items() {
            downward_file(&item, part);
            take(volume, text(item.value, "path"), "", taken);
        }
    }),
    ("serviceAccountToken", token),
    ("clusterTrustBundle", trust_bundle),
    ("podCertificate", certificate),
];

fn files<'v>(part: &Field<'_, 'v>, volume: &Field<'_, 'v>, taken: &mut BTreeSet<&'v str>) {
    part.at("name").needed();
    for item in part.at("items").items() {
        key_to_path(&item);
        let name = text(part.value, "name");
        take(volume, text(item.value, "path"), name, taken);
    }
}

/// No two files have the same path. Upstream shows the name of the source, if there is one.
fn take<'v>(volume: &Field<'_, 'v>, path: &'v str, name: &str, taken: &mut BTreeSet<&'v str>) {
    if !path.is_empty() && !taken.insert(path) {
        let shown = if name.is_empty() { path } else { name };
        volume.invalid_as(shown, "conflicting duplicate paths");
    }
}

fn token<'v>(part: &Field<'_, 'v>, volume: &Field<'_, 'v>, _: &mut BTreeSet<&'v str>) {
    let seconds = part.at("expirationSeconds");
    if seconds.count() < TOKEN_SECONDS_MIN {
        let detail = "may not specify a duration less than 10 minutes";
        seconds.invalid_as(seconds.count(), detail);
    }
    if seconds.count() > TOKEN_SECONDS_MAX {
        seconds.invalid("may not specify a duration larger than 2^32 seconds");
    }
    // Upstream leaves the source out of this path.
    let path = volume.with("path", &part.value["path"]);
    if path.text().is_empty() {
        path.required("");
    } else {
        own_path(&path);
    }
}

fn trust_bundle<'v>(part: &Field<'_, 'v>, volume: &Field<'_, 'v>, taken: &mut BTreeSet<&'v str>) {
    let (name, signer) = (part.at("name"), part.at("signerName"));
    match (name.is_set(), signer.is_set()) {
        (true, true) => {
            let shown = record(part.value, shapes::ClusterTrustBundleProjection);
            part.invalid_shown(&shown, "only one of name and signerName may be used");
        }
        (true, false) => {
            if name.text().is_empty() {
                name.required("must be a valid object name");
            }
            for complaint in signers::bundle_name(name.text()) {
                name.invalid(format!("not a valid clustertrustbundlename: {complaint}"));
            }
            let selector = part.at("labelSelector");
            if selector.is_set() {
                selector.invalid("labelSelector must be unset if name is specified");
            }
        }
        (false, true) => {
            if signer.text().is_empty() {
                signer.required("must be a valid signer name");
            }
            signers::check_name(&signer);
            part.at("labelSelector").selector();
        }
        (false, false) => part.required("either name or signerName must be specified"),
    }
    let path = part.at("path");
    path.needed();
    own_path(&path);
    take(volume, text(part.value, "path"), "", taken);
}

fn certificate<'v>(part: &Field<'_, 'v>, volume: &Field<'_, 'v>, taken: &mut BTreeSet<&'v str>) {
    let signer = part.at("signerName");
    signers::check_name(&signer);
    let notes = part.at("userAnnotations");
    for (key, _) in notes.entries() {
        let key = key.to_lowercase();
        let complaints = names::qualified_name(&key);
        if complaints.is_empty() && !key.contains('/') {
            let detail = "must be a domain-prefixed key (such as \"acme.io/foo\")";
            notes.invalid_as(key.as_str(), detail);
        }
        for complaint in complaints {
            notes.invalid_as(key.as_str(), complaint);
        }
    }
    part.at("keyType").supported(&KEY_TYPES);
    let seconds = part.at("maxExpirationSeconds");
    let [min, max, own_max] = CERTIFICATE_SECONDS;
    let max = if signer.text().starts_with("kubernetes.io/") {
        own_max
    } else {
        max
    };
    if let Some(number) = seconds.number() {
        if number < min {
            seconds.invalid(format!(
                "if provided, maxExpirationSeconds must be >= {min}"
            ));
        }
        if number > max {
            seconds.invalid(format!(
                "if provided, maxExpirationSeconds must be <= {max}"
            ));
        }
    }
    let mut n = 0;
    for key in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let path = part.at(key);
        if !path.text().is_empty() {
            n += 1;
            own_path(&path);
            take(volume, text(part.value, key), "", taken);
        }
    }
    if n == 0 {
        part.required(
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
        );
    }
}

/// Tokens need an account.
pub(super) fn forbid_tokens(spec: &Field<'_, '_>) {
    for volume in spec.at("volumes").items() {
        for source in volume.at("projected.sources").items() {
            let token = source.at("serviceAccountToken");
            if token.is_set() {
                token.forbidden("must not be specified when serviceAccountName is not set");
            }
        }
    }
}
