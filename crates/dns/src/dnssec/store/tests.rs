use super::*;

#[test]
fn a_key_is_made_once_and_only_its_owner_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deeper/dnssec.pem");
    let made = open(&path).unwrap();
    assert_eq!(open(&path).unwrap().public(), made.public());
    #[cfg(unix)]
    {
        let metadata = fs::metadata(&path).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(files, 1);
}

#[test]
fn a_file_that_is_no_key_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dnssec.pem");
    fs::write(&path, "something dear").unwrap();
    let error = open(&path).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "no PKCS #8 private key in PEM");
    assert_eq!(fs::read_to_string(&path).unwrap(), "something dear");
}

#[test]
fn peers_are_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dnssec-peers");
    assert_eq!(load_peers(&path), PeerKeys::default());
    let mut keys = PeerKeys::default();
    let zone = crate::name::Name::parse("example.com").unwrap();
    keys.note(
        &zone,
        "eu",
        SigningKey::generate().unwrap().0.public().clone(),
        5,
    );
    save_peers(&path, &keys).unwrap();
    assert_eq!(load_peers(&path), keys);
}
