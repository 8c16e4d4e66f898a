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
