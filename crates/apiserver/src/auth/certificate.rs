//! Client certificates: the common name is the user, every organization a group.
//!
//! The chain was verified by TLS before; this only reads. Source: k8s.io/apiserver v0.35, pkg/authentication/request/x509.

use ring::digest;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::access::Identity;

/// Why a verified certificate names nobody.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not a certificate.
    #[error("client certificate cannot be read")]
    Unreadable(#[source] x509_parser::asn1_rs::Err<x509_parser::error::X509Error>),
    /// No common name.
    #[error("client certificate has no common name")]
    NoName,
}

/// The identity a client certificate (DER) stands for.
///
/// # Errors
/// When it is unreadable or has no common name.
pub fn identity(der: &[u8]) -> Result<Identity, Error> {
    let (_, certificate) = X509Certificate::from_der(der).map_err(Error::Unreadable)?;
    let subject = certificate.subject();
    let name = subject
        .iter_common_name()
        .next()
        .and_then(|name| name.as_str().ok());
    let name = name.filter(|name| !name.is_empty()).ok_or(Error::NoName)?;
    let groups = subject
        .iter_organization()
        .filter_map(|group| group.as_str().ok());
    let mut identity = Identity::user(name, groups.map(String::from));
    let fingerprint = digest::digest(&digest::SHA256, der);
    let fingerprint: String = fingerprint
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    identity.extra.insert(
        "authentication.kubernetes.io/credential-id".into(),
        vec![format!("X509SHA256={fingerprint}")],
    );
    Ok(identity)
}

#[cfg(test)]
mod tests;
