//! Subjects of certificates.

use rcgen::{CertificateParams, DnType, KeyPair};

use super::*;

fn certificate(name: Option<&str>, groups: &[&str]) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    for group in groups {
        params
            .distinguished_name
            .push(DnType::OrganizationName, *group);
    }
    if let Some(name) = name {
        params.distinguished_name.push(DnType::CommonName, name);
    }
    let key = KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().der().to_vec()
}

#[test]
fn the_common_name_is_the_user_and_the_organization_a_group() {
    let found = identity(&certificate(Some("admin"), &["system:masters"])).unwrap();
    assert_eq!(found.name, "admin");
    assert_eq!(found.groups, ["system:masters", "system:authenticated"]);
    let id = &found.extra["authentication.kubernetes.io/credential-id"][0];
    assert!(id.starts_with("X509SHA256=") && id.len() == 11 + 64, "{id}");
}

#[test]
fn a_certificate_without_name_and_what_is_no_certificate_name_nobody() {
    let error = identity(&certificate(None, &["x"])).unwrap_err();
    assert!(matches!(error, Error::NoName));
    assert!(matches!(
        identity(b"junk").unwrap_err(),
        Error::Unreadable(_)
    ));
}
