use std::os::unix::fs::PermissionsExt;

use super::*;

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

#[test]
fn keys_are_kept_and_private() {
    let dir = tempfile::tempdir().unwrap();
    let names = serving_names(&[], &[]);
    let first = Pki::open(Some(dir.path()), &names, now()).unwrap();
    let again = Pki::open(Some(dir.path()), &names, now()).unwrap();
    assert_eq!(first.serving, again.serving);
    assert_eq!(first.service_account_key, again.service_account_key);
    let mode = fs::metadata(dir.path().join("ca.key"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn certificates_are_renewed_before_they_end_and_when_names_change() {
    let dir = tempfile::tempdir().unwrap();
    let names = serving_names(&[], &[]);
    let first = Pki::open(Some(dir.path()), &names, now()).unwrap();
    let later = "2026-12-20T00:00:00Z".parse().unwrap();
    let renewed = Pki::open(Some(dir.path()), &names, later).unwrap();
    assert_eq!(first.ca, renewed.ca);
    assert_ne!(first.serving, renewed.serving);
    let more = serving_names(&["10.0.0.7".parse().unwrap()], &[]);
    let other = Pki::open(Some(dir.path()), &more, later).unwrap();
    assert_ne!(other.serving, renewed.serving);
    assert_eq!(other.admin, renewed.admin);
}

#[test]
fn an_unwritable_folder_is_named() {
    let error = Pki::open(Some(Path::new("/proc/nowhere")), &[], now()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read or write /proc/nowhere");
}

#[test]
fn a_running_server_renews_its_certificate_with_the_same_names() {
    let dir = tempfile::tempdir().unwrap();
    let names = serving_names(&["10.0.0.7".parse().unwrap()], &[]);
    let mut pki = Pki::open(Some(dir.path()), &names, now()).unwrap();
    let first = pki.serving.clone();
    assert_eq!(pki.renew_serving(now()).unwrap(), None);
    let later = "2026-12-20T00:00:00Z".parse().unwrap();
    let renewed = pki.renew_serving(later).unwrap().cloned().unwrap();
    assert_ne!(first, renewed);
    assert!(is_fresh(&renewed, later) && has_names(&renewed, &names));
    let kept = Pki::open(Some(dir.path()), &names, later).unwrap();
    assert_eq!(kept.serving, renewed);
    let serving = crate::serve::Serving::new(&first).unwrap();
    serving.replace(&renewed).unwrap();
}

#[test]
fn older_keys_of_tokens_are_found_beside_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let first = Pki::open(Some(dir.path()), &[], now()).unwrap();
    assert!(first.older_service_account_keys.is_empty());
    let renamed = dir.path().join("sa-2025.key");
    fs::rename(dir.path().join("sa.key"), renamed).unwrap();
    let second = Pki::open(Some(dir.path()), &[], now()).unwrap();
    assert_ne!(second.service_account_key, first.service_account_key);
    assert_eq!(
        second.older_service_account_keys,
        [first.service_account_key]
    );
}
